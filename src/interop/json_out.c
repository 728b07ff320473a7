// SPDX-License-Identifier: Apache-2.0
#include "interop/json_out.h"

#include "interop/json_name.h"
#include "interop/stamp.h"
#include "model/container.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct rows {
	struct cam_exporter base;
	struct cam_buf room;
};

static void put_hex(struct cam_json *j, const char *key, uint64_t v)
{
	char text[32];
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	cam_json_text(j, key, cam_text_of(text));
}

static void put_known(struct cam_json *j, struct rows *o, const char *key, struct cam_text s)
{
	if (s.n)
		cam_json_name(j, key, s, &o->room);
}

static void put_frame(struct rows *o, struct cam_json *j, struct cam_export_frame f)
{
	static const char *const kinds[CAM_FUNC_KIND_MAX] = {
		[CAM_FUNC_KERNEL] = "kernel",
		[CAM_FUNC_JIT] = "jit",
		[CAM_FUNC_INLINED] = "inlined",
		[CAM_FUNC_MARK] = "mark",
	};
	cam_json_open(j, NULL, '{');
	cam_json_name(j, "name", cam_exporter_label(&o->base, &f), &o->room);
	put_known(j, o, "module", f.module);
	if (f.kind < CAM_FUNC_KIND_MAX && kinds[f.kind])
		cam_json_text(j, "kind", cam_text_of(kinds[f.kind]));
	if (f.address)
		put_hex(j, "address", f.address);
	if (f.offset != CAM_OFFSET_NONE)
		put_hex(j, "offset", f.offset);
	cam_json_close(j, '}');
}

static void put_stack(struct rows *o, struct cam_json *j, const struct cam_export_row *r)
{
	struct cam_exporter *x = &o->base;
	cam_json_open(j, "stack", '[');
	for (uint32_t node = r->stack; node; node = x->tree->parent[node]) {
		struct cam_export_frame f = cam_exporter_frame(x, x->tree->item[node]);
		if (node == r->stack)
			cam_exporter_leaf(r, &f);
		put_frame(o, j, f);
	}
	cam_json_close(j, ']');
}

static void put_task(struct rows *o, struct cam_json *j, const struct cam_task *k)
{
	const struct cam_tables *t = o->base.t;
	if (k->pid != CAM_PID_NONE)
		cam_json_i64(j, "pid", k->pid);
	if (k->tid != CAM_PID_NONE)
		cam_json_i64(j, "tid", k->tid);
	put_known(j, o, "comm", cam_string(t, k->comm));
	put_known(j, o, "exe", cam_string(t, k->exe));
	put_known(j, o, "cgroup", cam_string(t, k->cgroup));
	struct cam_container in = cam_container_of(cam_string(t, k->cgroup));
	put_known(j, o, "container", in.id);
	put_known(j, o, "pod", cam_text_of(in.pod));
	if (k->uid != CAM_UID_NONE)
		cam_json_u64(j, "uid", k->uid);
}

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	struct rows *o = (struct rows *)x;
	struct cam_json j = {.out = x->out};
	const struct cam_etype *e = &x->t->etypes[r->etype];
	int64_t wall;
	cam_json_open(&j, NULL, '{');
	if (cam_exporter_wall(x, r->time_ns, &wall)) {
		cam_buf_clear(&o->room);
		cam_stamp_put(&o->room, wall);
		cam_json_text(&j, "time", (struct cam_text){(char *)o->room.data, o->room.len});
	}
	if (r->time_ns != CAM_TIME_NONE)
		cam_json_u64(&j, "clock_ns", r->time_ns);
	put_known(&j, o, "host", x->w->info.host);
	if (r->cpu != CAM_CPU_NONE)
		cam_json_u64(&j, "cpu", r->cpu);
	put_task(o, &j, &x->t->tasks[r->task]);
	put_known(&j, o, "event", cam_string(x->t, e->name));
	put_known(&j, o, "detail", cam_string(x->t, (struct cam_str_id){r->detail}));
	cam_json_u64(&j, "weight", r->weight);
	if (e->period_ns)
		cam_json_u64(&j, "period_ns", e->period_ns);
	put_stack(o, &j, r);
	cam_json_close(&j, '}');
	cam_out_str(x->out, "\n");
	int err = cam_buf_error(&o->room) ? cam_buf_error(&o->room) : x->out->error;
	return err ? err : 1;
}

/* The same rows as one value: an array. */
static int put_item(struct cam_exporter *x, const struct cam_export_row *r)
{
	cam_out_str(x->out, x->st.samples ? "," : "[");
	return put_row(x, r);
}

static int end_items(struct cam_exporter *x)
{
	cam_out_str(x->out, x->st.samples ? "]\n" : "[]\n");
	return x->out->error;
}

static void free_rows(struct cam_exporter *x)
{
	cam_buf_free(&((struct rows *)x)->room);
}

static int new_rows(struct cam_out *out, const struct cam_exporter_ops *ops,
		    struct cam_exporter **made)
{
	struct rows *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->base.ops = ops;
	o->base.out = out;
	o->room = CAM_BUF(CAM_JSON_NAME_BYTES);
	*made = &o->base;
	return 0;
}

int cam_json_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {
		.takes_counts = true, .row = put_row, .free = free_rows};
	return new_rows(out, &ops, made);
}

int cam_json_array_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {
		.takes_counts = true, .row = put_item, .finish = end_items, .free = free_rows};
	return new_rows(out, &ops, made);
}
