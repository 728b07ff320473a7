// SPDX-License-Identifier: Apache-2.0
#include "events/intake.h"

#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "events/redact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 64u
/* A window of two minutes gets at most some 4,000 events of a source, some 100 bytes each mostly: the tables
 * of a window hold 12 MiB. */
#define PLAIN_RATE     20u
#define PLAIN_BURST    1000u
#define KNOWN_RATE     10u
#define KNOWN_BURST    200u
#define ALL_RATE       60u
#define ALL_BURST      3000u
#define REDACT_BYTES   (4 * CAM_INTAKE_TEXT_BYTES)
#define ELLIPSIS       "…"
#define ELLIPSIS_BYTES 3u

enum why {
	WHY_PLAIN,
	WHY_KNOWN,
	WHY_ALL,
	WHY_MEMORY,
	WHY_SKIPPED,
	WHY_LOST,
	WHYS,
};

struct source {
	char name[NAME_BYTES];
	struct cam_limiter plain, known;
	struct cam_intake_counts counts;
	uint64_t left_out[WHYS]; /* since it was told */
	uint64_t since_ns;	 /* of the first of them; 0: none */
};

struct cam_intake {
	cam_happening_fn *fn;
	void *arg;
	struct cam_axis axis;
	struct cam_limiter all, all_known;
	struct source sources[CAM_INTAKE_SOURCES];
	int n_sources;
	struct cam_buf text;
};

int cam_intake_new(cam_happening_fn *fn, void *arg, struct cam_intake **out)
{
	struct cam_intake *in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->fn = fn;
	in->arg = arg;
	in->all = (struct cam_limiter){.per_second = ALL_RATE, .burst = ALL_BURST};
	in->all_known = (struct cam_limiter){.per_second = ALL_RATE, .burst = ALL_BURST};
	in->text = CAM_BUF(4 * REDACT_BYTES);
	*out = in;
	return 0;
}

void cam_intake_free(struct cam_intake *in)
{
	if (!in)
		return;
	cam_buf_free(&in->text);
	free(in);
}

struct cam_axis *cam_intake_axis(struct cam_intake *in)
{
	return &in->axis;
}

int cam_intake_source(struct cam_intake *in, const char *name)
{
	for (int i = 0; i < in->n_sources; i++) {
		if (!strcmp(in->sources[i].name, name))
			return i;
	}
	if (!*name || strlen(name) >= NAME_BYTES)
		return -EINVAL;
	if (in->n_sources == CAM_INTAKE_SOURCES)
		return -ENOSPC;
	struct source *s = &in->sources[in->n_sources];
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->plain = (struct cam_limiter){.per_second = PLAIN_RATE, .burst = PLAIN_BURST};
	s->known = (struct cam_limiter){.per_second = KNOWN_RATE, .burst = KNOWN_BURST};
	return in->n_sources++;
}

/* Cut where a character begins. */
static struct cam_text bound(struct cam_buf *b)
{
	if (b->len > CAM_INTAKE_TEXT_BYTES) {
		size_t n = CAM_INTAKE_TEXT_BYTES - ELLIPSIS_BYTES;
		for (unsigned back = 0; back < 3 && (b->data[n] & 0xc0) == 0x80; back++)
			n--;
		memcpy(b->data + n, ELLIPSIS, ELLIPSIS_BYTES);
		b->len = n + ELLIPSIS_BYTES;
	}
	return (struct cam_text){(const char *)b->data, b->len};
}

static struct cam_text trim(struct cam_text s)
{
	while (s.n && strchr("\r\n \t", s.p[s.n - 1]))
		s.n--;
	return s;
}

static void leave_out(struct source *s, enum why why, uint64_t lines, uint64_t now_ns)
{
	s->counts.suppressed += lines;
	s->left_out[why] += lines;
	if (!s->since_ns)
		s->since_ns = now_ns ? now_ns : 1;
}

/* A wall time before this boot is not on the axis: it was read now, and is wrong by as much. */
static struct cam_placed place_wall(const struct cam_intake *in, int64_t stamp_ns, uint64_t now_ns)
{
	struct cam_placed p = {now_ns, CAM_NS_PER_SEC};
	int64_t wall;
	uint64_t doubt;
	if (!cam_axis_wall(&in->axis, stamp_ns, now_ns, &p) || p.time_ns)
		return p;
	p = (struct cam_placed){now_ns, CAM_NS_PER_SEC};
	if (cam_anchor_wall_of(in->axis.anchors, in->axis.n, now_ns, &wall, &doubt) &&
	    wall > stamp_ns)
		p.uncertainty_ns = (uint64_t)wall - (uint64_t)stamp_ns;
	return p;
}

static struct cam_placed place(const struct cam_intake *in, const struct cam_intake_line *l,
			       uint64_t now_ns)
{
	uint64_t stamp = l->stamp_ns > 0 ? (uint64_t)l->stamp_ns : 0;
	struct cam_placed p = {stamp, 0};
	if (l->clock == CAM_INTAKE_SCHED)
		p = cam_axis_sched(&in->axis, stamp);
	else if (l->clock == CAM_INTAKE_WALL)
		p = place_wall(in, l->stamp_ns, now_ns);
	p.uncertainty_ns += l->doubt_ns;
	/* Nothing is read before it was written: a clock that is ahead is wrong by as much, at least. */
	if (p.time_ns > now_ns) {
		uint64_t ahead = p.time_ns - now_ns;
		p.time_ns = now_ns;
		p.uncertainty_ns = ahead > p.uncertainty_ns ? ahead : p.uncertainty_ns;
	}
	return p;
}

bool cam_intake_take(struct cam_intake *in, int source, const struct cam_intake_line *line,
		     uint64_t now_ns)
{
	struct source *s = &in->sources[source];
	struct cam_text text = trim(line->text);
	s->counts.lines++;
	if (!text.n)
		return false;
	const struct cam_event_kind *kind = cam_event_kind_of(text);
	struct cam_limiter *own = kind ? &s->known : &s->plain;
	struct cam_limiter *all = kind ? &in->all_known : &in->all;
	struct cam_placed at = place(in, line, now_ns);
	/* By its own time: what a source has to catch up with is not a flood of now. But not by what a line says that
	 * anybody may have written: times far enough apart would be a way around the limit. */
	uint64_t when_ns = line->clock == CAM_INTAKE_WALL ? now_ns : at.time_ns;
	if (!cam_limiter_take(own, when_ns)) {
		leave_out(s, kind ? WHY_KNOWN : WHY_PLAIN, 1, now_ns);
		return false;
	}
	if (!cam_limiter_take(all, now_ns)) {
		leave_out(s, WHY_ALL, 1, now_ns);
		return false;
	}
	cam_buf_clear(&in->text);
	/* A secret that the cut would halve is still seen whole. */
	text.n = text.n < REDACT_BYTES ? text.n : REDACT_BYTES;
	s->counts.redacted += cam_redact(text, &in->text);
	if (cam_buf_error(&in->text)) {
		leave_out(s, WHY_MEMORY, 1, now_ns);
		cam_buf_free(&in->text);
		in->text = CAM_BUF(4 * REDACT_BYTES);
		return false;
	}
	struct cam_happening h = {
		.time_ns = at.time_ns,
		.uncertainty_ns = at.uncertainty_ns,
		.severity = line->severity,
		.kind = kind,
		.source = cam_text_of(s->name),
		.text = bound(&in->text),
	};
	if (kind && kind->severity < h.severity)
		h.severity = kind->severity;
	in->fn(in->arg, &h);
	return true;
}

static void never_seen(struct cam_intake *in, int source, enum why why, uint64_t lines)
{
	if (lines)
		leave_out(&in->sources[source], why, lines,
			  in->axis.n ? in->axis.anchors[in->axis.n - 1].time_ns : 0);
}

void cam_intake_lost(struct cam_intake *in, int source, uint64_t lines)
{
	never_seen(in, source, WHY_LOST, lines);
}

void cam_intake_skipped(struct cam_intake *in, int source, uint64_t lines)
{
	never_seen(in, source, WHY_SKIPPED, lines);
}

static void explain(enum why why, char *room, size_t bytes)
{
	switch (why) {
	case WHY_PLAIN:
		snprintf(room, bytes, "more than %u a second came", PLAIN_RATE);
		break;
	case WHY_KNOWN:
		snprintf(room, bytes, "more than %u a second came of what is known to matter",
			 KNOWN_RATE);
		break;
	case WHY_ALL:
		snprintf(room, bytes, "more than %u a second came of all sources together",
			 ALL_RATE);
		break;
	case WHY_MEMORY:
		snprintf(room, bytes, "there was no memory for them");
		break;
	case WHY_SKIPPED:
		snprintf(room, bytes, "more came than is read in a second");
		break;
	case WHY_LOST:
	case WHYS:
		snprintf(room, bytes, "overwritten by newer ones before they were read");
		break;
	}
}

static void report(struct cam_intake *in, const struct source *s, enum why why, uint64_t now_ns)
{
	uint64_t span = now_ns > s->since_ns ? now_ns - s->since_ns : 0;
	char text[240], reason[80];
	explain(why, reason, sizeof(reason));
	int n = snprintf(text, sizeof(text), "%s: %" PRIu64 " line%s %s in the last %.1f s: %s",
			 s->name, s->left_out[why], s->left_out[why] == 1 ? " was" : "s were",
			 why == WHY_LOST ? "lost" : "left out",
			 (double)span / (double)CAM_NS_PER_SEC, reason);
	struct cam_happening h = {
		.time_ns = now_ns,
		.uncertainty_ns = span,
		.severity = CAM_SEVERITY_WARNING,
		.source = CAM_TEXT("perfcam"),
		.text = {text, (size_t)n},
	};
	in->fn(in->arg, &h);
}

void cam_intake_report(struct cam_intake *in, uint64_t now_ns, bool at_once)
{
	for (int i = 0; i < in->n_sources; i++) {
		struct source *s = &in->sources[i];
		if (!s->since_ns || (!at_once && now_ns < s->since_ns + CAM_INTAKE_REPORT_NS))
			continue;
		for (enum why why = 0; why < WHYS; why++) {
			if (s->left_out[why])
				report(in, s, why, now_ns);
			s->left_out[why] = 0;
		}
		s->since_ns = 0;
	}
}

struct cam_intake_counts cam_intake_counts(const struct cam_intake *in, int source)
{
	return in->sources[source].counts;
}
