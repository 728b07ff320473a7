// SPDX-License-Identifier: Apache-2.0
/*
 * The samples of the seconds asked about, with names of the history: what sentences are made from. A few
 * seconds of a machine; more than 2^23 samples are refused.
 */
#pragma once
#include "query/why_history.h"

struct cam_why_row {
	uint64_t time_ns;
	uint32_t at; /* second of the axis; CAM_WHY_NOWHERE: none */
	uint32_t cpu;
	uint32_t process; /* UINT32_MAX: not known */
	uint32_t stack;	  /* of stacks */
};

/* A stack: functions of the history, leaf first, in frames[from … from + n). */
struct cam_why_stack {
	uint32_t from, n;
	uint32_t path; /* through the kernel: of the history's functions; UINT32_MAX: none */
};

/* Time that a thread could have run and did not. */
struct cam_why_delay {
	uint32_t tid;
	uint32_t name;		 /* a string; 0: no sample of it says */
	uint64_t inside_ns;	 /* waited within the seconds asked about */
	uint64_t inside_span_ns; /* of so much time */
	uint64_t outside_ns;	 /* and in the rest of the same windows */
	uint64_t outside_span_ns;
};

struct cam_why_rows {
	struct cam_why_row *v;
	size_t n, cap;
	struct cam_why_stack *stacks;
	size_t n_stacks, cap_stacks;
	uint32_t *frames;
	size_t n_frames, cap_frames;
	struct cam_why_delay *delays;
	size_t n_delays, cap_delays;
	uint64_t period_ns;   /* as the samples say; 0: they do not */
	bool cpu_clock;	      /* there are some of that event */
	struct cam_seen seen; /* of the selection asked about */
	char *strings;
};

/* Errors as cam_walk()'s; -E2BIG: too many samples. To be freed either way. Rows are by CPU, then time. */
int cam_why_rows_read(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_progress *progress, struct cam_why_history *h,
		      struct cam_why_rows *r);
void cam_why_rows_free(struct cam_why_rows *r);
bool cam_why_row_has(const struct cam_why_rows *r, const struct cam_why_row *row,
		     uint32_t function);
