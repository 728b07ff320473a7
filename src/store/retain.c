// SPDX-License-Identifier: Apache-2.0
/*
 * Retention: which windows go, so that the store keeps its limits.
 *
 * What
 *	A store has three limits (age, bytes, free space of its file system) and three kinds of
 *	windows that are spared: the newest ten minutes, what is being written, and pins. Given
 *	the list of windows, their sizes and the free space, cam_retain_plan() marks what has to
 *	go; cam_store_retain() unlinks it. Unlinking is all there is to it: a reader that holds a
 *	window open keeps it until it closes it.
 *
 * What "old" means
 *	Wall clocks are stepped by NTP, by people, and by a dead battery to 1970: no two of them
 *	can be compared without risk of deleting an hour that is a minute old. Monotonic clocks
 *	can, but only within one boot. And the present is not asked for: a recorder that stood
 *	still for a week has nothing new, so nothing has to make room for it.
 *
 *	So age is *recorded time*. Lay the boots of this store end to end, in the order in which
 *	they came (the sequence number of their first window), each as long as what was recorded
 *	of it: from the start of its first window to the end of its last one. The age of a window is the
 *	distance on that line from its end to the end of the line:
 *
 *		age(w) = last end of its boot - end of w + the lengths of all later boots
 *
 *	Every term is a part of the time that really passed after w ended, on a clock nobody can
 *	set, and the parts do not overlap. Hence age(w) is never more than the true age: whatever
 *	happens to wall clocks, nothing goes before its time. What is not counted (the machine was
 *	off, suspended, not recording) only lets windows stay longer, until bytes or free space
 *	bound them.
 *
 *	An imported window has a clock that has nothing to do with this line. It is as old as the
 *	time recorded since it came in: since the start of the live window that came next.
 *
 * Invariants
 *	1. Never doomed: what is being written; the newest ten minutes of the line; of imports
 *	   younger than that, the ones that came last, ten minutes of them together.
 *	2. A pin is only broken for the sake of free space, and then last.
 *	3. Age dooms exactly the unpinned, unspared windows that ended longer ago than keep_ns.
 *	4. Bytes and free space doom the oldest first (by sequence: the order in which they came),
 *	   and no window more than it takes: without the last one the limit would not be met.
 *	5. Pinned bytes have a limit of their own (pins.c): they do not count against max_bytes.
 *	6. A file of which nothing can be read has no age: it goes only for free space, and first.
 *	7. No clock is read here; the answer depends on the arguments alone.
 *
 * Example
 *	Boot A recorded 0..240 s in two windows of 120 s (sequence 1, 2), then the machine rebooted,
 *	came up with the clock at 1970, and boot B recorded 20..1020 s (sequence 3..11). The line
 *	is 240 + 1000 s long. Ages: window 2 ended at 240 s: 1000 s old, window 1: 1120 s. With
 *	keep_ns = 1100 s window 1 goes, and boot B's early windows, though "1970", stay. With
 *	max_bytes for three windows 1, 2, 3, … go in this order, up to the first window that ended
 *	less than 600 s before 1020 s.
 */
#include "store/retain.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A window without times still takes its share of the imports that are spared. */
#define UNTIMED_NS (60 * UINT64_C(1000000000))

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static bool same_boot(const struct cam_retain_item *a, const struct cam_retain_item *b)
{
	return memcmp(&a->boot_id, &b->boot_id, sizeof(a->boot_id)) == 0;
}

/* Ages of live windows: from the end of the list backwards, boot by boot. */
static void age_live(struct cam_retain_item *items, size_t n)
{
	uint64_t later = 0, last_end = 0, first_start = 0;
	const struct cam_retain_item *boot = NULL;
	for (size_t i = n; i-- > 0;) {
		struct cam_retain_item *w = &items[i];
		if (!w->live)
			continue;
		if (!boot || !same_boot(boot, w)) {
			if (boot)
				later = add(later, between(first_start, last_end));
			boot = w;
			first_start = w->start_ns;
			last_end = w->end_ns;
			/* Windows may overlap: the last one to start need not be the last to end. */
			for (size_t k = i; k-- > 0;) {
				if (items[k].live && !same_boot(&items[k], w))
					break;
				if (items[k].live && items[k].end_ns > last_end)
					last_end = items[k].end_ns;
			}
		}
		if (w->start_ns < first_start)
			first_start = w->start_ns;
		w->age_ns = add(between(w->end_ns, last_end), later);
		w->newest = w->age_ns < CAM_RETAIN_NEWEST_NS;
	}
}

/* Ages of the others, from the one that came last backwards. */
static void age_imported(struct cam_retain_item **by_sequence, size_t n)
{
	uint64_t since = 0, spared = 0;
	for (size_t i = n; i-- > 0;) {
		struct cam_retain_item *w = by_sequence[i];
		uint64_t length = between(w->start_ns, w->end_ns);
		if (w->live) {
			since = add(w->age_ns, length);
			continue;
		}
		if (w->hopeless)
			continue;
		w->age_ns = since;
		w->newest = since < CAM_RETAIN_NEWEST_NS && spared < CAM_RETAIN_NEWEST_NS;
		spared = add(spared, length > UNTIMED_NS ? length : UNTIMED_NS);
	}
}

static int order_of_arrival(const void *a, const void *b)
{
	const struct cam_retain_item *x = *(struct cam_retain_item *const *)a;
	const struct cam_retain_item *y = *(struct cam_retain_item *const *)b;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool spared(const struct cam_retain_item *w)
{
	return w->busy || w->newest || w->doomed;
}

/* Dooms the oldest of one kind until `excess` bytes are gone; answers what is still too much. */
static uint64_t doom(struct cam_retain_item **by_sequence, size_t n, bool hopeless, bool pinned,
		     uint64_t excess)
{
	for (size_t i = 0; i < n && excess; i++) {
		struct cam_retain_item *w = by_sequence[i];
		if (spared(w) || w->hopeless != hopeless || w->pinned != pinned)
			continue;
		w->doomed = true;
		excess = between(w->bytes, excess);
	}
	return excess;
}

static void limit_bytes(struct cam_retain_item **by_sequence, size_t n, uint64_t max_bytes)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_retain_item *w = by_sequence[i];
		if (!w->doomed && !w->pinned && !w->hopeless)
			bytes = add(bytes, w->bytes);
	}
	doom(by_sequence, n, false, false, between(max_bytes, bytes));
}

static void limit_free(struct cam_retain_item **by_sequence, size_t n, uint64_t min_free,
		       uint64_t free_bytes)
{
	for (size_t i = 0; i < n; i++) {
		if (by_sequence[i]->doomed)
			free_bytes = add(free_bytes, by_sequence[i]->bytes);
	}
	uint64_t missing = between(free_bytes, min_free);
	missing = doom(by_sequence, n, true, false, missing);
	missing = doom(by_sequence, n, false, false, missing);
	doom(by_sequence, n, false, true, missing);
}

int cam_retain_plan(struct cam_retain_item *items, size_t n, const struct cam_retention *r,
		    uint64_t free_bytes)
{
	if (!n)
		return 0;
	CAM_AUTOFREE struct cam_retain_item **by_sequence = calloc(n, sizeof(*by_sequence));
	if (!by_sequence)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		by_sequence[i] = &items[i];
		items[i].age_ns = 0;
		items[i].newest = items[i].doomed = false;
	}
	qsort(by_sequence, n, sizeof(*by_sequence), order_of_arrival);
	age_live(items, n);
	age_imported(by_sequence, n);
	for (size_t i = 0; i < n; i++) {
		struct cam_retain_item *w = &items[i];
		if (r->keep_ns && !w->pinned && !w->hopeless && !spared(w))
			w->doomed = w->age_ns > r->keep_ns;
	}
	if (r->max_bytes)
		limit_bytes(by_sequence, n, r->max_bytes);
	if (r->min_free_bytes)
		limit_free(by_sequence, n, r->min_free_bytes, free_bytes);
	return 0;
}
