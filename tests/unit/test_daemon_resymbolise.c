// SPDX-License-Identifier: Apache-2.0
/* Which leaves of a window are asked for, with a namer that is watched. What comes of real files is in tests/system. */
#include "daemon/resymbolise.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define LEAVES 8191u /* one less than a power of two: nearly full, for ever */
#define ROUNDS 60u

/* A window whose samples are ROUNDS times the same leaves of one function. */
struct leaves {
	struct cam_window w;
	struct fake_window *f;
	struct cam_stack_id stack;
};

static int give_tables(struct cam_window *w, const struct cam_tables **out)
{
	*out = &((struct leaves *)w)->f->t;
	return 0;
}

static int give_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			cam_batch_fn *fn, void *arg)
{
	struct leaves *l = (struct leaves *)w;
	uint64_t offsets[LEAVES];
	uint32_t stacks[LEAVES];
	int err = 0;
	(void)range;
	assert_int_equal(columns, CAM_COL_STACK | CAM_COL_LEAF);
	for (uint32_t i = 0; i < LEAVES; i++) {
		offsets[i] = (i * 4099ull) % LEAVES; /* each once, in no order */
		stacks[i] = l->stack.v;
	}
	for (unsigned i = 0; i < ROUNDS && !err; i++)
		err = fn(arg,
			 &(struct cam_batch){.n = LEAVES, .stack = stacks, .leaf_offset = offsets});
	return err;
}

static const struct cam_window_ops ops = {.tables = give_tables, .samples = give_samples};

struct namer {
	struct cam_namer namer;
	unsigned asked[LEAVES];
	size_t n;
};

static int find_module(struct cam_namer *n, const struct cam_namer_module *m, uint32_t *file)
{
	(void)n;
	(void)m;
	*file = 1;
	return 0;
}

static int find_names(struct cam_namer *n, uint32_t file, const uint64_t *offsets, size_t n_offsets,
		      bool names_only, cam_namer_name_fn *fn, void *arg)
{
	struct namer *self = n->self;
	int err = 0;
	assert_int_equal(file, 1);
	assert_false(names_only);
	self->n += n_offsets;
	for (size_t i = 0; i < n_offsets && !err; i++) {
		struct cam_inlined step = {.name = CAM_TEXT("step")};
		const struct cam_name name = {
			.offset = offsets[i],
			.start = 0x1000,
			.source = CAM_NAME_DYNSYM,
			.name = CAM_TEXT("work"),
			.inlined = &step,
			.n_inlined = 1,
		};
		assert_in_range(offsets[i], 0x1000, 0x1000 + LEAVES - 1);
		self->asked[offsets[i] - 0x1000]++;
		err = fn(arg, i, &name);
	}
	return err;
}

static void each_leaf_is_asked_for_once(void **state)
{
	(void)state;
	struct leaves l = {.w = {.ops = &ops}, .f = fake_window_new()};
	struct namer *n = calloc(1, sizeof(*n));
	struct cam_module m = {.path = fake_str(l.f, "/lib/libx.so"), .kind = CAM_MODULE_FILE};
	struct cam_function func = {.name = fake_str(l.f, "work"),
				    .kind = CAM_FUNC_USER,
				    .source = CAM_NAME_DYNSYM,
				    .start = 0x1000};
	struct cam_func_id id;
	struct cam_resymbolised r;
	assert_int_equal(cam_module_intern(&l.f->t, &m, &func.module), 0);
	assert_int_equal(cam_function_intern(&l.f->t, &func, &id), 0);
	assert_int_equal(cam_tree_intern(&l.f->t, &l.f->t.stacks, 0, id.v, &l.stack.v), 0);
	n->namer = (struct cam_namer){.self = n, .module = find_module, .names = find_names};
	assert_int_equal(cam_resymbolise(&n->namer, &l.w, &r), 0);
	assert_int_equal(n->n, LEAVES);
	for (uint32_t i = 0; i < LEAVES; i++)
		assert_int_equal(n->asked[i], 1);
	assert_int_equal(r.counts.inlined, LEAVES);
	assert_int_equal(r.late.n_leaves, LEAVES);
	for (uint32_t i = 0; i < LEAVES; i++)
		assert_int_equal(r.late.leaves[i].leaf_offset, i);
	cam_resymbolised_free(&r);
	fake_window_free(l.f);
	free(n);
}

static int no_samples(struct cam_window *w, struct cam_range range, unsigned columns,
		      cam_batch_fn *fn, void *arg)
{
	(void)w;
	(void)range;
	(void)columns;
	(void)fn;
	(void)arg;
	return 0;
}

static void a_window_without_samples_has_nothing_to_ask(void **state)
{
	(void)state;
	const struct cam_window_ops none = {.tables = give_tables, .samples = no_samples};
	struct leaves l = {.w = {.ops = &none}, .f = fake_window_new()};
	struct cam_namer namer = {0};
	struct cam_resymbolised r;
	assert_int_equal(cam_resymbolise(&namer, &l.w, &r), 0);
	assert_false(cam_resymbolised_any(&r));
	cam_resymbolised_free(&r);
	fake_window_free(l.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_leaf_is_asked_for_once),
		cmocka_unit_test(a_window_without_samples_has_nothing_to_ask),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
