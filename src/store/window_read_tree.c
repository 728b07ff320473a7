// SPDX-License-Identifier: Apache-2.0
/*
 * Loads ranks and the tree. Ranks come from the directory alone: with a tree chunk lost, the
 * groups and counts of its pairs are still known, and only the stacks are [damaged].
 */
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

static void fill_ranks(struct cam_reader *r)
{
	const struct cam_dir *d = &r->dir;
	for (size_t c = 0; c < d->n_classes; c++) {
		uint32_t rank = d->classes[c].first_rank;
		for (uint32_t k = 0; k < d->n_trees; k++) {
			for (uint32_t n = d->class_pairs[c * d->n_trees + k]; n; n--, rank++) {
				r->rank_group[rank] = d->classes[c].group;
				r->rank_tree[rank] = k;
			}
		}
	}
}

int cam_load_ranks(struct cam_reader *r)
{
	size_t n = (size_t)r->dir.n_pairs + 1;
	struct cam_rans_freq freq;
	int err = cam_reader_load(r, CAM_PART_CLASSES);
	if (err)
		return err;
	if (!r->rank_group)
		r->rank_group = malloc(n * sizeof(uint32_t));
	if (!r->rank_tree)
		r->rank_tree = malloc(n * sizeof(uint32_t));
	if (!r->rank_slots)
		r->rank_slots = calloc(CAM_RANS_SCALE, sizeof(*r->rank_slots));
	if (!r->rank_group || !r->rank_tree || !r->rank_slots)
		return -ENOMEM;
	fill_ranks(r);
	cam_dir_rank_model(&r->dir, &freq);
	uint32_t slot = 0;
	for (uint32_t token = 0; token < 256; token++) {
		if (!freq.freq[token])
			continue;
		struct cam_rank_slot s = {
			.base = (uint32_t)cam_token_base(token, CAM_RANK_SPLIT),
			.bits = (uint8_t)cam_token_bits(token, CAM_RANK_SPLIT),
			.freq = freq.freq[token],
		};
		for (; s.bias < s.freq; s.bias++)
			r->rank_slots[slot++] = s;
	}
	return 0;
}

/*
 * The classes are sorted by group, then count. Most pairs have small counts, of which a group has all: those are found
 * where they stand.
 */
static size_t find_class(const struct cam_dir *d, const uint32_t *group_class, uint32_t group,
			 uint32_t count)
{
	size_t lo = group_class[group], hi = group_class[group + 1];
	if (count <= hi - lo && d->classes[lo + count - 1].count == count)
		return lo + count - 1;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (d->classes[mid].count < count)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < group_class[group + 1] && d->classes[lo].count == count ? lo : SIZE_MAX;
}

struct loading {
	struct cam_reader *r;
	struct cam_tree_state state;
	struct cam_chunk_in bytes;
	struct cam_tree_chunk chunk;
	uint32_t *used;	       /* per class: pairs of the chunk placed so far */
	uint32_t *class_rank;  /* per class: rank of the chunk's first pair in it */
	uint32_t *group_class; /* per group: its first class */
	bool damaged;
};

/* What stands in a node's function while it is not known. */
#define LOST (CAM_NONE - 1)

/* Gives the chunk's pairs their ranks; they must be just those the directory has for it. */
static int place_pairs(struct loading *l, size_t k)
{
	const struct cam_dir *d = &l->r->dir;
	const struct cam_tree_chunk *c = &l->chunk;
	memset(l->used, 0, d->n_classes * sizeof(*l->used));
	for (uint32_t i = 0; i < c->n_pairs; i++) {
		size_t class = find_class(d, l->group_class, c->pair_group[i], c->pair_count[i]);
		if (class == SIZE_MAX || l->used[class] == d->class_pairs[class * d->n_trees + k])
			return -EBADMSG;
		l->r->rank_node[l->class_rank[class] + l->used[class]++] = c->pair_node[i];
	}
	return 0;
}

/* The ranks of a chunk that is bad, some of which may have been given. */
static void take_ranks_back(struct loading *l, size_t k)
{
	const struct cam_dir *d = &l->r->dir;
	for (size_t class = 0; class < d->n_classes; class ++)
		memset(l->r->rank_node + l->class_rank[class], 0xff,
		       d->class_pairs[class * d->n_trees + k] * sizeof(*l->r->rank_node));
}

/*
 * The path to the chunk's first node must be the one the chunks before it made; where those are
 * lost, it is what is left of them.
 */
static int join_path(struct cam_reader *r, const struct cam_tree_chunk *c)
{
	struct cam_tree *tree = &r->t.stacks;
	for (uint32_t i = 0; i < c->n_path; i++) {
		uint32_t node = c->path_node[i], parent = i ? c->path_node[i - 1] : 0;
		if (tree->item[node] == LOST)
			continue;
		if (tree->item[node] != c->path_func[i] || tree->parent[node] != parent)
			return -EBADMSG;
	}
	for (uint32_t i = 0; i < c->n_path; i++) {
		tree->item[c->path_node[i]] = c->path_func[i];
		tree->parent[c->path_node[i]] = i ? c->path_node[i - 1] : 0;
	}
	return 0;
}

static int load_chunk(struct loading *l, size_t k)
{
	struct cam_reader *r = l->r;
	struct cam_tree_chunk *c = &l->chunk;
	struct cam_tree *tree = &r->t.stacks;
	int err = cam_reader_chunk(r, CAM_CHUNK_TREE, k, &l->bytes);
	c->parent = tree->parent + c->first_node;
	c->func = tree->item + c->first_node;
	if (!err)
		err = cam_tree_read_chunk(&l->state, r->dir.module_start, l->bytes.data, l->bytes.n,
					  c);
	if (!err)
		err = join_path(r, c);
	if (!err)
		err = place_pairs(l, k);
	if (err != -EBADMSG)
		return err;
	cam_reader_mark_bad(r, CAM_CHUNK_TREE, k);
	take_ranks_back(l, k);
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		c->parent[i] = 0;
		c->func[i] = c->first_node + i ? LOST : CAM_NONE;
	}
	l->damaged = true;
	for (size_t class = 0; class < r->dir.n_classes; class ++)
		r->w.damage.stacks += (uint64_t)r->dir.class_pairs[class * r->dir.n_trees + k] *
				      r->dir.classes[class].count;
	return 0;
}

static uint32_t pairs_of_chunk(const struct cam_dir *d, size_t k)
{
	uint32_t n = 0;
	for (size_t class = 0; class < d->n_classes; class ++)
		n += d->class_pairs[class * d->n_trees + k];
	return n;
}

static int load_next_chunk(struct loading *l, size_t k)
{
	const struct cam_dir *d = &l->r->dir;
	struct cam_tree_chunk *c = &l->chunk;
	size_t n = pairs_of_chunk(d, k);
	c->first_node = d->sections[CAM_CHUNK_TREE].chunks[k].first;
	c->n_nodes = d->sections[CAM_CHUNK_TREE].chunks[k].rows;
	c->n_pairs = (uint32_t)n;
	if (n > CAM_TREE_ROWS)
		return -EBADMSG;
	c->pair_node = malloc((n + 1) * sizeof(uint32_t));
	c->pair_group = malloc((n + 1) * sizeof(uint32_t));
	c->pair_count = malloc((n + 1) * sizeof(uint32_t));
	int err = c->pair_node && c->pair_group && c->pair_count ? load_chunk(l, k) : -ENOMEM;
	for (size_t class = 0; class < d->n_classes; class ++)
		l->class_rank[class] += d->class_pairs[class * d->n_trees + k];
	free(c->pair_node);
	free(c->pair_group);
	free(c->pair_count);
	return err;
}

static int load_chunks(struct loading *l)
{
	const struct cam_dir *d = &l->r->dir;
	int err =
		cam_tree_state_init(&l->state, d->n_functions, d->n_modules, (uint32_t)d->n_groups);
	l->used = calloc(d->n_classes + 1, sizeof(uint32_t));
	l->class_rank = calloc(d->n_classes + 1, sizeof(uint32_t));
	l->group_class = calloc(d->n_groups + 2, sizeof(uint32_t));
	if (!err && (!l->used || !l->class_rank || !l->group_class))
		err = -ENOMEM;
	for (size_t class = 0; class < d->n_classes && !err; class ++)
		l->group_class[d->classes[class].group + 1]++;
	for (size_t g = 0; g < d->n_groups && !err; g++)
		l->group_class[g + 1] += l->group_class[g];
	for (size_t class = 0; class < d->n_classes && !err; class ++)
		l->class_rank[class] = d->classes[class].first_rank;
	for (size_t k = 0; k < d->n_trees && !err; k++)
		err = load_next_chunk(l, k);
	free(l->used);
	free(l->class_rank);
	free(l->group_class);
	free(l->bytes.data);
	cam_tree_state_free(&l->state);
	return err;
}

/* Gives a tree n rows that hang below the root until they are filled in. */
int cam_reader_reserve_tree(struct cam_tree *tree, size_t n)
{
	uint32_t *parent = calloc(n, sizeof(*parent)), *item = calloc(n, sizeof(*item));
	if (!parent || !item) {
		free(parent);
		free(item);
		return -ENOMEM;
	}
	item[0] = CAM_NONE;
	free(tree->parent);
	free(tree->item);
	tree->parent = parent;
	tree->item = item;
	tree->parent_cap = tree->item_cap = tree->n = n;
	return 0;
}

int cam_reader_reserve_nodes(struct cam_reader *r)
{
	size_t n = r->dir.n_nodes, small = 0;
	if (r->next_node)
		return 0;
	if (r->dir.sections[CAM_CHUNK_SMALL].n)
		small = r->dir.sections[CAM_CHUNK_SMALL].chunks[0].rows;
	/* A [small] made here stands below a node of its own. */
	int err = cam_reader_reserve_tree(&r->t.stacks, n + 1 + (small > n ? small : n));
	if (!err)
		r->next_node = r->dir.n_nodes + 1;
	return err;
}

int cam_reader_add_node(struct cam_reader *r, uint32_t parent, uint32_t func, uint32_t *out)
{
	struct cam_tree *tree = &r->t.stacks;
	if (r->next_node >= tree->n)
		return -EBADMSG;
	tree->parent[r->next_node] = parent;
	tree->item[r->next_node] = func;
	*out = r->next_node++;
	return 0;
}

/* One node more than the file has, [damaged] below the root, for all stacks that are lost. */
static void fill_damaged(struct cam_reader *r)
{
	struct cam_tree *tree = &r->t.stacks;
	uint32_t func = cam_reader_damaged_func(r);
	r->damaged_node = r->dir.n_nodes;
	tree->parent[r->damaged_node] = 0;
	tree->item[r->damaged_node] = func;
	for (size_t i = 0; i < r->dir.n_nodes; i++)
		if (tree->item[i] == LOST)
			tree->item[i] = func;
	for (uint32_t i = 0; i < r->dir.n_pairs; i++)
		if (r->rank_node[i] == CAM_NONE)
			r->rank_node[i] = r->damaged_node;
}

int cam_load_tree(struct cam_reader *r)
{
	struct loading l = {.r = r};
	int err = cam_reader_load(r, CAM_PART_NAMES | CAM_PART_RANKS);
	if (!err)
		err = cam_reader_reserve_nodes(r);
	if (!r->rank_node)
		r->rank_node = malloc(((size_t)r->dir.n_pairs + 1) * sizeof(uint32_t));
	if (err || !r->rank_node)
		return err ? err : -ENOMEM;
	memset(r->rank_node, 0xff, r->dir.n_pairs * sizeof(uint32_t));
	err = load_chunks(&l);
	if (!err && l.damaged)
		fill_damaged(r);
	return err;
}
