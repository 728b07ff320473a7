// SPDX-License-Identifier: Apache-2.0
/* What was different, and when anything was: as the command line's --json. */
#include "query/moments.h"
#include "render/json_why.h"
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>

#define USUAL_FINDINGS 3u
#define USUAL_MOMENTS  15u
#define MOST_MOMENTS   100u
/* Fewer than the command line reads: a page waits. */
#define SAMPLES 3000000u
/* Of memory, for one answer: several may be asked for at once. */
#define MAX_BYTES (256u << 20)

typedef int build_fn(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_why_options *o, struct cam_why *out);
typedef void write_fn(struct cam_json *j, const struct cam_why *w,
		      const struct cam_text_why_options *o);

static void send(const struct cam_server_doors *doors, const struct cam_why *w, write_fn *write,
		 struct cam_answer *a)
{
	struct cam_select_world world = doors->world(doors->self);
	struct cam_text_why_options o = {
		.table = {.zone = world.time.zone, .zone_arg = world.time.zone_arg}};
	struct cam_out out;
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	write(&j, w, &o);
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_answer_error(a, 503, "no memory");
}

static void answer(const struct cam_server_doors *doors, const struct cam_request *q,
		   struct cam_answer *a, uint64_t usual, build_fn *build, write_fn *write)
{
	static const char *const own[] = {"limit", NULL};
	struct cam_asked_deadline deadline;
	struct cam_selection s;
	struct cam_source *source;
	struct cam_why w;
	uint64_t limit;
	if (!cam_request_number(q, "limit", 1, MOST_MOMENTS, usual, &limit)) {
		cam_answer_error(a, 400, "limit: a number from 1 to 100");
		return;
	}
	if (cam_asked_windows(doors, a, &source))
		return;
	if (!cam_asked_selection(doors, source, q, own, a, &s)) {
		doors->release(doors->self, source);
		return;
	}
	cam_asked_deadline_begin(&deadline);
	cam_asked_deadline_bind(&deadline, &s);
	struct cam_why_options o = {.limit = limit,
				    .samples = SAMPLES,
				    .max_bytes = MAX_BYTES,
				    .progress = &deadline.progress};
	int err = build(source, &s, &o, &w);
	if (err == -ENODATA)
		cam_answer_error(a, 404, "nothing was recorded then");
	else if (err == -EDOM)
		cam_answer_error(a, 404, "its samples have no times");
	else if (err == -E2BIG)
		cam_answer_error(
			a, 413,
			"too much to explain at once: at most 10 minutes, and less of a large host");
	else if (err)
		cam_asked_failed(a, err);
	if (!err) {
		send(doors, &w, write, a);
		cam_why_free(&w);
	}
	cam_selection_free(&s);
	doors->release(doors->self, source);
}

void cam_answer_why(const struct cam_server_doors *doors, const struct cam_request *q,
		    struct cam_answer *a)
{
	answer(doors, q, a, USUAL_FINDINGS, cam_why_build, cam_json_why);
}

void cam_answer_moments(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	answer(doors, q, a, USUAL_MOMENTS, cam_moments_build, cam_json_moments);
}
