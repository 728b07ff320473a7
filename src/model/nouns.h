// SPDX-License-Identifier: Apache-2.0
/*
 * The nouns: what a window holds, as plain data.
 *
 * Times are nanoseconds on the window's own clock (live: CLOCK_MONOTONIC; imported: the file's
 * clock) unless the name says otherwise; clock anchors lead from there to wall time.
 */
#pragma once
#include "model/ids.h"

#include <stddef.h>

#define CAM_TIME_NONE	UINT64_MAX
#define CAM_OFFSET_NONE UINT64_MAX
#define CAM_CPU_NONE	UINT32_MAX
#define CAM_UID_NONE	UINT32_MAX
#define CAM_PID_NONE	(-1)

enum cam_module_kind {
	CAM_MODULE_UNKNOWN, /* addresses of no known file */
	CAM_MODULE_FILE,    /* an ELF file */
	CAM_MODULE_KERNEL,  /* the kernel and its modules */
	CAM_MODULE_VDSO,
	CAM_MODULE_JIT, /* code made at run time, named by a perf map or jitdump */
	CAM_MODULE_MAX,
};

/* Something that code was mapped from. Identity: all fields. */
struct cam_module {
	struct cam_str_id path;	    /* as shown; any bytes */
	struct cam_str_id key;	    /* what makes the file itself: opaque bytes, may be empty */
	struct cam_str_id build_id; /* raw bytes, may be empty; finds debug files, nothing else */
	enum cam_module_kind kind;
};

enum cam_func_kind {
	CAM_FUNC_USER,
	CAM_FUNC_KERNEL,
	CAM_FUNC_JIT,
	CAM_FUNC_INLINED,
	CAM_FUNC_MARK, /* not code: [damaged], [truncated], [small], … */
	CAM_FUNC_KIND_MAX,
};

/* Where a function's name came from. */
enum cam_name_source {
	CAM_NAME_NONE,	   /* unnamed: shown as its module */
	CAM_NAME_IMPORTED, /* as the imported file said */
	CAM_NAME_SYMTAB,
	CAM_NAME_DYNSYM,
	CAM_NAME_KALLSYMS,
	CAM_NAME_DWARF,
	CAM_NAME_PERF_MAP,
	CAM_NAME_JITDUMP,
	CAM_NAME_OWN, /* perfcam's own marks */
	CAM_NAME_MAX,
};

/* A function, as frames of a sealed window name it. Identity: all fields. */
struct cam_function {
	struct cam_str_id name; /* empty: unnamed */
	struct cam_module_id module;
	enum cam_func_kind kind;
	enum cam_name_source source;
	/* Where it starts in its module, where a better name may come; of unnamed code made at run time its mapping; else 0. */
	uint64_t start;
};

/*
 * An address as sampled, and the function it was found to lie in. Identity: all fields for one
 * that was named at birth (imports); address and module for a late one (live samples), which is
 * born unnamed (func.v = CAM_NONE) and named at most once, by cam_location_name().
 */
struct cam_location {
	uint64_t address; /* as the source gave it: absolute, or an offset into the module */
	struct cam_module_id module;
	struct cam_func_id func;
	uint64_t
		func_offset; /* of the address in the function; of unnamed code made at run time in its
			       * mapping; CAM_OFFSET_NONE: not known */
	uint32_t inlined;    /* what was inlined there: a node of the tables' inlines; 0: nothing */
	struct cam_str_id
		file;  /* source line of the code there (of what is inlined, not of the call) */
	uint32_t line; /* 0: not known */
	bool late;
};

/* A thread as it was at a sample. Identity: all fields (a comm change is a new task). */
struct cam_task {
	int32_t pid; /* CAM_PID_NONE where a text gave only the tid */
	int32_t tid;
	uint32_t uid; /* CAM_UID_NONE: not known */
	struct cam_str_id comm;
	struct cam_str_id exe;
	struct cam_str_id cgroup;
	uint64_t start_ns; /* of the process, boot clock; 0: not known */
};

/* What was sampled: "cpu-clock", "cycles:u", "sched:sched_switch", … */
struct cam_etype {
	struct cam_str_id name;
	uint64_t period_ns; /* nominal time between two samples of a busy CPU; 0: not known */
	bool has_weight;    /* samples carry a weight of their own (a period); else each is 1 */
	bool flat;	    /* sampled without call chains: one address, or none */
};

struct cam_sample {
	uint64_t time_ns; /* CAM_TIME_NONE for formats without times */
	uint64_t weight;  /* 1 where the event type has none */
	uint32_t cpu;	  /* CAM_CPU_NONE: not known */
	struct cam_task_id task;
	struct cam_place_id place;
	struct cam_etype_id etype;
	struct cam_str_id detail; /* a tracepoint's text, or CAM_DETAIL_GUESSED; empty: none */
};

enum cam_clock_kind {
	CAM_CLOCK_MONOTONIC,
	CAM_CLOCK_FOREIGN, /* the clock of an imported file */
	CAM_CLOCK_ABSENT,  /* the source has no times */
	CAM_CLOCK_KIND_MAX,
};

/* One instant read on every clock; CAM_TIME_NONE where one was not read. */
struct cam_anchor {
	uint64_t time_ns; /* the window's clock */
	uint64_t raw_ns;  /* CLOCK_MONOTONIC_RAW */
	uint64_t boottime_ns;
	uint64_t sched_ns;	 /* sched_clock: the stamps of the kernel log */
	int64_t realtime_ns;	 /* since 1970, UTC */
	uint64_t uncertainty_ns; /* of realtime against time */
};

enum cam_severity {
	CAM_SEVERITY_EMERG,
	CAM_SEVERITY_ALERT,
	CAM_SEVERITY_CRIT,
	CAM_SEVERITY_ERR,
	CAM_SEVERITY_WARNING,
	CAM_SEVERITY_NOTICE,
	CAM_SEVERITY_INFO,
	CAM_SEVERITY_DEBUG,
	CAM_SEVERITY_MAX,
};

/* Something that happened. */
struct cam_event {
	uint64_t time_ns;
	uint64_t uncertainty_ns;
	enum cam_severity severity;
	struct cam_str_id source; /* "kmsg", "mark", … */
	struct cam_str_id text;
};

/* Why a stretch of CPU time holds no samples (or fewer): the ledger's types. */
enum cam_cause {
	CAM_CAUSE_IDLE,	      /* observed, and idle */
	CAM_CAUSE_LOST_RING,  /* the kernel's ring was full */
	CAM_CAUSE_LOST_QUEUE, /* perfcam's own queue was full */
	CAM_CAUSE_THROTTLED,
	CAM_CAUSE_OFFLINE,
	CAM_CAUSE_SUSPENDED,
	CAM_CAUSE_DISK_FULL,
	CAM_CAUSE_RECORDER_DEAD,
	CAM_CAUSE_NOT_RECORDING, /* stopped on purpose */
	CAM_CAUSE_DAMAGED,	 /* recorded, and no longer readable */
	CAM_CAUSE_MALFORMED,	 /* records of an imported file that could not be read */
	CAM_CAUSE_BOUND,	 /* more distinct things than the tables may hold */
	CAM_CAUSE_STOLEN,	 /* the hypervisor ran something else */
	CAM_CAUSE_BLOCKED,	 /* other BPF code kept ours from running */
	CAM_CAUSE_FILTERED,	 /* observed, and outside the recording's scope */
	CAM_CAUSE_SHED,		 /* perfcam kept to its own budget */
	CAM_CAUSE_UNEXPLAINED,	 /* due, not idle, and did not fire: late timers, mostly */
	CAM_CAUSE_MAX,
};

/* Whether a view that touches it is incomplete: samples were due, and were lost. Idle, filtered,
 * stolen, offline, suspended time and late timers are not: nothing of it was ever there to keep. */
bool cam_cause_is_loss(enum cam_cause cause);
/* "idle", "ring full", …: for people. */
const char *cam_cause_words(enum cam_cause cause);
/* "idle", "lost_ring", …: for programs. */
const char *cam_cause_key(enum cam_cause cause);

struct cam_ledger_row {
	enum cam_cause cause;
	uint32_t cpu; /* CAM_CPU_NONE: all */
	uint64_t from_ns, to_ns;
	uint64_t samples; /* missing (or, for idle, counted) */
};

/* Something said about the host or the recording: ("kernel", "6.1.0"), … */
struct cam_fact {
	struct cam_str_id key;
	struct cam_str_id value;
};

struct cam_boot_id {
	uint8_t bytes[16];
};
