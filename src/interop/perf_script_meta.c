// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_script_meta.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define FACT_BYTES	    256u
#define EPOCH_NS	    (1000000000ull * CAM_NS_PER_SEC)
#define CAPTURE_UNCERTAIN   (2 * CAM_NS_PER_SEC)
#define ZONE_UNCERTAIN	    (14 * 3600 * CAM_NS_PER_SEC)
#define REFERENCE_UNCERTAIN CAM_NS_PER_US

static struct cam_text trim(struct cam_text s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct cam_text){s.p + 1, s.n - 1};
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r'))
		s.n--;
	return s;
}

static struct cam_text after(struct cam_text s, size_t n)
{
	return (struct cam_text){s.p + n, s.n - n};
}

/* What follows `key` in s; empty where it is not there. */
static struct cam_text find_after(struct cam_text s, const char *key)
{
	const char *at = memmem(s.p, s.n, key, strlen(key));
	if (!at)
		return (struct cam_text){s.p, 0};
	return after(s, (size_t)(at - s.p) + strlen(key));
}

static size_t read_number(struct cam_text s, uint64_t *out)
{
	size_t i = 0;
	uint64_t v = 0;
	for (; i < s.n && i < 19 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	*out = v;
	return i;
}

/* "1139.243049" with at most 9 decimals → ns; 0 where it is not one. */
static uint64_t read_seconds(struct cam_text s)
{
	uint64_t sec, frac, ns;
	size_t n = read_number(s, &sec);
	if (!n || n == s.n || s.p[n] != '.')
		return 0;
	size_t decimals = read_number(after(s, n + 1), &frac);
	if (!decimals || decimals > 9)
		return 0;
	for (size_t i = decimals; i < 9; i++)
		frac *= 10;
	if (__builtin_mul_overflow(sec, CAM_NS_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, frac, &ns))
		return 0;
	return ns;
}

/* "Sun Nov 15 02:45:17 2026", as ctime() writes it in any locale. */
static bool read_ctime(struct cam_text s, struct cam_utc *out)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char word[64], month[4];
	struct cam_utc t = {0};
	int year;
	size_t n = s.n < sizeof(word) ? s.n : sizeof(word) - 1;
	memcpy(word, s.p, n);
	word[n] = '\0';
	if (sscanf(word, "%*3s %3s %2d %2d:%2d:%2d %4d", month, &t.day, &t.hour, &t.minute,
		   &t.second, &year) != 6)
		return false;
	const char *at = strstr(months, month);
	if (!at || strlen(month) != 3 || (at - months) % 3)
		return false;
	t.month = (int)(at - months) / 3 + 1;
	t.year = year;
	*out = t;
	int64_t ns;
	return cam_utc_to_ns(out, &ns) == 0;
}

/* "name = cycles, , id = { 1 }, type = 1, …, { sample_period, sample_freq } = 997, …, freq = 1" */
static void read_event(struct cam_perf_meta *m, struct cam_text s)
{
	struct cam_text name = find_after(s, "name = ");
	const char *comma = name.n ? memmem(name.p, name.n, ", ", 2) : NULL;
	if (!comma || m->n_events == CAM_PERF_META_EVENTS)
		return;
	name.n = (size_t)(comma - name.p);
	uint64_t value = 0;
	if (name.n > sizeof(m->events[0].name) ||
	    !read_number(find_after(s, "{ sample_period, sample_freq } = "), &value) || !value)
		return;
	struct cam_text rest = find_after(s, "sample_freq } = ");
	bool clock = cam_text_starts(name, CAM_TEXT("cpu-clock")) ||
		     cam_text_starts(name, CAM_TEXT("task-clock"));
	uint64_t period_ns = 0;
	if (find_after(rest, " freq = 1").n || cam_text_ends(rest, CAM_TEXT(" freq = 1")))
		period_ns = CAM_NS_PER_SEC / value;
	else if (clock)
		period_ns = value;
	memcpy(m->events[m->n_events].name, name.p, name.n);
	m->events[m->n_events].n = name.n;
	m->events[m->n_events++].period_ns = period_ns;
}

/* "2026-11-15 05:03:44.641560 = 1794719024.641560 (TOD) = 1760.417350552 (monotonic)" */
static void read_reference(struct cam_perf_meta *m, struct cam_text s)
{
	uint64_t wall = read_seconds(find_after(s, " = "));
	uint64_t mine = read_seconds(find_after(s, "(TOD) = "));
	if (!wall || !mine || wall > INT64_MAX)
		return;
	m->has_reference = true;
	m->reference = (struct cam_anchor){
		.time_ns = mine,
		.raw_ns = CAM_TIME_NONE,
		.boottime_ns = CAM_TIME_NONE,
		.sched_ns = CAM_TIME_NONE,
		.realtime_ns = (int64_t)wall,
		.uncertainty_ns = REFERENCE_UNCERTAIN,
	};
}

static bool is_fact(struct cam_text key)
{
	static const char *const keys[] = {
		"hostname",	 "os release",		 "arch",
		"nrcpus online", "nrcpus avail",	 "cpudesc",
		"cpuid",	 "total memory",	 "perf version",
		"captured on",	 "time of first sample", "time of last sample",
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (cam_text_equal(key, cam_text_of(keys[i])))
			return true;
	}
	return false;
}

int cam_perf_meta_line(struct cam_perf_meta *m, struct cam_text line, struct cam_sink *sink)
{
	struct cam_text s = trim(after(line, 1));
	const char *colon = memchr(s.p, ':', s.n);
	if (!colon)
		return 0;
	struct cam_text key = trim((struct cam_text){s.p, (size_t)(colon - s.p)});
	struct cam_text value = trim(after(s, (size_t)(colon + 1 - s.p)));
	if (cam_text_equal(key, CAM_TEXT("event")))
		read_event(m, value);
	else if (cam_text_equal(key, CAM_TEXT("reference time")))
		read_reference(m, value);
	else if (cam_text_equal(key, CAM_TEXT("captured on")))
		m->has_captured = read_ctime(value, &m->captured);
	else if (cam_text_equal(key, CAM_TEXT("time of last sample"))) {
		m->last_ns = read_seconds(value);
		m->has_last = m->last_ns;
	}
	if (!is_fact(key) || !value.n)
		return 0;
	value.n = value.n < FACT_BYTES ? value.n : FACT_BYTES;
	int err = cam_sink_fact(sink, key, value);
	return err == -E2BIG ? 0 : err;
}

uint64_t cam_perf_meta_period(const struct cam_perf_meta *m, struct cam_text event)
{
	for (size_t i = 0; i < m->n_events; i++) {
		struct cam_text name = {m->events[i].name, m->events[i].n};
		if (cam_text_equal(name, event))
			return m->events[i].period_ns;
	}
	return 0;
}

/* The C library knows the zone's rules of any day; utc_ns where it has no answer. */
static int64_t as_local_time(const struct cam_utc *local, int64_t utc_ns)
{
	struct tm tm = {
		.tm_year = (int)(local->year - 1900),
		.tm_mon = local->month - 1,
		.tm_mday = local->day,
		.tm_hour = local->hour,
		.tm_min = local->minute,
		.tm_sec = local->second,
		.tm_isdst = -1,
	};
	time_t t = mktime(&tm);
	return t == (time_t)-1 ? utc_ns : (int64_t)t * (int64_t)CAM_NS_PER_SEC;
}

bool cam_perf_meta_anchor(const struct cam_perf_meta *m, const struct cam_import_options *o,
			  uint64_t sample_ns, struct cam_anchor *out)
{
	*out = (struct cam_anchor){
		.raw_ns = CAM_TIME_NONE,
		.boottime_ns = CAM_TIME_NONE,
		.sched_ns = CAM_TIME_NONE,
	};
	if (m->has_reference) {
		*out = m->reference;
		return true;
	}
	if (sample_ns >= EPOCH_NS && sample_ns <= INT64_MAX) {
		out->time_ns = sample_ns;
		out->realtime_ns = (int64_t)sample_ns;
		return true;
	}
	if (o && o->began_ns) {
		out->time_ns = sample_ns;
		out->realtime_ns = o->began_ns;
		out->uncertainty_ns = o->began_uncertain_ns;
		return true;
	}
	if (!m->has_captured || !m->has_last || m->last_ns >= EPOCH_NS)
		return false;
	int64_t local_ns;
	if (cam_utc_to_ns(&m->captured, &local_ns))
		return false;
	bool told = o && o->wall_of && o->wall_of(o->wall_arg, &m->captured, &out->realtime_ns);
	bool zone = told || (o && o->local_zone);
	out->time_ns = m->last_ns;
	if (!told)
		out->realtime_ns = zone ? as_local_time(&m->captured, local_ns) : local_ns;
	out->uncertainty_ns = CAPTURE_UNCERTAIN + (zone ? 0 : ZONE_UNCERTAIN);
	return true;
}
