// SPDX-License-Identifier: Apache-2.0
/*
 * What `why` compares with: how many samples each process and each function had in each second, over all
 * windows that are kept.
 *
 * Processes come from footers, where a window has one event type and nothing is filtered: no sample is read. Where windows have too many
 * tasks to look at them all, those of some windows are, and of the others only what processes of a name had together. Functions
 * need stacks: those of the windows nearest to what is asked about are read, up to a number of samples. A
 * process is known by pid and start time; its name is its main thread's, numbers of kernel threads left out
 * (kworker/3:1 is kworker); processes that had less than 10 samples in a window are one there: alone none of them
 * can matter. A function counts once in a stack, however often it is in it. A path of the kernel is told by its two ends: where the
 * kernel was last entered (the system call, the interrupt) and where the sample was taken.
 */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/views.h"
#include "query/why_axis.h"

/* The pid of what stands for all processes of a name and cgroup that had next to no samples in a window. */
#define CAM_WHY_REST INT32_MIN

struct cam_why_process {
	int32_t pid;
	uint64_t start_ns;
	uint32_t name, cgroup; /* strings of names; cgroup 0: not known */
	uint32_t first, last;  /* seconds of the axis in which it was sampled */
	uint32_t newest;       /* its last cell + 1 */
	bool named;	       /* by its main thread */
	/* What most samples of its main thread are called in the seconds asked about, by how many more; 0: there are none. A program
	 * that was sampled before it had replaced its parent's image has that one's name above. */
	uint32_t called, calls;
};

/* What a function of the kernel says of the way to it. */
enum cam_why_role {
	CAM_WHY_TELLS,
	CAM_WHY_PASSES, /* nothing: all go through it */
	CAM_WHY_ENTERS, /* the kernel was entered here: what called it was interrupted */
};

/* A function, or a path through the kernel: from where it was entered to where it was sampled. */
struct cam_why_function {
	uint32_t name; /* a string; of a path: where it begins */
	uint32_t leaf; /* a string: where a path ends; 0: it is a function */
	bool kernel;
	uint8_t role; /* enum cam_why_role */
};

/* A path while a stack is walked, leaf first. Both + 1; 0: none yet. */
struct cam_why_way {
	uint32_t entry, leaf;
};

/* One function farther from the leaf; false: there the path ends, or ended already. */
static inline bool cam_why_way_on(const struct cam_why_function *functions, uint32_t f,
				  struct cam_why_way *way)
{
	if (!functions[f].kernel || functions[f].role == CAM_WHY_ENTERS)
		return false;
	if (functions[f].role == CAM_WHY_TELLS) {
		way->entry = f + 1;
		way->leaf = way->leaf ? way->leaf : f + 1;
	}
	return true;
}

/* Samples of a process or function in a second. Several of one second add up. */
struct cam_why_cell {
	uint32_t of, at, n;
};

struct cam_why_cells {
	struct cam_why_cell *v;
	size_t n, cap;
};

/* How much may be kept at once. What is farther from the question gives way, and is counted. */
struct cam_why_room {
	uint64_t cells;	 /* of processes, functions and cores together */
	uint64_t things; /* processes, and as many functions */
	uint64_t rows;	 /* samples of the time asked about */
	uint64_t seconds;
	uint64_t name_bytes;
	uint64_t tasks; /* to look at, in all windows: that is time, not memory */
};
/* Of about so many bytes in all; 0: as much as a command may take. */
struct cam_why_room cam_why_room_of(uint64_t max_bytes);

struct cam_why_history {
	struct cam_why_axis axis;
	struct cam_tables *names;
	struct cam_why_process *processes;
	size_t n_processes, cap_processes;
	struct cam_index process_index;
	struct cam_why_function *functions;
	size_t n_functions, cap_functions;
	struct cam_index function_index;
	struct cam_why_cells by_process, by_function;
	/* By name, where pids are not known: the most that one process had. */
	struct cam_why_cells busiest;
	/* By core: samples of it; and, cell by cell, those of the process that had most of them. */
	struct cam_why_cells by_core, of_one;
	uint32_t n_cores; /* the largest number + 1; 0: they are not known */
	uint32_t cpus;
	uint64_t period_ns; /* of samples; 0: not known */
	struct cam_why_room room;
	uint64_t left_out;   /* windows: too far away, too much, or of another rate */
	uint64_t left_out_s; /* their seconds */
	struct cam_seen seen;
	char *strings;
};

struct cam_why_history_options {
	const struct cam_selection *asked;    /* settled; its filters hold for the history, too */
	const struct cam_selection *baseline; /* settled; NULL: everything */
	uint64_t samples;		      /* to read for functions, at most */
	/* Stacks of the windows that hold these times (wall clock) are read first, then others here and there; NULL: the nearest. */
	const int64_t *times;
	size_t n_times;
	bool keep_near; /* what is asked about is history as well */
	bool by_name; /* seconds of which only names are known are wanted, too: not all are CAM_WHY_PIDS */
	bool no_losses; /* nobody asks what h->seen says was lost */
	struct cam_why_room room;
	const struct cam_progress *progress;
};

/* Asks whether to go on, where all samples are read and the work is not done. */
int cam_why_go_on(const struct cam_progress *progress, const struct cam_why_history *h);

/* Errors as cam_walk()'s; -ENODATA: nothing with times was asked for. To be freed either way. */
int cam_why_history_build(struct cam_source *source, const struct cam_why_history_options *o,
			  struct cam_why_history *h);
void cam_why_history_free(struct cam_why_history *h);

/* Gives up the cells of seconds that are CAM_WHY_GONE; these were then not observed. */
void cam_why_forget(struct cam_why_history *h);

/* The process of a task of a window's tables, by content. -ENOMEM, -E2BIG. */
int cam_why_process_of(struct cam_why_history *h, const struct cam_tables *t, uint32_t task,
		       uint32_t *out);
/* What stands for the small processes like this one. */
int cam_why_rest_of(struct cam_why_history *h, const struct cam_tables *t, uint32_t task,
		    uint32_t *out);
/* The same by what they are called. is_program: by the path of their program. */
int cam_why_rest_named(struct cam_why_history *h, struct cam_text name, bool is_program,
		       struct cam_text cgroup, uint32_t *out);
int cam_why_function_of(struct cam_why_history *h, const struct cam_tables *t, uint32_t function,
			uint32_t *out);
/* The path from one function to another, as one of the functions; UINT32_MAX: that is none. */
int cam_why_path_of(struct cam_why_history *h, struct cam_why_way way, uint32_t *out);
/* Frames of every system call, interrupt and thread. */
bool cam_why_says_nothing(struct cam_text name);
/* "kworker" of "kworker/u8:3": what a kernel thread's name says beside its number. */
struct cam_text cam_why_name(struct cam_text comm);
/* Sorted by `of`: where the cells of each begin, n + 1 numbers that the caller frees. -ENOMEM. */
int cam_why_cells_sort(struct cam_why_cells *c, size_t n, uint32_t **starts);
