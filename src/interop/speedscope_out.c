// SPDX-License-Identifier: Apache-2.0
#include "interop/speedscope_out.h"

#include "interop/json_name.h"
#include "interop/stamp.h"
#include "interop/threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct scope {
	struct cam_exporter base;
	struct cam_threads th;
	struct cam_buf room;
};

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	int err = cam_threads_add(&((struct scope *)x)->th, x, r);
	return err == -E2BIG ? 0 : err ? err : 1;
}

static int begin_window(struct cam_exporter *x)
{
	return cam_gather_window(&((struct scope *)x)->th.g, x);
}

static void put_digits(struct cam_json *j, const char *key, uint64_t v)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, v);
	cam_json_text(j, key, cam_text_of(text));
}

static void put_frames(struct scope *o, struct cam_json *j)
{
	const struct cam_tables *t = &o->th.g.t;
	cam_json_open(j, "shared", '{');
	cam_json_open(j, "frames", '[');
	for (size_t i = 0; i < t->n_locations; i++) {
		const struct cam_function *f = &t->functions[t->locations[i].func.v];
		struct cam_text module = cam_string(t, t->modules[f->module.v].path);
		cam_json_open(j, NULL, '{');
		cam_json_name(j, "name", cam_string(t, f->name), &o->room);
		if (module.n)
			cam_json_name(j, "file", module, &o->room);
		if (f->kind != CAM_FUNC_USER)
			cam_json_u64(j, "perfcam", f->kind);
		cam_json_close(j, '}');
	}
	/* An empty stack is no sample in this format: one that had no frames gets this one. */
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "name", CAM_TEXT("[unknown]"));
	cam_json_close(j, '}');
	cam_json_close(j, ']');
	cam_json_close(j, '}');
}

/* Frames of a stack, root first. */
static void put_stack(const struct cam_tables *t, struct cam_json *j, uint32_t node)
{
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	for (; node && n < CAM_MAX_STACK_FRAMES; node = t->places.parent[node])
		path[n++] = t->places.item[node];
	cam_json_open(j, NULL, '[');
	if (!n)
		cam_json_u64(j, NULL, t->n_locations);
	while (n)
		cam_json_u64(j, NULL, path[--n]);
	cam_json_close(j, ']');
}

/* How long the sample at i lasts, and how long nothing follows it. */
static uint64_t lasting(const struct scope *o, const struct cam_thread *k, size_t i, uint64_t *gap)
{
	const struct cam_thread_sample *s = &o->th.samples[i];
	uint64_t period = o->th.g.t.etypes[k->etype].period_ns;
	bool last = i + 1 == k->from + k->n;
	uint64_t next = last ? UINT64_MAX : s[1].time_ns - s->time_ns;
	uint64_t lasts = period ? period : last ? 0 : next;
	*gap = 0;
	if (lasts > next)
		lasts = next;
	else if (!last)
		*gap = next - lasts;
	return lasts;
}

static void put_samples(struct scope *o, struct cam_json *j, const struct cam_thread *k, bool timed)
{
	const struct cam_thread_sample *s = o->th.samples;
	uint64_t gap = 0;
	cam_json_open(j, "samples", '[');
	for (size_t i = k->from; i < k->from + k->n; i++) {
		put_stack(&o->th.g.t, j, s[i].stack);
		if (timed)
			lasting(o, k, i, &gap);
		if (!gap)
			continue;
		cam_json_open(j, NULL, '[');
		cam_json_close(j, ']');
	}
	cam_json_close(j, ']');
	cam_json_open(j, "weights", '[');
	for (size_t i = k->from; i < k->from + k->n; i++) {
		cam_json_u64(j, NULL, timed ? lasting(o, k, i, &gap) : s[i].weight);
		if (gap)
			cam_json_u64(j, NULL, gap);
	}
	cam_json_close(j, ']');
}

static void put_name(struct scope *o, struct cam_json *j, const struct cam_thread *k)
{
	const struct cam_tables *t = &o->th.g.t;
	const struct cam_task *task = &t->tasks[k->task];
	struct cam_text comm = cam_string(t, task->comm),
			event = cam_string(t, t->etypes[k->etype].name);
	char ids[64] = "";
	if (task->pid != CAM_PID_NONE && task->tid != CAM_PID_NONE)
		snprintf(ids, sizeof(ids), " %d/%d", task->pid, task->tid);
	else if (task->tid != CAM_PID_NONE)
		snprintf(ids, sizeof(ids), " %d", task->tid);
	struct cam_buf name = CAM_BUF(CAM_JSON_NAME_BYTES);
	cam_buf_put(&name, comm.p, comm.n);
	cam_buf_put(&name, ids, strlen(ids));
	if (event.n) {
		cam_buf_put_u8(&name, ' ');
		cam_buf_put(&name, event.p, event.n);
	}
	cam_json_name(j, "name", (struct cam_text){(char *)name.data, name.len}, &o->room);
	cam_buf_free(&name);
	cam_json_open(j, "perfcam", '{');
	if (task->pid != CAM_PID_NONE)
		cam_json_i64(j, "pid", task->pid);
	if (task->tid != CAM_PID_NONE)
		cam_json_i64(j, "tid", task->tid);
	cam_json_name(j, "comm", comm, &o->room);
	cam_json_name(j, "event", event, &o->room);
	cam_json_u64(j, "period_ns", t->etypes[k->etype].period_ns);
	cam_json_close(j, '}');
}

static uint64_t sum_of(const struct scope *o, const struct cam_thread *k)
{
	uint64_t sum = 0;
	for (size_t i = k->from; i < k->from + k->n; i++)
		sum += o->th.samples[i].weight;
	return sum;
}

static void put_profile(struct scope *o, struct cam_json *j, const struct cam_thread *k)
{
	const struct cam_thread_sample *first = &o->th.samples[k->from], *last = first + k->n - 1;
	bool timed = first->time_ns != CAM_TIME_NONE;
	uint64_t gap, start = timed ? first->time_ns - o->th.first_ns : 0;
	uint64_t end =
		timed ? last->time_ns - o->th.first_ns + lasting(o, k, k->from + k->n - 1, &gap)
		      : sum_of(o, k);
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "type", CAM_TEXT("sampled"));
	put_name(o, j, k);
	cam_json_text(j, "unit", timed ? CAM_TEXT("nanoseconds") : CAM_TEXT("none"));
	cam_json_u64(j, "startValue", start);
	cam_json_u64(j, "endValue", end);
	put_samples(o, j, k, timed);
	cam_json_close(j, '}');
}

static void put_file_name(struct scope *o, struct cam_json *j)
{
	o->room.len = 0;
	cam_buf_printf(&o->room, "perfcam");
	if (o->th.realtime_ns != INT64_MIN) {
		cam_buf_put_u8(&o->room, ' ');
		cam_stamp_put(&o->room, o->th.realtime_ns);
	}
	cam_json_text(j, "name", (struct cam_text){(char *)o->room.data, o->room.len});
	cam_json_open(j, "perfcam", '{');
	if (o->th.first_ns != UINT64_MAX)
		put_digits(j, "clock_ns", o->th.first_ns);
	if (o->th.realtime_ns >= 0)
		put_digits(j, "realtime_ns", (uint64_t)o->th.realtime_ns);
	cam_json_close(j, '}');
}

static int finish(struct cam_exporter *x)
{
	struct scope *o = (struct scope *)x;
	struct cam_json j = {.out = x->out};
	int err = cam_threads_sort(&o->th);
	if (err)
		return err;
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "$schema",
		      CAM_TEXT("https://www.speedscope.app/file-format-schema.json"));
	cam_json_text(&j, "exporter", CAM_TEXT("perfcam " PERFCAM_VERSION));
	put_file_name(o, &j);
	cam_json_u64(&j, "activeProfileIndex", 0);
	put_frames(o, &j);
	cam_json_open(&j, "profiles", '[');
	for (size_t i = 0; i < o->th.n_threads && !x->out->error; i++)
		put_profile(o, &j, &o->th.threads[i]);
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	cam_out_str(x->out, "\n");
	return cam_buf_error(&o->room);
}

static void free_scope(struct cam_exporter *x)
{
	struct scope *o = (struct scope *)x;
	cam_threads_free(&o->th);
	cam_buf_free(&o->room);
}

int cam_speedscope_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {.takes_counts = true,
						    .window = begin_window,
						    .row = put_row,
						    .finish = finish,
						    .free = free_scope};
	struct scope *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->base.ops = &ops;
	o->base.out = out;
	o->room = CAM_BUF(CAM_JSON_NAME_BYTES);
	int err = cam_threads_init(&o->th, CAM_SPEEDSCOPE_BYTES);
	if (err) {
		free(o);
		return err;
	}
	*made = &o->base;
	return 0;
}
