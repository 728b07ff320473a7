// SPDX-License-Identifier: Apache-2.0
/* Processes of chosen names (--watch): by the records that processes come with anyway, and who is there at the start by
 * /proc, which has their names without waiting for them. */
#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/recorder_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void look_at_process(struct cam_process_watch *w, int proc_fd, const char *number)
{
	char path[64], name[CAM_WATCH_NAME + 1];
	snprintf(path, sizeof(path), "%.20s/comm", number);
	CAM_AUTOCLOSE int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name));
	if (n > 1)
		cam_process_watch_begin(w, (int32_t)strtol(number, NULL, 10),
					(struct cam_text){name, (size_t)n - 1});
}

int cam_recorder_open_watch(struct cam_recorder *r)
{
	struct cam_recorder_events *e = &r->events;
	if (!r->settings->watch[0])
		return 0;
	e->watch = calloc(1, sizeof(*e->watch));
	if (!e->watch)
		return -ENOMEM;
	e->watch_source = cam_intake_source(e->intake, "process");
	int err = cam_process_watch_set(e->watch, cam_text_of(r->settings->watch));
	DIR *proc = err ? NULL : opendir("/proc");
	for (const struct dirent *d = proc ? readdir(proc) : NULL; d; d = readdir(proc)) {
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			look_at_process(e->watch, dirfd(proc), d->d_name);
	}
	if (proc)
		closedir(proc);
	return err;
}

static void tell(struct cam_recorder *r, const struct cam_raw *raw, const char *name,
		 const char *what, enum cam_severity severity)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "%s (pid %d) %s", name, raw->pid, what);
	const struct cam_intake_line l = {
		.clock = CAM_INTAKE_OWN,
		.stamp_ns = (int64_t)raw->time_ns,
		.severity = severity,
		.text = {text, (size_t)n},
	};
	cam_intake_take(r->events.intake, r->events.watch_source, &l, cam_clock_now(r->clock));
}

void cam_recorder_watch(struct cam_recorder *r, const struct cam_raw *raw)
{
	struct cam_process_watch *w = r->events.watch;
	char name[CAM_WATCH_NAME] = "";
	uint64_t unfollowed = w->unfollowed;
	/* A thread is no process. */
	if (raw->pid != raw->tid)
		return;
	if (raw->type == CAM_RAW_COMM && raw->comm.exec) {
		if (cam_process_watch_end(w, raw->pid, name))
			tell(r, raw, name, "became another program", CAM_SEVERITY_NOTICE);
		if (cam_process_watch_begin(w, raw->pid, raw->comm.comm)) {
			snprintf(name, sizeof(name), "%.*s", (int)raw->comm.comm.n,
				 raw->comm.comm.p);
			tell(r, raw, name, "started", CAM_SEVERITY_INFO);
		}
	} else if (raw->type == CAM_RAW_FORK && raw->fork.parent_pid != raw->pid) {
		const char *parent = cam_process_watch_name(w, raw->fork.parent_pid);
		snprintf(name, sizeof(name), "%s", parent ? parent : "");
		if (parent && cam_process_watch_begin(w, raw->pid, cam_text_of(name)))
			tell(r, raw, name, "was forked", CAM_SEVERITY_INFO);
	} else if (raw->type == CAM_RAW_EXIT && cam_process_watch_end(w, raw->pid, name)) {
		tell(r, raw, name, "ended", CAM_SEVERITY_NOTICE);
	}
	if (w->unfollowed > unfollowed)
		cam_recorder_mishap(r,
				    "more than %u processes are watched: how the others end is not "
				    "told",
				    CAM_WATCH_PROCESSES - 1);
}
