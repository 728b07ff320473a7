// SPDX-License-Identifier: Apache-2.0
/*
 * A stage for ingest/live: records go in by short calls, errands are answered from a small world
 * that the test describes (or not at all), windows come out as text.
 *
 *	struct stage s;
 *	stage_open(&s, NULL);
 *	world_process(&s, 10, "sh", "/bin/sh");
 *	world_map(&s, 10, 0x1000, 0x2000, 5, "/bin/sh");
 *	stage_sample(&s, 1 * SEC, 10, 10, USER(0x1010));
 *	stage_run(&s, 2 * SEC);
 *	stage_close(&s);
 *	assert_string_equal(stage_stack(&s, 0, 0), "sh_10");
 *
 * Names: offset 0x1234 of a file whose base name is "x" is "x_12", from 0x1200; the kernel's are
 * "k_…" likewise. A file that is taken hold of while `version` is 2 has names like "x.2_12".
 */
#pragma once
#include "base/units.h"
#include "ingest/live.h"

#define SEC CAM_NS_PER_SEC
#define MS  CAM_NS_PER_MS

#define STAGE_PROCESSES 288u
#define STAGE_MAPS	16u
#define STAGE_WINDOWS	256u
#define STAGE_ERRANDS	512u
#define STAGE_FILES	256u

struct world_process {
	int32_t pid;
	uint64_t start_ns;
	uint32_t uid;
	char comm[16], exe[64], cgroup[64];
	struct cam_mapping maps[STAGE_MAPS];
	uint32_t n_maps;
	bool gone;
	/* Its code made at run time: names of 0x1234 are "jit_12"; empty: it has no perf map. */
	char jit[32];
	uint64_t jit_turn;
	bool jit_is_late; /* …has one, without names */
};

struct stage_errand {
	struct cam_errand e;
	char path[128];
	uint64_t offsets[CAM_ERRAND_MAX_OFFSETS];
	uint8_t first; /* byte of a copy */
};

/* A window as its journal got it; its tables are taken over when it ends. */
struct stage_window {
	struct cam_window_head head;
	struct cam_tables t;
	struct cam_sample *samples;
	struct cam_ledger_row *ledger;
	size_t n_samples, cap_samples, n_ledger, cap_ledger;
	size_t blocks, anchors, counters, events, named;
	uint64_t first_anchor_ns;
	char facts[512];
	uint64_t end_ns;
	bool ended, end_asked;
};

struct stage_door {
	struct cam_journal journal;
	struct stage *stage;
	size_t window; /* that it has open */
};

struct stage_file {
	uint32_t number;
	char path[128];
	uint64_t inode;
	unsigned version;
};

struct stage {
	struct cam_live *live;
	struct cam_errands errands;
	struct stage_door doors[2];
	size_t n_doors;
	struct stage_window windows[STAGE_WINDOWS];
	size_t n_windows;
	int refuse;	  /* what the journal answers to begin, append and end */
	int refuse_end;	  /* to the end alone, which is written, but not durable */
	bool forget_rows; /* do not keep samples: for long runs */
	uint64_t appended;

	struct world_process processes[STAGE_PROCESSES];
	size_t n_processes;
	struct stage_file files[STAGE_FILES];
	size_t n_files;
	unsigned version;    /* of what the opener takes hold of now; 0: none */
	bool silent;	     /* nobody answers */
	int file_error;	     /* what FILE is answered with */
	uint64_t written_ns; /* and when it was last written to */
	int names_error;     /* and NAMES */
	bool nameless;	     /* files have functions, but no names */
	bool one_name;	     /* functions of 256 bytes have one name throughout, and say so */
	bool inlines;	     /* in1 and below it in2 are inlined everywhere */
	int refuse_file,
		refuse_names;  /* what send() says to FILE, and to NAMES of the first file */
	bool full;	       /* send() says -EAGAIN */
	uint32_t packet;       /* mappings a packet of a process's answer; 0: all */
	uint64_t maps_read_ns; /* of answers; 0: now */
	/* Unwinding: what TABLE is answered with, in so many packets of 2 rows; the stack that UNWIND
	 * finds, ends with 0, and the file whose table it needs. */
	struct cam_unwinder *unwinder;
	int table_error, unwind_error;
	uint32_t table_packets;
	const uint64_t *walked;
	enum cam_stack_end walked_end;
	const char *needs; /* base name; NULL: none */
	bool has_table[STAGE_FILES];

	struct stage_errand *sent; /* not answered yet */
	struct stage_errand *spare;
	size_t n_sent;
	size_t asked[CAM_ERRAND_TYPES]; /* since open */
	size_t wakes;			/* of these: a JVM is to write its map */
	uint32_t forgotten;		/* the last file that was */
	uint32_t jit_file_of_77;	/* of the process with that pid */
	uint64_t now_ns;
	uint64_t lag_ns; /* ticks are told that so much is not yet released */
	uint32_t cpu;
};

/* NULL: 97 Hz, windows of 10 s, the default budgets. */
void stage_options(struct cam_live_options *o);
void stage_open(struct stage *s, const struct cam_live_options *o);
void stage_open_with(struct stage *s, const struct cam_live_options *o, struct cam_unwinder *u);
/* Cuts at the last tick's time and frees the recorder; windows stay to be looked at. */
void stage_close(struct stage *s);
void stage_free(struct stage *s);

/* Open, with a shell, pid 10, that lives since before the start; and has been sampled (sample 0),
 * so that it is known. */
void stage_open_shell(struct stage *s);
void stage_open_known_shell(struct stage *s);

struct world_process *world_process(struct stage *s, int32_t pid, const char *comm,
				    const char *exe);
void world_map(struct stage *s, int32_t pid, uint64_t start, uint64_t end, uint64_t inode,
	       const char *path);

/* Frames, leaf first; ends with 0. */
#define USER(...)   ((const uint64_t[]){__VA_ARGS__, 0}), NULL
#define KERNEL(...) NULL, ((const uint64_t[]){__VA_ARGS__, 0})
void stage_sample(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid, const uint64_t *user,
		  const uint64_t *kernel);
/* As the source walked it. */
struct stage_walk {
	enum cam_stack_end end;
	uint32_t image, flags;
	size_t copy_bytes;
};
void stage_sample_walked(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid,
			 const uint64_t *user, const uint64_t *kernel, struct stage_walk walk);
void stage_sample_flags(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid,
			const uint64_t *user, const uint64_t *kernel, uint32_t flags);
void stage_fork(struct stage *s, uint64_t time_ns, int32_t parent, int32_t pid, int32_t tid);
void stage_comm(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid, const char *comm);
void stage_exec(struct stage *s, uint64_t time_ns, int32_t pid, const char *comm);
void stage_map(struct stage *s, uint64_t time_ns, int32_t pid, uint64_t start, uint64_t end,
	       uint64_t inode, const char *path);
void stage_exit(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid);
void stage_lost(struct stage *s, uint64_t from_ns, uint64_t to_ns);

/* Answers what was asked so far, as the world is now. */
void stage_answer(struct stage *s);
/* Ticks of 200 ms up to then; before each, what was asked is answered (unless silent). */
void stage_run(struct stage *s, uint64_t until_ns);
/* One tick; what it answers. */
int stage_tick(struct stage *s, uint64_t now_ns);

/* Of sample i of an ended window: "main;f;g" (root first), "comm|exe|cgroup". */
const char *stage_stack(struct stage *s, size_t window, size_t sample);
/* Why its stack is cut, as the mark at its root says; CAM_STACK_COMPLETE: there is none. */
enum cam_stack_end stage_end(struct stage *s, size_t window, size_t sample);
const char *stage_who(struct stage *s, size_t window, size_t sample);
uint64_t stage_lost_samples(const struct stage *s, enum cam_cause cause);
size_t stage_samples(const struct stage *s);
