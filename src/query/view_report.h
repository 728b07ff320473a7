// SPDX-License-Identifier: Apache-2.0
/* Door E, the report: entries by keys, each with its call chains. As views.h says. */
#pragma once
#include "query/view_table.h"

/*
 * A node of an entry's chains: frames that always follow each other, and what part of the whole selection
 * went through them. In depth-first order, heaviest first; light ones are left out.
 */
struct cam_report_node {
	uint32_t frames_at,
		n_frames; /* in cam_report.frames; the nearest to the chain's begin first */
	uint32_t end;	  /* one past the last node below this one */
	uint32_t depth;	  /* from 0 */
	uint64_t weight;
};

struct cam_report_entry {
	const struct cam_value *values;
	struct cam_measure self, total;
	uint32_t nodes_at, n_nodes;
};

struct cam_report {
	enum cam_key keys[CAM_KEYS_MAX];
	size_t n_keys;
	bool children; /* entries have totals, and are ordered by them */
	struct cam_report_entry *entries;
	size_t n_entries, n_all;
	struct cam_report_node *nodes;
	size_t n_nodes;
	struct cam_text *frames;
	struct cam_measure all;
	struct cam_text unit, event;
	bool unit_is_ns;
	unsigned notes; /* enum cam_view_note, of the functions that entries and chains name */
	struct cam_seen seen;
	/* What the others point into. */
	struct cam_value *values;
	struct cam_tables *names;
	char *strings;
};

void cam_report_free(struct cam_report *r);
