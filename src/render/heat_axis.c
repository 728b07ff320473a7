// SPDX-License-Identifier: Apache-2.0
#include "render/heat_axis.h"

#include "base/units.h"

#include <stdio.h>

#define NS ((int64_t)CAM_NS_PER_SEC)

uint64_t cam_heat_tick_ns(const struct cam_heatmap *h, unsigned labels)
{
	static const uint64_t seconds[] = {1,	 2,	5,     10,    15,   20,	  30,
					   60,	 120,	300,   600,   900,  1800, 3600,
					   7200, 10800, 21600, 43200, 86400};
	static const uint64_t parts[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
	uint64_t span = h->column_ns * h->n_columns;
	labels = labels ? labels : 1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (span / (parts[i] * CAM_NS_PER_MS) <= labels)
			return parts[i] * CAM_NS_PER_MS < h->column_ns ? h->column_ns
								       : parts[i] * CAM_NS_PER_MS;
	}
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		if (span / (seconds[i] * CAM_NS_PER_SEC) <= labels)
			return seconds[i] * CAM_NS_PER_SEC;
	}
	uint64_t day = 86400 * CAM_NS_PER_SEC;
	return (span / labels / day + 1) * day;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static bool known(const struct cam_heatmap *h)
{
	return h->realtime_from_ns != INT64_MIN;
}

static int64_t east_at(const struct cam_heat_zone *z, int64_t realtime_ns)
{
	return z->east ? z->east(z->arg, floor_div(realtime_ns, NS)) : 0;
}

/* On the clock that labels show: local time, or the windows' own. */
static int64_t shown(const struct cam_heatmap *h, const struct cam_heat_zone *z, uint64_t at_ns)
{
	if (!known(h))
		return cam_time_add(h->from_ns, at_ns);
	int64_t t = cam_time_add(h->realtime_from_ns, at_ns);
	return cam_time_add(t, east_at(z, t) * NS);
}

uint32_t cam_heat_next_tick(const struct cam_heatmap *h, const struct cam_heat_zone *z,
			    uint64_t tick_ns, uint32_t column, uint64_t *at_ns)
{
	for (; column < h->n_columns; column++) {
		uint64_t left = column * h->column_ns;
		int64_t tick = (int64_t)tick_ns, past = shown(h, z, left) % tick;
		int64_t until = past > 0 ? tick - past : -past;
		if (until < (int64_t)h->column_ns) {
			*at_ns = left + (uint64_t)until;
			return column;
		}
	}
	return h->n_columns;
}

struct cam_figure cam_heat_time(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				uint64_t at_ns, bool with_ms)
{
	int64_t t = shown(h, z, at_ns);
	struct cam_figure f;
	if (!known(h)) {
		if (with_ms)
			return cam_figure_stamp((uint64_t)t);
		snprintf(f.s, sizeof(f.s), "%lld s", (long long)floor_div(t, NS));
		return f;
	}
	struct cam_utc u = cam_utc_from_ns(t);
	int n = snprintf(f.s, sizeof(f.s), "%02d:%02d:%02d", u.hour, u.minute, u.second);
	if (with_ms)
		snprintf(f.s + n, sizeof(f.s) - (size_t)n, ".%03u", u.ns / (unsigned)CAM_NS_PER_MS);
	return f;
}

struct cam_figure cam_heat_date(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				uint64_t at_ns)
{
	struct cam_figure f = {""};
	struct cam_utc u = cam_utc_from_ns(shown(h, z, at_ns));
	if (known(h))
		snprintf(f.s, sizeof(f.s), "%04lld-%02d-%02d", (long long)u.year, u.month, u.day);
	return f;
}

struct cam_figure cam_heat_offset(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				  uint64_t at_ns)
{
	struct cam_figure f = {""};
	if (!known(h))
		return f;
	int64_t minutes = east_at(z, cam_time_add(h->realtime_from_ns, at_ns)) / 60;
	int64_t size = minutes < 0 ? -minutes : minutes;
	snprintf(f.s, sizeof(f.s), "%c%02d:%02d", minutes < 0 ? '-' : '+', (int)(size / 60 % 100),
		 (int)(size % 60));
	return f;
}

struct cam_figure cam_heat_row(const struct cam_heatmap *h, uint32_t row)
{
	struct cam_figure f;
	if (h->mode == CAM_HEAT_CORES)
		snprintf(f.s, sizeof(f.s), h->cpus[row] == UINT32_MAX ? "CPU ?" : "CPU %u",
			 h->cpus[row]);
	else
		snprintf(f.s, sizeof(f.s), "%u ms", row * 1000 / h->n_rows);
	return f;
}

struct cam_figure cam_heat_when(const struct cam_heatmap *h, const struct cam_heat_zone *z,
				uint32_t column, uint32_t row)
{
	uint64_t from = column * h->column_ns, to = from + h->column_ns;
	if (h->mode == CAM_HEAT_SUBSECOND && h->column_ns == h->fine_ns) {
		uint64_t left = from;
		from = left + row * h->column_ns / h->n_rows;
		to = left + (row + 1) * h->column_ns / h->n_rows;
	}
	struct cam_figure f, a = cam_heat_time(h, z, from, true), b = cam_heat_time(h, z, to, true);
	snprintf(f.s, sizeof(f.s), "%.20s – %.20s", a.s, b.s);
	return f;
}
