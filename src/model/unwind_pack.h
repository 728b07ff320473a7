// SPDX-License-Identifier: Apache-2.0
/*
 * Rows and rules → blocks (unwind_table.h), as they come: at most four blocks are held, whatever
 * the file's size.
 *
 * Sides: the BPF source packs into the kernel's memory, the symboliser into its own.
 * Handed over: each block once, complete, children before their parents. Whoever keeps blocks numbers
 * them, and takes back those of a table that was not finished: the packer frees nothing.
 * Rows are untrusted: what is accepted makes a table whose numbers are all in range.
 * Thread: none of its own. No allocation.
 */
#pragma once
#include "model/unwind_table.h"
#include "model/unwinder.h"

#include <stddef.h>
#include <stdint.h>

/* Keeps a copy of the block; *number is how it will be found. Errors are passed on. */
typedef int cam_unwind_put_fn(void *arg, const struct cam_unwind_block *block, uint32_t *number);

struct cam_unwind_packer {
	cam_unwind_put_fn *put;
	void *arg;
	int error; /* the first one: nothing is accepted after it */
	uint32_t n_rows, n_leaf, n_inner, n_root, n_rules;
	uint32_t leaf_first, inner_first, last;
	uint32_t rule_blocks[CAM_UNWIND_MAX_RULES / CAM_UNWIND_BLOCK_RULES];
	struct cam_unwind_block leaf, inner, root, rules;
};

void cam_unwind_pack_start(struct cam_unwind_packer *p, cam_unwind_put_fn *put, void *arg);
/* -EBADMSG: a rule of no kind. -E2BIG: more than CAM_UNWIND_MAX_RULES. */
int cam_unwind_pack_rules(struct cam_unwind_packer *p, const struct cam_unwind_rule *rules,
			  size_t n);
/* -EBADMSG: offsets that do not ascend, over all calls, or a rule that has not been given yet. -E2BIG: more
 * than CAM_UNWIND_MAX_ROWS. */
int cam_unwind_pack_rows(struct cam_unwind_packer *p, const struct cam_unwind_row *rows, size_t n);
/*
 * *file gets all but its generation. A table without rows becomes one of a single row that says
 * CAM_CFA_NONE: a file that is known to have no CFI is not one whose table is not there.
 */
int cam_unwind_pack_finish(struct cam_unwind_packer *p, struct cam_unwind_file *file);

/*
 * The executable mappings of a process → its image, and as many chunks as that says (of room for
 * CAM_UNWIND_MAX_CHUNKS). -E2BIG: more than CAM_UNWIND_MAX_MAPS. -EBADMSG: they do not ascend.
 */
int cam_unwind_pack_image(const struct cam_unwind_mapping *maps, size_t n,
			  struct cam_unwind_image *image, struct cam_unwind_chunk *chunks);
