// SPDX-License-Identifier: Apache-2.0
#include "query/prune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct maker {
	struct cam_flame_node *v;
	size_t n;
	unsigned seed;
};

static unsigned chance(struct maker *m, unsigned n)
{
	m->seed = m->seed * 1103515245u + 12345u;
	return m->seed / 65536u % n;
}

/* A random tree below a node; its weight. */
static uint64_t grow(struct maker *m, uint32_t parent, uint32_t depth)
{
	uint32_t i = (uint32_t)m->n++;
	m->v[i] = (struct cam_flame_node){.frame = i, .parent = parent, .depth = depth};
	uint64_t self = chance(m, 50), total = self;
	for (unsigned c = chance(m, 5); c && depth < 12 && m->n < 5000; c--)
		total += grow(m, i, depth + 1);
	m->v[i].self = self;
	m->v[i].total = total;
	m->v[i].end = (uint32_t)m->n;
	return total;
}

static void check_shape(const struct cam_flame *f)
{
	assert_int_equal(f->nodes[0].end, f->n_nodes);
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		const struct cam_flame_node *n = &f->nodes[i], *p = &f->nodes[n->parent];
		assert_true(n->parent < i && n->end > i && n->end <= p->end);
		assert_int_equal(n->depth, p->depth + 1);
		assert_true(n->depth <= f->depth);
	}
}

/* What is left is what an unhurried look at the tree before would keep, in the same order. */
static void test_against_the_plain_way(void **state)
{
	(void)state;
	struct cam_flame_node *before = calloc(6000, sizeof(*before));
	struct cam_flame f = {.nodes = calloc(6000, sizeof(*f.nodes)), .depth = 12};
	for (unsigned round = 0; round < 200; round++) {
		struct maker m = {.v = before, .seed = round};
		grow(&m, 0, 0);
		f.n_nodes = m.n;
		for (size_t i = 0; i < m.n; i++)
			f.nodes[i] = before[i];
		uint64_t least = cam_flame_prune(&f, 100);
		check_shape(&f);
		assert_true(f.n_nodes <= 100 || least >= before[0].total);
		assert_true(least > 0 || f.n_nodes == m.n);
		size_t k = 0;
		for (size_t i = 0; i < m.n; i++) {
			if (i && before[i].total < least)
				continue;
			assert_int_equal(f.nodes[k].frame, before[i].frame);
			assert_int_equal(f.nodes[k].total, before[i].total);
			assert_int_equal(f.nodes[k].self, before[i].self);
			assert_int_equal(f.nodes[f.nodes[k].parent].frame,
					 before[before[i].parent].frame);
			k++;
		}
		assert_int_equal(k, f.n_nodes);
	}
	free(before);
	free(f.nodes);
}

/* What is left of a time that has nothing any more, and weights that fill 64 bits. */
static void test_before_and_huge(void **state)
{
	(void)state;
	struct cam_flame_node v[64];
	struct cam_flame f = {.nodes = v};
	for (unsigned round = 0; round < 2; round++) {
		f.n_nodes = 64;
		for (uint32_t i = 0; i < 64; i++)
			v[i] = (struct cam_flame_node){.frame = i,
						       .end = i ? i + 1 : 64,
						       .depth = i > 0,
						       .total = round ? UINT64_MAX - i : 0,
						       .before_total = round ? 0 : 1000 - 10 * i};
		uint64_t least = cam_flame_prune(&f, 10);
		check_shape(&f);
		if (round) { /* all of a size: they stay */
			assert_int_equal(f.n_nodes, 64);
			assert_int_equal(least, 1ull << 63);
		} else {
			assert_true(f.n_nodes <= 10);
			assert_int_equal(least, 1024);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_the_plain_way),
					   cmocka_unit_test(test_before_and_huge)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
