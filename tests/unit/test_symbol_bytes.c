// SPDX-License-Identifier: Apache-2.0
#include "symbol/bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES (3 * 1024 * 1024 + 77)

static uint8_t byte_at(uint64_t at)
{
	return (uint8_t)(at * 2654435761u >> 13);
}

static int make_file(uint64_t bytes)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);
	uint8_t *all = malloc(bytes);
	assert_true(fd >= 0 && all);
	for (uint64_t i = 0; i < bytes; i++)
		all[i] = byte_at(i);
	assert_int_equal(write(fd, all, bytes), bytes);
	free(all);
	return fd;
}

static void check(const struct cam_bytes *b, uint64_t at, size_t n)
{
	static uint8_t got[2 * CAM_BLOCK_BYTES];
	assert_int_equal(cam_bytes_read(b, at, got, n), 0);
	for (size_t i = 0; i < n; i++) {
		if (got[i] != byte_at(at + i))
			fail_msg("byte %zu of %zu from %lu", i, n, (unsigned long)at);
	}
}

static void reads_through_blocks_are_what_the_file_has(void **state)
{
	(void)state;
	struct cam_blocks *blocks = calloc(1, sizeof(*blocks));
	struct cam_bytes b;
	int fd = make_file(BYTES);
	cam_blocks_forget(blocks);
	assert_int_equal(cam_bytes_of_file(&b, fd), 0);
	assert_null(b.blocks);
	b.blocks = blocks;
	srand(1);
	/* Near and far, over the edges of blocks, longer than one, up to the end. */
	for (int i = 0; i < 20000; i++) {
		size_t n = 1 + (size_t)rand() % (i % 9 ? 200 : 2 * CAM_BLOCK_BYTES);
		check(&b, (uint64_t)rand() % (BYTES - n + 1), n);
	}
	uint8_t room[64];
	check(&b, BYTES - 64, 64);
	assert_int_equal(cam_bytes_read(&b, BYTES - 63, room, 64), -EBADMSG);
	assert_int_equal(cam_bytes_read(&b, UINT64_MAX - 3, room, 8), -EBADMSG);
	close(fd);
	free(blocks);
}

static void a_file_that_shrinks_answers_errors_and_no_bytes_of_another(void **state)
{
	(void)state;
	struct cam_blocks *blocks = calloc(1, sizeof(*blocks));
	struct cam_bytes b;
	uint8_t room[16];
	int fd = make_file(BYTES);
	cam_blocks_forget(blocks);
	assert_int_equal(cam_bytes_of_file(&b, fd), 0);
	b.blocks = blocks;
	check(&b, 100, 16);
	assert_int_equal(ftruncate(fd, 50), 0);
	assert_int_equal(cam_bytes_read(&b, 9000, room, 16), -EBADMSG);
	cam_blocks_forget(blocks);
	assert_int_equal(cam_bytes_read(&b, 100, room, 16), -EBADMSG);
	assert_int_equal(cam_bytes_read(&b, 40, room, 16), -EBADMSG);
	check(&b, 34, 16);
	close(fd);
	assert_int_equal(cam_bytes_read(&b, 9000, room, 16), -EBADF);
	free(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_through_blocks_are_what_the_file_has),
		cmocka_unit_test(a_file_that_shrinks_answers_errors_and_no_bytes_of_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
