// SPDX-License-Identifier: Apache-2.0
/*
 * Selection → how good the stacks and names of each process are, and why not better.
 *
 * A stack is judged by its user half. Where the window was unwound by tables, what is incomplete
 * hangs under a mark that says why (enum cam_stack_end, in the mark's `start`). Where only frame
 * pointers were followed, or the window was imported, nobody knows: then a stack of fewer than 3
 * user frames, or whose outermost one is none of main, _start, start_thread, clone and their like, is
 * taken as broken.
 */
#pragma once
#include "model/unwind_table.h"
#include "query/progress.h"
#include "query/select.h"

/* The fact of a window that says how user stacks were had; of this value: by frame pointers. */
#define CAM_FACT_UNWIND	   "unwind"
#define CAM_FACT_UNWIND_FP "frame pointers"

struct cam_quality_row {
	int32_t pid;
	uint64_t start_ns; /* boot clock; 0: not known */
	struct cam_text comm, exe, cgroup;
	uint64_t samples;
	uint64_t user;	   /* of these: with a user half */
	uint64_t complete; /* of these */
	/* The others, by why: UNKNOWN: broken by the rule above. Of NO_USER and WORKER: samples without a user half. */
	uint64_t ends[CAM_STACK_ENDS];
	uint64_t guessed; /* samples whose stack was walked by frame pointers, in part at least */
	/* Frames, a sample's each counted. */
	uint64_t user_frames, user_unnamed;
	uint64_t jit_frames, jit_unnamed;
	uint64_t kernel_frames, kernel_unnamed;
	/* The file with most of the unnamed frames, and how many. */
	struct cam_text worst;
	uint64_t worst_unnamed;
};

struct cam_quality {
	struct cam_quality_row *rows; /* most samples first */
	size_t n_rows;
	struct cam_quality_row all;
	uint64_t unreadable;	  /* windows left out */
	struct cam_tables *names; /* what texts point into */
};

/* Errors, with *out empty: -ENOMEM, -E2BIG: more processes than 2^20; what progress (may be NULL) answers. */
int cam_quality_build(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_progress *progress, struct cam_quality *out);
void cam_quality_free(struct cam_quality *q);
/* Of a user stack: that it is not complete. */
bool cam_stack_end_is_incomplete(enum cam_stack_end end);
/* What most of a row's incomplete stacks lack. */
enum cam_stack_end cam_quality_why(const struct cam_quality_row *r);
/* "no unwind table", …: for people; "no_cfi", …: for programs. */
const char *cam_stack_end_words(enum cam_stack_end end);
const char *cam_stack_end_key(enum cam_stack_end end);
