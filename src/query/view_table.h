// SPDX-License-Identifier: Apache-2.0
/* Door E, the table: samples by any keys, heaviest first. As views.h says. */
#pragma once
#include "query/views.h"

enum cam_key {
	CAM_KEY_COMM,
	CAM_KEY_PROCESS, /* one row a process: its number, and the name of its main thread */
	CAM_KEY_PID,
	CAM_KEY_TID,
	CAM_KEY_USER, /* its number; CAM_UID_NONE: not known */
	CAM_KEY_EXE,
	CAM_KEY_CGROUP,
	CAM_KEY_CONTAINER, /* its id, or name: model/container.h */
	CAM_KEY_POD,
	CAM_KEY_CPU, /* CAM_CPU_NONE: not known */
	CAM_KEY_EVENT,
	CAM_KEY_SOCKET,	 /* of the CPU; CAM_CPU_NONE: not known */
	CAM_KEY_PARENT,	 /* the frame that an expression finds, or "[other]" */
	CAM_KEY_SRCLINE, /* of the innermost frame: "file.c:12", or "[unknown]" */
	CAM_KEY_SRCFILE,
	CAM_KEY_TIME, /* where a piece of time begins: UTC, or the window's clock where that is unknown */
	/* Of each frame of a stack; with one of them `total` differs from `self`. */
	CAM_KEY_SYMBOL,
	CAM_KEY_DSO,
	CAM_KEY_MAX,
};

#define CAM_KEYS_MAX 8u /* of one table */

/* What a row is of, by one key: a text, a number or both. */
struct cam_value {
	struct cam_text text;
	int64_t number;
	enum cam_frame_kind kind; /* of a symbol */
};

struct cam_measure {
	uint64_t samples;
	uint64_t weight; /* in the table's unit: what shares are of */
	uint64_t cpu_ns; /* CPU time; 0 where cpu_known is false */
};

struct cam_table_row {
	const struct cam_value *values; /* n_keys of them */
	struct cam_measure self;	/* sampled in it */
	struct cam_measure total;	/* or in what it called; a stack counts once */
	uint64_t kernel_weight;		/* of self: while in the kernel */
	unsigned notes;			/* enum cam_view_note, of a symbol that has a self */
};

struct cam_table {
	enum cam_key keys[CAM_KEYS_MAX];
	size_t n_keys;
	struct cam_table_row *rows;
	size_t n_rows; /* given; of n_all that there are */
	size_t n_all;
	struct cam_measure all; /* of the selection */
	uint64_t all_kernel_weight;
	bool by_frames; /* a key is of frames: total is more than self */
	bool cpu_known; /* of every sample */
	bool unit_is_ns;
	struct cam_text unit; /* "samples", "cycles", … */
	unsigned notes;
	struct cam_seen seen;
	/* What the others point into. */
	struct cam_value *values;
	struct cam_tables *names;
	char *strings;
};

void cam_table_free(struct cam_table *t);
