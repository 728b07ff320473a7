// SPDX-License-Identifier: Apache-2.0
/* One step of unwinding, as C, over tables and stacks made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/unwind_step.h"

#define N_BLOCKS 8u
#define CODE	 0x7f1200000000ull /* where file 3 is mapped */
#define JIT	 0x100000ull
#define STACK	 0x7ffc00000000ull
#define WORDS	 64u

struct cam_step_env {
	struct cam_unwind_block block[N_BLOCKS];
	struct cam_unwind_file file;
	struct cam_unwind_image image;
	struct cam_unwind_chunk chunk;
	uint64_t stack[WORDS];
	uint8_t code[64]; /* at JIT */
	int after_call;
};

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return number < N_BLOCKS ? &e->block[number] : NULL;
}

static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	return number == 3 ? &e->file : NULL;
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return &e->image;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	return k == 0 ? &e->chunk : NULL;
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	if (address >= JIT && address < JIT + sizeof(e->code) - bytes) {
		memcpy(to, e->code + (address - JIT), bytes);
		return 0;
	}
	if (address < STACK || address - STACK > sizeof(e->stack) ||
	    sizeof(e->stack) - (address - STACK) < bytes)
		return -1;
	memcpy(to, (const char *)e->stack + (address - STACK), bytes);
	return 0;
}

static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	(void)address;
	return e->after_call;
}

enum { LEAF = 0, ROOT = 1, RULES = 2, INNER = 3 };

/* File 3: offset 0x1000 on, a rule each 16 bytes: rule i from 0x1000 + 16 * i on. */
static struct cam_step_env *world(const struct cam_unwind_rule *rules, uint32_t n)
{
	struct cam_step_env *e = calloc(1, sizeof(*e));
	assert_non_null(e);
	memset(e->block, 0xff, sizeof(e->block));
	for (uint32_t i = 0; i < n; i++) {
		e->block[RULES].rule[i] = rules[i];
		e->block[LEAF].row[i] = i * 16 | i << 16;
	}
	e->block[ROOT].inner.first[0] = 0x1000;
	e->block[ROOT].inner.child[0] = LEAF;
	e->file = (struct cam_unwind_file){
		.root = ROOT, .levels = 1, .n_rules = n, .generation = 1, .rules = {RULES}};
	memset(&e->image, 0xff, sizeof(e->image));
	memset(e->chunk.start, 0xff, sizeof(e->chunk.start));
	e->image.first[0] = e->chunk.start[0] = JIT;
	e->chunk.map[0] = (struct cam_unwind_map){.end = JIT + 4096, .flags = CAM_UNWIND_NO_FILE};
	e->chunk.start[1] = CODE + 0x1000;
	e->chunk.map[1] = (struct cam_unwind_map){.end = CODE + 0x3000, .bias = CODE, .file = 3};
	e->chunk.start[2] = CODE + 0x3000;
	e->chunk.map[2] = (struct cam_unwind_map){.end = CODE + 0x4000, .bias = CODE, .file = 4};
	e->after_call = 1;
	return e;
}

static struct cam_step leaf(uint64_t ip)
{
	return (struct cam_step){
		.ip = ip, .sp = STACK, .bp = 0, .bp_known = 1, .exact = 1, .leaf = 1};
}

#define AT(rule) (CODE + 0x1000 + 16 * (uint64_t)(rule))

static void test_rsp(void **state)
{
	(void)state;
	struct cam_step_env *e =
		world((struct cam_unwind_rule[]){{CAM_CFA_RSP, CAM_RBP_SAME, 0, 8},
						 {CAM_CFA_RSP, CAM_RBP_AT_CFA, -16, 32},
						 {CAM_CFA_RSP, CAM_RBP_GONE, 0, 16}},
		      3);
	struct cam_step s = leaf(AT(0) + 5);
	s.bp = 77;
	e->stack[0] = AT(1) + 1;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.ip, AT(1) + 1);
	assert_int_equal(cam_step_address(&s), AT(1) + 1);
	assert_int_equal(s.sp, STACK + 8);
	assert_int_equal(s.bp, 77);
	assert_false(s.exact);
	e->stack[3] = 88;
	e->stack[4] = AT(2) + 3;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.ip, AT(2) + 3);
	assert_int_equal(s.sp, STACK + 40);
	assert_int_equal(s.bp, 88);
	e->stack[6] = AT(1);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_false(s.bp_known);
	assert_false(s.guessed);
	free(e);
}

/* A return address at the very end of a function's rows belongs to that function. */
static void test_exact_or_one_before(void **state)
{
	(void)state;
	struct cam_step_env *e = world(
		(struct cam_unwind_rule[]){{CAM_CFA_RSP, 0, 0, 8}, {CAM_CFA_END, 0, 0, 0}}, 2);
	struct cam_step s = leaf(AT(1));
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	s = leaf(AT(1));
	s.exact = 0;
	e->stack[0] = AT(1) + 1;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	free(e);
}

static void test_rbp_and_deref(void **state)
{
	(void)state;
	struct cam_step_env *e =
		world((struct cam_unwind_rule[]){{CAM_CFA_RBP, CAM_RBP_AT_CFA, -16, 16},
						 {CAM_CFA_DEREF_RBP, CAM_RBP_AT_RBP, 0, -8}},
		      2);
	struct cam_step s = leaf(AT(0));
	s.bp = STACK + 32;
	e->stack[4] = STACK + 64;
	e->stack[5] = AT(1) + 2;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.sp, STACK + 48);
	assert_int_equal(s.bp, STACK + 64);
	e->stack[7] = STACK + 128; /* the CFA */
	e->stack[8] = 99;	   /* the caller's rbp */
	e->stack[15] = AT(0) + 9;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.sp, STACK + 128);
	assert_int_equal(s.bp, 99);
	assert_int_equal(s.ip, AT(0) + 9);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_BAD_CFA);
	s.bp_known = 0;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNSUPPORTED);
	free(e);
}

static void test_plt(void **state)
{
	(void)state;
	struct cam_step_env *e =
		world((struct cam_unwind_rule[]){{CAM_CFA_PLT, CAM_RBP_SAME, 0, 11}}, 1);
	struct cam_step s = leaf(AT(0) + 10);
	e->stack[0] = AT(0) + 0x101;
	e->stack[1] = AT(0) + 0x202;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.ip, AT(0) + 0x101);
	s = leaf(AT(0) + 0x20 + 11);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.ip, AT(0) + 0x202);
	assert_int_equal(s.sp, STACK + 16);
	free(e);
}

/* What it interrupted is looked up as it is; its stack may be anywhere. */
static void test_signal(void **state)
{
	(void)state;
	struct cam_step_env *e = world((struct cam_unwind_rule[]){{CAM_CFA_RSP, 0, 0, 8},
								  {CAM_CFA_SIGNAL, 0, 0, 0},
								  {CAM_CFA_END, 0, 0, 0}},
				       3);
	struct cam_step s = leaf(AT(1) + 1);
	s.sp = STACK + 16 * 8;
	e->stack[16 + 5 + 10] = 55;
	e->stack[16 + 5 + 15] = STACK + 8;
	e->stack[16 + 5 + 16] = AT(2);
	assert_int_equal(cam_step_address(&s), AT(1) + 1);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(s.ip, AT(2));
	assert_int_equal(cam_step_address(&s), AT(2) + 1);
	assert_int_equal(s.sp, STACK + 8);
	assert_int_equal(s.bp, 55);
	assert_true(s.exact);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	s = leaf(AT(1) + 1);
	s.sp = STACK + sizeof(e->stack) - 64;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNREADABLE);
	free(e);
}

static void test_guess(void **state)
{
	(void)state;
	struct cam_step_env *e = world((struct cam_unwind_rule[]){{CAM_CFA_NONE, 0, 0, 0}}, 1);
	struct cam_step s = leaf(JIT + 7), t;
	s.bp = STACK + 16;
	e->stack[2] = STACK + 48;
	e->stack[3] = AT(0) + 4;
	t = s;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_UNKNOWN);
	assert_int_equal(t.ip, AT(0) + 4);
	assert_int_equal(t.sp, STACK + 32);
	assert_int_equal(t.bp, STACK + 48);
	assert_true(t.guessed);
	/* The file says nothing there: again by frame pointer, to a frame that has both words 0. */
	e->stack[6] = STACK + 64;
	e->stack[7] = JIT + 9;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_UNKNOWN);
	assert_int_equal(t.ip, JIT + 9);
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_COMPLETE);
	/* Not after a call; not in code; rbp below, crooked, unknown, outside. */
	t = s;
	e->after_call = 0;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_BAD_RETURN);
	e->after_call = 1;
	e->stack[3] = STACK;
	t = s;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_BAD_RETURN);
	uint64_t bad[] = {STACK - 8, STACK + 17, STACK + sizeof(e->stack), 0};
	for (size_t i = 0; i < 4; i++) {
		t = s;
		t.bp = bad[i];
		assert_int_equal(cam_step_up(e, &t), CAM_STACK_NO_CFI);
	}
	t = s;
	t.bp_known = 0;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_NO_CFI);
	free(e);
}

/* A register that is no frame pointer may point to two words that are 0. */
static void test_zero_words(void **state)
{
	(void)state;
	struct cam_step_env *e = world((struct cam_unwind_rule[]){{CAM_CFA_NONE, 0, 0, 0}}, 1);
	struct cam_step s = leaf(AT(0) + 4);
	s.bp = STACK + 16;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	s.guessed = 1;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	free(e);
}

/* The first function of a goroutine returns to where no call was. */
static void test_goexit(void **state)
{
	(void)state;
	struct cam_step_env *e = world((struct cam_unwind_rule[]){{CAM_CFA_NONE, 0, 0, 0}}, 1);
	struct cam_step s = leaf(AT(0) + 4), t;
	s.bp = STACK + 16;
	e->stack[3] = JIT + 9;
	e->code[8] = 0x90;
	e->code[9] = 0xe8;
	e->after_call = 0;
	t = s;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_UNKNOWN);
	assert_int_equal(t.ip, JIT + 9);
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_COMPLETE);
	/* Nearly so: another byte, or a caller with a frame. */
	t = s;
	e->code[8] = 0x91;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_BAD_RETURN);
	e->code[8] = 0x90;
	e->code[9] = 0xe9;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_BAD_RETURN);
	e->code[9] = 0xe8;
	e->stack[2] = STACK + 48;
	assert_int_equal(cam_step_up(e, &t), CAM_STACK_BAD_RETURN);
	free(e);
}

/* rbp 0 is an end only where the kernel put argc. */
static void test_entry(void **state)
{
	(void)state;
	struct cam_step_env *e = world((struct cam_unwind_rule[]){{CAM_CFA_NONE, 0, 0, 0}}, 1);
	struct cam_step s = leaf(AT(0) + 1);
	s.leaf = s.exact = 0;
	e->stack[0] = 2;
	e->stack[1] = STACK + 400;
	e->stack[2] = STACK + 405;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	s.leaf = 1;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	s.leaf = 0;
	e->stack[3] = 1;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	e->stack[3] = 0;
	/* The strings lie above the list of them. */
	e->stack[1] = STACK + 24;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	e->stack[1] = STACK + 400;
	/* A shell's glob. */
	e->stack[0] = 62;
	e->stack[1] = STACK + sizeof(e->stack) + 400;
	memset(e->stack + 2, 1, 61 * sizeof(e->stack[0]));
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	e->stack[0] = 61;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	/* So many that the end of the list was not copied: then the strings follow each other. */
	uint64_t strings = STACK + 8 * (WORDS + 200);
	e->stack[0] = WORDS + 100;
	e->stack[1] = strings;
	e->stack[2] = strings + 5;
	e->stack[3] = strings + 6;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	e->stack[3] = strings + 5;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	e->stack[3] = strings + 6 + (1 << 17);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	e->stack[2] = strings - 5;
	e->stack[3] = strings + 6;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	e->stack[0] = 2;
	e->stack[3] = 0;
	e->stack[1] = STACK + 400;
	s.bp = 8;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_NO_CFI);
	free(e);
}

static void test_ends(void **state)
{
	(void)state;
	struct cam_step_env *e =
		world((struct cam_unwind_rule[]){{CAM_CFA_RSP, 0, 0, 16},
						 {CAM_CFA_UNSUPPORTED, 0, 0, 0},
						 {CAM_CFA_RSP, 0, 0, 0},
						 {CAM_CFA_RSP, 0, 0, 8 * WORDS + 16},
						 {CAM_CFA_RSP, 0, 0, -8}},
		      5);
	const struct {
		uint64_t ip;
		enum cam_stack_end end;
	} ends[] = {
		{AT(0), CAM_STACK_COMPLETE}, /* the return address is 0 */
		{AT(1), CAM_STACK_UNSUPPORTED},	       {AT(2), CAM_STACK_BAD_CFA},
		{AT(3), CAM_STACK_UNREADABLE},	       {AT(4), CAM_STACK_BAD_CFA},
		{CODE + 0x3000, CAM_STACK_PENDING}, /* file 4 has no table */
		{CODE + 0x4000, CAM_STACK_NO_MAPPING}, {CODE + 0xfff, CAM_STACK_NO_MAPPING},
		{JIT - 1, CAM_STACK_NO_MAPPING},       {0, CAM_STACK_NO_MAPPING},
		{~0ull, CAM_STACK_NO_MAPPING},	       {1ull << 63, CAM_STACK_NO_MAPPING},
	};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct cam_step s = leaf(ends[i].ip);
		assert_int_equal(cam_step_up(e, &s), ends[i].end);
	}
	struct cam_step s = leaf(AT(0));
	e->file.levels = 0;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_PENDING);
	free(e);
}

static void test_two_levels(void **state)
{
	(void)state;
	struct cam_step_env *e = world(
		(struct cam_unwind_rule[]){{CAM_CFA_RSP, 0, 0, 8}, {CAM_CFA_END, 0, 0, 0}}, 2);
	e->block[INNER] = e->block[ROOT];
	e->block[ROOT].inner.child[0] = INNER;
	e->file.levels = 2;
	struct cam_step s = leaf(AT(0));
	e->stack[0] = AT(1) + 1;
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_UNKNOWN);
	assert_int_equal(cam_step_up(e, &s), CAM_STACK_COMPLETE);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rsp),	      cmocka_unit_test(test_exact_or_one_before),
		cmocka_unit_test(test_rbp_and_deref), cmocka_unit_test(test_plt),
		cmocka_unit_test(test_signal),	      cmocka_unit_test(test_guess),
		cmocka_unit_test(test_zero_words),    cmocka_unit_test(test_goexit),
		cmocka_unit_test(test_entry),	      cmocka_unit_test(test_ends),
		cmocka_unit_test(test_two_levels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
