// SPDX-License-Identifier: Apache-2.0
/*
 * Who runs: processes and their threads, as the side band and /proc tell.
 *
 * A process is (pid, start), not a pid: a fork record with a pid that is there already means that
 * the old one has ended. One that lived before the start is *unknown* until /proc has answered; one
 * born (or that has executed a program) under our eyes is known from records alone. One that lived
 * while records were lost is *suspect* until /proc confirms it.
 *
 * One thread. Records come in order of time. A process stays valid while `parked` is not 0, else
 * until the next call that takes the table. Bounded by max_bytes: those that have ended go first, then
 * those that were sampled longest ago (counted; if seen again they are asked about anew).
 */
#pragma once
#include "ingest/image.h"
#include "ingest/link.h"
#include "model/errand.h"

struct cam_process;
struct cam_process_word;

struct cam_thread {
	struct cam_thread *next_hash;
	struct cam_link of_process, of_ended;
	struct cam_process *process;
	int32_t tid;
	uint64_t ended_ns; /* 0: lives */
	bool known;	   /* comm is */
	char comm[CAM_COMM_BYTES];
	uint64_t comm_ns; /* when a record said so; 0: /proc did, or it was inherited */
	uint64_t asked_ns;
	bool waiting; /* for an answer about its comm */
	/* Its row in the tables of window task_window, if task_version is the process's. */
	uint32_t task, task_window, task_version;
};

enum cam_process_scope {
	CAM_SCOPE_OUT,
	CAM_SCOPE_IN, /* a process of the list, or forked by one */
};

struct cam_process {
	struct cam_process *next_hash;
	struct cam_link of_table; /* of the living, by use, or of the ended; alone: of none */
	int32_t pid, parent_pid;
	uint32_t uid;
	uint32_t parked;   /* samples that wait and refer to it */
	uint32_t execs;	   /* how often it has executed a program; a parked sample compares it */
	uint32_t version;  /* changes with all that makes a task's row */
	uint32_t epoch;	   /* of the table when it was last known for sure */
	uint32_t ticket;   /* of the errand under way; 0: none */
	uint64_t start_ns; /* boot clock; 0: not known */
	uint64_t born_ns;  /* by a fork record; 0: lived before */
	uint64_t exec_ns;  /* of the last program; 0: not seen */
	uint64_t ended_ns; /* 0: lives */
	uint64_t asked_ns; /* when /proc was asked last; 0: never */
	uint8_t failures;  /* of questions, one after the other */
	uint64_t sampled_ns;
	bool exe_due;	 /* the next mapping of a file is the program */
	bool known;	 /* image is right, as far as records go */
	bool incomplete; /* …but lacks something: the next answer's mappings are to be taken */
	bool confirmed; /* /proc has answered since the last exec: uid and cgroup were right then */
	bool listed;	/* is in the table under its pid */
	bool expected;	/* not sampled yet: its files are to be taken hold of with the answer */
	enum cam_process_scope scope;
	struct cam_word *cgroup; /* NULL: not known */
	struct cam_image *image; /* NULL: nothing is known of it, or it has ended */
	struct cam_image *draft; /* of an answer of several packets */
	struct cam_process_word
		*word;		  /* the rest of it, until records have come as far; NULL: none */
	struct cam_link of_words; /* of those that have one */
	struct cam_link threads;
	uint32_t living_threads; /* that are known */
	bool leader_ended;
	/* What whoever unwinds has of it (live_unwind.c). */
	struct cam_link of_due;	  /* of those to be handed over; alone: is not */
	uint32_t given;		  /* the number of the image; 0: has nothing */
	bool lost;		  /* it seems to have it no more */
	uint64_t given_ns;	  /* when, or when it was refused */
	uint64_t given_start_ns;  /* who it was said to be */
	uint64_t kernel_start_ns; /* start_ns, exactly, as the kernel said it; 0: did not */
};

struct cam_processes;

struct cam_process_options {
	size_t max_bytes;
	/* Those of the scope, ascending, each once (borrowed); n_pids = 0: no such scope. */
	const int32_t *pids;
	size_t n_pids;
	struct cam_words *words;
	struct cam_files *files;
	/* Told of one that was given to somebody and has ended, changed its program or is forgotten. */
	void (*left)(void *arg, struct cam_process *p);
	void *left_arg;
};

int cam_processes_new(const struct cam_process_options *o, struct cam_processes **out);
void cam_processes_free(struct cam_processes *t);

/* The boot clock minus the clock of records, from now on. */
void cam_processes_set_boot_offset(struct cam_processes *t, int64_t offset_ns);

/* MMAP, COMM, FORK, EXIT and LOST; others are passed over. */
void cam_processes_raw(struct cam_processes *t, const struct cam_raw *r);
/* Of a sample: the process and the thread, made if there is none; NULL: no memory. */
struct cam_process *cam_processes_meet(struct cam_processes *t, const struct cam_raw *r,
				       struct cam_thread **thread);
/* The same before any record of it came. */
struct cam_process *cam_processes_expect(struct cam_processes *t, int32_t pid);
struct cam_process *cam_processes_find(const struct cam_processes *t, int32_t pid);
struct cam_thread *cam_processes_thread(const struct cam_processes *t, const struct cam_process *p,
					int32_t tid);

/* Who bears the pid of one that is not listed any more, if he did at that time already. */
struct cam_process *cam_processes_heir(const struct cam_processes *t, const struct cam_process *p,
				       uint64_t time_ns);

/* Whether records were lost since it was last known for sure. */
bool cam_processes_is_suspect(const struct cam_processes *t, const struct cam_process *p);
/* That an errand about it is under way. */
void cam_processes_asked(struct cam_process *p, uint32_t ticket, uint64_t now_ns);
/* Answers to CAM_ERRAND_PROCESS and CAM_ERRAND_THREAD. The former are only noted… */
void cam_processes_answer(struct cam_processes *t, const struct cam_tidings *a);
/* …and believed when all records up to the time of their reading have come: those to released_ns. */
void cam_processes_believe(struct cam_processes *t, uint64_t released_ns);
/* Whether one is noted. */
bool cam_processes_has_noted(const struct cam_processes *t);
/* From the nearest forebear that is known to live and has one; for one whose own came too late. */
void cam_processes_inherit(struct cam_processes *t, struct cam_process *p);

/* One sample less waits for it; frees it if it was only kept for that. */
void cam_processes_unpark(struct cam_processes *t, struct cam_process *p);
/* Frees those that ended a while before released_ns. */
void cam_processes_tick(struct cam_processes *t, uint64_t released_ns);

struct cam_processes_stats {
	uint32_t processes, threads;
	uint64_t evicted;   /* living ones, by the bound */
	uint64_t lost;	    /* times that records were lost */
	uint64_t discarded; /* answers about another incarnation or program */
	size_t bytes;
};
struct cam_processes_stats cam_processes_stats(const struct cam_processes *t);
struct cam_images *cam_processes_images(struct cam_processes *t);
