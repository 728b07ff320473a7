// SPDX-License-Identifier: Apache-2.0
/* All about a moment in one file, for a ticket: as `perfcam capsule` writes it. */
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* It is looked at many times over. */
#define SECONDS 60

struct likeness {
	const struct cam_server_doors *doors;
	const struct cam_request *q;
	struct cam_asked_deadline *deadline;
};

static bool is_filter(const char *key)
{
	static const char *const others[] = {"from",  "to",	"at",	  "around", "last",
					     "event", "format", "source", "token",  NULL};
	for (const char *const *k = others; *k; k++)
		if (!strcmp(*k, key))
			return false;
	return true;
}

static int select_like(const void *arg, struct cam_selection *s)
{
	const struct likeness *l = arg;
	char why[256];
	int err = 0;
	cam_selection_init(s);
	s->world = l->doors->world(l->doors->self);
	for (size_t i = 0; !err && i < l->q->n_params; i++)
		if (is_filter(l->q->params[i].key))
			err = cam_selection_set(s, cam_text_of(l->q->params[i].key),
						cam_text_of(l->q->params[i].value), why,
						sizeof(why));
	cam_asked_deadline_bind(l->deadline, s);
	return err;
}

static void name_scope(const struct cam_request *q, char *room, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < q->n_params && n < bytes; i++)
		if (is_filter(q->params[i].key))
			n += (size_t)snprintf(room + n, bytes - n, "%s%s %s", n ? ", " : "",
					      q->params[i].key, q->params[i].value);
	if (!n)
		snprintf(room, bytes, "everything recorded");
}

static void write(const struct cam_server_doors *doors, const struct cam_request *q,
		  struct cam_source *source, struct cam_selection *s, struct cam_answer *a)
{
	struct cam_asked_deadline deadline;
	const struct likeness like = {doors, q, &deadline};
	struct cam_out out;
	char scope[400];
	cam_asked_deadline_begin(&deadline);
	deadline.until_ns += (SECONDS - CAM_ASKED_SECONDS) * 1000000000ll;
	deadline.stop = &q->shared->stopping;
	cam_asked_deadline_bind(&deadline, s);
	name_scope(q, scope, sizeof(scope));
	const struct cam_server_capsule c = {.source = source,
					     .selection = s,
					     .like = select_like,
					     .like_arg = &like,
					     .scope = scope,
					     .progress = &deadline.progress};
	cam_out_to_buf(&out, &a->body);
	int err = doors->capsule(doors->self, &c, &out);
	int finished = cam_out_finish(&out);
	a->type = "text/html; charset=utf-8";
	a->status = 200;
	snprintf(a->file, sizeof(a->file), "perfcam-capsule.html");
	if (!err && !finished)
		return;
	a->file[0] = '\0';
	if (err == -E2BIG)
		cam_answer_error(a, 413, "too long for a capsule: at most 10 minutes");
	else
		cam_asked_failed(a, err ? err : finished);
}

void cam_answer_capsule(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	static const char *const own[] = {"format", NULL};
	struct cam_source *source;
	struct cam_selection s;
	if (!doors->capsule) {
		cam_answer_error(a, 503, "nobody here writes capsules");
		return;
	}
	if (atomic_fetch_add(&q->shared->capsules, 1)) {
		cam_answer_error(a, 503, "another capsule is being written; come again");
	} else if (!cam_asked_windows(doors, a, &source)) {
		if (cam_asked_selection(doors, source, q, own, a, &s)) {
			write(doors, q, source, &s, a);
			cam_selection_free(&s);
		}
		doors->release(doors->self, source);
	}
	atomic_fetch_sub(&q->shared->capsules, 1);
}
