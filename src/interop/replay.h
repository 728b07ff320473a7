// SPDX-License-Identifier: Apache-2.0
/*
 * For formats whose samples are not in order of time, or come before the names they use: everything is
 * kept, then handed to a sink (door B) in order of time.
 *
 * Memory is bounded by max_bytes: -E2BIG. The tables are those of the model: frames are locations of t,
 * stacks are nodes of t.places, root first.
 */
#pragma once
#include "interop/import.h"
#include "model/tables.h"

#define CAM_REPLAY_BYTES (512ul << 20)

struct cam_replay_sample {
	uint64_t time_ns; /* CAM_TIME_NONE: none */
	uint64_t weight;
	uint32_t stack, task, etype, cpu;
	uint32_t number; /* as it came; set by cam_replay_add() */
};

struct cam_replay {
	struct cam_tables t;
	struct cam_replay_sample *samples;
	size_t n, cap;
	size_t max_bytes;
	size_t held_bytes; /* of its reader's own lists */
	unsigned escapes;  /* of base/escape.h, undone in names; 0: none */
	/* What is known of the clock: an instant on both; 0: nothing. */
	uint64_t clock_ns;
	int64_t realtime_ns;
	int64_t began_ns; /* of the first sample, where the file itself says nothing; 0: not known */
	/* Idle samples, as one row of the ledger. */
	uint64_t idle, idle_from_ns, idle_to_ns;
};

int cam_replay_init(struct cam_replay *r, size_t max_bytes);
void cam_replay_free(struct cam_replay *r);

struct cam_replay_frame {
	struct cam_text name, module;
	struct cam_text build_id; /* as bytes */
	uint64_t address;
	enum cam_func_kind kind;
};
int cam_replay_frame(struct cam_replay *r, const struct cam_replay_frame *f, uint32_t *location);
/* pid, tid: CAM_PID_NONE where not known. */
int cam_replay_task(struct cam_replay *r, int32_t pid, int32_t tid, struct cam_text comm,
		    uint32_t *task);
int cam_replay_etype(struct cam_replay *r, struct cam_text name, uint64_t period_ns,
		     bool has_weight, uint32_t *etype);
/* As cam_vec_reserve(), for a list of the reader's own: it counts in max_bytes, too. */
int cam_replay_reserve(struct cam_replay *r, void *rows, size_t *cap, size_t n, size_t row_bytes);
int cam_replay_add(struct cam_replay *r, const struct cam_replay_sample *s);
void cam_replay_idle(struct cam_replay *r, uint64_t time_ns);

/* Says the fact "format", then everything. Fills the account. */
int cam_replay_send(struct cam_replay *r, const char *format, struct cam_sink *sink,
		    struct cam_import_stats *st);

/* How an import of one value ended, for its account: what the input says, and whether it was whole. */
int cam_replay_finish(struct cam_replay *r, const char *format, struct cam_input *in, bool whole,
		      struct cam_sink *sink, struct cam_import_stats *st);
