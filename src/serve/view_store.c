// SPDX-License-Identifier: Apache-2.0
/* What is there at all: the store in a few numbers, and how busy the machine was over all of it. */
#include "query/overview.h"
#include "serve/asked.h"
#include "serve/columns.h"
#include "serve/facts.h"
#include "serve/views.h"

#include <errno.h>

void cam_answer_store(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a)
{
	struct cam_source *source;
	struct cam_facts f;
	struct cam_out out;
	struct cam_json j;
	struct cam_buf status = CAM_BUF(1u << 20);
	static const char *const none[] = {NULL};
	if (!cam_request_only(q, none, a) || cam_asked_windows(doors, a, &source))
		return;
	cam_facts_gather(source, &f);
	cam_out_to_buf(&out, &a->body);
	j = (struct cam_json){&out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "version", CAM_TEXT(PERFCAM_VERSION));
	cam_json_text(&j, "host", f.several_hosts ? CAM_TEXT("several hosts") : f.host);
	cam_answer_seconds(&j, "from", f.from_ns);
	cam_answer_seconds(&j, "to", f.to_ns);
	cam_answer_seconds(&j, "now", doors->world(doors->self).time.now_ns);
	cam_json_u64(&j, "cpus", f.cpus);
	cam_json_u64(&j, "windows", f.windows);
	cam_json_u64(&j, "unreadable", f.unreadable);
	cam_json_u64(&j, "samples", f.samples);
	cam_json_u64(&j, "unslotted", f.unslotted);
	cam_json_u64(&j, "bytes", f.bytes);
	cam_facts_put_host(&j, source, &f);
	cam_json_bool(&j, "recording", doors->status && !doors->status(doors->self, &status));
	cam_json_close(&j, '}');
	cam_buf_free(&status);
	doors->release(doors->self, source);
	a->status = 200;
	if (cam_out_finish(&out))
		cam_answer_error(a, 503, "no memory");
}

void cam_answer_time(const struct cam_server_doors *doors, const struct cam_request *q,
		     struct cam_answer *a)
{
	struct cam_out out;
	struct cam_json j;
	struct cam_source *source;
	int64_t ns;
	static const char *const own[] = {"at", NULL};
	if (!cam_request_only(q, own, a) || cam_asked_windows(doors, a, &source))
		return;
	bool known = cam_asked_moment(doors, source, q, "at", a, &ns);
	doors->release(doors->self, source);
	if (!known)
		return;
	cam_out_to_buf(&out, &a->body);
	j = (struct cam_json){&out, false};
	cam_json_open(&j, NULL, '{');
	cam_answer_seconds(&j, "time", ns);
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_answer_error(a, 503, "no memory");
}

void cam_answer_timeline(const struct cam_server_doors *doors, const struct cam_request *q,
			 struct cam_answer *a)
{
	struct cam_asked_bins asked;
	struct cam_overview o;
	struct cam_columns c;
	struct cam_asked_deadline deadline;
	if (!cam_asked_bins(doors, q, a, &asked))
		return;
	cam_asked_deadline_begin(&deadline);
	const struct cam_selection span = {
		.clock = CAM_SELECT_WALL, .from_ns = asked.from_ns, .to_ns = asked.to_ns};
	const struct cam_selection *all[] = {&span};
	if (cam_asked_before(asked.source, q, all, 1, a)) {
		doors->release(doors->self, asked.source);
		return;
	}
	int err = cam_overview_build(asked.source, asked.from_ns, asked.to_ns, asked.n,
				     &deadline.progress, &o);
	doors->release(doors->self, asked.source);
	if (err) {
		cam_asked_failed(a, err);
		return;
	}
	cam_columns_begin(&c);
	cam_answer_seconds(&c.json, "from", o.from_ns);
	cam_answer_seconds(&c.json, "step", (int64_t)o.step_ns);
	cam_json_u64(&c.json, "unreadable", o.unreadable);
	cam_json_u64(&c.json, "unplaced", o.unplaced);
	cam_columns_add(&c, "busy", CAM_COLUMN_F32, o.busy, o.n);
	cam_columns_add(&c, "peak", CAM_COLUMN_F32, o.peak, o.n);
	cam_columns_add(&c, "unseen", CAM_COLUMN_F32, o.unseen, o.n);
	cam_columns_add(&c, "pinned", CAM_COLUMN_U8, o.pinned, o.n);
	cam_asked_finish(&c, a);
	cam_overview_free(&o);
}
