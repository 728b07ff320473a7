// SPDX-License-Identifier: Apache-2.0
/* What the step finds in packed tables and images, against a walk through the rows one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/unwind_pack.h"
#include "model/unwind_step.h"

#define MAX_BLOCKS 6000u

struct cam_step_env {
	struct cam_unwind_block *blocks;
	uint32_t n;
	struct cam_unwind_image image;
	struct cam_unwind_chunk chunks[CAM_UNWIND_MAX_CHUNKS];
};

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return number < e->n ? &e->blocks[number] : NULL;
}

static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	(void)e;
	(void)number;
	return NULL;
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return &e->image;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	return &e->chunks[k];
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	(void)e;
	(void)to;
	(void)bytes;
	(void)address;
	return -1;
}

static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	(void)e;
	(void)address;
	return 1;
}

static int put(void *arg, const struct cam_unwind_block *block, uint32_t *number)
{
	struct cam_step_env *e = arg;
	assert_true(e->n < MAX_BLOCKS);
	e->blocks[e->n] = *block;
	*number = e->n++;
	return 0;
}

static uint64_t seed = 88172645463325252ull;

static uint32_t any(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % below;
}

/* 0: before the first row. */
static int linear(const struct cam_unwind_row *rows, uint32_t n, uint64_t offset, uint32_t *rule)
{
	uint32_t i = 0;
	while (i < n && rows[i].offset <= offset)
		i++;
	if (i)
		*rule = rows[i - 1].rule;
	return i > 0;
}

static void check_table(struct cam_step_env *e, const struct cam_unwind_row *rows, uint32_t n,
			uint32_t n_rules)
{
	struct cam_unwind_packer p;
	struct cam_unwind_file f = {0};
	struct cam_unwind_rule rules[CAM_UNWIND_MAX_RULES];
	for (uint32_t i = 0; i < n_rules; i++)
		rules[i] = (struct cam_unwind_rule){CAM_CFA_RSP, 0, 0, (int32_t)i};
	e->n = 0;
	cam_unwind_pack_start(&p, put, e);
	assert_int_equal(cam_unwind_pack_rules(&p, rules, n_rules), 0);
	assert_int_equal(cam_unwind_pack_rows(&p, rows, n), 0);
	assert_int_equal(cam_unwind_pack_finish(&p, &f), 0);
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t at = any(n), wanted = 0;
		uint64_t offset = rows[at].offset + (i % 4 == 0 ? -1ull : any(3) * any(100000));
		struct cam_unwind_rule got = {0};
		int is_there = linear(rows, n, offset, &wanted) && offset < UINT32_MAX;
		assert_int_equal(cam_step_find(e, &f, offset, &got), is_there);
		if (is_there)
			assert_int_equal(got.cfa_offset, wanted);
	}
}

static void tables_of_any_shape(void **state)
{
	(void)state;
	static const struct {
		uint32_t rows, gap, rules;
	} shapes[] = {{1, 1, 1},	 {2, 70000, 2},	     {1024, 16, 3},
		      {1025, 16, 513},	 {30000, 40, 1500},  {3000, 70000, 4096},
		      {700000, 6, 4096}, {5000, 0x1ffff, 7}, {600, 0x700000, 9}};
	struct cam_step_env *e = calloc(1, sizeof(*e));
	assert_non_null(e);
	e->blocks = malloc(MAX_BLOCKS * sizeof(*e->blocks));
	assert_non_null(e->blocks);
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		struct cam_unwind_row *rows = malloc(shapes[s].rows * sizeof(*rows));
		assert_non_null(rows);
		uint32_t offset = any(shapes[s].gap);
		for (uint32_t i = 0; i < shapes[s].rows; i++, offset += 1 + any(shapes[s].gap))
			rows[i] = (struct cam_unwind_row){offset, any(shapes[s].rules)};
		check_table(e, rows, shapes[s].rows, shapes[s].rules);
		free(rows);
	}
	free(e->blocks);
	free(e);
}

/* Mappings with holes, and some that touch; 1 to all that an image can have. */
static void images_of_any_size(void **state)
{
	(void)state;
	struct cam_step_env *e = calloc(1, sizeof(*e));
	assert_non_null(e);
	for (uint32_t n = 1; n <= CAM_UNWIND_MAX_MAPS; n = n * 5 / 2 + (n == 1)) {
		uint64_t at = 0x10000, starts[CAM_UNWIND_MAX_MAPS], ends[CAM_UNWIND_MAX_MAPS];
		memset(&e->image, 0xff, sizeof(e->image));
		memset(e->chunks, 0xff, sizeof(e->chunks));
		for (uint32_t i = 0; i < n; i++) {
			at += any(2) * 4096ull * any(100000);
			starts[i] = at;
			at += 4096 * (1 + any(16));
			ends[i] = at;
			struct cam_unwind_chunk *c = &e->chunks[i / CAM_UNWIND_CHUNK_MAPS];
			c->start[i % CAM_UNWIND_CHUNK_MAPS] = starts[i];
			c->map[i % CAM_UNWIND_CHUNK_MAPS] =
				(struct cam_unwind_map){.end = at, .file = i};
			if (i % CAM_UNWIND_CHUNK_MAPS == 0)
				e->image.first[i / CAM_UNWIND_CHUNK_MAPS] = starts[i];
		}
		for (uint32_t i = 0; i < 2000; i++) {
			uint32_t k = any(n);
			uint64_t pc = starts[k] + any(65536 + 8192) - 4096;
			uint32_t wanted = UINT32_MAX;
			for (uint32_t j = 0; j < n; j++)
				wanted = pc >= starts[j] && pc < ends[j] ? j : wanted;
			struct cam_step s = {0};
			assert_int_equal(cam_step_map(e, &s, pc), wanted != UINT32_MAX);
			if (wanted != UINT32_MAX)
				assert_int_equal(s.file, wanted);
		}
	}
	free(e);
}

/* By the bytes that an assembler makes of them. */
static void calls_are_known(void **state)
{
	(void)state;
	static const struct {
		uint8_t bytes[8];
		int n, is_call;
	} cases[] = {
		{{0xe8, 1, 2, 3, 4}, 5, 1},		/* call rel32 */
		{{0xff, 0xd0}, 2, 1},			/* call *%rax */
		{{0x41, 0xff, 0xd4}, 3, 1},		/* call *%r12 */
		{{0xff, 0x10}, 2, 1},			/* call *(%rax) */
		{{0xff, 0x50, 8}, 3, 1},		/* call *8(%rax) */
		{{0xff, 0x14, 0xc3}, 3, 1},		/* call *(%rbx,%rax,8) */
		{{0xff, 0x54, 0x24, 8}, 4, 1},		/* call *8(%rsp) */
		{{0xff, 0x15, 1, 2, 3, 4}, 6, 1},	/* call *0x4030201(%rip) */
		{{0xff, 0x90, 0, 1, 0, 0}, 6, 1},	/* call *0x100(%rax) */
		{{0xff, 0x94, 0x24, 0, 1, 0, 0}, 7, 1}, /* call *0x100(%rsp) */
		{{0xff, 0x14, 0xc5, 0, 1, 0, 0}, 7, 1}, /* call *0x100(,%rax,8) */
		{{0xff, 0xe0}, 2, 0},			/* jmp *%rax */
		{{0xff, 0x25, 1, 2, 3, 4}, 6, 0},	/* jmp *…(%rip) */
		{{0xe9, 1, 2, 3, 4}, 5, 0},		/* jmp rel32 */
		{{0x90}, 1, 0},				/* nop */
		{{0xff, 0x14, 0x25}, 3, 0},		/* the beginning of one */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t before[7] = {0};
		memcpy(before + 7 - cases[i].n, cases[i].bytes, (size_t)cases[i].n);
		assert_int_equal(cam_step_is_call(before), cases[i].is_call);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_any_shape),
		cmocka_unit_test(images_of_any_size),
		cmocka_unit_test(calls_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
