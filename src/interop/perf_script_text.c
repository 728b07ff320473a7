// SPDX-License-Identifier: Apache-2.0
/*
 * What perf prints, field by field.
 *
 * Widths are perf's: "%5d" a tid, "%5d/%-5d" with the pid, "[%03d]" the CPU, "%12s" a time in
 * microseconds, "%10u" a period, "%16x" an address behind a tab. Readers go by patterns and mostly
 * do not care, but a text that is compared with perf's should differ where something is different.
 *
 * Invariants
 *  1. A record is its lines: no field holds a newline, since all pass through cam_perf_put_text().
 *  2. The first byte of a head is no blank and no '#', the first of a frame is a tab: so neither can be
 *     taken for the other, nor for a comment. (Verbatim: as far as perf itself kept to it.)
 *  3. In a head that is not verbatim no blank of the comm stands before a digit or '-': so the first
 *     number that stands alone is the pid, for every reader.
 *
 * Example: the comm "x\n9 9" of thread 12 in process 7, live, gives `x\x0a9_9     7/12    …`.
 */
#include "interop/perf_script_text.h"

#include "base/escape.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define DELETED	     " (deleted)"
#define COMM_COLUMNS 16u

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void cam_perf_put_text(struct cam_buf *out, struct cam_text s)
{
	cam_escape_put(out, s, CAM_ESCAPE_CONTROL);
}

/* Whether a reader could take what follows this blank for the pid, or the line for something else. */
static bool misleads(struct cam_text comm, size_t i)
{
	size_t next = i;
	while (next < comm.n && is_blank(comm.p[next]))
		next++;
	return i == 0 || next == comm.n || comm.p[next] == '-' ||
	       (comm.p[next] >= '0' && comm.p[next] <= '9');
}

/* What stands from `at` on, to the right of 16 columns. */
static void align(struct cam_buf *out, size_t at, bool aligned)
{
	size_t n = out->len - at;
	if (!aligned || n >= COMM_COLUMNS || !cam_buf_reserve(out, COMM_COLUMNS))
		return;
	memmove(out->data + at + COMM_COLUMNS - n, out->data + at, n);
	memset(out->data + at, ' ', COMM_COLUMNS - n);
	out->len = at + COMM_COLUMNS;
}

/* Invariants 2 and 3. */
static void put_comm(struct cam_buf *out, const struct cam_perf_put_head *h)
{
	struct cam_text comm = h->comm;
	size_t at = out->len;
	if (h->verbatim) {
		cam_perf_put_text(out, comm);
		align(out, at, h->aligned);
		cam_buf_put_u8(out, ' ');
		return;
	}
	if (!comm.n)
		cam_buf_printf(out, ":%" PRId32, h->tid);
	for (size_t i = 0; i < comm.n; i++) {
		if (is_blank(comm.p[i]) && misleads(comm, i))
			cam_buf_put_u8(out, '_');
		else if (!i && comm.p[i] == '#')
			cam_buf_printf(out, "\\x23");
		else
			cam_perf_put_text(out, (struct cam_text){comm.p + i, 1});
	}
	align(out, at, h->aligned);
	/* stackcollapse reads a comm of one letter only if two blanks follow. */
	cam_buf_put(out, "  ", comm.n == 1 ? 2 : 1);
}

static void put_time(struct cam_buf *out, uint64_t ns, bool nanoseconds)
{
	char room[32];
	uint64_t sec = ns / CAM_NS_PER_SEC, rest = ns % CAM_NS_PER_SEC;
	if (nanoseconds) {
		cam_buf_printf(out, "%5" PRIu64 ".%09" PRIu64 ": ", sec, rest);
		return;
	}
	snprintf(room, sizeof(room), "%" PRIu64 ".%06llu", sec, rest / CAM_NS_PER_US);
	cam_buf_printf(out, "%12s: ", room);
}

static void put_ids(struct cam_buf *out, const struct cam_perf_put_head *h)
{
	bool pid = (h->fields & CAM_PERF_PID) && h->pid != CAM_PID_NONE;
	bool tid = h->fields & CAM_PERF_TID;
	if (pid && tid)
		cam_buf_printf(out, "%5" PRId32 "/%-5" PRId32 " ", h->pid, h->tid);
	else if (pid || tid)
		cam_buf_printf(out, "%5" PRId32 " ", pid ? h->pid : h->tid);
}

void cam_perf_put_head(struct cam_buf *out, const struct cam_perf_put_head *h)
{
	if (h->fields & CAM_PERF_COMM)
		put_comm(out, h);
	put_ids(out, h);
	if ((h->fields & CAM_PERF_CPU) && h->cpu != CAM_CPU_NONE)
		cam_buf_printf(out, "[%03" PRIu32 "] ", h->cpu);
	if ((h->fields & CAM_PERF_TIME) && h->time_ns != CAM_TIME_NONE)
		put_time(out, h->time_ns, h->nanoseconds);
	if ((h->fields & CAM_PERF_PERIOD) && h->has_period)
		cam_buf_printf(out, "%10" PRIu64 " ", h->period);
	if ((h->fields & CAM_PERF_EVENT) && h->event.n) {
		if (h->event.n < h->event_width)
			cam_buf_printf(out, "%*s", (int)(h->event_width - h->event.n), "");
		cam_perf_put_text(out, h->event);
		cam_buf_put(out, ": ", 2);
	}
	if (h->fields & CAM_PERF_TRACE)
		cam_perf_put_text(out, h->detail);
	cam_buf_put_u8(out, '\n');
}

static struct cam_text module_of(const struct cam_perf_put_frame *f)
{
	struct cam_text module = f->module;
	if (f->inlined)
		return CAM_TEXT("inlined");
	if (f->verbatim)
		return module;
	if (cam_text_ends(module, CAM_TEXT(DELETED)))
		module.n -= sizeof(DELETED) - 1;
	return module.n ? module : CAM_TEXT("[unknown]");
}

void cam_perf_put_frame(struct cam_buf *out, const struct cam_perf_put_frame *f)
{
	struct cam_text module = module_of(f);
	bool named = f->name.n || f->blank;
	cam_buf_printf(out, "%c%16" PRIx64, f->flat ? ' ' : '\t', f->address);
	if ((f->fields & CAM_PERF_SYM) && (named || module.n)) {
		cam_buf_put_u8(out, ' ');
		cam_perf_put_text(out, named ? f->name : CAM_TEXT("[unknown]"));
		if ((f->fields & CAM_PERF_SYMOFF) && f->offset != CAM_OFFSET_NONE)
			cam_buf_printf(out, "+0x%" PRIx64, f->offset);
	}
	/* perf says "(inlined)" whether the module was asked for or not. */
	if (module.n && (f->inlined || (f->fields & CAM_PERF_DSO))) {
		cam_buf_put(out, " (", 2);
		cam_perf_put_text(out, module);
		cam_buf_put_u8(out, ')');
	}
	cam_buf_put_u8(out, '\n');
}

struct header {
	struct cam_buf *out;
	const struct cam_tables *t;
	bool imported;
	const char *clock; /* its name */
};

static void put_fact(struct header *h, const char *key, struct cam_text value)
{
	cam_buf_printf(h->out, "# %s : ", key);
	cam_perf_put_text(h->out, value);
	cam_buf_put_u8(h->out, '\n');
}

/* Imported windows have perf's own words; perfcam's are put into them where there are such. */
static int on_fact(void *arg, const struct cam_fact *fact)
{
	static const char *const words[][2] = {
		{"kernel", "os release"},	{"machine", "arch"},
		{"cpudesc", "cpudesc"},		{"cpus", "nrcpus online"},
		{"recorded by", "recorded by"}, {"note", "note"},
	};
	struct header *h = arg;
	struct cam_text key = cam_string(h->t, fact->key), value = cam_string(h->t, fact->value);
	for (size_t i = 0; !h->imported && i < sizeof(words) / sizeof(words[0]); i++) {
		if (cam_text_equal(key, cam_text_of(words[i][0])))
			put_fact(h, words[i][1], value);
	}
	if (!h->imported || cam_text_equal(key, CAM_TEXT("format")) ||
	    cam_text_equal(key, CAM_TEXT(CAM_FACT_LONGEST_EVENT)))
		return 0;
	cam_buf_printf(h->out, "# ");
	cam_perf_put_text(h->out, key);
	cam_buf_printf(h->out, cam_text_equal(key, CAM_TEXT("captured on")) ? "    : " : " : ");
	cam_perf_put_text(h->out, value);
	cam_buf_put_u8(h->out, '\n');
	return 0;
}

/* "# event : name = cpu-clock, , { sample_period, sample_freq } = 97, freq = 1" */
static void put_event(struct header *h, const struct cam_etype *e)
{
	if (!e->period_ns)
		return;
	cam_buf_printf(h->out, "# event : name = ");
	cam_perf_put_text(h->out, cam_string(h->t, e->name));
	cam_buf_printf(h->out, ", , { sample_period, sample_freq } = %llu, freq = 1\n",
		       (CAM_NS_PER_SEC + e->period_ns / 2) / e->period_ns);
}

/* The one nearest to the start; those of other precision than perf's own would only mislead. */
static int on_anchor(void *arg, const struct cam_anchor *a)
{
	struct header *h = arg;
	struct tm tm;
	time_t sec = (time_t)(a->realtime_ns / (int64_t)CAM_NS_PER_SEC);
	/* Times that count from 1970 need no reference. */
	if (a->realtime_ns <= 0 || (uint64_t)a->realtime_ns == a->time_ns ||
	    a->uncertainty_ns > CAM_NS_PER_MS || !localtime_r(&sec, &tm))
		return 0;
	unsigned long long us = (unsigned long long)a->realtime_ns % CAM_NS_PER_SEC / CAM_NS_PER_US;
	char stamp[32];
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
	cam_buf_printf(h->out,
		       "# reference time: %s.%06llu = %lld.%06llu (TOD) = %llu.%09llu (%s)\n",
		       stamp, us, (long long)sec, us, a->time_ns / CAM_NS_PER_SEC,
		       a->time_ns % CAM_NS_PER_SEC, h->clock);
	return 1;
}

static void put_captured(struct header *h, int64_t realtime_ns)
{
	char text[64];
	struct tm tm;
	time_t sec = (time_t)(realtime_ns / (int64_t)CAM_NS_PER_SEC);
	if (realtime_ns > 0 && localtime_r(&sec, &tm) && asctime_r(&tm, text)) {
		text[strcspn(text, "\n")] = 0;
		cam_buf_printf(h->out, "# captured on    : %s\n", text);
	}
}

static int is_captured(void *arg, const struct cam_fact *fact)
{
	const struct header *h = arg;
	return cam_text_equal(cam_string(h->t, fact->key), CAM_TEXT("captured on"));
}

/* When it was captured: perf's text said so, and it is among the facts; of a perf.data perf means when it was done. */
static int put_start(struct header *h, struct cam_window *w)
{
	const struct cam_window_info *info = &w->info;
	int said = h->imported ? w->ops->facts(w, is_captured, h) : 0;
	if (!said && info->realtime_ns > 0)
		put_captured(h, info->realtime_ns +
					(int64_t)(h->imported ? info->end_ns - info->start_ns : 0));
	if (!h->imported && info->host.n)
		put_fact(h, "hostname", info->host);
	return said < 0 ? said : 0;
}

int cam_perf_put_header(struct cam_buf *out, struct cam_window *w, const struct cam_tables *t)
{
	struct header h = {.out = out,
			   .t = t,
			   .imported = w->info.imported,
			   .clock = w->info.clock == CAM_CLOCK_MONOTONIC ? "monotonic" : "clock"};
	cam_buf_printf(out, "# ========\n");
	int err = put_start(&h, w);
	if (!err)
		err = w->ops->facts(w, on_fact, &h);
	for (size_t i = 0; i < t->n_etypes; i++)
		put_event(&h, &t->etypes[i]);
	if (!err && w->info.clock != CAM_CLOCK_ABSENT) {
		err = w->ops->anchors(w, on_anchor, &h);
		err = err > 0 ? 0 : err;
	}
	cam_buf_printf(out, "# ========\n#\n");
	return err ? err : cam_buf_error(out);
}
