// SPDX-License-Identifier: Apache-2.0
/* Selection → a table by any keys. */
#pragma once
#include "query/flame.h"
#include "query/reshape.h"
#include "query/view_table.h"

enum cam_table_order {
	CAM_ORDER_SELF,
	CAM_ORDER_TOTAL,
	CAM_ORDER_KERNEL, /* self, in the kernel */
	CAM_ORDER_USER,
	CAM_ORDER_SAMPLES,
	CAM_ORDER_KEYS, /* by the values themselves, ascending: for times */
};

struct cam_table_options {
	enum cam_key keys[CAM_KEYS_MAX];
	size_t n_keys;
	enum cam_table_order order;
	size_t limit; /* rows to give; 0: all */
	enum cam_weight weight;
	uint64_t quantum_ns; /* of CAM_KEY_TIME; 0: 100 ms */
	/* What CAM_KEY_PARENT looks for, the outermost such frame of a stack; borrowed. */
	const struct cam_select_expressions *parent;
	const struct cam_reshape *shape; /* of keys of frames: frame_shape.h; NULL: all frames */
	const struct cam_progress *progress;
};

/* Rows of equal weight are in order of their values. Errors, with *out empty: as cam_walk()'s; -E2BIG
 * past 2^22 rows. */
int cam_table_build(struct cam_source *source, const struct cam_selection *s,
		    const struct cam_table_options *o, struct cam_table *out);
/*
 * perf's way to say it: "comm,dso,symbol", "overhead_children,sym", "cpu": keys of samples into keys, and
 * the first measure (overhead, overhead_children, overhead_sys, overhead_us, period, sample) into order.
 * -EINVAL: no such key, too many or twice, and `why`.
 */
int cam_table_sort_parse(struct cam_text list, struct cam_table_options *o, char *why,
			 size_t why_bytes);
