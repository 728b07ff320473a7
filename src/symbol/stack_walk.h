// SPDX-License-Identifier: Apache-2.0
/*
 * Walks a copy of a stack (model/raw.h) by the tables that are kept: the step that BPF uses, compiled as
 * C. Reads the copy and nothing else. The text is not there: a step by frame pointer is believed if the
 * return address lies in an executable mapping, without a look at the instruction before it.
 */
#pragma once
#include "model/errand.h"
#include "symbol/table_cache.h"

struct cam_stack_walk;

struct cam_stack_walk *cam_stack_walk_new(void);
void cam_stack_walk_free(struct cam_stack_walk *w);

/*
 * Frames are borrowed from w, until the next call. -EBADMSG: the mappings do not ascend. How far it got is
 * no error: out->end says so.
 */
int cam_stack_walk(struct cam_stack_walk *w, struct cam_table_cache *tables,
		   const struct cam_raw_copy *copy, const struct cam_unwind_mapping *maps,
		   size_t n_maps, struct cam_unwind_tidings *out);
