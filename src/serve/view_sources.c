// SPDX-License-Identifier: Apache-2.0
/* Which recordings there are to choose from. */
#include "serve/asked.h"
#include "serve/facts.h"
#include "serve/views.h"

#include <errno.h>

static const char *kind_name(enum cam_server_kind kind)
{
	return kind == CAM_SERVER_STORE ? "store" : kind == CAM_SERVER_FILE ? "file" : "opened";
}

void cam_answer_put_source(struct cam_json *j, const struct cam_server_doors *doors)
{
	struct cam_source *source;
	struct cam_facts f = {.from_ns = INT64_MIN, .to_ns = INT64_MIN};
	/* One that cannot be read now is shown all the same, as empty: it may come back. */
	if (!doors->windows(doors->self, &source)) {
		cam_facts_gather(source, &f);
		doors->release(doors->self, source);
	}
	cam_json_text(j, "id", cam_text_of(doors->id));
	cam_json_text(j, "label", cam_text_of(doors->label));
	cam_json_text(j, "kind", cam_text_of(kind_name(doors->kind)));
	cam_answer_seconds(j, "from", f.from_ns);
	cam_answer_seconds(j, "to", f.to_ns);
	cam_json_u64(j, "samples", f.samples);
	cam_json_u64(j, "windows", f.windows);
	cam_json_u64(j, "bytes", f.bytes);
}

static void put_opening(struct cam_json *j, const struct cam_server_house *h)
{
	struct cam_server_limits l = h->limits(h->self);
	if (!l.bytes) {
		cam_json_null(j, "open");
		cam_json_text(j, "open_why", cam_text_of(l.why));
		return;
	}
	cam_json_open(j, "open", '{');
	cam_json_u64(j, "most_bytes", l.bytes);
	cam_json_u64(j, "most", l.most);
	cam_json_close(j, '}');
}

void cam_answer_sources(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	static const char *const none[] = {NULL};
	const struct cam_server_house *h = q->house;
	struct cam_server_doors one;
	struct cam_out out;
	(void)doors;
	if (!cam_request_only(q, none, a))
		return;
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_open(&j, "sources", '[');
	for (unsigned i = 0; !h->enter(h->self, i, &one); i++) {
		cam_json_open(&j, NULL, '{');
		cam_answer_put_source(&j, &one);
		cam_json_close(&j, '}');
		h->leave(h->self, &one);
	}
	cam_json_close(&j, ']');
	put_opening(&j, h);
	cam_json_bool(&j, "speedscope", cam_route_has_speedscope());
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_asked_failed(a, -ENOMEM);
}
