// SPDX-License-Identifier: Apache-2.0
/* The flame tree of a selection, and of one beside another. */
#include "query/diff.h"
#include "query/flame.h"
#include "query/flame_pair.h"
#include "query/prune.h"
#include "query/reshape.h"
#include "render/svg_flame.h"
#include "serve/asked.h"
#include "serve/send_tree.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of each tree; a comparison holds four. The server as a whole has helper.h's. */
#define MAX_TREE_BYTES (64u << 20)
#define MAX_NODES      100000u
#define USUAL_NODES    10000u
#define MOST_SAMPLES   200000u
#define USUAL_SAMPLES  50000u

/* What these routes take besides a selection. */
static const char *const flame_own[] = {"by",	 "hide",      "focus", "frames",
					"group", "recursion", NULL};
static const char *const picture_own[] = {"by",	   "hide",	"focus",  "frames",
					  "group", "recursion", "format", NULL};
static const char *const grafana_own[] = {"by",	   "hide",	"focus", "frames",
					  "group", "recursion", "nodes", NULL};
static const char *const chart_own[] = {"by",	 "hide",      "focus", "frames",
					"group", "recursion", "most",  NULL};
static const char *const diff_own[] = {"by",	     "hide",	  "focus",	 "frames",
				       "group",	     "recursion", "before-from", "before-to",
				       "before-cpu", "show",	  NULL};
static const char *const diff_picture_own[] = {"by",	      "hide",	   "focus",
					       "frames",      "group",	   "recursion",
					       "before-from", "before-to", "before-cpu",
					       "show",	      "format",	   NULL};

struct shape {
	struct cam_reshape reshape;
	enum cam_flame_by by;
	enum cam_pair_show show; /* of a comparison */
};

static bool is_one_of(const char *value, const char *const *words, unsigned *which)
{
	for (*which = 0; words[*which]; ++*which)
		if (!strcmp(value, words[*which]))
			return true;
	return false;
}

/* One parameter, if it is of a shape. -EINVAL, and why. */
static int take_shape(struct shape *s, const struct cam_param *p, char *why, size_t why_bytes)
{
	static const char *const frames[] = {"all", "user", "kernel", NULL};
	static const char *const recursions[] = {"keep", "collapse", NULL};
	static const char *const shows[] = {"differential", "elided", NULL};
	static const char *const groups[] = {"none", "package", "module", NULL};
	unsigned which;
	snprintf(why, why_bytes, "no such choice");
	if (!strcmp(p->key, "by"))
		return cam_grouping_find(cam_text_of(p->value), &s->by) ? 0 : -EINVAL;
	if (!strcmp(p->key, "hide"))
		return cam_reshape_add(&s->reshape, CAM_RESHAPE_HIDE, cam_text_of(p->value), why,
				       why_bytes);
	if (!strcmp(p->key, "focus"))
		return cam_reshape_add(&s->reshape, CAM_RESHAPE_FOCUS, cam_text_of(p->value), why,
				       why_bytes);
	if (!strcmp(p->key, "frames")) {
		s->reshape.frames = is_one_of(p->value, frames, &which) ? which : 0;
		return frames[which] ? 0 : -EINVAL;
	}
	if (!strcmp(p->key, "group")) {
		s->reshape.group = is_one_of(p->value, groups, &which) ? which : 0;
		return groups[which] ? 0 : -EINVAL;
	}
	if (!strcmp(p->key, "recursion")) {
		s->reshape.recursion = is_one_of(p->value, recursions, &which) && which;
		return recursions[which] ? 0 : -EINVAL;
	}
	if (!strcmp(p->key, "show")) {
		s->show = is_one_of(p->value, shows, &which) && which ? CAM_PAIR_ELIDED
								      : CAM_PAIR_DIFFERENTIAL;
		return shows[which] ? 0 : -EINVAL;
	}
	return 0;
}

/* false: answered, and nothing is to be freed. */
static bool read_shape(const struct cam_request *q, struct cam_answer *a, struct shape *s)
{
	*s = (struct shape){.reshape = {.max_bytes = MAX_TREE_BYTES}};
	for (size_t i = 0; i < q->n_params; i++) {
		char why[256], text[400];
		if (!take_shape(s, &q->params[i], why, sizeof(why)))
			continue;
		snprintf(text, sizeof(text), "%.60s: %s", q->params[i].key, why);
		cam_reshape_free(&s->reshape);
		cam_answer_error(a, 400, text);
		return false;
	}
	return true;
}

static int build(struct cam_source *source, const struct cam_selection *s,
		 const struct shape *shape, const struct cam_progress *progress,
		 struct cam_chart *chart, struct cam_flame *f)
{
	const struct cam_flame_options o = {
		.max_bytes = MAX_TREE_BYTES, .by = shape->by, .chart = chart, .progress = progress};
	int err = cam_flame_build(source, s, &o, f);
	if (!err && cam_reshape_is_any(&shape->reshape)) {
		err = cam_reshape_apply(&shape->reshape, f, chart);
		if (err)
			cam_flame_free(f);
	}
	return err;
}

static void bind(struct cam_asked_deadline *d, struct shape *shape, struct cam_selection *s)
{
	cam_asked_deadline_bind(d, s);
	shape->reshape.hide.patience = &d->progress;
	shape->reshape.focus.patience = &d->progress;
}

/* The tree that is asked for; false: answered, and nothing is to be freed. */
static bool build_asked(const struct cam_server_doors *doors, const struct cam_request *q,
			const char *const *own, struct cam_answer *a, struct cam_chart *chart,
			struct cam_flame *f)
{
	struct cam_source *source;
	struct cam_selection s;
	struct cam_asked_deadline deadline;
	struct shape shape;
	bool built = false;
	if (!read_shape(q, a, &shape))
		return false;
	if (cam_asked_windows(doors, a, &source)) {
		cam_reshape_free(&shape.reshape);
		return false;
	}
	if (cam_asked_selection(doors, source, q, own, a, &s)) {
		const struct cam_selection *all[] = {&s};
		cam_asked_deadline_begin(&deadline);
		bind(&deadline, &shape, &s);
		if (!cam_asked_before(source, q, all, 1, a)) {
			int err = build(source, &s, &shape, &deadline.progress, chart, f);
			built = !err;
			if (err)
				cam_asked_failed(a, err);
		}
		cam_selection_free(&s);
	}
	cam_reshape_free(&shape.reshape);
	doors->release(doors->self, source);
	return built;
}

void cam_answer_flame(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a)
{
	struct cam_flame f;
	if (!build_asked(doors, q, flame_own, a, NULL, &f))
		return;
	cam_send_tree(&f, NULL, a);
	cam_flame_free(&f);
}

/* Each sample by itself is for a short time: so many that a chart can show them. */
void cam_answer_chart(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a)
{
	struct cam_flame f;
	struct cam_chart chart = {0};
	uint64_t most;
	if (!cam_request_number(q, "most", 1, MOST_SAMPLES, USUAL_SAMPLES, &most)) {
		cam_answer_error(a, 400, "most: a number from 1 to 200000");
		return;
	}
	chart.max_rows = most;
	if (build_asked(doors, q, chart_own, a, &chart, &f)) {
		cam_send_chart(&f, &chart, a);
		cam_flame_free(&f);
	} else if (a->status == 413) {
		cam_answer_error(a, 413,
				 "that is more samples than a chart shows; choose a shorter time");
	}
	cam_chart_free(&chart);
}

static void send_picture(const struct cam_flame *f, struct cam_text title, struct cam_answer *a)
{
	struct cam_out out;
	cam_out_to_buf(&out, &a->body);
	int err = cam_svg_flame_write(f, &(struct cam_svg_flame_options){.title = title}, &out);
	int finished = cam_out_finish(&out);
	a->type = "image/svg+xml";
	a->status = 200;
	if (err || finished)
		cam_asked_failed(a, err ? err : finished);
}

/* Depth first, as Grafana's panel wants it: what follows at a greater level is below. */
void cam_answer_grafana(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	struct cam_flame f;
	struct cam_out out;
	uint64_t most;
	if (!cam_request_number(q, "nodes", 1, MAX_NODES, USUAL_NODES, &most)) {
		cam_answer_error(a, 400, "nodes: a number from 1 to 100000");
		return;
	}
	if (!build_asked(doors, q, grafana_own, a, NULL, &f))
		return;
	cam_flame_prune(&f, most);
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '[');
	for (uint32_t i = 0; i < f.n_nodes; i++) {
		cam_json_open(&j, NULL, '{');
		cam_json_u64(&j, "level", f.nodes[i].depth);
		cam_json_u64(&j, "value", f.nodes[i].total);
		cam_json_u64(&j, "self", f.nodes[i].self);
		cam_json_text(&j, "label", cam_flame_name(&f, i));
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_flame_free(&f);
	a->status = 200;
	int err = cam_out_finish(&out);
	if (err)
		cam_asked_failed(a, err);
}

/* The same filters at another time: before-from, before-to and before-cpu take the place of from, to, cpu. */
static void make_before(const struct cam_request *q, struct cam_request *before)
{
	static const char *const times[] = {"from",  "to",   "at",  "around", "last",
					    "event", "time", "cpu", NULL};
	unsigned which;
	*before = (struct cam_request){.path = q->path};
	for (size_t i = 0; i < q->n_params; i++) {
		struct cam_param p = q->params[i];
		if (!strncmp(p.key, "before-", 7))
			p.key += 7;
		else if (is_one_of(p.key, times, &which))
			continue;
		before->params[before->n_params++] = p;
	}
}

struct comparison {
	struct cam_source *source;
	struct cam_selection before, after;
	struct shape *shape;
	const struct cam_progress *progress;
	const char *const *own;
	bool picture; /* is asked for, not the tree */
};

static int compare(const struct comparison *k, struct cam_diff *d, struct cam_flame *out)
{
	struct cam_flame before, after;
	const struct cam_diff_input inputs[2] = {{k->source, &k->before}, {k->source, &k->after}};
	const struct cam_diff_options o = {.progress = k->progress, .max_bytes = MAX_TREE_BYTES};
	int err = cam_diff_build(&inputs[0], &inputs[1], &o, d);
	if (err)
		return err;
	err = build(k->source, &k->before, k->shape, k->progress, NULL, &before);
	if (!err) {
		err = build(k->source, &k->after, k->shape, k->progress, NULL, &after);
		if (!err) {
			err = cam_flame_pair(&before, &after, d->factor, k->shape->show,
					     MAX_TREE_BYTES, out);
			cam_flame_free(&after);
		}
		cam_flame_free(&before);
	}
	if (err)
		cam_diff_free(d);
	return err;
}

/* Both selections are there. */
static void send_comparison(struct comparison *k, struct cam_answer *a)
{
	struct cam_asked_deadline deadline;
	struct cam_diff d;
	struct cam_flame f;
	cam_asked_deadline_begin(&deadline);
	bind(&deadline, k->shape, &k->before);
	bind(&deadline, k->shape, &k->after);
	k->progress = &deadline.progress;
	int err = compare(k, &d, &f);
	if (err) {
		cam_asked_failed(a, err);
		return;
	}
	if (k->picture)
		send_picture(&f,
			     k->shape->show == CAM_PAIR_ELIDED
				     ? CAM_TEXT("Only in the other time")
				     : CAM_TEXT("By its change against the other time"),
			     a);
	else
		cam_send_tree(&f, &d, a);
	cam_flame_free(&f);
	cam_diff_free(&d);
}

static void answer_comparison(const struct cam_server_doors *doors, const struct cam_request *q,
			      bool picture, struct cam_answer *a)
{
	struct cam_request earlier;
	struct shape shape;
	struct comparison k = {
		.shape = &shape, .own = picture ? diff_picture_own : diff_own, .picture = picture};
	if (!cam_request_value(q, "before-from") || !cam_request_value(q, "before-to")) {
		cam_answer_error(a, 400, "before-from and before-to say what to compare with");
		return;
	}
	if (!read_shape(q, a, &shape))
		return;
	make_before(q, &earlier);
	if (cam_asked_windows(doors, a, &k.source)) {
		cam_reshape_free(&shape.reshape);
		return;
	}
	if (cam_asked_selection(doors, k.source, q, k.own, a, &k.after)) {
		if (cam_asked_selection(doors, k.source, &earlier, k.own, a, &k.before)) {
			const struct cam_selection *both[] = {&k.before, &k.after};
			if (!cam_asked_before(k.source, q, both, 2, a))
				send_comparison(&k, a);
			cam_selection_free(&k.before);
		}
		cam_selection_free(&k.after);
	}
	cam_reshape_free(&shape.reshape);
	doors->release(doors->self, k.source);
}

void cam_answer_diff(const struct cam_server_doors *doors, const struct cam_request *q,
		     struct cam_answer *a)
{
	answer_comparison(doors, q, false, a);
}

void cam_answer_picture(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	struct cam_flame f;
	if (cam_request_value(q, "before-from")) {
		answer_comparison(doors, q, true, a);
	} else if (build_asked(doors, q, picture_own, a, NULL, &f)) {
		send_picture(&f, CAM_TEXT(""), a);
		cam_flame_free(&f);
	}
}
