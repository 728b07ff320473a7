// SPDX-License-Identifier: Apache-2.0
/*
 * The one way by which lines of logs become events, whatever they come from: bounded in number and length,
 * without secrets, with the severity of what is known about them, and on the axis of the samples.
 *
 * Sides: a source (kmsg, a log file, the journal) hands lines in; the daemon takes happenings out.
 * Handed over: a line with the stamp of its own clock; a happening with its time and uncertainty.
 * Ownership: texts are borrowed for the call, both ways.
 * Thread: one.
 * Refused: what comes faster than a source's limits, or than the limit of all of them together. What is known
 * to matter (event_kind.h) has limits of its own, so that a flood of other lines hides none of it.
 * Counted: by source; and every REPORT seconds an event says how many were left out, and why.
 */
#pragma once
#include "events/axis.h"
#include "events/event_kind.h"
#include "events/limiter.h"

#define CAM_INTAKE_SOURCES    32u
#define CAM_INTAKE_TEXT_BYTES 1024u /* of a kept text; what is longer ends with "…" */
#define CAM_INTAKE_REPORT_NS  (10 * UINT64_C(1000000000))

struct cam_happening {
	uint64_t time_ns, uncertainty_ns; /* the samples' clock */
	enum cam_severity severity;
	const struct cam_event_kind *kind; /* NULL: none that is known */
	struct cam_text source, text;
};
typedef void cam_happening_fn(void *arg, const struct cam_happening *h);

enum cam_intake_clock {
	CAM_INTAKE_OWN,	  /* the samples' own */
	CAM_INTAKE_SCHED, /* the kernel's log */
	CAM_INTAKE_WALL,
};

struct cam_intake_line {
	enum cam_intake_clock clock;
	int64_t stamp_ns;
	uint64_t doubt_ns; /* of the stamp itself: a log with whole seconds has 1 s */
	enum cam_severity severity;
	struct cam_text text;
};

struct cam_intake_counts {
	uint64_t lines, suppressed, redacted;
};

struct cam_intake;

int cam_intake_new(cam_happening_fn *fn, void *arg, struct cam_intake **out);
void cam_intake_free(struct cam_intake *in);
struct cam_axis *cam_intake_axis(struct cam_intake *in);
/* A source by the name that its events get; the same name, the same source. -ENOSPC, -EINVAL (too long). */
int cam_intake_source(struct cam_intake *in, const char *name);
/* True: it became an event. now_ns: the samples' clock, for the limits. */
bool cam_intake_take(struct cam_intake *in, int source, const struct cam_intake_line *line,
		     uint64_t now_ns);
/* Lines that nobody has seen: whoever holds them overwrote them before they were read, or the source passed over them.
 * Told as those that are suppressed here are, each with its reason. */
void cam_intake_lost(struct cam_intake *in, int source, uint64_t lines);
void cam_intake_skipped(struct cam_intake *in, int source, uint64_t lines);
/* Tells what was left out, where that is due; at_once: whether it is due or not. */
void cam_intake_report(struct cam_intake *in, uint64_t now_ns, bool at_once);
struct cam_intake_counts cam_intake_counts(const struct cam_intake *in, int source);
