// SPDX-License-Identifier: Apache-2.0
/*
 * See chrome_in.h. Events become marks (a begin or an end of a slice on a thread), which are sorted by
 * thread and time; one walk over those keeps the open frames of a thread and samples on the way.
 *
 * Marks of one time: what ends comes before what begins; of two that begin the longer one is outside.
 *
 * Example: X at 12 ms for 25 ms: marks 12 (begins) and 37 (ends); samples at 10, 20 and 30 ms. The one at
 * 10 has what was open at 12.
 */
#include "base/vec.h"
#include "interop/chrome_in.h"
#include "interop/json_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TICK_NS 10000000ull
/* A few bytes may claim a slice of years: more samples than this, or than that for each mark, are cut. */
#define FREE_TICKS     (1u << 19)
#define TICKS_PER_MARK 1024u

struct mark {
	uint64_t time_ns, length_ns; /* of a slice that begins; 0: not known */
	uint32_t thread, location;
	uint32_t number;
	bool ends;
};

struct thread {
	int32_t pid, tid;
	uint32_t name; /* a string of the tables; 0: none */
};

struct reader {
	struct cam_json_profile p;
	struct mark *marks;
	size_t n_marks, cap_marks;
	struct thread *threads;
	size_t n_threads, cap_threads;
	uint32_t last_thread;
	uint32_t etype;
	uint64_t ticks;
};

struct event {
	char phase, kind[32]; /* kind: the name of a metadata event */
	char name[4096], category[256], value[256];
	size_t name_n, category_n, value_n;
	int64_t pid, tid, ts, dur, tdur;
	bool has_ts, has_dur, has_tdur;
};

static void read_args(struct reader *r, struct event *e)
{
	char key[32];
	while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "name") && r->p.j.token == CAM_JSON_STRING)
			e->value_n = cam_json_profile_copy(r->p.j.text, e->value, sizeof(e->value));
		cam_json_in_skip(&r->p.j);
	}
}

static void take_text(struct event *e, const char *key, struct cam_text text)
{
	if (!strcmp(key, "ph") && text.n)
		e->phase = text.p[0];
	else if (!strcmp(key, "name"))
		e->name_n = cam_json_profile_copy(text, e->name, sizeof(e->name));
	else if (!strcmp(key, "cat"))
		e->category_n = cam_json_profile_copy(text, e->category, sizeof(e->category));
}

static void read_event(struct reader *r, struct event *e)
{
	char key[32];
	*e = (struct event){.pid = CAM_PID_NONE, .tid = CAM_PID_NONE};
	while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (r->p.j.token == CAM_JSON_STRING)
			take_text(e, key, r->p.j.text);
		if (!strcmp(key, "pid"))
			cam_json_in_i64(&r->p.j, &e->pid);
		else if (!strcmp(key, "tid"))
			cam_json_in_i64(&r->p.j, &e->tid);
		else if (!strcmp(key, "ts"))
			e->has_ts = cam_json_in_scaled(&r->p.j, 1000, &e->ts) && e->ts >= 0;
		else if (!strcmp(key, "dur"))
			e->has_dur = cam_json_in_scaled(&r->p.j, 1000, &e->dur);
		else if (!strcmp(key, "tdur"))
			e->has_tdur = cam_json_in_scaled(&r->p.j, 1000, &e->tdur);
		else if (!strcmp(key, "args") && r->p.j.token == CAM_JSON_OBJECT) {
			read_args(r, e);
			continue;
		}
		cam_json_in_skip(&r->p.j);
	}
}

static int32_t as_id(int64_t v)
{
	return v >= 0 && v <= INT32_MAX ? (int32_t)v : CAM_PID_NONE;
}

/* Few, and mostly the one of the event before. */
static int thread_of(struct reader *r, const struct event *e, uint32_t *out)
{
	int32_t pid = as_id(e->pid), tid = as_id(e->tid);
	for (size_t i = 0; i <= r->n_threads; i++) {
		size_t at = i ? i - 1 : r->last_thread;
		if (at < r->n_threads && r->threads[at].pid == pid && r->threads[at].tid == tid) {
			*out = r->last_thread = (uint32_t)at;
			return 0;
		}
	}
	int err = cam_vec_reserve(&r->threads, &r->cap_threads, r->n_threads + 1,
				  sizeof(*r->threads), 1u << 12);
	if (err)
		return err;
	r->threads[r->n_threads] = (struct thread){pid, tid, 0};
	*out = r->last_thread = (uint32_t)r->n_threads++;
	return 0;
}

static int add_mark(struct reader *r, const struct mark *m)
{
	int err =
		cam_replay_reserve(&r->p.out, &r->marks, &r->cap_marks, r->n_marks + 1, sizeof(*m));
	if (err)
		return err;
	r->marks[r->n_marks] = *m;
	r->marks[r->n_marks].number = (uint32_t)r->n_marks;
	r->n_marks++;
	return 0;
}

static int take_event(struct reader *r, const struct event *e)
{
	struct mark m = {.time_ns = (uint64_t)e->ts};
	struct cam_replay_frame f = {.name = {e->name, e->name_n},
				     .module = {e->category, e->category_n},
				     .build_id = CAM_TEXT("")};
	struct cam_str_id name;
	if (e->phase != 'B' && e->phase != 'E' && e->phase != 'X' && e->phase != 'M')
		return 0;
	int err = thread_of(r, e, &m.thread);
	if (err)
		return err;
	if (e->phase == 'M') {
		bool is_name = cam_text_equal(f.name, CAM_TEXT("thread_name"));
		err = is_name ? cam_string_intern(&r->p.out.t,
						  (struct cam_text){e->value, e->value_n}, &name)
			      : 0;
		if (is_name && !err)
			r->threads[m.thread].name = name.v;
		return err;
	}
	if (!e->has_ts) {
		r->p.bad++;
		return 0;
	}
	m.ends = e->phase == 'E';
	if (!m.ends)
		err = cam_replay_frame(&r->p.out, &f, &m.location);
	if (e->phase != 'X')
		return err ? err : add_mark(r, &m);
	if (!e->has_dur || e->dur <= 0 || (e->has_tdur && e->tdur <= 0))
		return err;
	m.length_ns = (uint64_t)e->dur;
	if (!err)
		err = add_mark(r, &m);
	m.ends = true;
	if (__builtin_add_overflow(m.time_ns, m.length_ns, &m.time_ns))
		m.time_ns = INT64_MAX;
	return err ? err : add_mark(r, &m);
}

static int read_events(struct reader *r)
{
	struct event *e = calloc(1, sizeof(*e));
	int err = e ? 0 : -ENOMEM;
	while (!err && cam_json_in_element(&r->p.j)) {
		if (r->p.j.token == CAM_JSON_OBJECT) {
			read_event(r, e);
			err = take_event(r, e);
		} else {
			cam_json_in_skip(&r->p.j);
			r->p.bad++;
		}
	}
	free(e);
	return err;
}

/* A list of events, or an object with one. Such a list may lack its last bracket. */
static int read_file(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	char key[32];
	int err = 0;
	if (cam_json_in_next(&r->p.j) == CAM_JSON_ARRAY) {
		p->may_open = 1;
		return read_events(r);
	}
	if (r->p.j.token != CAM_JSON_OBJECT)
		return 0;
	while (!err && cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "traceEvents") && r->p.j.token == CAM_JSON_ARRAY)
			err = read_events(r);
		else
			cam_json_in_skip(&r->p.j);
	}
	return err;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct mark *p = a, *q = b;
	if (p->thread != q->thread)
		return p->thread < q->thread ? -1 : 1;
	if (p->time_ns != q->time_ns)
		return p->time_ns < q->time_ns ? -1 : 1;
	if (p->ends != q->ends)
		return p->ends ? -1 : 1;
	if (p->length_ns != q->length_ns && p->length_ns && q->length_ns)
		return p->length_ns > q->length_ns ? -1 : 1;
	return p->number < q->number ? -1 : 1;
}

/* The open frames of a thread, and when the next sample of its outermost slice is due. */
struct walk {
	uint32_t open; /* a node of places */
	size_t depth;
	uint64_t start_ns, next_ns;
	uint32_t task;
};

static int sample_until(struct reader *r, struct walk *w, uint64_t until_ns)
{
	struct cam_replay_sample s = {.weight = TICK_NS,
				      .stack = w->open,
				      .task = w->task,
				      .etype = r->etype,
				      .cpu = CAM_CPU_NONE};
	int err = 0;
	for (; w->depth && !err; w->next_ns += TICK_NS) {
		/* The first one of a slice shows its beginning. */
		if (w->next_ns >= until_ns || w->start_ns >= until_ns)
			break;
		if (++r->ticks > FREE_TICKS + (uint64_t)TICKS_PER_MARK * r->n_marks)
			return -E2BIG;
		s.time_ns = w->next_ns;
		err = cam_replay_add(&r->p.out, &s);
	}
	return err;
}

static int take_mark(struct reader *r, struct walk *w, const struct mark *m)
{
	int err = 0;
	if (m->ends) {
		if (!w->depth) {
			r->p.bad++;
			return 0;
		}
		err = sample_until(r, w, m->time_ns);
		w->open = r->p.out.t.places.parent[w->open];
		w->depth--;
		return err;
	}
	if (w->depth) {
		err = sample_until(r, w, m->time_ns);
	} else {
		w->next_ns = m->time_ns / TICK_NS * TICK_NS;
		w->start_ns = m->time_ns;
	}
	w->depth++;
	return err ? err
		   : cam_tree_intern(&r->p.out.t, &r->p.out.t.places, w->open, m->location,
				     &w->open);
}

static int start_thread(struct reader *r, uint32_t number, struct walk *w)
{
	const struct thread *t = &r->threads[number];
	char text[32];
	/* A copy: what is borrowed from the tables is gone when they grow. */
	char name[256];
	size_t n = 0;
	if (t->name)
		n = cam_json_profile_copy(cam_string(&r->p.out.t, (struct cam_str_id){t->name}),
					  name, sizeof(name));
	*w = (struct walk){0};
	if (n)
		return cam_replay_task(&r->p.out, t->pid, t->tid, (struct cam_text){name, n},
				       &w->task);
	snprintf(text, sizeof(text), "thread %d", t->tid);
	return cam_replay_task(&r->p.out, t->pid, t->tid, cam_text_of(text), &w->task);
}

static int convert(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	struct walk w = {0};
	int err = cam_replay_etype(&r->p.out, CAM_TEXT("wall-clock"), TICK_NS, true, &r->etype);
	if (r->n_marks)
		qsort(r->marks, r->n_marks, sizeof(*r->marks), by_thread_and_time);
	for (size_t i = 0; i < r->n_marks && !err; i++) {
		const struct mark *m = &r->marks[i];
		if (!i || m->thread != m[-1].thread) {
			/* What never ended is as long as its thread's last event. */
			if (i)
				err = sample_until(r, &w, m[-1].time_ns);
			if (!err)
				err = start_thread(r, m->thread, &w);
		}
		if (!err)
			err = take_mark(r, &w, m);
	}
	if (!err && r->n_marks)
		err = sample_until(r, &w, r->marks[r->n_marks - 1].time_ns);
	return err;
}

static void free_rows(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	free(r->marks);
	free(r->threads);
}

int cam_trace_events_read(struct cam_input *in, struct cam_sink *sink,
			  const struct cam_import_options *o, struct cam_import_stats *st)
{
	static const struct cam_json_profile_ops ops = {"trace events", sizeof(struct reader),
							read_file, convert, free_rows};
	return cam_json_profile_read(&ops, in, sink, o, st);
}
