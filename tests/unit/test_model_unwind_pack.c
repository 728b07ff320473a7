// SPDX-License-Identifier: Apache-2.0
/* Packed tables answer for every offset as the rows they were made of. */
#include "base/cleanup.h"
#include "model/unwind_pack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_BLOCKS 80000u

struct shelf {
	struct cam_unwind_block *blocks;
	uint32_t n, limit;
};

static int put(void *arg, const struct cam_unwind_block *block, uint32_t *number)
{
	struct shelf *s = arg;
	if (s->n == s->limit)
		return -ENOSPC;
	s->blocks[s->n] = *block;
	*number = s->n++;
	return 0;
}

struct fixture {
	struct shelf shelf;
	struct cam_unwind_packer packer;
	struct cam_unwind_file file;
	struct cam_unwind_row *rows;
	size_t n;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	f->shelf.blocks = calloc(MAX_BLOCKS, sizeof(struct cam_unwind_block));
	f->shelf.limit = MAX_BLOCKS;
	f->rows = calloc(CAM_UNWIND_MAX_ROWS + 1, sizeof(*f->rows));
	cam_unwind_pack_start(&f->packer, put, &f->shelf);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	free(f->shelf.blocks);
	free(f->rows);
	free(f);
	return 0;
}

static struct cam_unwind_rule rule_of(uint32_t i)
{
	return (struct cam_unwind_rule){.cfa = CAM_CFA_RSP, .cfa_offset = (int32_t)i * 8};
}

static int give_rules(struct fixture *f, uint32_t n)
{
	int error = 0;
	for (uint32_t i = 0; i < n && !error; i++) {
		struct cam_unwind_rule rule = rule_of(i);
		error = cam_unwind_pack_rules(&f->packer, &rule, 1);
	}
	return error;
}

/* As the rows say: the last one at or before; -1: none. */
static int64_t expected(const struct fixture *f, uint32_t offset)
{
	size_t low = 0, high = f->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (f->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (int64_t)f->rows[low - 1].rule : -1;
}

static uint32_t child_of(const struct cam_unwind_block *b, uint32_t offset, uint32_t *first)
{
	uint32_t i = 0;
	while (i + 1 < CAM_UNWIND_CHILDREN && b->inner.first[i + 1] <= offset &&
	       b->inner.child[i + 1] != CAM_UNWIND_PAD)
		i++;
	*first = b->inner.first[i];
	return b->inner.child[i];
}

static int64_t found(const struct fixture *f, uint32_t offset)
{
	uint32_t at = f->file.root, first = 0, i = 0;
	if (offset < f->shelf.blocks[at].inner.first[0])
		return -1;
	for (uint32_t level = 0; level < f->file.levels; level++)
		at = child_of(&f->shelf.blocks[at], offset, &first);
	const uint32_t *row = f->shelf.blocks[at].row;
	uint32_t delta = offset - first < 0xfffe ? offset - first : 0xfffe;
	while (i + 1 < CAM_UNWIND_LEAF_ROWS && (row[i + 1] & 0xffff) <= delta)
		i++;
	uint32_t rule = row[i] >> 16;
	assert_true(rule < f->file.n_rules);
	const struct cam_unwind_block *rules =
		&f->shelf.blocks[f->file.rules[rule / CAM_UNWIND_BLOCK_RULES]];
	return rules->rule[rule % CAM_UNWIND_BLOCK_RULES].cfa_offset / 8;
}

static void check_all(struct fixture *f, size_t step)
{
	assert_int_equal(cam_unwind_pack_rows(&f->packer, f->rows, f->n / 3), 0);
	assert_int_equal(cam_unwind_pack_rows(&f->packer, f->rows + f->n / 3, f->n - f->n / 3), 0);
	assert_int_equal(cam_unwind_pack_finish(&f->packer, &f->file), 0);
	for (size_t i = 0; i < f->n; i += step) {
		uint32_t offset = f->rows[i].offset;
		assert_int_equal(found(f, offset), expected(f, offset));
		assert_int_equal(found(f, offset + 1), expected(f, offset + 1));
		if (offset)
			assert_int_equal(found(f, offset - 1), expected(f, offset - 1));
	}
	assert_int_equal(found(f, UINT32_MAX), expected(f, UINT32_MAX));
}

static void test_small_tables(void **state)
{
	struct fixture *f = *state;
	const uint32_t offsets[] = {0x1000, 0x1004, 0x10ffe, 0x10fff, 0x20000, 0xfffffffe};
	assert_int_equal(give_rules(f, 6), 0);
	for (uint32_t i = 0; i < 6; i++)
		f->rows[f->n++] = (struct cam_unwind_row){offsets[i], 5 - i};
	check_all(f, 1);
	assert_int_equal(f->file.levels, 1);
	/* Rules, three leaves (0x10fff is the first that does not fit), the root. */
	assert_int_equal(f->shelf.n, 1 + 3 + 1);
}

static void test_two_levels(void **state)
{
	struct fixture *f = *state;
	uint32_t offset = 64;
	assert_int_equal(give_rules(f, CAM_UNWIND_MAX_RULES), 0);
	srand(4);
	for (; f->n < 1000000; f->n++) {
		f->rows[f->n] =
			(struct cam_unwind_row){offset, (uint32_t)rand() % CAM_UNWIND_MAX_RULES};
		offset += 1 + (uint32_t)rand() % 100;
	}
	check_all(f, 499);
	assert_int_equal(f->file.levels, 2);
	assert_true(f->shelf.n < 1000000 / 1024 + 8 + 8);
}

/* The most leaves that any rows can make. */
static void test_sparsest_table(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(give_rules(f, 2), 0);
	for (uint64_t offset = 0; offset <= UINT32_MAX; offset += 0xffff, f->n++)
		f->rows[f->n] = (struct cam_unwind_row){(uint32_t)offset, f->n & 1};
	check_all(f, 77);
	assert_int_equal(f->file.levels, 2);
}

static void test_no_rows_is_a_table_of_none(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(give_rules(f, CAM_UNWIND_MAX_RULES), 0);
	assert_int_equal(cam_unwind_pack_finish(&f->packer, &f->file), 0);
	assert_int_equal(f->file.levels, 1);
	assert_int_equal(f->file.n_rules, 1);
	assert_int_equal(f->shelf.blocks[f->file.rules[0]].rule[0].cfa, CAM_CFA_NONE);
	assert_int_equal(found(f, 0), 0);
}

static void test_what_is_refused(void **state)
{
	struct fixture *f = *state;
	struct cam_unwind_row same[] = {{8, 0}, {8, 0}}, unknown = {16, 1};
	struct cam_unwind_rule bad = {.cfa = CAM_CFA_KINDS}, worse = {.rbp = CAM_RBP_KINDS};
	assert_int_equal(cam_unwind_pack_rules(&f->packer, &bad, 1), -EBADMSG);
	/* It stays refused. */
	assert_int_equal(give_rules(f, 1), -EBADMSG);
	assert_int_equal(cam_unwind_pack_finish(&f->packer, &f->file), -EBADMSG);
	cam_unwind_pack_start(&f->packer, put, &f->shelf);
	assert_int_equal(cam_unwind_pack_rules(&f->packer, &worse, 1), -EBADMSG);
	cam_unwind_pack_start(&f->packer, put, &f->shelf);
	assert_int_equal(give_rules(f, CAM_UNWIND_MAX_RULES + 1), -E2BIG);
	cam_unwind_pack_start(&f->packer, put, &f->shelf);
	assert_int_equal(give_rules(f, 1), 0);
	assert_int_equal(cam_unwind_pack_rows(&f->packer, same, 2), -EBADMSG);
	cam_unwind_pack_start(&f->packer, put, &f->shelf);
	assert_int_equal(give_rules(f, 1), 0);
	assert_int_equal(cam_unwind_pack_rows(&f->packer, &unknown, 1), -EBADMSG);
	cam_unwind_pack_start(&f->packer, put, &f->shelf);
	assert_int_equal(give_rules(f, 1), 0);
	for (uint32_t i = 0; i <= CAM_UNWIND_MAX_ROWS; i++)
		f->rows[i] = (struct cam_unwind_row){i, 0};
	assert_int_equal(cam_unwind_pack_rows(&f->packer, f->rows, CAM_UNWIND_MAX_ROWS), 0);
	assert_int_equal(cam_unwind_pack_rows(&f->packer, f->rows + CAM_UNWIND_MAX_ROWS, 1),
			 -E2BIG);
}

static void test_a_full_shelf_is_said(void **state)
{
	struct fixture *f = *state;
	for (uint32_t limit = 0; limit < 5; limit++) {
		f->shelf.n = 0;
		f->shelf.limit = limit;
		cam_unwind_pack_start(&f->packer, put, &f->shelf);
		assert_int_equal(give_rules(f, 1), 0);
		for (uint32_t i = 0; i < 3; i++)
			f->rows[i] = (struct cam_unwind_row){i * 0x10000, 0};
		(void)cam_unwind_pack_rows(&f->packer, f->rows, 3);
		assert_int_equal(cam_unwind_pack_finish(&f->packer, &f->file), -ENOSPC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_small_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_levels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sparsest_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_rows_is_a_table_of_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_full_shelf_is_said, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
