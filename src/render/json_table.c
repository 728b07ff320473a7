// SPDX-License-Identifier: Apache-2.0
#include "render/json_table.h"

static const char *const names[CAM_KEY_MAX] = {
	[CAM_KEY_COMM] = "comm",       [CAM_KEY_PROCESS] = "comm",
	[CAM_KEY_PID] = "pid",	       [CAM_KEY_TID] = "tid",
	[CAM_KEY_USER] = "uid",	       [CAM_KEY_EXE] = "exe",
	[CAM_KEY_CGROUP] = "cgroup",   [CAM_KEY_CONTAINER] = "container",
	[CAM_KEY_POD] = "pod",	       [CAM_KEY_CPU] = "cpu",
	[CAM_KEY_SOCKET] = "socket",   [CAM_KEY_PARENT] = "parent",
	[CAM_KEY_SRCLINE] = "srcline", [CAM_KEY_SRCFILE] = "srcfile",
	[CAM_KEY_EVENT] = "event",     [CAM_KEY_TIME] = "time_ns",
	[CAM_KEY_SYMBOL] = "symbol",   [CAM_KEY_DSO] = "dso",
};

static const char *const kinds[CAM_FRAME_KIND_MAX] = {
	[CAM_FRAME_ROOT] = "root", [CAM_FRAME_PROCESS] = "process", [CAM_FRAME_KERNEL] = "kernel",
	[CAM_FRAME_USER] = "user", [CAM_FRAME_JIT] = "jit",	    [CAM_FRAME_INLINED] = "inlined",
	[CAM_FRAME_MARK] = "mark",
};

static void put_value(struct cam_json *j, enum cam_key key, const struct cam_value *v)
{
	switch (key) {
	case CAM_KEY_PROCESS:
		cam_json_i64(j, "pid", v->number);
		cam_json_text(j, names[key], v->text);
		break;
	case CAM_KEY_CPU:
	case CAM_KEY_USER:
	case CAM_KEY_SOCKET:
		if (v->number == UINT32_MAX)
			cam_json_null(j, names[key]);
		else
			cam_json_i64(j, names[key], v->number);
		break;
	case CAM_KEY_PID:
	case CAM_KEY_TID:
	case CAM_KEY_TIME:
		cam_json_i64(j, names[key], v->number);
		break;
	case CAM_KEY_SYMBOL:
		cam_json_text(j, names[key], v->text);
		cam_json_text(j, "kind", cam_text_of(kinds[v->kind]));
		break;
	default:
		cam_json_text(j, names[key], v->text);
		break;
	}
}

void cam_json_values(struct cam_json *j, const enum cam_key *keys, size_t n,
		     const struct cam_value *v)
{
	for (size_t k = 0; k < n; k++)
		put_value(j, keys[k], &v[k]);
}

static void put_measure(struct cam_json *j, const char *key, const struct cam_measure *m, bool cpu)
{
	cam_json_open(j, key, '{');
	cam_json_u64(j, "samples", m->samples);
	cam_json_u64(j, "weight", m->weight);
	if (cpu)
		cam_json_u64(j, "cpu_ns", m->cpu_ns);
	cam_json_close(j, '}');
}

void cam_json_table_rows(struct cam_json *j, const char *key, const struct cam_table *t)
{
	cam_json_open(j, key, '[');
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct cam_table_row *r = &t->rows[i];
		cam_json_open(j, NULL, '{');
		cam_json_values(j, t->keys, t->n_keys, r->values);
		put_measure(j, "self", &r->self, t->cpu_known);
		if (t->by_frames)
			put_measure(j, "total", &r->total, t->cpu_known);
		cam_json_u64(j, "kernel_weight", r->kernel_weight);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

void cam_json_seen(struct cam_json *j, const struct cam_seen *seen)
{
	cam_json_u64(j, "windows", seen->windows);
	cam_json_text(j, "host", seen->host);
	if (seen->realtime_from_ns != INT64_MIN) {
		cam_json_i64(j, "from_ns", seen->realtime_from_ns);
		cam_json_i64(j, "to_ns", seen->realtime_to_ns);
	} else {
		cam_json_null(j, "from_ns");
		cam_json_null(j, "to_ns");
	}
	cam_json_u64(j, "observed_ns", seen->observed_ns);
	cam_json_u64(j, "cpus", seen->cpus);
	cam_json_u64(j, "samples", seen->samples);
	cam_json_u64(j, "idle_samples", seen->idle);
	cam_json_u64(j, "other_events", seen->other_events);
	cam_json_u64(j, "lost", seen->lost);
	cam_json_u64(j, "damaged", seen->damaged);
	cam_json_u64(j, "damaged_stacks", seen->damaged_stacks);
	cam_json_u64(j, "damaged_parts", seen->damaged_parts);
	cam_json_u64(j, "unreadable_windows", seen->unreadable);
	cam_json_u64(j, "gap_ns", seen->gap_ns);
	cam_json_open(j, "not_stored", '{');
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		if (seen->by_cause[i])
			cam_json_u64(j, cam_cause_key((enum cam_cause)i), seen->by_cause[i]);
	}
	cam_json_close(j, '}');
}

void cam_json_notes(struct cam_json *j, unsigned notes)
{
	cam_json_open(j, "notes", '[');
	for (unsigned i = 0; i < CAM_VIEW_NOTES; i++) {
		if (notes >> i & 1)
			cam_json_text(j, NULL, cam_text_of(cam_view_note_words(i)));
	}
	cam_json_close(j, ']');
}

void cam_json_waiters(struct cam_json *j, const struct cam_tracks *t)
{
	cam_json_open(j, "waited", '[');
	for (size_t i = 0; i < t->n_waiters; i++) {
		cam_json_open(j, NULL, '{');
		cam_json_i64(j, "tid", t->waiters[i].tid);
		cam_json_text(j, "comm", t->waiters[i].comm);
		cam_json_u64(j, "waited_ns", t->waiters[i].waited_ns);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}
