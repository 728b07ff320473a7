// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "query/walk.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC	  CAM_NS_PER_SEC
#define N_SAMPLES 3000u
#define BASE	  100u /* where the first window begins, in seconds */

static const char *const comms[] = {"nginx", "cc1", "swapper", "swapper/1"};
static const char *const stacks[] = {"main;read",
				     "main;write@[kernel]",
				     "do_idle@[kernel];cpuidle_enter@[kernel]",
				     "do_idle@[kernel];schedule_idle@[kernel]",
				     "",
				     "main;read;vfs_read@[kernel]"};

/* What the test asks for, written down again by hand. */
struct question {
	int64_t from_s, to_s; /* window's clock */
	int32_t pid;	      /* -1: any */
	int cpu;	      /* -1: any */
	const char *match;    /* a substring; NULL: any */
	bool idle;
};

/* One window of random samples, and what they are. */
struct known {
	uint64_t time_ns;
	uint32_t cpu, weight;
	int32_t pid;
	unsigned comm, stack, etype;
};

static struct known known[2][N_SAMPLES];

static uint64_t draw(uint64_t *seed, uint64_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % n;
}

static struct fake_window *random_window(unsigned number, uint64_t *seed)
{
	struct fake_window *f = fake_window_new();
	struct cam_etype_id other = fake_etype(f, "cycles", 0, true);
	f->batch = 1 + draw(seed, 700);
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		struct known *k = &known[number][i];
		*k = (struct known){.time_ns = (BASE + 100 * number + draw(seed, 100)) * SEC +
					       draw(seed, 100) * 10000000,
				    .cpu = (uint32_t)draw(seed, 3),
				    .weight = 1,
				    .comm = (unsigned)draw(seed, 4),
				    .stack = (unsigned)draw(seed, 6),
				    .etype = draw(seed, 5) == 0};
		/* One in a while calls itself swapper and is none. */
		k->pid = k->comm >= 2 && draw(seed, 4) ? 0 : (int32_t)(10 + k->comm);
		if (k->etype)
			k->weight = (uint32_t)(1 + draw(seed, 1000));
		struct cam_sample s = {
			.time_ns = k->time_ns,
			.weight = k->weight,
			.cpu = k->cpu,
			.task = fake_task(f, k->pid, k->pid, comms[k->comm]),
			.place = fake_place(f, stacks[k->stack]),
			.etype = k->etype ? other : (struct cam_etype_id){0},
		};
		fake_add_sample(f, &s);
	}
	f->w.info.start_ns = (BASE + 100ull * number) * SEC;
	f->w.info.end_ns = f->w.info.start_ns + 100 * SEC;
	return f;
}

static bool row_passes(const struct question *q, const struct known *k)
{
	return (q->pid < 0 || k->pid == q->pid) && (q->cpu < 0 || k->cpu == (uint32_t)q->cpu) &&
	       k->time_ns >= (uint64_t)q->from_s * SEC && k->time_ns < (uint64_t)q->to_s * SEC;
}

static bool matches(const struct question *q, const struct known *k)
{
	return !q->match || strstr(stacks[k->stack], q->match) || strstr(comms[k->comm], q->match);
}

static bool is_idle(const struct known *k)
{
	return k->pid == 0 && k->stack == 2;
}

/* What a walk counted, by everything that tells samples apart. */
struct tally {
	uint64_t samples[4][6][2];
	uint64_t weight;
	uint64_t by_pid[16], by_cpu[3], by_second[400];
	unsigned opened, closed;
	int64_t last_second;
	enum cam_walk_extra extra;
	int fail_with; /* what close() answers */
};

static unsigned index_of(struct cam_text name, const char *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (cam_text_equal(name, cam_text_of(list[i])))
			return i;
	}
	fail_msg("unknown name %.*s", (int)name.n, name.p);
	return 0;
}

/* The stack again as it was given: names only, so both ways through the window must agree on it. */
static unsigned stack_of(const struct cam_tables *t, uint32_t stack)
{
	char text[200] = "", room[64];
	for (uint32_t node = stack; node; node = t->stacks.parent[node]) {
		struct cam_func_id f = {t->stacks.item[node]};
		struct cam_text label = cam_function_label(t, f, room, sizeof(room));
		char longer[200];
		snprintf(longer, sizeof(longer), "%.*s%s%s%.100s", (int)label.n, label.p,
			 t->functions[f.v].kind == CAM_FUNC_KERNEL ? "@[kernel]" : "",
			 *text ? ";" : "", text);
		memcpy(text, longer, sizeof(text));
	}
	return index_of(cam_text_of(text), stacks, 6);
}

static unsigned comm_of(const struct cam_tables *t, uint32_t comm)
{
	return index_of(cam_string(t, (struct cam_str_id){comm}), comms, 4);
}

static unsigned etype_of(const struct cam_tables *t, uint32_t etype)
{
	return cam_text_equal(cam_string(t, t->etypes[etype].name), CAM_TEXT("cycles"));
}

static int on_open(void *self, struct cam_walk_window *x)
{
	(void)x;
	struct tally *y = self;
	assert_int_equal(y->opened, y->closed);
	y->opened++;
	return 0;
}

static int on_close(void *self, struct cam_walk_window *x, int err)
{
	(void)x;
	struct tally *y = self;
	y->closed++;
	return err ? err : y->fail_with;
}

static int on_sum(void *self, struct cam_walk_window *x, const struct cam_sum *sum,
		  enum cam_verdict verdict)
{
	struct tally *y = self;
	assert_int_equal(verdict, CAM_VERDICT_YES);
	y->samples[comm_of(x->tables, sum->comm)][stack_of(x->tables, sum->stack)]
		  [etype_of(x->tables, sum->etype)] += sum->samples;
	y->weight += x->weighted ? sum->weight : sum->samples;
	if (y->extra == CAM_WALK_BY_TASK)
		y->by_pid[x->tables->tasks[sum->extra].pid] += sum->samples;
	if (y->extra == CAM_WALK_BY_CPU)
		y->by_cpu[sum->extra] += sum->samples;
	return 0;
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct tally *y = self;
	const struct cam_batch *b = rows->batch;
	assert_true(rows->n > 0);
	for (size_t i = 0; i < rows->n; i++) {
		size_t at = rows->index[i];
		assert_true(at < b->n);
		y->samples[comm_of(x->tables, b->comm[at])][stack_of(x->tables, b->stack[at])]
			  [etype_of(x->tables, cam_walk_etype(b, at))]++;
		y->weight += cam_walk_weight(b, at);
		y->by_pid[x->tables->tasks[b->task[at]].pid]++;
		y->by_cpu[b->cpu[at]]++;
		y->by_second[b->time_ns[at] / SEC]++;
		assert_int_equal(rows->verdict[i], CAM_VERDICT_YES);
	}
	return 0;
}

static void expect(const struct question *q, unsigned windows, struct tally *y,
		   struct cam_seen *seen)
{
	for (unsigned w = 0; w < windows; w++) {
		for (unsigned i = 0; i < N_SAMPLES; i++) {
			const struct known *k = &known[w][i];
			if (!row_passes(q, k))
				continue;
			if (k->etype) {
				seen->other_events++;
				continue;
			}
			if (!matches(q, k))
				continue;
			if (!q->idle && is_idle(k)) {
				seen->idle++;
				continue;
			}
			seen->samples++;
			y->samples[k->comm][k->stack][k->etype]++;
			y->by_pid[k->pid]++;
			y->by_cpu[k->cpu]++;
			y->by_second[k->time_ns / SEC]++;
		}
	}
}

static struct cam_selection select_as(const struct question *q)
{
	struct cam_selection s;
	char why[100], text[20];
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = q->from_s * (int64_t)SEC;
	s.to_ns = q->to_s * (int64_t)SEC;
	s.with_idle = q->idle;
	snprintf(text, sizeof(text), "%d", q->pid);
	if (q->pid >= 0)
		assert_int_equal(cam_selection_add(&s, CAM_FILTER_PID, cam_text_of(text), why, 100),
				 0);
	snprintf(text, sizeof(text), "%d", q->cpu);
	if (q->cpu >= 0)
		assert_int_equal(cam_selection_add(&s, CAM_FILTER_CPU, cam_text_of(text), why, 100),
				 0);
	if (q->match)
		assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, cam_text_of(q->match), why,
						   100),
				 0);
	return s;
}

static void check_seen(const struct cam_seen *got, const struct cam_seen *want)
{
	assert_int_equal(got->samples, want->samples);
	assert_int_equal(got->idle, want->idle);
	assert_int_equal(got->other_events, want->other_events);
}

/* Rows, sums and sums by task and CPU, of random selections: all as counted by hand. */
static void test_every_way_counts_the_same(void **state)
{
	(void)state;
	uint64_t seed = 17;
	struct fake_window *windows[2] = {random_window(0, &seed), random_window(1, &seed)};
	struct cam_source *source = fake_source_new(windows, 2);
	for (unsigned round = 0; round < 60; round++) {
		static const char *const patterns[] = {NULL, NULL, "read", "swapper", "idle"};
		struct question q = {.from_s = BASE + (int64_t)draw(&seed, 200),
				     .pid = (int32_t)draw(&seed, 3) * 11 - 1,
				     .cpu = (int)draw(&seed, 4) - 1,
				     .match = patterns[draw(&seed, 5)],
				     .idle = draw(&seed, 2)};
		q.to_s = q.from_s + 1 + (int64_t)draw(&seed, 100);
		if (round % 8 == 0)
			q.from_s = BASE, q.to_s = BASE + 200; /* whole windows: by their totals */
		struct tally want = {0}, rows = {0};
		struct cam_seen seen = {0};
		expect(&q, 2, &want, &seen);
		struct cam_selection s = select_as(&q);
		struct cam_walk walk;
		struct cam_walk_view view = {.self = &rows,
					     .open = on_open,
					     .rows = on_rows,
					     .close = on_close,
					     .columns = CAM_COL_TASK | CAM_COL_CPU | CAM_COL_TIME};
		assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
		check_seen(&walk.seen, &seen);
		cam_walk_free(&walk);
		assert_memory_equal(rows.samples, want.samples, sizeof(want.samples));
		assert_memory_equal(rows.by_pid, want.by_pid, sizeof(want.by_pid));
		assert_memory_equal(rows.by_cpu, want.by_cpu, sizeof(want.by_cpu));
		assert_memory_equal(rows.by_second, want.by_second, sizeof(want.by_second));
		for (enum cam_walk_extra e = CAM_WALK_NO_EXTRA; e <= CAM_WALK_BY_CPU; e++) {
			struct tally sums = {.extra = e};
			view = (struct cam_walk_view){.self = &sums,
						      .open = on_open,
						      .sum = on_sum,
						      .close = on_close,
						      .extra = e};
			assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
			check_seen(&walk.seen, &seen);
			assert_int_equal(sums.opened, walk.seen.windows);
			assert_int_equal(sums.closed, sums.opened);
			cam_walk_free(&walk);
			assert_memory_equal(sums.samples, want.samples, sizeof(want.samples));
			if (e == CAM_WALK_BY_TASK)
				assert_memory_equal(sums.by_pid, want.by_pid, sizeof(want.by_pid));
			if (e == CAM_WALK_BY_CPU)
				assert_memory_equal(sums.by_cpu, want.by_cpu, sizeof(want.by_cpu));
		}
		cam_selection_free(&s);
	}
	source->ops->close(source);
}

/* Periods where they are asked for, of the event that has them. */
static void test_weights(void **state)
{
	(void)state;
	uint64_t seed = 23, want = 0, n = 0;
	struct fake_window *windows[1] = {random_window(0, &seed)};
	struct cam_source *source = fake_source_new(windows, 1);
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		if (known[0][i].etype && !is_idle(&known[0][i])) {
			want += known[0][i].weight;
			n++;
		}
	}
	char why[100];
	struct cam_selection s;
	cam_selection_init(&s);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_ETYPE, CAM_TEXT("cycles"), why, 100), 0);
	for (unsigned way = 0; way < 4; way++) {
		struct tally y = {0};
		struct cam_walk walk;
		struct cam_walk_view view = {.self = &y,
					     .sum = way & 1 ? on_sum : NULL,
					     .rows = way & 1 ? NULL : on_rows,
					     .columns = CAM_COL_TASK | CAM_COL_CPU | CAM_COL_TIME,
					     .weights = way & 2};
		assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
		assert_int_equal(y.weight, way & 2 ? want : n);
		cam_walk_free(&walk);
	}
	cam_selection_free(&s);
	source->ops->close(source);
}

/* Anchors: the wall clock was stepped back by 60 s at 140 s, and forward by an hour at 170 s. */
static int ask_wall(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct tally *y = self;
	for (size_t i = 0; i < rows->n; i++) {
		uint64_t t = rows->batch->time_ns[rows->index[i]];
		int64_t shift = 500000 - (t >= 140 * SEC ? 60 : 0) + (t >= 170 * SEC ? 3600 : 0);
		assert_int_equal(cam_walk_wall(x, t), (int64_t)t + shift * (int64_t)SEC);
		y->by_second[t / SEC]++;
	}
	return 0;
}

static void test_wall_times(void **state)
{
	(void)state;
	uint64_t seed = 5;
	struct fake_window *f = random_window(0, &seed);
	static const struct {
		uint64_t at_s;
		int64_t wall_s;
	} anchors[] = {{110, 500110}, {139, 500139}, {140, 500140}, {140, 500080},
		       {170, 500110}, {170, 503710}, {190, 503730}};
	for (size_t i = 0; i < sizeof(anchors) / sizeof(anchors[0]); i++)
		fake_add_anchor(f, &(struct cam_anchor){
					   .time_ns = anchors[i].at_s * SEC,
					   .realtime_ns = anchors[i].wall_s * (int64_t)SEC,
				   });
	struct cam_source *source = fake_source_new(&f, 1);
	struct cam_selection s;
	cam_selection_init(&s);
	struct tally y = {0};
	struct cam_walk walk;
	struct cam_walk_view view = {
		.self = &y, .rows = ask_wall, .columns = CAM_COL_TIME, .wall = true};
	assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
	assert_int_equal(walk.seen.realtime_from_ns, 500100 * SEC);
	assert_int_equal(walk.seen.realtime_to_ns, 503740 * SEC);
	cam_walk_free(&walk);
	/* The minute from 500090 to 500150 was shown from before 100 to 140 s, and 150 to 170 s. */
	y = (struct tally){0};
	s.clock = CAM_SELECT_WALL;
	s.from_ns = 500090 * (int64_t)SEC;
	s.to_ns = 500150 * (int64_t)SEC;
	assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(y.by_second[BASE + i] > 0, i < 40 || (i >= 50 && i < 70));
	assert_int_equal(walk.seen.observed_ns, 60 * SEC);
	cam_walk_free(&walk);
	source->ops->close(source);
}

static int count_ledger(void *self, struct cam_walk_window *x, const struct cam_ledger_row *row,
			uint64_t samples)
{
	(void)x;
	struct tally *y = self;
	y->by_second[row->cause] += samples;
	return 0;
}

static int count_gap(void *self, const struct cam_window_info *earlier,
		     const struct cam_window_info *later, const struct cam_ledger_row *gap)
{
	struct tally *y = self;
	assert_true(earlier->end_ns <= gap->from_ns && gap->to_ns <= later->start_ns);
	y->weight += gap->to_ns - gap->from_ns;
	return 0;
}

/* Two windows with 20 s between them; ledgers of three causes; cut by time and CPU. */
static void test_what_was_not_seen(void **state)
{
	(void)state;
	struct fake_window *windows[2];
	for (unsigned i = 0; i < 2; i++) {
		struct fake_window *f = windows[i] = fake_window_new();
		uint64_t at = (BASE + 120ull * i) * SEC;
		struct cam_task_id task = fake_task(f, 1, 1, "x");
		fake_sample(f, at + 50 * SEC, 0, task, fake_place(f, "main"));
		f->w.info.start_ns = at;
		f->w.info.end_ns = at + 100 * SEC;
		f->w.info.sealed = true;
		f->w.info.clean_end = false;
		fake_add_ledger(f, &(struct cam_ledger_row){.cause = CAM_CAUSE_LOST_RING,
							    .cpu = 1,
							    .from_ns = at,
							    .to_ns = at + 100 * SEC,
							    .samples = 1000});
		fake_add_ledger(f, &(struct cam_ledger_row){.cause = CAM_CAUSE_IDLE,
							    .cpu = 0,
							    .from_ns = at,
							    .to_ns = at + 100 * SEC,
							    .samples = 5000});
	}
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_selection s;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = 190 * (int64_t)SEC;
	s.to_ns = 240 * (int64_t)SEC;
	struct tally y = {0};
	struct cam_walk walk;
	struct cam_walk_view view = {.self = &y, .ledger = count_ledger, .gap = count_gap};
	assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
	assert_int_equal(walk.seen.windows, 2);
	assert_int_equal(walk.seen.lost, 300); /* 10 s of one, 20 s of the other */
	assert_int_equal(walk.seen.by_cause[CAM_CAUSE_LOST_RING], 300);
	assert_int_equal(walk.seen.by_cause[CAM_CAUSE_IDLE], 1500);
	assert_int_equal(walk.seen.gap_ns, 20 * SEC);
	assert_int_equal(walk.seen.dead_ns, 20 * SEC);
	assert_int_equal(y.weight, 20 * SEC);
	assert_int_equal(y.by_second[CAM_CAUSE_LOST_RING], 300);
	assert_int_equal(y.by_second[CAM_CAUSE_IDLE], 1500);
	cam_walk_free(&walk);
	char why[100];
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_CPU, CAM_TEXT("0"), why, 100), 0);
	assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
	assert_int_equal(walk.seen.lost, 0);
	cam_walk_free(&walk);
	cam_selection_free(&s);
	source->ops->close(source);
}

/* A window that cannot be read ends itself, anything else ends the walk; close() always comes. */
static void test_errors(void **state)
{
	(void)state;
	static const struct {
		int samples, close, answer;
		unsigned unreadable;
	} cases[] = {{0, 0, 0, 0},	  {-EIO, 0, 0, 1},
		     {-EBADMSG, 0, 0, 1}, {-ENOMEM, 0, -ENOMEM, 0},
		     {0, -ENOENT, 0, 2},  {0, -EINTR, -EINTR, 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t seed = i;
		struct fake_window *windows[2] = {random_window(0, &seed), random_window(1, &seed)};
		windows[0]->fail_samples = cases[i].samples;
		struct cam_source *source = fake_source_new(windows, 2);
		struct cam_selection s;
		cam_selection_init(&s);
		struct tally y = {.fail_with = cases[i].close};
		struct cam_walk walk;
		struct cam_walk_view view = {.self = &y,
					     .open = on_open,
					     .rows = on_rows,
					     .close = on_close,
					     .columns = CAM_COL_TASK | CAM_COL_CPU | CAM_COL_TIME};
		assert_int_equal(cam_walk(source, &s, &view, &walk), cases[i].answer);
		assert_int_equal(walk.seen.unreadable, cases[i].unreadable);
		assert_int_equal(y.opened, y.closed);
		assert_int_equal(y.opened, cases[i].answer ? 1 : 2);
		cam_walk_free(&walk);
		source->ops->close(source);
	}
}

/* A window whose footer has no match is not read; one that has is. */
static void test_what_cannot_match_is_not_read(void **state)
{
	(void)state;
	static const char *const patterns[] = {"nothing", "read", "nginx"};
	for (size_t i = 0; i < 3; i++) {
		struct fake_window *f = fake_window_new();
		struct cam_task_id task = fake_task(f, 10, 10, "nginx");
		for (uint64_t k = 1; k <= 10; k++)
			fake_sample(f, k * SEC, 0, task, fake_place(f, "main;read"));
		struct cam_source *source = fake_source_new(&f, 1);
		struct cam_selection s;
		char why[100];
		cam_selection_init(&s);
		assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, cam_text_of(patterns[i]),
						   why, sizeof(why)),
				 0);
		struct tally y = {0};
		struct cam_walk walk;
		struct cam_walk_view view = {.self = &y,
					     .rows = on_rows,
					     .columns = CAM_COL_TASK | CAM_COL_CPU | CAM_COL_TIME};
		assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
		assert_int_equal(walk.seen.samples, i ? 10 : 0);
		assert_int_equal(walk.seen.windows, 1);
		assert_int_equal(f->samples_calls, i ? 1 : 0);
		cam_walk_free(&walk);
		cam_selection_free(&s);
		source->ops->close(source);
	}
}

struct meter {
	uint64_t done, all;
	unsigned told, stop_at;
};

static int on_progress(void *arg, uint64_t done, uint64_t all)
{
	struct meter *m = arg;
	assert_true(done >= m->done && done <= all);
	m->done = done;
	m->all = all;
	return ++m->told == m->stop_at ? -EINTR : 0;
}

static void test_progress(void **state)
{
	(void)state;
	uint64_t seed = 3;
	struct fake_window *windows[2] = {random_window(0, &seed), random_window(1, &seed)};
	windows[0]->batch = windows[1]->batch = 1000;
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_selection s;
	cam_selection_init(&s);
	struct tally y = {0};
	struct meter m = {0};
	struct cam_progress progress = {on_progress, &m};
	struct cam_walk walk;
	struct cam_walk_view view = {.self = &y, .sum = on_sum, .progress = &progress};
	assert_int_equal(cam_walk(source, &s, &view, &walk), 0);
	assert_int_equal(m.done, 2 * N_SAMPLES);
	assert_int_equal(m.all, 2 * N_SAMPLES);
	cam_walk_free(&walk);
	m = (struct meter){.stop_at = 2};
	view.extra = CAM_WALK_BY_CPU;
	assert_int_equal(cam_walk(source, &s, &view, &walk), -EINTR);
	assert_int_equal(m.done, 2000);
	cam_walk_free(&walk);
	source->ops->close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_way_counts_the_same),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_wall_times),
		cmocka_unit_test(test_what_was_not_seen),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_what_cannot_match_is_not_read),
		cmocka_unit_test(test_progress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
