// SPDX-License-Identifier: Apache-2.0
/* What process.c (records) and process_answer.c (what /proc says) share. Private to them. */
#pragma once
#include "ingest/process.h"

#define CAM_PROCESS_SLOTS 8192u
#define CAM_THREAD_SLOTS  16384u

struct cam_processes {
	struct cam_process_options options;
	struct cam_images images;
	struct cam_process *by_pid[CAM_PROCESS_SLOTS];
	struct cam_thread *by_tid[CAM_THREAD_SLOTS];
	struct cam_link living, ended; /* of processes: least recently sampled first; in order */
	struct cam_link ended_threads;
	struct cam_link words;	  /* of processes whose answer waits for records */
	struct cam_process *busy; /* not to be evicted now */
	bool *pid_used;		  /* of options.pids: has been seen, another one is somebody else */
	int64_t boot_offset_ns;
	uint32_t epoch;	     /* counts losses */
	uint64_t lost_to_ns; /* the end of the last */
	struct cam_processes_stats stats;
};

/* What /proc said of a process, but for its mappings (they are the draft). */
struct cam_process_word {
	struct cam_process_tidings said; /* its texts are the members below */
	int32_t tid;
	struct cam_word *exe, *cgroup; /* NULL: empty */
	char comm[CAM_ERRAND_MAX_COMM];
};

/* Forgets draft and word. */
void cam_process_drop_answer(struct cam_processes *t, struct cam_process *p);
/* One that lived before, or whose birth was lost. */
struct cam_process *cam_process_make(struct cam_processes *t, int32_t pid);
/* Its pid is another's from now on. */
void cam_process_detach(struct cam_processes *t, struct cam_process *p);
struct cam_thread *cam_process_thread(struct cam_processes *t, struct cam_process *p, int32_t tid);
void cam_thread_set_comm(struct cam_thread *thread, struct cam_text comm, uint64_t time_ns);
/* Whether two start times are of two processes. The first is ours, the second /proc's or BPF's. */
bool cam_process_starts_differ(const struct cam_process *p, uint64_t start_ns);
/* Keeps the bound; p stays. */
void cam_processes_make_room(struct cam_processes *t, struct cam_process *p);
