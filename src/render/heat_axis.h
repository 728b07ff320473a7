// SPDX-License-Identifier: Apache-2.0
/*
 * The axes of a heatmap: where labels stand and what they say. Times are local to the reader's zone
 * where the wall clock is known, else the windows' own clock.
 */
#pragma once
#include "query/view_heatmap.h"
#include "render/figure.h"

/* Seconds east of UTC at that moment (seconds since 1970). */
typedef int32_t cam_heat_zone_fn(void *arg, int64_t sec);

struct cam_heat_zone {
	cam_heat_zone_fn *east; /* NULL: UTC */
	void *arg;
};

/* A round length of time, so that `columns` columns have at most `labels` of them between them. */
uint64_t cam_heat_tick_ns(const struct cam_heatmap *h, unsigned labels);
/*
 * The first column at or after `column` that holds the beginning of a tick, n_columns if none;
 * *at_ns: the beginning, from the left edge of column 0.
 */
uint32_t cam_heat_next_tick(const struct cam_heatmap *h, const struct cam_heat_zone *z,
			    uint64_t tick_ns, uint32_t column, uint64_t *at_ns);
/* A moment, at_ns after the left edge: "03:14:07", with_ms: "03:14:07.250"; else "12345.250 s". */
struct cam_figure cam_heat_time(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				uint64_t at_ns, bool with_ms);
/* "2026-04-15", "+02:00"; empty where the wall clock is not known. */
struct cam_figure cam_heat_date(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				uint64_t at_ns);
struct cam_figure cam_heat_offset(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				  uint64_t at_ns);
/* "CPU 3", "CPU ?", or the row's beginning: "240 ms". */
struct cam_figure cam_heat_row(const struct cam_heatmap *h, uint32_t row);
/* "03:14:07.240 – 03:14:07.260", as far as a cell tells; of a column of many seconds its span. */
struct cam_figure cam_heat_when(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				uint32_t column, uint32_t row);
