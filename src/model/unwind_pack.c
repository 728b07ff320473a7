// SPDX-License-Identifier: Apache-2.0
/*
 * A tree of sorted blocks, written from the left: leaves of rows, inner blocks, a root.
 *
 * A leaf is full with 1024 rows, or when a row lies 65,535 bytes or more behind its first. An inner
 * block is full with 512 children. With less than 513 leaves the one inner block is the root;
 * with more, inner blocks are children of a root.
 *
 * Invariants
 *  1. Two levels are always enough: of two leaves in a row that are not full the second begins
 *     65,535 bytes or more behind the first, and offsets are below 4 GiB; so there are at most
 *     2^22 / 1024 + 2^32 / 65535 + 1 < 70,000 leaves, in less than 512 inner blocks.
 *  2. Unused entries are CAM_UNWIND_PAD; a row's low half is never 0xffff, and an inner entry's
 *     first offset never ~0 but in the one case of a row there, whose leaf is the last.
 *  3. A leaf row's rule was given before it.
 *
 * Example: rows 0x1000, 0x1004, 0x20000. The first leaf is {0x0000, 0x0004}; the third row is
 * 0x1f000 bytes behind its first, so it begins a second one. The root has first = {0x1000, 0x20000}.
 */
#include "model/unwind_pack.h"

#include "model/ids.h"

#include <errno.h>
#include <string.h>

#define LEAF_SPAN 0xffffu /* and more does not fit the low half */

static void clear(struct cam_unwind_block *b)
{
	memset(b, 0xff, sizeof(*b));
}

void cam_unwind_pack_start(struct cam_unwind_packer *p, cam_unwind_put_fn *put, void *arg)
{
	memset(p, 0, sizeof(*p));
	p->put = put;
	p->arg = arg;
	clear(&p->leaf);
	clear(&p->inner);
	clear(&p->root);
}

static void add_child(struct cam_unwind_block *b, uint32_t *n, uint32_t first, uint32_t number)
{
	b->inner.first[*n] = first;
	b->inner.child[*n] = number;
	++*n;
}

static int put_inner(struct cam_unwind_packer *p)
{
	uint32_t number;
	if (p->n_root == CAM_UNWIND_CHILDREN)
		return -E2BIG;
	int error = p->put(p->arg, &p->inner, &number);
	if (error)
		return error;
	add_child(&p->root, &p->n_root, p->inner_first, number);
	clear(&p->inner);
	p->n_inner = 0;
	return 0;
}

static int put_leaf(struct cam_unwind_packer *p)
{
	uint32_t number;
	int error = p->n_inner == CAM_UNWIND_CHILDREN ? put_inner(p) : 0;
	if (!error)
		error = p->put(p->arg, &p->leaf, &number);
	if (error)
		return error;
	if (!p->n_inner)
		p->inner_first = p->leaf_first;
	add_child(&p->inner, &p->n_inner, p->leaf_first, number);
	clear(&p->leaf);
	p->n_leaf = 0;
	return 0;
}

static int put_rules(struct cam_unwind_packer *p)
{
	uint32_t at = (p->n_rules - 1) / CAM_UNWIND_BLOCK_RULES;
	int error = p->put(p->arg, &p->rules, &p->rule_blocks[at]);
	memset(&p->rules, 0, sizeof(p->rules));
	return error;
}

static int add_rule(struct cam_unwind_packer *p, const struct cam_unwind_rule *r)
{
	if (r->cfa >= CAM_CFA_KINDS || r->rbp >= CAM_RBP_KINDS)
		return -EBADMSG;
	if (p->n_rules == CAM_UNWIND_MAX_RULES)
		return -E2BIG;
	p->rules.rule[p->n_rules++ % CAM_UNWIND_BLOCK_RULES] = *r;
	return p->n_rules % CAM_UNWIND_BLOCK_RULES ? 0 : put_rules(p);
}

static int add_row(struct cam_unwind_packer *p, const struct cam_unwind_row *r)
{
	if (r->rule >= p->n_rules || (p->n_rows && r->offset <= p->last))
		return -EBADMSG;
	if (p->n_rows == CAM_UNWIND_MAX_ROWS)
		return -E2BIG;
	if (p->n_leaf == CAM_UNWIND_LEAF_ROWS ||
	    (p->n_leaf && r->offset - p->leaf_first >= LEAF_SPAN)) {
		int error = put_leaf(p);
		if (error)
			return error;
	}
	if (!p->n_leaf)
		p->leaf_first = r->offset;
	p->leaf.row[p->n_leaf++] = (r->offset - p->leaf_first) | r->rule << 16;
	p->last = r->offset;
	p->n_rows++;
	return 0;
}

int cam_unwind_pack_rules(struct cam_unwind_packer *p, const struct cam_unwind_rule *rules,
			  size_t n)
{
	for (size_t i = 0; i < n && !p->error; i++)
		p->error = add_rule(p, &rules[i]);
	return p->error;
}

int cam_unwind_pack_rows(struct cam_unwind_packer *p, const struct cam_unwind_row *rows, size_t n)
{
	for (size_t i = 0; i < n && !p->error; i++)
		p->error = add_row(p, &rows[i]);
	return p->error;
}

/* Rules that no row uses may fill the list: they are forgotten. */
static int say_none(struct cam_unwind_packer *p)
{
	p->n_rules = 0;
	memset(&p->rules, 0, sizeof(p->rules));
	p->error = add_rule(p, &(struct cam_unwind_rule){.cfa = CAM_CFA_NONE});
	return p->error ? p->error : add_row(p, &(struct cam_unwind_row){0});
}

static int finish(struct cam_unwind_packer *p, struct cam_unwind_file *file)
{
	int error = p->n_rows ? 0 : say_none(p);
	if (!error && p->n_rules % CAM_UNWIND_BLOCK_RULES)
		error = put_rules(p);
	if (!error)
		error = put_leaf(p);
	*file = (struct cam_unwind_file){.n_rules = p->n_rules, .levels = p->n_root ? 2 : 1};
	memcpy(file->rules, p->rule_blocks, sizeof(file->rules));
	if (!error && p->n_root)
		error = put_inner(p);
	if (!error)
		error = p->put(p->arg, p->n_root ? &p->root : &p->inner, &file->root);
	return error;
}

int cam_unwind_pack_finish(struct cam_unwind_packer *p, struct cam_unwind_file *file)
{
	if (!p->error)
		p->error = finish(p, file);
	return p->error;
}

int cam_unwind_pack_image(const struct cam_unwind_mapping *maps, size_t n,
			  struct cam_unwind_image *image, struct cam_unwind_chunk *chunks)
{
	if (n > CAM_UNWIND_MAX_MAPS)
		return -E2BIG;
	memset(image, 0xff, sizeof(*image));
	image->n_chunks = (uint32_t)((n + CAM_UNWIND_CHUNK_MAPS - 1) / CAM_UNWIND_CHUNK_MAPS);
	image->reserved = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_unwind_mapping *m = &maps[i];
		struct cam_unwind_chunk *c = &chunks[i / CAM_UNWIND_CHUNK_MAPS];
		size_t k = i % CAM_UNWIND_CHUNK_MAPS;
		if (m->start >= m->end || (i && m->start < maps[i - 1].end))
			return -EBADMSG;
		if (!k) {
			memset(c->start, 0xff, sizeof(c->start));
			memset(c->map, 0, sizeof(c->map));
			image->first[i / CAM_UNWIND_CHUNK_MAPS] = m->start;
		}
		c->start[k] = m->start;
		c->map[k] = (struct cam_unwind_map){
			.end = m->end,
			.bias = m->start - m->offset,
			.file = m->file,
			.flags = m->file == CAM_NONE ? CAM_UNWIND_NO_FILE : 0,
		};
	}
	return 0;
}
