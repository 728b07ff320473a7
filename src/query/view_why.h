// SPDX-License-Identifier: Apache-2.0
/* Door E, why: what was different at a moment, against its own history. As views.h says. */
#pragma once
#include "query/view_moment.h"

#define CAM_WHY_PATH  6u
#define CAM_WHY_WAITS 5u
#define CAM_WHY_CORES 5u

enum cam_why_kind {
	CAM_WHY_MORE_PROCESS,  /* a process, or all of one name, ran more than ever before */
	CAM_WHY_MORE_CGROUP,   /* several of one cgroup did */
	CAM_WHY_MORE_FUNCTION, /* no process did, but a function was busier in many */
	CAM_WHY_MORE_CORE,     /* nor did a function, but a core was busier with several */
	CAM_WHY_MORE_PATH,     /* nor did a core, but one way through the kernel was gone more */
	CAM_WHY_STOPPED,       /* one that is always there was not */
	CAM_WHY_KIND_MAX,
};

struct cam_why_finding {
	enum cam_why_kind kind;
	struct cam_text process; /* a name; empty where it is many */
	int32_t pid;		 /* CAM_PID_NONE: several, see processes */
	uint32_t processes;	 /* of that name, with samples in it */
	struct cam_text cgroup;	 /* of the process, or what was found; may be empty */
	/* What it did: the innermost function that most of its samples have in common, then its callers. */
	struct cam_text path[CAM_WHY_PATH];
	size_t n_path;
	uint64_t path_samples;
	struct cam_text entry; /* of a path through the kernel: where it begins; else empty */
	uint32_t other_cores;  /* of a core: how many others were busier as well */
	/* Where: the core with most of them. */
	uint32_t cpu; /* CAM_CPU_NONE: not known */
	uint64_t cpu_samples;
	uint64_t run_ns;    /* the longest time that it kept that core */
	uint64_t samples;   /* in length_ns */
	uint64_t explained; /* samples of it that path, cpu and kernel are of */
	uint64_t kernel_samples;
	double expected;	/* samples in as much time, by its history */
	double share, baseline; /* the same, of all CPU time of the machine; < 0: not known */
	double before;		/* samples expected by the minute before; < 0: not known */
	double days;		/* by the same time of other days; < 0: not known */
	double score;
	double p;	   /* share of other moments with something as unusual */
	uint32_t episodes; /* other times that it was so */
	bool significant;
	uint64_t age_ns; /* of the process, at that time; 0: not known */
	/* A stop that need not be whole seconds: the longest of its other pauses; else 0. */
	uint64_t pause_other_ns;
	/* When: from the first sample to the last of it (a stop: all of it). */
	int64_t wall_ns; /* INT64_MIN: not known */
	uint64_t clock_ns, length_ns, span_ns;
};

/* A core that one process had to itself while others were free. */
struct cam_why_core {
	uint32_t cpu;
	struct cam_text process, function;
	int32_t pid;
	int64_t wall_ns;
	uint64_t clock_ns, length_ns;
	uint64_t samples, own; /* of the core in that time, and of them the process's */
};

struct cam_why_wait {
	uint32_t tid;
	struct cam_text name;	/* empty: not known */
	double inside, outside; /* share of time waited; outside < 0: not known */
};

struct cam_why {
	struct cam_moment moment;	  /* window, time, events, counters; its tables are empty */
	struct cam_why_finding *findings; /* most telling first; then what is not significant */
	size_t n_findings, n_significant;
	struct cam_why_core cores[CAM_WHY_CORES];
	size_t n_cores, n_all_cores;
	struct cam_why_wait waits[CAM_WHY_WAITS];
	size_t n_waits;
	/* The history it is against. */
	uint64_t history_s;    /* seconds observed in it */
	uint64_t unobserved_s; /* seconds between its ends that were not */
	uint64_t functions_s;  /* seconds whose stacks were read */
	uint64_t
		processes_s; /* seconds in which processes are known one by one, not only by name */
	uint64_t asked_s, asked_unobserved_s;
	uint64_t moments;		  /* as long as what was asked about, that lie in it */
	uint64_t left_out;		  /* windows */
	double threshold, stop_threshold; /* scores that a finding must pass */
	double below;			  /* share of moments that score less than threshold */
	bool coarse;			  /* too few moments to say how rare a thing is */
	double busy; /* of the machine, in the time asked about; < 0: not known, or filtered */
	uint32_t cpus;
	uint64_t period_ns;
	struct cam_seen seen;
	unsigned notes; /* of enum cam_view_note: of a function that a sentence is about */
	/* What the texts point into. */
	struct cam_tables *names;
	char *strings;
};

void cam_why_free(struct cam_why *w);
