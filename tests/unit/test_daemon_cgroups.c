// SPDX-License-Identifier: Apache-2.0
#include "daemon/cgroups.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A host in a directory: its mounts, and the directories that are its cgroups. */
struct host {
	char root[64], mounts[96];
};

static void make_place(const struct host *h, const char *path)
{
	char full[512];
	snprintf(full, sizeof(full), "%s%s", h->root, path);
	for (char *p = full + strlen(h->root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(full, 0700);
	}
	assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
}

static struct host host_new(const char *mountinfo)
{
	struct host h = {.root = "/tmp/perfcam-cgroups-XXXXXX"};
	assert_non_null(mkdtemp(h.root));
	snprintf(h.mounts, sizeof(h.mounts), "%s/mountinfo", h.root);
	FILE *f = fopen(h.mounts, "w");
	assert_non_null(f);
	fputs(mountinfo, f);
	fclose(f);
	return h;
}

static void host_free(const struct host *h)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", h->root);
	assert_int_equal(system(command), 0);
}

static int find(const struct host *h, const char *given, const char *becomes)
{
	char cgroup[PATH_MAX];
	snprintf(cgroup, sizeof(cgroup), "%s", given);
	int err = cam_cgroups_find(h->mounts, h->root, cgroup, sizeof(cgroup));
	assert_string_equal(cgroup, becomes);
	return err;
}

static void test_one_hierarchy(void **state)
{
	(void)state;
	struct host h = host_new("23 1 0:22 / /proc rw - proc proc rw\n"
				 "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
	make_place(&h, "/sys/fs/cgroup/system.slice/a b.service");
	assert_int_equal(find(&h, "/", "/"), 0);
	assert_int_equal(find(&h, "/system.slice", "/system.slice"), 0);
	assert_int_equal(find(&h, "/system.slice/a b.service", "/system.slice/a b.service"), 0);
	assert_int_equal(find(&h, "/nope", "/nope"), -ENOENT);
	assert_int_equal(find(&h, "/system.slice/nope", "/system.slice/nope"), -ENOENT);
	char near[PATH_MAX] = "/system.slice/nope/deeper";
	cam_cgroups_nearest(h.mounts, h.root, near, sizeof(near));
	assert_string_equal(near, "/system.slice");
	strcpy(near, "/x/y");
	cam_cgroups_nearest(h.mounts, h.root, near, sizeof(near));
	assert_string_equal(near, "/");
	host_free(&h);
}

/* Several, of the old kind: a name of any of them will do; one that says which is shortened. */
static void test_several_hierarchies(void **state)
{
	(void)state;
	struct host h =
		host_new("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
			 "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
			 "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	make_place(&h, "/sys/fs/cgroup/cpu");
	make_place(&h, "/sys/fs/cgroup/memory/docker/7");
	assert_int_equal(find(&h, "/docker/7", "/docker/7"), 0);
	assert_int_equal(find(&h, "/memory/docker/7", "/docker/7"), 0);
	assert_int_equal(find(&h, "/memory", "/"), 0);
	assert_int_equal(find(&h, "/cpu/docker/7", "/cpu/docker/7"), -ENOENT);
	assert_int_equal(find(&h, "/docker/8", "/docker/8"), -ENOENT);
	host_free(&h);
}

/* A container that sees its own part only: of others nothing can be told. */
static void test_a_part_of_a_hierarchy(void **state)
{
	(void)state;
	struct host h = host_new("31 23 0:28 /pod/9 /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n");
	make_place(&h, "/sys/fs/c group/job");
	assert_int_equal(find(&h, "/pod/9", "/pod/9"), 0);
	assert_int_equal(find(&h, "/pod/9/job", "/pod/9/job"), 0);
	assert_int_equal(find(&h, "/pod/9/other", "/pod/9/other"), -ENOENT);
	assert_int_equal(find(&h, "/pod/99", "/pod/99"), -EOPNOTSUPP);
	host_free(&h);
	h = host_new("23 1 0:22 / /proc rw - proc proc rw\n");
	assert_int_equal(find(&h, "/any", "/any"), -EOPNOTSUPP);
	host_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_hierarchy),
		cmocka_unit_test(test_several_hierarchies),
		cmocka_unit_test(test_a_part_of_a_hierarchy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
