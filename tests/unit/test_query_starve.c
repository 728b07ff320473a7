// SPDX-License-Identifier: Apache-2.0
/* Cores that were kept, in windows made for it: 97 samples a second and core, four cores. */
#include "query/starve.h"
#include "support_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS     UINT64_C(1000000000)
#define PERIOD (NS / 97)

struct scene {
	struct fake_window *f;
	struct cam_task_id spin, other, third;
};

static struct scene begin(void)
{
	struct scene s = {.f = fake_window_new()};
	s.f->w.info.cpus = 4;
	s.spin = fake_task(s.f, 100, 100, "spin");
	s.other = fake_task(s.f, 200, 200, "other");
	s.third = fake_task(s.f, 300, 300, "third");
	return s;
}

/* Samples of one core from a time on, without a hole. Answers the time behind them. */
static uint64_t run(struct scene *s, uint64_t at, unsigned n, uint32_t cpu, struct cam_task_id task,
		    const char *stack)
{
	struct cam_place_id place = fake_place(s->f, stack);
	for (unsigned i = 0; i < n; i++)
		fake_sample(s->f, at + i * PERIOD, cpu, task, place);
	return at + n * PERIOD;
}

static struct cam_starving find(struct scene *s)
{
	struct cam_starving out;
	struct cam_window *w = fake_window_ready(s->f);
	w->info.cpus = 4;
	assert_int_equal(cam_starved_find(w, &out), 0);
	return out;
}

static void assert_function(const struct scene *s, struct cam_func_id f, const char *name)
{
	struct cam_text got = cam_string(&s->f->t, s->f->t.functions[f.v].name);
	assert_int_equal(got.n, strlen(name));
	assert_memory_equal(got.p, name, got.n);
}

#define READ \
	"main;entry_SYSCALL_64@[kernel];do_syscall_64@[kernel];vfs_read@[kernel];show_smap@[kernel]"

static void a_core_that_a_task_keeps_is_found(void **state)
{
	(void)state;
	struct scene s = begin();
	/* A short stay of another, 1.9 s with a tenth of others in between, a hole, and a short one again. */
	run(&s, 10 * NS, 30, 2, s.other, "main;work");
	uint64_t at = 11 * NS;
	for (unsigned i = 0; i < 10; i++) {
		at = run(&s, at, 17, 2, s.spin, i % 2 ? READ ";walk@[kernel]" : READ);
		at = run(&s, at, 2, 2, s.other, "main;work");
	}
	run(&s, at + NS, 40, 2, s.spin, "main;quick");
	struct cam_starving out = find(&s);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.v[0].cpu, 2);
	assert_int_equal(out.v[0].task.v, s.spin.v);
	assert_int_equal(out.v[0].time_ns / 10000, 11 * NS / 10000);
	assert_true(out.v[0].length_ns > 18 * NS / 10 && out.v[0].length_ns < 2 * NS);
	assert_true(out.v[0].busy_percent >= 23 && out.v[0].busy_percent <= 26);
	assert_true(out.v[0].path_percent >= 85 && out.v[0].path_percent <= 92);
	assert_int_equal(out.v[0].n_path, 3);
	assert_function(&s, out.v[0].path[0], "show_smap");
	assert_function(&s, out.v[0].path[1], "vfs_read");
	assert_function(&s, out.v[0].path[2], "main");
	fake_window_free(s.f);
}

/* Of a program without symbols only what every program begins with has a name: that is no place. */
static void what_every_program_begins_with_is_not_told(void **state)
{
	(void)state;
	struct scene s = begin();
	for (unsigned i = 0; i < 100; i++)
		run(&s, 10 * NS + i * PERIOD, 1, 1, s.spin,
		    i % 2 ? "_start;__libc_start_main;__libc_start_call_main;one"
			  : "_start;__libc_start_main;__libc_start_call_main;two");
	struct cam_starving out = find(&s);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.v[0].task.v, s.spin.v);
	assert_int_equal(out.v[0].n_path, 0);
	fake_window_free(s.f);
}

static void what_is_short_shared_or_has_holes_is_not(void **state)
{
	(void)state;
	struct scene s = begin();
	/* 0.45 s; two that share a core; one that sleeps every tenth sample; the idle task. */
	run(&s, 10 * NS, 44, 0, s.spin, "main;work");
	for (unsigned i = 0; i < 100; i++)
		run(&s, 20 * NS + i * PERIOD, 1, 1, i % 2 ? s.spin : s.other, "main;work");
	for (unsigned i = 0; i < 20; i++)
		run(&s, 30 * NS + i * 12 * PERIOD, 9, 2, s.spin, "main;work");
	run(&s, 40 * NS, 200, 3, fake_task(s.f, 0, 0, "swapper/3"),
	    "do_idle@[kernel];poll_idle@[kernel]");
	struct cam_starving out = find(&s);
	for (size_t i = 0; i < out.n; i++)
		assert_true(out.v[i].task.v == CAM_NONE);
	fake_window_free(s.f);
}

static void a_machine_without_room_starves_nobody(void **state)
{
	(void)state;
	struct scene s = begin();
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		run(&s, 10 * NS, 200, cpu, s.spin, "main;work");
	assert_int_equal(find(&s).n, 0);
	fake_window_free(s.f);
}

static void a_path_of_the_kernel_that_many_tasks_take_is_found(void **state)
{
	(void)state;
	struct scene s = begin();
	const struct cam_task_id tasks[] = {s.spin, s.other, s.third};
	static const char *const stacks[] = {
		"main;asm_common_interrupt@[kernel];handle_softirqs@[kernel];net_rx_action@[kernel];napi_poll@[kernel]",
		"loop;asm_common_interrupt@[kernel];handle_softirqs@[kernel];net_rx_action@[kernel];gro@[kernel]",
		"kthread@[kernel];run_ksoftirqd@[kernel];handle_softirqs@[kernel];net_rx_action@[kernel];napi_poll@[kernel];copy@[kernel]"};
	for (unsigned i = 0; i < 97; i++)
		run(&s, 10 * NS + i * PERIOD, 1, 1, tasks[i % 3], stacks[i % 3]);
	struct cam_starving out = find(&s);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.v[0].task.v, CAM_NONE);
	assert_int_equal(out.v[0].path_percent, 100);
	assert_function(&s, out.v[0].path[0], "net_rx_action");
	fake_window_free(s.f);
}

static void the_longest_are_kept_in_order(void **state)
{
	(void)state;
	struct scene s = begin();
	for (unsigned i = 0; i < 12; i++)
		run(&s, (10 + 10 * i) * NS, 60 + (i * 5 % 12) * 10, i % 4, i % 2 ? s.spin : s.other,
		    READ);
	struct cam_starving out = find(&s);
	assert_int_equal(out.n, CAM_STARVED_MAX);
	assert_int_equal(out.more, 4);
	for (size_t i = 0; i < out.n; i++) {
		assert_int_equal(out.v[i].samples, 170 - 10 * i);
		assert_true(out.v[i].task.v != CAM_NONE);
	}
	fake_window_free(s.f);
}

/* A pool of threads and programs of one name that compute for 3 s each, and four that fill the machine for longer, are ordinary
 * where there are many CPUs; who keeps one for 1.9 s is told beside them. */
static void many_long_ones_do_not_hide_a_shorter_one_of_another_process(void **state)
{
	static const char *const full[] = {"a", "b", "c", "d"};
	(void)state;
	struct scene s = begin();
	struct cam_task_id kubelet = fake_task(s.f, 812, 812, "kubelet");
	uint64_t at = 10 * NS;
	unsigned seen = 0;
	for (uint32_t i = 0; i < 5; i++) {
		char name[] = "pool-0";
		name[5] = (char)('0' + i);
		at = NS + run(&s, at, 300, i % 4, fake_task(s.f, 400, 401 + (int)i, name),
			      "main;crunch");
	}
	for (uint32_t i = 0; i < 4; i++)
		at = NS + run(&s, at, 290, i, fake_task(s.f, 500 + (int)i, 500 + (int)i, "cc1"),
			      "main;parse");
	at = NS + run(&s, at, 184, 1, kubelet, READ);
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		run(&s, at, 400, cpu, fake_task(s.f, 600 + (int)cpu, 600 + (int)cpu, full[cpu]),
		    "main;work");
	struct cam_starving out = find(&s);
	assert_int_equal(out.n, CAM_STARVED_MAX);
	assert_int_equal(out.more, 2);
	for (size_t i = 0; i < out.n; i++) {
		assert_true(out.v[i].busy_percent < 30);
		assert_true(!i || out.v[i].length_ns <= out.v[i - 1].length_ns);
		seen += out.v[i].task.v == kubelet.v;
	}
	assert_int_equal(seen, 1);
	assert_int_equal(out.v[out.n - 1].task.v, kubelet.v);
	assert_function(&s, out.v[out.n - 1].path[0], "show_smap");
	fake_window_free(s.f);
}

static void without_a_rate_or_with_one_cpu_nothing_is_said(void **state)
{
	(void)state;
	struct scene s = begin();
	struct cam_starving out;
	run(&s, 10 * NS, 200, 0, s.spin, "main;work");
	struct cam_window *w = fake_window_ready(s.f);
	w->info.cpus = 1;
	assert_int_equal(cam_starved_find(w, &out), 0);
	assert_int_equal(out.n, 0);
	w->info.cpus = 4;
	s.f->fail_samples = -5;
	assert_int_equal(cam_starved_find(w, &out), -5);
	s.f->fail_samples = 0;
	s.f->t.etypes[0].period_ns = 0;
	assert_int_equal(cam_starved_find(w, &out), 0);
	assert_int_equal(out.n, 0);
	fake_window_free(s.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_core_that_a_task_keeps_is_found),
		cmocka_unit_test(what_every_program_begins_with_is_not_told),
		cmocka_unit_test(what_is_short_shared_or_has_holes_is_not),
		cmocka_unit_test(a_machine_without_room_starves_nobody),
		cmocka_unit_test(a_path_of_the_kernel_that_many_tasks_take_is_found),
		cmocka_unit_test(the_longest_are_kept_in_order),
		cmocka_unit_test(many_long_ones_do_not_hide_a_shorter_one_of_another_process),
		cmocka_unit_test(without_a_rate_or_with_one_cpu_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
