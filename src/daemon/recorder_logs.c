// SPDX-License-Identifier: Apache-2.0
/* Log files: opened once, read with each tick, looked for again once a second. */
#include "base/units.h"
#include "daemon/log.h"
#include "daemon/recorder_parts.h"
#include "daemon/settings_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A line that has no time was written since the last look: a tick is at most that long ago. */
#define LOOK_NS CAM_NS_PER_SEC

static int32_t zone_of(void *arg, int64_t sec)
{
	(void)arg;
	time_t t = (time_t)sec;
	struct tm local;
	return localtime_r(&t, &local) ? (int32_t)local.tm_gmtoff : 0;
}

static const char *words_of(int err)
{
	switch (err) {
	case -ELOOP:
		return "it leads through a symbolic link; name the file itself";
	case -EINVAL:
		return "it is not a regular file";
	case -EMLINK:
		return "it has more than one name (hard link)";
	case -EREMOTE:
		return "it is on a file system that could keep the recorder waiting";
	default:
		return strerror(-err);
	}
}

static void open_log(struct cam_recorder *r, const char *path, enum cam_log_format format)
{
	struct cam_recorder_log *l = &r->events.logs[r->events.n_logs];
	const char *slash = strrchr(path, '/');
	char name[48];
	*l = (struct cam_recorder_log){.format = format};
	snprintf(name, sizeof(name), "log:%.43s", slash ? slash + 1 : path);
	l->source = cam_intake_source(r->events.intake, name);
	int err = l->source < 0 ? l->source : cam_log_tail_open(path, &l->tail);
	if (err)
		cam_recorder_mishap(r, "--log %s: not read: %s", path, words_of(err));
	else
		r->events.n_logs++;
}

void cam_recorder_open_logs(struct cam_recorder *r)
{
	const char *rest = r->settings->logs;
	char path[PATH_MAX];
	enum cam_log_format format;
	tzset();
	while (r->events.n_logs < CAM_SETTINGS_LOGS &&
	       cam_next_log(&rest, path, sizeof(path), &format))
		open_log(r, path, format);
}

void cam_recorder_close_logs(struct cam_recorder *r)
{
	for (size_t i = 0; i < r->events.n_logs; i++)
		cam_log_tail_close(r->events.logs[i].tail);
	r->events.n_logs = 0;
}

struct turn {
	struct cam_recorder *r;
	struct cam_recorder_log *log;
	struct cam_log_world world;
	uint64_t now_ns;
};

static void take_line(void *arg, struct cam_text line)
{
	struct turn *t = arg;
	struct cam_log_stamp s;
	/* The rest of what the line before it said: a stack, mostly. */
	if (line.p[0] == ' ' || line.p[0] == '\t')
		return;
	cam_log_stamp_read(line, t->log->format, &t->world, &s);
	bool timed = s.format != CAM_LOG_AUTO && s.format != CAM_LOG_DMESG;
	const struct cam_intake_line l = {
		.clock = timed ? CAM_INTAKE_WALL : CAM_INTAKE_OWN,
		.stamp_ns = timed ? s.time_ns : (int64_t)t->now_ns,
		.doubt_ns = timed ? s.doubt_ns : LOOK_NS,
		.severity = s.severity < CAM_SEVERITY_MAX ? s.severity : CAM_SEVERITY_INFO,
		.text = s.text,
	};
	cam_intake_take(t->r->events.intake, t->log->source, &l, t->now_ns);
}

void cam_recorder_poll_logs(struct cam_recorder *r, uint64_t now_ns)
{
	struct cam_recorder_events *e = &r->events;
	bool look = e->logs_second != r->last_second;
	struct timespec now;
	e->logs_second = r->last_second;
	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < e->n_logs; i++) {
		struct cam_recorder_log *l = &e->logs[i];
		struct turn t = {r, l, {0}, now_ns};
		t.world = (struct cam_log_world){
			.now_ns = (int64_t)now.tv_sec * (int64_t)CAM_NS_PER_SEC + now.tv_nsec,
			.zone = zone_of};
		int err = cam_log_tail_read(l->tail, look, take_line, &t);
		if (err && err != l->error)
			cam_recorder_mishap(r, "a log file (%zu.) cannot be read: %s", i + 1,
					    words_of(err));
		l->error = err;
		uint64_t skipped = cam_log_tail_counts(l->tail).skipped_bytes;
		if (skipped > l->skipped_bytes)
			cam_recorder_mishap(
				r,
				"a log file (%zu.) grows faster than it is read: some of it "
				"was passed over",
				i + 1);
		l->skipped_bytes = skipped;
	}
}
