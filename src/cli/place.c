// SPDX-License-Identifier: Apache-2.0
#include "cli/place.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/paths.h"
#include "daemon/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cam_store_path(const char *given, char *room, size_t room_bytes)
{
	/* A configuration that cannot be read keeps a recorder from starting, not a reader. */
	CAM_AUTOFREE struct cam_settings *s = given ? NULL : calloc(1, sizeof(*s));
	char why[CAM_SETTINGS_WHY_BYTES];
	if (s && cam_settings_load(&(struct cam_settings_given){0}, s, why) == 0)
		given = s->store;
	if (!given)
		return cam_paths_store(room, room_bytes);
	int n = snprintf(room, room_bytes, "%s", given);
	return n >= 0 && (size_t)n < room_bytes ? 0 : -ERANGE;
}

void cam_show_realtime(int64_t realtime_ns, char *room, size_t room_bytes)
{
	int64_t sec = realtime_ns / (int64_t)CAM_NS_PER_SEC;
	if (realtime_ns % (int64_t)CAM_NS_PER_SEC < 0)
		sec--;
	time_t t = (time_t)sec;
	struct tm tm;
	if (realtime_ns == INT64_MIN || !localtime_r(&t, &tm)) {
		snprintf(room, room_bytes, "unknown");
		return;
	}
	long offset = tm.tm_gmtoff / 60, size = labs(offset);
	snprintf(room, room_bytes, "%04d-%02d-%02d %02d:%02d:%02d%c%02ld:%02ld", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		 offset < 0 ? '-' : '+', size / 60, size % 60);
}

void cam_show_bytes(uint64_t bytes, char *room, size_t room_bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	size_t unit = 0;
	double v = (double)bytes;
	for (; v >= 1024 && unit < 6; unit++)
		v /= 1024;
	snprintf(room, room_bytes, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

void cam_show_span(const struct cam_window_info *w, char *room, size_t room_bytes)
{
	if (w->clock == CAM_CLOCK_ABSENT || w->end_ns < w->start_ns)
		snprintf(room, room_bytes, "-");
	else
		snprintf(room, room_bytes, "%.1f s",
			 (double)(w->end_ns - w->start_ns) / (double)CAM_NS_PER_SEC);
}
