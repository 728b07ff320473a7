// SPDX-License-Identifier: Apache-2.0
#include "interop/replay.h"

#include "base/escape.h"
#include "base/units.h"
#include "base/vec.h"
#include "interop/frame.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_SAMPLES (1u << 28)
#define MAX_ROWS    (1u << 28)

int cam_replay_init(struct cam_replay *r, size_t max_bytes)
{
	*r = (struct cam_replay){.max_bytes = max_bytes};
	return cam_tables_init(&r->t, max_bytes);
}

void cam_replay_free(struct cam_replay *r)
{
	cam_tables_free(&r->t);
	free(r->samples);
}

static int intern(struct cam_replay *r, struct cam_text s, struct cam_str_id *out)
{
	char few[512];
	if (!r->escapes || !s.n || !memmem(s.p, s.n, "\\x", 2))
		return cam_string_intern(&r->t, s, out);
	char *room = s.n <= sizeof(few) ? few : malloc(s.n);
	if (!room)
		return -ENOMEM;
	struct cam_text plain = {room, cam_escape_undo(s, r->escapes, room)};
	int err = cam_string_intern(&r->t, plain, out);
	if (room != few)
		free(room);
	return err;
}

int cam_replay_frame(struct cam_replay *r, const struct cam_replay_frame *f, uint32_t *location)
{
	struct cam_module m = {.kind = cam_frame_module_kind(f->module)};
	struct cam_function fn = {.kind = f->kind, .source = CAM_NAME_IMPORTED};
	struct cam_location loc = {.address = f->address, .func_offset = CAM_OFFSET_NONE};
	struct cam_loc_id id;
	int err = intern(r, f->module, &m.path);
	if (!err)
		err = cam_string_intern(&r->t, f->build_id, &m.build_id);
	if (!err && f->module.n)
		err = cam_module_intern(&r->t, &m, &fn.module);
	if (!err)
		err = intern(r, f->name, &fn.name);
	if (!err)
		err = cam_function_intern(&r->t, &fn, &loc.func);
	loc.module = fn.module;
	if (!err)
		err = cam_location_intern(&r->t, &loc, &id);
	if (!err)
		*location = id.v;
	return err;
}

int cam_replay_task(struct cam_replay *r, int32_t pid, int32_t tid, struct cam_text comm,
		    uint32_t *task)
{
	struct cam_task k = {.pid = pid, .tid = tid, .uid = CAM_UID_NONE};
	struct cam_task_id id;
	int err = intern(r, comm, &k.comm);
	if (!err)
		err = cam_task_intern(&r->t, &k, &id);
	if (!err)
		*task = id.v;
	return err;
}

int cam_replay_etype(struct cam_replay *r, struct cam_text name, uint64_t period_ns,
		     bool has_weight, uint32_t *etype)
{
	struct cam_etype e = {.period_ns = period_ns, .has_weight = has_weight};
	struct cam_etype_id id;
	int err = intern(r, name, &e.name);
	if (!err)
		err = cam_etype_intern(&r->t, &e, &id);
	if (!err)
		*etype = id.v;
	return err;
}

static bool is_full(const struct cam_replay *r, size_t more)
{
	return r->t.bytes + r->cap * sizeof(*r->samples) + r->held_bytes + more > r->max_bytes;
}

int cam_replay_reserve(struct cam_replay *r, void *rows, size_t *cap, size_t n, size_t row_bytes)
{
	size_t had = *cap;
	if (n <= had)
		return 0;
	/* It doubles. */
	int err = is_full(r, had * row_bytes) ? -E2BIG
					      : cam_vec_reserve(rows, cap, n, row_bytes, MAX_ROWS);
	r->held_bytes += (*cap - had) * row_bytes;
	return err;
}

int cam_replay_add(struct cam_replay *r, const struct cam_replay_sample *s)
{
	if (is_full(r, 0))
		return -E2BIG;
	int err = cam_vec_reserve(&r->samples, &r->cap, r->n + 1, sizeof(*s), MAX_SAMPLES);
	if (err)
		return err;
	r->samples[r->n] = *s;
	r->samples[r->n].number = (uint32_t)r->n;
	r->n++;
	return 0;
}

void cam_replay_idle(struct cam_replay *r, uint64_t time_ns)
{
	if (!r->idle || time_ns < r->idle_from_ns)
		r->idle_from_ns = time_ns;
	if (!r->idle || time_ns >= r->idle_to_ns)
		r->idle_to_ns = time_ns + 1;
	r->idle++;
}

/* Ids of the sink: + 1; 0: not yet, or of a window that is gone. */
struct sending {
	struct cam_replay *r;
	struct cam_sink *sink;
	struct cam_import_stats *st;
	uint32_t generation;
	uint32_t *strings, *modules, *locations, *tasks, *etypes;
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	bool truncated;
};

static int make_maps(struct sending *s)
{
	const struct cam_tables *t = &s->r->t;
	s->strings = calloc(t->strings.n + 1, sizeof(uint32_t));
	s->modules = calloc(t->n_modules + 1, sizeof(uint32_t));
	s->locations = calloc(t->n_locations + 1, sizeof(uint32_t));
	s->tasks = calloc(t->n_tasks + 1, sizeof(uint32_t));
	s->etypes = calloc(t->n_etypes + 1, sizeof(uint32_t));
	return s->strings && s->modules && s->locations && s->tasks && s->etypes ? 0 : -ENOMEM;
}

static void free_maps(struct sending *s)
{
	free(s->strings);
	free(s->modules);
	free(s->locations);
	free(s->tasks);
	free(s->etypes);
}

static void forget(struct sending *s)
{
	const struct cam_tables *t = &s->r->t;
	memset(s->strings, 0, t->strings.n * sizeof(uint32_t));
	memset(s->modules, 0, t->n_modules * sizeof(uint32_t));
	memset(s->locations, 0, t->n_locations * sizeof(uint32_t));
	memset(s->tasks, 0, t->n_tasks * sizeof(uint32_t));
	memset(s->etypes, 0, t->n_etypes * sizeof(uint32_t));
	s->generation = s->sink->generation;
}

static int send_string(struct sending *s, struct cam_str_id *id)
{
	uint32_t *known = &s->strings[id->v];
	if (!*known) {
		struct cam_str_id out;
		int err = s->sink->string(s->sink, cam_string(&s->r->t, *id), &out);
		if (err)
			return err;
		*known = out.v + 1;
	}
	id->v = *known - 1;
	return 0;
}

static int send_module(struct sending *s, struct cam_module_id *id)
{
	if (!id->v)
		return 0;
	if (!s->modules[id->v]) {
		struct cam_module m = s->r->t.modules[id->v];
		struct cam_module_id out;
		int err = send_string(s, &m.path);
		if (!err)
			err = send_string(s, &m.build_id);
		if (!err)
			err = s->sink->module(s->sink, &m, &out);
		if (err)
			return err;
		s->modules[id->v] = out.v + 1;
	}
	id->v = s->modules[id->v] - 1;
	return 0;
}

static int send_location(struct sending *s, uint32_t row, struct cam_loc_id *out)
{
	if (!s->locations[row]) {
		struct cam_location loc = s->r->t.locations[row];
		struct cam_function fn = s->r->t.functions[loc.func.v];
		int err = send_string(s, &fn.name);
		if (!err)
			err = send_module(s, &fn.module);
		loc.module = fn.module;
		if (!err)
			err = s->sink->function(s->sink, &fn, &loc.func);
		if (!err)
			err = s->sink->location(s->sink, &loc, out);
		if (err)
			return err;
		s->locations[row] = out->v + 1;
	}
	out->v = s->locations[row] - 1;
	return 0;
}

static int send_task(struct sending *s, uint32_t row, struct cam_task_id *out)
{
	if (!s->tasks[row]) {
		struct cam_task k = s->r->t.tasks[row];
		int err = send_string(s, &k.comm);
		if (!err)
			err = s->sink->task(s->sink, &k, out);
		if (err)
			return err;
		s->tasks[row] = out->v + 1;
	}
	out->v = s->tasks[row] - 1;
	return 0;
}

static int send_etype(struct sending *s, uint32_t row, struct cam_etype_id *out)
{
	if (!s->etypes[row]) {
		struct cam_etype e = s->r->t.etypes[row];
		int err = send_string(s, &e.name);
		if (!err)
			err = s->sink->etype(s->sink, &e, out);
		if (err)
			return err;
		s->etypes[row] = out->v + 1;
	}
	out->v = s->etypes[row] - 1;
	return 0;
}

static int send_stack(struct sending *s, uint32_t node, size_t *n)
{
	const struct cam_tree *tree = &s->r->t.places;
	int err = 0;
	*n = 0;
	s->truncated = false;
	for (; node && !err; node = tree->parent[node]) {
		if (*n == CAM_MAX_STACK_FRAMES) {
			s->truncated = true;
			return cam_frame_truncated(s->sink, &s->frames[*n - 1]);
		}
		err = send_location(s, tree->item[node], &s->frames[(*n)++]);
	}
	return err;
}

static int send_sample(struct sending *s, const struct cam_replay_sample *from)
{
	struct cam_sink_sample to = {.time_ns = from->time_ns,
				     .weight = from->weight,
				     .cpu = from->cpu,
				     .frames = s->frames};
	int err = cam_sink_begin(s->sink, from->time_ns);
	if (!err && s->generation != s->sink->generation)
		forget(s);
	if (!err)
		err = send_task(s, from->task, &to.task);
	if (!err)
		err = send_etype(s, from->etype, &to.etype);
	if (!err)
		err = send_stack(s, from->stack, &to.n_frames);
	if (!err)
		err = s->sink->sample(s->sink, &to);
	if (err == -E2BIG || err == -ERANGE) {
		s->st->refused_samples++;
		return 0;
	}
	s->st->samples += !err;
	s->st->truncated_stacks += !err && s->truncated;
	return err;
}

static int send_notes(struct sending *s)
{
	struct cam_replay *r = s->r;
	int err = 0;
	if (r->realtime_ns <= 0 && r->began_ns > 0) {
		bool timed = r->samples[0].time_ns != CAM_TIME_NONE;
		r->clock_ns = timed ? r->samples[0].time_ns : 0;
		r->realtime_ns = r->began_ns;
	}
	if (r->realtime_ns > 0)
		err = cam_sink_anchor(s->sink, &(struct cam_anchor){
						       .time_ns = r->clock_ns,
						       .raw_ns = CAM_TIME_NONE,
						       .boottime_ns = CAM_TIME_NONE,
						       .sched_ns = CAM_TIME_NONE,
						       .realtime_ns = r->realtime_ns,
					       });
	if (!err && r->idle)
		err = cam_sink_lost(s->sink, &(struct cam_ledger_row){.cause = CAM_CAUSE_IDLE,
								      .cpu = CAM_CPU_NONE,
								      .from_ns = r->idle_from_ns,
								      .to_ns = r->idle_to_ns,
								      .samples = r->idle});
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct cam_replay_sample *p = a, *q = b;
	if (p->time_ns != q->time_ns)
		return p->time_ns < q->time_ns ? -1 : 1;
	return p->number < q->number ? -1 : 1;
}

int cam_replay_send(struct cam_replay *r, const char *format, struct cam_sink *sink,
		    struct cam_import_stats *st)
{
	struct sending s = {.r = r, .sink = sink, .st = st, .generation = sink->generation};
	int err = make_maps(&s);
	if (!err)
		err = cam_sink_fact(sink, CAM_TEXT("format"), cam_text_of(format));
	bool timed = r->n && r->samples[0].time_ns != CAM_TIME_NONE;
	st->clock = timed ? CAM_CLOCK_FOREIGN : CAM_CLOCK_ABSENT;
	st->time_unit_ns = timed;
	if (timed)
		qsort(r->samples, r->n, sizeof(*r->samples), by_time);
	for (size_t i = 0; i < r->n && !err; i++) {
		err = send_sample(&s, &r->samples[i]);
		if (!err && i == 0)
			err = send_notes(&s);
	}
	free_maps(&s);
	return err;
}

int cam_replay_finish(struct cam_replay *r, const char *format, struct cam_input *in, bool whole,
		      struct cam_sink *sink, struct cam_import_stats *st)
{
	int err = cam_replay_send(r, format, sink, st);
	/* What follows the value, or could not be understood, is read to its end: bytes are accounted. */
	do
		in->p = in->end;
	while (cam_input_more(in));
	st->bytes = in->bytes;
	st->bytes_in = in->bytes_in;
	st->end = in->state;
	if (!whole && st->end == CAM_INPUT_WHOLE)
		st->malformed_samples++;
	if (err)
		return err;
	if (in->state == CAM_INPUT_BOMB)
		return -EFBIG;
	return in->state == CAM_INPUT_UNREADABLE ? in->error : 0;
}
