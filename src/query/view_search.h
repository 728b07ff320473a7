// SPDX-License-Identifier: Apache-2.0
/* Door E, a search: when something ran. As views.h says. */
#pragma once
#include "query/views.h"

/* A second, or several in a row that hold at least half as much as the heaviest of them. */
struct cam_search_moment {
	int64_t wall_ns;   /* its begin; INT64_MIN: not known */
	uint64_t clock_ns; /* the same on the window's clock */
	uint64_t length_ns;
	uint64_t samples; /* that match, of `all` that were taken then */
	uint64_t all;
	/* Of its heaviest second. */
	int64_t peak_wall_ns;
	uint64_t peak_clock_ns, peak_samples, peak_all;
	/* Who had most of it. */
	int32_t pid;
	struct cam_text comm;
	uint64_t process_samples;
	uint32_t cpu;
	uint64_t cpu_samples;
	struct cam_text window; /* where it begins */
};

struct cam_search {
	struct cam_search_moment *moments; /* by the heaviest second, heaviest first */
	size_t n_moments;
	uint64_t seconds; /* in which anything matched */
	unsigned
		notes; /* enum cam_view_note, of functions that were sampled and are searched for */
	struct cam_seen seen;
	char *strings;
	struct cam_tables *names;
};

void cam_search_free(struct cam_search *s);
