// SPDX-License-Identifier: Apache-2.0
/* What the host counted and what happened: tracks as columns, events as JSON. */
#include "query/event_id.h"
#include "query/event_list.h"
#include "query/tracks.h"
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_EVENTS 500u
#define MOST_EVENTS  5000u
#define TEXT_BYTES   1024u /* of an event: a line of a log may be far longer */

static const char *const units[] = {
	[CAM_TRACK_NONE] = "",	   [CAM_TRACK_MACHINE] = "machine",   [CAM_TRACK_TIME] = "time",
	[CAM_TRACK_CPUS] = "cpus", [CAM_TRACK_PER_SECOND] = "second", [CAM_TRACK_NUMBER] = "number",
};

/* The tracks one behind the other. */
struct columns {
	float *mean, *peak;
	uint32_t *who;
	size_t n;
};

static void put_facts(struct cam_json *j, const struct cam_tracks *t)
{
	cam_answer_seconds(j, "from", t->from_ns);
	cam_answer_seconds(j, "step", (int64_t)t->step_ns);
	cam_json_u64(j, "bins", t->n);
	cam_json_u64(j, "unreadable", t->unreadable);
	cam_json_u64(j, "unplaced", t->unplaced);
	cam_json_open(j, "tracks", '[');
	for (unsigned k = 0; k < CAM_COUNTER_MAX; k++) {
		if (!t->by_kind[k].mean)
			continue;
		enum cam_counter_kind kind = (enum cam_counter_kind)k;
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "key", cam_text_of(cam_track_key(kind)));
		cam_json_text(j, "unit", cam_text_of(units[cam_track_unit(kind)]));
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_open(j, "waiters", '[');
	for (size_t i = 0; i < t->n_waiters; i++) {
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "comm", t->waiters[i].comm);
		cam_json_i64(j, "tid", t->waiters[i].tid);
		cam_json_u64(j, "waited_ns", t->waiters[i].waited_ns);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void send_tracks(const struct cam_tracks *t, struct cam_answer *a)
{
	size_t most = CAM_COUNTER_MAX * t->n;
	struct columns k = {calloc(most, sizeof(float)), calloc(most, sizeof(float)),
			    calloc(most, sizeof(uint32_t)), 0};
	struct cam_columns c;
	if (k.mean && k.peak && k.who) {
		for (unsigned i = 0; i < CAM_COUNTER_MAX; i++) {
			const struct cam_track *from = &t->by_kind[i];
			if (!from->mean)
				continue;
			memcpy(k.mean + k.n, from->mean, t->n * sizeof(float));
			memcpy(k.peak + k.n, from->peak, t->n * sizeof(float));
			memcpy(k.who + k.n, from->peak_who, t->n * sizeof(uint32_t));
			k.n += t->n;
		}
		cam_columns_begin(&c);
		put_facts(&c.json, t);
		cam_columns_add(&c, "mean", CAM_COLUMN_F32, k.mean, k.n);
		cam_columns_add(&c, "peak", CAM_COLUMN_F32, k.peak, k.n);
		cam_columns_add(&c, "who", CAM_COLUMN_U32, k.who, k.n);
		cam_asked_finish(&c, a);
	} else {
		cam_asked_failed(a, -ENOMEM);
	}
	free(k.mean);
	free(k.peak);
	free(k.who);
}

void cam_answer_counters(const struct cam_server_doors *doors, const struct cam_request *q,
			 struct cam_answer *a)
{
	struct cam_asked_bins asked;
	struct cam_tracks t;
	struct cam_asked_deadline deadline;
	if (!cam_asked_bins(doors, q, a, &asked))
		return;
	cam_asked_deadline_begin(&deadline);
	int err = cam_tracks_build(asked.source, asked.from_ns, asked.to_ns, asked.n,
				   &deadline.progress, &t);
	doors->release(doors->self, asked.source);
	if (err) {
		cam_asked_failed(a, err);
		return;
	}
	send_tracks(&t, a);
	cam_tracks_free(&t);
}

static void put_event(struct cam_json *j, const struct cam_moment_event *e)
{
	char id[CAM_EVENT_ID_BYTES];
	struct cam_text text = {e->text.p, e->text.n < TEXT_BYTES ? e->text.n : TEXT_BYTES};
	cam_event_id_write(e->id, id);
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "id", cam_text_of(id));
	cam_answer_seconds(j, "time", e->wall_ns);
	cam_json_u64(j, "uncertainty_ns", e->uncertainty_ns);
	cam_json_u64(j, "severity", (uint64_t)e->severity);
	cam_json_text(j, "source", e->source);
	cam_json_text(j, "text", text);
	cam_json_bool(j, "cut", e->text.n > TEXT_BYTES);
	cam_json_close(j, '}');
}

static void send_events(const struct cam_event_list *l, struct cam_answer *a)
{
	struct cam_out out;
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_u64(&j, "all", l->n_all);
	cam_json_u64(&j, "unreadable", l->unreadable);
	cam_json_open(&j, "events", '[');
	for (size_t i = 0; i < l->n; i++)
		put_event(&j, &l->events[i]);
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_answer_error(a, 503, "the answer would be too large; ask for less");
}

void cam_answer_events(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a)
{
	static const char *const own[] = {"most", "severity", NULL};
	struct cam_source *source;
	struct cam_selection s;
	struct cam_event_list l;
	struct cam_asked_deadline deadline;
	uint64_t most, severity;
	if (!cam_request_number(q, "most", 1, MOST_EVENTS, USUAL_EVENTS, &most)) {
		cam_answer_error(a, 400, "most: a number from 1 to 5000");
		return;
	}
	if (!cam_request_number(q, "severity", 0, CAM_SEVERITY_DEBUG, CAM_SEVERITY_DEBUG,
				&severity)) {
		cam_answer_error(a, 400, "severity: 0 (emergency) to 7 (debug)");
		return;
	}
	if (cam_asked_windows(doors, a, &source))
		return;
	if (cam_asked_selection(doors, source, q, own, a, &s)) {
		cam_asked_deadline_begin(&deadline);
		cam_asked_deadline_bind(&deadline, &s);
		const struct cam_event_list_options o = {.most = most,
							 .least = (enum cam_severity)severity,
							 .progress = &deadline.progress};
		int err = cam_event_list_build(source, &s, &o, &l);
		cam_selection_free(&s);
		if (err) {
			cam_asked_failed(a, err);
		} else {
			send_events(&l, a);
			cam_event_list_free(&l);
		}
	}
	doors->release(doors->self, source);
}
