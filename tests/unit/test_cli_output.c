// SPDX-License-Identifier: Apache-2.0
/* Which links a result is written through: root's must not go where somebody else's in /tmp leads to. */
#include "cli/output.h"
#include "support_mapped.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SOMEBODY 65534

static char dir[32], shared[40], target[64], name[64], other[64];

static int set_up(void **state)
{
	(void)state;
	test_mkdir(dir);
	snprintf(shared, sizeof(shared), "%s/tmp", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	snprintf(name, sizeof(name), "%s/name", shared);
	snprintf(other, sizeof(other), "%s/other", shared);
	test_file(target, "old");
	return mkdir(shared, 0777) || chmod(shared, 01777);
}

static int tear_down(void **state)
{
	(void)state;
	test_rmdir(dir);
	return 0;
}

static void make_link(const char *to, const char *from, uid_t owner)
{
	assert_int_equal(symlink(to, from), 0);
	assert_int_equal(lchown(from, owner, (gid_t)-1), 0);
}

/* Whether "new" could be written there. */
static bool put(const char *path)
{
	struct cam_output *o = cam_output_open(path);
	if (!o)
		return false;
	cam_out_str(cam_output_stream(o), "new");
	return cam_output_commit(o) == 0;
}

static void assert_holds(const char *path, const char *want)
{
	char got[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, want);
}

static bool is_link(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void ones_own_is_followed(void **state)
{
	(void)state;
	make_link("../target", name, geteuid());
	assert_true(put(name));
	assert_holds(target, "new");
	assert_true(is_link(name));
}

static void somebodys_is_not(void **state)
{
	(void)state;
	make_link(target, name, SOMEBODY);
	assert_false(put(name));
	make_link(name, other, geteuid());
	assert_false(put(other));
	assert_holds(target, "old");
	assert_true(is_link(name) && is_link(other));
}

static void somebodys_is_where_it_is_his_to_say(void **state)
{
	(void)state;
	make_link(target, name, SOMEBODY);
	assert_int_equal(chmod(shared, 0755), 0);
	assert_true(put(name));
	assert_holds(target, "new");
	unlink(target);
	test_file(target, "old");
	assert_int_equal(chmod(shared, 01777) || chown(shared, SOMEBODY, (gid_t)-1), 0);
	assert_true(put(name));
	assert_holds(target, "new");
}

static void one_that_leads_nowhere_is_replaced(void **state)
{
	(void)state;
	make_link("nowhere", name, geteuid());
	assert_true(put(name));
	assert_false(is_link(name));
	assert_holds(name, "new");
}

static void a_ring_ends(void **state)
{
	(void)state;
	make_link("other", name, geteuid());
	make_link("name", other, geteuid());
	assert_false(put(name));
	assert_true(put("/dev/null"));
}

/* A name that is too long in all is refused: what is left of it where it is cut may be somebody's. */
static void a_long_way_is_not_cut(void **state)
{
	(void)state;
	static char deep[4000], to[2400];
	size_t n = (size_t)snprintf(deep, sizeof(deep), "%s", dir);
	for (unsigned i = 0; i < 9; i++) {
		n += (size_t)snprintf(deep + n, sizeof(deep) - n, "/%0220u", i);
		assert_int_equal(mkdir(deep, 0755), 0);
	}
	snprintf(deep + n, sizeof(deep) - n, "/link");
	/* Nothing but dots: cut at any place it still leads to a directory. */
	for (size_t i = 0; i + 12 < sizeof(to); i += 2)
		memcpy(to + i, "./", 3);
	memcpy(to + strlen(to), "target", 7);
	assert_int_equal(symlink(to, deep), 0);
	assert_false(put(deep));
	assert_true(is_link(deep));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ones_own_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(somebodys_is_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(somebodys_is_where_it_is_his_to_say, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_that_leads_nowhere_is_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_ring_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_way_is_not_cut, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
