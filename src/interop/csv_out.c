// SPDX-License-Identifier: Apache-2.0
#include "interop/csv_out.h"

#include "base/escape.h"
#include "base/units.h"
#include "interop/stamp.h"
#include "model/container.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define TEXT_BYTES (64u << 20)
#define ESCAPES	   (CAM_ESCAPE_CONTROL | CAM_ESCAPE_TAB | CAM_ESCAPE_BYTES | CAM_ESCAPE_FORMULA)

struct csv {
	struct cam_exporter base;
	struct cam_buf line, field;
};

static bool needs_quotes(const struct cam_buf *f)
{
	const char *p = (const char *)f->data;
	return f->len && (p[0] == ' ' || p[f->len - 1] == ' ' || memchr(p, ',', f->len) ||
			  memchr(p, '"', f->len));
}

/* Moves the field to the line. */
static void put_field(struct csv *c)
{
	struct cam_buf *f = &c->field;
	if (!needs_quotes(f)) {
		cam_buf_put(&c->line, f->data, f->len);
	} else {
		cam_buf_put_u8(&c->line, '"');
		for (size_t i = 0; i < f->len; i++) {
			if (f->data[i] == '"')
				cam_buf_put_u8(&c->line, '"');
			cam_buf_put_u8(&c->line, f->data[i]);
		}
		cam_buf_put_u8(&c->line, '"');
	}
	if (cam_buf_error(f))
		c->line.error = cam_buf_error(f);
	cam_buf_clear(f);
}

static void put_text(struct csv *c, struct cam_text s)
{
	cam_escape_put(&c->field, s, ESCAPES);
	put_field(c);
	cam_buf_put_u8(&c->line, ',');
}

static void put_number(struct csv *c, bool known, uint64_t v)
{
	if (known)
		cam_buf_printf(&c->line, "%" PRIu64, v);
	cam_buf_put_u8(&c->line, ',');
}

static void put_stack(struct csv *c, const struct cam_export_row *r)
{
	struct cam_exporter *x = &c->base;
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	for (uint32_t node = r->stack; node && n < CAM_MAX_STACK_FRAMES;
	     node = x->tree->parent[node])
		path[n++] = x->tree->item[node];
	while (n) {
		struct cam_export_frame f = cam_exporter_frame(x, path[--n]);
		cam_escape_put(&c->field, cam_exporter_label(x, &f),
			       ESCAPES | CAM_ESCAPE_SEMICOLON);
		if (n)
			cam_buf_put_u8(&c->field, ';');
	}
	put_field(c);
}

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	struct csv *c = (struct csv *)x;
	const struct cam_task *k = &x->t->tasks[r->task];
	int64_t wall;
	cam_buf_clear(&c->line);
	if (!x->st.samples)
		cam_buf_printf(&c->line,
			       "time,clock_ns,cpu,pid,tid,comm,exe,cgroup,container,pod,uid,"
			       "event,weight,stack\n");
	if (cam_exporter_wall(x, r->time_ns, &wall))
		cam_stamp_put(&c->line, wall);
	cam_buf_put_u8(&c->line, ',');
	put_number(c, r->time_ns != CAM_TIME_NONE, r->time_ns);
	put_number(c, r->cpu != CAM_CPU_NONE, r->cpu);
	put_number(c, k->pid != CAM_PID_NONE, (uint64_t)k->pid);
	put_number(c, k->tid != CAM_PID_NONE, (uint64_t)k->tid);
	put_text(c, cam_string(x->t, k->comm));
	put_text(c, cam_string(x->t, k->exe));
	put_text(c, cam_string(x->t, k->cgroup));
	struct cam_container in = cam_container_of(cam_string(x->t, k->cgroup));
	put_text(c, in.id);
	put_text(c, cam_text_of(in.pod));
	put_number(c, k->uid != CAM_UID_NONE, k->uid);
	put_text(c, cam_string(x->t, x->t->etypes[r->etype].name));
	put_number(c, true, r->weight);
	put_stack(c, r);
	cam_buf_put_u8(&c->line, '\n');
	if (cam_buf_error(&c->line))
		return cam_buf_error(&c->line);
	cam_out_bytes(x->out, c->line.data, c->line.len);
	return x->out->error ? x->out->error : 1;
}

static void free_csv(struct cam_exporter *x)
{
	struct csv *c = (struct csv *)x;
	cam_buf_free(&c->line);
	cam_buf_free(&c->field);
}

int cam_csv_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {
		.takes_counts = true, .row = put_row, .free = free_csv};
	struct csv *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->base.ops = &ops;
	c->base.out = out;
	c->line = CAM_BUF(TEXT_BYTES);
	c->field = CAM_BUF(TEXT_BYTES);
	*made = &c->base;
	return 0;
}
