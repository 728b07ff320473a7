// SPDX-License-Identifier: Apache-2.0
/*
 * The samples of a selection in the formats of other programs, as `perfcam export` writes them. Written while
 * it is sent (pump.h): of most formats nothing is held but the window being read. A few at a time, so that
 * somebody who reads slowly holds up nobody else.
 */
#include "interop/compress_out.h"
#include "interop/csv_out.h"
#include "interop/firefox_out.h"
#include "interop/folded_out.h"
#include "interop/json_out.h"
#include "interop/perf_script_out.h"
#include "interop/pprof_out.h"
#include "interop/speedscope_out.h"
#include "query/row_pick.h"
#include "serve/asked.h"
#include "serve/pump.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BYTES	 (2ull << 30)
#define MAX_FOLDED_BYTES (64u << 20)
#define MAX_SECONDS	 600
#define AT_A_TIME	 2u

static int new_perf_script(struct cam_out *out, struct cam_exporter **made)
{
	return cam_perf_script_out_new(out, &CAM_PERF_SCRIPT_EVERYTHING, made);
}

static const struct format {
	const char *name, *type, *ending;
	int (*make)(struct cam_out *out, struct cam_exporter **made); /* NULL: folded */
	bool gzip;
} formats[] = {
	{"folded", "text/plain; charset=utf-8", "folded", NULL, false},
	{"perf-script", "text/plain; charset=utf-8", "perf-script", new_perf_script, false},
	{"pprof", "application/octet-stream", "pb.gz", cam_pprof_out_new, true},
	{"speedscope", "application/json", "speedscope.json", cam_speedscope_out_new, false},
	{"firefox", "application/json", "firefox.json", cam_firefox_out_new, false},
	{"csv", "text/csv; charset=utf-8", "csv", cam_csv_out_new, false},
	{"json", "application/x-ndjson", "jsonl", cam_json_out_new, false},
};

struct job {
	const struct format *format;
	struct cam_server_doors doors;
	struct cam_shared *shared;
	struct cam_source *source;
	struct cam_selection selection;
	struct cam_pump *pump;
	struct cam_exporter *to;
	struct cam_folded *folded;
	int64_t until_s;
	struct cam_asked_deadline deadline;
};

static int64_t now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static int add(void *self, struct cam_window *w, const struct cam_row_filter *rows)
{
	struct job *j = self;
	if (!cam_pump_wanted(j->pump))
		return -EPIPE;
	if (now_s() > j->until_s)
		return -ETIMEDOUT;
	return j->folded ? cam_folded_add_rows(j->folded, w, rows)
			 : cam_exporter_add(j->to, w, rows);
}

/* A window that cannot be read is left out, as in every view; `seen` of /api/flame tells of it. */
static int pass_over(void *self, size_t i, size_t n, int err)
{
	(void)self;
	(void)i;
	(void)n;
	return err == -ENOENT || err == -EBADMSG || err == -EIO || err == -EPROTONOSUPPORT ? 0
											   : err;
}

static int write_rows(struct job *j, struct cam_out *out)
{
	const struct cam_folded_options o = {
		.weight = CAM_FOLDED_SAMPLES,
		.max_bytes = MAX_FOLDED_BYTES,
	};
	const struct cam_row_pick_view view = {j, add, pass_over};
	struct cam_row_pick_missing missing;
	int err = j->format->make ? j->format->make(out, &j->to) : cam_folded_new(&o, &j->folded);
	if (!err)
		err = cam_row_pick_each(j->source, &j->selection, &view, &missing);
	if (!err && j->folded) {
		struct cam_folded_stats st = cam_folded_stats(j->folded);
		err = st.dropped   ? -E2BIG
		      : st.counted ? cam_folded_write(j->folded, out)
				   : -ENODATA;
	} else if (!err) {
		const struct cam_export_stats *st = &j->to->st;
		err = st->dropped   ? -E2BIG
		      : st->samples ? cam_exporter_finish(j->to)
		      : st->folded  ? -EOPNOTSUPP
				    : -ENODATA;
	}
	return err;
}

static int work(void *arg, struct cam_pump *p, struct cam_out *out)
{
	struct job *j = arg;
	struct cam_compress_out *packed = NULL;
	j->pump = p;
	if (!j->format->gzip)
		return write_rows(j, out);
	int err = cam_compress_out_new(&packed, CAM_COMPRESS_GZIP, out);
	if (!err)
		err = write_rows(j, cam_compress_out_stream(packed));
	if (!err)
		err = cam_compress_out_finish(packed);
	cam_compress_out_free(packed);
	return err;
}

static void done(void *arg)
{
	struct job *j = arg;
	cam_exporter_free(j->to);
	cam_folded_free(j->folded);
	cam_selection_free(&j->selection);
	j->doors.release(j->doors.self, j->source);
	atomic_fetch_sub(&j->shared->exports, 1);
	free(j);
}

/* "perfcam-20260415-031257.folded": digits only, whatever a host calls itself. */
static void name_file(const struct cam_selection *s, const char *ending, struct cam_answer *a)
{
	struct tm tm;
	time_t from = s->from_ns / 1000000000;
	char when[32] = "";
	if (s->clock == CAM_SELECT_WALL && gmtime_r(&from, &tm))
		strftime(when, sizeof(when), "-%Y%m%d-%H%M%S", &tm);
	snprintf(a->file, sizeof(a->file), "perfcam%s.%s", when, ending);
}

static void failed(struct cam_answer *a, int err)
{
	a->file[0] = '\0';
	if (err == -EOPNOTSUPP)
		cam_answer_error(a, 400, "folded stacks are counts; this format has times");
	else
		cam_asked_failed(a, err);
}

/* The job has all it needs; it is the pump's from here on. */
static void begin(struct job *j, const struct cam_request *q, struct cam_answer *a)
{
	cam_asked_deadline_begin(&j->deadline);
	j->deadline.until_ns += (MAX_SECONDS - CAM_ASKED_SECONDS) * 1000000000ll;
	j->deadline.stop = &q->shared->stopping;
	cam_asked_deadline_bind(&j->deadline, &j->selection);
	const struct cam_pump_work w = {.work = work,
					.done = done,
					.arg = j,
					.max_bytes = MAX_BYTES,
					.until_s = j->until_s,
					.stop = &q->shared->stopping};
	name_file(&j->selection, j->format->ending, a);
	a->type = j->format->type;
	a->status = 200;
	a->open_ended = q->head;
	if (q->head) {
		done(j);
		return;
	}
	int err = cam_pump_start(&w, &a->stream);
	if (!err)
		err = cam_pump_settle(a->stream);
	if (err) {
		a->stream = NULL;
		failed(a, err);
	}
}

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; name && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	return NULL;
}

static void start(const struct cam_server_doors *doors, const struct cam_request *q,
		  const struct format *format, struct cam_answer *a)
{
	static const char *const own[] = {"format", NULL};
	char why[128];
	struct job *j = calloc(1, sizeof(*j));
	if (!j) {
		atomic_fetch_sub(&q->shared->exports, 1);
		cam_asked_failed(a, -ENOMEM);
		return;
	}
	*j = (struct job){.format = format, .doors = *doors, .shared = q->shared};
	j->until_s = now_s() + MAX_SECONDS;
	if (cam_asked_windows(doors, a, &j->source)) {
		atomic_fetch_sub(&q->shared->exports, 1);
		free(j);
		return;
	}
	/* Which event folded stacks count is their own rule; the others have them all. */
	if (!cam_asked_selection(doors, j->source, q, own, a, &j->selection))
		done(j);
	else if (!j->selection.etypes.n && cam_selection_add(&j->selection, CAM_FILTER_ETYPE,
							     CAM_TEXT("*"), why, sizeof(why)))
		done(j), cam_asked_failed(a, -ENOMEM);
	else
		begin(j, q, a);
}

void cam_answer_export(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a)
{
	const char *name = cam_request_value(q, "format");
	const struct format *format = find_format(name);
	bool svg = name && !strcmp(name, "svg"), capsule = name && !strcmp(name, "capsule");
	if (!format && !svg && !capsule) {
		cam_answer_error(a, 400,
				 "format: folded, perf-script, pprof, speedscope, firefox, csv, "
				 "json, svg or capsule");
		return;
	}
	if (atomic_fetch_add(&q->shared->exports, 1) >= AT_A_TIME) {
		atomic_fetch_sub(&q->shared->exports, 1);
		cam_answer_error(a, 503, "others export already; come again");
		return;
	}
	if (format) {
		start(doors, q, format, a);
		return;
	}
	if (capsule)
		cam_answer_capsule(doors, q, a);
	else
		cam_answer_picture(doors, q, a);
	if (a->status == 200 && svg)
		snprintf(a->file, sizeof(a->file), "perfcam.svg");
	atomic_fetch_sub(&q->shared->exports, 1);
}
