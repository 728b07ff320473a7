// SPDX-License-Identifier: Apache-2.0
#include "query/selector.h"

#include "base/vec.h"
#include "model/container.h"
#include "query/idle.h"

#include <fnmatch.h>

/* Bits of the caches; bit ASKED tells an answer from an empty place. */
enum {
	ASKED = 1u << 0,
	/* functions and stacks */
	IDLE_ENTERS = 1u << 1,
	IDLE_LEAVES = 1u << 2,
	IDLE = 1u << 3,	  /* the stack waits for work */
	KERNEL = 1u << 4, /* the leaf is kernel code */
	EXCLUDED = 1u << 5,
	CODE = 1u << 6, /* not a mark, not inlined: it has a mode of its own */
	/* comms */
	TAKEN = 1u << 7,
	IDLE_COMM = 1u << 8,
	/* event types */
	IS_MAIN = 1u << 9,
	IS_BEFORE = 1u << 10,
	/* which of the match expressions were found: the bits from here, but the sign */
	MATCH_SHIFT = 16,
};
_Static_assert(CAM_SELECT_MAX_EXPRESSIONS <= 15, "the bits from MATCH_SHIFT to the sign");

/* The place of an id in a cache, which grows to hold it; NULL: no memory. */
static uint32_t *place_of(struct cam_select_cache *c, uint32_t id, size_t rows)
{
	if (id >= c->n) {
		size_t want = rows > id ? rows : (size_t)id + 1;
		uint32_t *v = reallocarray(c->v, want, sizeof(*v));
		if (!v)
			return NULL;
		memset(v + c->n, 0, (want - c->n) * sizeof(*v));
		c->v = v;
		c->n = want;
	}
	return &c->v[id];
}

/* Patterns work on C strings: a copy, which a zero byte in the name ends. NULL: no memory. */
static const char *c_string(struct cam_selector *x, struct cam_text name)
{
	cam_buf_clear(&x->name);
	cam_buf_put(&x->name, name.p, name.n);
	cam_buf_put_u8(&x->name, 0);
	return cam_buf_error(&x->name) ? NULL : (const char *)x->name.data;
}

/* The match bits of a name, and EXCLUDED; -ENOMEM, or what the selection's patience answers. */
static int expressions_on(struct cam_selector *x, struct cam_text name)
{
	const struct cam_selection *s = x->selection;
	uint32_t bits = 0;
	int found = cam_select_expressions_try(&s->match, name, &x->name, &bits);
	if (found < 0)
		return found;
	bits <<= MATCH_SHIFT;
	found = cam_select_expressions_try(&s->exclude, name, &x->name, NULL);
	if (found < 0)
		return found;
	return (int)(bits | (found ? EXCLUDED : 0));
}

/* 1, 0 or -ENOMEM. */
static int any_pattern(struct cam_selector *x, const struct cam_select_patterns *p,
		       struct cam_text name)
{
	const char *text = c_string(x, name);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		if (!strcmp(p->v[i], text) || fnmatch(p->v[i], text, 0) == 0)
			return 1;
	}
	return 0;
}

static int ask_function(struct cam_selector *x, uint32_t id)
{
	const struct cam_tables *t = x->tables;
	const struct cam_function *f = &t->functions[id];
	char room[256];
	struct cam_text label = cam_function_label(t, (struct cam_func_id){id}, room, sizeof(room));
	int bits = expressions_on(x, label);
	if (bits < 0)
		return bits;
	bits |= ASKED;
	/* A text without annotations does not say what is kernel: then the name alone decides. */
	bool maybe_kernel = f->kind == CAM_FUNC_KERNEL || f->kind == CAM_FUNC_INLINED ||
			    (f->kind == CAM_FUNC_USER && f->module.v < t->n_modules &&
			     t->modules[f->module.v].kind == CAM_MODULE_UNKNOWN);
	enum cam_idle_step step = maybe_kernel ? cam_idle_step_of(label) : CAM_IDLE_NEUTRAL;
	if (step != CAM_IDLE_NEUTRAL)
		bits |= step == CAM_IDLE_ENTERS ? IDLE_ENTERS : IDLE_LEAVES;
	if (f->kind != CAM_FUNC_INLINED && f->kind != CAM_FUNC_MARK)
		bits |= f->kind == CAM_FUNC_KERNEL ? CODE | KERNEL : CODE;
	return bits;
}

static int function_bits(struct cam_selector *x, uint32_t id)
{
	const struct cam_tables *t = x->tables;
	if (id >= t->n_functions)
		return ASKED;
	uint32_t *v = place_of(&x->functions, id, t->n_functions);
	if (!v)
		return -ENOMEM;
	int bits = *v ? (int)*v : ask_function(x, id);
	if (bits > 0)
		*v = (uint32_t)bits;
	return bits;
}

int cam_selector_names(struct cam_selector *x, struct cam_func_id function)
{
	int bits = function_bits(x, function.v);
	return bits < 0 ? bits : bits >> MATCH_SHIFT != 0;
}

/* What a stack is, from what its parent is and what its leaf says. */
static uint32_t below(uint32_t parent, uint32_t leaf)
{
	uint32_t keep = ~((1u << MATCH_SHIFT) - 1);
	uint32_t bits = ASKED | ((parent | leaf) & (keep | EXCLUDED));
	bits |= (leaf & CODE ? leaf : parent) & KERNEL;
	if (leaf & IDLE_ENTERS || (parent & IDLE && !(leaf & IDLE_LEAVES)))
		bits |= IDLE;
	return bits;
}

/* Up to the nearest ancestor with an answer, then down again. */
static int stack_bits(struct cam_selector *x, uint32_t id)
{
	const struct cam_tree *tree = &x->tables->stacks;
	uint32_t path[CAM_MAX_STACK_FRAMES + 1];
	size_t depth = 0;
	if (id >= tree->n)
		return ASKED;
	if (!place_of(&x->stacks, id, tree->n))
		return -ENOMEM;
	x->stacks.v[0] = ASKED;
	for (; !x->stacks.v[id]; id = tree->parent[id]) {
		if (depth == sizeof(path) / sizeof(path[0]))
			return ASKED;
		path[depth++] = id;
	}
	uint32_t bits = x->stacks.v[id];
	while (depth) {
		id = path[--depth];
		int leaf = function_bits(x, tree->item[id]);
		if (leaf < 0)
			return leaf;
		bits = below(bits, (uint32_t)leaf);
		x->stacks.v[id] = bits;
	}
	return (int)bits;
}

static int comm_bits(struct cam_selector *x, uint32_t id)
{
	const struct cam_selection *s = x->selection;
	uint32_t *v = place_of(&x->comms, id, x->tables->strings.n);
	if (!v)
		return -ENOMEM;
	if (*v)
		return (int)*v;
	struct cam_text comm = cam_string(x->tables, (struct cam_str_id){id});
	int bits = expressions_on(x, comm);
	int taken = s->comms.n ? any_pattern(x, &s->comms, comm) : 1;
	if (bits < 0 || taken < 0)
		return bits < 0 ? bits : taken;
	bits |= ASKED | (taken ? TAKEN : 0) | (cam_idle_comm(comm) ? IDLE_COMM : 0);
	*v = (uint32_t)bits;
	return bits;
}

static bool same_name(const struct cam_tables *t, uint32_t id, struct cam_etype_id other)
{
	return other.v < t->n_etypes && t->etypes[id].name.v == t->etypes[other.v].name.v;
}

static int etype_bits(struct cam_selector *x, uint32_t id)
{
	const struct cam_tables *t = x->tables;
	if (id >= t->n_etypes)
		return ASKED;
	uint32_t *v = place_of(&x->etypes, id, t->n_etypes);
	if (!v)
		return -ENOMEM;
	if (*v)
		return (int)*v;
	int named = x->selection->etypes.n ? any_pattern(x, &x->selection->etypes,
							 cam_string(t, t->etypes[id].name))
					   : same_name(t, id, x->main_etype);
	if (named < 0)
		return named;
	*v = ASKED | (named ? IS_MAIN : 0) | (same_name(t, id, x->before_etype) ? IS_BEFORE : 0);
	return (int)*v;
}

static bool holds(const struct cam_select_values *values, uint32_t v)
{
	for (size_t i = 0; i < values->n; i++) {
		if (values->v[i] == v)
			return true;
	}
	return values->n == 0;
}

static bool is_idle_task(const struct cam_task *k)
{
	return k->pid == 0 || (k->pid == CAM_PID_NONE && k->tid <= 0);
}

/* "/usr/bin/cc1" by its path; "cc1", a pattern without '/', by its last part. 1, 0 or -ENOMEM. */
static int exe_taken(struct cam_selector *x, struct cam_text exe)
{
	const struct cam_select_patterns *p = &x->selection->exes;
	const char *path = c_string(x, exe);
	if (!path)
		return -ENOMEM;
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	for (size_t i = 0; i < p->n; i++) {
		if (fnmatch(p->v[i], strchr(p->v[i], '/') ? path : last, 0) == 0)
			return 1;
	}
	return 0;
}

/* Equal, below, or by wildcards. 1, 0 or -ENOMEM. */
static int cgroup_taken(struct cam_selector *x, struct cam_text cgroup)
{
	const struct cam_select_patterns *p = &x->selection->cgroups;
	const char *path = c_string(x, cgroup);
	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		size_t n = strlen(p->v[i]);
		while (n > 1 && p->v[i][n - 1] == '/')
			n--;
		bool below = !strncmp(p->v[i], path, n) &&
			     (!path[n] || path[n] == '/' || p->v[i][n - 1] == '/');
		if (below || fnmatch(p->v[i], path, 0) == 0)
			return 1;
	}
	return 0;
}

static bool container_taken(const struct cam_selection *s, struct cam_text cgroup)
{
	struct cam_container c = cam_container_of(cgroup);
	bool of_container = !s->containers.n, of_pod = !s->pods.n;
	for (size_t i = 0; i < s->containers.n; i++)
		of_container |= cam_container_is(&c, cam_text_of(s->containers.v[i]));
	for (size_t i = 0; i < s->pods.n; i++)
		of_pod |= cam_container_is_in_pod(&c, cam_text_of(s->pods.v[i]));
	return of_container && of_pod;
}

static int task_taken(struct cam_selector *x, const struct cam_task *k)
{
	const struct cam_selection *s = x->selection;
	if (!holds(&s->pids, (uint32_t)k->pid) || !holds(&s->tids, (uint32_t)k->tid) ||
	    !holds(&s->uids, k->uid))
		return 0;
	int taken = s->exes.n ? exe_taken(x, cam_string(x->tables, k->exe)) : 1;
	if (taken > 0 && s->cgroups.n)
		taken = cgroup_taken(x, cam_string(x->tables, k->cgroup));
	if (taken > 0 && (s->containers.n || s->pods.n))
		taken = container_taken(s, cam_string(x->tables, k->cgroup));
	return taken;
}

static int task_bits(struct cam_selector *x, uint32_t id)
{
	const struct cam_tables *t = x->tables;
	if (id >= t->n_tasks)
		return ASKED;
	uint32_t *v = place_of(&x->tasks, id, t->n_tasks);
	if (!v)
		return -ENOMEM;
	if (!*v) {
		const struct cam_task *k = &t->tasks[id];
		int taken = task_taken(x, k);
		if (taken < 0)
			return taken;
		*v = ASKED | (taken ? TAKEN : 0);
		if (is_idle_task(k))
			*v |= IDLE;
	}
	return (int)*v;
}

int cam_selector_row(struct cam_selector *x, const struct cam_batch *b, size_t i)
{
	if (x->selection->cpus && !cam_selection_takes_cpu(x->selection, b->cpu[i]))
		return CAM_ROW_NO;
	if (!x->by_task)
		return CAM_ROW_YES;
	int bits = task_bits(x, b->task[i]);
	if (bits < 0)
		return bits;
	if (!(bits & TAKEN))
		return CAM_ROW_NO;
	return bits & IDLE ? CAM_ROW_YES : CAM_ROW_AWAKE;
}

/* The verdict where it does not depend on the stack; CAM_VERDICT_BY_STACK where it does. */
static int verdict_of_names(const struct cam_selection *s, int ebits, int cbits, bool awake)
{
	if (!(ebits & (IS_MAIN | IS_BEFORE)))
		return CAM_VERDICT_OTHER_EVENT;
	if (!(cbits & TAKEN) || cbits & EXCLUDED)
		return CAM_VERDICT_NO;
	if (s->match.n || s->exclude.n || s->mode != CAM_SELECT_ANY_MODE ||
	    (!s->with_idle && !awake && cbits & IDLE_COMM))
		return CAM_VERDICT_BY_STACK;
	return ebits & IS_BEFORE ? CAM_VERDICT_BEFORE : CAM_VERDICT_YES;
}

static int verdict_by_bits(const struct cam_selection *s, int ebits, int cbits, int sbits,
			   bool awake)
{
	int verdict = verdict_of_names(s, ebits, cbits, awake);
	if (verdict != CAM_VERDICT_BY_STACK)
		return verdict;
	if (sbits & EXCLUDED)
		return CAM_VERDICT_NO;
	uint32_t wanted = s->match.n ? (1u << s->match.n) - 1 : 0;
	if (((uint32_t)(cbits | sbits) >> MATCH_SHIFT & wanted) != wanted)
		return CAM_VERDICT_NO;
	if (s->mode != CAM_SELECT_ANY_MODE &&
	    (s->mode == CAM_SELECT_KERNEL) != ((sbits & KERNEL) != 0))
		return CAM_VERDICT_NO;
	if (!s->with_idle && !awake && cbits & IDLE_COMM && sbits & IDLE)
		return CAM_VERDICT_IDLE;
	return ebits & IS_BEFORE ? CAM_VERDICT_BEFORE : CAM_VERDICT_YES;
}

int cam_selector_verdict_of_comm(struct cam_selector *x, struct cam_str_id comm,
				 struct cam_etype_id etype, bool awake)
{
	int ebits = etype_bits(x, etype.v);
	if (ebits < 0)
		return ebits;
	if (!(ebits & (IS_MAIN | IS_BEFORE)))
		return CAM_VERDICT_OTHER_EVENT;
	int cbits = comm_bits(x, comm.v);
	return cbits < 0 ? cbits : verdict_of_names(x->selection, ebits, cbits, awake);
}

/* 0: not asked yet. */
static int known_bits(const struct cam_select_cache *c, uint32_t id)
{
	return id < c->n ? (int)c->v[id] : 0;
}

int cam_selector_verdict(struct cam_selector *x, struct cam_stack_id stack, struct cam_str_id comm,
			 struct cam_etype_id etype, bool awake)
{
	/* Asked once a sample, and nearly always known. */
	int ebits = known_bits(&x->etypes, etype.v), cbits = known_bits(&x->comms, comm.v);
	int sbits = known_bits(&x->stacks, stack.v);
	if (ebits && cbits && sbits)
		return verdict_by_bits(x->selection, ebits, cbits, sbits, awake);
	int verdict = cam_selector_verdict_of_comm(x, comm, etype, awake);
	if (verdict != CAM_VERDICT_BY_STACK)
		return verdict;
	ebits = etype_bits(x, etype.v);
	cbits = comm_bits(x, comm.v);
	sbits = stack_bits(x, stack.v);
	if (ebits < 0 || cbits < 0 || sbits < 0)
		return ebits < 0 ? ebits : cbits < 0 ? cbits : sbits;
	return verdict_by_bits(x->selection, ebits, cbits, sbits, awake);
}

struct met {
	struct cam_selector *x;
	uint32_t matched; /* expressions, as bits from MATCH_SHIFT */
	bool taken;	  /* a command that the patterns take */
};

static int meet_comm(void *arg, struct cam_str_id comm, uint32_t task)
{
	struct met *m = arg;
	(void)task;
	int bits = comm_bits(m->x, comm.v);
	if (bits < 0)
		return bits;
	m->matched |= (uint32_t)bits;
	m->taken |= (bits & TAKEN) && !(bits & EXCLUDED);
	return 0;
}

int cam_selector_may_match(struct cam_selector *x, struct cam_window *w)
{
	struct met m = {.x = x};
	uint32_t wanted = x->selection->match.n ? (1u << x->selection->match.n) - 1 : 0;
	int err = cam_window_comms(w, meet_comm, &m);
	if (err)
		return err == -EBADMSG ? 1 : err;
	if (!m.taken)
		return 0;
	if (!wanted)
		return 1;
	err = cam_window_names(w, &x->tables);
	if (err)
		return err == -EBADMSG ? 1 : err;
	for (uint32_t i = 0; i < x->tables->n_functions; i++) {
		int bits = function_bits(x, i);
		if (bits < 0)
			return bits;
		m.matched |= (uint32_t)bits;
		if ((m.matched >> MATCH_SHIFT & wanted) == wanted)
			return 1;
	}
	return (m.matched >> MATCH_SHIFT & wanted) == wanted;
}

struct ranges {
	struct cam_range *v;
	size_t n, cap;
};

static int keep_anchor(void *arg, const struct cam_anchor *a)
{
	struct cam_selector *x = arg;
	if (a->realtime_ns == INT64_MIN)
		return 0;
	int err = cam_vec_reserve(&x->anchors, &x->cap_anchors, x->n_anchors + 1,
				  sizeof(*x->anchors), CAM_MAX_ROWS);
	if (!err)
		x->anchors[x->n_anchors++] = *a;
	return err;
}

static int by_time(const void *x, const void *y)
{
	const struct cam_anchor *a = x, *b = y;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* They come in order, and two of one time must stay so: the later one is the clock after a step. */
static void put_in_order(struct cam_selector *x)
{
	for (size_t i = 1; i < x->n_anchors; i++) {
		if (x->anchors[i].time_ns < x->anchors[i - 1].time_ns) {
			qsort(x->anchors, x->n_anchors, sizeof(*x->anchors), by_time);
			return;
		}
	}
}

int cam_selector_need_anchors(struct cam_selector *x, struct cam_window *w)
{
	if (x->n_anchors)
		return 0;
	int err = w->ops->anchors(w, keep_anchor, x);
	if (!err && !x->n_anchors && w->info.realtime_ns != INT64_MIN)
		err = keep_anchor(x, &(struct cam_anchor){.time_ns = w->info.start_ns,
							  .realtime_ns = w->info.realtime_ns});
	put_in_order(x);
	return err;
}

/* Adds the part of [from, to) that lies within the limits; grows the last range if they touch. */
static int add_range(struct ranges *r, __int128 from, __int128 to, struct cam_range limits)
{
	if (from < limits.from_ns)
		from = limits.from_ns;
	if (to > limits.to_ns)
		to = limits.to_ns;
	if (from >= to)
		return 0;
	if (r->n && r->v[r->n - 1].to_ns == (uint64_t)from) {
		r->v[r->n - 1].to_ns = (uint64_t)to;
		return 0;
	}
	int err = cam_vec_reserve(&r->v, &r->cap, r->n + 1, sizeof(*r->v), CAM_MAX_ROWS);
	if (!err)
		r->v[r->n++] = (struct cam_range){(uint64_t)from, (uint64_t)to};
	return err;
}

/*
 * A wall range on the window's clock. Each anchor is good until the next one; the first also for
 * what came before it. So a wall clock that was stepped back within the window gives two ranges,
 * one that was stepped over the range none.
 */
static int wall_ranges(struct cam_selector *x, struct cam_window *w, struct ranges *r,
		       struct cam_range window)
{
	const struct cam_selection *s = x->selection;
	int err = cam_selector_need_anchors(x, w);
	x->unplaced = !err && !x->n_anchors;
	for (size_t i = 0; i < x->n_anchors && !err; i++) {
		const struct cam_anchor *a = &x->anchors[i];
		struct cam_range good = {
			i ? a->time_ns : 0,
			i + 1 < x->n_anchors ? x->anchors[i + 1].time_ns : UINT64_MAX,
		};
		if (good.from_ns < window.from_ns)
			good.from_ns = window.from_ns;
		if (good.to_ns > window.to_ns)
			good.to_ns = window.to_ns;
		__int128 shift = (__int128)a->time_ns - a->realtime_ns;
		err = add_range(r, s->from_ns + shift, s->to_ns + shift, good);
	}
	return err;
}

/* Counts have at most the one moment that whoever imported them gave: they are in as a whole, or out. */
static int count_ranges(struct cam_selector *x, const struct cam_window_info *info,
			struct ranges *r)
{
	const struct cam_selection *s = x->selection;
	int64_t at_ns = info->realtime_ns;
	x->unplaced = s->clock != CAM_SELECT_WALL || at_ns == INT64_MIN;
	x->whole = !x->unplaced && at_ns >= s->from_ns && at_ns < s->to_ns;
	return x->whole ? add_range(r, 0, UINT64_MAX, CAM_RANGE_ALL) : 0;
}

static int find_ranges(struct cam_selector *x, struct cam_window *w)
{
	const struct cam_selection *s = x->selection;
	struct cam_range window = {w->info.start_ns, w->info.end_ns};
	struct ranges r = {0};
	int err = 0;
	if (s->one_boot && memcmp(&s->boot_id, &w->info.boot_id, sizeof(s->boot_id)) != 0)
		return 0;
	if (s->clock == CAM_SELECT_ALWAYS) {
		x->whole = true;
		err = add_range(&r, 0, UINT64_MAX, CAM_RANGE_ALL);
	} else if (w->info.clock == CAM_CLOCK_ABSENT) {
		err = count_ranges(x, &w->info, &r);
	} else if (s->clock == CAM_SELECT_CLOCK) {
		err = add_range(&r, s->from_ns, s->to_ns, window);
	} else {
		err = wall_ranges(x, w, &r, window);
	}
	if (r.n == 1 && s->clock != CAM_SELECT_ALWAYS && w->info.clock != CAM_CLOCK_ABSENT)
		x->whole = r.v[0].from_ns == window.from_ns && r.v[0].to_ns == window.to_ns;
	x->ranges = r.v;
	x->n_ranges = r.n;
	return err;
}

int cam_selector_touches(const struct cam_selection *s, struct cam_window *w, bool *unplaced)
{
	struct cam_selector x = {.selection = s};
	int err = find_ranges(&x, w);
	int touches = err ? err : x.n_ranges > 0;
	*unplaced = x.unplaced;
	cam_selector_close(&x);
	return touches;
}

struct idle_search {
	struct cam_selector *x;
	struct cam_window *w;
	bool unclear; /* somebody wears such a comm; the tasks say who */
};

static int look_at_comm(void *arg, struct cam_str_id comm, uint32_t task)
{
	struct idle_search *s = arg;
	struct cam_task k;
	if (!cam_idle_comm(cam_string(s->x->tables, comm)))
		return 0;
	s->x->by_stack = true;
	int err = task == CAM_NONE ? -EBADMSG : cam_window_task(s->w, task, &k);
	if (err == -EBADMSG) {
		s->unclear = true;
		return 0;
	}
	s->x->by_task |= !is_idle_task(&k);
	return err;
}

/*
 * Who wears a comm like the idle task's: then the stack says whether it idles, or the task that not. Tasks are
 * looked at where there is such a comm, all of them only where several wear it.
 */
static int find_idle_comms(struct cam_selector *x, struct cam_window *w)
{
	struct idle_search s = {.x = x, .w = w};
	const struct cam_tables *t;
	int err = cam_window_comms(w, look_at_comm, &s);
	if (err || x->by_task || !s.unclear)
		return err;
	err = w->ops->tables(w, &t);
	for (size_t i = 0; !err && i < t->n_tasks && !x->by_task; i++) {
		if (!cam_idle_comm(cam_string(t, t->tasks[i].comm)))
			continue;
		x->by_stack = true;
		x->by_task = !is_idle_task(&t->tasks[i]);
	}
	return err;
}

int cam_selector_open(struct cam_selector *x, const struct cam_selection *s, struct cam_window *w,
		      struct cam_etype_id main_etype, struct cam_etype_id before_etype)
{
	*x = (struct cam_selector){.selection = s,
				   .main_etype = main_etype,
				   .before_etype = before_etype,
				   .name = CAM_BUF(CAM_MAX_STRING_BYTES)};
	int err = cam_window_words(w, &x->tables);
	if (!err)
		err = find_ranges(x, w);
	x->by_stack = s->match.n || s->exclude.n || s->mode != CAM_SELECT_ANY_MODE;
	if (!err && !s->with_idle)
		err = find_idle_comms(x, w);
	if (!err && x->by_stack)
		err = cam_window_names(w, &x->tables);
	x->by_task |= s->pids.n || s->tids.n || s->uids.n || s->exes.n || s->cgroups.n ||
		      s->containers.n || s->pods.n;
	if (!err && x->by_task)
		err = w->ops->tables(w, &x->tables);
	if (err)
		cam_selector_close(x);
	return err;
}

void cam_selector_close(struct cam_selector *x)
{
	free(x->stacks.v);
	free(x->functions.v);
	free(x->comms.v);
	free(x->tasks.v);
	free(x->etypes.v);
	free(x->ranges);
	free(x->anchors);
	cam_buf_free(&x->name);
	*x = (struct cam_selector){0};
}

bool cam_selector_by_totals(const struct cam_selector *x)
{
	return x->whole && !x->by_task && !x->selection->cpus;
}

unsigned cam_selector_columns(const struct cam_selector *x)
{
	return (x->by_task ? CAM_COL_TASK : 0u) | (x->selection->cpus ? CAM_COL_CPU : 0u);
}

uint64_t cam_selector_ledger(const struct cam_selector *x, const struct cam_ledger_row *row)
{
	if (row->cpu != CAM_CPU_NONE && !cam_selection_takes_cpu(x->selection, row->cpu))
		return 0;
	if (x->whole)
		return row->samples;
	/* A row that is cut by the selection gives its share, rounded up: never less than was. */
	__uint128_t inside = 0, length = row->to_ns > row->from_ns ? row->to_ns - row->from_ns : 0;
	for (size_t i = 0; i < x->n_ranges; i++) {
		const struct cam_range *r = &x->ranges[i];
		uint64_t from = r->from_ns > row->from_ns ? r->from_ns : row->from_ns;
		uint64_t to = r->to_ns < row->to_ns ? r->to_ns : row->to_ns;
		if (!length && row->from_ns >= r->from_ns && row->from_ns < r->to_ns)
			return row->samples;
		if (from < to)
			inside += to - from;
	}
	return length ? (uint64_t)((inside * row->samples + length - 1) / length) : 0;
}
