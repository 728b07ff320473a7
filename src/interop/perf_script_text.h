// SPDX-License-Identifier: Apache-2.0
/* The lines of `perf script` text, one by one: nouns in, a line out. See perf_script_out.h. */
#pragma once
#include "base/out.h"
#include "model/cursor.h"

/* A fact of windows that were a perf.data of several events: the name of one, which may have no samples. */
#define CAM_FACT_LONGEST_EVENT "longest event"

/* What is printed, as perf's -F names it. */
enum cam_perf_field {
	CAM_PERF_COMM = 1 << 0,
	CAM_PERF_PID = 1 << 1,
	CAM_PERF_TID = 1 << 2,
	CAM_PERF_CPU = 1 << 3,
	CAM_PERF_TIME = 1 << 4,
	CAM_PERF_PERIOD = 1 << 5,
	CAM_PERF_EVENT = 1 << 6,
	CAM_PERF_TRACE = 1 << 7,
	CAM_PERF_IP = 1 << 8,
	CAM_PERF_SYM = 1 << 9,
	CAM_PERF_SYMOFF = 1 << 10,
	CAM_PERF_DSO = 1 << 11,
	CAM_PERF_CGROUP = 1 << 12,
	CAM_PERF_SRCLINE = 1 << 13,
	CAM_PERF_ALL = (1 << 12) - 1, /* all that a reader expects: not cgroup and lines */
};

/* A text on one line: control characters but tab as \xNN (base/escape.h). */
void cam_perf_put_text(struct cam_buf *out, struct cam_text s);

struct cam_perf_put_head {
	unsigned fields; /* of the first line: what is asked for and known is printed */
	struct cam_text comm, event, detail;
	int32_t pid, tid; /* CAM_PID_NONE: not known */
	uint32_t cpu;	  /* CAM_CPU_NONE: none */
	uint64_t time_ns; /* CAM_TIME_NONE: none */
	bool nanoseconds; /* 9 decimals instead of 6 */
	bool verbatim;	  /* the comm is as perf printed it before */
	bool has_period;
	bool aligned; /* the comm in 16 columns: what perf does where no stack follows */
	uint64_t period;
	unsigned event_width; /* names are right-aligned to this */
};
void cam_perf_put_head(struct cam_buf *out, const struct cam_perf_put_head *h);

struct cam_perf_put_frame {
	unsigned fields;
	struct cam_text name, module;
	uint64_t address; /* 0: not known */
	uint64_t offset;  /* CAM_OFFSET_NONE: not known */
	bool blank;	  /* the name was printed, and it is empty */
	bool inlined;
	bool verbatim; /* as perf printed it before: what it left out stays out */
	bool flat;     /* behind its head instead of on a line of its own */
};
void cam_perf_put_frame(struct cam_buf *out, const struct cam_perf_put_frame *f);

/* The # lines. Facts come from the window; -EBADMSG: they cannot be read. */
int cam_perf_put_header(struct cam_buf *out, struct cam_window *w, const struct cam_tables *t);
