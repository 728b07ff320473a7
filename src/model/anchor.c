// SPDX-License-Identifier: Apache-2.0
/*
 * Mapping between clocks.
 *
 * The wall clock is the window's clock (CLOCK_MONOTONIC) plus an offset that changes only when
 * somebody steps it, or the host wakes up: both are slewed alike. So there is nothing to interpolate:
 * each anchor's offset holds until the next anchor, the first one's also before it. The kernel log's
 * clock is not slewed at all: it runs up to 500 ppm faster or slower than the window's, and between
 * two anchors it is taken to do so evenly: with anchors a second apart it is wrong by at most 0.5 ms.
 *
 * Invariants:
 *  1. f(t) = t + offset(t) is what the wall showed. first(w) = the least t with f(t) >= w, and last(w) =
 *     the largest t with f(t) <= w, both grow with w, whatever f does; and where f is monotone they
 *     are the same.
 *  2. Anchors of the kernel log's clock that would go backwards (in either clock) are passed over, so
 *     what is interpolated is a chain that rises in both.
 *
 * Example: anchors (time 100, wall 1000) (time 200, wall 1100 and, stepped back, 1040). Wall 1050 was
 * shown at 150 and at 210: first 150, last 210. Wall 1200: both 360. With a step forward, to 1500:
 * wall 1300 was never shown: both 200.
 */
#include "model/anchor.h"

#include "base/units.h"

static uint64_t cut(__int128 t)
{
	return t < 0 ? 0 : t >= CAM_TIME_NONE ? CAM_TIME_NONE - 1 : (uint64_t)t;
}

static bool has_sched(const struct cam_anchor *a)
{
	return a->sched_ns != CAM_TIME_NONE && a->time_ns != CAM_TIME_NONE;
}

static bool has_wall(const struct cam_anchor *a)
{
	return a->realtime_ns != INT64_MIN && a->time_ns != CAM_TIME_NONE;
}

/* Between two anchors; or, with b NULL, before the first or behind the last. */
static struct cam_placed on_line(const struct cam_anchor *a, const struct cam_anchor *b,
				 uint64_t sched_ns)
{
	uint64_t off = CAM_ANCHOR_SCHED_NS;
	__int128 past = (__int128)sched_ns - a->sched_ns;
	if (!b) {
		off += cut(past < 0 ? -past : past) / 2000; /* 500 ppm */
		return (struct cam_placed){cut((__int128)a->time_ns + past), off};
	}
	uint64_t t = b->time_ns - a->time_ns, s = b->sched_ns - a->sched_ns;
	uint64_t apart = t > s ? t - s : s - t;
	uint64_t nearest = sched_ns - a->sched_ns;
	if (nearest > s - nearest)
		nearest = s - nearest;
	/* The rate may have been another on each side of it, by twice 500 ppm; what is more is a
	 * clock that stood still or jumped in between. */
	off += apart > t / 1000 ? apart : nearest / 1000;
	return (struct cam_placed){cut((__int128)a->time_ns + past * t / s), off};
}

bool cam_anchor_place_sched(const struct cam_anchor *a, size_t n, uint64_t sched_ns,
			    struct cam_placed *out)
{
	const struct cam_anchor *before = NULL, *after = NULL;
	for (size_t i = 0; i < n && !after; i++) {
		if (!has_sched(&a[i]))
			continue;
		if (before &&
		    (a[i].sched_ns <= before->sched_ns || a[i].time_ns <= before->time_ns))
			continue;
		if (before && a[i].sched_ns > sched_ns)
			after = &a[i];
		else if (!before && a[i].sched_ns > sched_ns)
			break; /* before the first: along with it */
		else
			before = &a[i];
	}
	for (size_t i = 0; i < n && !before; i++)
		if (has_sched(&a[i]))
			before = &a[i];
	if (!before)
		return false;
	*out = on_line(before, after, sched_ns);
	return true;
}

static size_t next_wall(const struct cam_anchor *a, size_t n, size_t i)
{
	while (i < n && !has_wall(&a[i]))
		i++;
	return i;
}

bool cam_anchor_place_wall(const struct cam_anchor *a, size_t n, int64_t realtime_ns,
			   struct cam_placed *first, struct cam_placed *last)
{
	bool found = false, any = false;
	for (size_t i = next_wall(a, n, 0), next; i < n; i = next) {
		next = next_wall(a, n, i + 1);
		__int128 t = (__int128)realtime_ns - a[i].realtime_ns + a[i].time_ns;
		__int128 from = any ? (__int128)a[i].time_ns : 0;
		__int128 to = next < n ? (__int128)a[next].time_ns : CAM_TIME_NONE - 1;
		/* The least of this stretch that shows at least as much. */
		if (!found && (t < to || next == n)) {
			*first = (struct cam_placed){cut(t > from ? t : from), a[i].uncertainty_ns};
			found = true;
		}
		/* The largest of this stretch that shows no more; a later stretch's is larger. */
		if (!any || t >= from)
			*last = (struct cam_placed){cut(t < to ? t : to), a[i].uncertainty_ns};
		any = true;
	}
	return any;
}

bool cam_anchor_wall_of(const struct cam_anchor *a, size_t n, uint64_t time_ns,
			int64_t *realtime_ns, uint64_t *uncertainty_ns)
{
	const struct cam_anchor *good = NULL;
	for (size_t i = next_wall(a, n, 0); i < n; i = next_wall(a, n, i + 1))
		if (!good || a[i].time_ns <= time_ns)
			good = &a[i];
	if (!good)
		return false;
	*realtime_ns = cam_time_add(good->realtime_ns, (__int128)time_ns - good->time_ns);
	*uncertainty_ns = good->uncertainty_ns;
	return true;
}
