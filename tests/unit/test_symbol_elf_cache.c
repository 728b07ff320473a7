// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "support_elf.h"
#include "symbol/elf_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* A file of n functions, all called `name`. */
static int make_file(unsigned int n, const char *name)
{
	struct made_elf m;
	made_elf_start(&m, 16 * n);
	for (unsigned int i = 0; i < n; i++)
		made_elf_add(&m, MADE_CODE_AT + 16 * i, 16, name);
	made_elf_place(&m);
	struct cam_buf b = made_elf_finish(&m);
	int fd = memfd_create("made", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.data, b.len), b.len);
	cam_buf_free(&b);
	return fd;
}

static const struct cam_elf *get(struct cam_elf_cache *c, int fd)
{
	struct cam_bytes b;
	const struct cam_elf *e;
	assert_int_equal(cam_elf_cache_get(c, fd, &b, &e), 0);
	assert_int_equal(b.fd, fd);
	return e;
}

static void a_file_is_loaded_once_and_anew_when_it_changed(void **state)
{
	(void)state;
	struct cam_elf_cache *c = cam_elf_cache_new(1u << 20, NULL);
	static struct cam_elf_hit hit;
	struct cam_bytes b;
	const struct cam_elf *e;
	uint64_t work = 1u << 20;
	int fd CAM_AUTOCLOSE = make_file(10, "one");
	int copy CAM_AUTOCLOSE = dup(fd);
	e = get(c, fd);
	size_t held = cam_elf_cache_memory(c);
	assert_ptr_equal(get(c, fd), e);
	assert_ptr_equal(get(c, copy), e);
	assert_int_equal(cam_elf_cache_memory(c), held);
	/* Longer, and so another file, though the inode is the same. */
	assert_int_equal(pwrite(fd, "more", 4, 1u << 16), 4);
	assert_int_equal(cam_elf_cache_get(c, fd, &b, &e), 0);
	assert_true(cam_elf_cache_memory(c) > held);
	assert_int_equal(cam_elf_find(e, &b, MADE_CODE_AT + 5, &work, &hit), 1);
	cam_elf_cache_free(c);
}

static void a_bad_file_is_an_error_until_it_changes(void **state)
{
	(void)state;
	struct cam_elf_cache *c = cam_elf_cache_new(1u << 20, NULL);
	struct cam_bytes b;
	const struct cam_elf *e;
	int fd CAM_AUTOCLOSE = make_file(10, "one");
	int ends[2];
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	assert_int_equal(cam_elf_cache_get(c, fd, &b, &e), -EBADMSG);
	assert_int_equal(cam_elf_cache_get(c, fd, &b, &e), -EBADMSG);
	/* Mended: it has changed, so it is read again. */
	usleep(20000); /* the kernel's clock for change times has ticks of some ms */
	assert_int_equal(pwrite(fd, "\177", 1, 0), 1);
	get(c, fd);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(cam_elf_cache_get(c, ends[0], &b, &e), -EBADMSG);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(cam_elf_cache_get(c, ends[0], &b, &e), -EBADF);
	cam_elf_cache_free(c);
}

static void the_least_recently_used_goes(void **state)
{
	(void)state;
	/* Room for two tables of three, whose sizes tell which are there. */
	static const unsigned int functions[] = {1000, 900, 800};
	struct cam_elf_cache *c = cam_elf_cache_new(24 * 2000 + 8192, NULL);
	size_t empty = cam_elf_cache_memory(c);
	int fds[3], large CAM_AUTOCLOSE = make_file(5000, "one");
	for (int i = 0; i < 3; i++)
		fds[i] = make_file(functions[i], "one");
	/* One that is too large alone is kept while it is used. */
	const struct cam_elf *alone = get(c, large);
	assert_ptr_equal(get(c, large), alone);
	size_t head = cam_elf_cache_memory(c) - empty - 24 * 5000;
	assert_in_range(head, 1, 4096);
	get(c, fds[0]);
	assert_int_equal(cam_elf_cache_memory(c) - empty, head + 24 * 1000);
	get(c, fds[1]);
	get(c, fds[0]);
	get(c, fds[2]); /* the second goes */
	assert_int_equal(cam_elf_cache_memory(c) - empty, 2 * head + 24 * 1800);
	get(c, fds[0]);
	get(c, fds[1]); /* the third goes */
	assert_int_equal(cam_elf_cache_memory(c) - empty, 2 * head + 24 * 1900);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	cam_elf_cache_free(c);
}

/* What a descriptor could not do is not the file's fault. */
static void a_failed_read_is_not_remembered(void **state)
{
	(void)state;
	struct cam_elf_cache *c = cam_elf_cache_new(1u << 20, NULL);
	struct cam_bytes b;
	const struct cam_elf *e;
	char path[64];
	int fd CAM_AUTOCLOSE = make_file(10, "one");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int blind CAM_AUTOCLOSE = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(blind >= 0);
	assert_int_equal(cam_elf_cache_get(c, blind, &b, &e), -EBADF);
	get(c, fd);
	cam_elf_cache_free(c);
}

static void more_files_than_entries(void **state)
{
	(void)state;
	struct cam_elf_cache *c = cam_elf_cache_new(64u << 20, NULL);
	size_t empty = cam_elf_cache_memory(c), at_full = 0;
	for (unsigned int i = 0; i < 2 * CAM_ELF_CACHE_FILES; i++) {
		int fd = make_file(10, "one");
		get(c, fd);
		close(fd);
		if (i + 1 == CAM_ELF_CACHE_FILES)
			at_full = cam_elf_cache_memory(c);
	}
	assert_true(at_full > empty);
	assert_int_equal(cam_elf_cache_memory(c), at_full);
	cam_elf_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_loaded_once_and_anew_when_it_changed),
		cmocka_unit_test(a_bad_file_is_an_error_until_it_changes),
		cmocka_unit_test(the_least_recently_used_goes),
		cmocka_unit_test(a_failed_read_is_not_remembered),
		cmocka_unit_test(more_files_than_entries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
