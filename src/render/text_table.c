// SPDX-License-Identifier: Apache-2.0
#include "render/text_table.h"

#include "base/units.h"
#include "render/figure.h"
#include "render/label.h"

#include <stdio.h>

#define WIDEST_TEXT 40u /* of a column that is not the last */
#define LEAST_ROOM  16u

static const char *const heads[CAM_KEY_MAX] = {
	[CAM_KEY_COMM] = "command",    [CAM_KEY_PROCESS] = "process",
	[CAM_KEY_PID] = "pid",	       [CAM_KEY_TID] = "tid",
	[CAM_KEY_USER] = "uid",	       [CAM_KEY_EXE] = "program",
	[CAM_KEY_CGROUP] = "cgroup",   [CAM_KEY_CONTAINER] = "container",
	[CAM_KEY_POD] = "pod",	       [CAM_KEY_CPU] = "core",
	[CAM_KEY_SOCKET] = "socket",   [CAM_KEY_PARENT] = "parent",
	[CAM_KEY_SRCLINE] = "line",    [CAM_KEY_SRCFILE] = "source",
	[CAM_KEY_EVENT] = "event",     [CAM_KEY_TIME] = "time",
	[CAM_KEY_SYMBOL] = "function", [CAM_KEY_DSO] = "module",
};

struct layout {
	const struct cam_table *t;
	const struct cam_text_table_options *o;
	size_t widths[CAM_KEYS_MAX];
	bool host; /* shares of the host's CPU time can be told */
	uint64_t host_ns;
};

static void write_number(const struct layout *l, enum cam_key key, int64_t v, char room[48])
{
	bool unknown = ((key == CAM_KEY_CPU || key == CAM_KEY_SOCKET) && v == CAM_CPU_NONE) ||
		       (key == CAM_KEY_USER && v == CAM_UID_NONE);
	room[0] = 0;
	if (unknown) {
		snprintf(room, 48, "?");
	} else if (key == CAM_KEY_TIME) {
		int64_t ns = (int64_t)CAM_NS_PER_SEC, sec = v / ns - (v % ns < 0);
		int32_t east = l->o->zone ? l->o->zone(l->o->zone_arg, sec) : 0;
		snprintf(room, 48, "%s", cam_figure_utc(v + east * ns, true).s);
	} else if (key == CAM_KEY_PID || key == CAM_KEY_TID || key == CAM_KEY_CPU ||
		   key == CAM_KEY_USER || key == CAM_KEY_SOCKET || key == CAM_KEY_PROCESS) {
		snprintf(room, 48, "%lld", (long long)v);
	}
}

/* What stands in a cell: the text, cut to some columns, and of a process its number. */
static size_t put_value(const struct layout *l, size_t k, const struct cam_value *v, size_t room,
			struct cam_out *out)
{
	enum cam_key key = l->t->keys[k];
	struct cam_text text = key == CAM_KEY_DSO ? cam_label_file(v->text) : v->text;
	char number[48];
	size_t used = 0;
	write_number(l, key, v->number, number);
	if (number[0]) {
		used = strlen(number);
		size_t width = key == CAM_KEY_PROCESS ? 7 : used;
		cam_out_printf(out, "%*s", (int)width, number);
		used = width > used ? width : used;
	}
	if (key == CAM_KEY_PROCESS) {
		cam_out_str(out, " ");
		used++;
	}
	if (key == CAM_KEY_SYMBOL)
		text = cam_label_tail(text, room);
	if (number[0] && key != CAM_KEY_PROCESS)
		return used;
	return used + cam_label_put(out, text.n ? text : CAM_TEXT("-"),
				    room > used + 1 ? room - used : 1, CAM_LABEL_PLAIN);
}

static size_t width_of(const struct layout *l, size_t k, const struct cam_value *v)
{
	enum cam_key key = l->t->keys[k];
	char number[48];
	write_number(l, key, v->number, number);
	size_t n = cam_label_columns(key == CAM_KEY_DSO ? cam_label_file(v->text) : v->text);
	if (key == CAM_KEY_PROCESS)
		return n + 8;
	return number[0] ? strlen(number) : n ? n : 1;
}

/* Columns that the numbers before the texts take: put_numbers(). */
static size_t numbers_width(const struct layout *l)
{
	return 9u + (l->t->by_frames ? 9u : 0u) + (l->t->cpu_known ? 12u : 0u) +
	       (l->host ? 9u : 0u) + (l->o->samples ? 11u : 0u);
}

/* The last text has what is left of the screen; the others give it up where that is too little. */
static void make_fit(struct layout *l)
{
	size_t n = l->t->n_keys, used = numbers_width(l) + 2 * n + LEAST_ROOM;
	for (size_t k = 0; k + 1 < n; k++)
		used += l->widths[k];
	while (used > l->o->columns) {
		size_t widest = 0;
		for (size_t k = 1; k + 1 < n; k++)
			widest = l->widths[k] > l->widths[widest] ? k : widest;
		if (n < 2 || l->widths[widest] <= LEAST_ROOM)
			return;
		l->widths[widest]--;
		used--;
	}
}

static void lay_out(struct layout *l)
{
	const struct cam_table *t = l->t;
	for (size_t k = 0; k < t->n_keys; k++) {
		l->widths[k] = strlen(heads[t->keys[k]]);
		for (size_t i = 0; i < t->n_rows; i++) {
			size_t n = width_of(l, k, &t->rows[i].values[k]);
			l->widths[k] = n > l->widths[k] ? n : l->widths[k];
		}
		if (l->widths[k] > WIDEST_TEXT && k + 1 < t->n_keys)
			l->widths[k] = WIDEST_TEXT;
	}
	l->host_ns = t->seen.observed_ns * t->seen.cpus;
	l->host = t->cpu_known && l->host_ns;
	if (l->o->columns)
		make_fit(l);
}

static size_t put_numbers(const struct layout *l, const struct cam_table_row *r,
			  struct cam_out *out)
{
	const struct cam_table *t = l->t;
	size_t used = 9;
	cam_label_put_right(out, cam_figure_percent(r->self.weight, t->all.weight).s, 9);
	if (t->by_frames) {
		cam_label_put_right(out, cam_figure_percent(r->total.weight, t->all.weight).s, 9);
		used += 9;
	}
	if (t->cpu_known) {
		cam_label_put_right(
			out, cam_figure_duration(t->by_frames ? r->total.cpu_ns : r->self.cpu_ns).s,
			12);
		used += 12;
	}
	if (l->host) {
		cam_label_put_right(out,
				    cam_figure_percent(t->by_frames ? r->total.cpu_ns
								    : r->self.cpu_ns,
						       l->host_ns)
					    .s,
				    9);
		used += 9;
	}
	if (l->o->samples) {
		cam_label_put_right(out, cam_figure_count(r->self.samples).s, 11);
		used += 11;
	}
	return used;
}

static void put_head(const struct layout *l, struct cam_out *out)
{
	const struct cam_table *t = l->t;
	cam_label_put_right(out, "self", 9);
	if (t->by_frames)
		cam_label_put_right(out, "total", 9);
	if (t->cpu_known)
		cam_label_put_right(out, "CPU time", 12);
	if (l->host)
		cam_label_put_right(out, "of host", 9);
	if (l->o->samples)
		cam_label_put_right(out, "samples", 11);
	for (size_t k = 0; k < t->n_keys; k++) {
		const char *head = heads[t->keys[k]];
		cam_out_printf(out, "  %-*s", k + 1 < t->n_keys ? (int)l->widths[k] : 0, head);
	}
	cam_out_str(out, "\n");
}

static void put_row(const struct layout *l, const struct cam_table_row *r, struct cam_out *out)
{
	const struct cam_table *t = l->t;
	size_t used = put_numbers(l, r, out);
	for (size_t k = 0; k < t->n_keys; k++) {
		bool last = k + 1 == t->n_keys;
		size_t room = l->widths[k];
		cam_out_str(out, "  ");
		used += 2;
		if (last && l->o->columns)
			room = l->o->columns > used + LEAST_ROOM ? l->o->columns - used
								 : LEAST_ROOM;
		size_t n = put_value(l, k, &r->values[k], room, out);
		used += last ? n : room;
		if (!last)
			cam_out_printf(out, "%*s", (int)(n < room ? room - n : 0), "");
	}
	cam_out_str(out, "\n");
}

int cam_text_table_write(const struct cam_table *t, const struct cam_text_table_options *o,
			 struct cam_out *out)
{
	struct layout l = {.t = t, .o = o};
	lay_out(&l);
	if (!o->no_head)
		put_head(&l, out);
	for (size_t i = 0; i < t->n_rows; i++)
		put_row(&l, &t->rows[i], out);
	return out->error;
}
