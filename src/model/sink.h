// SPDX-License-Identifier: Apache-2.0
/*
 * Door B: from whoever has samples to whoever keeps them.
 *
 * Sides: a source (capture, an importer of interop, events) calls; ingest receives.
 * Handed over: definitions (which answer an id), then samples and the rest that use those ids.
 * Ownership: all arguments are borrowed for the call. Ids belong to the receiver's current
 * window: begin() announces the time of the next sample, may close the window and open another,
 * and then adds 1 to `generation`: every id given before is dead, caches of ids must be
 * emptied. Ids given after begin() are good for that sample.
 * Thread: one; calls never overlap.
 * Refusals, negative errno: -E2BIG the window's bound is reached (the receiver has counted the
 * sample in the ledger; the source may go on), -EINVAL an id or field out of range (a bug of the
 * source), -ENOMEM, -ENOSPC and -EIO from below: stop. begin() may also answer -ERANGE: this time
 * cannot be placed (counted; go on with the next sample).
 * Counted on refusal: the receiver's ledger, by cause.
 *
 * Callbacks that are NULL are no-ops that succeed; use the cam_sink_*() wrappers for those.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

/* A stack and its circumstances. Frames leaf first, at most CAM_MAX_STACK_FRAMES. */
struct cam_sink_sample {
	uint64_t time_ns;
	uint64_t weight;
	uint32_t cpu;
	struct cam_task_id task;
	struct cam_etype_id etype;
	struct cam_str_id detail;
	const struct cam_loc_id *frames; /* NULL: `place`, which stack() answered */
	size_t n_frames;
	struct cam_place_id place;
};

/* When, and on which CPU. */
struct cam_sink_moment {
	uint64_t time_ns;
	uint32_t cpu;
};

struct cam_sink {
	void *self;
	uint32_t generation;

	int (*begin)(struct cam_sink *s, uint64_t time_ns);

	/* Definitions: required. */
	int (*string)(struct cam_sink *s, struct cam_text text, struct cam_str_id *out);
	int (*module)(struct cam_sink *s, const struct cam_module *m, struct cam_module_id *out);
	int (*function)(struct cam_sink *s, const struct cam_function *f, struct cam_func_id *out);
	int (*location)(struct cam_sink *s, const struct cam_location *l, struct cam_loc_id *out);
	int (*task)(struct cam_sink *s, const struct cam_task *k, struct cam_task_id *out);
	int (*etype)(struct cam_sink *s, const struct cam_etype *e, struct cam_etype_id *out);

	/* The same stack for many samples. NULL: samples come with their frames. */
	int (*stack)(struct cam_sink *s, const struct cam_loc_id *frames, size_t n,
		     struct cam_place_id *out);

	/* What happened. */
	int (*sample)(struct cam_sink *s, const struct cam_sink_sample *sample);
	/*
	 * n samples that are as `like`, which has no frames, but for time and CPU: what begin() and sample() would do for each.
	 * Answers how many were taken, from the first; the next one is begin()'s: it may need more than that. NULL: none is.
	 */
	size_t (*alike)(struct cam_sink *s, const struct cam_sink_sample *like,
			const struct cam_sink_moment *at, size_t n);
	int (*lost)(struct cam_sink *s, const struct cam_ledger_row *row);
	int (*anchor)(struct cam_sink *s, const struct cam_anchor *a);
	int (*event)(struct cam_sink *s, const struct cam_event *e);
	/* About the host or the file; kept for every window that follows. */
	int (*fact)(struct cam_sink *s, struct cam_text key, struct cam_text value);
};

static inline int cam_sink_begin(struct cam_sink *s, uint64_t time_ns)
{
	return s->begin ? s->begin(s, time_ns) : 0;
}
static inline int cam_sink_lost(struct cam_sink *s, const struct cam_ledger_row *row)
{
	return s->lost ? s->lost(s, row) : 0;
}
static inline int cam_sink_anchor(struct cam_sink *s, const struct cam_anchor *a)
{
	return s->anchor ? s->anchor(s, a) : 0;
}
static inline int cam_sink_event(struct cam_sink *s, const struct cam_event *e)
{
	return s->event ? s->event(s, e) : 0;
}
static inline int cam_sink_fact(struct cam_sink *s, struct cam_text key, struct cam_text value)
{
	return s->fact ? s->fact(s, key, value) : 0;
}
