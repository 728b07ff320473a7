// SPDX-License-Identifier: Apache-2.0
/* A list of counters, as the forms of a window gather, sort and hand them out. */
#pragma once
#include "model/cursor.h"

struct cam_counters {
	struct cam_counter *rows;
	size_t n, cap;
};

/* -E2BIG beyond what a window may hold; -ENOMEM. `list` as void: a cam_counter_fn. */
int cam_counters_add(void *list, const struct cam_counter *c);
/* As door D gives them: by kind, subject, then time; those of one instant as they came. */
int cam_counters_sort(struct cam_counters *list);
int cam_counters_give(const struct cam_counters *list, cam_counter_fn *fn, void *arg);
void cam_counters_free(struct cam_counters *list);
