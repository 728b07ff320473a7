// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a head from a line whose first field may hold anything.
 *
 * perf prints the comm raw. It may hold blanks, digits, brackets, a newline, or a forged head; only
 * its length is certain, 15 bytes. What follows has a strict form, so each number that could be
 * the pid is tried, and of the readings whose comm has at most 15 bytes the last one is true: a
 * forged head inside the comm ends before the real pid begins, and a tracepoint's text
 * starts later than 15 bytes into the line.
 *
 * Example: the comm `a 1 1.000000:` gives the line
 *   a 1 1.000000:  5298 [000]  1136.231005:    1003009 cycles:
 * Read with pid 1 it has the comm `a` and the time 1.0; read with pid 5298 its comm has 13 bytes.
 * Both fit; the last one is taken.
 *
 * A comm with a newline gives two lines. The second has the real pid, so it is read as above; for
 * the first to be a head by itself, pid, time and event would have to fit into 15 bytes with the
 * newlines around them: "\n 1 1.000000: e:" has 16. (perf_script_in.c asks for an event in every
 * head of a file that has them.)
 */
#include "interop/perf_script_line.h"

#include "model/nouns.h"

#define LONGEST_COMM 256u

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

static const char *token_end(const char *p, const char *end)
{
	while (p < end && !is_blank(*p))
		p++;
	return p;
}

static struct cam_text span(const char *p, const char *end)
{
	return (struct cam_text){p, (size_t)(end - p)};
}

/* A number of at most 19 digits, and where it ends; NULL: none. */
static const char *parse_u64(const char *p, const char *end, uint64_t *out)
{
	const char *start = p;
	uint64_t v = 0;
	for (; p < end && is_digit(*p); p++)
		v = v * 10 + (uint64_t)(*p - '0');
	*out = v;
	return p == start || p - start > 19 ? NULL : p;
}

static const char *parse_pid(const char *p, const char *end, int32_t *out)
{
	bool minus = p < end && *p == '-';
	uint64_t v;
	p = parse_u64(p + minus, end, &v);
	if (!p || v > INT32_MAX)
		return NULL;
	*out = minus ? -(int32_t)v : (int32_t)v;
	return p;
}

/* "PID" or "PID/TID" with a blank or the end behind it. */
static const char *parse_ids(const char *p, const char *end, struct cam_perf_head *h)
{
	int32_t first;
	p = parse_pid(p, end, &first);
	if (!p)
		return NULL;
	h->pid = CAM_PID_NONE;
	h->tid = first;
	if (p < end && *p == '/') {
		h->pid = first;
		p = parse_pid(p + 1, end, &h->tid);
		if (!p)
			return NULL;
	}
	return p == end || is_blank(*p) ? p : NULL;
}

/* "[003]" */
static const char *parse_cpu(const char *p, const char *end, uint32_t *cpu)
{
	uint64_t v;
	if (p == end || *p != '[')
		return NULL;
	p = parse_u64(p + 1, end, &v);
	if (!p || p == end || *p != ']' || v >= CAM_CPU_NONE)
		return NULL;
	*cpu = (uint32_t)v;
	return p + 1;
}

/* "1136.231005:" with 6 to 9 decimals and a blank or the end behind it. */
static const char *parse_time(const char *p, const char *end, struct cam_perf_head *h)
{
	uint64_t sec, frac;
	p = parse_u64(p, end, &sec);
	if (!p || p == end || *p != '.')
		return NULL;
	const char *point = p;
	p = parse_u64(p + 1, end, &frac);
	if (!p || p == end || *p != ':' || (p + 1 < end && !is_blank(p[1])))
		return NULL;
	ptrdiff_t decimals = p - point - 1;
	if (decimals < 6 || decimals > 9)
		return NULL;
	for (ptrdiff_t i = decimals; i < 9; i++)
		frac *= 10;
	if (__builtin_mul_overflow(sec, (uint64_t)1000000000, &sec) ||
	    __builtin_add_overflow(sec, frac, &h->time_ns) || h->time_ns == CAM_TIME_NONE)
		return NULL;
	h->decimals = (uint32_t)decimals;
	return p + 1;
}

/* Between cpu and time: letters of `-F +misc`, date and time of day of `-F +tod`. */
static bool is_filler(const char *p, const char *end)
{
	bool letters = end - p <= 5, clock = end - p >= 8;
	for (const char *q = p; q < end; q++) {
		letters = letters && *q >= 'A' && *q <= 'Z';
		clock = clock && (is_digit(*q) || *q == '-' || *q == ':' || *q == '.');
	}
	return letters || (clock && end[-1] != ':');
}

/* From behind the ids to behind the time. */
static const char *parse_until_time(const char *p, const char *end, struct cam_perf_head *h)
{
	h->cpu = CAM_CPU_NONE;
	for (int i = 0; i < 4; i++) {
		p = skip_blanks(p, end);
		const char *next = parse_time(p, end, h);
		if (next)
			return next;
		next = h->cpu == CAM_CPU_NONE ? parse_cpu(p, end, &h->cpu) : NULL;
		if (!next) {
			next = token_end(p, end);
			if (next == p || !is_filler(p, next))
				return NULL;
		}
		p = next;
	}
	return NULL;
}

/* "EVENT:", or the form perf has for a raw event without a name, "raw 0x1c2:". */
static const char *parse_event(const char *p, const char *end, struct cam_text *event)
{
	const char *stop = token_end(p, end);
	if (stop - p == 3 && memcmp(p, "raw", 3) == 0) {
		const char *q = skip_blanks(stop, end);
		if (end - q > 2 && q[0] == '0' && q[1] == 'x')
			stop = token_end(q, end);
	}
	if (stop - p < 2 || stop[-1] != ':')
		return NULL;
	*event = span(p, stop - 1);
	return stop;
}

/* The address a frame starts with, and where it ends; NULL: none. */
static const char *parse_address(const char *p, const char *end, uint64_t *out)
{
	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	const char *start = p;
	uint64_t v = 0;
	for (int d; p < end && (d = hex_digit(*p)) >= 0; p++)
		v = v << 4 | (uint64_t)d;
	if (p == start || p - start > 16 || (p < end && !is_blank(*p)))
		return NULL;
	*out = v;
	return p;
}

static struct cam_text trim(const char *p, const char *end)
{
	p = skip_blanks(p, end);
	while (end > p && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	return span(p, end);
}

/* Where the frame begins: with `-F +addr` the data address, its symbol and module come first. */
static const char *flat_start(const char *p, const char *end)
{
	const char *start = p, *q = p;
	while ((q = memmem(q, (size_t)(end - q), ") ", 2))) {
		uint64_t address;
		q = skip_blanks(q + 1, end);
		const char *stop = parse_address(q, end, &address);
		if (stop && stop - q >= 8)
			start = q;
	}
	return start;
}

/*
 * Without a call chain perf puts the address on the same line, right-aligned, so that at least two
 * blanks stand before it; a tracepoint's text follows after one. (What looks so may also be a
 * data address: then frames follow.)
 */
static bool parse_flat(const char *p, const char *end, struct cam_perf_head *h)
{
	if (end - p < 3 || !is_blank(p[0]) || !is_blank(p[1]))
		return false;
	struct cam_text frame = span(flat_start(p, end), end);
	h->flat = cam_perf_frame_parse(frame, &h->frame) && h->frame.has_address;
	h->text = trim(p, end);
	return h->flat;
}

/* Behind the time: [PERIOD] [EVENT:] [TEXT or FRAME]. */
static void parse_rest(const char *from, const char *end, struct cam_perf_head *h)
{
	const char *p = skip_blanks(from, end);
	h->weight = 1;
	h->has_weight = false;
	h->flat = false;
	h->event = h->text = span(end, end);
	const char *stop = parse_event(p, end, &h->event);
	uint64_t period;
	const char *number = stop ? NULL : parse_u64(p, end, &period);
	if (number && (number == end || is_blank(*number))) {
		const char *q = skip_blanks(number, end);
		stop = parse_event(q, end, &h->event);
		h->has_weight = stop || q == end || parse_flat(number, end, h);
		if (h->has_weight) {
			h->weight = period;
			stop = stop ? stop : end;
		}
	}
	if (h->flat)
		return;
	stop = stop ? stop : from;
	if (!parse_flat(stop, end, h))
		h->text = trim(stop, end);
}

static bool parse_untimed(const char *p, const char *end, struct cam_perf_head *h)
{
	h->cpu = CAM_CPU_NONE;
	h->decimals = 0;
	h->time_ns = CAM_TIME_NONE;
	p = skip_blanks(p, end);
	const char *next = parse_cpu(p, end, &h->cpu);
	p = next ? next : p;
	parse_rest(p, end, h);
	return h->event.n || (!h->text.n && !h->flat && !h->has_weight);
}

static struct cam_text comm_before(const char *line, const char *ids)
{
	while (ids > line && is_blank(ids[-1]))
		ids--;
	return span(line, ids);
}

/* Reads the head with its ids at p. */
static bool parse_at(const char *p, const char *end, bool timed, struct cam_perf_head *h)
{
	const char *after = parse_ids(p, end, h);
	if (!after)
		return false;
	h->who.n = (size_t)(after - h->who.p);
	if (!timed)
		return parse_untimed(after, end, h);
	const char *rest = parse_until_time(after, end, h);
	if (rest)
		h->text = span(rest, end);
	return rest;
}

bool cam_perf_head_parse(struct cam_text line, bool timed, struct cam_perf_head *h)
{
	const char *end = line.p + line.n;
	while (end > line.p && end[-1] == '\r')
		end--;
	const char *start = skip_blanks(line.p, end);
	struct cam_perf_head try;
	bool found = false;
	/* The first blank may be the one behind an empty comm. */
	const char *p = start > line.p ? start : token_end(start, end);
	for (;; p = token_end(p, end)) {
		p = skip_blanks(p, end);
		if (p == end)
			break;
		if (!is_digit(*p) && *p != '-')
			continue;
		struct cam_text comm = comm_before(start, p);
		if (comm.n > LONGEST_COMM || (found && (comm.n > CAM_PERF_COMM_BYTES || !timed)))
			break;
		try.who = span(line.p, line.p);
		if (!parse_at(p, end, timed, &try))
			continue;
		try.comm = comm;
		*h = try;
		found = true;
	}
	if (found && timed)
		parse_rest(h->text.p, end, h);
	return found;
}

/* The last " (" of s; `path`: only one that a path or a name in brackets follows. */
static const char *last_open(struct cam_text s, bool path)
{
	for (size_t i = s.n; i-- > 1;) {
		if (s.p[i] == '(' && is_blank(s.p[i - 1]) &&
		    (!path || s.p[i + 1] == '/' || s.p[i + 1] == '['))
			return s.p + i;
	}
	return NULL;
}

/*
 * Where "(MODULE)" at the end of s begins, or NULL. Names and modules may both hold parentheses,
 * "f(int) (/a/b (deleted))": the one that closes at the end is the module's. If they do not
 * balance, the last " (" is taken. "f(int)" has none.
 */
static const char *find_module(struct cam_text s)
{
	size_t depth = 0;
	for (size_t i = s.n; i-- > 0;) {
		depth += s.p[i] == ')';
		if (s.p[i] != '(' || --depth)
			continue;
		return i == 0 || is_blank(s.p[i - 1]) ? s.p + i : last_open(s, true);
	}
	return last_open(s, false);
}

/* "name+0x1f" → "name", 0x1f. */
static void split_offset(struct cam_perf_frame *f)
{
	struct cam_text s = f->name;
	size_t i = s.n;
	while (i > 0 && hex_digit(s.p[i - 1]) >= 0)
		i--;
	if (i == s.n || i < 3 || memcmp(s.p + i - 3, "+0x", 3) != 0)
		return;
	f->name.n = i - 3;
	if (s.n - i > 16)
		return;
	f->offset = 0;
	for (; i < s.n; i++)
		f->offset = f->offset << 4 | (uint64_t)hex_digit(s.p[i]);
}

bool cam_perf_frame_parse(struct cam_text line, struct cam_perf_frame *f)
{
	struct cam_text s = trim(line.p, line.p + line.n);
	const char *end = s.p + s.n;
	*f = (struct cam_perf_frame){.offset = CAM_OFFSET_NONE};
	const char *rest = parse_address(s.p, end, &f->address);
	f->has_address = rest;
	s = rest ? trim(rest, end) : s;
	/* Something may stand behind the module, after a blank. */
	const char *close = memrchr(s.p, ')', s.n);
	if (close && close + 1 < end && is_blank(close[1]))
		s.n = (size_t)(close + 1 - s.p);
	const char *open = s.n && s.p[s.n - 1] == ')' ? find_module(s) : NULL;
	if (open) {
		f->module = span(open + 1, s.p + s.n - 1);
		s = trim(s.p, open);
		f->blank_name = rest && open - rest > 1;
		f->inlined = cam_text_equal(f->module, CAM_TEXT("inlined"));
		if (f->inlined)
			f->module.n = 0;
	}
	f->name = s;
	split_offset(f);
	f->blank_name &= !f->name.n;
	return f->has_address || s.n;
}

bool cam_perf_is_source_line(struct cam_text line)
{
	if (line.n && line.p[0] == '|')
		return true;
	return line.n > 2 && line.p[0] == ' ' && line.p[1] == ' ' && !is_blank(line.p[2]);
}
