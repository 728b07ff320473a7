// SPDX-License-Identifier: Apache-2.0
#include "query/prune.h"

/* How many nodes have at least this total; a parent's is never less than its children's. */
static size_t count_least(const struct cam_flame *f, uint64_t least)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_nodes; i++)
		n += f->nodes[i].total >= least || f->nodes[i].before_total >= least || !i;
	return n;
}

/*
 * Moves what stays to the front. `end` of a node is known when all below it have been seen: until
 * then it holds the old one, and a node's parent is found by its new index.
 */
static void squeeze(struct cam_flame *f, uint64_t least)
{
	struct cam_flame_node *v = f->nodes;
	size_t n = 0, up = 0; /* up: the new index of the innermost node that is open */
	f->depth = 0;
	for (size_t i = 0; i < f->n_nodes;) {
		struct cam_flame_node node = v[i];
		if (i && node.total < least && node.before_total < least) {
			i = node.end;
			continue;
		}
		while (n && v[up].end <= i) {
			v[up].end = (uint32_t)n;
			up = v[up].parent;
		}
		node.parent = (uint32_t)up;
		v[n] = node;
		up = n++;
		f->depth = node.depth > f->depth ? node.depth : f->depth;
		i++;
	}
	for (; up; up = v[up].parent)
		v[up].end = (uint32_t)n;
	v[0].end = (uint32_t)n;
	f->n_nodes = n;
}

uint64_t cam_flame_prune(struct cam_flame *f, size_t max_nodes)
{
	if (f->n_nodes <= max_nodes)
		return 0;
	/* Before alone may be all there is: of a differential, what has gone. */
	const struct cam_flame_node *root = &f->nodes[0];
	uint64_t most = root->total > root->before_total ? root->total : root->before_total;
	uint64_t least = 2;
	while (least < most && least <= UINT64_MAX / 2 && count_least(f, least) > max_nodes)
		least *= 2;
	squeeze(f, least);
	return least;
}
