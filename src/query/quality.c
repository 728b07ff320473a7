// SPDX-License-Identifier: Apache-2.0
/*
 * Samples are summed by (process, stack) first, since a stack is judged once and sampled often; then each
 * distinct stack is walked from its leaf to its root.
 *
 * Invariants: 1. user = complete + the sum of ends, and samples = user + those of NO_USER and WORKER, of each row.
 * 2. The row `all` is the sum of all rows. 3. A process is (pid, start), across windows; where the start is not
 * known, (pid, comm).
 *
 * Example: a stack main;work;[libz.so] sampled 3 times in a window unwound by tables: 3 samples, 3 user, 3
 * complete, 9 user frames, 3 of them unnamed, the worst file libz.so with 3.
 */
#include "query/quality.h"

#include "base/vec.h"
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_PROCESSES  (1u << 20)
#define MAX_NAME_BYTES (256u << 20)
#define FEW_FRAMES     3u
#define MAX_LOOKS      (1u << 26) /* at tasks, for the counters of a window */

/* A process's unnamed frames in one file. */
struct blame {
	uint32_t row;
	struct cam_str_id path; /* of build.names */
	uint64_t unnamed;
};

struct build {
	struct cam_tables *names;
	struct cam_quality_row *rows;
	size_t n_rows, cap_rows;
	struct cam_str_id *comms, *exes, *cgroups; /* of names: texts move while it grows */
	size_t cap_comms, cap_exes, cap_cgroups;
	struct cam_index row_index;
	struct blame *blames;
	size_t n_blames, cap_blames;
	struct cam_index blame_index;
};

/* What a stack is, by the functions on it. */
struct verdict {
	bool judged, has_user, complete, guessed;
	enum cam_stack_end end;
	uint32_t user_frames, user_unnamed, jit_frames, jit_unnamed, kernel_frames, kernel_unnamed;
};

/* What is known of a sample beside its stack. */
enum trait { IS_WORKER = 1 << 0, IS_GUESSED = 1 << 1 };

struct window_step {
	struct build *b;
	const struct cam_tables *t;
	struct cam_sums sums; /* comm: the row; extra: traits */
	uint32_t *row_of;     /* by task: row + 1; 0: not yet */
	size_t n_row_of;
	bool by_tables;	  /* unwound by them: what is incomplete is marked, and what was guessed */
	bool by_pointers; /* all stacks are */
	bool is_marked;	  /* samples of it are marked as guessed */
	const struct cam_walk_window *x;
	uint64_t looks;
};

static const struct {
	const char *words, *key;
} ends[CAM_STACK_ENDS] = {
	[CAM_STACK_UNKNOWN] =
		{"broken: fewer than 3 frames, or none of main, _start, start_thread, clone",
		 "broken"},
	[CAM_STACK_COMPLETE] = {"complete", "complete"},
	[CAM_STACK_NO_USER] = {"a kernel thread, or ending: no user stack", "no_user"},
	[CAM_STACK_PENDING] = {"mappings or unwind table not there yet", "pending"},
	[CAM_STACK_NO_MAPPING] = {"a frame in no mapping", "no_mapping"},
	[CAM_STACK_NO_CFI] = {"no unwind table for this code", "no_cfi"},
	[CAM_STACK_UNSUPPORTED] = {"an unwind rule that is not followed", "unsupported"},
	[CAM_STACK_DEPTH] = {"too deep", "depth"},
	[CAM_STACK_BAD_RETURN] = {"a guessed return address was none", "bad_return"},
	[CAM_STACK_BAD_CFA] = {"the stack pointer did not rise", "bad_cfa"},
	[CAM_STACK_UNREADABLE] = {"stack memory could not be read", "unreadable"},
	[CAM_STACK_STALE] = {"mappings had changed", "stale"},
	[CAM_STACK_COMPAT] = {"a 32-bit program", "compat"},
	[CAM_STACK_SUSPECT] = {"process not known for sure", "suspect"},
	[CAM_STACK_WORKER] = {"an I/O worker of the kernel: no user stack", "io_worker"},
};

const char *cam_stack_end_words(enum cam_stack_end end)
{
	return (unsigned)end < CAM_STACK_ENDS ? ends[end].words : "unknown";
}

const char *cam_stack_end_key(enum cam_stack_end end)
{
	return (unsigned)end < CAM_STACK_ENDS ? ends[end].key : "unknown";
}

bool cam_stack_end_is_incomplete(enum cam_stack_end end)
{
	return end != CAM_STACK_COMPLETE && end != CAM_STACK_NO_USER && end != CAM_STACK_WORKER;
}

enum cam_stack_end cam_quality_why(const struct cam_quality_row *r)
{
	enum cam_stack_end why = CAM_STACK_UNKNOWN;
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++) {
		enum cam_stack_end end = (enum cam_stack_end)i;
		if (cam_stack_end_is_incomplete(end) && r->ends[i] > r->ends[why])
			why = end;
	}
	return why;
}

/* Where threads begin: C, C++, Rust; Go; the dynamic loader. */
static bool is_root_name(struct cam_text name)
{
	static const char *const whole[] = {
		"main",		  "_start",	    "start_thread",   "clone",
		"clone3",	  "__clone",	    "__clone3",	      "_dl_start_user",
		"runtime.goexit", "runtime.mstart", "runtime.rt0_go",
	};
	static const char *const begins[] = {"__libc_start", "runtime.goexit", "_rt0_",
					     "std::rt::lang_start"};
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (cam_text_equal(name, cam_text_of(whole[i])))
			return true;
	}
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (cam_text_starts(name, cam_text_of(begins[i])))
			return true;
	}
	return false;
}

static bool is_jit(const struct cam_tables *t, const struct cam_function *f)
{
	return f->kind == CAM_FUNC_JIT || t->modules[f->module.v].kind == CAM_MODULE_JIT;
}

/* Counts one function of a stack; `outer` becomes the outermost one that is not the kernel's. */
static void count_frame(const struct window_step *s, struct cam_func_id id, struct verdict *v,
			const struct cam_function **outer)
{
	const struct cam_function *f = &s->t->functions[id.v];
	bool unnamed = !cam_string(s->t, f->name).n;
	if (f->kind == CAM_FUNC_KERNEL || s->t->modules[f->module.v].kind == CAM_MODULE_KERNEL) {
		v->kernel_frames++;
		v->kernel_unnamed += unnamed;
		return;
	}
	*outer = f;
	if (f->kind == CAM_FUNC_MARK)
		return;
	if (is_jit(s->t, f)) {
		v->jit_frames++;
		v->jit_unnamed += unnamed;
		return;
	}
	v->user_frames++;
	v->user_unnamed += unnamed;
}

static enum cam_stack_end end_of_mark(const struct cam_function *mark)
{
	return mark->start < CAM_STACK_ENDS && mark->start != CAM_STACK_COMPLETE
		       ? (enum cam_stack_end)mark->start
		       : CAM_STACK_UNKNOWN;
}

static struct verdict judge(const struct window_step *s, uint32_t stack)
{
	struct verdict v = {.judged = true};
	const struct cam_function *outer = NULL;
	for (uint32_t node = stack; node; node = s->t->stacks.parent[node])
		count_frame(s, (struct cam_func_id){s->t->stacks.item[node]}, &v, &outer);
	v.has_user = outer != NULL;
	v.guessed = s->by_pointers && v.user_frames + v.jit_frames > 1;
	if (!outer)
		return v;
	if (outer->kind == CAM_FUNC_MARK)
		v.end = end_of_mark(outer);
	else if (s->by_tables)
		v.complete = true;
	else
		v.complete = v.user_frames + v.jit_frames >= FEW_FRAMES &&
			     is_root_name(cam_string(s->t, outer->name));
	return v;
}

struct row_key {
	int32_t pid;
	uint64_t start_ns;
	struct cam_str_id comm;
};

static bool same_row(const void *rows, uint32_t id, const void *key)
{
	const struct build *b = rows;
	const struct row_key *k = key;
	return b->rows[id].pid == k->pid && b->rows[id].start_ns == k->start_ns &&
	       (k->start_ns || b->comms[id].v == k->comm.v);
}

static int add_row(struct build *b, const struct row_key *k, struct cam_str_id exe,
		   struct cam_str_id cgroup, uint64_t hash)
{
	int err = cam_vec_reserve(&b->rows, &b->cap_rows, b->n_rows + 1, sizeof(*b->rows),
				  MAX_PROCESSES);
	if (!err)
		err = cam_vec_reserve(&b->comms, &b->cap_comms, b->n_rows + 1, sizeof(*b->comms),
				      MAX_PROCESSES);
	if (!err)
		err = cam_vec_reserve(&b->exes, &b->cap_exes, b->n_rows + 1, sizeof(*b->exes),
				      MAX_PROCESSES);
	if (!err)
		err = cam_vec_reserve(&b->cgroups, &b->cap_cgroups, b->n_rows + 1,
				      sizeof(*b->cgroups), MAX_PROCESSES);
	if (!err)
		err = cam_index_reserve(&b->row_index);
	if (err)
		return err;
	cam_index_add(&b->row_index, hash, (uint32_t)b->n_rows);
	b->cgroups[b->n_rows] = cgroup;
	b->comms[b->n_rows] = k->comm;
	b->exes[b->n_rows] = exe;
	b->rows[b->n_rows++] = (struct cam_quality_row){.pid = k->pid, .start_ns = k->start_ns};
	return 0;
}

/* The row of a task's process. */
static int find_row(struct window_step *s, uint32_t task, uint32_t *out)
{
	struct build *b = s->b;
	const struct cam_task *k = &s->t->tasks[task];
	struct row_key key = {.pid = k->pid, .start_ns = k->start_ns};
	struct cam_str_id exe, cgroup;
	int err = cam_string_intern(b->names, cam_string(s->t, k->comm), &key.comm);
	if (!err)
		err = cam_string_intern(b->names, cam_string(s->t, k->exe), &exe);
	if (!err)
		err = cam_string_intern(b->names, cam_string(s->t, k->cgroup), &cgroup);
	if (err)
		return err;
	uint64_t hash = cam_hash_u64(
		(uint64_t)(uint32_t)k->pid << 32 | (k->start_ns ? 0 : key.comm.v), k->start_ns);
	*out = cam_index_find(&b->row_index, hash, same_row, b, &key);
	if (*out == CAM_INDEX_NONE) {
		*out = (uint32_t)b->n_rows;
		err = add_row(b, &key, exe, cgroup, hash);
	}
	/* The main thread's comm is the process's; a program that is known later is better. */
	if (!err && k->pid == k->tid)
		b->comms[*out] = key.start_ns ? key.comm : b->comms[*out];
	if (!err && cam_string(s->t, k->exe).n)
		b->exes[*out] = exe;
	if (!err && cam_string(s->t, k->cgroup).n)
		b->cgroups[*out] = cgroup;
	return err;
}

static int row_of_task(struct window_step *s, uint32_t task, uint32_t *out)
{
	if (task >= s->n_row_of)
		return -EBADMSG;
	if (!s->row_of[task]) {
		int err = find_row(s, task, out);
		if (err)
			return err;
		s->row_of[task] = *out + 1;
	}
	*out = s->row_of[task] - 1;
	return 0;
}

static uint32_t traits_of(struct window_step *s, const struct cam_batch *b, size_t at)
{
	uint32_t traits = 0;
	if (b->task[at] < s->n_row_of) {
		const struct cam_task *k = &s->t->tasks[b->task[at]];
		if (cam_task_is_worker(k->pid, k->tid, cam_string(s->t, k->comm)))
			traits |= IS_WORKER;
	}
	if (s->by_tables && b->detail && b->detail[at] &&
	    cam_text_equal(cam_string(s->t, (struct cam_str_id){b->detail[at]}),
			   CAM_TEXT(CAM_DETAIL_GUESSED)))
		traits |= IS_GUESSED;
	s->is_marked |= traits & IS_GUESSED;
	return traits;
}

static int sum_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	(void)self;
	struct window_step *s = x->own;
	int err = 0;
	for (size_t i = 0; i < rows->n && !err; i++) {
		size_t at = rows->index[i];
		uint32_t process = 0;
		err = row_of_task(s, rows->batch->task[at], &process);
		struct cam_sum sum = {.stack = rows->batch->stack[at],
				      .comm = process,
				      .extra = traits_of(s, rows->batch, at),
				      .samples = 1};
		if (!err && rows->verdict[i] == CAM_VERDICT_YES)
			err = cam_sums_add(&s->sums, sum);
	}
	return err;
}

static bool same_blame(const void *rows, uint32_t id, const void *key)
{
	const struct blame *have = rows, *k = key;
	return have[id].row == k->row && have[id].path.v == k->path.v;
}

static int blame_module(struct window_step *s, uint32_t row, uint32_t module, uint64_t unnamed)
{
	struct build *b = s->b;
	struct blame k = {.row = row};
	int err =
		cam_string_intern(b->names, cam_string(s->t, s->t->modules[module].path), &k.path);
	if (err)
		return err;
	uint64_t hash = cam_hash_u64(row, k.path.v);
	uint32_t at = cam_index_find(&b->blame_index, hash, same_blame, b->blames, &k);
	if (at == CAM_INDEX_NONE) {
		err = cam_vec_reserve(&b->blames, &b->cap_blames, b->n_blames + 1,
				      sizeof(*b->blames), MAX_PROCESSES);
		if (!err)
			err = cam_index_reserve(&b->blame_index);
		if (err)
			return err;
		at = (uint32_t)b->n_blames;
		cam_index_add(&b->blame_index, hash, at);
		b->blames[b->n_blames++] = k;
	}
	b->blames[at].unnamed += unnamed;
	return 0;
}

/* Each unnamed frame to its file. */
static int blame_stack(struct window_step *s, const struct cam_sum *sum)
{
	int err = 0;
	for (uint32_t node = sum->stack; node && !err; node = s->t->stacks.parent[node]) {
		const struct cam_function *f = &s->t->functions[s->t->stacks.item[node]];
		if (f->kind == CAM_FUNC_USER && !cam_string(s->t, f->name).n &&
		    s->t->modules[f->module.v].kind == CAM_MODULE_FILE)
			err = blame_module(s, sum->comm, f->module.v, sum->samples);
	}
	return err;
}

static void add_verdict(struct cam_quality_row *row, const struct verdict *v,
			const struct cam_sum *sum)
{
	uint64_t n = sum->samples;
	row->samples += n;
	row->user += v->has_user ? n : 0;
	if (!v->has_user)
		row->ends[sum->extra & IS_WORKER ? CAM_STACK_WORKER : CAM_STACK_NO_USER] += n;
	else if (v->complete)
		row->complete += n;
	else
		row->ends[v->end] += n;
	row->guessed += sum->extra & IS_GUESSED || v->guessed ? n : 0;
	row->user_frames += n * v->user_frames;
	row->user_unnamed += n * v->user_unnamed;
	row->jit_frames += n * v->jit_frames;
	row->jit_unnamed += n * v->jit_unnamed;
	row->kernel_frames += n * v->kernel_frames;
	row->kernel_unnamed += n * v->kernel_unnamed;
}

static int add_sums(struct window_step *s)
{
	size_t n_stacks = s->t->stacks.n;
	struct verdict *verdicts = calloc(n_stacks + 1, sizeof(*verdicts));
	if (!verdicts)
		return -ENOMEM;
	int err = cam_sums_sort(&s->sums);
	for (size_t i = 0; i < s->sums.n && !err; i++) {
		const struct cam_sum *sum = &s->sums.v[i];
		struct verdict *v = &verdicts[sum->stack];
		if (!v->judged)
			*v = judge(s, sum->stack);
		add_verdict(&s->b->rows[sum->comm], v, sum);
		if (v->user_unnamed)
			err = blame_stack(s, sum);
	}
	free(verdicts);
	return err;
}

static bool is_taken(const struct cam_selector *x, uint64_t time_ns)
{
	for (size_t i = 0; i < x->n_ranges; i++)
		if (time_ns >= x->ranges[i].from_ns && time_ns < x->ranges[i].to_ns)
			return true;
	return x->whole;
}

/*
 * Windows that were written before samples said it themselves count them by pid, every 10 s. An interval counts by its middle, a
 * pid that was used twice for the first.
 */
static int look_at_counter(void *arg, const struct cam_counter *c)
{
	struct window_step *s = arg;
	uint64_t at = c->time_ns > c->span_ns / 2 ? c->time_ns - c->span_ns / 2 : 0;
	if (c->kind != CAM_COUNTER_GUESSED || !is_taken(&s->x->selector, at) ||
	    s->looks > MAX_LOOKS)
		return 0;
	s->looks += s->n_row_of;
	for (size_t i = 0; i < s->n_row_of; i++)
		if (s->row_of[i] && (uint32_t)s->t->tasks[i].pid == c->subject) {
			s->b->rows[s->row_of[i] - 1].guessed += c->value;
			break;
		}
	return 0;
}

static int look_at_fact(void *arg, const struct cam_fact *f)
{
	struct window_step *s = arg;
	if (cam_text_equal(cam_string(s->t, f->key), CAM_TEXT(CAM_FACT_UNWIND))) {
		s->by_pointers =
			cam_text_starts(cam_string(s->t, f->value), CAM_TEXT(CAM_FACT_UNWIND_FP));
		s->by_tables = !s->by_pointers;
	}
	return 0;
}

static int open_window(void *self, struct cam_walk_window *x)
{
	struct window_step *s = calloc(1, sizeof(*s));
	x->own = s;
	if (!s)
		return -ENOMEM;
	s->b = self;
	s->x = x;
	s->t = x->tables;
	s->n_row_of = s->t->n_tasks;
	s->row_of = calloc(s->n_row_of + 1, sizeof(*s->row_of));
	return s->row_of ? x->w->ops->facts(x->w, look_at_fact, s) : -ENOMEM;
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	(void)self;
	struct window_step *s = x->own;
	if (!s)
		return err;
	if (!err)
		err = add_sums(s);
	if (!err && s->by_tables && !s->is_marked && x->w->ops->counters)
		err = x->w->ops->counters(x->w, look_at_counter, s);
	cam_sums_free(&s->sums);
	free(s->row_of);
	free(s);
	return err;
}

static int by_samples(const void *a, const void *b)
{
	const struct cam_quality_row *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void add_to_all(struct cam_quality_row *all, const struct cam_quality_row *r)
{
	all->samples += r->samples;
	all->user += r->user;
	all->complete += r->complete;
	all->guessed += r->guessed;
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++)
		all->ends[i] += r->ends[i];
	all->user_frames += r->user_frames;
	all->user_unnamed += r->user_unnamed;
	all->jit_frames += r->jit_frames;
	all->jit_unnamed += r->jit_unnamed;
	all->kernel_frames += r->kernel_frames;
	all->kernel_unnamed += r->kernel_unnamed;
}

/* Texts last: the strings do not move any more. */
static void finish(struct build *b, const struct cam_seen *seen, struct cam_quality *out)
{
	for (size_t i = 0; i < b->n_blames; i++) {
		struct cam_quality_row *r = &b->rows[b->blames[i].row];
		if (b->blames[i].unnamed > r->worst_unnamed) {
			r->worst_unnamed = b->blames[i].unnamed;
			r->worst = cam_string(b->names, b->blames[i].path);
		}
	}
	for (size_t i = 0; i < b->n_rows; i++) {
		b->rows[i].comm = cam_string(b->names, b->comms[i]);
		b->rows[i].exe = cam_string(b->names, b->exes[i]);
		b->rows[i].cgroup = cam_string(b->names, b->cgroups[i]);
		add_to_all(&out->all, &b->rows[i]);
	}
	if (b->n_rows)
		qsort(b->rows, b->n_rows, sizeof(*b->rows), by_samples);
	out->rows = b->rows;
	out->n_rows = b->n_rows;
	out->names = b->names;
	out->unreadable = seen->unreadable;
}

int cam_quality_build(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_progress *progress, struct cam_quality *out)
{
	struct build b = {.names = calloc(1, sizeof(*b.names))};
	const struct cam_walk_view view = {
		.self = &b,
		.open = open_window,
		.rows = sum_rows,
		.close = close_window,
		.columns = CAM_COL_TASK | CAM_COL_DETAIL,
		.progress = progress,
	};
	struct cam_walk walk = {0};
	*out = (struct cam_quality){0};
	if (!b.names)
		return -ENOMEM;
	int err = cam_tables_init(b.names, MAX_NAME_BYTES);
	if (!err)
		err = cam_walk(source, s, &view, &walk);
	if (!err) {
		finish(&b, &walk.seen, out);
	} else {
		free(b.rows);
		cam_tables_free(b.names);
		free(b.names);
	}
	cam_walk_free(&walk);
	free(b.comms);
	free(b.exes);
	free(b.cgroups);
	free(b.blames);
	cam_index_free(&b.row_index);
	cam_index_free(&b.blame_index);
	return err;
}

void cam_quality_free(struct cam_quality *q)
{
	free(q->rows);
	if (q->names)
		cam_tables_free(q->names);
	free(q->names);
	*q = (struct cam_quality){0};
}
