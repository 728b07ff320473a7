// SPDX-License-Identifier: Apache-2.0
/*
 * From rows to lines. Nearly all of the text is frames, and nearly all frames were printed before: the
 * line of each function (or location) is made once and copied from then on.
 *
 * Invariant: lines[item] is the text of that item's frame without what only a leaf knows; n = 0: not
 * made. When the texts outgrow LINE_BYTES all are forgotten: they are made again.
 */
#include "interop/perf_script_out.h"

#include "base/escape.h"
#include "base/units.h"
#include "model/source_lines.h"
#include "model/unwind_table.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define LINE_BYTES (32u << 20)
#define TEXT_BYTES (64u << 20) /* of one record: a stack of the deepest with the longest names */

struct line {
	uint32_t at, n;
};

struct script {
	struct cam_exporter base;
	struct cam_perf_script_options o;
	unsigned missing;
	unsigned line_fields; /* with which the lines were made … */
	bool line_flat;	      /* … and whether they stand behind their heads */
	unsigned event_width;
	uint64_t first_ns, last_ns; /* of what was printed; CAM_TIME_NONE: nothing yet */
	struct cam_buf text;	    /* of one record */
	struct cam_buf shown;	    /* the same as a terminal may have it */
	struct line *lines;
	size_t n_lines;
	struct cam_buf texts;
	struct cam_source_lines sources; /* where they are asked for */
};

static struct cam_perf_put_frame describe(struct script *s, uint32_t item,
					  const struct cam_export_row *leaf)
{
	bool verbatim = s->base.w->info.imported;
	struct cam_export_frame e = cam_exporter_frame(&s->base, item);
	bool knows = e.address || e.kind == CAM_FUNC_JIT;
	if (leaf)
		cam_exporter_leaf(leaf, &e);
	struct cam_perf_put_frame f = {
		.fields = s->line_fields,
		.name = e.name,
		.module = e.module,
		.address = e.address,
		.offset = e.offset,
		.blank = !e.name.n && e.imported,
		.inlined = e.kind == CAM_FUNC_INLINED,
		.verbatim = verbatim,
		.flat = s->line_flat,
	};
	/* As all views have it; perf has no word for a function that is known and has no name. */
	if (!f.name.n && !verbatim && knows)
		f.name = cam_exporter_label(&s->base, &e);
	return f;
}

static int put_line(struct script *s, uint32_t item)
{
	if (item >= s->n_lines)
		return -EBADMSG;
	struct line *line = &s->lines[item];
	if (!line->n) {
		struct cam_perf_put_frame f = describe(s, item, NULL);
		size_t at = s->texts.len;
		cam_perf_put_frame(&s->texts, &f);
		if (cam_buf_error(&s->texts) == -E2BIG) {
			cam_buf_clear(&s->texts);
			memset(s->lines, 0, s->n_lines * sizeof(*s->lines));
			cam_perf_put_frame(&s->text, &f);
			return cam_buf_error(&s->text);
		}
		if (cam_buf_error(&s->texts))
			return cam_buf_error(&s->texts);
		*line = (struct line){(uint32_t)at, (uint32_t)(s->texts.len - at)};
	}
	cam_buf_put(&s->text, s->texts.data + line->at, line->n);
	return cam_buf_error(&s->text);
}

/* As perf does: below its frame, without its directories. */
static void put_source_line(struct script *s, uint32_t func, uint64_t offset)
{
	struct cam_text file;
	uint32_t line;
	uint32_t row = s->line_fields & CAM_PERF_SRCLINE
			       ? cam_source_lines_row(&s->sources, func, offset)
			       : 0;
	if (!row)
		return;
	cam_source_lines_at(&s->sources, row, &file, &line);
	const char *slash = memrchr(file.p, '/', file.n);
	if (slash)
		file = (struct cam_text){slash + 1, (size_t)(file.p + file.n - slash - 1)};
	cam_buf_put(&s->text, "  ", 2);
	cam_perf_put_text(&s->text, file);
	cam_buf_printf(&s->text, ":%u\n", line);
}

static int put_frames(struct script *s, const struct cam_export_row *r)
{
	const struct cam_tree *tree = s->base.tree;
	bool leaf = r->leaf_offset != CAM_OFFSET_NONE;
	unsigned left = s->o.no_chains ? 1 : s->o.max_stack ? s->o.max_stack : UINT_MAX;
	int err = 0;
	for (uint32_t node = r->stack; node && left && !err; node = tree->parent[node], left--) {
		uint32_t item = tree->item[node];
		if (!leaf || item >= s->n_lines) {
			err = put_line(s, item);
			if (!err && s->base.places)
				put_source_line(s, s->base.t->locations[item].func.v,
						s->base.t->locations[item].func_offset);
			continue;
		}
		leaf = false;
		struct cam_perf_put_frame f = describe(s, item, r);
		cam_perf_put_frame(&s->text, &f);
		put_source_line(s, item, r->leaf_offset);
		err = cam_buf_error(&s->text);
	}
	return err;
}

/* A clock's period is what perf prints for it; of other events without one it prints none. */
static bool has_clock_period(const struct script *s, const struct cam_etype *e)
{
	struct cam_text name = cam_string(s->base.t, e->name);
	return !s->base.w->info.imported && e->period_ns &&
	       (cam_text_starts(name, CAM_TEXT("cpu-clock")) ||
		cam_text_starts(name, CAM_TEXT("task-clock")));
}

/* "sched:sched_switch", and not "cycles:ppp" or "cpu-clock:u". */
static bool is_tracepoint(struct cam_text name)
{
	const char *colon = name.n ? memchr(name.p, ':', name.n) : NULL;
	for (const char *p = colon ? colon + 1 : name.p + name.n; p < name.p + name.n; p++) {
		if (!strchr("ukhpPSDGHIWebB", *p))
			return true;
	}
	return false;
}

static int write_text(struct script *s)
{
	const struct cam_buf *text = &s->text;
	if (s->o.terminal) {
		cam_buf_clear(&s->shown);
		cam_escape_put(&s->shown, (struct cam_text){(const char *)text->data, text->len},
			       CAM_ESCAPE_BYTES);
		if (cam_buf_error(&s->shown))
			return cam_buf_error(&s->shown);
		text = &s->shown;
	}
	cam_out_bytes(s->base.out, text->data, text->len);
	return s->base.out->error;
}

static int write_header(struct script *s)
{
	cam_buf_clear(&s->text);
	int err = cam_perf_put_header(&s->text, s->base.w, s->base.t);
	return err ? err : write_text(s);
}

/* As perf counts it: the first one is at 0. */
static uint64_t shown_time(struct script *s, uint64_t ns)
{
	if (ns == CAM_TIME_NONE || (!s->o.since_first && !s->o.since_last))
		return ns;
	if (s->first_ns == CAM_TIME_NONE)
		s->first_ns = s->last_ns = ns;
	uint64_t from = s->o.since_first ? s->first_ns : s->last_ns;
	s->last_ns = ns;
	return ns > from ? ns - from : 0;
}

static unsigned missing_of(const struct cam_perf_put_head *h)
{
	unsigned missing = 0;
	missing |= h->pid == CAM_PID_NONE ? CAM_PERF_PID : 0;
	missing |= h->tid == CAM_PID_NONE ? CAM_PERF_TID : 0;
	missing |= h->cpu == CAM_CPU_NONE ? CAM_PERF_CPU : 0;
	missing |= h->time_ns == CAM_TIME_NONE ? CAM_PERF_TIME : 0;
	missing |= !h->has_period ? CAM_PERF_PERIOD : 0;
	missing |= !h->event.n ? CAM_PERF_EVENT : 0;
	return missing;
}

static int put_record(struct script *s, const struct cam_export_row *r, struct cam_perf_put_head *h)
{
	const struct cam_tables *t = s->base.t;
	bool flat = t->etypes[r->etype].flat || s->o.no_chains;
	cam_buf_clear(&s->text);
	/* Another set of fields is another text. */
	if (h->fields != s->line_fields || flat != s->line_flat) {
		cam_buf_clear(&s->texts);
		memset(s->lines, 0, s->n_lines * sizeof(*s->lines));
		s->line_fields = h->fields;
		s->line_flat = flat;
	}
	h->aligned = flat || !(h->fields & CAM_PERF_IP);
	cam_perf_put_head(&s->text, h);
	/* perf prints an address without a chain behind its head; a tracepoint has none then. */
	if (flat && r->stack && (h->fields & CAM_PERF_IP))
		s->text.len--;
	bool frames =
		h->fields & CAM_PERF_IP && (flat || !cam_exporter_is_broken(&s->base, r->stack));
	int err = frames ? put_frames(s, r) : 0;
	if (h->fields & CAM_PERF_CGROUP) {
		struct cam_text cgroup = cam_string(t, t->tasks[r->task].cgroup);
		if (h->aligned)
			s->text.len--; /* on the same line: only frames have lines of their own */
		cam_buf_put_u8(&s->text, ' ');
		cam_perf_put_text(&s->text, cgroup.n ? cgroup : CAM_TEXT("unknown"));
		if (h->aligned)
			cam_buf_put_u8(&s->text, '\n');
	}
	if (!h->aligned)
		cam_buf_put_u8(&s->text, '\n');
	if (err || cam_buf_error(&s->text))
		return err ? err : cam_buf_error(&s->text);
	err = write_text(s);
	return err ? err : 1;
}

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	struct script *s = (struct script *)x;
	const struct cam_tables *t = x->t;
	const struct cam_etype *e = &t->etypes[r->etype];
	const struct cam_task *k = &t->tasks[r->task];
	const struct cam_window_info *info = &x->w->info;
	struct cam_perf_put_head h = {
		.comm = cam_string(t, k->comm),
		.event = cam_string(t, e->name),
		.detail = cam_string(t, (struct cam_str_id){r->detail}),
		.pid = k->pid,
		.tid = k->tid,
		.cpu = r->cpu,
		.time_ns = r->time_ns,
		.nanoseconds = s->o.nanoseconds || (s->o.as_kept && info->time_unit_ns &&
						    info->time_unit_ns < CAM_NS_PER_US),
		.verbatim = info->imported,
		.has_period = e->has_weight || has_clock_period(s, e),
		.period = e->has_weight ? r->weight : e->period_ns,
		.event_width = s->event_width,
	};
	h.fields = is_tracepoint(h.event) ? s->o.trace_fields : s->o.fields;
	/* What perf does not print stays out unless it was asked for. */
	if (!(s->o.exact & CAM_PERF_TRACE) &&
	    cam_text_equal(h.detail, CAM_TEXT(CAM_DETAIL_GUESSED)))
		h.detail = CAM_TEXT("");
	/* The text of an event is there or not; nobody misses it. */
	s->missing = missing_of(&h) & h.fields & s->o.exact & ~(unsigned)CAM_PERF_TRACE;
	if (s->missing)
		return -ENODATA;
	h.time_ns = shown_time(s, h.time_ns);
	int err = x->st.samples || !s->o.header ? 0 : write_header(s);
	return err ? err : put_record(s, r, &h);
}

/* Of a perf.data: an event without samples may have the longest name. */
static int widen(void *arg, const struct cam_fact *fact)
{
	struct script *s = arg;
	const struct cam_tables *t = s->base.t;
	size_t n = cam_string(t, fact->value).n;
	if (cam_text_equal(cam_string(t, fact->key), CAM_TEXT(CAM_FACT_LONGEST_EVENT)) &&
	    n > s->event_width && n < 256)
		s->event_width = (unsigned)n;
	return 0;
}

static int begin_window(struct cam_exporter *x)
{
	struct script *s = (struct script *)x;
	free(s->lines);
	s->n_lines = x->places ? x->t->n_locations : x->t->n_functions;
	s->lines = calloc(s->n_lines + 1, sizeof(*s->lines));
	cam_buf_clear(&s->texts);
	s->event_width = 0;
	for (size_t i = 0; i < x->t->n_etypes; i++) {
		size_t n = cam_string(x->t, x->t->etypes[i].name).n;
		if (n > s->event_width && n < 256)
			s->event_width = (unsigned)n;
	}
	if (!s->lines)
		return -ENOMEM;
	int err = x->w->ops->facts(x->w, widen, s);
	if (err)
		return err;
	return (s->o.fields | s->o.trace_fields) & CAM_PERF_SRCLINE
		       ? cam_source_lines_load(&s->sources, x->w)
		       : 0;
}

static void free_script(struct cam_exporter *x)
{
	struct script *s = (struct script *)x;
	free(s->lines);
	cam_source_lines_free(&s->sources);
	cam_buf_free(&s->text);
	cam_buf_free(&s->shown);
	cam_buf_free(&s->texts);
}

int cam_perf_script_out_new(struct cam_out *out, const struct cam_perf_script_options *o,
			    struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {
		.window = begin_window, .row = put_row, .free = free_script};
	struct script *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->base.ops = &ops;
	s->base.out = out;
	s->o = *o;
	s->first_ns = s->last_ns = CAM_TIME_NONE;
	s->text = CAM_BUF(TEXT_BYTES);
	s->shown = CAM_BUF(4 * TEXT_BYTES);
	s->texts = CAM_BUF(LINE_BYTES);
	*made = &s->base;
	return 0;
}

unsigned cam_perf_script_missing(const struct cam_exporter *x)
{
	return ((const struct script *)x)->missing;
}
