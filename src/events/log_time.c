// SPDX-License-Identifier: Apache-2.0
#include "events/log_time.h"

#include "base/units.h"
#include "model/severity.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

#define DAY_NS	    (86400 * (int64_t)CAM_NS_PER_SEC)
#define LOOK_BYTES  256u /* how far into a line a time is looked for */
#define LEVEL_BYTES 128u
#define MIN_EPOCH   1000000000u /* 2001: smaller numbers are something else */
#define MAX_EPOCH   9999999999u

static const char *const names[CAM_LOG_FORMATS] = {
	"auto", "iso", "syslog", "epoch", "nginx", "klog", "dmesg",
};

const char *cam_log_format_name(enum cam_log_format f)
{
	return (unsigned)f < CAM_LOG_FORMATS ? names[f] : NULL;
}

bool cam_log_format_parse(struct cam_text name, enum cam_log_format *out)
{
	for (unsigned i = 0; i < CAM_LOG_FORMATS; i++) {
		if (cam_text_equal(name, cam_text_of(names[i]))) {
			*out = (enum cam_log_format)i;
			return true;
		}
	}
	return false;
}

/* What is left of a line while it is read. */
struct reading {
	struct cam_text rest;
	const struct cam_log_world *world;
	struct cam_utc utc;
	bool has_zone;
	int32_t east;
	uint64_t doubt_ns;
};

static bool take_char(struct reading *r, char c)
{
	if (!r->rest.n || r->rest.p[0] != c)
		return false;
	r->rest.p++;
	r->rest.n--;
	return true;
}

/* Exactly that many digits; `padded`: blanks may stand for the first ones. */
static bool take_digits(struct reading *r, unsigned n, bool padded, int *out)
{
	int v = 0;
	if (r->rest.n < n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		char c = r->rest.p[i];
		if (padded && c == ' ' && !v && i + 1 < n)
			continue;
		if (c < '0' || c > '9')
			return false;
		v = v * 10 + (c - '0');
	}
	r->rest.p += n;
	r->rest.n -= n;
	*out = v;
	return true;
}

/* ".250123" or ",250": up to nine digits count. */
static void take_fraction(struct reading *r)
{
	uint64_t unit = CAM_NS_PER_SEC;
	size_t i = 1;
	if (r->rest.n < 2 || (r->rest.p[0] != '.' && r->rest.p[0] != ',') ||
	    !isdigit((unsigned char)r->rest.p[1]))
		return;
	for (; i < r->rest.n && isdigit((unsigned char)r->rest.p[i]); i++) {
		if (unit == 1)
			continue;
		unit /= 10;
		r->utc.ns += (uint32_t)((uint64_t)(r->rest.p[i] - '0') * unit);
	}
	r->doubt_ns = unit;
	r->rest.p += i;
	r->rest.n -= i;
}

static bool take_clock(struct reading *r)
{
	r->doubt_ns = CAM_NS_PER_SEC;
	if (!take_digits(r, 2, false, &r->utc.hour) || !take_char(r, ':') ||
	    !take_digits(r, 2, false, &r->utc.minute) || !take_char(r, ':') ||
	    !take_digits(r, 2, false, &r->utc.second))
		return false;
	take_fraction(r);
	return true;
}

/* Z, +02:00, +0200, with or without a blank before it. */
static void take_zone(struct reading *r)
{
	struct reading at = *r;
	int hours, minutes;
	take_char(r, ' ');
	if (take_char(r, 'Z')) {
		r->has_zone = true;
		return;
	}
	bool west = r->rest.n && r->rest.p[0] == '-';
	if ((take_char(r, '+') || take_char(r, '-')) && take_digits(r, 2, false, &hours) &&
	    (take_char(r, ':') || true) && take_digits(r, 2, false, &minutes) && hours < 24 &&
	    minutes < 60) {
		r->has_zone = true;
		r->east = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
		return;
	}
	*r = at;
}

static bool take_month(struct reading *r)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	for (int i = 0; i < 12 && r->rest.n >= 3; i++) {
		if (!strncmp(r->rest.p, months + (size_t)3 * (size_t)i, 3)) {
			r->utc.month = i + 1;
			r->rest.p += 3;
			r->rest.n -= 3;
			return true;
		}
	}
	return false;
}

/* As nanoseconds since 1970. A year that was not said is the one that leads to the last twelve months. */
static bool settle(struct reading *r, int64_t *ns)
{
	const struct cam_log_world *w = r->world;
	bool no_year = !r->utc.year;
	if (no_year)
		r->utc.year = cam_utc_from_ns(w->now_ns).year + 1;
	for (unsigned tries = 0; tries < (no_year ? 3 : 1); tries++, r->utc.year--) {
		if (cam_utc_to_ns(&r->utc, ns))
			continue;
		int64_t sec = *ns / (int64_t)CAM_NS_PER_SEC;
		int64_t east = r->has_zone ? r->east : w->zone ? w->zone(w->arg, sec) : 0;
		if (__builtin_sub_overflow(*ns, east * (int64_t)CAM_NS_PER_SEC, ns))
			continue;
		if (!no_year || *ns <= w->now_ns + DAY_NS)
			return true;
	}
	return false;
}

static bool read_iso(struct reading *r, int64_t *ns)
{
	int year;
	if (!take_digits(r, 4, false, &year) || !take_char(r, '-') ||
	    !take_digits(r, 2, false, &r->utc.month) || !take_char(r, '-') ||
	    !take_digits(r, 2, false, &r->utc.day) || (!take_char(r, 'T') && !take_char(r, ' ')) ||
	    !take_clock(r))
		return false;
	r->utc.year = year;
	take_zone(r);
	return year && settle(r, ns);
}

static bool read_syslog(struct reading *r, int64_t *ns)
{
	int year;
	/* "Wed Apr": a weekday is no month. */
	if (r->rest.n > 4 && r->rest.p[3] == ' ' && isupper((unsigned char)r->rest.p[4])) {
		r->rest.p += 4;
		r->rest.n -= 4;
	}
	if (!take_month(r) || !take_char(r, ' ') || !take_digits(r, 2, true, &r->utc.day) ||
	    !take_char(r, ' ') || !take_clock(r))
		return false;
	struct reading at = *r;
	if (take_char(r, ' ') && take_digits(r, 4, false, &year) && r->rest.n &&
	    r->rest.p[0] == ']')
		r->utc.year = year;
	else
		*r = at;
	return settle(r, ns);
}

static bool read_nginx(struct reading *r, int64_t *ns)
{
	int year;
	if (!take_digits(r, 4, false, &year) || !take_char(r, '/') ||
	    !take_digits(r, 2, false, &r->utc.month) || !take_char(r, '/') ||
	    !take_digits(r, 2, false, &r->utc.day) || !take_char(r, ' ') || !take_clock(r))
		return false;
	r->utc.year = year;
	return year && settle(r, ns);
}

/* 15/Apr/2026:03:14:07 +0200 */
static bool read_access(struct reading *r, int64_t *ns)
{
	int year;
	if (!take_digits(r, 2, false, &r->utc.day) || !take_char(r, '/') || !take_month(r) ||
	    !take_char(r, '/') || !take_digits(r, 4, false, &year) || !take_char(r, ':') ||
	    !take_clock(r))
		return false;
	r->utc.year = year;
	take_zone(r);
	return year && settle(r, ns);
}

static bool read_klog(struct reading *r, int64_t *ns)
{
	return take_digits(r, 2, false, &r->utc.month) && take_digits(r, 2, false, &r->utc.day) &&
	       take_char(r, ' ') && take_clock(r) && settle(r, ns);
}

static bool read_epoch(struct reading *r, int64_t *ns)
{
	uint64_t v = 0;
	size_t digits = 0;
	for (; digits < r->rest.n && digits < 19 && isdigit((unsigned char)r->rest.p[digits]);
	     digits++)
		v = v * 10 + (uint64_t)(r->rest.p[digits] - '0');
	uint64_t unit = digits == 13   ? CAM_NS_PER_MS
			: digits == 16 ? CAM_NS_PER_MS / 1000
			: digits == 19 ? 1
				       : CAM_NS_PER_SEC;
	if (v > INT64_MAX || (unit == CAM_NS_PER_SEC && (v < MIN_EPOCH || v > MAX_EPOCH)))
		return false;
	r->rest.p += digits;
	r->rest.n -= digits;
	if (__builtin_mul_overflow((int64_t)v, (int64_t)unit, ns))
		return false;
	r->doubt_ns = unit;
	if (unit == CAM_NS_PER_SEC)
		take_fraction(r);
	if (__builtin_add_overflow(*ns, (int64_t)r->utc.ns, ns))
		return false;
	/* A longer number is none of these, nor is a piece of a word. */
	return !r->rest.n || !isalnum((unsigned char)r->rest.p[0]);
}

/* "   12.345678] " */
static bool read_dmesg(struct reading *r, int64_t *ns)
{
	uint64_t v = 0;
	size_t digits = 0;
	while (take_char(r, ' '))
		continue;
	for (; digits < r->rest.n && digits < 10 && isdigit((unsigned char)r->rest.p[digits]);
	     digits++)
		v = v * 10 + (uint64_t)(r->rest.p[digits] - '0');
	r->rest.p += digits;
	r->rest.n -= digits;
	if (!digits || !r->rest.n || r->rest.p[0] != '.')
		return false;
	take_fraction(r);
	return !__builtin_mul_overflow((int64_t)v, (int64_t)CAM_NS_PER_SEC, ns) &&
	       !__builtin_add_overflow(*ns, (int64_t)r->utc.ns, ns) && take_char(r, ']');
}

/* Tries one format at the beginning of what is left. */
static bool read_as(struct cam_text rest, enum cam_log_format f, const struct cam_log_world *w,
		    struct cam_log_stamp *out)
{
	struct reading r = {.rest = rest, .world = w};
	static bool (*const readers[CAM_LOG_FORMATS])(struct reading *, int64_t *) = {
		[CAM_LOG_ISO] = read_iso,     [CAM_LOG_SYSLOG] = read_syslog,
		[CAM_LOG_EPOCH] = read_epoch, [CAM_LOG_NGINX] = read_nginx,
		[CAM_LOG_KLOG] = read_klog,   [CAM_LOG_DMESG] = read_dmesg,
	};
	static const char letters[] = "EWIF";
	static const enum cam_severity levels[] = {CAM_SEVERITY_ERR, CAM_SEVERITY_WARNING,
						   CAM_SEVERITY_INFO, CAM_SEVERITY_CRIT};
	bool bracket = f != CAM_LOG_NGINX && f != CAM_LOG_KLOG && take_char(&r, '[');
	const char *letter = NULL;
	if (f == CAM_LOG_KLOG &&
	    (!r.rest.n || !r.rest.p[0] || !(letter = strchr(letters, r.rest.p[0])) ||
	     !take_char(&r, r.rest.p[0])))
		return false;
	if ((f == CAM_LOG_DMESG && !bracket) || !readers[f](&r, &out->time_ns))
		return false;
	if (bracket && f != CAM_LOG_DMESG && !take_char(&r, ']'))
		return false;
	if (letter)
		out->severity = levels[letter - letters];
	while (take_char(&r, ' ') || take_char(&r, '\t'))
		continue;
	out->format = f;
	out->doubt_ns = r.doubt_ns;
	out->text = r.rest;
	return true;
}

/* Whether a line has, before that place, a key whose value is a time: time="…, "ts":… */
static bool is_keyed(struct cam_text line, size_t at)
{
	static const char *const keys[] = {"time", "ts", "timestamp"};
	while (at && (line.p[at - 1] == '"' || line.p[at - 1] == ' '))
		at--;
	if (!at || (line.p[at - 1] != '=' && line.p[at - 1] != ':'))
		return false;
	at--;
	at -= at && line.p[at - 1] == '"';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i]);
		if (at >= n && !memcmp(line.p + at - n, keys[i], n) &&
		    (at == n || !isalnum((unsigned char)line.p[at - n - 1])))
			return true;
	}
	return false;
}

/* A time that is not at the beginning: of access logs, of JSON, and behind time= or ts=. The line stays whole. */
static bool find_inside(struct cam_text line, enum cam_log_format f, const struct cam_log_world *w,
			struct cam_log_stamp *out)
{
	size_t most = line.n < LOOK_BYTES ? line.n : LOOK_BYTES;
	bool json = line.n && line.p[0] == '{';
	for (size_t i = 1; i < most; i++) {
		const struct reading here = {.rest = {line.p + i, line.n - i}, .world = w};
		struct reading r = here;
		char before = line.p[i - 1];
		bool access = (f == CAM_LOG_AUTO || f == CAM_LOG_NGINX) && before == '[' &&
			      read_access(&r, &out->time_ns);
		bool value = !access && isdigit((unsigned char)line.p[i]) &&
			     strchr("\"=: ", before) && before;
		bool iso = value && (f == CAM_LOG_AUTO || f == CAM_LOG_ISO) &&
			   ((json && before == '"') || is_keyed(line, i));
		if (iso) {
			r = here;
			iso = read_iso(&r, &out->time_ns);
		}
		bool epoch = !iso && value && (f == CAM_LOG_AUTO || f == CAM_LOG_EPOCH) &&
			     is_keyed(line, i);
		if (epoch) {
			r = here;
			epoch = read_epoch(&r, &out->time_ns);
		}
		if (!access && !iso && !epoch)
			continue;
		out->format = access ? CAM_LOG_NGINX : iso ? CAM_LOG_ISO : CAM_LOG_EPOCH;
		out->doubt_ns = r.doubt_ns;
		out->text = line;
		return true;
	}
	return false;
}

/* Whether a word of a line is a level, and is meant as one: capitals, in brackets, or level=. */
static bool is_level(struct cam_text s, size_t from, size_t n, enum cam_severity *out)
{
	bool capitals = true;
	for (size_t i = 0; i < n; i++)
		capitals = capitals && isupper((unsigned char)s.p[from + i]);
	char before = from ? s.p[from - 1] : ' ';
	char after = from + n < s.n ? s.p[from + n] : ' ';
	bool bracketed = before == '[' && after == ']';
	bool keyed =
		before == '=' || (before == '"' && after == '"') || (before == ':' && from > 1);
	if (!capitals && !bracketed && !keyed)
		return false;
	struct cam_text word = {s.p + from, n};
	if (cam_text_equal(word, CAM_TEXT("TRACE"))) {
		*out = CAM_SEVERITY_DEBUG;
		return true;
	}
	return n > 1 && cam_severity_parse(word, out);
}

static void find_severity(struct cam_log_stamp *out)
{
	struct cam_text s = {out->text.p, out->text.n < LEVEL_BYTES ? out->text.n : LEVEL_BYTES};
	for (size_t i = 0; i < s.n && out->severity == CAM_SEVERITY_MAX; i++) {
		size_t n = 0;
		while (i + n < s.n && isalpha((unsigned char)s.p[i + n]))
			n++;
		if (n)
			is_level(s, i, n, &out->severity);
		i += n;
	}
}

/* "<34>" and, of RFC 5424, the version behind it. */
static struct cam_text take_priority(struct cam_text line, struct cam_log_stamp *out)
{
	size_t i = 1;
	unsigned v = 0;
	if (line.n < 3 || line.p[0] != '<')
		return line;
	for (; i < line.n && i < 5 && isdigit((unsigned char)line.p[i]); i++)
		v = v * 10 + (unsigned)(line.p[i] - '0');
	if (i == 1 || i == line.n || line.p[i] != '>')
		return line;
	out->severity = (enum cam_severity)(v & 7);
	i++;
	if (line.n - i > 2 && line.p[i] == '1' && line.p[i + 1] == ' ')
		i += 2;
	return (struct cam_text){line.p + i, line.n - i};
}

static size_t letters(struct cam_text s, size_t from)
{
	size_t n = 0;
	while (from + n < s.n && islower((unsigned char)s.p[from + n]))
		n++;
	return n;
}

static size_t blanks(struct cam_text s, size_t from)
{
	size_t n = 0;
	while (from + n < s.n && s.p[from + n] == ' ')
		n++;
	return n;
}

/* "kern  :info  : ", as dmesg -x has it before the stamp. */
static struct cam_text take_decoded(struct cam_text line, struct cam_log_stamp *out)
{
	size_t facility = letters(line, 0), level = 0;
	enum cam_severity severity;
	struct cam_text rest = line;
	if (!facility)
		return line;
	size_t at = facility + blanks(line, facility);
	if (at < line.n && line.p[at] == ':')
		level = letters(line, ++at);
	size_t end = at + level;
	end += blanks(line, end);
	if (!level || line.n - end < 3 || memcmp(line.p + end, ": [", 3) != 0 ||
	    !cam_severity_parse((struct cam_text){line.p + at, level}, &severity))
		return line;
	out->severity = severity;
	rest.p += end + 2;
	rest.n -= end + 2;
	return rest;
}

void cam_log_stamp_read(struct cam_text line, enum cam_log_format format,
			const struct cam_log_world *w, struct cam_log_stamp *out)
{
	*out = (struct cam_log_stamp){.severity = CAM_SEVERITY_MAX, .text = line};
	struct cam_text rest = take_decoded(take_priority(line, out), out);
	bool found = false;
	if (format == CAM_LOG_AUTO) {
		for (unsigned f = CAM_LOG_ISO; f < CAM_LOG_FORMATS && !found; f++)
			found = read_as(rest, (enum cam_log_format)f, w, out);
	} else {
		found = read_as(rest, format, w, out) ||
			(format == CAM_LOG_SYSLOG && read_as(rest, CAM_LOG_ISO, w, out));
	}
	if (!found)
		found = find_inside(rest, format, w, out);
	if (!found)
		out->text = rest;
	if (out->severity == CAM_SEVERITY_MAX)
		find_severity(out);
}
