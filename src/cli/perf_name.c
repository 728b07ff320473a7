// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_name.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ZONES "/usr/share/zoneinfo"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* n digits, and one character between this number and the next, if there is one of the usual. */
static bool take(const char **p, unsigned n, int *out)
{
	int v = 0;
	for (unsigned i = 0; i < n; i++, (*p)++) {
		if (!is_digit(**p))
			return false;
		v = v * 10 + (**p - '0');
	}
	*out = v;
	return true;
}

static void skip_separator(const char **p)
{
	if (**p && strchr("-_.:T", **p) && is_digit((*p)[1]))
		(*p)++;
}

static bool read_at(const char *p, struct cam_perf_name *out)
{
	struct cam_utc t = {0};
	int year, *const parts[] = {&t.month, &t.day, &t.hour, &t.minute, &t.second};
	if (!take(&p, 4, &year))
		return false;
	for (size_t i = 0; i < 5; i++) {
		skip_separator(&p);
		if (!take(&p, 2, parts[i]))
			return false;
	}
	t.year = year;
	int64_t ns;
	/* perf's own has two digits more, at the very end. */
	bool hundredths = is_digit(p[0]) && is_digit(p[1]) && !p[2];
	if (year < 1990 || year > 2200 || cam_utc_to_ns(&t, &ns) || (is_digit(p[0]) && !hundredths))
		return false;
	if (hundredths)
		t.ns = (uint32_t)((p[0] - '0') * 10 + (p[1] - '0')) * 10000000u;
	*out = (struct cam_perf_name){t, hundredths};
	return true;
}

bool cam_perf_name_read(const char *path, struct cam_perf_name *out)
{
	const char *slash = strrchr(path, '/');
	for (const char *p = slash ? slash + 1 : path; *p; p++) {
		bool starts = is_digit(p[0]) && (p == path || !is_digit(p[-1]));
		if (starts && read_at(p, out))
			return true;
	}
	return false;
}

/* "+02:00", "-0530", "Z", "UTC": seconds east; false: not of this form. */
static bool read_offset(const char *zone, int *seconds)
{
	int hours, minutes = 0;
	if (!strcmp(zone, "UTC") || !strcmp(zone, "Z")) {
		*seconds = 0;
		return true;
	}
	const char *p = zone + 1;
	if ((zone[0] != '+' && zone[0] != '-') || !take(&p, 2, &hours))
		return false;
	p += *p == ':';
	if ((*p && !take(&p, 2, &minutes)) || *p || hours > 15 || minutes > 59)
		return false;
	*seconds = (hours * 60 + minutes) * (zone[0] == '-' ? -60 : 60);
	return true;
}

static bool by_rules(const struct cam_utc *u, int64_t *realtime_ns)
{
	struct tm tm = {
		.tm_year = (int)(u->year - 1900),
		.tm_mon = u->month - 1,
		.tm_mday = u->day,
		.tm_hour = u->hour,
		.tm_min = u->minute,
		.tm_sec = u->second,
		.tm_isdst = -1,
	};
	tzset();
	time_t t = mktime(&tm);
	*realtime_ns = (int64_t)t * (int64_t)CAM_NS_PER_SEC + u->ns;
	return t != (time_t)-1;
}

bool cam_perf_name_realtime(const struct cam_utc *local, const char *zone, int64_t *realtime_ns)
{
	char path[PATH_MAX];
	int seconds, n;
	if (!zone)
		return by_rules(local, realtime_ns);
	if (read_offset(zone, &seconds)) {
		if (cam_utc_to_ns(local, realtime_ns))
			return false;
		*realtime_ns -= seconds * (int64_t)CAM_NS_PER_SEC;
		return true;
	}
	/* The C library takes any word for UTC. */
	n = snprintf(path, sizeof(path), ZONES "/%s", zone);
	if (n < 0 || (size_t)n >= sizeof(path) || !*zone || strstr(zone, "..") ||
	    access(path, R_OK))
		return false;
	const char *was = getenv("TZ");
	char *kept = was ? strdup(was) : NULL;
	bool good = (!was || kept) && setenv("TZ", zone, 1) == 0 && by_rules(local, realtime_ns);
	if (kept)
		setenv("TZ", kept, 1);
	else
		unsetenv("TZ");
	tzset();
	free(kept);
	return good;
}
