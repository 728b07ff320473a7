// SPDX-License-Identifier: Apache-2.0
/* What recorder.c and recorder_*.c share; nobody else. */
#pragma once
#include "capture/clock.h"
#include "capture/host.h"
#include "capture/sched_clock.h"
#include "daemon/control.h"
#include "daemon/crew.h"
#include "daemon/drain.h"
#include "daemon/keeper.h"
#include "daemon/meter.h"
#include "daemon/notify.h"
#include "daemon/recorder.h"
#include "daemon/recorder_events.h"
#include "daemon/status.h"
#include "ingest/busiest.h"
#include "ingest/live.h"

#include <limits.h>

/* Budgets of memory; with the rings (24 MiB, the kernel's) they stay below what is promised. */
#define CAM_QUEUE_BYTES	   (8u << 20)
#define CAM_TABLE_BYTES	   (12u << 20)
#define CAM_PROCESS_BYTES  (6u << 20)
#define CAM_NAME_BYTES_MAX (6u << 20)
#define CAM_HELD_FILES	   2048u
#define CAM_RESIDENT_BYTES (64u << 20)

#define CAM_RECORDER_ERRORS 8

/* Something that went wrong, and how often. */
struct cam_mishap {
	char text[160];
	uint64_t times;
	int64_t realtime_ns;
	uint64_t said_ns; /* CLOCK_MONOTONIC */
};

/* Processes that are meant, while --pid or a command says so; n = 0: nobody by his number. */
struct cam_recorder_scope {
	int32_t *pids;
	size_t n, named;	 /* the first are not of a tree alone */
	size_t left_out;	 /* of the tree: there is no room for them */
	size_t threads_left_out; /* where only threads may be watched */
};

struct cam_recorder {
	const struct cam_record_request *request;
	struct cam_settings *settings;
	struct cam_capture *capture;
	bool capture_of_threads; /* not of CPUs */
	bool inside_pid_ns;	 /* not the host's: pid 0 is anybody outside */
	struct cam_recorder_scope scope;
	struct cam_queue *queue;
	struct cam_drain *drain;
	struct cam_live *live;
	struct cam_crew *crew;
	struct cam_keeper *keeper;
	struct cam_control *control;
	struct cam_recorder_events events;
	struct cam_recorder_rules rules;
	struct cam_recorder_capsules capsules;
	struct cam_clock *clock;
	struct cam_host *host;
	struct cam_sched_clock sched_clock;
	struct cam_meter meter;
	struct cam_busiest busiest;
	struct cam_shedder shedder;
	uint32_t kernel_hz;	/* what the kernel makes of the rate; 0: it was never asked */
	uint64_t sealer_cpu_ns; /* in the meter */
	struct cam_notify notify;
	char control_path[512];
	char why_source[256];
	char stacks_words[192]; /* how user stacks are had, and why so */
	const char *unwind;	/* "tables (bpf_loop)", "frame pointers", "copies" */
	char scope_words[128];
	char scope_cgroup[PATH_MAX]; /* as /proc/PID/cgroup has it; "": any */
	char host_name[256];

	int epoll_fd, wake_fd, signal_fd, child_fd;
	int status_fd; /* the server's questions; -1: there is none */
	pid_t server;
	pid_t child;
	int child_status;
	bool command_ended;
	uint64_t start_ns, stop_ns; /* stop_ns: 0, until stopped */
	int64_t start_realtime_ns;
	int64_t namespace_ns; /* CLOCK_MONOTONIC as seen here, minus that of records */
	uint64_t last_tick_ns, written_ns, last_second;
	uint64_t released_ns;
	bool stopping;
	bool asked_to_stop; /* by a signal: somebody waits */
	bool refusal_said;  /* why it could not start */
	char verifier[128]; /* why the kernel refused a better unwinder; "": it did not */
	int journal_error;  /* of the last tick */
	bool journal_said;
	bool snapshot_due;     /* the window is to be cut, as soon as that may be */
	bool snapshot_asked;   /* …and somebody waits for it */
	bool snapshot_waiting; /* until what was cut is sealed */
	struct cam_control_ticket snapshot_ticket;
	struct cam_boot_id boot_id;
	uint64_t minute_samples[60]; /* samples so far, second by second */
	struct cam_mishap mishaps[CAM_RECORDER_ERRORS];
	size_t n_mishaps;
};

/* recorder_start.c: everything up to the first round. 0, or an error that was said. */
int cam_recorder_open_capture(struct cam_recorder *r);
/* Raises the limit of open files; how many of them may be programs that are held. */
size_t cam_recorder_held_files(void);
int cam_recorder_open_live(struct cam_recorder *r);
/* Forks the command, stopped before its exec until cam_recorder_go(). */
int cam_recorder_fork_command(struct cam_recorder *r, int *go_fd);

/* recorder_second.c: once a second; when the wall clock was set; when the CPU budget changed. */
void cam_recorder_second(struct cam_recorder *r, uint64_t now_ns);
int cam_recorder_counter(void *recorder, const struct cam_counter *c);
void cam_recorder_clocks(struct cam_recorder *r);
void cam_recorder_budget(struct cam_recorder *r);

/* recorder_control.c */
/* What the server of `run` hands on: a mark or a pin, in the bytes of control_wire.h, as its reply is. */
void cam_recorder_server_asks(struct cam_recorder *r, struct cam_text packet,
			      struct cam_buf *reply);
/* r->control stays NULL where it cannot be had (said). */
void cam_recorder_open_control(struct cam_recorder *r);
int cam_recorder_reload(struct cam_recorder *r, struct cam_buf *reply);
/* Cuts, and answers whoever asked once the window is sealed. */
void cam_recorder_snapshot(struct cam_recorder *r);
void cam_recorder_snapshot_poll(struct cam_recorder *r);

/* Said on stderr (true), every ten minutes at most; counted each time (`status` shows it). */
__attribute__((format(printf, 2, 3))) bool cam_recorder_mishap(struct cam_recorder *r,
							       const char *fmt, ...);
