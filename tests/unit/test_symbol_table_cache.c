// SPDX-License-Identifier: Apache-2.0
/* Tables that are kept: what is found is what was read, old ones go first, memory stays in its bound. */
#include "symbol/table_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define LD   "/lib64/ld-linux-x86-64.so.2"

struct counted {
	unsigned long rows;
	int error; /* what to answer */
};

static int take_piece(void *arg, const struct cam_ehframe_piece *p)
{
	struct counted *c = arg;
	c->rows += p->n_rows;
	return c->error;
}

static int read_file(struct cam_table_cache *c, uint32_t file, const char *path,
		     struct counted *counted)
{
	struct cam_bytes b;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(cam_bytes_of_file(&b, fd), 0);
	counted->rows = 0;
	int error = cam_table_cache_read(c, file, &b, take_piece, counted);
	close(fd);
	return error;
}

/* All rows of the table, counted leaf by leaf. */
static unsigned long rows_of(struct cam_table_cache *c, uint32_t file)
{
	const struct cam_unwind_file *f = cam_table_cache_find(c, file);
	unsigned long rows = 0;
	assert_non_null(f);
	assert_int_equal(f->levels, 1);
	const struct cam_unwind_block *root = cam_table_cache_block(c, f->root);
	assert_non_null(root);
	for (uint32_t i = 0; i < CAM_UNWIND_CHILDREN; i++) {
		if (root->inner.child[i] == CAM_UNWIND_PAD)
			break;
		const struct cam_unwind_block *leaf =
			cam_table_cache_block(c, root->inner.child[i]);
		assert_non_null(leaf);
		for (uint32_t k = 0; k < CAM_UNWIND_LEAF_ROWS && leaf->row[k] != CAM_UNWIND_PAD;
		     k++)
			rows++;
	}
	return rows;
}

static void test_what_was_read_is_found(void **state)
{
	struct cam_table_cache *c = cam_table_cache_new(8u << 20);
	struct counted libc = {0}, ld = {0};
	(void)state;
	assert_non_null(c);
	size_t empty = cam_table_cache_memory(c);
	assert_null(cam_table_cache_find(c, 5));
	assert_int_equal(read_file(c, 5, LIBC, &libc), 0);
	assert_int_equal(read_file(c, 6, LD, &ld), 0);
	assert_true(libc.rows > 10000 && ld.rows > 1000);
	assert_int_equal(rows_of(c, 5), libc.rows);
	assert_int_equal(rows_of(c, 6), ld.rows);
	/* The number means another file now. */
	assert_int_equal(read_file(c, 5, LD, &ld), 0);
	assert_int_equal(rows_of(c, 5), ld.rows);
	cam_table_cache_forget(c, 5);
	cam_table_cache_forget(c, 77);
	assert_null(cam_table_cache_find(c, 5));
	assert_int_equal(rows_of(c, 6), ld.rows);
	cam_table_cache_forget(c, 6);
	assert_int_equal(cam_table_cache_memory(c), empty);
	cam_table_cache_free(c);
}

static void test_the_least_used_go_first(void **state)
{
	size_t max_bytes = 400u << 10; /* three of libc's tables, not four */
	struct cam_table_cache *c = cam_table_cache_new(max_bytes);
	struct counted n = {0};
	(void)state;
	assert_non_null(c);
	size_t empty = cam_table_cache_memory(c);
	for (uint32_t file = 2; file < 5; file++)
		assert_int_equal(read_file(c, file, LIBC, &n), 0);
	assert_non_null(cam_table_cache_find(c, 2)); /* in use: 3 is the oldest now */
	assert_int_equal(read_file(c, 5, LIBC, &n), 0);
	assert_null(cam_table_cache_find(c, 3));
	assert_int_equal(rows_of(c, 2), n.rows);
	assert_int_equal(rows_of(c, 4), n.rows);
	assert_int_equal(rows_of(c, 5), n.rows);
	assert_true(cam_table_cache_memory(c) - empty <= max_bytes);
	cam_table_cache_free(c);
}

/* It is handed on all the same, and costs nothing afterwards. */
static void test_what_does_not_fit(void **state)
{
	struct cam_table_cache *c = cam_table_cache_new(64u << 10);
	struct counted n = {0};
	(void)state;
	assert_non_null(c);
	size_t empty = cam_table_cache_memory(c);
	assert_int_equal(read_file(c, 2, LIBC, &n), 0);
	assert_true(n.rows > 10000);
	assert_null(cam_table_cache_find(c, 2));
	assert_int_equal(cam_table_cache_memory(c), empty);
	assert_int_equal(read_file(c, 3, LD, &n), 0);
	assert_int_equal(rows_of(c, 3), n.rows);
	cam_table_cache_free(c);
}

static void test_what_was_not_read_whole_is_not_kept(void **state)
{
	struct cam_table_cache *c = cam_table_cache_new(8u << 20);
	struct counted n = {.error = -EPIPE};
	(void)state;
	assert_non_null(c);
	size_t empty = cam_table_cache_memory(c);
	assert_int_equal(read_file(c, 2, LIBC, &n), -EPIPE);
	assert_null(cam_table_cache_find(c, 2));
	assert_int_equal(read_file(c, 2, "/etc/passwd", &n), -EBADMSG);
	assert_int_equal(cam_table_cache_memory(c), empty);
	cam_table_cache_free(c);
}

static void test_more_files_than_entries(void **state)
{
	struct cam_table_cache *c = cam_table_cache_new(64u << 20);
	struct counted n = {0};
	(void)state;
	assert_non_null(c);
	for (uint32_t file = 2; file < 2 + CAM_TABLE_CACHE_FILES + 3; file++)
		assert_int_equal(read_file(c, file, LD, &n), 0);
	for (uint32_t file = 2; file < 5; file++)
		assert_null(cam_table_cache_find(c, file));
	assert_int_equal(rows_of(c, 5), n.rows);
	assert_int_equal(rows_of(c, 2 + CAM_TABLE_CACHE_FILES + 2), n.rows);
	cam_table_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_read_is_found),
		cmocka_unit_test(test_the_least_used_go_first),
		cmocka_unit_test(test_what_does_not_fit),
		cmocka_unit_test(test_what_was_not_read_whole_is_not_kept),
		cmocka_unit_test(test_more_files_than_entries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
