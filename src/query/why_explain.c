// SPDX-License-Identifier: Apache-2.0
/*
 * A finding's samples say what it did: the innermost function that at least 60 % of them share, with its
 * callers; frames that every system call has name nothing and are left out. A core is kept by a process as long as
 * at least 85 % of its samples are of it and none is missing: a sampler sees no waiting, so a
 * run of samples without a hole is a core that nobody else got.
 */
#include "query/why_explain.h"

#include "base/units.h"
#include "query/idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST	     6u	 /* tenths */
#define HOLE_TENTHS  25u /* of a period between two samples */
#define KEPT_PERCENT 85u
#define FULL_NS	     (CAM_NS_PER_SEC / 2)
#define BUSY_PERCENT 85u

bool cam_why_takes(const struct cam_why_explaining *e, const struct cam_why_which *w,
		   const struct cam_why_row *row)
{
	if (w->entity == CAM_WHY_FUNCTION)
		return cam_why_row_has(e->rows, row, w->of);
	if (w->entity == CAM_WHY_KERNEL_PATH)
		return e->rows->stacks[row->stack].path == w->of;
	if (w->entity == CAM_WHY_CORE)
		return row->cpu == w->of &&
		       (row->process == UINT32_MAX || e->h->processes[row->process].pid);
	if (row->process == UINT32_MAX)
		return false;
	const struct cam_why_process *p = &e->h->processes[row->process];
	if (w->entity == CAM_WHY_NAME)
		return p->name == w->of && p->pid;
	return w->entity == CAM_WHY_PROCESS ? row->process == w->of : p->cgroup == w->of;
}

static bool within(const struct cam_why_which *w, const struct cam_why_row *row)
{
	return row->at != CAM_WHY_NOWHERE && row->at >= w->at && row->at < w->at + w->length;
}

/* Far enough from it to say what is usual here. */
static bool beside(const struct cam_why_which *w, const struct cam_why_row *row)
{
	return row->at != CAM_WHY_NOWHERE && (row->at + 1 < w->at || row->at > w->at + w->length);
}

/* Seconds asked about that lie beside. */
static uint32_t seconds_beside(const struct cam_why_explaining *e, const struct cam_why_which *w)
{
	uint32_t n = 0;
	for (uint32_t t = 0; t < e->h->axis.n; t++) {
		struct cam_why_row row = {.at = t};
		n += (e->h->axis.flags[t] & CAM_WHY_ASKED) &&
		     (e->h->axis.flags[t] & CAM_WHY_SEEN) && beside(w, &row);
	}
	return n;
}

int cam_why_owner(const struct cam_why_explaining *e, const struct cam_why_which *w, uint32_t *name,
		  uint32_t *claimed)
{
	size_t n = e->h->names->strings.n;
	double *above = calloc(n + 1, sizeof(*above)), all = 0, most = 0;
	uint32_t apart = seconds_beside(e, w);
	*name = 0;
	*claimed = 0;
	if (!above)
		return -ENOMEM;
	for (size_t i = 0; i < e->rows->n; i++) {
		const struct cam_why_row *row = &e->rows->v[i];
		bool in = within(w, row);
		if (!in && (!apart || !beside(w, row)))
			continue;
		if (!cam_why_takes(e, w, row))
			continue;
		double d = in ? 1 : -(double)w->length / apart;
		uint32_t whose =
			row->process == UINT32_MAX ? 0 : e->h->processes[row->process].name;
		above[whose] += d;
		all += d;
		*claimed += in && e->claimed[i];
	}
	for (uint32_t i = 1; i < n; i++) {
		if (above[i] > most) {
			most = above[i];
			*name = i;
		}
	}
	if (most * 10 < all * MOST || most < CAM_WHY_FLOOR / 2.0)
		*name = 0;
	free(above);
	return 0;
}

/* How many of the rows hold each function, and how deep. */
struct common {
	uint32_t *n, *mark;
	uint64_t *depth;
	uint32_t rows;
};

static void count_functions(const struct cam_why_explaining *e, const uint32_t *rows, size_t n,
			    struct common *c)
{
	for (size_t i = 0; i < n; i++) {
		const struct cam_why_stack *s = &e->rows->stacks[e->rows->v[rows[i]].stack];
		c->rows++;
		for (uint32_t k = 0; k < s->n; k++) {
			uint32_t f = e->rows->frames[s->from + k];
			if (c->mark[f] == c->rows)
				continue;
			c->mark[f] = c->rows;
			c->n[f]++;
			c->depth[f] += s->n - k;
		}
	}
}

static bool is_common(const struct cam_why_explaining *e, const struct common *c, uint32_t f)
{
	struct cam_str_id name = {e->h->functions[f].name};
	return c->n[f] * 10ull >= c->rows * (uint64_t)MOST &&
	       !cam_why_says_nothing(cam_string(e->h->names, name));
}

/* The innermost one, then its callers as a row has them. */
static void find_path(const struct cam_why_explaining *e, const uint32_t *rows, size_t n,
		      const struct common *c, struct cam_text path[CAM_WHY_PATH], size_t *n_path,
		      uint64_t *samples)
{
	uint32_t best = UINT32_MAX;
	*n_path = 0;
	*samples = 0;
	for (uint32_t f = 0; f < e->h->n_functions; f++) {
		if (c->n[f] && is_common(e, c, f) &&
		    (best == UINT32_MAX || c->depth[f] * c->n[best] > c->depth[best] * c->n[f]))
			best = f;
	}
	for (size_t i = 0; i < n && best != UINT32_MAX && !*n_path; i++) {
		const struct cam_why_stack *s = &e->rows->stacks[e->rows->v[rows[i]].stack];
		bool in = false;
		for (uint32_t k = 0; k < s->n && *n_path < CAM_WHY_PATH; k++) {
			uint32_t f = e->rows->frames[s->from + k];
			bool first = f == best && !in;
			in = in || first;
			if (first || (in && f != best && is_common(e, c, f)))
				path[(*n_path)++] =
					(struct cam_text){NULL, e->h->functions[f].name};
		}
	}
	if (*n_path)
		*samples = c->n[best];
}

static int explain_path(const struct cam_why_explaining *e, const uint32_t *rows, size_t n,
			struct cam_text path[CAM_WHY_PATH], size_t *n_path, uint64_t *samples)
{
	size_t f = e->h->n_functions + 1;
	struct common c = {.n = calloc(f, sizeof(*c.n)),
			   .mark = calloc(f, sizeof(*c.mark)),
			   .depth = calloc(f, sizeof(*c.depth))};
	int err = c.n && c.mark && c.depth ? 0 : -ENOMEM;
	if (!err) {
		count_functions(e, rows, n, &c);
		find_path(e, rows, n, &c, path, n_path, samples);
	}
	free(c.n);
	free(c.mark);
	free(c.depth);
	return err;
}

/* A run of samples of one core, all but a few of one process. */
struct run {
	size_t from, to; /* rows */
	uint64_t own;
};

static uint64_t run_ns(const struct cam_why_explaining *e, const struct run *r)
{
	if (r->to <= r->from)
		return 0;
	return e->rows->v[r->to - 1].time_ns - e->rows->v[r->from].time_ns + e->period_ns;
}

/* The longest run from row i on, of the process of that row; its end. */
static struct run run_at(const struct cam_why_explaining *e, size_t i)
{
	const struct cam_why_row *v = e->rows->v;
	struct run best = {.from = i, .to = i + 1, .own = 1};
	uint64_t own = 0, foreign = 0, last = v[i].time_ns;
	for (size_t k = i; k < e->rows->n && v[k].cpu == v[i].cpu; k++) {
		if ((v[k].time_ns - last) * 10 > e->period_ns * HOLE_TENTHS)
			break;
		last = v[k].time_ns;
		if (v[k].process == v[i].process)
			own++;
		else
			foreign++;
		if (foreign > 2 && own * 100 < (own + foreign) * KEPT_PERCENT)
			break;
		if (v[k].process == v[i].process && own * 100 >= (own + foreign) * KEPT_PERCENT) {
			best.to = k + 1;
			best.own = own;
		}
	}
	return best;
}

/* The longest of any of the rows on that core. */
static uint64_t longest_run(const struct cam_why_explaining *e, const uint32_t *rows, size_t n,
			    uint32_t cpu)
{
	uint64_t longest = 0;
	for (size_t i = 0; i < n;) {
		if (e->rows->v[rows[i]].cpu != cpu) {
			i++;
			continue;
		}
		struct run r = run_at(e, rows[i]);
		uint64_t ns = run_ns(e, &r);
		longest = ns > longest ? ns : longest;
		while (i < n && rows[i] < r.to)
			i++;
	}
	return longest;
}

static int by_value(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	return *a < *b ? -1 : *a > *b;
}

/* The value that most have, and how many. */
static uint64_t most_common(uint64_t *v, size_t n, uint64_t *count, uint32_t *kinds)
{
	uint64_t best = 0;
	*count = 0;
	*kinds = 0;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n;) {
		size_t from = i;
		while (i < n && v[i] == v[from])
			i++;
		(*kinds)++;
		if (i - from > *count) {
			*count = i - from;
			best = v[from];
		}
	}
	return best;
}

static uint32_t name_then(const struct cam_why_process *p)
{
	return p->calls ? p->called : p->name;
}

static void explain_process(const struct cam_why_explaining *e, uint64_t process, uint64_t count,
			    struct cam_why_finding *f)
{
	if (process >= e->h->n_processes)
		return;
	const struct cam_why_process *p = &e->h->processes[process];
	if (count * 10 >= f->explained * 8) {
		f->pid = p->pid;
		if (p->start_ns && p->start_ns < f->clock_ns)
			f->age_ns = f->clock_ns - p->start_ns;
	}
	if (count * 10 >= f->explained * MOST) {
		/* What is told of others of another name stays theirs. */
		if (!f->process.n || f->process.n == p->name)
			f->process = (struct cam_text){NULL, name_then(p)};
		f->cgroup = (struct cam_text){NULL, p->cgroup};
	}
}

/* The shortest time that holds nine tenths of them: a few may lie far off. */
static void explain_times(const uint64_t *v, size_t n, uint64_t period_ns,
			  struct cam_why_finding *f)
{
	size_t most = n - n / 10, best = 0;
	for (size_t i = 0; i + most <= n; i++) {
		if (v[i + most - 1] - v[i] < v[best + most - 1] - v[best])
			best = i;
	}
	uint64_t shift = v[best] - f->clock_ns;
	f->clock_ns += shift;
	if (f->wall_ns != INT64_MIN)
		f->wall_ns += (int64_t)shift;
	f->span_ns = v[best + most - 1] - v[best] + period_ns;
}

/* Rows are the finding's; v has room for as many. */
static void explain_rows(const struct cam_why_explaining *e, const uint32_t *rows, size_t n,
			 uint64_t *v, struct cam_why_finding *f)
{
	uint64_t count;
	uint32_t kinds;
	f->explained = n;
	for (size_t i = 0; i < n; i++)
		v[i] = e->rows->v[rows[i]].time_ns;
	qsort(v, n, sizeof(*v), by_value);
	explain_times(v, n, e->period_ns, f);
	for (size_t i = 0; i < n; i++)
		v[i] = e->rows->v[rows[i]].process;
	uint64_t process = most_common(v, n, &count, &f->processes);
	explain_process(e, process, count, f);
	for (size_t i = 0; i < n; i++)
		v[i] = e->rows->v[rows[i]].cpu;
	f->cpu = (uint32_t)most_common(v, n, &f->cpu_samples, &kinds);
	f->run_ns = longest_run(e, rows, n, f->cpu);
	for (size_t i = 0; i < n; i++) {
		const struct cam_why_stack *s = &e->rows->stacks[e->rows->v[rows[i]].stack];
		f->kernel_samples += s->n && e->h->functions[e->rows->frames[s->from]].kernel;
	}
}

int cam_why_explain(const struct cam_why_explaining *e, const struct cam_why_which *w,
		    struct cam_why_finding *f)
{
	uint32_t *rows = malloc((e->rows->n + 1) * sizeof(*rows));
	uint64_t *v = malloc((e->rows->n + 1) * sizeof(*v));
	size_t n = 0;
	int err = rows && v ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < e->rows->n && !err; i++) {
		if (within(w, &e->rows->v[i]) && cam_why_takes(e, w, &e->rows->v[i]))
			rows[n++] = i;
	}
	if (!err && n) {
		explain_rows(e, rows, n, v, f);
		err = explain_path(e, rows, n, f->path, &f->n_path, &f->path_samples);
	}
	for (size_t i = 0; i < n; i++)
		e->claimed[rows[i]] = 1;
	free(rows);
	free(v);
	return err;
}

double cam_why_share(const struct cam_why_history *h, double samples, unsigned seconds)
{
	if (!h->cpus || !h->period_ns || !seconds)
		return -1;
	return samples * (double)h->period_ns / 1e9 / seconds / h->cpus;
}

static enum cam_why_kind kind_of(const struct cam_why_candidate *c, uint32_t name)
{
	if (c->stopped)
		return CAM_WHY_STOPPED;
	if (name)
		return CAM_WHY_MORE_PROCESS;
	switch (c->entity) {
	case CAM_WHY_CGROUP:
		return CAM_WHY_MORE_CGROUP;
	case CAM_WHY_CORE:
		return CAM_WHY_MORE_CORE;
	case CAM_WHY_KERNEL_PATH:
		return CAM_WHY_MORE_PATH;
	default:
		return CAM_WHY_MORE_FUNCTION;
	}
}

/* A function by itself heads its own path, and so does where a path through the kernel ends. */
static void head_path(uint32_t name, struct cam_why_finding *f)
{
	if (f->n_path && f->path[0].n == name)
		return;
	size_t n = f->n_path < CAM_WHY_PATH ? f->n_path : CAM_WHY_PATH - 1;
	memmove(&f->path[1], &f->path[0], n * sizeof(f->path[0]));
	f->path[0] = (struct cam_text){NULL, name};
	f->n_path = n + 1;
	f->path_samples = f->explained;
}

/*
 * Most of what is above may be one's and yet not most of it all: the numbers are of all, and are not told as that
 * one's.
 */
static bool is_mostly(const struct cam_why_explaining *e, const struct cam_why_which *w,
		      uint32_t name)
{
	uint64_t n = 0, own = 0;
	for (size_t i = 0; i < e->rows->n; i++) {
		const struct cam_why_row *row = &e->rows->v[i];
		if (!within(w, row) || !cam_why_takes(e, w, row))
			continue;
		n++;
		own += row->process != UINT32_MAX && e->h->processes[row->process].name == name;
	}
	return own * 10 >= n * MOST;
}

int cam_why_describe(const struct cam_why_explaining *e, const struct cam_why_candidate *c,
		     uint32_t name, struct cam_why_finding *f)
{
	struct cam_why_which w = {c->entity, c->of, c->at, c->length};
	uint64_t second;
	bool shared = c->entity == CAM_WHY_FUNCTION || c->entity == CAM_WHY_CGROUP;
	if (name && shared && !is_mostly(e, &w, name))
		name = 0;
	/* A path's numbers are not those of who goes it, be it only one. */
	if (c->entity == CAM_WHY_KERNEL_PATH)
		name = 0;
	cam_why_axis_boot(&e->h->axis, c->at, &second);
	*f = (struct cam_why_finding){
		.kind = kind_of(c, name),
		.process = {NULL, name},
		.pid = c->entity == CAM_WHY_PROCESS ? e->h->processes[c->of].pid : CAM_PID_NONE,
		.cpu = c->entity == CAM_WHY_CORE ? c->of : CAM_CPU_NONE,
		.samples = c->x,
		.expected = c->law.mean,
		.share = cam_why_share(e->h, c->x, c->length),
		.baseline = cam_why_share(e->h, c->law.mean, c->length),
		.before = c->before,
		.days = c->days,
		.episodes = c->episodes,
		.wall_ns = e->h->axis.wall_ns[c->at],
		.clock_ns = second * CAM_NS_PER_SEC,
		.length_ns = c->length * CAM_NS_PER_SEC,
		.span_ns = c->length * CAM_NS_PER_SEC,
	};
	if (c->pause_ns) {
		uint64_t into = c->pause_from_ns % CAM_NS_PER_SEC;
		f->clock_ns += into;
		f->wall_ns += f->wall_ns == INT64_MIN ? 0 : (int64_t)into;
		if (f->baseline > 0)
			f->baseline *= (double)f->length_ns / (double)c->pause_ns;
		f->length_ns = f->span_ns = c->pause_ns;
		f->pause_other_ns = c->pause_other_ns;
	}
	if (c->stopped && c->entity == CAM_WHY_PROCESS) {
		const struct cam_why_process *p = &e->h->processes[c->of];
		f->process = (struct cam_text){NULL, name_then(p)};
		f->cgroup = (struct cam_text){NULL, p->cgroup};
	}
	if (c->stopped)
		return 0;
	int err = cam_why_explain(e, &w, f);
	if (!name && c->entity == CAM_WHY_FUNCTION)
		head_path(e->h->functions[c->of].name, f);
	if (c->entity == CAM_WHY_KERNEL_PATH) {
		head_path(e->h->functions[c->of].leaf, f);
		f->entry = (struct cam_text){NULL, e->h->functions[c->of].name};
	}
	if (c->entity == CAM_WHY_CGROUP)
		f->cgroup = (struct cam_text){NULL, c->of};
	return err;
}

/* How many of n ascending times are before that. */
static size_t before(const uint64_t *times, size_t n, uint64_t ns)
{
	size_t low = 0;
	while (low < n) {
		size_t middle = low + (n - low) / 2;
		if (times[middle] < ns)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Whether the rest of the machine had room meanwhile. times: of all rows, ascending. */
static bool others_free(const struct cam_why_explaining *e, const uint64_t *times, uint64_t from_ns,
			uint64_t to_ns)
{
	uint64_t due = (to_ns - from_ns) / e->period_ns * e->h->cpus;
	uint64_t n = before(times, e->rows->n, to_ns) - before(times, e->rows->n, from_ns);
	return n * 100 < due * BUSY_PERCENT;
}

static int note_core(const struct cam_why_explaining *e, const uint64_t *times, const struct run *r,
		     struct cam_why *out)
{
	const struct cam_why_row *first = &e->rows->v[r->from];
	uint64_t length = run_ns(e, r), samples;
	struct cam_text path[CAM_WHY_PATH];
	size_t n_path = 0, n = r->to - r->from, at;
	if (!others_free(e, times, first->time_ns, first->time_ns + length))
		return 0;
	out->n_all_cores++;
	/* The longest ones are kept, longest first. */
	for (at = 0; at < out->n_cores && out->cores[at].length_ns >= length; at++)
		;
	if (at == CAM_WHY_CORES)
		return 0;
	uint32_t *rows = malloc((n + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rows[i] = (uint32_t)(r->from + i);
	int err = explain_path(e, rows, n, path, &n_path, &samples);
	free(rows);
	if (out->n_cores < CAM_WHY_CORES)
		out->n_cores++;
	memmove(&out->cores[at + 1], &out->cores[at],
		(out->n_cores - 1 - at) * sizeof(out->cores[0]));
	const struct cam_why_process *p = &e->h->processes[first->process];
	int64_t wall = first->at == CAM_WHY_NOWHERE ? INT64_MIN : e->h->axis.wall_ns[first->at];
	out->cores[at] = (struct cam_why_core){
		.cpu = first->cpu,
		.process = {NULL, name_then(p)},
		.function = {NULL, n_path ? path[0].n : 0},
		.pid = p->pid,
		.wall_ns = wall == INT64_MIN ? wall
					     : wall + (int64_t)(first->time_ns % CAM_NS_PER_SEC),
		.clock_ns = first->time_ns,
		.length_ns = length,
		.samples = n,
		.own = r->own,
	};
	return err;
}

int cam_why_full_cores(const struct cam_why_explaining *e, const struct cam_progress *progress,
		       struct cam_why *out)
{
	uint64_t *times = malloc((e->rows->n + 1) * sizeof(*times));
	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < e->rows->n; i++)
		times[i] = e->rows->v[i].time_ns;
	qsort(times, e->rows->n, sizeof(*times), by_value);
	int err = 0;
	for (size_t i = 0; i < e->rows->n && !err && e->h->cpus > 1;) {
		const struct cam_why_row *row = &e->rows->v[i];
		if (row->process == UINT32_MAX || !e->h->processes[row->process].pid ||
		    row->cpu == CAM_CPU_NONE) {
			i++;
			continue;
		}
		struct run r = run_at(e, i);
		bool full = run_ns(e, &r) >= FULL_NS;
		if (full)
			err = cam_why_go_on(progress, e->h);
		if (full && !err)
			err = note_core(e, times, &r, out);
		i = full ? r.to : i + 1;
	}
	free(times);
	return err;
}
