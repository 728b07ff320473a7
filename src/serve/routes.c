// SPDX-License-Identifier: Apache-2.0
#include "serve/routes.h"

#include "base/json.h"
#include "base/out.h"

#include <errno.h>
#include <string.h>

#define OK	    200u
#define NOT_FOUND   404u
#define UNAVAILABLE 503u

static void begin(struct cam_out *out, struct cam_json *j, struct cam_buf *to)
{
	cam_out_to_buf(out, to);
	*j = (struct cam_json){out, false};
}

static unsigned say_error(struct cam_buf *to, unsigned status, const char *words)
{
	struct cam_out out;
	struct cam_json j;
	cam_buf_clear(to);
	begin(&out, &j, to);
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "error", cam_text_of(words));
	cam_json_close(&j, '}');
	cam_out_finish(&out);
	return status;
}

static void put_window(struct cam_json *j, const struct cam_window_info *w)
{
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "name", w->name);
	cam_json_text(j, "host", w->host);
	if (w->realtime_ns != INT64_MIN)
		cam_json_i64(j, "start_ns", w->realtime_ns);
	cam_json_u64(j, "length_ns", w->end_ns - w->start_ns);
	cam_json_u64(j, "samples", w->samples);
	cam_json_u64(j, "lost", w->lost);
	cam_json_u64(j, "bytes", w->file_bytes);
	cam_json_u64(j, "cpus", w->cpus);
	cam_json_u64(j, "events", w->events);
	cam_json_bool(j, "sealed", w->sealed);
	cam_json_bool(j, "pinned", w->pinned);
	cam_json_close(j, '}');
}

static unsigned answer_windows(const struct cam_server_doors *doors, struct cam_buf *to)
{
	struct cam_source *source;
	int err = doors->windows(doors->self, &source);
	if (err)
		return say_error(to, UNAVAILABLE, strerror(-err));
	struct cam_out out;
	struct cam_json j;
	size_t unreadable = 0, n = source->ops->count(source);
	begin(&out, &j, to);
	cam_json_open(&j, NULL, '{');
	cam_json_open(&j, "windows", '[');
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info;
		if (source->ops->info(source, i, &info))
			unreadable++;
		else
			put_window(&j, info);
	}
	cam_json_close(&j, ']');
	cam_json_u64(&j, "unreadable", unreadable);
	cam_json_close(&j, '}');
	source->ops->close(source);
	return cam_out_finish(&out) ? say_error(to, UNAVAILABLE, "too many windows") : OK;
}

static unsigned answer_status(const struct cam_server_doors *doors, struct cam_buf *to)
{
	int err = doors->status ? doors->status(doors->self, to) : -ENOENT;
	return err ? say_error(to, UNAVAILABLE, "no recorder runs on this store") : OK;
}

static unsigned answer_index(struct cam_buf *to)
{
	struct cam_out out;
	struct cam_json j;
	begin(&out, &j, to);
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "perfcam", CAM_TEXT(PERFCAM_VERSION));
	cam_json_open(&j, "paths", '[');
	cam_json_text(&j, NULL, CAM_TEXT("/api/windows"));
	cam_json_text(&j, NULL, CAM_TEXT("/api/status"));
	cam_json_text(&j, NULL, CAM_TEXT("/healthz"));
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	return cam_out_finish(&out) ? UNAVAILABLE : OK;
}

unsigned cam_route(const struct cam_server_doors *doors, const char *path, struct cam_buf *out)
{
	if (!strcmp(path, "/"))
		return answer_index(out);
	if (!strcmp(path, "/api/windows"))
		return answer_windows(doors, out);
	if (!strcmp(path, "/api/status"))
		return answer_status(doors, out);
	return say_error(out, NOT_FOUND, "no such path; / lists them");
}
