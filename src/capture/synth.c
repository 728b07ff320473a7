// SPDX-License-Identifier: Apache-2.0
#include "capture/synth.h"

#include <string.h>

static bool same_kind(const struct cam_raw *a, const struct cam_raw *b)
{
	if (a->type != b->type || a->cpu != b->cpu)
		return false;
	return a->type != CAM_RAW_LOST || a->lost.side_band == b->lost.side_band;
}

static void drop(struct cam_synth *s, uint32_t i)
{
	memmove(&s->records[i], &s->records[i + 1], (s->n - i - 1) * sizeof(s->records[0]));
	s->n--;
}

/* Joins `older` to `newer` and drops it. */
static void join(struct cam_synth *s, uint32_t older, uint32_t newer)
{
	const struct cam_raw *from = &s->records[older];
	struct cam_raw *to = &s->records[newer];

	if (to->type == CAM_RAW_LOST) {
		to->lost.records += from->lost.records;
		to->lost.from_ns = from->lost.from_ns;
	}
	drop(s, older);
}

/*
 * With the records of one CPU there are at most 4 kinds, so that of 16 some two are of one kind;
 * for a queue that several CPUs share the oldest is dropped if no two are.
 */
static void make_room(struct cam_synth *s)
{
	for (uint32_t newer = 1; newer < s->n; newer++)
		for (uint32_t older = 0; older < newer; older++)
			if (same_kind(&s->records[older], &s->records[newer])) {
				join(s, older, newer);
				return;
			}
	drop(s, 0);
}

/*
 * A loss of the side band goes before the samples of the time in which it happened: whoever resolves
 * those must know that a mapping may be missing. So it is announced by where it began.
 */
static bool goes_first(const struct cam_raw *r)
{
	return r->type == CAM_RAW_LOST && r->lost.side_band;
}

static uint64_t key_of(const struct cam_raw *r)
{
	return goes_first(r) ? r->lost.from_ns : r->time_ns;
}

static bool synth_peek(struct cam_stream *stream, uint64_t *time_ns)
{
	const struct cam_synth *s = (const struct cam_synth *)stream;
	if (s->n)
		*time_ns = key_of(&s->records[0]);
	return s->n > 0;
}

static void synth_take(struct cam_stream *stream, struct cam_raw *out)
{
	struct cam_synth *s = (struct cam_synth *)stream;
	*out = s->records[0];
	drop(s, 0);
}

void cam_synth_init(struct cam_synth *s)
{
	memset(s, 0, sizeof(*s));
	s->stream = (struct cam_stream){.peek = synth_peek, .take = synth_take};
}

void cam_synth_push(struct cam_synth *s, const struct cam_raw *r)
{
	if (s->n == CAM_SYNTH_RECORDS)
		make_room(s);
	struct cam_raw *to = &s->records[s->n];
	if (goes_first(r)) {
		while (to > s->records && key_of(&to[-1]) > r->lost.from_ns)
			to--;
		memmove(to + 1, to, (size_t)(&s->records[s->n] - to) * sizeof(*to));
		*to = *r;
	} else {
		*to = *r;
		if (s->n && to->time_ns < key_of(&to[-1]))
			to->time_ns = key_of(&to[-1]);
	}
	s->n++;
}
