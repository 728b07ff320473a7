// SPDX-License-Identifier: Apache-2.0
/*
 * Frames may be listed after the profiles that use them, so a stack is first a path of frame numbers in
 * `numbers` (a tree like those of the tables, items are numbers of frames), and becomes one of locations
 * when the file was read.
 */
#include "interop/speedscope_in.h"

#include "base/escape.h"
#include "base/vec.h"
#include "interop/json_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FRAMES (1u << 24)

/* A sample of a profile: a stack (node of t.stacks) and its weight; of events: a frame and a time. */
struct item {
	uint32_t node;
	bool open;
	int64_t value;
};

struct profile {
	char name[512], comm[512], event[256];
	size_t name_n, comm_n, event_n;
	int32_t pid, tid;
	uint64_t period_ns;
	bool timed, evented, own;
	int64_t start;
	uint32_t scale; /* nanoseconds in its unit */
	size_t from, n; /* items: samples or events */
	size_t weights; /* read so far */
};

struct reader {
	struct cam_json_profile p;
	struct profile *profiles;
	size_t n_profiles, cap_profiles;
	struct item *items;
	size_t n_items, cap_items;
	uint32_t *locations; /* by number of the frame */
	size_t n_frames, cap_frames;
	uint32_t *nodes; /* of t.stacks → t.places */
};

/* {"name": …, "file": …, "perfcam": kind} */
static int read_frame(struct reader *r)
{
	char key[32], name[4096] = "", module[4096] = "";
	size_t name_n = 0, module_n = 0;
	int64_t kind = CAM_FUNC_USER;
	while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "name") && r->p.j.token == CAM_JSON_STRING)
			name_n = cam_json_profile_copy(r->p.j.text, name, sizeof(name));
		else if (!strcmp(key, "file") && r->p.j.token == CAM_JSON_STRING)
			module_n = cam_json_profile_copy(r->p.j.text, module, sizeof(module));
		else if (!strcmp(key, "perfcam"))
			cam_json_in_i64(&r->p.j, &kind);
		cam_json_in_skip(&r->p.j);
	}
	struct cam_replay_frame f = {
		.name = {name, name_n},
		.module = {module, module_n},
		.build_id = CAM_TEXT(""),
		.kind = kind > 0 && kind < CAM_FUNC_KIND_MAX ? (enum cam_func_kind)kind
							     : CAM_FUNC_USER,
	};
	int err = cam_replay_reserve(&r->p.out, &r->locations, &r->cap_frames, r->n_frames + 1,
				     sizeof(*r->locations));
	if (!err)
		err = cam_replay_frame(&r->p.out, &f, &r->locations[r->n_frames]);
	r->n_frames += !err;
	return err;
}

static int read_frames(struct reader *r)
{
	int err = 0;
	while (!err && cam_json_in_element(&r->p.j)) {
		if (r->p.j.token == CAM_JSON_OBJECT)
			err = read_frame(r);
		else
			cam_json_in_skip(&r->p.j);
	}
	return err;
}

static int read_shared(struct reader *r)
{
	char key[32];
	int err = 0;
	while (!err && cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "frames") && r->p.j.token == CAM_JSON_ARRAY)
			err = read_frames(r);
		else
			cam_json_in_skip(&r->p.j);
	}
	return err;
}

static int add_item(struct reader *r, struct profile *p, size_t at, struct item **out)
{
	int err = cam_replay_reserve(&r->p.out, &r->items, &r->cap_items, p->from + at + 1,
				     sizeof(*r->items));
	if (err)
		return err;
	while (p->n <= at)
		r->items[p->from + p->n++] = (struct item){0};
	r->n_items = p->from + p->n;
	*out = &r->items[p->from + at];
	return 0;
}

/* [[0, 1], [0, 2], …]: stacks, root first. */
static int read_samples(struct reader *r, struct profile *p)
{
	int err = 0;
	for (size_t at = 0; !err && cam_json_in_element(&r->p.j); at++) {
		uint32_t node = 0;
		int64_t frame;
		if (r->p.j.token != CAM_JSON_ARRAY) {
			cam_json_in_skip(&r->p.j);
			r->p.bad++;
			continue;
		}
		while (!err && cam_json_in_element(&r->p.j)) {
			if (cam_json_in_i64(&r->p.j, &frame) && frame >= 0 && frame < MAX_FRAMES)
				err = cam_tree_intern(&r->p.out.t, &r->p.out.t.stacks, node,
						      (uint32_t)frame, &node);
			else
				r->p.bad++;
			cam_json_in_skip(&r->p.j);
		}
		struct item *item;
		err = err ? err : add_item(r, p, at, &item);
		if (!err)
			item->node = node;
	}
	return err;
}

/* Values are kept in thousandths of the unit: units are not known before all members are. */
static int read_weights(struct reader *r, struct profile *p)
{
	int err = 0;
	for (size_t at = 0; !err && cam_json_in_element(&r->p.j); at++) {
		struct item *item;
		int64_t v = 0;
		r->p.bad += !cam_json_in_scaled(&r->p.j, 1000, &v) || v < 0;
		cam_json_in_skip(&r->p.j);
		err = add_item(r, p, at, &item);
		if (!err)
			item->value = v < 0 ? 0 : v;
	}
	return err;
}

/* [{"type": "O", "frame": 0, "at": 1.5}, …] */
static int read_events(struct reader *r, struct profile *p)
{
	int err = 0;
	p->evented = true;
	for (size_t at = 0; !err && cam_json_in_element(&r->p.j); at++) {
		char key[16];
		struct item e = {0}, *item;
		int64_t frame = -1;
		if (r->p.j.token != CAM_JSON_OBJECT) {
			cam_json_in_skip(&r->p.j);
			r->p.bad++;
			continue;
		}
		while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
			if (!strcmp(key, "type"))
				e.open = r->p.j.token == CAM_JSON_STRING && r->p.j.text.n &&
					 r->p.j.text.p[0] == 'O';
			else if (!strcmp(key, "frame"))
				cam_json_in_i64(&r->p.j, &frame);
			else if (!strcmp(key, "at"))
				cam_json_in_scaled(&r->p.j, 1000, &e.value);
			cam_json_in_skip(&r->p.j);
		}
		r->p.bad += frame < 0 || frame >= MAX_FRAMES;
		e.node = frame >= 0 && frame < MAX_FRAMES ? (uint32_t)frame : 0;
		err = add_item(r, p, p->n, &item);
		if (!err)
			*item = e;
	}
	return err;
}

static void read_own(struct reader *r, struct profile *p)
{
	char key[16];
	int64_t v;
	p->own = true;
	while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
		bool number = cam_json_in_i64(&r->p.j, &v);
		if (!strcmp(key, "comm") && r->p.j.token == CAM_JSON_STRING)
			p->comm_n = cam_json_profile_copy(r->p.j.text, p->comm, sizeof(p->comm));
		else if (!strcmp(key, "event") && r->p.j.token == CAM_JSON_STRING)
			p->event_n = cam_json_profile_copy(r->p.j.text, p->event, sizeof(p->event));
		else if (!strcmp(key, "pid") && number && v >= 0 && v <= INT32_MAX)
			p->pid = (int32_t)v;
		else if (!strcmp(key, "tid") && number && v >= 0 && v <= INT32_MAX)
			p->tid = (int32_t)v;
		else if (!strcmp(key, "period_ns") && number && v > 0)
			p->period_ns = (uint64_t)v;
		cam_json_in_skip(&r->p.j);
	}
}

static void take_unit(struct profile *p, struct cam_text unit)
{
	static const struct {
		const char *name;
		uint32_t ns;
	} units[] = {{"nanoseconds", 1},
		     {"microseconds", 1000},
		     {"milliseconds", 1000000},
		     {"seconds", 1000000000}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (cam_text_equal(unit, cam_text_of(units[i].name))) {
			p->timed = true;
			p->scale = units[i].ns;
		}
	}
}

static int read_profile(struct reader *r)
{
	char key[32];
	int err = cam_replay_reserve(&r->p.out, &r->profiles, &r->cap_profiles, r->n_profiles + 1,
				     sizeof(*r->profiles));
	if (err)
		return err;
	struct profile *p = &r->profiles[r->n_profiles++];
	*p = (struct profile){
		.pid = CAM_PID_NONE, .tid = CAM_PID_NONE, .scale = 1, .from = r->n_items};
	while (!err && cam_json_in_member(&r->p.j, key, sizeof(key))) {
		bool array = r->p.j.token == CAM_JSON_ARRAY;
		if (array && !strcmp(key, "samples"))
			err = read_samples(r, p);
		else if (array && !strcmp(key, "weights"))
			err = read_weights(r, p);
		else if (array && !strcmp(key, "events"))
			err = read_events(r, p);
		else if (!strcmp(key, "perfcam") && r->p.j.token == CAM_JSON_OBJECT)
			read_own(r, p);
		else if (!strcmp(key, "name") && r->p.j.token == CAM_JSON_STRING)
			p->name_n = cam_json_profile_copy(r->p.j.text, p->name, sizeof(p->name));
		else if (!strcmp(key, "unit") && r->p.j.token == CAM_JSON_STRING)
			take_unit(p, r->p.j.text);
		else if (!strcmp(key, "startValue"))
			cam_json_in_scaled(&r->p.j, 1000, &p->start);
		else
			cam_json_in_skip(&r->p.j);
	}
	return err;
}

static void read_clock(struct reader *r)
{
	char key[16];
	int64_t v;
	while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "clock_ns") && cam_json_in_i64(&r->p.j, &v) && v >= 0)
			r->p.out.clock_ns = (uint64_t)v;
		else if (!strcmp(key, "realtime_ns") && cam_json_in_i64(&r->p.j, &v))
			r->p.out.realtime_ns = v;
		cam_json_in_skip(&r->p.j);
	}
}

static int read_file(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	char key[32];
	int err = 0;
	if (cam_json_in_next(&r->p.j) != CAM_JSON_OBJECT)
		return 0;
	while (!err && cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "shared") && r->p.j.token == CAM_JSON_OBJECT) {
			err = read_shared(r);
		} else if (!strcmp(key, "perfcam") && r->p.j.token == CAM_JSON_OBJECT) {
			read_clock(r);
		} else if (!strcmp(key, "exporter") && r->p.j.token == CAM_JSON_STRING) {
			if (cam_text_starts(r->p.j.text, CAM_TEXT("perfcam")))
				r->p.out.escapes = CAM_ESCAPE_BYTES;
		} else if (!strcmp(key, "profiles") && r->p.j.token == CAM_JSON_ARRAY) {
			while (!err && cam_json_in_element(&r->p.j)) {
				if (r->p.j.token == CAM_JSON_OBJECT)
					err = read_profile(r);
				else
					cam_json_in_skip(&r->p.j);
			}
		} else {
			cam_json_in_skip(&r->p.j);
		}
	}
	return err;
}

/* Paths of numbers → paths of locations. A parent's number is smaller than its children's. */
static int place_all(struct reader *r)
{
	const struct cam_tree *numbers = &r->p.out.t.stacks;
	int err = 0;
	for (size_t i = 1; i < numbers->n && !err; i++) {
		uint32_t frame = numbers->item[i];
		r->nodes[i] = r->nodes[numbers->parent[i]];
		if (frame < r->n_frames)
			err = cam_tree_intern(&r->p.out.t, &r->p.out.t.places, r->nodes[i],
					      r->locations[frame], &r->nodes[i]);
		else
			r->p.bad++;
	}
	return err;
}

static uint64_t to_ns(const struct profile *p, __int128 thousandths)
{
	__int128 ns = thousandths * p->scale / 1000;
	return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static int send_samples(struct reader *r, const struct profile *p, struct cam_replay_sample *s)
{
	int err = 0;
	int64_t at = p->start;
	for (size_t i = p->from; i < p->from + p->n && !err; i++) {
		const struct item *item = &r->items[i];
		s->time_ns = p->timed ? r->p.out.clock_ns + to_ns(p, at) : CAM_TIME_NONE;
		if (__builtin_add_overflow(at, item->value, &at))
			at = INT64_MAX;
		if (!item->node)
			continue;
		s->weight = p->timed ? to_ns(p, item->value) : (uint64_t)item->value / 1000;
		if (p->own && p->timed && p->period_ns)
			s->weight = 1; /* what each sample stands for is said by its event */
		s->stack = r->nodes[item->node];
		err = cam_replay_add(&r->p.out, s);
	}
	return err;
}

/* Open frames between two events are a sample as long as that. */
static int send_events(struct reader *r, const struct profile *p, struct cam_replay_sample *s)
{
	uint32_t open = 0;
	int64_t last = 0;
	int err = 0;
	for (size_t i = p->from; i < p->from + p->n && !err; i++) {
		const struct item *e = &r->items[i];
		if (open && e->value > last) {
			s->time_ns = p->timed ? r->p.out.clock_ns + to_ns(p, last) : CAM_TIME_NONE;
			/* From any time to any other: 64 bits are not enough. */
			__int128 length = (__int128)e->value - last;
			s->weight = p->timed ? to_ns(p, length) : (uint64_t)(length / 1000);
			s->stack = open;
			err = cam_replay_add(&r->p.out, s);
		}
		last = e->value;
		if (!e->open)
			open = r->p.out.t.places.parent[open];
		else if (e->node < r->n_frames && !err)
			err = cam_tree_intern(&r->p.out.t, &r->p.out.t.places, open,
					      r->locations[e->node], &open);
		else
			r->p.bad++;
	}
	return err;
}

static int send_profile(struct reader *r, const struct profile *p)
{
	struct cam_replay_sample s = {.cpu = CAM_CPU_NONE};
	struct cam_text comm = {p->own ? p->comm : p->name, p->own ? p->comm_n : p->name_n};
	struct cam_text event = {p->event, p->event_n};
	if (!p->own)
		event = p->timed ? CAM_TEXT("wall-clock") : CAM_TEXT("samples");
	int err = cam_replay_task(&r->p.out, p->pid, p->tid, comm, &s.task);
	if (!err)
		err = cam_replay_etype(&r->p.out, event, p->period_ns,
				       !(p->own && p->timed && p->period_ns), &s.etype);
	if (err)
		return err;
	return p->evented ? send_events(r, p, &s) : send_samples(r, p, &s);
}

static int convert(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	bool timed = false;
	r->nodes = calloc(r->p.out.t.stacks.n + 1, sizeof(*r->nodes));
	if (!r->nodes)
		return -ENOMEM;
	int err = place_all(r);
	for (size_t i = 0; i < r->n_profiles; i++)
		timed |= r->profiles[i].timed && r->profiles[i].n;
	for (size_t i = 0; i < r->n_profiles && !err; i++) {
		/* Counts and times do not go together: those with times win. */
		if (timed && !r->profiles[i].timed)
			r->p.bad += r->profiles[i].n != 0;
		else
			err = send_profile(r, &r->profiles[i]);
	}
	return err;
}

static void free_rows(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	free(r->profiles);
	free(r->items);
	free(r->locations);
	free(r->nodes);
}

int cam_speedscope_read(struct cam_input *in, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st)
{
	static const struct cam_json_profile_ops ops = {"speedscope", sizeof(struct reader),
							read_file, convert, free_rows};
	return cam_json_profile_read(&ops, in, sink, o, st);
}
