// SPDX-License-Identifier: Apache-2.0
/* The lines of `perf script` text, one by one: nouns in, a line out. See perf_script_out.h. */
#pragma once
#include "base/out.h"
#include "model/cursor.h"

/* A text on one line: control characters but tab as \xNN, as export folded prints them. */
void cam_perf_put_text(struct cam_buf *out, struct cam_text s);

struct cam_perf_put_head {
	struct cam_text comm, event, detail;
	int32_t pid, tid; /* pid CAM_PID_NONE: only the tid is printed, as perf does by default */
	uint32_t cpu;	  /* CAM_CPU_NONE: none */
	uint64_t time_ns; /* CAM_TIME_NONE: none */
	bool nanoseconds; /* 9 decimals instead of 6 */
	bool verbatim;	  /* the comm is as perf printed it before */
	bool has_period;
	uint64_t period;
	unsigned event_width; /* names are right-aligned to this */
};
void cam_perf_put_head(struct cam_buf *out, const struct cam_perf_put_head *h);

struct cam_perf_put_frame {
	struct cam_text name, module;
	uint64_t address; /* 0: not known */
	uint64_t offset;  /* CAM_OFFSET_NONE: not known */
	bool blank;	  /* the name was printed, and it is empty */
	bool inlined;
	bool verbatim; /* as perf printed it before: what it left out stays out */
};
void cam_perf_put_frame(struct cam_buf *out, const struct cam_perf_put_frame *f);

/* The # lines. Facts come from the window; -EBADMSG: they cannot be read. */
int cam_perf_put_header(struct cam_buf *out, struct cam_window *w, const struct cam_tables *t);
