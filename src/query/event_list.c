// SPDX-License-Identifier: Apache-2.0
#include "query/event_list.h"

#include "base/expression.h"
#include "base/vec.h"
#include "query/event_id.h"
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_EVENTS     (1u << 20)
#define MAX_NAME_BYTES (64u << 20)
/* Then who waits is asked: each is held against all ranges of the selection, and a file may make as many as it has anchors. */
#define EVENTS_A_TELL 64u

struct work {
	struct cam_event_list *out;
	const struct cam_event_list_options *options;
	size_t cap;
	struct cam_walk_window *x;
	uint64_t looked_at;
};

void cam_event_list_free(struct cam_event_list *l)
{
	free(l->events);
	if (l->names)
		cam_tables_free(l->names);
	free(l->names);
	*l = (struct cam_event_list){0};
}

/* By the selection's own times. */
static bool is_meant(struct cam_walk_window *x, uint64_t time_ns)
{
	const struct cam_selection *s = x->walk->selection;
	if (s->clock == CAM_SELECT_ALWAYS)
		return true;
	int64_t t = s->clock == CAM_SELECT_WALL ? cam_walk_wall(x, time_ns) : (int64_t)time_ns;
	return t != INT64_MIN && t >= s->from_ns && t < s->to_ns;
}

static bool is_within(struct cam_walk_window *x, uint64_t time_ns)
{
	if (time_ns < x->w->info.start_ns || time_ns > x->w->info.end_ns)
		return is_meant(x, time_ns);
	for (size_t i = 0; i < x->selector.n_ranges; i++)
		if (time_ns >= x->selector.ranges[i].from_ns &&
		    time_ns < x->selector.ranges[i].to_ns)
			return true;
	return x->selector.whole;
}

/* Of "log:app.log", "log" is the kind of source. */
static bool is_of(struct cam_text source, struct cam_text wanted)
{
	return cam_text_starts(source, wanted) &&
	       (source.n == wanted.n || source.p[wanted.n] == ':');
}

static bool is_wanted(const struct work *k, const struct cam_event *e)
{
	const struct cam_event_list_options *o = k->options;
	struct cam_text text = cam_string(k->x->tables, e->text);
	if (e->severity > o->least ||
	    (o->source.n && !is_of(cam_string(k->x->tables, e->source), o->source)))
		return false;
	for (size_t i = 0; o->match && i < o->match->n; i++) {
		if (!cam_expression_fits(&o->match->v[i], text))
			return false;
	}
	return true;
}

/* Strings move while more come: the id for now, the text at the end. */
static int keep_text(struct work *k, struct cam_str_id id, struct cam_text *out)
{
	struct cam_str_id kept;
	int err = cam_string_intern(k->out->names, cam_string(k->x->tables, id), &kept);
	*out = (struct cam_text){NULL, kept.v};
	return err;
}

static int take_event(void *arg, const struct cam_event *e)
{
	struct work *k = arg;
	struct cam_event_list *l = k->out;
	const struct cam_progress *p = k->options->progress;
	if (++k->looked_at % EVENTS_A_TELL == 0 && p) {
		int stop = p->tell(p->arg, k->x->walk->done, k->x->walk->all);
		if (stop)
			return stop;
	}
	if (!is_wanted(k, e) || !is_within(k->x, e->time_ns))
		return 0;
	int err = cam_vec_reserve(&l->events, &k->cap, l->n + 1, sizeof(*l->events), MAX_EVENTS);
	struct cam_moment_event v = {
		.id = cam_event_id(k->x->tables, &k->x->w->info.boot_id, e),
		.wall_ns = cam_walk_wall(k->x, e->time_ns),
		.time_ns = e->time_ns,
		.uncertainty_ns = e->uncertainty_ns,
		.severity = e->severity,
	};
	if (!err)
		err = keep_text(k, e->source, &v.source);
	if (!err)
		err = keep_text(k, e->text, &v.text);
	if (!err)
		l->events[l->n++] = v;
	return err;
}

/* The header says whether there are any. */
static bool pass_over(void *self, const struct cam_window_info *info)
{
	(void)self;
	return !info->events;
}

static int look_at_window(void *self, struct cam_walk_window *x)
{
	struct work *k = self;
	k->x = x;
	x->samples_done = true;
	return x->w->ops->events(x->w, take_event, k);
}

static int by_time(const void *a, const void *b)
{
	const struct cam_moment_event *x = a, *y = b;
	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* All that are more severe than some, and the newest of those. */
static void leave_out(struct cam_event_list *l, size_t most)
{
	size_t n_of[CAM_SEVERITY_MAX] = {0}, room = most, kept = 0;
	unsigned last = 0;
	for (size_t i = 0; i < l->n; i++)
		n_of[l->events[i].severity]++;
	for (; last < CAM_SEVERITY_MAX && n_of[last] <= room; last++)
		room -= n_of[last];
	if (last == CAM_SEVERITY_MAX)
		return;
	size_t skip = n_of[last] - room;
	for (size_t i = 0; i < l->n; i++) {
		unsigned severity = l->events[i].severity;
		if (severity > last || (severity == last && skip && skip--))
			continue;
		l->events[kept++] = l->events[i];
	}
	l->n = kept;
}

static void finish(struct cam_event_list *l, size_t most)
{
	if (l->n)
		qsort(l->events, l->n, sizeof(*l->events), by_time);
	l->n_all = l->n;
	if (most)
		leave_out(l, most);
	for (size_t i = 0; i < l->n; i++) {
		struct cam_moment_event *e = &l->events[i];
		e->source = cam_string(l->names, (struct cam_str_id){(uint32_t)e->source.n});
		e->text = cam_string(l->names, (struct cam_str_id){(uint32_t)e->text.n});
	}
}

int cam_event_list_build(struct cam_source *source, const struct cam_selection *s,
			 const struct cam_event_list_options *o, struct cam_event_list *out)
{
	struct work k = {.out = out, .options = o};
	struct cam_walk walk = {0};
	const struct cam_walk_view view = {.self = &k,
					   .skip = pass_over,
					   .open = look_at_window,
					   .progress = o->progress,
					   .wall = true,
					   .no_names = true};
	*out = (struct cam_event_list){.names = calloc(1, sizeof(*out->names))};
	int err = out->names ? cam_tables_init(out->names, MAX_NAME_BYTES) : -ENOMEM;
	if (!err)
		err = cam_walk(source, s, &view, &walk);
	out->unreadable = walk.seen.unreadable;
	cam_walk_free(&walk);
	if (err)
		cam_event_list_free(out);
	else
		finish(out, o->most);
	return err;
}
