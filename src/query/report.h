// SPDX-License-Identifier: Apache-2.0
/*
 * Selection → a report: what perf report --stdio shows, with its rules for chains.
 *
 * Caller order: the chains of an entry begin at the outermost frame where the entry was sampled itself, and
 * at the entry where it called what was sampled. Callee order: they begin at the entry and go up. A
 * recursive function counts once in a sample: the outermost of them in caller order, the innermost in
 * callee order.
 */
#pragma once
#include "query/flame.h"
#include "query/reshape.h"
#include "query/view_report.h"

enum cam_report_chains {
	CAM_CHAINS_NONE,
	CAM_CHAINS_CALLER,
	CAM_CHAINS_CALLEE,
};

struct cam_report_options {
	enum cam_key keys[CAM_KEYS_MAX]; /* of samples and frames; not time */
	size_t n_keys;
	bool children;
	enum cam_report_chains chains;
	bool if_chained; /* both only where events were sampled with chains: others have entries alone, as in perf */
	/* In thousandths of a per cent of the whole: entries, and nodes of chains, that are left out. */
	uint32_t least_entry, least_node;
	uint32_t max_depth; /* frames of a chain; 0: all */
	enum cam_weight weight;
	const struct cam_reshape *shape; /* frame_shape.h; NULL: all frames */
	/* What CAM_KEY_PARENT looks for: with children the outermost such frame, else the innermost. Borrowed. */
	const struct cam_select_expressions *parent;
	const struct cam_progress *progress;
};

/* Errors, with *out empty: as cam_walk()'s; -E2BIG past 2^24 nodes. */
int cam_report_build(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_report_options *o, struct cam_report *out);
