// SPDX-License-Identifier: Apache-2.0
/* Totals: how often each stack was sampled. No sample column is read for them. */
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

static int compare_rows(const void *x, const void *y)
{
	const struct cam_total_row *a = x, *b = y;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

/* Every pair of the window, as many rows. */
static struct cam_total_row *pair_rows(const struct cam_reader *r)
{
	const struct cam_dir *d = &r->dir;
	struct cam_total_row *rows = calloc((size_t)d->n_pairs + 1, sizeof(*rows));
	for (size_t c = 0; rows && c < d->n_classes; c++) {
		const struct cam_dir_class *class = &d->classes[c];
		for (uint32_t rank = class->first_rank; rank < class->first_rank + class->pairs;
		     rank++)
			rows[rank] = (struct cam_total_row){r->rank_node[rank], class->group,
							    class->count};
	}
	return rows;
}

/* Stable, by one of the two: 0 … n_keys. */
static void sort_by(const struct cam_total_row *from, struct cam_total_row *to, size_t n,
		    bool by_stack, uint32_t *at, size_t n_keys)
{
	memset(at, 0, (n_keys + 1) * sizeof(*at));
	for (size_t i = 0; i < n; i++)
		at[(by_stack ? from[i].stack : from[i].group) + 1]++;
	for (size_t k = 0; k < n_keys; k++)
		at[k + 1] += at[k];
	for (size_t i = 0; i < n; i++)
		to[at[by_stack ? from[i].stack : from[i].group]++] = from[i];
}

/* Ids are dense: where there is a row for many of them, counting is quicker than comparing. */
static void sort_rows(const struct cam_reader *r, struct cam_total_row *rows, size_t n)
{
	size_t nodes = r->t.stacks.n, groups = r->dir.n_groups;
	if (n > 64 && n > nodes / 16 && n > groups / 16) {
		struct cam_total_row *room = malloc(n * sizeof(*room));
		uint32_t *at = malloc(((nodes > groups ? nodes : groups) + 2) * sizeof(*at));
		bool done = room && at;
		if (done) {
			sort_by(rows, room, n, false, at, groups);
			sort_by(room, rows, n, true, at, nodes);
		}
		free(room);
		free(at);
		if (done)
			return;
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
}

/* Sorts, sums up what is of one stack and group, and hands it out. */
static int give_rows(struct cam_reader *r, struct cam_total_row *rows, size_t n, cam_total_fn *fn,
		     void *arg)
{
	int err = 0;
	sort_rows(r, rows, n);
	for (size_t i = 0; i < n && !err;) {
		struct cam_total_row sum = rows[i++];
		for (; i < n && !compare_rows(&sum, &rows[i]); i++)
			sum.samples += rows[i].samples;
		const struct cam_dir_group *g = &r->dir.groups[sum.group];
		struct cam_total total = {.stack = {sum.stack},
					  .comm = {r->strings[g->comm]},
					  .etype = {g->etype},
					  .samples = sum.samples};
		err = fn(arg, &total);
	}
	return err;
}

int cam_read_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = cam_reader_load(r, CAM_PART_TREE);
	struct cam_total_row *rows = err ? NULL : pair_rows(r);
	if (!err)
		err = rows ? give_rows(r, rows, r->dir.n_pairs, fn, arg) : -ENOMEM;
	free(rows);
	return err;
}

/* The [small] child of a node, made when it is first needed. */
static int small_child(struct cam_reader *r, uint32_t node, uint32_t *out)
{
	int err = 0;
	if (r->small_of[node] == CAM_NONE)
		err = cam_reader_add_node(r, node, cam_reader_small_func(r), &r->small_of[node]);
	*out = r->small_of[node];
	return err;
}

/*
 * Nodes with less than 1/divisor of the samples are cut off: cut[x] is the nearest node above x
 * (or x) that stays. Parents come before their children, so one pass up sums and one pass down
 * decides. The [damaged] node, behind the file's, is one like others.
 */
static int prune(struct cam_reader *r, struct cam_total_row *rows, size_t n_nodes, uint32_t *cut,
		 uint64_t *below)
{
	const struct cam_tree *tree = &r->t.stacks;
	uint64_t all = r->dir.info.samples;
	for (uint32_t i = 0; i < r->dir.n_pairs; i++)
		below[rows[i].stack] += rows[i].samples;
	for (size_t x = n_nodes; x-- > 1;)
		below[tree->parent[x]] += below[x];
	for (uint32_t x = 1; x < n_nodes; x++) {
		uint32_t parent = tree->parent[x];
		bool stays = cut[parent] == parent && below[x] * r->dir.small_divisor >= all;
		cut[x] = stays ? x : cut[parent];
	}
	for (uint32_t i = 0; i < r->dir.n_pairs; i++) {
		uint32_t x = rows[i].stack;
		int err = cut[x] == x ? 0 : small_child(r, cut[x], &rows[i].stack);
		if (err)
			return err;
	}
	return 0;
}

/* The small tree, made from the whole one. */
static int give_pruned(struct cam_reader *r, cam_total_fn *fn, void *arg)
{
	size_t n = (size_t)r->dir.n_nodes + 1;
	int err = cam_reader_load(r, CAM_PART_TREE);
	if (!err && !r->small_of) {
		r->small_of = malloc(n * sizeof(uint32_t));
		if (r->small_of)
			memset(r->small_of, 0xff, n * sizeof(uint32_t));
	}
	if (err || !r->small_of)
		return err ? err : -ENOMEM;
	struct cam_total_row *rows = pair_rows(r);
	uint32_t *cut = calloc(n, sizeof(*cut));
	uint64_t *below = calloc(n, sizeof(*below));
	err = rows && cut && below ? prune(r, rows, n, cut, below) : -ENOMEM;
	if (!err)
		err = give_rows(r, rows, r->dir.n_pairs, fn, arg);
	free(rows);
	free(cut);
	free(below);
	return err;
}

/* Nodes of the small tree behind those of the window, its pairs as rows. */
static int keep_small(struct cam_reader *r, const struct cam_tree_chunk *c)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < c->n_pairs; i++)
		samples += c->pair_count[i];
	if (samples != r->dir.info.samples)
		return -EBADMSG;
	uint32_t *node = calloc((size_t)c->n_nodes + 1, sizeof(*node));
	r->small_rows = malloc(((size_t)c->n_pairs + 1) * sizeof(struct cam_total_row));
	int err = node && r->small_rows ? 0 : -ENOMEM;
	for (uint32_t x = 1; x < c->n_nodes && !err; x++) {
		uint32_t func =
			c->func[x] == r->dir.n_functions ? cam_reader_small_func(r) : c->func[x];
		err = cam_reader_add_node(r, node[c->parent[x]], func, &node[x]);
	}
	for (uint32_t i = 0; i < c->n_pairs && !err; i++)
		r->small_rows[i] = (struct cam_total_row){node[c->pair_node[i]], c->pair_group[i],
							  c->pair_count[i]};
	r->n_small_rows = c->n_pairs;
	free(node);
	return err;
}

/* In the small tree [small] is the only function of a module behind the last one. */
static int decode_small(struct cam_reader *r, const struct cam_chunk_in *bytes, uint32_t n_nodes)
{
	const struct cam_dir *d = &r->dir;
	struct cam_rd rd = cam_rd_make(bytes->data, bytes->n);
	struct cam_tree_chunk *c = calloc(1, sizeof(*c));
	struct cam_tree_state state = {0};
	uint32_t *starts = malloc(((size_t)d->n_modules + 2) * sizeof(*starts));
	uint64_t pairs = cam_rd_varint(&rd);
	int err = c && starts ? 0 : -ENOMEM;
	if (!err && (cam_rd_error(&rd) || pairs > d->n_pairs))
		err = -EBADMSG;
	if (!err) {
		*c = (struct cam_tree_chunk){.n_nodes = n_nodes, .n_pairs = (uint32_t)pairs};
		memcpy(starts, d->module_start, ((size_t)d->n_modules + 1) * sizeof(*starts));
		starts[d->n_modules + 1] = d->n_functions + 1;
		uint32_t **const arrays[] = {&c->parent, &c->func, &c->pair_node, &c->pair_group,
					     &c->pair_count};
		for (size_t i = 0; i < 5; i++) {
			*arrays[i] = calloc((i < 2 ? n_nodes : pairs) + 1, sizeof(uint32_t));
			err = *arrays[i] ? err : -ENOMEM;
		}
	}
	if (!err)
		err = cam_tree_state_init(&state, d->n_functions + 1, d->n_modules + 1,
					  (uint32_t)d->n_groups);
	if (!err)
		err = cam_tree_read_chunk(&state, starts, rd.p, cam_rd_left(&rd), c);
	if (!err)
		err = keep_small(r, c);
	cam_tree_state_free(&state);
	if (c) {
		free(c->parent);
		free(c->func);
		free(c->pair_node);
		free(c->pair_group);
		free(c->pair_count);
	}
	free(c);
	free(starts);
	return err;
}

/* 0 and small_rows, or NULL there: the window has none, or it is bad. */
static int load_small(struct cam_reader *r)
{
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_SMALL];
	struct cam_chunk_in bytes = {0};
	if (r->small_rows || !s->n || r->bad[CAM_CHUNK_SMALL][0])
		return 0;
	int err = cam_reader_load(r, CAM_PART_NAMES);
	if (!err)
		err = cam_reader_reserve_nodes(r);
	if (!err)
		err = cam_reader_chunk(r, CAM_CHUNK_SMALL, 0, &bytes);
	if (!err)
		err = decode_small(r, &bytes, s->chunks[0].rows);
	if (err == -EBADMSG) {
		cam_reader_mark_bad(r, CAM_CHUNK_SMALL, 0);
		err = 0;
	}
	free(bytes.data);
	return err;
}

int cam_read_small_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = load_small(r);
	if (err)
		return err;
	return r->small_rows ? give_rows(r, r->small_rows, r->n_small_rows, fn, arg)
			     : give_pruned(r, fn, arg);
}
