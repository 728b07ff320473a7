// SPDX-License-Identifier: Apache-2.0
/*
 * One moment from all sides: tables by process, function and core; the busiest core and what it ran (the
 * one that an average over all cores hides); events and host counters of the windows it lies in.
 *
 * A counter stands out when it is bad by itself (tasks wait that could run, time is stolen, packets are
 * dropped), or is at least twice what it is in the rest of the same windows and not negligible.
 */
#include "query/moment.h"

#include "base/vec.h"
#include "model/anchor.h"
#include "query/event_id.h"
#include "query/table.h"
#include "query/tracks.h"
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_EVENTS     (1u << 20)
#define MAX_NAME_BYTES (64u << 20)

enum unit {
	NOTHING,
	TASKS,	   /* a value of the instant */
	SHARE,	   /* nanoseconds of each interval: per mille of its length (and of all CPUs) */
	PER_SECOND /* a count */
};

static const struct {
	enum unit unit;
	bool per_cpu;
	uint64_t floor; /* below this nothing stands out */
	uint64_t bad;	/* from this on it does by itself; 0: never */
} rules[CAM_COUNTER_MAX] = {
	[CAM_COUNTER_IRQ] = {SHARE, true, 20, 0},
	[CAM_COUNTER_SOFTIRQ] = {SHARE, true, 20, 0},
	[CAM_COUNTER_STEAL] = {SHARE, true, 10, 50},
	[CAM_COUNTER_RUNNABLE] = {TASKS, false, 2000, 0},
	[CAM_COUNTER_SWITCHES] = {PER_SECOND, false, 1000000, 0},
	[CAM_COUNTER_PSI_CPU] = {SHARE, false, 50, 0},
	[CAM_COUNTER_PSI_MEMORY] = {SHARE, false, 10, 50},
	[CAM_COUNTER_PSI_MEMORY_FULL] = {SHARE, false, 10, 50},
	[CAM_COUNTER_PSI_IO] = {SHARE, false, 50, 0},
	[CAM_COUNTER_PSI_IO_FULL] = {SHARE, false, 50, 0},
	[CAM_COUNTER_SOFTNET_DROPPED] = {PER_SECOND, false, 1, 1},
	[CAM_COUNTER_SOFTNET_SQUEEZED] = {PER_SECOND, false, 1000, 0},
};

/* Values, and the time they are of. */
struct mean {
	__uint128_t sum;
	uint64_t span_ns, n, max;
};

struct build {
	struct cam_moment *out;
	const struct cam_moment_options *options;
	struct mean inside[CAM_COUNTER_MAX], outside[CAM_COUNTER_MAX];
	size_t cap_events, first_event; /* of the window */
	uint32_t cpus;
	bool found;
	struct cam_walk_window *x;
};

struct cam_coverage cam_coverage_of(const struct cam_seen *seen, const struct cam_measure *all,
				    bool cpu_known)
{
	struct cam_coverage c = {.busy = seen->samples, .idle = seen->idle};
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		c.by_ledger |= seen->by_cause[i] > 0;
		if (i == CAM_CAUSE_IDLE)
			c.idle += seen->by_cause[i];
		else if (cam_cause_is_loss((enum cam_cause)i))
			c.lost += seen->by_cause[i];
		else
			c.other += seen->by_cause[i];
	}
	c.due = c.busy + c.idle + c.lost + c.other;
	c.known = c.by_ledger && c.due;
	if (c.known || !cpu_known || !seen->cpus || !seen->observed_ns)
		return c;
	/* What was not sampled may have been idle, or not: it is not known. */
	uint64_t due = seen->cpus * seen->observed_ns,
		 each = all->samples ? all->cpu_ns / all->samples : 0;
	c = (struct cam_coverage){.known = true, .due = due, .busy = all->cpu_ns};
	c.idle = seen->idle * each;
	c.lost = seen->lost * each;
	uint64_t sampled = c.busy + c.idle + c.lost;
	c.due = sampled > due ? sampled : due;
	c.other = c.due - sampled;
	return c;
}

static bool within(const struct cam_walk_window *x, uint64_t time_ns)
{
	if (x->selector.whole)
		return true;
	for (size_t i = 0; i < x->selector.n_ranges; i++) {
		if (time_ns >= x->selector.ranges[i].from_ns &&
		    time_ns < x->selector.ranges[i].to_ns)
			return true;
	}
	return false;
}

static int intern(struct build *b, struct cam_text text, struct cam_text *out)
{
	struct cam_str_id id;
	int err = cam_string_intern(b->out->names, text, &id);
	/* Strings move while more come: the id for now, the text at the end. */
	*out = (struct cam_text){NULL, id.v};
	return err;
}

/* Windows have their events as they came, by all sources: here they are by time. */
static size_t place_of(const struct build *b, uint64_t time_ns)
{
	size_t at = b->out->n_events;
	while (at > b->first_event && b->out->events[at - 1].time_ns > time_ns)
		at--;
	return at;
}

static int on_event(void *arg, const struct cam_event *e)
{
	struct build *b = arg;
	struct cam_walk_window *x = b->x;
	/* A window's first lines of the kernel's log may be from before it: taken whole does not mean them. */
	bool inside = e->time_ns >= x->w->info.start_ns && e->time_ns <= x->w->info.end_ns;
	if (!within(x, e->time_ns) || (!inside && x->walk->selection->clock != CAM_SELECT_ALWAYS))
		return 0;
	b->out->n_all_events++;
	size_t at = place_of(b, e->time_ns);
	if (at == b->options->max_events)
		return 0;
	int err = cam_vec_reserve(&b->out->events, &b->cap_events, b->out->n_events + 1,
				  sizeof(*b->out->events), MAX_EVENTS + 1);
	struct cam_moment_event v = {
		.id = cam_event_id(x->tables, &x->w->info.boot_id, e),
		.wall_ns = cam_walk_wall(x, e->time_ns),
		.time_ns = e->time_ns,
		.uncertainty_ns = e->uncertainty_ns,
		.severity = e->severity,
	};
	if (!err)
		err = intern(b, cam_string(x->tables, e->source), &v.source);
	if (!err)
		err = intern(b, cam_string(x->tables, e->text), &v.text);
	if (err)
		return err;
	struct cam_moment_event *to = b->out->events + at;
	memmove(to + 1, to, (b->out->n_events - at) * sizeof(*to));
	*to = v;
	b->out->n_events += b->out->n_events < b->options->max_events;
	return 0;
}

static int on_counter(void *arg, const struct cam_counter *c)
{
	struct build *b = arg;
	/* Of a CPU, zeros are left out but for idle: it has the time that shares are of. */
	if (c->kind >= CAM_COUNTER_MAX ||
	    (rules[c->kind].unit == NOTHING && c->kind != CAM_COUNTER_IDLE))
		return 0;
	/* An interval counts by its middle. */
	uint64_t at = c->time_ns > c->span_ns / 2 ? c->time_ns - c->span_ns / 2 : 0;
	struct mean *m = within(b->x, at) ? &b->inside[c->kind] : &b->outside[c->kind];
	m->sum += c->value;
	m->span_ns += c->span_ns;
	m->n++;
	if (c->value > m->max)
		m->max = c->value;
	return 0;
}

/* The middle of the selection's times, on this window's clock; false: it lies in another. */
static bool moment_in(const struct cam_walk_window *x, uint64_t *clock_ns)
{
	const struct cam_selection *s = x->walk->selection;
	const struct cam_window_info *info = &x->w->info;
	int64_t middle = s->from_ns + (s->to_ns - s->from_ns) / 2;
	struct cam_placed first, last;
	*clock_ns = (uint64_t)middle;
	if (s->clock == CAM_SELECT_WALL) {
		if (!cam_anchor_place_wall(x->selector.anchors, x->selector.n_anchors, middle,
					   &first, &last))
			return false;
		*clock_ns = first.time_ns;
	}
	return *clock_ns >= info->start_ns && *clock_ns < info->end_ns;
}

static int look_at_window(void *self, struct cam_walk_window *x)
{
	struct build *b = self;
	uint64_t clock_ns;
	int err = 0;
	b->x = x;
	b->first_event = b->out->n_events;
	if (x->w->info.cpus > b->cpus)
		b->cpus = x->w->info.cpus;
	if (!b->found && moment_in(x, &clock_ns)) {
		b->found = true;
		b->out->clock_ns = clock_ns;
		b->out->offset_ns = clock_ns - x->w->info.start_ns;
		b->out->wall_ns = cam_walk_wall(x, clock_ns);
		err = intern(b, x->w->info.name, &b->out->window);
	}
	if (!err)
		err = x->w->ops->events(x->w, on_event, b);
	if (!err && x->w->ops->counters)
		err = x->w->ops->counters(x->w, on_counter, b);
	return err;
}

static uint64_t mean_of(const struct mean *means, enum cam_counter_kind kind)
{
	const struct mean *m = &means[kind];
	uint64_t span_ns = m->span_ns;
	if (!m->n)
		return 0;
	if (rules[kind].per_cpu && means[CAM_COUNTER_IDLE].span_ns)
		span_ns = means[CAM_COUNTER_IDLE].span_ns;
	if (rules[kind].unit == TASKS)
		return (uint64_t)(m->sum * 1000 / m->n);
	if (!span_ns)
		return 0;
	__uint128_t scaled =
		rules[kind].unit == SHARE ? m->sum * 1000 : m->sum * 1000 * 1000000000u;
	return (uint64_t)(scaled / span_ns);
}

static void judge_counters(struct build *b)
{
	struct cam_moment *m = b->out;
	for (unsigned k = 0; k < CAM_COUNTER_MAX; k++) {
		if (rules[k].unit == NOTHING || !b->inside[k].n ||
		    m->n_counters == CAM_MOMENT_COUNTERS)
			continue;
		struct cam_moment_counter c = {
			.kind = (enum cam_counter_kind)k,
			.inside = mean_of(b->inside, (enum cam_counter_kind)k),
			.inside_max = b->inside[k].max,
			.outside = mean_of(b->outside, (enum cam_counter_kind)k),
			.has_outside = b->outside[k].n > 0 ||
				       (rules[k].per_cpu && b->outside[CAM_COUNTER_IDLE].n),
		};
		uint64_t bad = k == CAM_COUNTER_RUNNABLE ? b->cpus * 1500ull : rules[k].bad;
		c.stands_out =
			c.inside >= rules[k].floor &&
			((bad && c.inside >= bad) ||
			 (c.has_outside && c.inside >= 2 * c.outside && c.inside > c.outside));
		m->counters[m->n_counters++] = c;
	}
}

/* Who waited, and what else is of the whole host: of as much time around the moment as was asked for. */
static int find_host(struct cam_source *source, const struct cam_selection *s, struct cam_moment *m)
{
	int64_t length = s->to_ns - s->from_ns;
	if (m->wall_ns == INT64_MIN || length <= 0 || m->wall_ns < length)
		return 0;
	int64_t from = m->wall_ns - length / 2;
	return cam_tracks_build(source, from, from + length, 1, NULL, &m->host);
}

static void finish_texts(struct cam_moment *m)
{
	struct cam_text *texts[2];
	for (size_t i = 0; i < m->n_events; i++) {
		texts[0] = &m->events[i].source;
		texts[1] = &m->events[i].text;
		for (size_t k = 0; k < 2; k++)
			*texts[k] =
				cam_string(m->names, (struct cam_str_id){(uint32_t)texts[k]->n});
	}
	m->window = cam_string(m->names, (struct cam_str_id){(uint32_t)m->window.n});
}

/* The selection's times and CPUs, without its other filters: what coverage is of. */
static struct cam_selection bare(const struct cam_selection *s)
{
	return (struct cam_selection){
		.clock = s->clock,
		.from_ns = s->from_ns,
		.to_ns = s->to_ns,
		.one_boot = s->one_boot,
		.boot_id = s->boot_id,
		.cpus = s->cpus,
	};
}

static int build_tables(struct cam_source *source, const struct cam_selection *s,
			const struct cam_moment_options *o, struct cam_moment *m)
{
	struct cam_table_options by_process = {
		.keys = {CAM_KEY_PROCESS}, .n_keys = 1, .limit = o->rows, .weight = o->weight};
	struct cam_table_options by_function = {.keys = {CAM_KEY_SYMBOL, CAM_KEY_DSO},
						.n_keys = 2,
						.limit = o->rows,
						.weight = o->weight};
	struct cam_table_options by_core = {
		.keys = {CAM_KEY_CPU}, .n_keys = 1, .limit = o->rows, .weight = o->weight};
	struct cam_table_options by_what = {.keys = {CAM_KEY_PROCESS, CAM_KEY_SYMBOL},
					    .n_keys = 2,
					    .limit = 3,
					    .weight = o->weight};
	by_process.progress = by_function.progress = by_core.progress = by_what.progress =
		o->progress;
	int err = cam_table_build(source, s, &by_process, &m->processes);
	if (!err)
		err = cam_table_build(source, s, &by_function, &m->functions);
	if (!err)
		err = cam_table_build(source, s, &by_core, &m->cores);
	if (err || !m->cores.n_rows || m->cores.rows[0].values[0].number > CAM_SELECT_MAX_CPU)
		return err;
	struct cam_selection one = *s;
	uint64_t cpus[(CAM_SELECT_MAX_CPU + 1) / 64] = {0};
	uint32_t cpu = (uint32_t)m->cores.rows[0].values[0].number;
	cpus[cpu / 64] |= 1ull << cpu % 64;
	one.cpus = cpus;
	err = cam_table_build(source, &one, &by_what, &m->busiest);
	m->has_busiest = !err;
	return err;
}

static bool is_bare(const struct cam_selection *s)
{
	return !s->pids.n && !s->tids.n && !s->uids.n && !s->comms.n && !s->etypes.n &&
	       !s->exes.n && !s->cgroups.n && !s->containers.n && !s->pods.n && !s->match.n &&
	       !s->exclude.n && s->mode == CAM_SELECT_ANY_MODE && !s->with_idle;
}

static int build_coverage(struct cam_source *source, const struct cam_selection *s,
			  const struct cam_moment_options *o, struct cam_moment *m)
{
	if (is_bare(s)) {
		m->coverage = cam_coverage_of(&m->cores.seen, &m->cores.all, m->cores.cpu_known);
		return 0;
	}
	struct cam_selection all = bare(s);
	struct cam_table_options by_core = {
		.keys = {CAM_KEY_CPU}, .n_keys = 1, .limit = 1, .weight = o->weight};
	struct cam_table t;
	by_core.progress = o->progress;
	int err = cam_table_build(source, &all, &by_core, &t);
	if (err)
		return err;
	m->coverage = cam_coverage_of(&t.seen, &t.all, t.cpu_known);
	cam_table_free(&t);
	return 0;
}

int cam_moment_look(struct cam_source *source, const struct cam_selection *s,
		    const struct cam_moment_options *o, struct cam_moment *out)
{
	struct build b = {.out = out, .options = o};
	struct cam_walk walk = {0};
	const struct cam_walk_view view = {.self = &b,
					   .open = look_at_window,
					   .progress = o->progress,
					   .wall = true,
					   .no_names = true};
	*out = (struct cam_moment){.wall_ns = INT64_MIN, .names = calloc(1, sizeof(*out->names))};
	int err = out->names ? cam_tables_init(out->names, MAX_NAME_BYTES) : -ENOMEM;
	if (!err)
		err = cam_walk(source, s, &view, &walk);
	out->unreadable = walk.seen.unreadable;
	cam_walk_free(&walk);
	if (!err)
		finish_texts(out);
	if (!err)
		judge_counters(&b);
	if (err)
		cam_moment_free(out);
	return err;
}

int cam_moment_build(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_moment_options *o, struct cam_moment *out)
{
	int err = cam_moment_look(source, s, o, out);
	if (err)
		return err;
	err = find_host(source, s, out);
	if (!err)
		err = build_tables(source, s, o, out);
	if (!err)
		err = build_coverage(source, s, o, out);
	if (err)
		cam_moment_free(out);
	return err;
}

void cam_moment_free(struct cam_moment *m)
{
	cam_table_free(&m->processes);
	cam_table_free(&m->functions);
	cam_table_free(&m->cores);
	cam_table_free(&m->busiest);
	cam_tracks_free(&m->host);
	free(m->events);
	if (m->names)
		cam_tables_free(m->names);
	free(m->names);
	*m = (struct cam_moment){0};
}
