// SPDX-License-Identifier: Apache-2.0
#include "render/json_heatmap.h"

#include "base/json.h"
#include "base/units.h"
#include "model/nouns.h"
#include "render/json_table.h"

static void put_row_names(struct cam_json *j, const struct cam_heatmap *h)
{
	bool cores = h->mode == CAM_HEAT_CORES;
	cam_json_open(j, cores ? "cpus" : "row_starts_ms", '[');
	for (uint32_t row = 0; row < h->n_rows; row++) {
		if (!cores)
			cam_json_u64(j, NULL, row * 1000ull / h->n_rows);
		else if (h->cpus[row] == CAM_CPU_NONE)
			cam_json_null(j, NULL);
		else
			cam_json_u64(j, NULL, h->cpus[row]);
	}
	cam_json_close(j, ']');
}

enum figure { SAMPLES, PEAK, PAINTED, PAINTED_PEAK, SEEN };

static uint64_t figure_of(const struct cam_heat_cell *c, enum figure figure)
{
	switch (figure) {
	case SAMPLES:
		return c->samples;
	case PEAK:
		return c->peak;
	case PAINTED:
		return c->painted;
	case PAINTED_PEAK:
		return c->painted_peak;
	case SEEN:
		break;
	}
	return c->seen * 100u / CAM_HEAT_ALL_SEEN;
}

static void put_cells(struct cam_json *j, const char *key, const struct cam_heatmap *h,
		      enum figure figure)
{
	cam_json_open(j, key, '[');
	for (uint32_t column = 0; column < h->n_columns; column++) {
		cam_json_open(j, NULL, '[');
		for (uint32_t row = 0; row < h->n_rows; row++)
			cam_json_u64(j, NULL, figure_of(cam_heatmap_cell(h, column, row), figure));
		cam_json_close(j, ']');
	}
	cam_json_close(j, ']');
}

/* Why some of a column was not observed; most have nothing to say. */
static void put_causes(struct cam_json *j, const struct cam_heatmap *h)
{
	cam_json_open(j, "missed", '[');
	for (uint32_t column = 0; column < h->n_columns; column++) {
		if (!h->causes[column])
			continue;
		cam_json_open(j, NULL, '{');
		cam_json_u64(j, "column", column);
		cam_json_open(j, "causes", '[');
		for (unsigned c = 0; c < CAM_CAUSE_MAX; c++) {
			if (h->causes[column] >> c & 1)
				cam_json_text(j, NULL,
					      cam_text_of(cam_cause_key((enum cam_cause)c)));
		}
		cam_json_close(j, ']');
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

/* Means by bin, in the unit that docs/heatmap.md says; null: not known. */
static void put_tracks(struct cam_json *j, const struct cam_tracks *t)
{
	cam_json_open(j, "host", '{');
	cam_json_i64(j, "from_ns", t->from_ns);
	cam_json_u64(j, "step_ns", t->step_ns);
	for (unsigned k = 0; k < CAM_COUNTER_MAX; k++) {
		const float *mean = t->by_kind[k].mean;
		if (!mean)
			continue;
		cam_json_open(j, cam_track_key((enum cam_counter_kind)k), '[');
		for (size_t i = 0; i < t->n; i++)
			cam_json_double(j, NULL, (double)mean[i]);
		cam_json_close(j, ']');
	}
	cam_json_waiters(j, t);
	cam_json_close(j, '}');
}

int cam_json_heatmap_write(const struct cam_heatmap *h, const struct cam_tracks *tracks,
			   struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "mode",
		      h->mode == CAM_HEAT_CORES ? CAM_TEXT("cores") : CAM_TEXT("subsecond"));
	cam_json_text(&j, "clock", h->wall ? CAM_TEXT("wall") : CAM_TEXT("window"));
	cam_json_i64(&j, "from_ns", h->from_ns);
	if (h->realtime_from_ns == INT64_MIN)
		cam_json_null(&j, "realtime_from_ns");
	else
		cam_json_i64(&j, "realtime_from_ns", h->realtime_from_ns);
	cam_json_u64(&j, "columns", h->n_columns);
	cam_json_u64(&j, "rows", h->n_rows);
	cam_json_u64(&j, "column_ns", h->column_ns);
	cam_json_u64(&j, "peak_ns", h->fine_ns);
	put_row_names(&j, h);
	cam_json_u64(&j, "total", h->seen.samples);
	cam_json_u64(&j, "max_samples", h->max_samples);
	cam_json_u64(&j, "max_peak", h->max_peak);
	cam_json_u64(&j, "idle", h->seen.idle);
	cam_json_u64(&j, "lost", h->seen.lost);
	cam_json_u64(&j, "damaged", h->seen.damaged);
	cam_json_u64(&j, "windows", h->seen.windows);
	put_cells(&j, "samples", h, SAMPLES);
	if (h->column_ns != h->fine_ns)
		put_cells(&j, "peaks", h, PEAK);
	if (h->has_paint) {
		cam_json_u64(&j, "painted_total", h->painted);
		put_cells(&j, "painted", h, PAINTED);
		if (h->column_ns != h->fine_ns)
			put_cells(&j, "painted_peaks", h, PAINTED_PEAK);
	}
	put_cells(&j, "observed_percent", h, SEEN);
	put_causes(&j, h);
	if (tracks)
		put_tracks(&j, tracks);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
	return out->error;
}
