// SPDX-License-Identifier: Apache-2.0
/*
 * Each thread has tables of its own: of the gathered tables those rows that its samples use, renumbered
 * in order of use. used_*[row of the gathered table] is the new number + 1; lists hold the rows in order,
 * so that a later thread can undo what an earlier one marked.
 */
#include "interop/firefox_out.h"

#include "base/units.h"
#include "interop/json_name.h"
#include "interop/threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT };

/* Rows of one gathered table that a thread uses. */
struct used {
	uint32_t *number; /* per row: its number here + 1; 0: not used */
	uint32_t *rows;	  /* in order */
	size_t n;
};

struct firefox {
	struct cam_exporter base;
	struct cam_threads th;
	struct used stacks, frames, funcs, modules, strings;
	struct cam_buf room;
};

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	int err = cam_threads_add(&((struct firefox *)x)->th, x, r);
	return err == -E2BIG ? 0 : err ? err : 1;
}

static int begin_window(struct cam_exporter *x)
{
	return cam_gather_window(&((struct firefox *)x)->th.g, x);
}

static uint32_t use(struct used *u, uint32_t row)
{
	if (!u->number[row]) {
		u->rows[u->n++] = row;
		u->number[row] = (uint32_t)u->n;
	}
	return u->number[row] - 1;
}

static void forget(struct used *u)
{
	for (size_t i = 0; i < u->n; i++)
		u->number[u->rows[i]] = 0;
	u->n = 0;
}

static int make_used(struct used *u, size_t rows)
{
	u->number = calloc(rows + 1, sizeof(*u->number));
	u->rows = calloc(rows + 1, sizeof(*u->rows));
	return u->number && u->rows ? 0 : -ENOMEM;
}

/* Marks a stack and all it needs; parents come first, so that a prefix is always an earlier row. */
static void use_stack(struct firefox *o, uint32_t node)
{
	const struct cam_tables *t = &o->th.g.t;
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	for (; node && !o->stacks.number[node] && n < CAM_MAX_STACK_FRAMES;
	     node = t->places.parent[node])
		path[n++] = node;
	while (n) {
		uint32_t location = t->places.item[path[--n]];
		const struct cam_function *f = &t->functions[t->locations[location].func.v];
		use(&o->stacks, path[n]);
		use(&o->frames, location);
		use(&o->funcs, t->locations[location].func.v);
		use(&o->strings, f->name.v);
		if (f->module.v) {
			use(&o->modules, f->module.v);
			use(&o->strings, t->modules[f->module.v].path.v);
		}
	}
}

static const struct cam_function *func_of(const struct firefox *o, uint32_t location)
{
	const struct cam_tables *t = &o->th.g.t;
	return &t->functions[t->locations[location].func.v];
}

static unsigned category_of(const struct cam_function *f)
{
	switch (f->kind) {
	case CAM_FUNC_KERNEL:
		return CATEGORY_KERNEL;
	case CAM_FUNC_JIT:
		return CATEGORY_JIT;
	case CAM_FUNC_MARK:
		return CATEGORY_OTHER;
	default:
		return CATEGORY_USER;
	}
}

/* A column: one value for each row. */
typedef void put_fn(struct firefox *o, struct cam_json *j, uint32_t row);

static void put_column(struct firefox *o, struct cam_json *j, const char *name,
		       const struct used *rows, put_fn *put)
{
	cam_json_open(j, name, '[');
	for (size_t i = 0; i < rows->n; i++)
		put(o, j, rows->rows[i]);
	cam_json_close(j, ']');
}

static void put_null(struct firefox *o, struct cam_json *j, uint32_t row)
{
	(void)o;
	(void)row;
	cam_json_null(j, NULL);
}

static void put_zero(struct firefox *o, struct cam_json *j, uint32_t row)
{
	(void)o;
	(void)row;
	cam_json_u64(j, NULL, 0);
}

static void put_false(struct firefox *o, struct cam_json *j, uint32_t row)
{
	(void)o;
	(void)row;
	cam_json_bool(j, NULL, false);
}

static void put_stack_frame(struct firefox *o, struct cam_json *j, uint32_t node)
{
	cam_json_u64(j, NULL, o->frames.number[o->th.g.t.places.item[node]] - 1);
}

static void put_stack_prefix(struct firefox *o, struct cam_json *j, uint32_t node)
{
	uint32_t parent = o->th.g.t.places.parent[node];
	if (parent)
		cam_json_u64(j, NULL, o->stacks.number[parent] - 1);
	else
		cam_json_null(j, NULL);
}

static void put_stack_category(struct firefox *o, struct cam_json *j, uint32_t node)
{
	cam_json_u64(j, NULL, category_of(func_of(o, o->th.g.t.places.item[node])));
}

static void put_stacks(struct firefox *o, struct cam_json *j)
{
	cam_json_open(j, "stackTable", '{');
	put_column(o, j, "frame", &o->stacks, put_stack_frame);
	put_column(o, j, "prefix", &o->stacks, put_stack_prefix);
	put_column(o, j, "category", &o->stacks, put_stack_category);
	put_column(o, j, "subcategory", &o->stacks, put_zero);
	cam_json_u64(j, "length", o->stacks.n);
	cam_json_close(j, '}');
}

static void put_frame_address(struct firefox *o, struct cam_json *j, uint32_t location)
{
	uint64_t address = o->th.g.t.locations[location].address;
	bool fits = address && address < 1ull << 53;
	cam_json_i64(j, NULL, fits ? (int64_t)address : -1);
}

static void put_frame_depth(struct firefox *o, struct cam_json *j, uint32_t location)
{
	cam_json_u64(j, NULL, func_of(o, location)->kind == CAM_FUNC_INLINED);
}

static void put_frame_category(struct firefox *o, struct cam_json *j, uint32_t location)
{
	cam_json_u64(j, NULL, category_of(func_of(o, location)));
}

static void put_frame_func(struct firefox *o, struct cam_json *j, uint32_t location)
{
	cam_json_u64(j, NULL, o->funcs.number[o->th.g.t.locations[location].func.v] - 1);
}

static void put_frames(struct firefox *o, struct cam_json *j)
{
	static const char *const nulls[] = {"nativeSymbol", "implementation", "line", "column"};
	cam_json_open(j, "frameTable", '{');
	put_column(o, j, "address", &o->frames, put_frame_address);
	put_column(o, j, "inlineDepth", &o->frames, put_frame_depth);
	put_column(o, j, "category", &o->frames, put_frame_category);
	put_column(o, j, "subcategory", &o->frames, put_zero);
	put_column(o, j, "func", &o->frames, put_frame_func);
	put_column(o, j, "innerWindowID", &o->frames, put_zero);
	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		put_column(o, j, nulls[i], &o->frames, put_null);
	cam_json_u64(j, "length", o->frames.n);
	cam_json_close(j, '}');
}

static void put_func_name(struct firefox *o, struct cam_json *j, uint32_t func)
{
	cam_json_u64(j, NULL, o->strings.number[o->th.g.t.functions[func].name.v] - 1);
}

static void put_func_resource(struct firefox *o, struct cam_json *j, uint32_t func)
{
	uint32_t module = o->th.g.t.functions[func].module.v;
	cam_json_i64(j, NULL, module ? (int64_t)o->modules.number[module] - 1 : -1);
}

static void put_funcs(struct firefox *o, struct cam_json *j)
{
	static const char *const nulls[] = {"fileName", "lineNumber", "columnNumber"};
	cam_json_open(j, "funcTable", '{');
	put_column(o, j, "name", &o->funcs, put_func_name);
	put_column(o, j, "isJS", &o->funcs, put_false);
	put_column(o, j, "relevantForJS", &o->funcs, put_false);
	put_column(o, j, "resource", &o->funcs, put_func_resource);
	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		put_column(o, j, nulls[i], &o->funcs, put_null);
	cam_json_u64(j, "length", o->funcs.n);
	cam_json_close(j, '}');
}

/* libs of the profile are the gathered modules without the first, "no module". */
static void put_resource_lib(struct firefox *o, struct cam_json *j, uint32_t module)
{
	(void)o;
	cam_json_u64(j, NULL, module - 1);
}

static void put_resource_name(struct firefox *o, struct cam_json *j, uint32_t module)
{
	cam_json_u64(j, NULL, o->strings.number[o->th.g.t.modules[module].path.v] - 1);
}

static void put_resource_type(struct firefox *o, struct cam_json *j, uint32_t module)
{
	(void)o;
	(void)module;
	cam_json_u64(j, NULL, 1); /* a library */
}

static void put_resources(struct firefox *o, struct cam_json *j)
{
	static const struct used none = {0};
	static const char *const columns[] = {"libIndex", "address", "name", "functionSize"};
	cam_json_open(j, "resourceTable", '{');
	put_column(o, j, "lib", &o->modules, put_resource_lib);
	put_column(o, j, "name", &o->modules, put_resource_name);
	put_column(o, j, "host", &o->modules, put_null);
	put_column(o, j, "type", &o->modules, put_resource_type);
	cam_json_u64(j, "length", o->modules.n);
	cam_json_close(j, '}');
	cam_json_open(j, "nativeSymbols", '{');
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		put_column(o, j, columns[i], &none, put_null);
	cam_json_u64(j, "length", 0);
	cam_json_close(j, '}');
}

static void put_string(struct firefox *o, struct cam_json *j, uint32_t string)
{
	cam_json_name(j, NULL, cam_string(&o->th.g.t, (struct cam_str_id){string}), &o->room);
}

/* Milliseconds with all nanoseconds. */
static void put_ms(struct cam_json *j, const char *key, uint64_t ns)
{
	cam_json_number(j, key, ns / CAM_NS_PER_MS, (uint32_t)(ns % CAM_NS_PER_MS), 6);
}

/* How long the thread ran since the sample before: what each sample stands for, as far as there was time. */
static void put_cpu_deltas(struct firefox *o, struct cam_json *j, const struct cam_thread *k)
{
	const struct cam_thread_sample *s = o->th.samples + k->from;
	uint64_t period = o->th.g.t.etypes[k->etype].period_ns;
	if (!period)
		return;
	cam_json_open(j, "threadCPUDelta", '[');
	for (size_t i = 0; i < k->n; i++) {
		uint64_t passed = i ? s[i].time_ns - s[i - 1].time_ns : period;
		cam_json_u64(j, NULL, passed < period ? passed : period);
	}
	cam_json_close(j, ']');
}

static void put_samples(struct firefox *o, struct cam_json *j, const struct cam_thread *k)
{
	const struct cam_thread_sample *s = o->th.samples + k->from;
	cam_json_open(j, "samples", '{');
	cam_json_open(j, "stack", '[');
	for (size_t i = 0; i < k->n; i++) {
		if (s[i].stack)
			cam_json_u64(j, NULL, o->stacks.number[s[i].stack] - 1);
		else
			cam_json_null(j, NULL);
	}
	cam_json_close(j, ']');
	cam_json_open(j, "time", '[');
	for (size_t i = 0; i < k->n; i++)
		put_ms(j, NULL, s[i].time_ns - o->th.first_ns);
	cam_json_close(j, ']');
	put_cpu_deltas(o, j, k);
	cam_json_null(j, "weight");
	cam_json_text(j, "weightType", CAM_TEXT("samples"));
	cam_json_u64(j, "length", k->n);
	cam_json_close(j, '}');
}

static void put_markers(struct firefox *o, struct cam_json *j)
{
	static const struct used none = {0};
	static const char *const columns[] = {"data",	 "name",  "startTime",
					      "endTime", "phase", "category"};
	cam_json_open(j, "markers", '{');
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		put_column(o, j, columns[i], &none, put_null);
	cam_json_u64(j, "length", 0);
	cam_json_close(j, '}');
}

static void put_identity(struct firefox *o, struct cam_json *j, const struct cam_thread *k)
{
	const struct cam_tables *t = &o->th.g.t;
	const struct cam_task *task = &t->tasks[k->task];
	const struct cam_thread_sample *s = o->th.samples + k->from;
	/* A text that printed the tid alone: that is a process of its own. */
	int32_t pid = task->pid != CAM_PID_NONE ? task->pid : task->tid;
	char text[16];
	snprintf(text, sizeof(text), "%" PRId32, pid);
	cam_json_text(j, "processType", CAM_TEXT("default"));
	cam_json_name(j, "processName", cam_string(t, task->comm), &o->room);
	cam_json_u64(j, "processStartupTime", 0);
	cam_json_null(j, "processShutdownTime");
	put_ms(j, "registerTime", s->time_ns - o->th.first_ns);
	cam_json_null(j, "unregisterTime");
	cam_json_open(j, "pausedRanges", '[');
	cam_json_close(j, ']');
	struct cam_text event = cam_string(t, t->etypes[k->etype].name);
	if (t->n_etypes > 1 && event.n)
		cam_json_name(j, "name", event, &o->room);
	else
		cam_json_name(j, "name", cam_string(t, task->comm), &o->room);
	cam_json_bool(j, "isMainThread", pid == task->tid);
	cam_json_text(j, "pid", cam_text_of(text));
	cam_json_i64(j, "tid", task->tid);
}

static void put_thread(struct firefox *o, struct cam_json *j, const struct cam_thread *k)
{
	struct used *all[] = {&o->stacks, &o->frames, &o->funcs, &o->modules, &o->strings};
	for (size_t i = k->from; i < k->from + k->n; i++)
		use_stack(o, o->th.samples[i].stack);
	cam_json_open(j, NULL, '{');
	put_identity(o, j, k);
	put_samples(o, j, k);
	put_markers(o, j);
	put_stacks(o, j);
	put_frames(o, j);
	put_funcs(o, j);
	put_resources(o, j);
	put_column(o, j, "stringArray", &o->strings, put_string);
	cam_json_close(j, '}');
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		forget(all[i]);
}

static void put_categories(struct cam_json *j)
{
	static const char *const categories[][2] = {
		[CATEGORY_OTHER] = {"Other", "grey"},
		[CATEGORY_USER] = {"User", "yellow"},
		[CATEGORY_KERNEL] = {"Kernel", "orange"},
		[CATEGORY_JIT] = {"JIT", "green"},
	};
	cam_json_open(j, "categories", '[');
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "name", cam_text_of(categories[i][0]));
		cam_json_text(j, "color", cam_text_of(categories[i][1]));
		cam_json_open(j, "subcategories", '[');
		cam_json_text(j, NULL, CAM_TEXT("Other"));
		cam_json_close(j, ']');
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void put_meta(struct firefox *o, struct cam_json *j)
{
	uint64_t start = o->th.realtime_ns > 0 ? (uint64_t)o->th.realtime_ns : 0;
	cam_json_open(j, "meta", '{');
	put_ms(j, "interval", o->th.period_ns ? o->th.period_ns : CAM_NS_PER_MS);
	put_ms(j, "startTime", start);
	cam_json_u64(j, "version", 29);
	cam_json_u64(j, "preprocessedProfileVersion", CAM_FIREFOX_VERSION);
	cam_json_u64(j, "processType", 0);
	cam_json_u64(j, "stackwalk", 1);
	cam_json_u64(j, "debug", 0);
	cam_json_text(j, "product", CAM_TEXT("perfcam"));
	cam_json_text(j, "importedFrom", CAM_TEXT("perfcam " PERFCAM_VERSION));
	cam_json_bool(j, "symbolicated", true);
	cam_json_bool(j, "symbolicationNotSupported", true);
	put_categories(j);
	cam_json_open(j, "sampleUnits", '{');
	cam_json_text(j, "time", CAM_TEXT("ms"));
	cam_json_text(j, "eventDelay", CAM_TEXT("ms"));
	cam_json_text(j, "threadCPUDelta", CAM_TEXT("ns"));
	cam_json_close(j, '}');
	cam_json_open(j, "markerSchema", '[');
	cam_json_close(j, ']');
	cam_json_close(j, '}');
}

static void put_libs(struct firefox *o, struct cam_json *j)
{
	const struct cam_tables *t = &o->th.g.t;
	cam_json_open(j, "libs", '[');
	for (size_t i = 1; i < t->n_modules; i++) {
		struct cam_text path = cam_string(t, t->modules[i].path), name = path;
		struct cam_text id = cam_string(t, t->modules[i].build_id);
		const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
		if (slash)
			name = (struct cam_text){slash + 1, (size_t)(path.p + path.n - slash - 1)};
		char hex[129] = "";
		for (size_t k = 0; k < id.n && k < 64; k++)
			snprintf(hex + 2 * k, 3, "%02x", (unsigned char)id.p[k]);
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "arch", CAM_TEXT(""));
		cam_json_name(j, "name", name, &o->room);
		cam_json_name(j, "path", path, &o->room);
		cam_json_name(j, "debugName", name, &o->room);
		cam_json_name(j, "debugPath", path, &o->room);
		cam_json_text(j, "breakpadId", CAM_TEXT(""));
		if (hex[0])
			cam_json_text(j, "codeId", cam_text_of(hex));
		else
			cam_json_null(j, "codeId");
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static int finish(struct cam_exporter *x)
{
	struct firefox *o = (struct firefox *)x;
	const struct cam_tables *t = &o->th.g.t;
	struct cam_json j = {.out = x->out};
	int err = cam_threads_sort(&o->th);
	err = err ? err : make_used(&o->stacks, t->places.n);
	err = err ? err : make_used(&o->frames, t->n_locations);
	err = err ? err : make_used(&o->funcs, t->n_functions);
	err = err ? err : make_used(&o->modules, t->n_modules);
	err = err ? err : make_used(&o->strings, t->strings.n);
	if (err)
		return err;
	cam_json_open(&j, NULL, '{');
	put_meta(o, &j);
	put_libs(o, &j);
	cam_json_open(&j, "pages", '[');
	cam_json_close(&j, ']');
	cam_json_open(&j, "threads", '[');
	for (size_t i = 0; i < o->th.n_threads && !x->out->error; i++)
		put_thread(o, &j, &o->th.threads[i]);
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	cam_out_str(x->out, "\n");
	return cam_buf_error(&o->room);
}

static void free_firefox(struct cam_exporter *x)
{
	struct firefox *o = (struct firefox *)x;
	struct used *all[] = {&o->stacks, &o->frames, &o->funcs, &o->modules, &o->strings};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		free(all[i]->number);
		free(all[i]->rows);
	}
	cam_threads_free(&o->th);
	cam_buf_free(&o->room);
}

int cam_firefox_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {
		.window = begin_window, .row = put_row, .finish = finish, .free = free_firefox};
	struct firefox *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->base.ops = &ops;
	o->base.out = out;
	o->room = CAM_BUF(CAM_JSON_NAME_BYTES);
	o->th.g.addresses = true;
	int err = cam_threads_init(&o->th, CAM_FIREFOX_BYTES);
	if (err) {
		free(o);
		return err;
	}
	*made = &o->base;
	return 0;
}
