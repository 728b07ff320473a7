// SPDX-License-Identifier: Apache-2.0
#include "render/figure.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define NARROW_SPACE "\u202f"

struct cam_figure cam_figure_count(uint64_t n)
{
	char digits[24];
	struct cam_figure f = {{0}};
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0) {
			memcpy(f.s + at, NARROW_SPACE, sizeof(NARROW_SPACE) - 1);
			at += sizeof(NARROW_SPACE) - 1;
		}
		f.s[at++] = digits[i];
	}
	return f;
}

struct cam_figure cam_figure_percent(uint64_t part, uint64_t whole)
{
	struct cam_figure f = {"–"};
	if (!whole)
		return f;
	double percent = 100.0 * (double)part / (double)whole;
	snprintf(f.s, sizeof(f.s), "%.*f" NARROW_SPACE "%%", percent && percent < 0.0995 ? 3 : 1,
		 percent);
	return f;
}

struct cam_figure cam_figure_duration(uint64_t ns)
{
	struct cam_figure f;
	double s = (double)ns / CAM_NS_PER_SEC;
	uint64_t whole = ns / CAM_NS_PER_SEC;
	unsigned long long minutes = whole / 60, hours = whole / 3600;
	if (ns < CAM_NS_PER_US)
		snprintf(f.s, sizeof(f.s), "%u ns", (unsigned)ns);
	else if (ns < CAM_NS_PER_MS)
		snprintf(f.s, sizeof(f.s), "%.3g µs", s * 1e6);
	else if (ns < 995 * CAM_NS_PER_MS)
		snprintf(f.s, sizeof(f.s), "%.3g ms", s * 1e3);
	else if (ns < 60 * CAM_NS_PER_SEC)
		snprintf(f.s, sizeof(f.s), s < 9.995 ? "%.2f s" : "%.1f s", s);
	else if (hours)
		snprintf(f.s, sizeof(f.s), "%llu h %llu min", hours, minutes % 60);
	else
		snprintf(f.s, sizeof(f.s), "%llu min %llu s", minutes,
			 (unsigned long long)whole % 60);
	return f;
}

struct cam_figure cam_figure_utc(int64_t realtime_ns, bool with_date)
{
	struct cam_figure f;
	struct cam_utc u = cam_utc_from_ns(realtime_ns);
	int n = 0;
	if (with_date)
		n = snprintf(f.s, sizeof(f.s), "%04lld-%02d-%02d ", (long long)u.year, u.month,
			     u.day);
	snprintf(f.s + n, sizeof(f.s) - (size_t)n, "%02d:%02d:%02d.%03u", u.hour, u.minute,
		 u.second, u.ns / (unsigned)CAM_NS_PER_MS);
	return f;
}

struct cam_figure cam_figure_stamp(uint64_t ns)
{
	struct cam_figure f;
	snprintf(f.s, sizeof(f.s), "%llu.%03u s", (unsigned long long)(ns / CAM_NS_PER_SEC),
		 (unsigned)(ns % CAM_NS_PER_SEC / CAM_NS_PER_MS));
	return f;
}
