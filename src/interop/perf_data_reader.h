// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of the reader of perf.data, for its own files: perf_data_in.c (from bytes to records),
 * perf_data_records.c (what each record means), perf_data_deliver.c (from samples to the sink).
 */
#pragma once
#include "base/buf.h"
#include "interop/perf_data_chains.h"
#include "interop/perf_data_in.h"
#include "interop/perf_data_order.h"
#include "interop/perf_data_sample.h"
#include "interop/perf_data_stacks.h"
#include "model/raw.h"

#define CAM_PERF_RECORD_HEADER 8u
#define CAM_PERF_MAX_FRAMES    (1u << 26) /* of a batch */
#define CAM_PERF_ENOUGH_FRAMES (1u << 22) /* with more a batch goes to the sink */
#define CAM_PERF_KEPT_FRAMES   (1u << 23) /* and with more behind it, none stay for the next one */
#define CAM_PERF_MAX_THROTTLED 256u

/* A sample that waits for the names of its batch; or what was lost, between samples. */
struct cam_perf_pending {
	uint64_t time_ns, weight;
	uint32_t cpu, task, event;
	uint32_t chain; /* CAM_NONE: no frames were asked for */
	uint32_t more;	/* a row of more[], plus 1; 0: all is said */
};

/* What few samples have. */
struct cam_perf_more {
	const uint8_t *raw; /* a tracepoint's fields, in the batch's records */
	uint64_t ip;	    /* of one without a chain */
	uint32_t raw_bytes;
	uint32_t lost; /* a row of losses[], plus 1: no sample, then */
};

/* Registers and stack of a sample (--call-graph dwarf), in the space they are of; it is held. */
struct cam_perf_copy {
	struct cam_raw_copy copy; /* its stack is in the batch's records */
	struct cam_perf_space *space;
	uint32_t pending;
};

/* A thread as it was at a sample. */
struct cam_perf_task {
	int32_t pid, tid;
	struct cam_str_id comm, cgroup;
	uint32_t sink_id, generation;
};

/* What the samples of a thread were last found to be of. */
#define CAM_PERF_RECENT 256u
struct cam_perf_recent {
	int32_t pid, tid;
	uint32_t task;
	uint32_t leader;	  /* the process' row of spaces.threads; CAM_INDEX_NONE: not yet */
	uint64_t cgroup, changes; /* good while the reader's `changes` are these */
};

/* Where tasks are not asked for, all but the idle one are this one. */
#define CAM_PERF_PLAIN_TID   (-1)
#define CAM_PERF_PLAIN_KINDS 16u
struct cam_perf_plain {
	struct cam_perf_plain_kind {
		uint32_t event;
		uint64_t period;
	} kinds[CAM_PERF_PLAIN_KINDS];
	uint32_t n, last;
};

struct cam_perf_cgroup {
	uint64_t id;
	struct cam_str_id path;
};

struct cam_perf_reader {
	struct cam_sink *sink;
	const struct cam_import_options *options;
	struct cam_import_stats *st;
	bool swap;
	struct cam_perf_events events;
	struct cam_perf_spaces spaces;
	struct cam_perf_stacks stacks;
	struct cam_perf_order order;
	struct cam_perf_meta_data meta;

	/* The batch. */
	struct cam_perf_pending *pending;
	size_t n_pending, cap_pending;
	bool has_bytes; /* one of them has `raw` */
	struct cam_perf_more *more;
	size_t n_more, cap_more;
	struct cam_ledger_row *losses;
	size_t n_losses, cap_losses;
	/* Chains and their frames are kept for the batches that follow, as long as they are few. */
	uint32_t *frames;
	size_t n_frames, cap_frames, old_frames; /* old: of the batches before */
	struct cam_perf_chains chains;
	struct cam_perf_copy *copies;
	size_t n_copies, cap_copies;
	struct cam_perf_task *tasks;
	size_t n_tasks, cap_tasks;
	struct cam_index task_index;
	uint64_t changes; /* how often all `recent` were forgotten, plus 1 */
	struct cam_perf_recent recent[CAM_PERF_RECENT];

	struct cam_perf_plain plain;

	struct cam_buf detail; /* the text of one tracepoint */

	struct cam_perf_cgroup *cgroups;
	size_t n_cgroups, cap_cgroups;
	struct cam_index cgroup_index;
	struct {
		uint64_t id, since_ns;
	} throttled[CAM_PERF_MAX_THROTTLED];
	size_t n_throttled;

	bool begun, anchored;
	uint64_t last_ns;      /* of the samples delivered */
	uint64_t unreported;   /* malformed samples that the ledger does not know yet */
	uint64_t lost_records; /* of PERF_RECORD_LOST … */
	uint64_t lost_at_end;  /* … and of LOST_SAMPLES, which may be the same ones */
};

/* Whether a record's header can stand here: 8 bytes. */
bool cam_perf_is_header(const uint8_t *p, bool swap);
/* Queues the plain samples that n bytes begin with, as far as there is room; how many bytes that were. */
size_t cam_perf_plain_queue(struct cam_perf_reader *r, size_t stream, const uint8_t *p, size_t n);
/* Of n entries whose turn has come and of which the first is plain: how many the sink took at once. */
size_t cam_perf_plain_deliver(struct cam_perf_reader *r, const struct cam_perf_order_entry *e,
			      size_t n);
/* Whether a record, no sample, says something of tasks alone, and that was not asked for. */
bool cam_perf_plain_leaves_out(const struct cam_perf_reader *r, const uint8_t *p, size_t bytes);
/* One record of the kernel's, its turn having come: into the batch, or into the tables. */
int cam_perf_reader_record(struct cam_perf_reader *r, const struct cam_perf_order_entry *e);
/* Keeps what is needed to walk the user's stack of a pending sample, if it came with a copy. -ENOMEM. */
int cam_perf_reader_keep_copy(struct cam_perf_reader *r, const struct cam_perf_sample *s);
/* Walks all stacks of the batch; their frames are behind those of the kernel then. */
int cam_perf_reader_unwind(struct cam_perf_reader *r);
/* A sample that waits for nobody, to the sink: none was pending before it, and all its names are known. */
int cam_perf_reader_deliver_now(struct cam_perf_reader *r, const struct cam_perf_pending *p);
/* Everything in the batch to the sink. */
int cam_perf_reader_deliver(struct cam_perf_reader *r);
int cam_perf_reader_finish(struct cam_perf_reader *r);
/* Starts (or stays in) the sink's window of that time. */
int cam_perf_reader_begin(struct cam_perf_reader *r, uint64_t time_ns);
/* A refusal by the sink concerns one thing, not the import. */
bool cam_perf_reader_refused(int err);
