// SPDX-License-Identifier: Apache-2.0
/*
 * Events of the running recorder, and what is done about them: what recorder_events.c, recorder_logs.c, recorder_journal.c,
 * recorder_watch.c and recorder_rules.c keep, and what the other parts of the recorder call.
 *
 * All on the thread that writes, with each tick; never on the one that drains rings.
 */
#pragma once
#include "daemon/findings.h"
#include "daemon/settings.h"
#include "events/intake.h"
#include "events/kmsg.h"
#include "events/log_tail.h"
#include "events/log_time.h"
#include "events/process_watch.h"
#include "helper/helper.h"
#include "ingest/keeping.h"
#include "model/raw.h"

struct cam_recorder;
struct cam_control_request;

#define CAM_RECORDER_ALERTS 512u /* that are known again */

struct cam_recorder_log {
	struct cam_log_tail *tail;
	enum cam_log_format format;
	int source, error; /* of the last look; said once */
	uint64_t skipped_bytes;
};

/* The reader of systemd's journal; recorder_journal.c. */
struct cam_recorder_journal {
	struct cam_helper helper;
	int source;
	uint64_t started_ns;	     /* when last; 0: never */
	uint64_t ended_ns, pause_ns; /* when it did, and how long until another is started */
	uint64_t after_ns,
		last_ns; /* older lines were stored already; the newest one that was taken */
};

/* How far lines from before the recorder's start go back. */
#define CAM_EVENTS_BACK_NS (600 * UINT64_C(1000000000))

/* Where events come from; recorder_events.c. */
struct cam_recorder_events {
	struct cam_recorder_log logs[CAM_SETTINGS_LOGS];
	size_t n_logs;
	uint64_t logs_second;
	struct cam_recorder_journal journal;
	struct cam_process_watch *watch; /* NULL: nobody is */
	int watch_source;
	struct cam_intake *intake;
	struct cam_kmsg *kmsg; /* NULL: it cannot be read */
	int kmsg_source;
	uint64_t kmsg_after_ns; /* older lines were stored already, by a recorder before this one */
	int64_t recorded_until_ns; /* wall clock: the end of the last window of before the start; INT64_MIN: none */
	uint64_t kmsg_second, kmsg_read, kmsg_missed, kmsg_skipped;
	uint64_t stored, refused;
	struct cam_found found[CAM_FOUND];
	/* What goes on now; recorder_findings.c. */
	struct cam_keeping keeping;
	struct cam_found told_live[CAM_FOUND];
	uint64_t live_since_ns; /* from when on they are counted */
	unsigned live_times;
	struct cam_limiter told;	      /* marks and alerts */
	uint64_t alerts[CAM_RECORDER_ALERTS]; /* hashes */
	size_t n_alerts;
};

/* What is done about events; recorder_rules.c. */
struct cam_recorder_rules {
	struct cam_acting_rule *v;
	size_t n;
	pid_t child; /* a program that a rule has started; 0: none */
	uint64_t child_until_ns;
};

/* What is still to be written; recorder_capsules.c. */
#define CAM_RECORDER_CAPSULES 8u
struct cam_recorder_capsules {
	struct cam_wanted_capsule {
		int64_t wall_ns;
		uint64_t due_ns;
		char source[48];
	} wanted[CAM_RECORDER_CAPSULES];
	unsigned n;
	pid_t child; /* who writes one; 0: nobody */
	uint64_t until_ns;
	char name[96];
};

/* recorder_logs.c */
void cam_recorder_open_logs(struct cam_recorder *r);
void cam_recorder_close_logs(struct cam_recorder *r);
void cam_recorder_poll_logs(struct cam_recorder *r, uint64_t now_ns);

/* recorder_journal.c */
void cam_recorder_open_journal(struct cam_recorder *r);
void cam_recorder_close_journal(struct cam_recorder *r);
void cam_recorder_poll_journal(struct cam_recorder *r, uint64_t now_ns);

/* recorder_watch.c: processes that are watched. */
int cam_recorder_open_watch(struct cam_recorder *r);
/* A process came, went, or became another; only while somebody is watched. */
void cam_recorder_watch(struct cam_recorder *r, const struct cam_raw *raw);

/* recorder_events.c: -ENOMEM; a source that cannot be had is said, and done without. */
int cam_recorder_open_events(struct cam_recorder *r);
void cam_recorder_close_events(struct cam_recorder *r);
/* With each tick, before it writes: what the kernel's log, log files and the journal have since the last one. */
void cam_recorder_poll_sources(struct cam_recorder *r, uint64_t now_ns);
/* With each tick, after that: what was left out, and what rules have under way. last: nothing will come after it. */
void cam_recorder_poll_events(struct cam_recorder *r, uint64_t now_ns, bool last);

/* An event of now or of a moment ago: stored, and the rules about it are followed. -errno: it is not stored. */
int cam_recorder_happened(struct cam_recorder *r, const struct cam_happening *h);
/* The same of a wall-clock time that is over, whose window may be sealed: h gets its time. -ENOENT: of no window, nor of this boot;
 * -ERANGE: of the future; -EROFS. What is wrong is said. */
int cam_recorder_happened_then(struct cam_recorder *r, int64_t wall_ns, struct cam_happening *h,
			       struct cam_buf *reply);

/* recorder_alerts.c: whether one more mark or alert may come now; counted, and said in words, if not. */
bool cam_recorder_may_tell(struct cam_recorder *r, struct cam_buf *reply);
/* Its text has no secrets any more. -EEXIST: it was told before. */
int cam_recorder_alert(struct cam_recorder *r, const struct cam_control_request *q,
		       struct cam_text text, struct cam_buf *reply);

/*
 * Whether anything of a time is or will be in the store, as far as can be told without reading it: its end by the recorder's
 * clock, its beginning by the wall clock, the only one that times of before the start have.
 */
bool cam_recorder_has_recorded(const struct cam_recorder *r, uint64_t to_ns, int64_t from_wall_ns);

/* recorder_capsules.c: one of the moment, once after_ns have passed behind it; last_ns: when the rule asked last. */
void cam_recorder_want_capsule(struct cam_recorder *r, const struct cam_happening *h,
			       uint64_t after_ns, uint64_t *last_ns);
void cam_recorder_poll_capsules(struct cam_recorder *r, uint64_t now_ns);
void cam_recorder_close_capsules(struct cam_recorder *r);

/* recorder_findings.c: what was found in windows becomes events; and, shorter, what goes on now. */
void cam_recorder_open_findings(struct cam_recorder *r);
void cam_recorder_poll_findings(struct cam_recorder *r);

/* recorder_rules.c: as the settings have them now. -ENOMEM: the old ones stay. */
int cam_recorder_load_rules(struct cam_recorder *r);
void cam_recorder_close_rules(struct cam_recorder *r);
/* What it is worth by the rules; then, once it is stored, what they ask for. */
enum cam_severity cam_recorder_judge(const struct cam_recorder *r, const struct cam_happening *h);
void cam_recorder_act(struct cam_recorder *r, const struct cam_happening *h);
/* With each tick: pins that have grown, a program that has ended. */
void cam_recorder_poll_rules(struct cam_recorder *r, uint64_t now_ns, bool last);
