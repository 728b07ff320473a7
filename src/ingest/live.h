// SPDX-License-Identifier: Apache-2.0
/*
 * From raw records to windows: who ran (the table of processes), where (address → file and offset),
 * what it is called (names, asked for and awaited), cut into windows without a gap.
 *
 * One thread. Fed by raw records in order of time, by tidings (answers of the helpers), and by the
 * clock (tick). Writes windows through door C: up to two are open, the older one only to get the
 * names of its last samples. What does not fit is dropped whole and entered into the ledger.
 */
#pragma once
#include "model/errand.h"
#include "model/journal.h"
#include "model/raw.h"

struct cam_live;

/* Which samples are wanted; all that are set must hold. */
struct cam_scope {
	const int32_t *pids; /* these processes, each once, and what they fork from now on */
	size_t n_pids;
	uint32_t uid;		/* CAM_UID_NONE: any */
	struct cam_text cgroup; /* this path or below; empty: any */
};

struct cam_live_options {
	uint64_t window_ns;
	uint32_t hz;
	struct cam_text event; /* "cpu-clock", … */
	struct cam_text host;
	struct cam_boot_id boot_id;
	struct cam_scope scope;
	bool due_known;	  /* false: cycles (see ledger.h) */
	bool of_threads;  /* events of threads, not of CPUs (see ledger.h) */
	bool bpf;	  /* the source is BPF, with a control event beside it */
	bool keep_places; /* --addresses */
	/* Not the host's pid namespace, and the idle task is not sampled: pid 0 is anybody outside. */
	bool inside_pid_ns;
	bool java_maps; /* JVMs may be asked for their perf maps, once a window */
	/* Budgets. */
	size_t max_table_bytes;	  /* of one open window; reached: it is cut early */
	size_t max_process_bytes; /* the table of processes and their mappings */
	size_t max_name_bytes;	  /* names kept to be used again */
};

struct cam_live_stats {
	uint64_t samples, idle, filtered; /* of all records; samples: stored */
	uint64_t dropped;		  /* by a bound, in the ledgers */
	uint64_t unnamed;		  /* locations whose name never came */
	uint64_t late_samples;
	uint64_t suspect_samples;      /* without user frames: the process was not known for sure */
	uint64_t cut_stacks;	       /* at a caller in no mapping: under [unmapped] */
	uint64_t ends[CAM_STACK_ENDS]; /* how the user stacks of those that were stored ended */
	uint64_t guessed;	       /* of these: with steps by frame pointers */
	uint64_t copies, copies_unwound, copies_late, copies_refused; /* no room for them */
	uint64_t tables, tables_empty, tables_refused; /* handed over; without CFI; did not fit */
	uint64_t images_given, images_refused;
	uint64_t evicted;		  /* living processes, by max_process_bytes */
	uint64_t lost;			  /* by causes that are losses */
	uint64_t by_cause[CAM_CAUSE_MAX]; /* of all ledger rows so far */
	uint32_t windows;
	uint32_t source_hz; /* as cam_ledger_source_hz() */
	uint32_t processes, files;
	uint64_t errands, errands_failed;
	size_t table_bytes, process_bytes, name_bytes;
	/* Samples that wait for an answer, and copies of stacks that wait to be walked. */
	size_t parked_bytes, max_parked_bytes, copy_bytes, max_copy_bytes;
};

/* `door` gives the journal door for another window (two may be open at a time). All borrowed. */
struct cam_live_doors {
	void *self;
	struct cam_journal *(*door)(void *self);
	struct cam_errands *errands;
	struct cam_unwinder *unwinder; /* NULL: there is none */
};

int cam_live_new(const struct cam_live_options *o, const struct cam_live_doors *doors,
		 struct cam_live **out);
void cam_live_free(struct cam_live *l);

/*
 * These are about to be sampled, and records come by now: they are asked about at once, and their files taken hold
 * of with the answer. One that is recorded by its pid may be gone when its first sample is looked at. As many as
 * CAM_LIVE_EXPECTED; others are asked about when they are sampled, like everybody.
 */
#define CAM_LIVE_EXPECTED 256u
void cam_live_expect(struct cam_live *l, const int32_t *pids, size_t n, uint64_t now_ns);
int cam_live_raw(struct cam_live *l, const struct cam_raw *r);
int cam_live_tidings(struct cam_live *l, const struct cam_tidings *t);
/* Give it one before the first record: the first window has a wall time from its start then. */
int cam_live_anchor(struct cam_live *l, const struct cam_anchor *a);
int cam_live_counter(struct cam_live *l, const struct cam_counter *c);
/* The kernel's code has changed there, now, and no record says so: a module came. */
void cam_live_kernel_changed(struct cam_live *l, uint64_t from, uint64_t to);
/* The rate asked for from time_ns on: less than options.hz is shed. */
int cam_live_rate(struct cam_live *l, uint64_t time_ns, uint32_t hz);
/* The host slept for asleep_ns, somewhere between two instants. */
int cam_live_suspended(struct cam_live *l, uint64_t from_ns, uint64_t to_ns, uint64_t asleep_ns);
int cam_live_event(struct cam_live *l, uint64_t time_ns, uint64_t uncertainty_ns,
		   enum cam_severity severity, struct cam_text source, struct cam_text text);
/* Kept for this and every window that follows; a later value replaces the earlier. */
int cam_live_fact(struct cam_live *l, struct cam_text key, struct cam_text value);

/*
 * About every 200 ms: asks for names, gives up on what was not answered, writes what is pending to
 * the journal, closes windows whose time has passed. released_ns: no record older than this will
 * come. -ENOSPC, -EIO …: the journal refuses; what was pending stays until it does not fit.
 */
int cam_live_tick(struct cam_live *l, uint64_t now_ns, uint64_t released_ns);
/* Whether samples wait for an answer that waits for records: a tick with a later released_ns helps. */
bool cam_live_waits_for_records(const struct cam_live *l);
/* No record will come any more: answers about processes need not wait for one. */
void cam_live_no_more(struct cam_live *l);
/* Whether samples wait for copies of their stacks to be walked; and whether one of them needs more than the answer that is
 * under way: then answers are to come soon, not with the next tick only. */
bool cam_live_has_copies(const struct cam_live *l);
bool cam_live_copies_hurry(const struct cam_live *l);
/* Cuts now: what is open ends at end_ns, names or no names (snapshot, shutdown). Of what comes later
 * nothing may be older than that; and it must lie in the newest window: see may_cut(). */
int cam_live_cut(struct cam_live *l, uint64_t end_ns);
/* False: a boundary was passed of which older records are still to come (for some 400 ms). */
bool cam_live_may_cut(const struct cam_live *l, uint64_t end_ns);
struct cam_live_stats cam_live_stats(const struct cam_live *l);
/* What a thread that was sampled lately is called; false: that is not known for sure. */
bool cam_live_thread_name(const struct cam_live *l, int32_t pid, int32_t tid,
			  char name[CAM_COMM_BYTES]);
