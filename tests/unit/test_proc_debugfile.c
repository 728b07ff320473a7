// SPDX-License-Identifier: Apache-2.0
/* Where debug files are looked for: of this process, in a directory of this test's, beside its program. */
#include "base/cleanup.h"
#include "proc/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], program[128];

static void put(const char *name, const char *content)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd CAM_AUTOCLOSE = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/perfcam-debugfile-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(program, sizeof(program), "%s/app", dir);
	char sub[128];
	snprintf(sub, sizeof(sub), "%s/.debug", dir);
	put("app", "the program");
	return mkdir(sub, 0755);
}

static int tear_down(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command); // NOLINT
}

/* What is in the file that is found; an error's number where there is none. */
static const char *find_one(struct cam_text path, struct cam_text link, uint32_t skip,
			    bool supplement)
{
	static char content[64];
	const struct cam_errand e = {.type = CAM_ERRAND_DEBUG,
				     .pid = getpid(),
				     .mapping = {.path = path},
				     .link = link,
				     .supplement = supplement,
				     .skip = skip};
	atomic_int stage;
	int fd CAM_AUTOCLOSE = -1;
	int error = cam_debugfile_hold(&e, &stage, &fd);
	if (error) {
		snprintf(content, sizeof(content), "%d", error);
		return content;
	}
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	ssize_t n = read(fd, content, sizeof(content) - 1);
	assert_true(n >= 0);
	content[n] = 0;
	return content;
}

static const char *find(struct cam_text path, struct cam_text link, uint32_t skip)
{
	return find_one(path, link, skip, false);
}

#define NOT_THERE "-2"

static void by_link_beside_the_program(void **state)
{
	(void)state;
	struct cam_text path = cam_text_of(program);
	assert_string_equal(find(path, CAM_TEXT("app.debug"), 0), NOT_THERE);
	put(".debug/app.debug", "second");
	assert_string_equal(find(path, CAM_TEXT("app.debug"), 0), "second");
	put("app.debug", "first");
	assert_string_equal(find(path, CAM_TEXT("app.debug"), 0), "first");
	assert_string_equal(find(path, CAM_TEXT("app.debug"), 1), "second");
	assert_string_equal(find(path, CAM_TEXT("app.debug"), 2), NOT_THERE);
	/* A link to itself is none; one in .debug may have the program's own name. */
	put(".debug/app", "named alike");
	assert_string_equal(find(path, CAM_TEXT("app"), 0), "named alike");
}

static void a_link_leads_nowhere_else(void **state)
{
	(void)state;
	struct cam_text path = cam_text_of(program);
	put("other", "not to be had");
	assert_string_equal(find(path, CAM_TEXT("../app"), 0), NOT_THERE);
	assert_string_equal(find(path, CAM_TEXT("/etc/passwd"), 0), NOT_THERE);
	assert_string_equal(find(path, CAM_TEXT("other\0x"), 0), NOT_THERE);
	assert_string_equal(find(CAM_TEXT("app"), CAM_TEXT("other"), 0), NOT_THERE);
	assert_string_equal(find(CAM_TEXT(""), CAM_TEXT("other"), 0), NOT_THERE);
	assert_string_equal(find(path, CAM_TEXT(""), 0), "-22");
}

/* A supplement's path says where it was made: only its name counts here, and what is below .dwz. */
static void a_supplement_is_found_by_its_name(void **state)
{
	(void)state;
	struct cam_text path = cam_text_of(program);
	put("common.debug", "shared");
	assert_string_equal(find_one(path, CAM_TEXT("common.debug"), 0, true), "shared");
	assert_string_equal(find_one(path, CAM_TEXT("/build/x/common.debug"), 0, true), "shared");
	assert_string_equal(find_one(path, CAM_TEXT("../../.dwz/common.debug"), 0, true), "shared");
	assert_string_equal(find_one(path, CAM_TEXT("../../.dwz/common.debug"), 1, true),
			    NOT_THERE);
	assert_string_equal(find_one(path, CAM_TEXT("/etc/hostname"), 0, true), NOT_THERE);
	assert_string_equal(find_one(path, CAM_TEXT("/.dwz/../../../../etc/hostname"), 0, true),
			    NOT_THERE);
	assert_string_equal(find_one(path, CAM_TEXT("common.debug\0x"), 0, true), NOT_THERE);
	assert_string_equal(find_one(path, CAM_TEXT("/"), 0, true), NOT_THERE);
}

/* Nothing but a regular file is opened; a FIFO would hang. */
static void other_objects_are_passed_over(void **state)
{
	(void)state;
	char name[128];
	struct cam_text path = cam_text_of(program);
	snprintf(name, sizeof(name), "%s/odd.debug", dir);
	put(".debug/odd.debug", "good");
	assert_int_equal(mkfifo(name, 0644), 0);
	assert_string_equal(find(path, CAM_TEXT("odd.debug"), 0), "good");
	unlink(name);
	assert_int_equal(mkdir(name, 0755), 0);
	assert_string_equal(find(path, CAM_TEXT("odd.debug"), 0), "good");
	rmdir(name);
	/* A link is walked within the root. */
	assert_int_equal(symlink("/proc/self/exe", name), 0);
	assert_string_equal(find(path, CAM_TEXT("odd.debug"), 0), "good");
	unlink(name);
	assert_int_equal(symlink(".debug/app.debug", name), 0);
	put(".debug/app.debug", "by a link");
	assert_string_equal(find(path, CAM_TEXT("odd.debug"), 0), "by a link");
}

/* Ours, which libc6-dbg or another package may have installed; else nothing. */
static void by_build_id_in_the_directory_for_it(void **state)
{
	(void)state;
	const uint8_t id[] = {0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct cam_errand e = {.type = CAM_ERRAND_DEBUG,
			       .pid = getpid(),
			       .build_id = {(const char *)id, sizeof(id)}};
	int fd = -1;
	assert_int_equal(cam_debugfile_hold(&e, NULL, &fd), -ENOENT);
	if (geteuid() != 0)
		return;
	const char *name = "/usr/lib/debug/.build-id/ab/cdef010203040506070809.debug";
	bool made_dir = mkdir("/usr/lib/debug", 0755) == 0;
	bool made_ids = mkdir("/usr/lib/debug/.build-id", 0755) == 0;
	bool made_ab = mkdir("/usr/lib/debug/.build-id/ab", 0755) == 0;
	int made = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	int error = cam_debugfile_hold(&e, NULL, &fd);
	unlink(name);
	if (made_ab)
		rmdir("/usr/lib/debug/.build-id/ab");
	if (made_ids)
		rmdir("/usr/lib/debug/.build-id");
	if (made_dir)
		rmdir("/usr/lib/debug");
	assert_true(made >= 0);
	close(made);
	assert_int_equal(error, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_link_beside_the_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_link_leads_nowhere_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_supplement_is_found_by_its_name, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_objects_are_passed_over, set_up, tear_down),
		cmocka_unit_test(by_build_id_in_the_directory_for_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
