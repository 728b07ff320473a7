// SPDX-License-Identifier: Apache-2.0
/*
 * From samples to (group, stack, measure).
 *
 * How much of a sample must be looked at follows from the keys: none of task, CPU and time: the sums of
 * the footer will do; only one of them: sums by that; else each row. In all cases what differs is
 * only the *origin* (comm, event type, task, CPU, time) of an item; origins are few, so the values of a
 * group are made once for each of them.
 *
 * Invariants:
 * 1. The measures of all items add up to `all`.
 * 2. Two samples are of one group exactly when all their values are equal, whatever ids the windows use.
 */
#include "query/groups.h"

#include "base/runs.h"
#include "base/vec.h"
#include "model/container.h"
#include "query/group_extra.h"
#include "query/landing.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_GROUPS     (1u << 22)
#define MAX_NAME_BYTES (512u << 20)
#define QUANTUM_NS     100000000u

static const struct {
	const char *name, *other, *another;
	bool frames, task;
} keys[CAM_KEY_MAX] = {
	[CAM_KEY_COMM] = {"comm", "command", "comms", false, false},
	[CAM_KEY_PROCESS] = {"process", "processes", "proc", false, true},
	[CAM_KEY_PID] = {"pid", "pids", "tgid", false, true},
	[CAM_KEY_TID] = {"tid", "thread", "threads", false, true},
	[CAM_KEY_USER] = {"user", "uid", "users", false, true},
	[CAM_KEY_EXE] = {"exe", "program", "programs", false, true},
	[CAM_KEY_CGROUP] = {"cgroup", "cgroups", "cgroup_id", false, true},
	[CAM_KEY_CONTAINER] = {"container", "containers", "container_id", false, true},
	[CAM_KEY_POD] = {"pod", "pods", "pod_uid", false, true},
	[CAM_KEY_CPU] = {"cpu", "core", "cores", false, false},
	[CAM_KEY_EVENT] = {"event", "event-type", "events", false, false},
	[CAM_KEY_SOCKET] = {"socket", "sockets", "package", false, false},
	[CAM_KEY_PARENT] = {"parent", "parents", "caller", false, false},
	[CAM_KEY_SRCLINE] = {"srcline", "line", "lines", false, false},
	[CAM_KEY_SRCFILE] = {"srcfile", "source", "sources", false, false},
	[CAM_KEY_TIME] = {"time", "times", "second", false, false},
	[CAM_KEY_SYMBOL] = {"symbol", "sym", "function", true, false},
	[CAM_KEY_DSO] = {"dso", "module", "modules", true, false},
};

/* Where samples come from, as far as the keys tell them apart. Ids are the window's. */
struct origin {
	uint32_t comm, etype, task, cpu;
	uint32_t parent, line; /* group_extra.h's; 0: none */
	int64_t time_ns;
};

struct raw {
	uint32_t origin, stack;
	uint64_t samples, weight;
};

/* The window being walked. */
struct step {
	struct cam_walk_window *x;
	struct origin *origins;
	uint32_t *groups; /* of each origin */
	size_t n_origins, cap_origins, cap_groups;
	struct cam_index index;
	struct cam_sums sums; /* of rows: comm is the origin */
	struct raw *raws;
	size_t n_raws, cap_raws;
	uint32_t last;		/* the origin before: most often the same again */
	struct cam_index mains; /* tasks that are a process's main thread */
	bool has_mains;
	struct cam_group_extra extra;
};

const char *cam_key_name(enum cam_key key)
{
	return keys[key].name;
}

bool cam_key_is_of_frames(enum cam_key key)
{
	return keys[key].frames;
}

bool cam_key_parse(struct cam_text name, enum cam_key *key)
{
	for (unsigned i = 0; i < CAM_KEY_MAX; i++) {
		if (cam_text_equal(name, cam_text_of(keys[i].name)) ||
		    cam_text_equal(name, cam_text_of(keys[i].other)) ||
		    cam_text_equal(name, cam_text_of(keys[i].another))) {
			*key = (enum cam_key)i;
			return true;
		}
	}
	return false;
}

static bool has_key(const struct cam_groups *g, enum cam_key key)
{
	for (size_t i = 0; i < g->options->n_keys; i++) {
		if (g->options->keys[i] == key)
			return true;
	}
	return false;
}

static bool needs_task(const struct cam_groups *g)
{
	for (size_t i = 0; i < g->options->n_keys; i++) {
		if (keys[g->options->keys[i]].task)
			return true;
	}
	return false;
}

static bool needs_lines(const struct cam_groups *g)
{
	return has_key(g, CAM_KEY_SRCLINE) || has_key(g, CAM_KEY_SRCFILE);
}

static bool same_origin(const void *rows, uint32_t id, const void *key)
{
	const struct origin *a = (const struct origin *)rows + id, *b = key;
	return a->comm == b->comm && a->etype == b->etype && a->task == b->task &&
	       a->cpu == b->cpu && a->parent == b->parent && a->line == b->line &&
	       a->time_ns == b->time_ns;
}

static int intern_origin(struct step *s, const struct origin *o, uint32_t *out)
{
	if (s->n_origins && same_origin(s->origins, s->last, o)) {
		*out = s->last;
		return 0;
	}
	uint64_t hash =
		cam_hash_u64((uint64_t)o->comm << 32 | o->task,
			     ((uint64_t)o->etype << 32 | o->cpu) ^
				     ((uint64_t)o->parent << 32 | o->line) * 0x9e3779b97f4a7c15u ^
				     (uint64_t)o->time_ns);
	uint32_t at = cam_index_find(&s->index, hash, same_origin, s->origins, o);
	if (at == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&s->origins, &s->cap_origins, s->n_origins + 1,
					  sizeof(*s->origins), MAX_GROUPS);
		if (!err)
			err = cam_index_reserve(&s->index);
		if (err)
			return err;
		at = (uint32_t)s->n_origins++;
		cam_index_add(&s->index, hash, at);
		s->origins[at] = *o;
	}
	*out = s->last = at;
	return 0;
}

static int add_raw(struct step *s, uint32_t origin, const struct cam_sum *sum)
{
	int err = cam_vec_reserve(&s->raws, &s->cap_raws, s->n_raws + 1, sizeof(*s->raws),
				  CAM_MAX_ROWS * 2ul);
	if (!err)
		s->raws[s->n_raws++] = (struct raw){origin, sum->stack, sum->samples, sum->weight};
	return err;
}

static int on_sum(void *self, struct cam_walk_window *x, const struct cam_sum *sum,
		  enum cam_verdict verdict)
{
	(void)verdict;
	struct cam_groups *g = self;
	struct step *s = x->own;
	struct origin o = {.comm = sum->comm, .etype = sum->etype};
	uint32_t origin;
	if (g->walk.view->extra == CAM_WALK_BY_TASK)
		o.task = sum->extra;
	if (g->walk.view->extra == CAM_WALK_BY_CPU)
		o.cpu = sum->extra;
	int err = intern_origin(s, &o, &origin);
	return err ? err : add_raw(s, origin, sum);
}

/* Where the piece of time begins that a moment lies in. */
static int64_t piece_of(struct cam_walk_window *x, uint64_t time_ns, uint64_t quantum)
{
	int64_t wall = cam_walk_wall(x, time_ns);
	int64_t t = wall == INT64_MIN ? (int64_t)time_ns : wall, q = (int64_t)quantum;
	int64_t over = t % q;
	return t - (over < 0 ? over + q : over);
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct cam_groups *g = self;
	struct step *s = x->own;
	const struct cam_batch *b = rows->batch;
	uint64_t quantum = g->options->quantum_ns ? g->options->quantum_ns : QUANTUM_NS;
	int err = 0;
	for (size_t i = 0; i < rows->n && !err; i++) {
		size_t at = rows->index[i];
		struct origin o = {
			.comm = b->comm[at],
			.etype = cam_walk_etype(b, at),
			.task = b->task ? b->task[at] : 0,
			.cpu = b->cpu ? b->cpu[at] : 0,
			.line = b->leaf_offset ? cam_group_extra_line(&s->extra, b->stack[at],
								      b->leaf_offset[at])
					       : 0,
			.time_ns = b->time_ns ? piece_of(x, b->time_ns[at], quantum) : 0,
		};
		struct cam_sum sum = {
			.stack = b->stack[at], .samples = 1, .weight = cam_walk_weight(b, at)};
		err = intern_origin(s, &o, &sum.comm);
		if (!err)
			err = cam_sums_add(&s->sums, sum);
	}
	return err;
}

static int intern(struct cam_groups *g, struct cam_text text, uint32_t *out)
{
	struct cam_str_id id;
	int err = cam_string_intern(g->names, text, &id);
	if (!err)
		*out = id.v;
	return err;
}

static uint64_t process_hash(const struct cam_task *k)
{
	return cam_hash_u64((uint32_t)k->pid, k->start_ns);
}

static bool same_process(const void *rows, uint32_t id, const void *key)
{
	const struct cam_task *a = (const struct cam_task *)rows + id, *b = key;
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

static int find_mains(struct step *s)
{
	const struct cam_tables *t = s->x->tables;
	int err = 0;
	for (uint32_t i = 0; i < t->n_tasks && !err && !s->has_mains; i++) {
		if (t->tasks[i].pid != t->tasks[i].tid)
			continue;
		err = cam_index_reserve(&s->mains);
		if (!err)
			cam_index_add(&s->mains, process_hash(&t->tasks[i]), i);
	}
	s->has_mains = !err;
	return err;
}

/* The comm of a process is its main thread's, where that was sampled too. */
static int process_value(struct cam_groups *g, struct step *s, const struct cam_task *k,
			 struct cam_group_value *v)
{
	const struct cam_tables *t = s->x->tables;
	struct cam_str_id comm = k->comm;
	int err = k->tid == k->pid ? 0 : find_mains(s);
	if (err)
		return err;
	if (k->tid != k->pid) {
		uint32_t at = cam_index_find(&s->mains, process_hash(k), same_process, t->tasks, k);
		comm = at == CAM_INDEX_NONE ? comm : t->tasks[at].comm;
	}
	return intern(g, cam_string(t, comm), &v->text);
}

static int task_value(struct cam_groups *g, struct step *s, uint32_t task, enum cam_key key,
		      struct cam_group_value *v)
{
	static const struct cam_task none = {
		.pid = CAM_PID_NONE, .tid = CAM_PID_NONE, .uid = CAM_UID_NONE};
	const struct cam_tables *t = s->x->tables;
	const struct cam_task *k = task < t->n_tasks ? &t->tasks[task] : &none;
	switch (key) {
	case CAM_KEY_PROCESS:
	case CAM_KEY_PID:
		/* A text without process numbers has its threads' only. */
		v->number = k->pid == CAM_PID_NONE ? k->tid : k->pid;
		return key == CAM_KEY_PID ? 0 : process_value(g, s, k, v);
	case CAM_KEY_TID:
		v->number = k->tid;
		return 0;
	case CAM_KEY_USER:
		v->number = k->uid;
		return 0;
	case CAM_KEY_EXE:
		return intern(g, cam_string(t, k->exe), &v->text);
	case CAM_KEY_CONTAINER:
		return intern(g, cam_container_of(cam_string(t, k->cgroup)).id, &v->text);
	case CAM_KEY_POD: {
		struct cam_container c = cam_container_of(cam_string(t, k->cgroup));
		return intern(g, cam_text_of(c.pod), &v->text);
	}
	default:
		return intern(g, cam_string(t, k->cgroup), &v->text);
	}
}

static struct cam_text extra_text(const struct step *s, const struct origin *o, enum cam_key key,
				  char *room, size_t bytes)
{
	if (key != CAM_KEY_PARENT)
		return cam_group_extra_text(&s->extra, o->line, key == CAM_KEY_SRCLINE, room,
					    bytes);
	return o->parent ? cam_function_label(s->x->tables, (struct cam_func_id){o->parent - 1},
					      room, bytes)
			 : CAM_TEXT("[other]");
}

static int value_of(struct cam_groups *g, struct step *s, const struct origin *o, enum cam_key key,
		    struct cam_group_value *v)
{
	const struct cam_tables *t = s->x->tables;
	char room[512];
	*v = (struct cam_group_value){0};
	if (keys[key].frames)
		return 0;
	if (keys[key].task)
		return task_value(g, s, o->task, key, v);
	if (key == CAM_KEY_CPU) {
		v->number = o->cpu;
		return 0;
	}
	if (key == CAM_KEY_SOCKET) {
		int socket = cam_group_extra_socket(&s->extra, o->cpu);
		v->number = socket == CAM_RUNS_NONE ? (int64_t)CAM_CPU_NONE : socket;
		return 0;
	}
	if (key == CAM_KEY_PARENT || key == CAM_KEY_SRCLINE || key == CAM_KEY_SRCFILE)
		return intern(g, extra_text(s, o, key, room, sizeof(room)), &v->text);
	if (key == CAM_KEY_TIME) {
		v->number = o->time_ns;
		return 0;
	}
	struct cam_str_id id = {o->comm};
	if (key == CAM_KEY_EVENT && o->etype < t->n_etypes)
		id = t->etypes[o->etype].name;
	return intern(g, cam_string(t, id), &v->text);
}

struct group_key {
	const struct cam_group_value *v;
	size_t n;
};

static bool same_group(const void *rows, uint32_t id, const void *key)
{
	const struct cam_group_value *have = rows;
	const struct group_key *k = key;
	return !memcmp(have + id * k->n, k->v, k->n * sizeof(*have));
}

static int intern_group(struct cam_groups *g, struct step *s, const struct origin *o, uint32_t *out)
{
	struct cam_group_value v[CAM_KEYS_MAX];
	size_t n = g->options->n_keys;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = value_of(g, s, o, g->options->keys[i], &v[i]);
	if (err)
		return err;
	uint64_t hash = cam_hash(v, n * sizeof(*v));
	*out = cam_index_find(&g->index, hash, same_group, g->values, &(struct group_key){v, n});
	if (*out != CAM_INDEX_NONE)
		return 0;
	err = cam_vec_reserve(&g->values, &g->cap_values, (g->n_groups + 1) * n, sizeof(*v),
			      (size_t)MAX_GROUPS * n);
	if (!err)
		err = cam_index_reserve(&g->index);
	if (err)
		return err;
	*out = (uint32_t)g->n_groups++;
	memcpy(&g->values[*out * n], v, n * sizeof(*v));
	cam_index_add(&g->index, hash, *out);
	return 0;
}

/* Whether shares are of weights. Folded stacks have no samples of their own: their weights are the counts. */
static bool by_weight(const struct cam_groups *g, const struct cam_walk_window *x)
{
	return x->weighted &&
	       (g->options->weight == CAM_WEIGHT_PERIOD || x->w->info.clock == CAM_CLOCK_ABSENT);
}

static bool is_clock(struct cam_text event)
{
	return cam_text_equal(event, CAM_TEXT("cpu-clock")) ||
	       cam_text_equal(event, CAM_TEXT("task-clock"));
}

static int note_unit(struct cam_groups *g, const struct cam_walk_window *x, uint32_t etype)
{
	const struct cam_tables *t = x->tables;
	struct cam_text unit = CAM_TEXT("samples"), name = CAM_TEXT("");
	if (etype < t->n_etypes)
		name = cam_walk_event_name(cam_string(t, t->etypes[etype].name));
	if (name.n && by_weight(g, x) && t->etypes[etype].has_weight && !x->walk->differential)
		unit = name;
	struct cam_str_id id;
	int err = cam_string_intern(g->names, unit, &id);
	if (err)
		return err;
	g->cpu_clock |= cam_landing_event(name);
	g->mixed_units |= g->has_unit && g->unit.v != id.v;
	g->has_unit = true;
	g->unit = id;
	g->unit_is_ns = is_clock(unit);
	return 0;
}

/* CPU time of samples: their own where they say it, else their number times the nominal period. */
static uint64_t cpu_time(struct cam_groups *g, const struct cam_walk_window *x, uint32_t etype,
			 const struct raw *r)
{
	const struct cam_tables *t = x->tables;
	if (etype < t->n_etypes && t->etypes[etype].period_ns)
		return r->samples * t->etypes[etype].period_ns;
	if (etype < t->n_etypes && x->weighted && t->etypes[etype].has_weight &&
	    is_clock(cam_walk_event_name(cam_string(t, t->etypes[etype].name))))
		return r->weight;
	g->cpu_unknown = true;
	return 0;
}

static int by_group(const void *x, const void *y)
{
	const struct cam_group_item *a = x, *b = y;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* As they are where groups follow the walk's own order, by comm and event type. */
static bool is_sorted(const struct cam_group_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (by_group(&items[i - 1], &items[i]) > 0)
			return false;
	}
	return true;
}

static int deliver(struct cam_groups *g, struct step *s)
{
	struct cam_group_item *items = calloc(s->n_raws + 1, sizeof(*items));
	int err = items ? 0 : -ENOMEM;
	uint32_t etype = CAM_NONE;
	for (size_t i = 0; i < s->n_raws && !err; i++) {
		const struct raw *r = &s->raws[i];
		uint32_t of = s->origins[r->origin].etype;
		if (of != etype)
			err = note_unit(g, s->x, etype = of);
		items[i] = (struct cam_group_item){
			.group = s->groups[r->origin],
			.stack = r->stack,
			.m = {r->samples, by_weight(g, s->x) ? r->weight : r->samples, 0},
		};
		if (!err)
			items[i].m.cpu_ns = cpu_time(g, s->x, of, r);
		g->all.samples += items[i].m.samples;
		g->all.weight += items[i].m.weight;
		g->all.cpu_ns += items[i].m.cpu_ns;
	}
	if (!err && !is_sorted(items, s->n_raws))
		qsort(items, s->n_raws, sizeof(*items), by_group);
	if (!err && s->n_raws)
		err = g->options->window(g->options->self, g, s->x, items, s->n_raws);
	free(items);
	return err;
}

/* What a sample's parent is depends on its stack: origins are told apart by it once all are there. */
static int find_parents(struct cam_groups *g, struct step *s)
{
	int err = 0;
	for (size_t i = 0; i < s->n_raws && !err; i++) {
		struct raw *r = &s->raws[i];
		struct origin o = s->origins[r->origin];
		err = cam_group_extra_parent(&s->extra, g->options->parent,
					     g->options->outermost_parent, r->stack, &o.parent);
		if (!err)
			err = intern_origin(s, &o, &r->origin);
	}
	return err;
}

static int finish(struct cam_groups *g, struct step *s)
{
	int err = 0;
	if (s->sums.n) {
		err = cam_sums_sort(&s->sums);
		for (size_t i = 0; i < s->sums.n && !err; i++)
			err = add_raw(s, s->sums.v[i].comm, &s->sums.v[i]);
	}
	if (!err && g->options->parent && has_key(g, CAM_KEY_PARENT))
		err = find_parents(g, s);
	if (!err)
		err = cam_vec_reserve(&s->groups, &s->cap_groups, s->n_origins + 1,
				      sizeof(*s->groups), MAX_GROUPS + 1);
	for (size_t i = 0; i < s->n_origins && !err; i++)
		err = intern_group(g, s, &s->origins[i], &s->groups[i]);
	return err ? err : deliver(g, s);
}

static int on_open(void *self, struct cam_walk_window *x)
{
	struct cam_groups *g = self;
	struct step *s = calloc(1, sizeof(*s));
	x->own = s;
	if (!s)
		return -ENOMEM;
	s->x = x;
	return cam_group_extra_open(&s->extra, x->w, x->tables, has_key(g, CAM_KEY_SOCKET),
				    needs_lines(g));
}

static int on_close(void *self, struct cam_walk_window *x, int err)
{
	struct step *s = x->own;
	if (!s)
		return err;
	if (!err)
		err = finish(self, s);
	free(s->origins);
	free(s->groups);
	free(s->raws);
	cam_index_free(&s->index);
	cam_index_free(&s->mains);
	cam_sums_free(&s->sums);
	cam_group_extra_close(&s->extra);
	free(s);
	return err;
}

int cam_groups_run(struct cam_groups *g, struct cam_source *source, const struct cam_selection *s,
		   const struct cam_groups_options *o)
{
	*g = (struct cam_groups){.options = o, .names = calloc(1, sizeof(*g->names))};
	if (!g->names)
		return -ENOMEM;
	int err = cam_tables_init(g->names, MAX_NAME_BYTES);
	if (err)
		return err;
	bool task = needs_task(g), time = has_key(g, CAM_KEY_TIME), lines = needs_lines(g);
	bool cpu = has_key(g, CAM_KEY_CPU) || has_key(g, CAM_KEY_SOCKET);
	bool rows = time || lines || (task && cpu);
	const struct cam_walk_view view = {
		.self = g,
		.open = on_open,
		.sum = rows ? NULL : on_sum,
		.rows = rows ? on_rows : NULL,
		.close = on_close,
		.progress = o->progress,
		.columns = (task ? CAM_COL_TASK : 0u) | (cpu ? CAM_COL_CPU : 0u) |
			   (time ? CAM_COL_TIME : 0u) | (lines ? CAM_COL_LEAF : 0u),
		.extra = task  ? CAM_WALK_BY_TASK
			 : cpu ? CAM_WALK_BY_CPU
			       : CAM_WALK_NO_EXTRA,
		/* Periods also tell CPU time; not at the price of reading samples only for that. */
		.weights = o->weight == CAM_WEIGHT_PERIOD || rows || task || cpu ||
			   s->clock != CAM_SELECT_ALWAYS,
		.wall = time,
		.no_tasks = !task,
	};
	err = cam_walk(source, s, &view, &g->walk);
	g->walk.view = NULL;
	return err;
}

void cam_groups_free(struct cam_groups *g)
{
	cam_walk_free(&g->walk);
	free(g->values);
	cam_index_free(&g->index);
	if (g->names)
		cam_tables_free(g->names);
	free(g->names);
	*g = (struct cam_groups){0};
}

struct cam_text cam_groups_unit(const struct cam_groups *g)
{
	return g->mixed_units ? CAM_TEXT("events")
	       : g->has_unit  ? cam_string(g->names, g->unit)
			      : CAM_TEXT("samples");
}

struct cam_text cam_groups_dso(const struct cam_tables *t, const struct cam_function *f)
{
	const struct cam_module *m = f->module.v < t->n_modules ? &t->modules[f->module.v] : NULL;
	struct cam_text path = m ? cam_string(t, m->path) : CAM_TEXT("");
	if (path.n)
		return path;
	return f->kind == CAM_FUNC_KERNEL || (m && m->kind == CAM_MODULE_KERNEL)
		       ? CAM_TEXT("[kernel.kallsyms]")
		       : CAM_TEXT("[unknown]");
}

enum cam_frame_kind cam_groups_kind(const struct cam_function *f)
{
	static const enum cam_frame_kind kinds[CAM_FUNC_KIND_MAX] = {
		[CAM_FUNC_USER] = CAM_FRAME_USER, [CAM_FUNC_KERNEL] = CAM_FRAME_KERNEL,
		[CAM_FUNC_JIT] = CAM_FRAME_JIT,	  [CAM_FUNC_INLINED] = CAM_FRAME_INLINED,
		[CAM_FUNC_MARK] = CAM_FRAME_MARK,
	};
	return (unsigned)f->kind < CAM_FUNC_KIND_MAX ? kinds[f->kind] : CAM_FRAME_USER;
}
