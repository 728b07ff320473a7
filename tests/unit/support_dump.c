// SPDX-License-Identifier: Apache-2.0
#include "support_dump.h"

#include "base/units.h"
#include "base/vec.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct dumper {
	struct dump *d;
	const struct cam_tables *t;
	bool places;
};

static void add_line(struct dump *d, const char *line)
{
	assert_int_equal(
		cam_vec_reserve(&d->lines, &d->cap, d->n + 1, sizeof(*d->lines), SIZE_MAX / 8), 0);
	d->lines[d->n] = strdup(line);
	assert_non_null(d->lines[d->n]);
	d->n++;
}

static void add(struct dump *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct dump *d, const char *fmt, ...)
{
	char line[8192];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < sizeof(line));
	add_line(d, line);
}

/* printf's %.*s of a string id. */
#define STR(k, id) (int)cam_string((k)->t, id).n, cam_string((k)->t, id).p

static size_t put_function(const struct dumper *k, uint32_t id, char *room, size_t n)
{
	const struct cam_function *f = &k->t->functions[id];
	const struct cam_module *m = &k->t->modules[f->module.v];
	return (size_t)snprintf(room, n, "%.*s{%u %u %" PRIx64 " %.*s %.*s %.*s %u};",
				STR(k, f->name), f->kind, f->source, f->start, STR(k, m->path),
				STR(k, m->key), STR(k, m->build_id), m->kind);
}

static size_t put_stack(const struct dumper *k, uint32_t stack, char *room, size_t n)
{
	const struct cam_tree *tree = &k->t->stacks;
	size_t used = 0;
	room[0] = '\0';
	for (; stack && used < n; stack = tree->parent[stack])
		used += put_function(k, tree->item[stack], room + used, n - used);
	assert_true(used < n);
	return used;
}

static void put_place(const struct dumper *k, uint32_t place, char *room, size_t n)
{
	const struct cam_tree *tree = &k->t->places;
	size_t used = 0;
	room[0] = '\0';
	for (; place && used < n; place = tree->parent[place]) {
		const struct cam_location *l = &k->t->locations[tree->item[place]];
		used += (size_t)snprintf(room + used, n - used, "%" PRIx64 "+%" PRIx64 "%s ",
					 l->address, l->func_offset, l->late ? "l" : "");
	}
	assert_true(used < n);
}

static int add_samples(void *arg, const struct cam_batch *b)
{
	struct dumper *k = arg;
	char stack[6144], place[1024];
	for (size_t i = 0; i < b->n; i++) {
		const struct cam_task *task = &k->t->tasks[b->task[i]];
		const struct cam_etype *etype = &k->t->etypes[b->etype[i]];
		put_stack(k, b->stack[i], stack, sizeof(stack));
		put_place(k, b->place[i], place, sizeof(place));
		assert_int_equal(b->comm[i], task->comm.v);
		add(k->d,
		    "S %" PRIu64 " cpu %u task %d/%d %u %.*s %.*s %.*s %" PRIu64
		    " event %.*s %" PRIu64 " %d weight %" PRIu64 " '%.*s' leaf %" PRIx64 " [%s] %s",
		    b->time_ns[i], b->cpu[i], task->pid, task->tid, task->uid, STR(k, task->comm),
		    STR(k, task->exe), STR(k, task->cgroup), task->start_ns, STR(k, etype->name),
		    etype->period_ns, etype->has_weight, b->weight[i],
		    STR(k, ((struct cam_str_id){b->detail[i]})), b->leaf_offset[i], place, stack);
	}
	return 0;
}

static int add_totals(struct dumper *k, char letter, const struct cam_total *t)
{
	char stack[6144];
	put_stack(k, t->stack.v, stack, sizeof(stack));
	add(k->d, "%c %.*s %.*s %" PRIu64 " %s", letter, STR(k, t->comm),
	    STR(k, k->t->etypes[t->etype.v].name), t->samples, stack);
	return 0;
}

static int add_total(void *arg, const struct cam_total *t)
{
	return add_totals(arg, 'T', t);
}

static int add_small_total(void *arg, const struct cam_total *t)
{
	return add_totals(arg, 't', t);
}

static int add_cell(void *arg, const struct cam_cell *c)
{
	struct dumper *k = arg;
	char causes[256];
	size_t n = 0;
	for (size_t i = 0; i < CAM_CAUSE_MAX; i++) {
		n += (size_t)snprintf(causes + n, sizeof(causes) - n, " %" PRIu64, c->by_cause[i]);
		assert_int_equal(c->causes >> i & 1, c->by_cause[i] > 0);
	}
	add(k->d, "C %" PRIu64 " %u %" PRIu64 "%s", c->second, c->cpu, c->busy, causes);
	return 0;
}

static int add_process_cell(void *arg, const struct cam_process_cell *c)
{
	struct dumper *k = arg;
	add(k->d, "P %" PRIu64 " %d %" PRIu64, c->second, c->pid, c->samples);
	return 0;
}

static int add_event(void *arg, const struct cam_event *e)
{
	struct dumper *k = arg;
	add(k->d, "E %" PRIu64 " %" PRIu64 " %u '%.*s' '%.*s'", e->time_ns, e->uncertainty_ns,
	    e->severity, STR(k, e->source), STR(k, e->text));
	return 0;
}

static int add_ledger(void *arg, const struct cam_ledger_row *r)
{
	struct dumper *k = arg;
	add(k->d, "L %u %u %" PRIu64 " %" PRIu64 " %" PRIu64, r->cause, r->cpu, r->from_ns,
	    r->to_ns, r->samples);
	return 0;
}

static int add_anchor(void *arg, const struct cam_anchor *a)
{
	struct dumper *k = arg;
	add(k->d, "A %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64,
	    a->time_ns, a->raw_ns, a->boottime_ns, a->sched_ns, a->realtime_ns, a->uncertainty_ns);
	return 0;
}

static int add_fact(void *arg, const struct cam_fact *f)
{
	struct dumper *k = arg;
	add(k->d, "F '%.*s' '%.*s'", STR(k, f->key), STR(k, f->value));
	return 0;
}

static int add_counter(void *arg, const struct cam_counter *c)
{
	struct dumper *k = arg;
	add(k->d, "H %u %u %" PRIu64 " %" PRIu64 " %" PRIu64, c->kind, c->subject, c->time_ns,
	    c->span_ns, c->value);
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void dump_window(struct dump *d, struct cam_window *w, unsigned what)
{
	struct dumper k = {.d = d};
	assert_int_equal(w->ops->tables(w, &k.t), 0);
	*d = (struct dump){0};
	if (what & DUMP_SAMPLES)
		assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, (1u << 10) - 1, add_samples, &k),
				 0);
	if (what & DUMP_SUMS) {
		assert_int_equal(w->ops->totals(w, add_total, &k), 0);
		assert_int_equal(w->ops->cells(w, add_cell, &k), 0);
		assert_int_equal(w->ops->process_cells(w, add_process_cell, &k), 0);
		assert_int_equal(w->ops->small_totals(w, add_small_total, &k), 0);
	}
	if (what & DUMP_OTHERS) {
		assert_int_equal(w->ops->events(w, add_event, &k), 0);
		assert_int_equal(w->ops->ledger(w, add_ledger, &k), 0);
		assert_int_equal(w->ops->anchors(w, add_anchor, &k), 0);
		assert_int_equal(w->ops->facts(w, add_fact, &k), 0);
		assert_int_equal(w->ops->counters(w, add_counter, &k), 0);
	}
	if (d->n)
		qsort(d->lines, d->n, sizeof(*d->lines), compare_lines);
}

void dump_free(struct dump *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->lines[i]);
	free(d->lines);
	*d = (struct dump){0};
}

void assert_dumps_equal(const struct dump *a, const struct dump *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		assert_string_equal(a->lines[i], b->lines[i]);
	assert_int_equal(a->n, b->n);
}

static bool is_gap(const char *line)
{
	char start[8];
	int n = snprintf(start, sizeof(start), "L %u ", CAM_CAUSE_DAMAGED);
	return strncmp(line, start, (size_t)n) == 0;
}

size_t assert_dump_within(const struct dump *part, const struct dump *whole)
{
	size_t damaged = 0, k = 0;
	for (size_t i = 0; i < part->n; i++) {
		if (strstr(part->lines[i], "[damaged]") || is_gap(part->lines[i])) {
			damaged++;
			continue;
		}
		while (k < whole->n && strcmp(whole->lines[k], part->lines[i]) < 0)
			k++;
		if (k == whole->n || strcmp(whole->lines[k], part->lines[i]) != 0)
			fail_msg("not in the original: %s", part->lines[i]);
		k++;
	}
	return damaged;
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

static struct cam_place_id rich_place(struct fake_window *f, uint64_t *seed)
{
	static const char *const modules[] = {"@/usr/bin/cc1", "@/lib/libc.so.6", "@[kernel]",
					      "@[jit]",	       "@[vdso]",	  ""};
	uint32_t node = 0;
	uint64_t depth = draw(seed, 12);
	for (uint64_t i = 0; i < depth; i++) {
		char frame[64];
		const char *module = modules[draw(seed, 6)];
		/* One in eight has no name. */
		if (draw(seed, 8) == 0)
			snprintf(frame, sizeof(frame), "%s", module[0] ? module : "@/bin/x");
		else
			snprintf(frame, sizeof(frame), "function_%u%s", (unsigned)draw(seed, 20),
				 module);
		struct cam_loc_id loc = fake_frame(f, frame, draw(seed, 3) * 7);
		assert_int_equal(cam_tree_intern(&f->t, &f->t.places, node, loc.v, &node), 0);
	}
	return (struct cam_place_id){node};
}

static struct cam_task_id rich_task(struct fake_window *f, uint64_t *seed)
{
	static const char *const comms[] = {"cc1", "sh", "a b", "\xff\x01", ""};
	struct cam_task k = {
		.pid = (int32_t)draw(seed, 5) - 1,
		.tid = 100 + (int32_t)draw(seed, 3),
		.uid = draw(seed, 2) ? 0 : CAM_UID_NONE,
		.comm = fake_str(f, comms[draw(seed, 5)]),
		.exe = fake_str(f, draw(seed, 2) ? "/usr/bin/cc1" : ""),
		.cgroup = fake_str(f, draw(seed, 2) ? "/system.slice/x.service" : "/"),
		.start_ns = draw(seed, 2) * 123456789,
	};
	struct cam_task_id id;
	assert_int_equal(cam_task_intern(&f->t, &k, &id), 0);
	return id;
}

static void rich_rows(struct fake_window *f, uint64_t *seed, uint64_t at_ns)
{
	struct cam_ledger_row row = {
		.cause = (enum cam_cause)draw(seed, CAM_CAUSE_MAX),
		.cpu = draw(seed, 4) ? (uint32_t)draw(seed, 4) : CAM_CPU_NONE,
		.from_ns = at_ns,
		.to_ns = at_ns + draw(seed, 3 * CAM_NS_PER_SEC),
		.samples = draw(seed, 100),
	};
	struct cam_anchor a = {
		.time_ns = at_ns,
		.raw_ns = draw(seed, 2) ? at_ns + 5 : CAM_TIME_NONE,
		.boottime_ns = at_ns + 1000000,
		.sched_ns = at_ns - 77,
		.realtime_ns = 1700000000000000000 + (int64_t)at_ns,
		.uncertainty_ns = draw(seed, 1000),
	};
	/* A gap of its own would be taken for one that a reader found. */
	if (row.cause == CAM_CAUSE_DAMAGED)
		row.cause = CAM_CAUSE_IDLE;
	fake_add_ledger(f, &row);
	fake_add_anchor(f, &a);
	fake_add_event(f, at_ns + 3, (enum cam_severity)draw(seed, CAM_SEVERITY_MAX), "kmsg",
		       draw(seed, 2) ? "oom-killer: gfp_mask=0x1" : "a mark");
	f->events[f->n_events - 1].uncertainty_ns = draw(seed, 9);
}

/* A reading of all kinds: CPU times in clock ticks, or not; some values as large as they get. */
static void rich_counters(struct fake_window *f, uint64_t *seed, uint64_t at_ns)
{
	struct cam_counter c = {
		.time_ns = at_ns + CAM_NS_PER_SEC - 1 - draw(seed, 1000000),
		.span_ns = CAM_NS_PER_SEC + draw(seed, 1000),
	};
	uint64_t unit = draw(seed, 5) ? 10000000 : 1;
	for (unsigned kind = 0; kind < CAM_COUNTER_MAX; kind++) {
		c.kind = (enum cam_counter_kind)kind;
		c.subject = 0;
		for (uint64_t n = draw(seed, 4); n; n--, c.subject += 1 + (uint32_t)draw(seed, 9)) {
			c.value = draw(seed, 20) ? draw(seed, 100) * unit
						 : UINT64_MAX - draw(seed, 3);
			fake_add_counter(f, &c);
		}
	}
}

/* Something is inlined at every seventh location: up to three functions deep. */
static void rich_inlines(struct fake_window *f, uint64_t *seed)
{
	for (uint32_t i = 0; i < f->t.n_locations; i++) {
		uint32_t node = 0;
		for (uint64_t n = i % 7 == 3 ? 1 + draw(seed, 3) : 0; n; n--) {
			char name[32];
			struct cam_func_id func;
			snprintf(name, sizeof(name), "inlined%u", (unsigned)draw(seed, 9));
			struct cam_function inlined = {.name = fake_str(f, name),
						       .module = f->t.locations[i].module,
						       .kind = CAM_FUNC_INLINED,
						       .source = CAM_NAME_DWARF};
			if (cam_function_intern(&f->t, &inlined, &func) ||
			    cam_tree_intern(&f->t, &f->t.inlines, node, func.v, &node))
				abort();
		}
		cam_location_inline(&f->t, (struct cam_loc_id){i}, node);
	}
}

struct fake_window *rich_window(uint64_t seed, unsigned seconds, unsigned samples_a_second)
{
	struct fake_window *f = fake_window_new();
	const uint64_t start = 1000 * CAM_NS_PER_SEC;
	struct cam_etype_id etypes[] = {{0},
					fake_etype(f, "cycles:u", 0, true),
					fake_etype(f, "sched:sched_switch", 0, false)};
	f->w.info.has_places = seed & 1;
	fake_add_fact(f, "kernel", "6.1.0");
	fake_add_fact(f, "odd", "");
	for (unsigned second = 0; second < seconds; second++) {
		uint64_t at = start + second * CAM_NS_PER_SEC;
		for (unsigned i = 0; i < samples_a_second; i++) {
			struct cam_sample s = {
				.time_ns = at + draw(&seed, 99999) * 10000,
				.weight = 1,
				.cpu = draw(&seed, 50) ? (uint32_t)draw(&seed, 4) : CAM_CPU_NONE,
				.task = rich_task(f, &seed),
				.place = rich_place(f, &seed),
				.etype = etypes[draw(&seed, 3)],
			};
			if (s.etype.v == etypes[1].v)
				s.weight = draw(&seed, 1000000);
			if (s.etype.v == etypes[2].v)
				s.detail = fake_str(f, draw(&seed, 2) ? "prev_pid=1 ==> next_pid=2"
								      : "x");
			fake_add_sample(f, &s);
		}
		rich_rows(f, &seed, at);
		rich_counters(f, &seed, at);
	}
	/* Where each frame keeps its address there is no place for frames without one. */
	if (!f->w.info.has_places)
		rich_inlines(f, &seed);
	f->w.info.start_ns = start;
	f->w.info.end_ns = start + seconds * CAM_NS_PER_SEC;
	return f;
}
