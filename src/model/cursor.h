// SPDX-License-Identifier: Apache-2.0
/*
 * Door D: from whoever keeps windows to whoever asks.
 *
 * Sides: query, interop's exporters and fleet call; the store (sealed windows and open journals
 * alike), imported files and tests implement.
 * Handed over: a list of windows in order of time; of one window its tables, its samples as
 * columns, totals, events, ledger, anchors and facts.
 * Ownership: infos, tables and strings are the window's, valid until it is closed; a batch only
 * during the callback.
 * Thread: a window belongs to one thread; several windows may be read by several threads.
 * Refusals: a callback's non-zero answer ends the iteration and is returned. -EBADMSG: nothing
 * of what was asked can be read. Damage short of that is not an error: what is readable is
 * delivered, stacks that are not are `[damaged]`, and `damage` counts what is missing: the
 * caller must look at it and say so.
 */
#pragma once
#include "model/counter.h"
#include "model/footer.h"
#include "model/tables.h"

struct cam_window_info {
	struct cam_text name; /* of its file, for people */
	struct cam_text host;
	struct cam_boot_id boot_id;
	enum cam_clock_kind clock;
	uint64_t start_ns, end_ns; /* its clock; what it observed */
	int64_t realtime_ns;	   /* of start_ns, by the nearest anchor; INT64_MIN: unknown */
	uint64_t realtime_uncertainty_ns;
	uint64_t time_unit_ns;
	uint64_t sequence; /* as in cam_window_head: which boot came first, when no clock can say */
	uint64_t samples;
	uint64_t lost; /* samples, by the ledger: causes that are loss */
	uint64_t file_bytes;
	uint32_t events;
	uint32_t cpus;
	uint32_t etypes; /* event types of an open window; 0: only its tables know */
	bool sealed;	 /* else an open or unsealed journal */
	bool clean_end;	 /* ended on purpose; else what follows may be a gap */
	bool has_places; /* addresses of all frames */
	bool imported;
	bool pinned;
	bool has_slots; /* slots() has them, unless they are damaged */
};

/* Half-open, on the window's clock. */
struct cam_range {
	uint64_t from_ns, to_ns;
};
#define CAM_RANGE_ALL ((struct cam_range){0, UINT64_MAX})

enum cam_column {
	CAM_COL_TIME = 1 << 0,
	CAM_COL_CPU = 1 << 1,
	CAM_COL_TASK = 1 << 2,
	CAM_COL_STACK = 1 << 3,
	CAM_COL_ETYPE = 1 << 4,
	CAM_COL_WEIGHT = 1 << 5,
	CAM_COL_LEAF = 1 << 6,
	CAM_COL_PLACE = 1 << 7,
	CAM_COL_DETAIL = 1 << 8,
	CAM_COL_COMM = 1 << 9,
	/* time_ns, but only its second of the window's clock is meant: times need not be decoded for it. */
	CAM_COL_SECOND = 1 << 10,
};
#define CAM_COL_ANY_TIME (CAM_COL_TIME | CAM_COL_SECOND)

/* Columns of n samples; those not asked for are NULL. Order: by second, CPU, then time. */
struct cam_batch {
	size_t n;
	const uint64_t *time_ns;
	const uint64_t *weight;
	const uint64_t *leaf_offset; /* CAM_OFFSET_NONE: not known */
	const uint32_t *cpu;
	const uint32_t *task;
	const uint32_t *stack;
	const uint32_t *place; /* 0 for all where has_places is false */
	const uint32_t *etype;
	const uint32_t *detail; /* string ids */
	const uint32_t *comm;	/* string ids */
};
typedef int cam_batch_fn(void *arg, const struct cam_batch *b);

/* How often a stack was sampled in a whole window, by comm and event type. */
struct cam_total {
	struct cam_stack_id stack;
	struct cam_str_id comm;
	struct cam_etype_id etype;
	uint64_t samples;
};
typedef int cam_total_fn(void *arg, const struct cam_total *t);

/* A comm of the samples. task: one that wears it; CAM_NONE: several do, and only tables() has them. */
typedef int cam_comm_fn(void *arg, struct cam_str_id comm, uint32_t task);
typedef int cam_event_fn(void *arg, const struct cam_event *e);
typedef int cam_ledger_fn(void *arg, const struct cam_ledger_row *row);
typedef int cam_anchor_fn(void *arg, const struct cam_anchor *a);
typedef int cam_fact_fn(void *arg, const struct cam_fact *f);
typedef int cam_counter_fn(void *arg, const struct cam_counter *c);

/* What could not be read so far; grows as more is asked. */
struct cam_damage {
	uint64_t chunks;
	uint64_t bytes;
	uint64_t samples; /* lost wholly; those under [damaged] are not counted here */
	uint64_t stacks;  /* samples whose stack is [damaged] */
};

struct cam_window {
	const struct cam_window_ops *ops;
	struct cam_window_info info;
	struct cam_damage damage;
};

struct cam_window_ops {
	/* Stacks, places and strings may come (or grow) with the calls that deliver them; all else is complete. */
	int (*tables)(struct cam_window *w, const struct cam_tables **out);
	/*
	 * The next four are shorter ways to a part of them, and may be NULL: cam_window_names() and those like it
	 * know. names: the same tables, in which tasks and locations are missing (none of them) until tables() is
	 * asked; batches then have ids of tasks that are not there. A host has ten thousands of tasks in a window.
	 */
	int (*names)(struct cam_window *w, const struct cam_tables **out);
	/* …in which functions and modules are missing as well, until one of the others is asked: strings and event types. */
	int (*words)(struct cam_window *w, const struct cam_tables **out);
	int (*comms)(struct cam_window *w, cam_comm_fn *fn, void *arg);
	int (*task)(struct cam_window *w, uint32_t task, struct cam_task *out);
	int (*samples)(struct cam_window *w, struct cam_range range, unsigned columns,
		       cam_batch_fn *fn, void *arg);
	int (*totals)(struct cam_window *w, cam_total_fn *fn, void *arg);
	/* The same of a range; one may come several times. -ENODATA, or NULL: not there, samples() say it. */
	int (*totals_in)(struct cam_window *w, struct cam_range range, cam_total_fn *fn, void *arg);
	/* The window's tree pruned at 1/10,000, the rest as [small] below its parent. */
	int (*small_totals)(struct cam_window *w, cam_total_fn *fn, void *arg);
	int (*cells)(struct cam_window *w, cam_cell_fn *fn, void *arg);
	/* Their sums over CPUs (CAM_CPU_NONE), in any order, a second perhaps several times. May be NULL. */
	int (*seconds)(struct cam_window *w, cam_cell_fn *fn, void *arg);
	int (*process_cells)(struct cam_window *w, cam_process_cell_fn *fn, void *arg);
	/* By name and cgroup, then second; no tasks are needed. -ENODATA, or NULL: not there, process_cells() says it. */
	int (*name_cells)(struct cam_window *w, cam_name_cell_fn *fn, void *arg);
	/* Every second that has samples, in order. -ENODATA, or NULL: not there, samples() say it. */
	int (*slots)(struct cam_window *w, cam_slots_fn *fn, void *arg);
	int (*events)(struct cam_window *w, cam_event_fn *fn, void *arg);
	int (*ledger)(struct cam_window *w, cam_ledger_fn *fn, void *arg);
	int (*anchors)(struct cam_window *w, cam_anchor_fn *fn, void *arg);
	int (*facts)(struct cam_window *w, cam_fact_fn *fn, void *arg);
	/* May be NULL: the window has none. By kind, subject, then time. */
	int (*counters)(struct cam_window *w, cam_counter_fn *fn, void *arg);
	/* The same. Source lines of leaf offsets, in any order; of an offset that comes with several none is right. */
	int (*lines)(struct cam_window *w, cam_line_fn *fn, void *arg);
	void (*close)(struct cam_window *w);
};

int cam_window_names(struct cam_window *w, const struct cam_tables **out);
int cam_window_words(struct cam_window *w, const struct cam_tables **out);
int cam_window_seconds(struct cam_window *w, cam_cell_fn *fn, void *arg);
int cam_window_comms(struct cam_window *w, cam_comm_fn *fn, void *arg);
/* -EBADMSG: it cannot be read, or there is no such task. */
int cam_window_task(struct cam_window *w, uint32_t task, struct cam_task *out);

/* Any number of windows, in order of (boot, boottime). */
struct cam_source {
	const struct cam_source_ops *ops;
};

struct cam_source_ops {
	size_t (*count)(struct cam_source *s);
	/* Cheap: from the header alone. Valid until the source is closed. */
	int (*info)(struct cam_source *s, size_t i, const struct cam_window_info **out);
	/* -ENOENT: it has expired since it was listed. */
	int (*open)(struct cam_source *s, size_t i, struct cam_window **out);
	void (*close)(struct cam_source *s);
};

/*
 * What lies unobserved between two windows that follow each other: nothing (false), or a typed
 * row on the clock of the later one: recorder dead, stopped on purpose, or another boot. Behind a
 * journal that is still being written nothing is told yet.
 */
bool cam_gap_between(const struct cam_window_info *earlier, const struct cam_window_info *later,
		     struct cam_ledger_row *out);
