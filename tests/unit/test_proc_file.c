// SPDX-License-Identifier: Apache-2.0
/* Which file is behind a mapping: told by what stands in it. */
#include "base/cleanup.h"
#include "proc/file.h"
#include "support_mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* 0 if what is held begins with `text`; 1 if it is another file; or what hold answered. */
static int hold(const struct mapped *p, const char *text)
{
	struct cam_mapping m = p->m;
	struct cam_file_tidings held = {0};
	int fd;
	m.path = cam_text_of(p->path);
	int err = cam_file_hold(p->pid, &m, NULL, &held, &fd);
	const struct cam_file_key key = held.key;
	if (err)
		return fd == -1 ? err : 2;
	struct stat s;
	bool good = test_begins(fd, text) && fstat(fd, &s) == 0 && key.inode == s.st_ino &&
		    key.major == major(s.st_dev) && key.minor == minor(s.st_dev) &&
		    key.bytes == (uint64_t)s.st_size &&
		    key.ctime_ns == s.st_ctim.tv_sec * 1000000000ll + s.st_ctim.tv_nsec &&
		    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY &&
		    fcntl(fd, F_GETFD) == FD_CLOEXEC;
	int generation = 0;
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		good = good && key.generation == (uint32_t)generation;
	close(fd);
	return good ? 0 : 1;
}

/* The same by one who may not use map_files (root without two capabilities), in another process. */
static int hold_without_map_files(const struct mapped *p, const char *text)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		static const cap_value_t drop[] = {CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN};
		cap_t caps = cap_get_proc();
		if (!caps || cap_set_flag(caps, CAP_EFFECTIVE, 2, drop, CAP_CLEAR) ||
		    cap_set_proc(caps))
			_exit(99);
		cap_free(caps);
		_exit(-hold(p, text) & 0xff);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 99);
	return -WEXITSTATUS(status);
}

struct place {
	char dir[32], prog[64];
};

static struct place make_place(void)
{
	struct place p;
	test_mkdir(p.dir);
	snprintf(p.prog, sizeof(p.prog), "%s/prog", p.dir);
	test_file(p.prog, "mine");
	return p;
}

static void replace(const struct place *p)
{
	char other[64];
	snprintf(other, sizeof(other), "%s/new", p->dir);
	test_file(other, "another");
	assert_int_equal(rename(other, p->prog), 0);
}

static void a_live_process_has_its_file_held(void **state)
{
	(void)state;
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	assert_int_equal(hold(&child, "mine"), 0);
	assert_int_equal(hold_without_map_files(&child, "mine"), 0);
	mapped_end(&child);
	/* The process is gone, the file is there. */
	assert_int_equal(hold(&child, "mine"), 0);
	test_rmdir(p.dir);
}

static void a_deleted_file_is_held_while_it_is_mapped(void **state)
{
	(void)state;
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	assert_int_equal(unlink(p.prog), 0);
	assert_int_equal(hold(&child, "mine"), 0);
	assert_int_equal(hold_without_map_files(&child, "mine"), -EACCES);
	mapped_end(&child);
	assert_int_equal(hold(&child, "mine"), -ENOENT);
	test_rmdir(p.dir);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t written_ns(const struct mapped *p)
{
	struct cam_mapping m = p->m;
	struct cam_file_tidings held = {0};
	int fd;
	m.path = cam_text_of(p->path);
	assert_int_equal(cam_file_hold(p->pid, &m, NULL, &held, &fd), 0);
	close(fd);
	return held.written_ns;
}

static void it_is_said_when_it_was_last_written_to(void **state)
{
	(void)state;
	/* The clock of file systems goes in ticks. */
	const struct timespec tick = {0, 20000000}, old[2] = {{1000, 0}, {1000, 0}},
			      future[2] = {{4102444800, 0}, {4102444800, 0}};
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	uint64_t begun = monotonic_ns();
	assert_in_range(written_ns(&child), 1, begun);
	nanosleep(&tick, NULL);
	CAM_AUTOCLOSE int fd = open(p.prog, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "more", 4), 4);
	assert_in_range(written_ns(&child), begun, monotonic_ns());
	/* A time before the boot, or one that has not come, says nothing. */
	assert_int_equal(utimensat(AT_FDCWD, p.prog, old, 0), 0);
	assert_int_equal(written_ns(&child), 0);
	assert_int_equal(utimensat(AT_FDCWD, p.prog, future, 0), 0);
	assert_int_equal(written_ns(&child), 0);
	mapped_end(&child);
	test_rmdir(p.dir);
}

/* Anybody may give a file of theirs any time, where the file system keeps it. */
static void a_file_of_either_end_of_time_was_written_before(void **state)
{
	(void)state;
	static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX};
	char name[64];
	snprintf(name, sizeof(name), "/dev/shm/perfcam-test-%d", getpid());
	test_file(name, "mine");
	struct mapped child = mapped_start(name, NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct timespec end[2] = {{ends[i], 0}, {ends[i], 0}};
		assert_int_equal(utimensat(AT_FDCWD, name, end, 0), 0);
		assert_int_equal(written_ns(&child), 0);
	}
	mapped_end(&child);
	unlink(name);
}

static void a_replaced_file_is_never_taken_for_the_old_one(void **state)
{
	(void)state;
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	replace(&p);
	assert_int_equal(hold(&child, "mine"), 0);
	assert_int_equal(hold_without_map_files(&child, "mine"), -ESTALE);
	mapped_end(&child);
	assert_int_equal(hold(&child, "mine"), -ESTALE);
	test_rmdir(p.dir);
}

/* An inode number that is used again is told by its generation; where that is not known, by the
 * mapping that still is there; else by nothing. */
static void a_reused_inode_is_another_file(void **state)
{
	(void)state;
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	struct mapped other = child;
	assert_int_not_equal(child.m.generation, 0); /* a file system that tells it is needed */
	other.m.generation ^= 1;
	assert_int_equal(hold(&other, "mine"), -ESTALE);
	assert_int_equal(hold_without_map_files(&other, "mine"), -ESTALE);
	other.m.generation = 0;
	assert_int_equal(hold(&other, "mine"), 0);
	assert_int_equal(hold_without_map_files(&other, "mine"), 0);
	mapped_end(&child);
	assert_int_equal(hold(&other, "mine"), -ESTALE);
	assert_int_equal(hold(&child, "mine"), 0);
	other.m.inode++;
	assert_int_equal(hold(&other, "mine"), -ESTALE);
	test_rmdir(p.dir);
}

static int enter(void *dir)
{
	return chroot(dir) || chdir("/");
}

/* /prog of the process, and a /…/prog and a /prog of ours that are other files. */
static void a_chroot_has_its_own_file_at_the_same_path(void **state)
{
	(void)state;
	struct place p = make_place();
	char jail[64], prog[128], same[160];
	snprintf(jail, sizeof(jail), "%s/jail", p.dir);
	assert_int_equal(mkdir(jail, 0755), 0);
	snprintf(prog, sizeof(prog), "%s/tmp", jail);
	assert_int_equal(mkdir(prog, 0755), 0);
	snprintf(prog, sizeof(prog), "%s%s", jail, p.dir);
	assert_int_equal(mkdir(prog, 0755), 0);
	snprintf(same, sizeof(same), "%s%s", jail, p.prog);
	test_file(same, "jailed");
	struct mapped child = mapped_start(p.prog, enter, NULL, jail);
	assert_int_equal(hold(&child, "jailed"), 0);
	assert_int_equal(hold_without_map_files(&child, "jailed"), 0);
	mapped_end(&child);
	/* Gone: its path leads to ours, which is not it. */
	assert_int_equal(hold(&child, "jailed"), -ESTALE);
	test_rmdir(p.dir);
}

static int mount_private(void *dir)
{
	char prog[64];
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=1m"))
		return 1;
	snprintf(prog, sizeof(prog), "%s/prog", (char *)dir);
	test_file(prog, "private");
	return 0;
}

static void a_private_mount_has_its_own_file_at_the_same_path(void **state)
{
	(void)state;
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, mount_private, NULL, p.dir);
	assert_int_equal(hold(&child, "private"), 0);
	assert_int_equal(hold_without_map_files(&child, "private"), 0);
	mapped_end(&child);
	assert_int_equal(hold(&child, "private"), -ESTALE);
	test_rmdir(p.dir);
}

/* A mapping of overlayfs is known by the overlay's device, stat() shows the lower one's. */
static int mount_overlay(void *dir)
{
	char options[256], at[64];
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 1;
	snprintf(at, sizeof(at), "%s/low", (char *)dir);
	if (mount("none", at, "tmpfs", 0, NULL))
		return 2;
	snprintf(at, sizeof(at), "%s/low/prog", (char *)dir);
	test_file(at, "lower");
	snprintf(options, sizeof(options), "lowerdir=%s/low:%s/low2", (char *)dir, (char *)dir);
	snprintf(at, sizeof(at), "%s/all", (char *)dir);
	return mount("none", at, "overlay", 0, options) ? 3 : 0;
}

static void make_overlay(struct place *p, char all[64])
{
	static const char *const names[] = {"low", "low2", "all"};
	for (int i = 0; i < 3; i++) {
		snprintf(all, 64, "%s/%s", p->dir, names[i]);
		assert_int_equal(mkdir(all, 0755), 0);
	}
	snprintf(all, 64, "%s/all/prog", p->dir);
}

/* What the kernel calls the mapping itself, as its records do. */
static void ask_kernel(struct mapped *p)
{
	char name[64], line[512];
	unsigned long start, inode;
	unsigned major_now, minor_now;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)p->pid);
	FILE *f = fopen(name, "re");
	assert_non_null(f);
	p->m.inode = 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%*x %*s %*x %x:%x %lu", &start, &major_now, &minor_now,
			   &inode) == 4 &&
		    start == p->m.start) {
			p->m.major = major_now;
			p->m.minor = minor_now;
			p->m.inode = inode;
		}
	}
	fclose(f);
	assert_int_not_equal(p->m.inode, 0);
}

static void overlayfs_is_right_by_construction(void **state)
{
	(void)state;
	struct place p = make_place();
	char all[64];
	make_overlay(&p, all);
	struct mapped child = mapped_start(all, mount_overlay, NULL, p.dir);
	struct cam_mapping by_stat = child.m;
	ask_kernel(&child);
	child.m.generation = 0;
	assert_true(by_stat.minor != child.m.minor || by_stat.inode != child.m.inode);
	assert_int_equal(hold(&child, "lower"), 0);
	/* Without map_files it cannot be confirmed: no file rather than a guess. */
	assert_int_equal(hold_without_map_files(&child, "lower"), -ESTALE);
	child.m.inode++;
	assert_int_equal(hold(&child, "lower"), -ESTALE);
	child.m.inode--;
	mapped_end(&child);
	assert_int_equal(hold(&child, "lower"), -ENOENT);
	test_rmdir(p.dir);
}

static int protect_first_page(void *arg)
{
	(void)arg;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "/prog") && sscanf(line, "%lx-", &start) == 1)
			break;
	}
	if (f)
		fclose(f);
	return !start || mprotect((void *)start, 4096, PROT_READ);
}

/* What was one mapping when it was recorded is two now, one of them no more executable. */
static void a_split_mapping_is_found(void **state)
{
	(void)state;
	struct place p = make_place();
	struct mapped child = mapped_start(p.prog, NULL, protect_first_page, NULL);
	unlink(p.prog);
	assert_int_equal(hold(&child, "mine"), 0);
	mapped_end(&child);
	test_rmdir(p.dir);
}

/* Opening a FIFO would wait for a writer, a device might do anything. */
static void nothing_but_a_regular_file_is_opened(void **state)
{
	(void)state;
	struct place p = make_place();
	char fifo[64];
	struct stat s;
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	mapped_end(&child);
	/* Made beside and renamed: ext4 would give it the same inode at once. */
	snprintf(fifo, sizeof(fifo), "%s/fifo", p.dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(rename(fifo, p.prog), 0);
	assert_int_equal(hold(&child, "mine"), -ESTALE);
	/* …not even if it is the very inode. */
	assert_int_equal(stat(p.prog, &s), 0);
	child.m.inode = s.st_ino;
	child.m.generation = 0;
	assert_int_equal(hold(&child, "mine"), -EINVAL);
	assert_int_equal(unlink(p.prog), 0);
	assert_int_equal(mknod(p.prog, S_IFCHR | 0600, makedev(1, 5)), 0);
	assert_int_equal(stat(p.prog, &s), 0);
	child.m.inode = s.st_ino;
	assert_int_equal(hold(&child, "mine"), -EINVAL);
	test_rmdir(p.dir);
}

static void a_symbolic_link_leads_only_to_the_same_file(void **state)
{
	(void)state;
	struct place p = make_place();
	char moved[64];
	struct mapped child = mapped_start(p.prog, NULL, NULL, NULL);
	mapped_end(&child);
	snprintf(moved, sizeof(moved), "%s/moved", p.dir);
	assert_int_equal(rename(p.prog, moved), 0);
	assert_int_equal(symlink("moved", p.prog), 0);
	assert_int_equal(hold(&child, "mine"), 0);
	assert_int_equal(unlink(p.prog), 0);
	assert_int_equal(symlink("/etc/passwd", p.prog), 0);
	assert_int_equal(hold(&child, "mine"), -ESTALE);
	assert_int_equal(unlink(p.prog), 0);
	assert_int_equal(symlink("/proc/self/exe", p.prog), 0);
	assert_int_equal(hold(&child, "mine"), -ENOENT);
	test_rmdir(p.dir);
}

static void what_has_no_file_has_none(void **state)
{
	(void)state;
	static const char *const paths[] = {"[vdso]", "//anon",	  "",
					    "/",      "relative", "/proc/self/x"};
	struct mapped self = {.pid = getpid(), .m = {.start = 4096, .end = 8192}};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(self.path, sizeof(self.path), "%s", paths[i]);
		self.m.inode = 0;
		assert_int_equal(hold(&self, ""), -ENOENT);
		self.m.inode = 999999999999;
		int err = hold(&self, "");
		assert_true(err == -ENOENT || err == -ESTALE);
	}
}

static void kallsyms_shows_addresses(void **state)
{
	(void)state;
	char line[20] = "";
	int fd;
	assert_int_equal(cam_file_kallsyms(&fd), 0);
	assert_int_equal(read(fd, line, sizeof(line) - 1), sizeof(line) - 1);
	assert_int_equal(line[16], ' ');
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_live_process_has_its_file_held),
		cmocka_unit_test(a_deleted_file_is_held_while_it_is_mapped),
		cmocka_unit_test(it_is_said_when_it_was_last_written_to),
		cmocka_unit_test(a_file_of_either_end_of_time_was_written_before),
		cmocka_unit_test(a_replaced_file_is_never_taken_for_the_old_one),
		cmocka_unit_test(a_reused_inode_is_another_file),
		cmocka_unit_test(a_chroot_has_its_own_file_at_the_same_path),
		cmocka_unit_test(a_private_mount_has_its_own_file_at_the_same_path),
		cmocka_unit_test(overlayfs_is_right_by_construction),
		cmocka_unit_test(a_split_mapping_is_found),
		cmocka_unit_test(nothing_but_a_regular_file_is_opened),
		cmocka_unit_test(a_symbolic_link_leads_only_to_the_same_file),
		cmocka_unit_test(what_has_no_file_has_none),
		cmocka_unit_test(kallsyms_shows_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
