// SPDX-License-Identifier: Apache-2.0
#include "daemon/moment.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

struct nearest {
	int64_t realtime_ns;
	bool found;
	struct cam_anchor anchor;
};

/* The last anchor at or before the time, by its wall clock: after a step, the newer mapping. */
static int look_at(void *arg, const struct cam_anchor *a)
{
	struct nearest *n = arg;
	if (a->realtime_ns == INT64_MIN || a->realtime_ns > n->realtime_ns)
		return 0;
	if (!n->found || a->realtime_ns >= n->anchor.realtime_ns) {
		n->anchor = *a;
		n->found = true;
	}
	return 0;
}

static bool holds(const struct cam_window_info *w, int64_t realtime_ns)
{
	if (w->realtime_ns == INT64_MIN || w->clock == CAM_CLOCK_ABSENT ||
	    w->end_ns <= w->start_ns || realtime_ns < w->realtime_ns)
		return false;
	return (uint64_t)realtime_ns - (uint64_t)w->realtime_ns < w->end_ns - w->start_ns;
}

static void place_in(struct cam_source *source, size_t i, const struct cam_window_info *info,
		     int64_t realtime_ns, struct cam_moment *out)
{
	struct nearest n = {.realtime_ns = realtime_ns};
	struct cam_window *w;
	out->boot_id = info->boot_id;
	out->time_ns = info->start_ns + (uint64_t)realtime_ns - (uint64_t)info->realtime_ns;
	out->uncertainty_ns = info->realtime_uncertainty_ns;
	if (source->ops->open(source, i, &w))
		return;
	if (w->ops->anchors(w, look_at, &n) == 0 && n.found) {
		out->time_ns =
			n.anchor.time_ns + (uint64_t)realtime_ns - (uint64_t)n.anchor.realtime_ns;
		out->uncertainty_ns = n.anchor.uncertainty_ns;
	}
	w->ops->close(w);
}

static int find_in_store(struct cam_io *io, int64_t realtime_ns, struct cam_moment *out)
{
	struct cam_source *source;
	int err = cam_store_open_read(io, &source);
	if (err)
		return err;
	err = -ENOENT;
	size_t n = source->ops->count(source);
	/* The newest of them: a wall clock that was set back has such a time twice. */
	for (size_t i = n; i > 0 && err; i--) {
		const struct cam_window_info *info;
		if (source->ops->info(source, i - 1, &info) || !holds(info, realtime_ns))
			continue;
		place_in(source, i - 1, info, realtime_ns, out);
		err = 0;
	}
	source->ops->close(source);
	return err;
}

/* 01234567-89ab-…: 16 bytes in hexadecimal. */
static int read_boot_id(struct cam_boot_id *out)
{
	char text[64];
	CAM_AUTOCLOSE int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	size_t nibbles = 0;
	*out = (struct cam_boot_id){0};
	for (ssize_t i = 0; i < n && nibbles < 32; i++) {
		char c = text[i];
		int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
		if (v < 0)
			continue;
		out->bytes[nibbles / 2] |= (uint8_t)(v << (nibbles % 2 ? 0 : 4));
		nibbles++;
	}
	return nibbles == 32 ? 0 : -EIO;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * (int64_t)CAM_NS_PER_SEC + t.tv_nsec;
}

int cam_moment_find(struct cam_io *io, int64_t realtime_ns, struct cam_moment *out)
{
	int err = find_in_store(io, realtime_ns, out);
	if (err != -ENOENT)
		return err;
	int64_t time_ns, now_ns = clock_ns(CLOCK_REALTIME);
	int64_t offset = now_ns - clock_ns(CLOCK_MONOTONIC);
	if (realtime_ns > now_ns && (uint64_t)realtime_ns - (uint64_t)now_ns > CAM_NS_PER_SEC)
		return -ERANGE;
	if (__builtin_sub_overflow(realtime_ns, offset, &time_ns) || time_ns < 0)
		return -ENOENT;
	out->time_ns = (uint64_t)time_ns;
	out->uncertainty_ns = CAM_NS_PER_MS;
	return read_boot_id(&out->boot_id);
}
