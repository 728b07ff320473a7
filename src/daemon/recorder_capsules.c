// SPDX-License-Identifier: Apache-2.0
/*
 * Capsules that rules ask for: all that is known of the moment in one file, STORE/capsules/TIME-SOURCE.html, once what comes after it
 * is recorded, too.
 *
 * `perfcam helper capsule` writes it, one at a time: another user where that can be, the lowest priority, able to read the store and to write to the
 * descriptor that it is given, for RUN_NS at most. So nothing of it is in the way of samples. The oldest go when there are more
 * than FILES, or ROOM_BYTES of them; none is written where the disk is as full as min-free allows.
 */
#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/errand_child.h"
#include "daemon/recorder_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE	   "capsules"
#define SUFFIX	   ".html"
#define UNFINISHED ".unfinished"
#define FILES	   32u
#define ROOM_BYTES (128ull << 20)
#define RUN_NS	   (180 * CAM_NS_PER_SEC)
#define LATER_NS   (3 * CAM_NS_PER_SEC) /* until what is recorded can be read */
#define EACH_NS	   (60 * CAM_NS_PER_SEC)
#define AROUND_NS  (int64_t)(5 * CAM_NS_PER_SEC) /* what a capsule shows of a moment */

void cam_recorder_want_capsule(struct cam_recorder *r, const struct cam_happening *h,
			       uint64_t after_ns, uint64_t *last_ns)
{
	struct cam_recorder_capsules *c = &r->capsules;
	const struct cam_axis *x = cam_intake_axis(r->events.intake);
	uint64_t doubt, now = cam_clock_now(r->clock);
	int64_t wall;
	/* Several of one incident share theirs. */
	if ((*last_ns && now - *last_ns < EACH_NS + after_ns) ||
	    !cam_anchor_wall_of(x->anchors, x->n, h->time_ns, &wall, &doubt) ||
	    !cam_recorder_has_recorded(r, h->time_ns + AROUND_NS, wall - AROUND_NS))
		return;
	*last_ns = now;
	if (c->n == CAM_RECORDER_CAPSULES) {
		cam_recorder_mishap(r, "a capsule was not written: %u others wait", c->n);
		return;
	}
	struct cam_wanted_capsule *w = &c->wanted[c->n++];
	w->wall_ns = wall;
	w->due_ns = (h->time_ns + after_ns > now ? h->time_ns + after_ns : now) + LATER_NS;
	snprintf(w->source, sizeof(w->source), "%.*s", (int)h->source.n, h->source.p);
	for (char *p = w->source; *p; p++)
		*p = (char)(*p == '/' || *p == ':' || *p < ' ' ? '-' : *p);
}

/* Who may read the store may read them, as far as that can be had. */
static void share(int fd, int store)
{
	struct stat of, now;
	if (fstat(store, &of) == 0 && fstat(fd, &now) == 0 && of.st_gid != now.st_gid &&
	    fchown(fd, (uid_t)-1, of.st_gid))
		return;
}

static int open_place(const struct cam_recorder *r)
{
	CAM_AUTOCLOSE int store =
		open(r->settings->store, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (store < 0 || (mkdirat(store, PLACE, 0750) && errno != EEXIST))
		return -errno;
	int fd = openat(store, PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	share(fd, store);
	return fd;
}

static int is_capsule(const struct dirent *d)
{
	size_t n = strlen(d->d_name);
	return (n > strlen(SUFFIX) && !strcmp(d->d_name + n - strlen(SUFFIX), SUFFIX)) ||
	       !strcmp(d->d_name, UNFINISHED);
}

/* Makes room for one more: names begin with the time, so the first is the oldest. */
static int make_room(int place)
{
	struct dirent **names;
	struct stat s;
	uint64_t bytes = 0;
	int n = scandirat(place, ".", &names, is_capsule, alphasort), left = n;
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++)
		bytes += fstatat(place, names[i]->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0
				 ? (uint64_t)s.st_size
				 : 0;
	for (int i = 0; i < n; i++) {
		bool own = !strcmp(names[i]->d_name, UNFINISHED);
		if ((own || (unsigned)left >= FILES || bytes > ROOM_BYTES) &&
		    fstatat(place, names[i]->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
		    unlinkat(place, names[i]->d_name, 0) == 0) {
			bytes -= (uint64_t)s.st_size;
			left--;
		}
		free(names[i]);
	}
	free(names);
	return 0;
}

static bool disk_is_full(struct cam_recorder *r)
{
	struct cam_io *io = cam_keeper_io(r->keeper);
	uint64_t total, free_bytes;
	return !io || io->ops->space(io, &total, &free_bytes) ||
	       free_bytes < cam_settings_retention(r->settings, total).min_free_bytes;
}

static int spawn(struct cam_recorder *r, const struct cam_wanted_capsule *w, int out_fd)
{
	char when[48];
	snprintf(when, sizeof(when), "@%" PRId64 ".%09" PRId64,
		 w->wall_ns / (int64_t)CAM_NS_PER_SEC, w->wall_ns % (int64_t)CAM_NS_PER_SEC);
	const char *const argv[] = {"perfcam", "helper", "capsule", r->settings->store, when, NULL};
	return cam_errand_child_start(argv, environ, out_fd, &r->capsules.child);
}

static int begin(struct cam_recorder *r, const struct cam_wanted_capsule *w, uint64_t now_ns)
{
	struct cam_recorder_capsules *c = &r->capsules;
	struct tm t;
	time_t sec = (time_t)(w->wall_ns / (int64_t)CAM_NS_PER_SEC);
	if (disk_is_full(r))
		return -ENOSPC;
	CAM_AUTOCLOSE int place = open_place(r);
	int err = place < 0 ? place : make_room(place);
	if (err)
		return err;
	CAM_AUTOCLOSE int fd =
		openat(place, UNFINISHED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd < 0 || !gmtime_r(&sec, &t))
		return -errno;
	share(fd, place);
	strftime(c->name, sizeof(c->name), "%Y%m%dT%H%M%SZ-", &t);
	size_t n = strlen(c->name);
	snprintf(c->name + n, sizeof(c->name) - n, "%s" SUFFIX, w->source);
	err = spawn(r, w, fd);
	if (err)
		unlinkat(place, UNFINISHED, 0);
	c->until_ns = now_ns + RUN_NS;
	return err;
}

static void tell(struct cam_recorder *r, uint64_t now_ns)
{
	char text[160];
	snprintf(text, sizeof(text), "a capsule was written: " PLACE "/%s", r->capsules.name);
	int err = cam_live_event(r->live, now_ns, 0, CAM_SEVERITY_INFO, CAM_TEXT("perfcam"),
				 cam_text_of(text));
	if (err)
		cam_recorder_mishap(r, "an event was not kept: %s", strerror(-err));
}

static void finish(struct cam_recorder *r, int status, uint64_t now_ns)
{
	struct cam_recorder_capsules *c = &r->capsules;
	CAM_AUTOCLOSE int place = open_place(r);
	/* 3: some of what was recorded then could not be read, which it says. */
	bool good = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
	c->child = 0;
	if (place >= 0 && good && renameat(place, UNFINISHED, place, c->name) == 0) {
		tell(r, now_ns);
		return;
	}
	if (place >= 0)
		unlinkat(place, UNFINISHED, 0);
	cam_recorder_mishap(r, "a capsule was not written (status %d)", status);
}

void cam_recorder_poll_capsules(struct cam_recorder *r, uint64_t now_ns)
{
	struct cam_recorder_capsules *c = &r->capsules;
	struct rusage used;
	int status;
	if (c->child && now_ns > c->until_ns)
		kill(c->child, SIGKILL);
	if (c->child && wait4(c->child, &status, WNOHANG, &used) == c->child) {
		cam_meter_end(&r->meter, CAM_METER_CAPSULE, c->child, cam_meter_used_ns(&used));
		finish(r, status, now_ns);
	}
	for (size_t i = 0; i < c->n && !c->child; i++) {
		if (c->wanted[i].due_ns > now_ns)
			continue;
		struct cam_wanted_capsule w = c->wanted[i];
		memmove(&c->wanted[i], &c->wanted[i + 1], (c->n - 1 - i) * sizeof(w));
		c->n--;
		int err = begin(r, &w, now_ns);
		if (err)
			cam_recorder_mishap(r, "a capsule was not written: %s", strerror(-err));
		break;
	}
}

void cam_recorder_close_capsules(struct cam_recorder *r)
{
	struct cam_recorder_capsules *c = &r->capsules;
	if (c->child) {
		kill(c->child, SIGKILL);
		waitpid(c->child, NULL, 0);
	}
	if (c->child || c->n)
		cam_recorder_mishap(r, "capsules were not written: the recorder was stopped");
	*c = (struct cam_recorder_capsules){0};
}
