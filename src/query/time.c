// SPDX-License-Identifier: Apache-2.0
/*
 * Local time to a moment, knowing only the offset of a moment: of the offsets in force a day before
 * and a day after (zones do not change twice within two days), each that gives a moment which
 * has that offset is an answer. None: the clock skipped it; two: it happened twice.
 *
 * Invariants
 *  1. No clock, no environment, no floating point: the same text and world give the same answer.
 *  2. What is accepted is read wholly: no field is ignored, none is corrected.
 *
 * Example, Berlin, 2026-10-25: at 03:00 (+02:00) the clock went back to 02:00 (+01:00). "02:30" that
 * afternoon: offsets a day before and after are +02:00 and +01:00; 02:30-02:00 = 00:30Z has +02:00,
 * 02:30-01:00 = 01:30Z has +01:00: both are answers, the later one that has been is 01:30Z.
 */
#include "query/time.h"

#include "base/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define DAY_SEC	   86400
#define DAYS_APART 8 /* to the nearest such moment: one day may have skipped it */

struct parser {
	const char *p, *end;
	struct cam_text whole;
	const struct cam_time_world *world;
	char *why;
	size_t why_bytes;
};

struct fields {
	struct cam_utc clock; /* as written; the date only if has_date */
	bool has_date;
	bool has_zone;
	int32_t offset_sec;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct parser *p, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(p->why, p->why_bytes, "'%.*s' is not a time",
			 p->whole.n < 64 ? (int)p->whole.n : 64, p->whole.p);
	if (n < 0 || (size_t)n >= p->why_bytes)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(p->why + n, p->why_bytes - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int not_a_time(const struct parser *p)
{
	return wrong(p, "; " CAM_TIME_TRY);
}

/* Exactly n digits. */
static bool digits(struct parser *p, int n, int *out)
{
	int v = 0;
	if (p->end - p->p < n)
		return false;
	for (int i = 0; i < n; i++, p->p++) {
		if (*p->p < '0' || *p->p > '9')
			return false;
		v = v * 10 + (*p->p - '0');
	}
	*out = v;
	return true;
}

static bool skip(struct parser *p, char c)
{
	if (p->p == p->end || *p->p != c)
		return false;
	p->p++;
	return true;
}

static int read_fraction(struct parser *p, uint32_t *ns)
{
	uint32_t scale = 100000000;
	const char *from = p->p;
	for (*ns = 0; p->p < p->end && *p->p >= '0' && *p->p <= '9'; p->p++) {
		*ns += scale * (uint32_t)(*p->p - '0');
		scale /= 10;
	}
	if (p->p == from)
		return not_a_time(p);
	return p->p - from > 9 ? wrong(p, ": at most 9 digits behind the point") : 0;
}

static int read_clock(struct parser *p, struct cam_utc *c)
{
	if (!digits(p, 2, &c->hour) || !skip(p, ':') || !digits(p, 2, &c->minute))
		return not_a_time(p);
	if (skip(p, ':') && !digits(p, 2, &c->second))
		return not_a_time(p);
	int err = skip(p, '.') ? read_fraction(p, &c->ns) : 0;
	if (err)
		return err;
	if (c->hour > 23)
		return wrong(p, ": hours go to 23; " CAM_TIME_TRY);
	if (c->minute > 59)
		return wrong(p, ": minutes go to 59; " CAM_TIME_TRY);
	return c->second > 59 ? wrong(p, ": seconds go to 59; " CAM_TIME_TRY) : 0;
}

static int read_date(struct parser *p, struct cam_utc *c)
{
	int year;
	if (!digits(p, 4, &year) || !skip(p, '-') || !digits(p, 2, &c->month) || !skip(p, '-') ||
	    !digits(p, 2, &c->day))
		return not_a_time(p);
	c->year = year;
	if (c->month < 1 || c->month > 12)
		return wrong(p, ": months go from 01 to 12");
	int64_t ns;
	struct cam_utc noon = {.year = year, .month = c->month, .day = c->day, .hour = 12};
	/* Day 31 of a shorter month would be a day of the next one. */
	if (cam_utc_to_ns(&noon, &ns) == -ERANGE)
		return wrong(p, ": years go from 1678 to 2261");
	if (c->day < 1 || c->day > 31 || cam_utc_from_ns(ns).day != c->day)
		return wrong(p, ": %04d-%02d has no day %d", year, c->month, c->day);
	if (!skip(p, 'T') && !skip(p, ' '))
		return wrong(p, "; a date needs a clock: 2026-04-15T03:14:07");
	return 0;
}

static int read_zone(struct parser *p, struct fields *f)
{
	int hours, minutes;
	if (p->p == p->end)
		return 0;
	f->has_zone = true;
	if (!skip(p, 'Z')) {
		bool east = skip(p, '+');
		if (!east && !skip(p, '-'))
			return not_a_time(p);
		if (!digits(p, 2, &hours))
			return not_a_time(p);
		skip(p, ':');
		if (!digits(p, 2, &minutes) || minutes > 59 || hours > 23)
			return wrong(p, ": a zone is Z or like +02:00");
		f->offset_sec = (hours * 3600 + minutes * 60) * (east ? 1 : -1);
	}
	return p->p == p->end ? 0 : not_a_time(p);
}

static int64_t floor_sec(int64_t ns)
{
	int64_t sec = ns / (int64_t)CAM_NS_PER_SEC;
	return ns % (int64_t)CAM_NS_PER_SEC < 0 ? sec - 1 : sec;
}

/* The moments with this local clock, at most two, ascending. */
static size_t moments_of(const struct parser *p, const struct fields *f, int64_t as_utc_ns,
			 int64_t out[2])
{
	const struct cam_time_world *w = p->world;
	const int64_t ns = (int64_t)CAM_NS_PER_SEC, sec = floor_sec(as_utc_ns);
	if (f->has_zone) {
		out[0] = as_utc_ns - f->offset_sec * ns;
		return 1;
	}
	size_t n = 0;
	int32_t before = w->zone(w->zone_arg, sec - DAY_SEC);
	int32_t after = w->zone(w->zone_arg, sec + DAY_SEC);
	int32_t east = before > after ? before : after, west = before > after ? after : before;
	/* The larger offset gives the earlier moment. */
	if (w->zone(w->zone_arg, sec - east) == east)
		out[n++] = as_utc_ns - east * ns;
	if (west != east && w->zone(w->zone_arg, sec - west) == west)
		out[n++] = as_utc_ns - west * ns;
	return n;
}

static int with_date(const struct parser *p, const struct fields *f, int64_t *realtime_ns)
{
	int64_t ns, found[2];
	if (cam_utc_to_ns(&f->clock, &ns) || f->clock.year < 1678 || f->clock.year > 2261)
		return wrong(p, ": years go from 1678 to 2261");
	size_t n = moments_of(p, f, ns, found);
	if (!n)
		return wrong(p, " here: clocks went forward and skipped it; add Z or an offset");
	*realtime_ns = n == 2 && found[1] <= p->world->now_ns ? found[1] : found[0];
	return 0;
}

/* The moments of a clock on the day that is so many days after another moment's; ascending. */
static size_t on_day(const struct parser *p, const struct fields *f, int64_t around_ns, int days,
		     int64_t out[2])
{
	const struct cam_time_world *w = p->world;
	const int64_t ns_per_sec = (int64_t)CAM_NS_PER_SEC;
	int32_t offset = f->has_zone ? f->offset_sec : w->zone(w->zone_arg, floor_sec(around_ns));
	int64_t ns, away = offset * ns_per_sec + days * DAY_SEC * ns_per_sec;
	if (__builtin_add_overflow(around_ns, away, &ns))
		return 0;
	struct cam_utc day = cam_utc_from_ns(ns);
	day.hour = f->clock.hour;
	day.minute = f->clock.minute;
	day.second = f->clock.second;
	day.ns = f->clock.ns;
	return cam_utc_to_ns(&day, &ns) ? 0 : moments_of(p, f, ns, out);
}

static int latest(const struct parser *p, const struct fields *f, int64_t *realtime_ns)
{
	int64_t found[2];
	/* From tomorrow on: where the offset changed since, "today" may be a day too early. */
	for (int days = 1; days > -DAYS_APART; days--) {
		for (size_t n = on_day(p, f, p->world->now_ns, days, found); n > 0; n--) {
			if (found[n - 1] <= p->world->now_ns) {
				*realtime_ns = found[n - 1];
				return 0;
			}
		}
	}
	return not_a_time(p);
}

static int first_after(const struct parser *p, const struct fields *f, int64_t after_ns,
		       int64_t *realtime_ns)
{
	int64_t found[2];
	for (int days = -1; days < DAYS_APART; days++) {
		size_t n = on_day(p, f, after_ns, days, found);
		for (size_t i = 0; i < n; i++) {
			if (found[i] > after_ns) {
				*realtime_ns = found[i];
				return 0;
			}
		}
	}
	return not_a_time(p);
}

static int beside_now(const struct parser *p, int64_t *realtime_ns)
{
	struct cam_text length = {p->p + 1, (size_t)(p->end - p->p - 1)};
	uint64_t ns;
	int err = cam_duration_parse(length, &ns);
	if (err && err != -ERANGE)
		return wrong(p, "; a time before now is like -90s, -10m or -1.5h");
	int64_t way = *p->p == '-' ? -1 : 1;
	if (err || ns > INT64_MAX / 2 ||
	    __builtin_add_overflow(p->world->now_ns, way * (int64_t)ns, realtime_ns))
		return wrong(p, ": too far away");
	return 0;
}

/* Seconds with a fraction, and nothing behind them: a duration without its unit. */
static bool read_seconds(struct cam_text number, int64_t *out)
{
	uint64_t ns;
	char last = number.n ? number.p[number.n - 1] : '\0';
	if (last < '0' || last > '9' || cam_duration_parse(number, &ns) || ns > INT64_MAX)
		return false;
	*out = (int64_t)ns;
	return true;
}

static int since_1970(const struct parser *p, int64_t *realtime_ns)
{
	struct cam_text number = {p->p + 1, (size_t)(p->end - p->p - 1)};
	if (!read_seconds(number, realtime_ns))
		return wrong(p, "; @ is followed by seconds since 1970, like @1776222847.25");
	return 0;
}

static int since_boot(const struct parser *p, struct cam_time *out)
{
	const size_t n = sizeof("boot+") - 1;
	struct cam_text number = {p->p + n, (size_t)(p->end - p->p) - n};
	if (!read_seconds(number, &out->ns))
		return wrong(p, "; boot+ is followed by a kernel log's stamp, like boot+12345.678");
	out->of_boot = true;
	return 0;
}

/* after_ns: NULL, or what a clock without a date must lie behind. */
static int read_time(struct parser *p, const int64_t *after_ns, struct cam_time *out)
{
	struct cam_text s = p->whole;
	struct fields f = {0};
	*out = (struct cam_time){.ns = p->world->now_ns};
	if (cam_text_equal(s, CAM_TEXT("now")))
		return 0;
	if (!s.n)
		return not_a_time(p);
	if (*s.p == '-' || *s.p == '+')
		return beside_now(p, &out->ns);
	if (*s.p == '@')
		return since_1970(p, &out->ns);
	if (cam_text_starts(s, CAM_TEXT("boot+")))
		return since_boot(p, out);
	f.has_date = s.n > 4 && s.p[4] == '-';
	int err = f.has_date ? read_date(p, &f.clock) : 0;
	if (!err)
		err = read_clock(p, &f.clock);
	if (!err)
		err = read_zone(p, &f);
	if (err)
		return err;
	if (f.has_date)
		return with_date(p, &f, &out->ns);
	return after_ns ? first_after(p, &f, *after_ns, &out->ns) : latest(p, &f, &out->ns);
}

int cam_time_read(struct cam_text s, const struct cam_time_world *world, struct cam_time *out,
		  char *why, size_t why_bytes)
{
	struct parser p = {s.p, s.p + s.n, s, world, why, why_bytes};
	return read_time(&p, NULL, out);
}

int cam_time_read_end(struct cam_text s, const struct cam_time_world *world, int64_t after_ns,
		      struct cam_time *out, char *why, size_t why_bytes)
{
	struct parser p = {s.p, s.p + s.n, s, world, why, why_bytes};
	return read_time(&p, &after_ns, out);
}

int cam_time_parse(struct cam_text s, const struct cam_time_world *world, int64_t *realtime_ns,
		   char *why, size_t why_bytes)
{
	struct parser p = {s.p, s.p + s.n, s, world, why, why_bytes};
	struct cam_time t;
	int err = read_time(&p, NULL, &t);
	if (!err && t.of_boot)
		return wrong(&p, " here: boot+ needs recorded windows");
	if (!err)
		*realtime_ns = t.ns;
	return err;
}
