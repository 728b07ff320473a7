// SPDX-License-Identifier: Apache-2.0
/*
 * A set of folded lines with their counts: what folded_out.c collects into and writes from.
 *
 * A line is a path of names from the root, kept as a node of a tree, so that a million stacks
 * that share their roots share their text. A name holds no ';': lines with the same text are
 * the same node, wherever they came from. One owner, one thread.
 */
#pragma once
#include "base/out.h"
#include "model/tables.h"

struct cam_folded_lines {
	struct cam_tables names; /* strings: the names; stacks: the lines */
	uint64_t *counts;	 /* per node */
	size_t n_counts, cap_counts;
	bool thousandths; /* what is counted: 2500 is written 2.5 */
};

/* " 12", or of thousandths " 2.5": at most 23 characters, which are counted. */
size_t cam_folded_count_text(uint64_t count, bool thousandths, char room[24]);

/* About max_bytes for everything. */
int cam_folded_lines_init(struct cam_folded_lines *l, size_t max_bytes);
void cam_folded_lines_free(struct cam_folded_lines *l);

/* The node of `below`; `name`. Node 0 is the line of no name. -E2BIG, -ENOMEM. */
int cam_folded_lines_node(struct cam_folded_lines *l, uint32_t below, struct cam_str_id name,
			  uint32_t *out);
/* Adds to a line's count; stays at UINT64_MAX once there. A line of count 0 is none. */
int cam_folded_lines_add(struct cam_folded_lines *l, uint32_t node, uint64_t count);

/* "a;b;c COUNT\n" for every line, in the order of `LC_ALL=C sort`. -ENOMEM. */
int cam_folded_lines_write(const struct cam_folded_lines *l, struct cam_out *out, uint64_t *lines);
