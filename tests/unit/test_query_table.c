// SPDX-License-Identifier: Apache-2.0
/* Tables and moments of windows whose every sample is known. What fixtures say of them: tests/cli/test_tables.py. */
#include "base/units.h"
#include "query/moment.h"
#include "query/select.h"
#include "query/table.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC	  CAM_NS_PER_SEC
#define N_SAMPLES 2000u
#define PERIOD_NS (SEC / 97)

static const char docker[] =
	"/system.slice/docker-"
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";

static const struct who {
	int32_t pid, tid;
	uint32_t uid;
	const char *comm, *exe, *cgroup;
} people[] = {
	{10, 10, 0, "nginx", "/usr/sbin/nginx", "/system.slice/nginx.service"},
	{10, 11, 0, "worker", "/usr/sbin/nginx", "/system.slice/nginx.service"},
	{20, 20, 1000, "cc1", "/usr/bin/cc1", "/user.slice"},
	{30, 31, 33, "java", "/opt/java", docker},
};
static const char *const stacks[] = {"main;read", "main;a;b;a", "main@/bin/x;vfs@[kernel]", ""};

static struct known {
	unsigned who, stack, cpu;
	uint64_t time_ns;
} known[2][N_SAMPLES];

static uint64_t draw(uint64_t *seed, uint64_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % n;
}

static struct cam_task_id task_of(struct fake_window *f, const struct who *w)
{
	struct cam_task task = {.pid = w->pid,
				.tid = w->tid,
				.uid = w->uid,
				.comm = fake_str(f, w->comm),
				.exe = fake_str(f, w->exe),
				.cgroup = fake_str(f, w->cgroup)};
	struct cam_task_id id;
	assert_int_equal(cam_task_intern(&f->t, &task, &id), 0);
	return id;
}

static struct cam_source *two_windows(void)
{
	struct fake_window *windows[2];
	uint64_t seed = 11;
	for (unsigned w = 0; w < 2; w++) {
		struct fake_window *f = windows[w] = fake_window_new();
		fake_str(f, w ? "shifts every id by one" : "");
		f->w.info.start_ns = (100 + 50 * w) * SEC;
		f->w.info.end_ns = f->w.info.start_ns + 50 * SEC;
		f->w.info.cpus = 3;
		for (unsigned i = 0; i < N_SAMPLES; i++) {
			struct known *k = &known[w][i];
			*k = (struct known){(unsigned)draw(&seed, 4), (unsigned)draw(&seed, 4),
					    (unsigned)draw(&seed, 3),
					    f->w.info.start_ns + draw(&seed, 5000) * 10000000};
			fake_sample(f, k->time_ns, k->cpu, task_of(f, &people[k->who]),
				    fake_place(f, stacks[k->stack]));
		}
	}
	return fake_source_new(windows, 2);
}

static bool is_of(const struct known *k, enum cam_key key, const struct cam_value *v)
{
	const struct who *w = &people[k->who];
	switch (key) {
	case CAM_KEY_COMM:
		return cam_text_equal(v->text, cam_text_of(w->comm));
	case CAM_KEY_PROCESS:
		/* Of a process whose main thread was not sampled the name is the thread's. */
		return v->number == w->pid &&
		       cam_text_equal(v->text, cam_text_of(w->pid == 10 ? "nginx" : w->comm));
	case CAM_KEY_PID:
		return v->number == w->pid;
	case CAM_KEY_TID:
		return v->number == w->tid;
	case CAM_KEY_USER:
		return v->number == w->uid;
	case CAM_KEY_EXE:
		return cam_text_equal(v->text, cam_text_of(w->exe));
	case CAM_KEY_CGROUP:
		return cam_text_equal(v->text, cam_text_of(w->cgroup));
	case CAM_KEY_CONTAINER:
		return v->text.n == 64 ? w->cgroup == docker : w->cgroup != docker && !v->text.n;
	case CAM_KEY_CPU:
		return v->number == k->cpu;
	case CAM_KEY_EVENT:
		return cam_text_equal(v->text, CAM_TEXT("cpu-clock"));
	case CAM_KEY_TIME:
		return v->number == (int64_t)(k->time_ns - k->time_ns % SEC);
	case CAM_KEY_SOCKET:
		return v->number == CAM_CPU_NONE;
	case CAM_KEY_PARENT:
		/* "^(a|read)$", the outermost of a stack. */
		return cam_text_equal(v->text, k->stack == 0   ? CAM_TEXT("read")
					       : k->stack == 1 ? CAM_TEXT("a")
							       : CAM_TEXT("[other]"));
	case CAM_KEY_SRCLINE:
	case CAM_KEY_SRCFILE:
		return cam_text_equal(v->text, CAM_TEXT("[unknown]"));
	case CAM_KEY_POD:
	case CAM_KEY_SYMBOL:
	case CAM_KEY_DSO:
	case CAM_KEY_MAX:
		break;
	}
	return !v->text.n;
}

/* One key, and pairs of them: each row holds what was drawn for it, and all rows hold everything. */
static void test_keys(void **state)
{
	(void)state;
	struct cam_source *source = two_windows();
	struct cam_selection s;
	cam_selection_init(&s);
	struct cam_select_expressions parent = {0};
	char why[200];
	assert_int_equal(
		cam_select_expression_add(&parent, CAM_TEXT("^(a|read)$"), why, sizeof(why)), 0);
	for (unsigned pair = 0; pair < CAM_KEY_SYMBOL * CAM_KEY_SYMBOL; pair++) {
		struct cam_table_options o = {.keys = {(enum cam_key)(pair / CAM_KEY_SYMBOL),
						       (enum cam_key)(pair % CAM_KEY_SYMBOL)},
					      .quantum_ns = SEC,
					      .parent = &parent};
		o.n_keys = o.keys[0] == o.keys[1] ? 1 : 2;
		struct cam_table t;
		uint64_t samples = 0;
		assert_int_equal(cam_table_build(source, &s, &o, &t), 0);
		for (size_t r = 0; r < t.n_rows; r++) {
			uint64_t want = 0;
			for (unsigned i = 0; i < 2 * N_SAMPLES; i++) {
				const struct known *k = &known[i / N_SAMPLES][i % N_SAMPLES];
				want += is_of(k, o.keys[0], &t.rows[r].values[0]) &&
					(o.n_keys == 1 ||
					 is_of(k, o.keys[1], &t.rows[r].values[1]));
			}
			assert_int_equal(t.rows[r].self.samples, want);
			assert_int_equal(t.rows[r].total.samples, want);
			assert_int_equal(t.rows[r].self.cpu_ns, want * PERIOD_NS);
			assert_true(r == 0 || t.rows[r - 1].self.weight >= t.rows[r].self.weight);
			samples += want;
		}
		assert_int_equal(samples, 2 * N_SAMPLES);
		cam_table_free(&t);
	}
	cam_select_expressions_free(&parent);
	source->ops->close(source);
}

/* A function that is in a stack twice counts once; the empty stack is a function nobody knows. */
static void test_frames(void **state)
{
	(void)state;
	struct cam_source *source = two_windows();
	struct cam_selection s;
	cam_selection_init(&s);
	struct cam_table_options o = {.keys = {CAM_KEY_SYMBOL}, .n_keys = 1};
	struct cam_table t;
	uint64_t by_stack[4] = {0};
	for (unsigned i = 0; i < 2 * N_SAMPLES; i++)
		by_stack[known[i / N_SAMPLES][i % N_SAMPLES].stack]++;
	const struct {
		const char *name;
		uint64_t self, total;
	} want[] = {{"read", by_stack[0], by_stack[0]},
		    {"a", by_stack[1], by_stack[1]},
		    {"b", 0, by_stack[1]},
		    {"vfs", by_stack[2], by_stack[2]},
		    {"[unknown]", by_stack[3], by_stack[3]},
		    {"main", 0, by_stack[0] + by_stack[1] + by_stack[2]}};
	assert_int_equal(cam_table_build(source, &s, &o, &t), 0);
	assert_int_equal(t.n_rows, 6);
	assert_int_equal(t.all_kernel_weight, by_stack[2]);
	for (size_t r = 0; r < t.n_rows; r++) {
		bool found = false;
		for (size_t i = 0; i < 6; i++) {
			if (!cam_text_equal(t.rows[r].values[0].text, cam_text_of(want[i].name)))
				continue;
			found = true;
			assert_int_equal(t.rows[r].self.samples, want[i].self);
			assert_int_equal(t.rows[r].total.samples, want[i].total);
		}
		assert_true(found);
	}
	cam_table_free(&t);
	source->ops->close(source);
}

static void add_counter_of(struct fake_window *f, enum cam_counter_kind kind, uint32_t subject,
			   uint64_t second, uint64_t span_ns, uint64_t value)
{
	fake_add_counter(f, &(struct cam_counter){.time_ns = second * SEC,
						  .span_ns = span_ns,
						  .kind = kind,
						  .subject = subject,
						  .value = value});
}

static void add_counter(struct fake_window *f, enum cam_counter_kind kind, uint64_t second,
			uint64_t span_ns, uint64_t value)
{
	add_counter_of(f, kind, 0, second, span_ns, value);
}

/* Seconds 120 to 124: the run queue is long, a tenth of one CPU's time is stolen; the rest is as always. */
static void test_counters_that_stand_out(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	fake_sample(f, 121 * SEC, 1, task_of(f, &people[0]), fake_place(f, "main"));
	f->w.info.start_ns = 100 * SEC;
	f->w.info.end_ns = 160 * SEC;
	f->w.info.realtime_ns = 1776222847 * (int64_t)SEC;
	for (uint64_t s = 101; s <= 160; s++) {
		bool bad = s > 120 && s <= 124;
		add_counter(f, CAM_COUNTER_RUNNABLE, s, 0, bad ? 40 : 2);
		/* Of a CPU zeros are not written, but for idle. */
		if (bad)
			add_counter_of(f, CAM_COUNTER_STEAL, 1, s, SEC, SEC / 10);
		add_counter_of(f, CAM_COUNTER_IDLE, 0, s, SEC, 0);
		add_counter_of(f, CAM_COUNTER_IDLE, 1, s, SEC, 0);
		add_counter_of(f, CAM_COUNTER_RUN_DELAY, 31, s, SEC, SEC / 4);
		add_counter(f, CAM_COUNTER_MEMORY_CGROUPS, s, 0, 61);
		add_counter(f, CAM_COUNTER_SWITCHES, s, SEC, 5000);
		add_counter(f, CAM_COUNTER_PSI_IO, s, SEC, SEC / 20);
	}
	fake_add_event(f, 122 * SEC, CAM_SEVERITY_ERR, "kmsg", "hung task");
	fake_add_event(f, 140 * SEC, CAM_SEVERITY_ERR, "kmsg", "later");
	struct cam_source *source = fake_source_new(&f, 1);
	struct cam_selection s = {.clock = CAM_SELECT_CLOCK};
	s.from_ns = 120 * (int64_t)SEC;
	s.to_ns = 124 * (int64_t)SEC;
	struct cam_moment m;
	struct cam_moment_options o = {.rows = 5, .max_events = 5};
	assert_int_equal(cam_moment_build(source, &s, &o, &m), 0);
	assert_int_equal(m.offset_ns, 22 * SEC);
	assert_int_equal(m.n_events, 1);
	assert_true(cam_text_equal(m.events[0].text, CAM_TEXT("hung task")));
	assert_int_equal(m.n_counters, 4);
	for (size_t i = 0; i < m.n_counters; i++) {
		const struct cam_moment_counter *c = &m.counters[i];
		bool bad = c->kind == CAM_COUNTER_RUNNABLE || c->kind == CAM_COUNTER_STEAL;
		assert_int_equal(c->stands_out, bad);
		if (c->kind == CAM_COUNTER_STEAL)
			assert_int_equal(c->inside, 50); /* per mille of both CPUs */
		if (c->kind == CAM_COUNTER_SWITCHES)
			assert_int_equal(c->inside, 5000000);
		/* Of the instants the one at 120 s is inside, that of 124 s no more. */
		if (c->kind == CAM_COUNTER_RUNNABLE)
			assert_int_equal(c->inside, (2 + 3 * 40) * 1000 / 4);
	}
	assert_int_equal(m.host.n_waiters, 1);
	assert_int_equal(m.host.waiters[0].tid, 31);
	assert_int_equal(m.host.waiters[0].waited_ns, SEC); /* a quarter of four seconds */
	assert_int_equal((int)m.host.by_kind[CAM_COUNTER_MEMORY_CGROUPS].mean[0], 61);
	assert_true(m.has_busiest);
	assert_int_equal(m.cores.rows[0].values[0].number, 1);
	cam_moment_free(&m);
	source->ops->close(source);
}

static void test_sort_lists(void **state)
{
	(void)state;
	struct cam_table_options o = {0};
	char why[400];
	assert_int_equal(cam_table_sort_parse(CAM_TEXT("comm,dso,sym"), &o, why, sizeof(why)), 0);
	assert_int_equal(o.n_keys, 3);
	assert_int_equal(o.order, CAM_ORDER_SELF);
	assert_int_equal(
		cam_table_sort_parse(CAM_TEXT("overhead_children,core"), &o, why, sizeof(why)), 0);
	assert_int_equal(o.n_keys, 1);
	assert_int_equal(o.keys[0], CAM_KEY_CPU);
	assert_int_equal(o.order, CAM_ORDER_TOTAL);
	assert_int_equal(cam_table_sort_parse(CAM_TEXT("time,comm"), &o, why, sizeof(why)), 0);
	assert_int_equal(o.order, CAM_ORDER_KEYS);
	static const char *const bad[] = {"", "comm,", "comm,,pid", "comm,command", "nothing"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cam_table_sort_parse(cam_text_of(bad[i]), &o, why, sizeof(why)),
				 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_counters_that_stand_out),
		cmocka_unit_test(test_sort_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
