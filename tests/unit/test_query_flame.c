// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "query/flame.h"
#include "query/top.h"
#include "support_folded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#ifndef __has_feature /* gcc */
#define __has_feature(x) 0
#endif

#define SEC CAM_NS_PER_SEC

static const struct cam_flame_options by_samples = {.weight = CAM_WEIGHT_SAMPLES};
static const struct cam_flame_options by_period = {.weight = CAM_WEIGHT_PERIOD};

static struct cam_selection everything(void)
{
	struct cam_selection s;
	cam_selection_init(&s);
	return s;
}

static struct cam_flame build_of(struct cam_source *source, const struct cam_selection *s,
				 const struct cam_flame_options *o)
{
	struct cam_flame f;
	assert_int_equal(cam_flame_build(source, s, o, &f), 0);
	return f;
}

/* The tree in a form that a person can check: "name self/total" by depth. */
static char *dump(const struct cam_flame *f)
{
	static const char kinds[] = "RPKUJIM";
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	for (size_t i = 0; i < f->n_nodes; i++) {
		const struct cam_flame_node *node = &f->nodes[i];
		struct cam_text name = cam_flame_name(f, i);
		fprintf(out, "%*s%.*s:%c %llu/%llu", (int)node->depth, "", (int)name.n, name.p,
			kinds[cam_flame_frame_of(f, i)->kind], (unsigned long long)node->self,
			(unsigned long long)node->total);
		if (f->differential)
			fprintf(out, " was %llu/%llu", (unsigned long long)node->before_self,
				(unsigned long long)node->before_total);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

static void assert_tree(const struct cam_flame *f, const char *expected)
{
	char *got = dump(f);
	assert_string_equal(got, expected);
	free(got);
}

/* Parents, ends, depths and totals of any tree that query made. */
static void check_shape(const struct cam_flame *f)
{
	uint32_t deepest = 0;
	assert_true(f->n_nodes > 0);
	assert_int_equal(f->nodes[0].end, f->n_nodes);
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct cam_flame_node *n = &f->nodes[i];
		uint64_t below = n->self, before = n->before_self;
		assert_true(n->end > i && n->end <= f->n_nodes);
		for (uint32_t c = i + 1; c < n->end; c = f->nodes[c].end) {
			assert_int_equal(f->nodes[c].parent, i);
			assert_int_equal(f->nodes[c].depth, n->depth + 1);
			below += f->nodes[c].total;
			before += f->nodes[c].before_total;
		}
		assert_int_equal(n->total, below);
		assert_int_equal(n->before_total, before);
		if (n->depth > deepest)
			deepest = n->depth;
	}
	assert_int_equal(f->depth, deepest);
}

static struct fake_window *small_window(void)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id nginx = fake_task(f, 10, 10, "nginx"), cc1 = fake_task(f, 20, 21, "cc1");
	for (int i = 0; i < 3; i++)
		fake_sample(f, (uint64_t)i * SEC, 0, nginx, fake_place(f, "main@/bin/nginx;read"));
	fake_sample(f, 3 * SEC, 1, nginx, fake_place(f, "main@/bin/nginx"));
	fake_sample(f, 4 * SEC, 1, cc1, fake_place(f, "main@/usr/bin/cc1;lex"));
	return f;
}

static void test_windows_merge_by_name(void **state)
{
	(void)state;
	struct fake_window *windows[2] = {small_window(), fake_window_new()};
	struct fake_window *second = windows[1];
	/* Other ids, another path to the same program, the same names. */
	fake_str(second, "shifts every id by one");
	struct cam_task_id nginx = fake_task(second, 10, 10, "nginx");
	fake_sample(second, 9 * SEC, 0, nginx, fake_place(second, "main@/sbin/nginx;read"));
	fake_sample(second, 9 * SEC, 1, nginx, fake_place(second, "main@[kernel]"));
	fake_sample(second, 9 * SEC, 1, nginx, fake_place(second, ""));
	second->w.info.boot_id.bytes[0] = 1;
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_false(f.seen.one_clock);
	assert_int_equal(f.seen.gap_ns, 0);
	assert_tree(&f, "all:R 0/8\n"
			" cc1:P 0/1\n"
			"  main:U 0/1\n"
			"   lex:U 1/1\n"
			" nginx:P 1/7\n"
			"  main:U 1/5\n"
			"   read:U 4/4\n"
			"  main:K 1/1\n");
	check_shape(&f);
	/* main of nginx was seen in two files; main of cc1 in one. */
	assert_int_equal(f.nodes[5].module, CAM_MODULE_SEVERAL);
	struct cam_text path = cam_flame_module_path(&f, f.nodes[2].module);
	assert_true(cam_text_equal(path, CAM_TEXT("/usr/bin/cc1")));
	assert_true(cam_text_equal(f.unit, CAM_TEXT("samples")));
	assert_int_equal(f.seen.samples, 8);
	assert_int_equal(f.seen.windows, 2);
	assert_true(cam_text_equal(f.seen.host, CAM_TEXT("testhost")));
	assert_int_equal(f.seen.from_ns, 0);
	assert_int_equal(f.seen.to_ns, 9 * SEC + 1);
	cam_flame_free(&f);
	source->ops->close(source);
}

static void test_whole_windows_read_no_sample(void **state)
{
	(void)state;
	struct fake_window *w = small_window();
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	char why[64];
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_COMM, CAM_TEXT("ngin?"), why, 64), 0);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, CAM_TEXT("^rea"), why, 64), 0);
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_tree(&f, "all:R 0/3\n nginx:P 0/3\n  main:U 0/3\n   read:U 3/3\n");
	assert_int_equal(w->samples_calls, 0);
	cam_flame_free(&f);
	/* No event type carries weights: still nothing to read. */
	f = build_of(source, &s, &by_period);
	assert_int_equal(w->samples_calls, 0);
	cam_flame_free(&f);
	/* All of the window's time, said in numbers. */
	s.clock = CAM_SELECT_CLOCK;
	s.to_ns = 5 * (int64_t)SEC;
	f = build_of(source, &s, &by_samples);
	assert_int_equal(w->samples_calls, 0);
	cam_flame_free(&f);
	/* And the filters that need them do read them. */
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_CPU, CAM_TEXT("0"), why, 64), 0);
	f = build_of(source, &s, &by_samples);
	assert_int_equal(w->samples_calls, 1);
	cam_flame_free(&f);
	cam_selection_free(&s);
	source->ops->close(source);
}

static int refuse_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct cam_total wrong = {.samples = 1000};
	(void)w;
	return fn(arg, &wrong) ? -EINVAL : -EBADMSG;
}

static void test_bad_footer_is_not_needed(void **state)
{
	(void)state;
	struct fake_window *w = small_window();
	struct cam_window_ops ops = *w->w.ops;
	ops.totals = refuse_totals;
	w->w.ops = &ops;
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_int_equal(f.nodes[0].total, 5);
	assert_int_equal(f.seen.samples, 5);
	assert_int_equal(w->samples_calls, 1);
	cam_flame_free(&f);
	source->ops->close(source);
}

static int refuse_ledger(struct cam_window *w, cam_ledger_fn *fn, void *arg)
{
	(void)w;
	(void)fn;
	(void)arg;
	return -EBADMSG;
}

static void test_bad_ledger_costs_no_sample(void **state)
{
	(void)state;
	struct fake_window *w = small_window();
	struct cam_window_ops ops = *w->w.ops;
	fake_add_ledger(w, &(struct cam_ledger_row){.cause = CAM_CAUSE_LOST_RING, .samples = 9});
	ops.ledger = refuse_ledger;
	w->w.ops = &ops;
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_int_equal(f.nodes[0].total, 5);
	assert_int_equal(f.seen.lost, 9);
	assert_int_equal(f.seen.unreadable, 0);
	cam_flame_free(&f);
	source->ops->close(source);
}

static void test_unreadable_window_is_counted(void **state)
{
	(void)state;
	struct fake_window *windows[2] = {small_window(), small_window()};
	windows[0]->fail_samples = -EBADMSG;
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_selection s = everything();
	char why[64];
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_PID, CAM_TEXT("20"), why, 64), 0);
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_tree(&f, "all:R 0/1\n cc1:P 0/1\n  main:U 0/1\n   lex:U 1/1\n");
	assert_int_equal(f.seen.unreadable, 1);
	assert_int_equal(f.seen.windows, 1);
	cam_flame_free(&f);
	windows[1]->fail_samples = -ENOMEM;
	assert_int_equal(cam_flame_build(source, &s, &by_samples, &f), -ENOMEM);
	assert_null(f.nodes);
	cam_selection_free(&s);
	source->ops->close(source);
}

static void test_weights_and_event_types(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "x");
	struct cam_etype_id cycles = fake_etype(w, "cycles:ppp", 0, true);
	struct cam_etype_id clock = fake_etype(w, "task-clock", 0, true);
	fake_sample(w, SEC, 0, task, fake_place(w, "a"));
	for (uint64_t i = 1; i <= 3; i++) {
		struct cam_sample s = {.time_ns = i * SEC,
				       .weight = 100 * i,
				       .task = task,
				       .etype = i < 3 ? cycles : clock,
				       .place = fake_place(w, "a;b")};
		fake_add_sample(w, &s);
	}
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	/* Not asked for: the first event type only, the others counted. */
	assert_tree(&f, "all:R 0/1\n x:P 0/1\n  a:U 1/1\n");
	assert_int_equal(f.seen.other_events, 3);
	cam_flame_free(&f);
	char why[64];
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_ETYPE, CAM_TEXT("cycles*"), why, 64), 0);
	f = build_of(source, &s, &by_period);
	assert_tree(&f, "all:R 0/300\n x:P 0/300\n  a:U 0/300\n   b:U 300/300\n");
	assert_true(cam_text_equal(f.unit, CAM_TEXT("cycles")));
	assert_false(f.unit_is_ns);
	cam_flame_free(&f);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_ETYPE, CAM_TEXT("task-clock"), why, 64),
			 0);
	f = build_of(source, &s, &by_period);
	assert_int_equal(f.nodes[0].total, 600);
	assert_true(cam_text_equal(f.unit, CAM_TEXT("events")));
	cam_flame_free(&f);
	cam_selection_free(&s);
	cam_selection_add(&s, CAM_FILTER_ETYPE, CAM_TEXT("task-clock"), why, 64);
	f = build_of(source, &s, &by_period);
	assert_true(cam_text_equal(f.unit, CAM_TEXT("task-clock")));
	assert_true(f.unit_is_ns);
	cam_flame_free(&f);
	cam_selection_free(&s);
	source->ops->close(source);
}

/* Two recordings of the same event with other modifiers; within one they stay apart. */
static void test_event_modifiers(void **state)
{
	(void)state;
	struct fake_window *windows[2] = {fake_window_new(), fake_window_new()};
	for (size_t i = 0; i < 2; i++) {
		struct fake_window *w = windows[i];
		struct cam_task_id task = fake_task(w, 1, 1, "x");
		w->t.etypes[0].name = fake_str(w, i ? "cpu-clock:ppp" : "cpu-clock");
		fake_sample(w, SEC, 0, task, fake_place(w, "a"));
		struct cam_sample other = {.weight = 1, .task = task, .place = fake_place(w, "b")};
		other.etype = fake_etype(w, "cpu-clock:u", 0, false);
		fake_add_sample(w, &other);
	}
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_tree(&f, "all:R 0/2\n x:P 0/2\n  a:U 2/2\n");
	assert_int_equal(f.seen.other_events, 2);
	cam_flame_free(&f);
	source->ops->close(source);
}

static void test_differential(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, CAM_PID_NONE, CAM_PID_NONE, "x");
	const struct {
		const char *etype, *stack;
		uint64_t weight;
	} rows[] = {{"before", "a;b", 10},
		    {"after", "a;b", 7},
		    {"before", "a;gone", 4},
		    {"after", "a;new", 5}};
	for (size_t i = 0; i < 4; i++) {
		struct cam_sample s = {.time_ns = CAM_TIME_NONE,
				       .weight = rows[i].weight,
				       .task = task,
				       .etype = fake_etype(w, rows[i].etype, 0, true),
				       .place = fake_place(w, rows[i].stack)};
		fake_add_sample(w, &s);
	}
	w->w.info.clock = CAM_CLOCK_ABSENT;
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_period);
	assert_true(f.differential);
	assert_tree(&f, "all:R 0/12 was 0/14\n"
			" x:P 0/12 was 0/14\n"
			"  a:U 0/12 was 0/14\n"
			"   b:U 7/7 was 10/10\n"
			"   gone:U 0/0 was 4/4\n"
			"   new:U 5/5 was 0/0\n");
	check_shape(&f);
	assert_int_equal(f.seen.observed_ns, 0);
	cam_flame_free(&f);
	/* One side asked for by name is an ordinary graph. */
	char why[64];
	cam_selection_add(&s, CAM_FILTER_ETYPE, CAM_TEXT("before"), why, 64);
	f = build_of(source, &s, &by_period);
	assert_false(f.differential);
	assert_int_equal(f.nodes[0].total, 14);
	cam_flame_free(&f);
	cam_selection_free(&s);
	source->ops->close(source);
}

static void test_lost_damaged_and_gaps(void **state)
{
	(void)state;
	struct fake_window *windows[2] = {small_window(), small_window()};
	struct cam_ledger_row lost = {.cause = CAM_CAUSE_LOST_RING,
				      .cpu = 1,
				      .from_ns = 0,
				      .to_ns = 4 * SEC,
				      .samples = 10};
	struct cam_ledger_row idle = {.cause = CAM_CAUSE_IDLE, .to_ns = SEC, .samples = 99};
	fake_add_ledger(windows[0], &lost);
	fake_add_ledger(windows[0], &idle);
	/* Nothing of these was ever there to keep: no loss, so no exit status 3. */
	static const enum cam_cause none[] = {CAM_CAUSE_OFFLINE,       CAM_CAUSE_SUSPENDED,
					      CAM_CAUSE_NOT_RECORDING, CAM_CAUSE_STOLEN,
					      CAM_CAUSE_FILTERED,      CAM_CAUSE_UNEXPLAINED};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		idle.cause = none[i];
		fake_add_ledger(windows[0], &idle);
	}
	windows[0]->w.damage = (struct cam_damage){.samples = 7, .stacks = 2};
	windows[0]->w.info.realtime_ns = 1000 * (int64_t)SEC;
	for (size_t i = 0; i < windows[1]->n_samples; i++)
		windows[1]->samples[i].time_ns += 10 * SEC;
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_int_equal(f.seen.lost, 10);
	assert_int_equal(f.seen.damaged, 7);
	assert_int_equal(f.seen.damaged_stacks, 2);
	assert_int_equal(f.seen.gap_ns, 6 * SEC - 1);
	assert_int_equal(f.seen.dead_ns, 0); /* it ended on purpose */
	assert_true(f.seen.one_clock);
	assert_int_equal(f.seen.observed_ns, 2 * (4 * SEC + 1));
	assert_int_equal(f.seen.realtime_from_ns, 1000 * SEC);
	assert_true(f.seen.realtime_to_ns == INT64_MIN);
	cam_flame_free(&f);
	/* A selection that cuts the ledger row gets its share. */
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = SEC;
	s.to_ns = 2 * SEC;
	f = build_of(source, &s, &by_samples);
	assert_int_equal(f.seen.lost, 3);
	assert_int_equal(f.seen.windows, 1);
	assert_int_equal(f.seen.samples, 1);
	assert_int_equal(f.seen.realtime_from_ns, 1001 * SEC);
	assert_int_equal(f.seen.realtime_to_ns, 1002 * SEC);
	cam_flame_free(&f);
	/* One that begins in the gap has one window only, and the rest of the gap. */
	s.from_ns = 8 * SEC;
	s.to_ns = 12 * SEC;
	f = build_of(source, &s, &by_samples);
	assert_int_equal(f.seen.windows, 1);
	assert_int_equal(f.seen.gap_ns, 2 * SEC);
	cam_flame_free(&f);
	s.from_ns = SEC;
	s.to_ns = 2 * SEC;
	char why[64];
	cam_selection_add(&s, CAM_FILTER_CPU, CAM_TEXT("0"), why, 64);
	f = build_of(source, &s, &by_samples);
	assert_int_equal(f.seen.lost, 0);
	cam_flame_free(&f);
	cam_selection_free(&s);
	source->ops->close(source);
}

/* The notes of a view of one stack, and of its ten and its one heaviest functions. */
static void notes_of(const char *stack, const char *other, const char *event, unsigned notes[3])
{
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 10, 10, "x");
	assert_int_equal(cam_string_intern(&w->t, cam_text_of(event), &w->t.etypes[0].name), 0);
	fake_sample(w, 1 * SEC, 0, task, fake_place(w, stack));
	fake_sample(w, 2 * SEC, 0, task, fake_place(w, other));
	fake_sample(w, 3 * SEC, 0, task, fake_place(w, other));
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	struct cam_top top;
	notes[0] = f.notes;
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(cam_top_build(&f, i == 1 ? 10 : 1, &top), 0);
		notes[i] = top.notes;
		cam_top_free(&top);
	}
	cam_flame_free(&f);
	source->ops->close(source);
}

static void test_note_where_unseen_time_lands(void **state)
{
	(void)state;
	static const struct {
		const char *stack, *event;
		unsigned want[3];
	} cases[] = {
		{"main;_raw_spin_unlock_irqrestore@[kernel]", "cpu-clock", {1, 1, 0}},
		{"main;finish_task_switch.isra.0@[kernel]", "cpu-clock:pppH", {1, 1, 0}},
		/* Not with an event that sees inside, not in user space, not where only callees ran. */
		{"main;_raw_spin_unlock_irqrestore@[kernel]", "cycles", {0, 0, 0}},
		{"main;_raw_spin_unlock_irqrestore", "cpu-clock", {0, 0, 0}},
		{"main;do_syscall_64@[kernel];ksys_read@[kernel]", "cpu-clock", {0, 0, 0}},
		{"main;_raw_spin_lock_irqsave@[kernel]", "cpu-clock", {0, 0, 0}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned notes[3];
		notes_of(cases[i].stack, "main;work", cases[i].event, notes);
		assert_memory_equal(notes, cases[i].want, sizeof(notes));
	}
	assert_non_null(strstr(cam_view_note_words(0), "interrupts off"));
}

static void test_memory_is_bounded(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "x");
	for (unsigned i = 0; i < 5000; i++) {
		char stack[64];
		snprintf(stack, sizeof(stack), "main;function_number_%u", i);
		fake_sample(w, i, 0, task, fake_place(w, stack));
	}
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	struct cam_flame f;
	struct cam_flame_options tight = {.max_bytes = 100000};
	assert_int_equal(cam_flame_build(source, &s, &tight, &f), -E2BIG);
	assert_null(f.nodes);
	tight.max_bytes = 10000000;
	assert_int_equal(cam_flame_build(source, &s, &tight, &f), 0);
	assert_int_equal(f.n_nodes, 5003);
	cam_flame_free(&f);
	source->ops->close(source);
}

static void test_nothing_selected(void **state)
{
	(void)state;
	struct cam_source *source = fake_source_new(NULL, 0);
	struct cam_selection s = everything();
	struct cam_flame f = build_of(source, &s, &by_samples);
	assert_tree(&f, "all:R 0/0\n");
	assert_int_equal(f.seen.windows, 0);
	struct cam_top top;
	assert_int_equal(cam_top_build(&f, 10, &top), 0);
	assert_int_equal(top.n_rows, 0);
	cam_top_free(&top);
	cam_flame_free(&f);
	source->ops->close(source);
}

/* The oracle: what each path from the root sums up to, from the text alone. */
struct path {
	char *name;
	unsigned long long weight;
};

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct path *)x)->name, ((const struct path *)y)->name);
}

static size_t oracle_paths(const char *text, struct path **out)
{
	size_t n = 0, kept = 0;
	struct path *paths = NULL;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t length = strcspn(line, "\n");
		const char *space = memrchr(line, ' ', length);
		for (const char *p = line; p <= space; p++) {
			if (*p != ';' && p != space)
				continue;
			if ((n & (n - 1)) == 0) /* a power of two: full */
				paths = reallocarray(paths, n ? 2 * n : 1, sizeof(*paths));
			paths[n++] = (struct path){strndup(line, (size_t)(p - line)),
						   strtoull(space + 1, NULL, 10)};
		}
	}
	qsort(paths, n, sizeof(*paths), by_path);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(paths[kept - 1].name, paths[i].name)) {
			paths[kept - 1].weight += paths[i].weight;
			free(paths[i].name);
		} else {
			paths[kept++] = paths[i];
		}
	}
	*out = paths;
	return kept;
}

static void compare_with_oracle(const char *file)
{
	char *text = read_data(file);
	struct fake_window *w = folded_window(text, 1);
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	s.with_idle = true;
	struct cam_flame f = build_of(source, &s, &by_period);
	check_shape(&f);
	struct path *paths;
	size_t n = oracle_paths(text, &paths);
	assert_int_equal(f.n_nodes, n + 1);
	char **names = calloc(f.n_nodes, sizeof(*names));
	for (size_t i = 1; i < f.n_nodes; i++) {
		static const char *suffix[] = {"", "", "_[k]", "", "_[j]", "_[i]", ""};
		const struct cam_flame_node *node = &f.nodes[i];
		struct cam_text name = cam_flame_name(&f, i);
		const char *parent = node->parent ? names[node->parent] : "";
		assert_true(asprintf(&names[i], "%s%s%.*s%s", parent, node->parent ? ";" : "",
				     (int)name.n, name.p,
				     suffix[cam_flame_frame_of(&f, i)->kind]) > 0);
		struct path key = {.name = names[i]};
		struct path *want = bsearch(&key, paths, n, sizeof(*paths), by_path);
		assert_non_null(want);
		assert_int_equal(node->total, want->weight);
	}
	for (size_t i = 0; i < n; i++)
		free(paths[i].name);
	for (size_t i = 0; i < f.n_nodes; i++)
		free(names[i]);
	free(names);
	free(paths);
	free(text);
	cam_flame_free(&f);
	source->ops->close(source);
}

static void test_real_profiles_equal_their_paths(void **state)
{
	(void)state;
	compare_with_oracle("oracle/gcc-compile.folded.gz");
	compare_with_oracle("oracle/nginx-997.folded.gz");
	compare_with_oracle("oracle/tmpl.folded-all-pid.gz");
}

/* Top functions by the text alone: a name counts once a line, however often it is in it. */
static void check_top_row(const char *text, struct cam_text name, uint64_t self, uint64_t total)
{
	unsigned long long want_self = 0, want_total = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		const char *space = memrchr(line, ' ', strcspn(line, "\n"));
		bool found = false, leaf = false;
		for (const char *p = memchr(line, ';', (size_t)(space - line)); p && p < space;) {
			p++;
			const char *end = memchr(p, ';', (size_t)(space - p));
			size_t n = (size_t)((end ? end : space) - p);
			leaf = n == name.n && !memcmp(p, name.p, n);
			found |= leaf;
			p += n;
		}
		want_total += found ? strtoull(space + 1, NULL, 10) : 0;
		want_self += leaf ? strtoull(space + 1, NULL, 10) : 0;
	}
	assert_int_equal(self, want_self);
	assert_int_equal(total, want_total);
}

static void test_top_counts_recursion_once(void **state)
{
	(void)state;
	char *text = read_data("oracle/gcc-compile.folded.gz");
	struct fake_window *w = folded_window(text, 1);
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	s.with_idle = true;
	struct cam_flame f = build_of(source, &s, &by_period);
	struct cam_top top;
	assert_int_equal(cam_top_build(&f, 200, &top), 0);
	assert_int_equal(top.n_rows, 200);
	assert_true(top.n_functions > 200);
	for (size_t i = 0; i < top.n_rows; i++) {
		const struct cam_flame_frame *frame = &f.frames[top.rows[i].frame];
		check_top_row(text, (struct cam_text){f.text + frame->name_at, frame->name_n},
			      top.rows[i].self, top.rows[i].total);
		if (i)
			assert_true(top.rows[i - 1].self >= top.rows[i].self);
	}
	cam_top_free(&top);
	cam_flame_free(&f);
	source->ops->close(source);
	free(text);
}

/* Hands out the same columns again and again, as fast as a decoder never could. */
#define SPEED_BATCH  8192u
#define SPEED_ROUNDS 500u

static int fast_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			cam_batch_fn *fn, void *arg)
{
	static uint32_t stack[SPEED_BATCH], comm[SPEED_BATCH], cpu[SPEED_BATCH];
	struct cam_batch b = {.n = SPEED_BATCH, .stack = stack, .comm = comm, .cpu = cpu};
	struct fake_window *f = (struct fake_window *)w;
	uint32_t mixed = 12345;
	(void)range;
	(void)columns;
	for (size_t i = 0; i < SPEED_BATCH; i++) {
		struct cam_stack_id id;
		mixed = mixed * 1664525u + 1013904223u;
		const struct cam_sample *s = &f->samples[(mixed >> 8) % f->n_samples];
		assert_int_equal(cam_place_stack(&f->t, s->place, &id), 0);
		stack[i] = id.v;
		comm[i] = f->t.tasks[s->task.v].comm.v;
		cpu[i] = mixed >> 31;
	}
	int err = 0;
	for (size_t i = 0; i < SPEED_ROUNDS && !err; i++)
		err = fn(arg, &b);
	return err;
}

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The aim is 10 million samples a CPU second; measured when written: 40 to 50. */
static void test_ten_million_samples_a_second(void **state)
{
	(void)state;
	char *text = read_data("oracle/nginx-997.folded.gz");
	struct fake_window *w = folded_window(text, 1);
	struct cam_window_ops ops = *w->w.ops;
	ops.samples = fast_samples;
	w->w.ops = &ops;
	w->t.etypes[0].has_weight = false;
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s = everything();
	char why[64];
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_CPU, CAM_TEXT("0-1"), why, 64), 0);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, CAM_TEXT("."), why, 64), 0);
	double start = cpu_seconds();
	struct cam_flame f = build_of(source, &s, &by_samples);
	double seconds = cpu_seconds() - start, all = (double)SPEED_BATCH * SPEED_ROUNDS;
	assert_int_equal(f.seen.samples + f.seen.idle, (uint64_t)all);
	printf("# %.1f million samples a CPU second\n", all / seconds / 1e6);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
	assert_true(all / seconds >= 10e6);
#endif
	cam_flame_free(&f);
	cam_selection_free(&s);
	source->ops->close(source);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_merge_by_name),
		cmocka_unit_test(test_whole_windows_read_no_sample),
		cmocka_unit_test(test_bad_footer_is_not_needed),
		cmocka_unit_test(test_bad_ledger_costs_no_sample),
		cmocka_unit_test(test_unreadable_window_is_counted),
		cmocka_unit_test(test_weights_and_event_types),
		cmocka_unit_test(test_event_modifiers),
		cmocka_unit_test(test_differential),
		cmocka_unit_test(test_lost_damaged_and_gaps),
		cmocka_unit_test(test_note_where_unseen_time_lands),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_nothing_selected),
		cmocka_unit_test(test_real_profiles_equal_their_paths),
		cmocka_unit_test(test_top_counts_recursion_once),
		cmocka_unit_test(test_ten_million_samples_a_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
