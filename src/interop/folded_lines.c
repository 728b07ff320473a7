// SPDX-License-Identifier: Apache-2.0
/*
 * Folded lines as a tree, and the way to print a tree in the order of sorted text.
 *
 * The texts of all lines together can be a hundred times the tree (a deep stack repeats the
 * text of every frame above its leaf), so they are never held: the tree is walked, and what is
 * sorted is only the names below one node.
 *
 * Invariants:
 *  1. Below a node, the line that ends in name X continues " COUNT", the lines through X
 *     continue ";". Both are sorted as entries of their own, by X and what follows it: the
 *     blank is before, and ';' behind, most of what may follow X in a longer name.
 *  2. No name holds ';', so two entries differ before either ends, and an entry's lines stand
 *     together.
 *  3. The walk keeps its own stack: a path may be as deep as names allow.
 *
 * Example: lines "a 7", "a.b 2", "a;c 1". Entries: "a 7" < "a.b 2" < "a;": the lines of "a" are
 * not adjacent to each other.
 */
#include "interop/folded_lines.h"

#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>

int cam_folded_lines_init(struct cam_folded_lines *l, size_t max_bytes)
{
	*l = (struct cam_folded_lines){0};
	return cam_tables_init(&l->names, max_bytes / 4 * 3);
}

void cam_folded_lines_free(struct cam_folded_lines *l)
{
	cam_tables_free(&l->names);
	free(l->counts);
}

int cam_folded_lines_node(struct cam_folded_lines *l, uint32_t below, struct cam_str_id name,
			  uint32_t *out)
{
	return cam_tree_intern(&l->names, &l->names.stacks, below, name.v, out);
}

int cam_folded_lines_add(struct cam_folded_lines *l, uint32_t node, uint64_t count)
{
	if (node >= l->n_counts) {
		int err = cam_vec_reserve(&l->counts, &l->cap_counts, (size_t)node + 1,
					  sizeof(*l->counts), CAM_MAX_ROWS);
		if (err)
			return err;
		memset(l->counts + l->n_counts, 0,
		       (l->cap_counts - l->n_counts) * sizeof(*l->counts));
		l->n_counts = l->cap_counts;
	}
	if (__builtin_add_overflow(l->counts[node], count, &l->counts[node]))
		l->counts[node] = UINT64_MAX;
	return 0;
}

struct entry {
	uint32_t node;
	uint32_t depth : 31;
	uint32_t own : 1; /* the line that ends here, not those that go on */
};

struct walk {
	const struct cam_folded_lines *l;
	uint32_t *child, *sibling; /* per node; 0: none */
	struct entry *todo;
	size_t n_todo, cap_todo;
	uint32_t *path;
	size_t cap_path;
	uint64_t lines;
};

static uint64_t count_of(const struct cam_folded_lines *l, uint32_t node)
{
	return node < l->n_counts ? l->counts[node] : 0;
}

static struct cam_text name_of(const struct cam_folded_lines *l, uint32_t node)
{
	return cam_string(&l->names, (struct cam_str_id){l->names.stacks.item[node]});
}

size_t cam_folded_count_text(uint64_t count, bool thousandths, char room[24])
{
	unsigned rest = thousandths ? (unsigned)(count % 1000) : 0;
	int n = snprintf(room, 24, " %" PRIu64, thousandths ? count / 1000 : count);
	if (rest)
		n += snprintf(room + n, 24 - (size_t)n, ".%03u", rest);
	while (rest && room[n - 1] == '0')
		n--;
	return (size_t)n;
}

/* What follows the name in an entry's lines. */
static size_t tail_of(const struct cam_folded_lines *l, const struct entry *e, char room[24])
{
	if (e->own)
		return cam_folded_count_text(count_of(l, e->node), l->thousandths, room);
	room[0] = ';';
	return 1;
}

/* Where one name is the start of the other: its tail against the rest of the longer. */
static int compare_tails(const struct cam_folded_lines *l, const struct entry *shorter,
			 const struct entry *longer, struct cam_text rest)
{
	char a[24], b[24];
	size_t n_a = tail_of(l, shorter, a);
	size_t n_b = tail_of(l, longer, b);
	for (size_t i = 0; i < n_a && i < rest.n + n_b; i++) {
		char c = i < rest.n ? rest.p[i] : b[i - rest.n];
		if (a[i] != c)
			return (unsigned char)a[i] < (unsigned char)c ? -1 : 1;
	}
	return n_a < rest.n + n_b ? -1 : 1;
}

/* Descending: the walk takes from the end. */
static int compare_entries(const void *x, const void *y, void *arg)
{
	const struct cam_folded_lines *l = arg;
	const struct entry *a = x, *b = y;
	struct cam_text s = name_of(l, a->node), t = name_of(l, b->node);
	size_t n = s.n < t.n ? s.n : t.n;
	int c = n ? memcmp(s.p, t.p, n) : 0;
	if (c)
		return -c;
	if (s.n == t.n)
		return a->own == b->own ? 0 : a->own ? 1 : -1;
	if (s.n < t.n)
		return -compare_tails(l, a, b, (struct cam_text){t.p + n, t.n - n});
	return compare_tails(l, b, a, (struct cam_text){s.p + n, s.n - n});
}

static int push(struct walk *k, uint32_t node, uint32_t depth, bool own)
{
	int err = cam_vec_reserve(&k->todo, &k->cap_todo, k->n_todo + 1, sizeof(*k->todo),
				  2 * (size_t)CAM_MAX_ROWS);
	if (!err)
		k->todo[k->n_todo++] = (struct entry){node, depth & 0x7fffffff, own};
	return err;
}

static int push_children(struct walk *k, uint32_t node, uint32_t depth)
{
	size_t from = k->n_todo;
	int err = cam_vec_reserve(&k->path, &k->cap_path, (size_t)depth + 1, sizeof(*k->path),
				  CAM_MAX_ROWS);
	for (uint32_t c = k->child[node]; c && !err; c = k->sibling[c]) {
		if (count_of(k->l, c))
			err = push(k, c, depth, true);
		if (k->child[c] && !err)
			err = push(k, c, depth, false);
	}
	if (k->n_todo - from > 1)
		qsort_r(k->todo + from, k->n_todo - from, sizeof(*k->todo), compare_entries,
			(void *)k->l);
	return err;
}

static void print_line(struct walk *k, const struct entry *e, struct cam_out *out)
{
	char tail[24];
	for (uint32_t d = 0; d <= e->depth; d++) {
		if (d)
			cam_out_bytes(out, ";", 1);
		cam_out_text(out, name_of(k->l, k->path[d]));
	}
	cam_out_bytes(out, tail, tail_of(k->l, e, tail));
	cam_out_bytes(out, "\n", 1);
	k->lines++;
}

static void link_children(struct walk *k)
{
	const struct cam_tree *tree = &k->l->names.stacks;
	for (size_t i = tree->n; i-- > 1;) {
		k->sibling[i] = k->child[tree->parent[i]];
		k->child[tree->parent[i]] = (uint32_t)i;
	}
}

int cam_folded_lines_write(const struct cam_folded_lines *l, struct cam_out *out, uint64_t *lines)
{
	size_t n = l->names.stacks.n;
	uint32_t *links = calloc(n, 2 * sizeof(*links));
	*lines = 0;
	if (!links)
		return -ENOMEM;
	struct walk k = {.l = l, .child = links, .sibling = links + n};
	link_children(&k);
	int err = push_children(&k, 0, 0);
	while (!err && k.n_todo) {
		struct entry e = k.todo[--k.n_todo];
		k.path[e.depth] = e.node;
		if (e.own)
			print_line(&k, &e, out);
		else
			err = push_children(&k, e.node, e.depth + 1);
	}
	*lines = k.lines;
	free(k.todo);
	free(k.path);
	free(links);
	return err ? err : out->error;
}
