// SPDX-License-Identifier: Apache-2.0
/*
 * From written times to a range.
 *
 * Each end of a range is a moment: a wall time, or a time of one boot (with its wall time where the
 * windows know it). Two ends of one boot make a range on the windows' clock; anything else needs both
 * wall times. What windows are asked for: headers of all, anchors or events of as few as possible,
 * newest first.
 *
 * Invariants
 *  1. What cam_when_set() and cam_when_check() accept, cam_when_settle() refuses only for what
 *     the windows hold, or since the end is not behind the beginning.
 *  2. No clock is read: now is the world's, or the end of a file.
 *
 * Example: "from boot+100 to boot+160" in a store of two boots, the newer one recorded from stamp 20 to
 * 90, the older from 50 to 9000: the older boot, on its clock. "from boot+100" alone, to now: wall times.
 */
#include "query/when.h"

#include "base/units.h"
#include "base/vec.h"
#include "model/anchor.h"
#include "query/event_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define AROUND_NS (5 * (int64_t)CAM_NS_PER_SEC)
/* A stamp just behind the last anchor, or before the first, is of that boot too. */
#define SLACK_NS (3 * CAM_NS_PER_SEC)
/* Of a recording, by percents: more than anybody counts. */
#define MAX_PARTS 1e6

static const char *const names[CAM_WHEN_MAX] = {"at",	"around", "from",   "to",
						"last", "event",  "window", "time"};

struct asked {
	const struct cam_when *when;
	struct cam_source *source;
	struct cam_time_world world; /* its now is the source's */
	char *why;
	size_t why_bytes;
};

struct moment {
	bool of_boot;
	struct cam_boot_id boot_id;
	uint64_t clock_ns; /* of_boot: on the windows' clock */
	int64_t wall_ns;   /* INT64_MIN: not known */
	/* Of a file: what that clock covers. The file before it, and the one behind, know only the wall in common with it. */
	bool of_file;
	uint64_t file_from_ns, file_to_ns;
};

const char *cam_when_name(enum cam_when_key key)
{
	return names[key];
}

void cam_when_free(struct cam_when *w)
{
	for (size_t i = 0; i < CAM_WHEN_MAX; i++) {
		free(w->text[i]);
		w->text[i] = NULL;
	}
}

bool cam_when_is_empty(const struct cam_when *w)
{
	for (size_t i = 0; i < CAM_WHEN_MAX; i++) {
		if (w->text[i])
			return false;
	}
	return true;
}

static int parse_length(struct cam_text s, uint64_t *ns)
{
	return cam_duration_parse(s, ns) || !*ns || *ns > INT64_MAX / 4 ? -EINVAL : 0;
}

/* What perf takes for --time: a part in percent, or two times of the clock. */
struct part {
	bool percent;
	double from, to;	 /* percent */
	uint64_t from_ns, to_ns; /* else; 0, UINT64_MAX: left out */
};

/* Digits up to the character that ends them; false: there is something else. */
static bool take_number(const char **p, char end, double *out)
{
	const char *behind = *p + strspn(*p, "0123456789.");
	char *parsed;
	*out = strtod(*p, &parsed);
	if (parsed != behind || behind == *p || *behind != end)
		return false;
	*p = end ? behind + 1 : behind;
	return true;
}

/* "123.456789" seconds, or nothing. */
static bool take_stamp(const char **p, char end, uint64_t otherwise, uint64_t *ns)
{
	double seconds;
	*ns = otherwise;
	if (**p == end) {
		*p += end ? 1 : 0;
		return true;
	}
	const char *from = *p;
	if (!take_number(p, end, &seconds) || !(seconds < 9e9))
		return false;
	/* A double holds no nanoseconds of a machine that is up for months. */
	char *dot;
	*ns = strtoull(from, &dot, 10) * CAM_NS_PER_SEC;
	uint64_t unit = CAM_NS_PER_SEC;
	for (dot += *dot == '.'; *dot >= '0' && *dot <= '9' && unit > 1; dot++)
		*ns += (uint64_t)(*dot - '0') * (unit /= 10);
	return true;
}

static bool read_part(const char *text, struct part *out)
{
	double size, number;
	const char *p = text;
	*out = (struct part){.percent = strchr(text, '%')};
	if (!out->percent)
		return text[1] && take_stamp(&p, ',', 0, &out->from_ns) &&
		       take_stamp(&p, 0, UINT64_MAX, &out->to_ns) && out->from_ns < out->to_ns;
	if (!take_number(&p, '%', &size))
		return false;
	if (*p == '/' && p++) {
		if (!take_number(&p, 0, &number) || number < 1 || number > MAX_PARTS ||
		    number != (double)(int)number)
			return false;
		out->from = size * (number - 1);
		out->to = size * number;
	} else {
		out->from = size;
		if (*p++ != '-' || !take_number(&p, '%', &out->to) || *p)
			return false;
	}
	return out->from < out->to && out->to <= 100;
}

/* Whether a value has the form of its key. */
static int check_form(const struct cam_when *w, enum cam_when_key key, struct cam_text value,
		      char *why, size_t why_bytes)
{
	struct cam_time t;
	uint64_t v;
	unsigned digits;
	int n = value.n < 64 ? (int)value.n : 64, err = 0;
	switch (key) {
	case CAM_WHEN_AT:
	case CAM_WHEN_FROM:
	case CAM_WHEN_TO:
		return cam_time_read(value, &w->world, &t, why, why_bytes);
	case CAM_WHEN_AROUND:
	case CAM_WHEN_LAST:
		err = parse_length(value, &v);
		if (err)
			snprintf(why, why_bytes, "'%.*s' is not a duration; try 90s, 10m or 2h", n,
				 value.p);
		return err;
	case CAM_WHEN_EVENT:
		err = cam_event_id_parse(value, &v, &digits);
		if (err)
			snprintf(why, why_bytes,
				 "'%.*s' is not an event's id: 4 to 12 digits like 3f9a01", n,
				 value.p);
		return err;
	case CAM_WHEN_WINDOW:
		if (!value.n)
			snprintf(why, why_bytes, "a window's name is missing");
		return value.n ? 0 : -EINVAL;
	case CAM_WHEN_TIME: {
		char text[CAM_WHEN_MAX_BYTES + 1] = "";
		struct part part;
		memcpy(text, value.p, value.n);
		err = read_part(text, &part) ? 0 : -EINVAL;
		if (err)
			snprintf(why, why_bytes,
				 "'%.*s' is no part of the time; try 10%%/2 (the second tenth), "
				 "10%%-20%% or 123.4,125 (seconds of its clock): one part",
				 n, value.p);
		return err;
	}
	case CAM_WHEN_MAX:
		break;
	}
	return -EINVAL;
}

int cam_when_set(struct cam_when *w, enum cam_when_key key, struct cam_text value, char *why,
		 size_t why_bytes)
{
	if (w->text[key]) {
		snprintf(why, why_bytes, "given twice");
		return -EINVAL;
	}
	if (value.n > CAM_WHEN_MAX_BYTES || memchr(value.p, 0, value.n)) {
		snprintf(why, why_bytes, "too long, or holds a zero byte");
		return -EINVAL;
	}
	int err = check_form(w, key, value, why, why_bytes);
	if (err)
		return err;
	w->text[key] = strndup(value.p, value.n);
	if (!w->text[key])
		snprintf(why, why_bytes, "out of memory");
	return w->text[key] ? 0 : -ENOMEM;
}

int cam_when_check(const struct cam_when *w, char *why, size_t why_bytes)
{
	static const enum cam_when_key ways[] = {CAM_WHEN_AT,	 CAM_WHEN_FROM,	  CAM_WHEN_LAST,
						 CAM_WHEN_EVENT, CAM_WHEN_WINDOW, CAM_WHEN_TIME};
	unsigned n = 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		n += w->text[ways[i]] != NULL;
	if (n > 1)
		snprintf(why, why_bytes,
			 "one of a window's name, a time, --at, --from, --last, --event and --time "
			 "says when; here are %u",
			 n);
	else if (w->text[CAM_WHEN_TO] && !w->text[CAM_WHEN_FROM])
		snprintf(why, why_bytes, "--to needs --from");
	else if (w->text[CAM_WHEN_AROUND] && !w->text[CAM_WHEN_AT] && !w->text[CAM_WHEN_EVENT])
		snprintf(why, why_bytes, "--around needs --at or --event");
	else
		return 0;
	return -EINVAL;
}

static bool is_of_boot(const char *text)
{
	return text && !strncmp(text, "boot+", 5);
}

bool cam_when_needs_windows(const struct cam_when *w)
{
	return w->text[CAM_WHEN_EVENT] || w->text[CAM_WHEN_WINDOW] || w->text[CAM_WHEN_TIME] ||
	       is_of_boot(w->text[CAM_WHEN_AT]) || is_of_boot(w->text[CAM_WHEN_FROM]) ||
	       is_of_boot(w->text[CAM_WHEN_TO]);
}

static int say(const struct asked *a, int err, const char *text, const char *what)
{
	snprintf(a->why, a->why_bytes, "%s %s", text, what);
	return err;
}

/* The anchors of a window, in order of time. */
struct anchors {
	struct cam_anchor *v;
	size_t n, cap;
};

static int keep_anchor(void *arg, const struct cam_anchor *anchor)
{
	struct anchors *a = arg;
	int err = cam_vec_reserve(&a->v, &a->cap, a->n + 1, sizeof(*a->v), CAM_MAX_ROWS);
	if (!err)
		a->v[a->n++] = *anchor;
	return err;
}

/* Those of a window as a stamp needs them: without any, its clock and the kernel log's are the same. */
static int read_anchors(struct cam_window *w, struct anchors *a)
{
	int err = w->ops->anchors(w, keep_anchor, a);
	if (!err && !a->n)
		err = keep_anchor(a, &(struct cam_anchor){
					     .time_ns = w->info.start_ns,
					     .sched_ns = w->info.start_ns,
					     .realtime_ns = w->info.realtime_ns,
				     });
	bool sched = false;
	for (size_t i = 0; i < a->n; i++)
		sched |= a->v[i].sched_ns != CAM_TIME_NONE;
	/* An imported file is most often on that very clock. */
	for (size_t i = 0; i < a->n && !sched; i++)
		a->v[i].sched_ns = a->v[i].time_ns;
	return err;
}

/* A file may say that it was recorded at either end of all time: there a moment stays. */
static void move(struct moment *m, __int128 by_ns)
{
	__int128 clock = m->clock_ns + by_ns;
	if (m->of_boot)
		m->clock_ns = clock < 0 ? 0 : clock > UINT64_MAX ? UINT64_MAX : (uint64_t)clock;
	if (m->wall_ns != INT64_MIN)
		m->wall_ns = cam_time_add(m->wall_ns, by_ns);
}

/* Where a window begins, and from there to a time of its clock. */
static struct moment moment_of(const struct cam_window_info *w, uint64_t clock_ns)
{
	struct moment m = {true, w->boot_id, w->start_ns, w->realtime_ns};
	move(&m, (__int128)clock_ns - w->start_ns);
	return m;
}

/* Its wall time is set_wall()'s. */
static struct moment in_window(const struct cam_window_info *w, uint64_t clock_ns)
{
	return (struct moment){true,	    w->boot_id,	 clock_ns, INT64_MIN,
			       w->imported, w->start_ns, w->end_ns};
}

static bool leaves_file(const struct moment *from, const struct moment *to)
{
	return from->of_file && from->wall_ns != INT64_MIN &&
	       (from->clock_ns < from->file_from_ns || to->clock_ns > to->file_to_ns);
}

static void set_wall(const struct anchors *a, const struct cam_window_info *info, struct moment *m)
{
	uint64_t off;
	if (!cam_anchor_wall_of(a->v, a->n, m->clock_ns, &m->wall_ns, &off))
		m->wall_ns = moment_of(info, m->clock_ns).wall_ns;
}

/* A stamp in one window: 1: it lies in it, or in its boot behind it; 0: before it. */
static int place_stamp(struct cam_window *w, uint64_t stamp_ns, bool newest_of_boot,
		       struct moment *m)
{
	struct anchors a = {0};
	struct cam_placed at;
	int err = read_anchors(w, &a), found = 0;
	if (!err && cam_anchor_place_sched(a.v, a.n, stamp_ns, &at)) {
		uint64_t early = w->info.start_ns > SLACK_NS ? w->info.start_ns - SLACK_NS : 0;
		found = at.time_ns >= early;
		if (newest_of_boot && at.time_ns > w->info.end_ns + SLACK_NS)
			found = -ERANGE; /* that boot has not come so far */
		*m = in_window(&w->info, at.time_ns);
		set_wall(&a, &w->info, m);
	}
	free(a.v);
	return err ? err : found;
}

static bool same_boot(const struct cam_boot_id *a, const struct cam_boot_id *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool skip_window(int err)
{
	return err == -ENOENT || err == -EBADMSG || err == -EIO || err == -EPROTONOSUPPORT;
}

/* The newest boot that was recorded at the stamp; of its windows the last that began before it. */
static int find_stamp(const struct asked *a, const char *text, uint64_t stamp_ns, struct moment *m)
{
	struct cam_source *s = a->source;
	struct cam_boot_id boot = {0};
	bool any = false, done_with_boot = false;
	for (size_t i = s ? s->ops->count(s) : 0; i > 0; i--) {
		const struct cam_window_info *info;
		struct cam_window *w;
		if (s->ops->info(s, i - 1, &info) || info->clock == CAM_CLOCK_ABSENT)
			continue;
		bool newest = !any || !same_boot(&boot, &info->boot_id);
		if (!newest && done_with_boot)
			continue;
		any = true;
		boot = info->boot_id;
		done_with_boot = false;
		int err = s->ops->open(s, i - 1, &w);
		if (!err) {
			err = place_stamp(w, stamp_ns, newest, m);
			w->ops->close(w);
		}
		if (err > 0)
			return 0;
		done_with_boot = err == -ERANGE;
		if (err < 0 && !done_with_boot && !skip_window(err))
			return say(a, err, text, "could not be looked up");
	}
	return say(a, -ENODATA, text, "lies in no boot that was recorded then; see perfcam ls");
}

struct event_search {
	const struct cam_tables *t;
	const struct cam_window_info *info;
	uint64_t first, found;
	unsigned digits, n;
	uint64_t time_ns;
};

static int look_at_event(void *arg, const struct cam_event *e)
{
	struct event_search *s = arg;
	uint64_t id = cam_event_id(s->t, &s->info->boot_id, e);
	if (!cam_event_id_begins(id, s->first, s->digits) || (s->n && s->found == id))
		return 0;
	s->n++;
	s->found = id;
	s->time_ns = e->time_ns;
	return 0;
}

/* Looks through the events of one window; notes the moment where there is the first such one. */
static int events_of(struct cam_window *w, struct event_search *search, struct moment *m)
{
	unsigned had = search->n;
	search->info = &w->info;
	int err = w->ops->tables(w, &search->t);
	if (!err)
		err = w->ops->events(w, look_at_event, search);
	if (err || search->n == had)
		return err;
	struct anchors a = {0};
	*m = in_window(&w->info, search->time_ns);
	err = w->ops->anchors(w, keep_anchor, &a);
	if (!err)
		set_wall(&a, &w->info, m);
	free(a.v);
	return err;
}

static int find_event(const struct asked *a, const char *text, struct moment *m)
{
	struct cam_source *s = a->source;
	struct event_search search = {0};
	int err = cam_event_id_parse(cam_text_of(text), &search.first, &search.digits);
	for (size_t i = s && !err ? s->ops->count(s) : 0; i > 0 && search.n < 2; i--) {
		struct cam_window *w;
		if (s->ops->open(s, i - 1, &w))
			continue;
		err = events_of(w, &search, m);
		w->ops->close(w);
		if (err && !skip_window(err))
			return say(a, err, text, "could not be looked up");
	}
	if (search.n == 1)
		return 0;
	return say(a, -ENODATA, text,
		   search.n ? "is how several events begin; give more digits"
			    : "is no event of these windows");
}

static int find_window(const struct asked *a, const char *text, struct moment *from,
		       struct moment *to)
{
	struct cam_source *s = a->source;
	for (size_t i = s ? s->ops->count(s) : 0; i > 0; i--) {
		const struct cam_window_info *w;
		if (s->ops->info(s, i - 1, &w) || !cam_text_equal(w->name, cam_text_of(text)))
			continue;
		if (w->clock == CAM_CLOCK_ABSENT || w->end_ns < w->start_ns)
			return say(a, -ENODATA, text, "has no times");
		*from = moment_of(w, w->start_ns);
		*to = moment_of(w, w->end_ns);
		move(to, 1);
		return 0;
	}
	return say(a, -ENODATA, text, "is no window of these; see perfcam ls --names");
}

/* The first and the last moment of all there is. */
static int find_all(const struct asked *a, struct moment *first, struct moment *last)
{
	struct cam_source *s = a->source;
	bool any = false;
	for (size_t i = 0; s && i < s->ops->count(s); i++) {
		const struct cam_window_info *w;
		if (s->ops->info(s, i, &w) || w->clock == CAM_CLOCK_ABSENT ||
		    w->end_ns <= w->start_ns)
			continue;
		struct moment from = moment_of(w, w->start_ns), to = moment_of(w, w->end_ns - 1);
		bool one_boot = any && same_boot(&first->boot_id, &from.boot_id);
		if (!any || (one_boot && from.clock_ns < first->clock_ns))
			*first = from;
		if (!any || !same_boot(&last->boot_id, &to.boot_id) || to.clock_ns > last->clock_ns)
			*last = to;
		any = true;
	}
	return any ? 0 : say(a, -ENODATA, a->when->text[CAM_WHEN_TIME], "of what has no times");
}

/* As perf rounds: a part ends before the next one begins, the last one holds the last sample. */
static __int128 part_of(double percent, uint64_t total_ns)
{
	return percent >= 100 ? (__int128)total_ns + 1
			      : (__int128)(percent / 100 * (double)total_ns + 0.5);
}

static int find_part(const struct asked *a, struct moment *from, struct moment *to)
{
	struct part part;
	struct moment last;
	int err = find_all(a, from, &last);
	if (err || !read_part(a->when->text[CAM_WHEN_TIME], &part))
		return err ? err : -EINVAL;
	/* A large file is several windows of no boot in common: by the wall, then. */
	bool one_boot = same_boot(&from->boot_id, &last.boot_id);
	from->of_boot = last.of_boot = one_boot;
	if (!part.percent) {
		/* The clock is the newest window's. */
		*from = *to = last;
		if (part.from_ns > last.clock_ns)
			return say(a, -ENODATA, a->when->text[CAM_WHEN_TIME],
				   "begins behind all there is");
		move(from, (__int128)part.from_ns - last.clock_ns);
		if (part.to_ns < last.clock_ns)
			move(to, (__int128)part.to_ns - last.clock_ns);
		move(to, 1);
		return 0;
	}
	if (!one_boot && (from->wall_ns == INT64_MIN || last.wall_ns < from->wall_ns))
		return say(a, -ENODATA, a->when->text[CAM_WHEN_TIME], "of what has no wall times");
	uint64_t total_ns = one_boot ? last.clock_ns - from->clock_ns
				     : (uint64_t)last.wall_ns - (uint64_t)from->wall_ns;
	*to = *from;
	move(from, part_of(part.from, total_ns));
	move(to, part_of(part.to, total_ns));
	return 0;
}

/* after: NULL, or where the range begins that this is to end. */
static int find_moment(const struct asked *a, enum cam_when_key key, const struct moment *after,
		       struct moment *m)
{
	const char *text = a->when->text[key];
	struct cam_time t = {0};
	int err = after && after->wall_ns != INT64_MIN
			  ? cam_time_read_end(cam_text_of(text), &a->world, after->wall_ns, &t,
					      a->why, a->why_bytes)
			  : cam_time_read(cam_text_of(text), &a->world, &t, a->why, a->why_bytes);
	if (err)
		return err;
	if (t.of_boot)
		return find_stamp(a, text, (uint64_t)t.ns, m);
	*m = (struct moment){.wall_ns = t.ns};
	return 0;
}

static int64_t length_of(const char *text, int64_t otherwise)
{
	uint64_t ns;
	return text && !parse_length(cam_text_of(text), &ns) ? (int64_t)ns : otherwise;
}

static int find_ends(const struct asked *a, struct moment *from, struct moment *to)
{
	char *const *text = a->when->text;
	int err;
	if (text[CAM_WHEN_WINDOW])
		return find_window(a, text[CAM_WHEN_WINDOW], from, to);
	if (text[CAM_WHEN_TIME])
		return find_part(a, from, to);
	if (text[CAM_WHEN_AT] || text[CAM_WHEN_EVENT]) {
		int64_t half = length_of(text[CAM_WHEN_AROUND], AROUND_NS);
		err = text[CAM_WHEN_AT] ? find_moment(a, CAM_WHEN_AT, NULL, from)
					: find_event(a, text[CAM_WHEN_EVENT], from);
		if (err)
			return err;
		*to = *from;
		move(from, -half);
		move(to, half);
		if (leaves_file(from, to))
			from->of_boot = to->of_boot = false;
		return 0;
	}
	*from = *to = (struct moment){.wall_ns = a->world.now_ns};
	if (text[CAM_WHEN_LAST]) {
		move(from, -length_of(text[CAM_WHEN_LAST], 0));
		return 0;
	}
	err = find_moment(a, CAM_WHEN_FROM, NULL, from);
	return !err && text[CAM_WHEN_TO] ? find_moment(a, CAM_WHEN_TO, from, to) : err;
}

/* Of files now is the end of the newest. */
static int64_t now_of(const struct cam_when *w, struct cam_source *source)
{
	const struct cam_window_info *info;
	size_t n = source && w->of_files ? source->ops->count(source) : 0;
	int64_t newest = INT64_MIN, end;
	for (size_t i = 0; i < n; i++) {
		if (source->ops->info(source, i, &info) || info->realtime_ns == INT64_MIN ||
		    info->end_ns < info->start_ns)
			continue;
		if (!__builtin_add_overflow(info->realtime_ns,
					    (int64_t)(info->end_ns - info->start_ns), &end) &&
		    end > newest)
			newest = end;
	}
	return newest == INT64_MIN ? w->world.now_ns : newest;
}

static int settle(const struct cam_when *w, struct cam_source *source, bool wall,
		  struct cam_when_range *out, char *why, size_t why_bytes)
{
	struct asked a = {w, source, w->world, why, why_bytes};
	struct moment from = {0}, to = {0};
	a.world.now_ns = now_of(w, source);
	int err = find_ends(&a, &from, &to);
	if (err)
		return err;
	*out = (struct cam_when_range){
		.on_clock = !wall && from.of_boot && to.of_boot &&
			    same_boot(&from.boot_id, &to.boot_id),
		.boot_id = from.boot_id,
		.from_ns = from.wall_ns,
		.to_ns = to.wall_ns,
	};
	if (out->on_clock) {
		out->from_ns = (int64_t)(from.clock_ns < INT64_MAX ? from.clock_ns : INT64_MAX);
		out->to_ns = (int64_t)(to.clock_ns < INT64_MAX ? to.clock_ns : INT64_MAX);
	} else if (from.wall_ns == INT64_MIN || to.wall_ns == INT64_MIN) {
		snprintf(why, why_bytes, "the windows do not know the wall time then");
		return -ENODATA;
	}
	if (out->from_ns >= out->to_ns) {
		snprintf(why, why_bytes, "--from %s is not before --to %s",
			 w->text[CAM_WHEN_FROM] ? w->text[CAM_WHEN_FROM] : "then",
			 w->text[CAM_WHEN_TO] ? w->text[CAM_WHEN_TO] : "now");
		return -EINVAL;
	}
	return 0;
}

int cam_when_settle(const struct cam_when *w, struct cam_source *source, struct cam_when_range *out,
		    char *why, size_t why_bytes)
{
	return settle(w, source, false, out, why, why_bytes);
}

int cam_when_settle_wall(const struct cam_when *w, struct cam_source *source, int64_t *from_ns,
			 int64_t *to_ns, char *why, size_t why_bytes)
{
	struct cam_when_range r;
	int err = settle(w, source, true, &r, why, why_bytes);
	if (err)
		return err;
	*from_ns = r.from_ns;
	*to_ns = r.to_ns;
	return 0;
}
