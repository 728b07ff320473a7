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
#include "daemon/status.h"
#include "events/intake.h"
#include "events/kmsg.h"
#include "events/log_tail.h"
#include "events/log_time.h"
#include "events/process_watch.h"
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

struct cam_recorder_log {
	struct cam_log_tail *tail;
	enum cam_log_format format;
	int source, error; /* of the last look; said once */
	uint64_t skipped_bytes;
};

/* Where events come from; recorder_events.c. */
struct cam_recorder_events {
	struct cam_recorder_log logs[CAM_SETTINGS_LOGS];
	size_t n_logs;
	uint64_t logs_second;
	struct cam_process_watch *watch; /* NULL: nobody is */
	int watch_source;
	struct cam_intake *intake;
	struct cam_kmsg *kmsg; /* NULL: it cannot be read */
	int kmsg_source;
	uint64_t kmsg_after_ns; /* older lines were stored already, by a recorder before this one */
	uint64_t kmsg_second, kmsg_read, kmsg_missed;
	uint64_t stored, refused;
};

/* What is done about events; recorder_rules.c. */
struct cam_recorder_rules {
	struct cam_acting_rule *v;
	size_t n;
	pid_t child; /* a program that a rule has started; 0: none */
	uint64_t child_until_ns;
};

struct cam_recorder {
	const struct cam_record_request *request;
	struct cam_settings *settings;
	struct cam_capture *capture;
	bool capture_of_threads; /* not of CPUs */
	int32_t *scope_pids;
	struct cam_queue *queue;
	struct cam_drain *drain;
	struct cam_live *live;
	struct cam_crew *crew;
	struct cam_keeper *keeper;
	struct cam_control *control;
	struct cam_recorder_events events;
	struct cam_recorder_rules rules;
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
	pid_t child;
	int child_status;
	bool command_ended;
	uint64_t start_ns, stop_ns; /* stop_ns: 0, until stopped */
	int64_t start_realtime_ns;
	int64_t namespace_ns; /* CLOCK_MONOTONIC as seen here, minus that of records */
	uint64_t last_tick_ns, last_second;
	uint64_t released_ns;
	bool stopping;
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

/* recorder_logs.c */
void cam_recorder_open_logs(struct cam_recorder *r);
void cam_recorder_close_logs(struct cam_recorder *r);
void cam_recorder_poll_logs(struct cam_recorder *r, uint64_t now_ns);

/* recorder_watch.c: processes that are watched. */
int cam_recorder_open_watch(struct cam_recorder *r);
/* A process came, went, or became another; only while somebody is watched. */
void cam_recorder_watch(struct cam_recorder *r, const struct cam_raw *raw);

/* recorder_events.c: -ENOMEM; a source that cannot be had is said, and done without. */
int cam_recorder_open_events(struct cam_recorder *r);
void cam_recorder_close_events(struct cam_recorder *r);
/* With each tick: what has happened since the last one. last: nothing will come after it. */
void cam_recorder_poll_events(struct cam_recorder *r, uint64_t now_ns, bool last);

/* An event of now or of a moment ago: stored, and the rules about it are followed. -errno: it is not stored. */
int cam_recorder_happened(struct cam_recorder *r, const struct cam_happening *h);

/* recorder_rules.c: as the settings have them now. -ENOMEM: the old ones stay. */
int cam_recorder_load_rules(struct cam_recorder *r);
void cam_recorder_close_rules(struct cam_recorder *r);
/* What it is worth by the rules; then, once it is stored, what they ask for. */
enum cam_severity cam_recorder_judge(const struct cam_recorder *r, const struct cam_happening *h);
void cam_recorder_act(struct cam_recorder *r, const struct cam_happening *h);
/* With each tick: pins that have grown, a program that has ended. */
void cam_recorder_poll_rules(struct cam_recorder *r, uint64_t now_ns, bool last);

/* recorder_control.c */
/* What the server of `run` hands on: a mark or a pin, in the bytes of control_wire.h, as its reply is. */
void cam_recorder_server_asks(struct cam_recorder *r, struct cam_text packet,
			      struct cam_buf *reply);
/* r->control stays NULL where it cannot be had (said). */
void cam_recorder_open_control(struct cam_recorder *r);
void cam_recorder_reload(struct cam_recorder *r, struct cam_buf *reply);
/* Cuts, and answers whoever asked once the window is sealed. */
void cam_recorder_snapshot(struct cam_recorder *r);
void cam_recorder_snapshot_poll(struct cam_recorder *r);

/* Said on stderr (true), every ten minutes at most; counted each time (`status` shows it). */
__attribute__((format(printf, 2, 3))) bool cam_recorder_mishap(struct cam_recorder *r,
							       const char *fmt, ...);
