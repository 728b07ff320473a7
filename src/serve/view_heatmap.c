// SPDX-License-Identifier: Apache-2.0
/* The heatmap of a selection as columns. */
#include "base/units.h"
#include "query/heatmap.h"
#include "serve/asked.h"
#include "serve/facts.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_ROWS    50u
#define USUAL_COLUMNS 1000u
#define MOST_COLUMNS  8192u

struct columns {
	uint32_t *samples, *peak, *painted, *painted_peak;
	uint8_t *seen;
};

static void send_heatmap(const struct cam_heatmap *h, struct cam_source *source,
			 struct cam_answer *a)
{
	size_t n = (size_t)h->n_columns * h->n_rows;
	struct columns k = {calloc(n + 1, 4), calloc(n + 1, 4), calloc(n + 1, 4), calloc(n + 1, 4),
			    calloc(n + 1, 1)};
	struct cam_columns c;
	if (k.samples && k.peak && k.painted && k.painted_peak && k.seen) {
		for (size_t i = 0; i < n; i++) {
			k.samples[i] = h->cells[i].samples;
			k.peak[i] = h->cells[i].peak;
			k.painted[i] = h->cells[i].painted;
			k.painted_peak[i] = h->cells[i].painted_peak;
			k.seen[i] = h->cells[i].seen;
		}
		cam_columns_begin(&c);
		cam_answer_seconds(&c.json, "from", h->wall ? h->from_ns : h->realtime_from_ns);
		cam_answer_seconds(&c.json, "step", (int64_t)h->column_ns);
		cam_answer_seconds(&c.json, "fine", (int64_t)h->fine_ns);
		cam_json_u64(&c.json, "period_ns", h->period_ns);
		cam_json_u64(&c.json, "columns_n", h->n_columns);
		cam_json_u64(&c.json, "rows_n", h->n_rows);
		const size_t rows = h->mode == CAM_HEAT_CORES && h->cpus ? h->n_rows : 0;
		cam_json_open(&c.json, "cpus", '[');
		for (size_t i = 0; i < rows; i++)
			cam_json_u64(&c.json, NULL, h->cpus[i]);
		cam_json_close(&c.json, ']');
		cam_facts_put_nodes(&c.json, source, h->cpus, rows);
		cam_asked_seen(&c.json, &h->seen);
		cam_columns_add(&c, "samples", CAM_COLUMN_U32, k.samples, n);
		cam_columns_add(&c, "peak", CAM_COLUMN_U32, k.peak, n);
		cam_columns_add(&c, "seen", CAM_COLUMN_U8, k.seen, n);
		if (h->busiest)
			cam_columns_add(&c, "busiest", CAM_COLUMN_U32, h->busiest, h->n_columns);
		if (h->has_paint) {
			cam_columns_add(&c, "painted", CAM_COLUMN_U32, k.painted, n);
			cam_columns_add(&c, "painted_peak", CAM_COLUMN_U32, k.painted_peak, n);
		}
		cam_asked_finish(&c, a);
	} else {
		cam_asked_failed(a, -ENOMEM);
	}
	free(k.samples);
	free(k.peak);
	free(k.painted);
	free(k.painted_peak);
	free(k.seen);
}

/* What is the route's own of the parameters. false: answered. */
static bool read_options(const struct cam_request *q, struct cam_answer *a,
			 struct cam_heatmap_options *o)
{
	const char *mode = cam_request_value(q, "mode"), *step = cam_request_value(q, "step");
	uint64_t rows, columns;
	*o = (struct cam_heatmap_options){.busiest = true};
	if (mode && strcmp(mode, "subsecond") != 0 && strcmp(mode, "cores") != 0) {
		cam_answer_error(a, 400, "mode: subsecond or cores");
		return false;
	}
	o->mode = mode && !strcmp(mode, "cores") ? CAM_HEAT_CORES : CAM_HEAT_SUBSECOND;
	if (!cam_request_number(q, "rows", CAM_HEAT_LEAST_ROWS, CAM_HEAT_MOST_ROWS, USUAL_ROWS,
				&rows)) {
		cam_answer_error(a, 400, "rows: a number from 10 to 100");
		return false;
	}
	if (!cam_request_number(q, "columns", 1, MOST_COLUMNS, USUAL_COLUMNS, &columns)) {
		cam_answer_error(a, 400, "columns: a number from 1 to 8192");
		return false;
	}
	uint64_t unit = o->mode == CAM_HEAT_CORES ? 1 : CAM_NS_PER_SEC;
	if (step && (cam_duration_parse(cam_text_of(step), &o->step_ns) ||
		     o->step_ns < CAM_HEAT_LEAST_STEP || o->step_ns % unit)) {
		cam_answer_error(
			a, 400, "step: a duration of 1ms or more; of mode=subsecond whole seconds");
		return false;
	}
	o->rows = (uint32_t)rows;
	o->max_columns = (uint32_t)columns;
	return true;
}

/* What cells are coloured by: stacks that match. false: answered. */
static bool read_paint(const struct cam_request *q, struct cam_answer *a,
		       struct cam_selection *paint)
{
	char why[256] = "", text[300];
	const char *value = cam_request_value(q, "paint");
	cam_selection_init(paint);
	if (!value ||
	    !cam_selection_add(paint, CAM_FILTER_MATCH, cam_text_of(value), why, sizeof(why)))
		return true;
	snprintf(text, sizeof(text), "paint: %s", why);
	cam_selection_free(paint);
	cam_answer_error(a, 400, text);
	return false;
}

void cam_answer_heatmap(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	static const char *const own[] = {"mode", "rows", "columns", "step", "paint", NULL};
	struct cam_source *source;
	struct cam_selection s, paint;
	struct cam_asked_deadline deadline;
	struct cam_heatmap_options o;
	struct cam_heatmap h;
	if (!read_options(q, a, &o) || !read_paint(q, a, &paint))
		return;
	if (cam_asked_windows(doors, a, &source)) {
		cam_selection_free(&paint);
		return;
	}
	if (cam_asked_selection(doors, source, q, own, a, &s)) {
		cam_asked_deadline_begin(&deadline);
		cam_asked_deadline_bind(&deadline, &s);
		cam_asked_deadline_bind(&deadline, &paint);
		o.progress = &deadline.progress;
		o.paint = cam_request_value(q, "paint") ? &paint : NULL;
		const struct cam_selection *all[] = {&s};
		if (!cam_asked_before(source, q, all, 1, a)) {
			int err = cam_heatmap_build(source, &s, &o, &h);
			if (err) {
				cam_asked_failed(a, err);
			} else {
				send_heatmap(&h, source, a);
				cam_heatmap_free(&h);
			}
		}
		cam_selection_free(&s);
	}
	cam_selection_free(&paint);
	doors->release(doors->self, source);
}
