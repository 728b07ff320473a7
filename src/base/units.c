// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <errno.h>

struct unit {
	struct cam_text name;
	uint64_t factor;
};

/*
 * A decimal number with at most 9 digits after the point, times factor. Exact integer
 * arithmetic: "0.1s" is 100000000 ns, not what a double makes of it.
 */
static int parse_scaled(struct cam_text digits, uint64_t factor, uint64_t *out)
{
	uint64_t whole = 0, fraction = 0, scale = 1;
	size_t i = 0, seen = 0;
	for (; i < digits.n && digits.p[i] >= '0' && digits.p[i] <= '9'; i++, seen++) {
		if (__builtin_mul_overflow(whole, 10u, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(digits.p[i] - '0'), &whole))
			return -ERANGE;
	}
	if (i < digits.n && digits.p[i] == '.') {
		for (i++; i < digits.n && digits.p[i] >= '0' && digits.p[i] <= '9'; i++, seen++) {
			if (scale == 1000000000u)
				return -EINVAL;
			fraction = fraction * 10 + (uint64_t)(digits.p[i] - '0');
			scale *= 10;
		}
	}
	if (i != digits.n || seen == 0)
		return -EINVAL;
	__uint128_t v = (__uint128_t)whole * factor + (__uint128_t)fraction * factor / scale;
	if (v > UINT64_MAX)
		return -ERANGE;
	*out = (uint64_t)v;
	return 0;
}

static int parse_with_unit(struct cam_text s, const struct unit *units, size_t n, uint64_t *out)
{
	size_t digits = 0;
	while (digits < s.n && ((s.p[digits] >= '0' && s.p[digits] <= '9') || s.p[digits] == '.'))
		digits++;
	struct cam_text unit = {s.p + digits, s.n - digits};
	for (size_t i = 0; i < n; i++) {
		if (cam_text_equal(unit, units[i].name))
			return parse_scaled((struct cam_text){s.p, digits}, units[i].factor, out);
	}
	return -EINVAL;
}

int cam_duration_parse(struct cam_text s, uint64_t *ns)
{
	static const struct unit units[] = {
		{{"", 0}, CAM_NS_PER_SEC},	   {{"ns", 2}, 1},
		{{"us", 2}, CAM_NS_PER_US},	   {{"ms", 2}, CAM_NS_PER_MS},
		{{"s", 1}, CAM_NS_PER_SEC},	   {{"m", 1}, 60 * CAM_NS_PER_SEC},
		{{"h", 1}, 3600 * CAM_NS_PER_SEC}, {{"d", 1}, 86400 * CAM_NS_PER_SEC},
	};
	return parse_with_unit(s, units, sizeof(units) / sizeof(units[0]), ns);
}

int cam_size_parse(struct cam_text s, uint64_t *bytes)
{
	static const struct unit units[] = {
		{{"", 0}, 1},		{{"B", 1}, 1},		{{"K", 1}, 1ull << 10},
		{{"M", 1}, 1ull << 20}, {{"G", 1}, 1ull << 30}, {{"T", 1}, 1ull << 40},
	};
	return parse_with_unit(s, units, sizeof(units) / sizeof(units[0]), bytes);
}

/*
 * Days since 1970-01-01 and back, in the proleptic Gregorian calendar. The year is shifted to
 * begin in March, so that the leap day is its last day and months have a linear formula; 400
 * years have 146,097 days exactly.
 */
static int64_t days_from_date(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * 146097 + day_of_era - 719468;
}

struct cam_utc cam_utc_from_ns(int64_t realtime_ns)
{
	int64_t sec = realtime_ns / (int64_t)CAM_NS_PER_SEC;
	int64_t ns = realtime_ns % (int64_t)CAM_NS_PER_SEC;
	if (ns < 0) {
		ns += (int64_t)CAM_NS_PER_SEC;
		sec--;
	}
	int64_t days = sec / 86400, rest = sec % 86400;
	if (rest < 0) {
		rest += 86400;
		days--;
	}
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t day_of_era = days - era * 146097;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int month_from_march = (int)((5 * day_of_year + 2) / 153);
	struct cam_utc utc = {
		.year = year_of_era + era * 400,
		.month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9,
		.day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
		.hour = (int)(rest / 3600),
		.minute = (int)(rest / 60 % 60),
		.second = (int)(rest % 60),
		.ns = (uint32_t)ns,
	};
	utc.year += utc.month <= 2;
	return utc;
}

int cam_utc_to_ns(const struct cam_utc *utc, int64_t *realtime_ns)
{
	if (utc->month < 1 || utc->month > 12 || utc->day < 1 || utc->day > 31 || utc->hour < 0 ||
	    utc->hour > 23 || utc->minute < 0 || utc->minute > 59 || utc->second < 0 ||
	    utc->second > 60 || utc->ns >= CAM_NS_PER_SEC)
		return -EINVAL;
	/* 64 bits of nanoseconds reach from 1677 to 2262. */
	if (utc->year < 1677 || utc->year > 2262)
		return -ERANGE;
	int64_t sec = days_from_date(utc->year, utc->month, utc->day) * 86400 + utc->hour * 3600 +
		      utc->minute * 60 + utc->second;
	int64_t ns;
	if (__builtin_mul_overflow(sec, (int64_t)CAM_NS_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)utc->ns, &ns))
		return -ERANGE;
	*realtime_ns = ns;
	return 0;
}
