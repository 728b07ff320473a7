// SPDX-License-Identifier: Apache-2.0
/* Which samples are wanted: by process and children, by user, by cgroup. */
#include "support_live.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void open_scope(struct stage *s, const struct cam_scope *scope)
{
	struct cam_live_options o;
	stage_options(&o);
	o.scope = *scope;
	stage_open(s, &o);
	for (int32_t pid = 10; pid <= 12; pid++) {
		struct world_process *p = world_process(s, pid, "app", "/bin/app");
		p->uid = 1000 + (uint32_t)pid;
		snprintf(p->cgroup, sizeof(p->cgroup), "/a/%d", pid);
		world_map(s, pid, 0x1000, 0x3000, 5, "/bin/app");
	}
	stage_tick(s, 1 * SEC);
}

static void sample(struct stage *s, uint64_t ms, int32_t pid)
{
	stage_sample(s, 1 * SEC + ms * MS, pid, pid, USER(0x1010));
}

/* The pids of all stored samples, in order of time. */
static void assert_stored(struct stage *s, const int32_t *pids, size_t n)
{
	size_t found = 0;
	struct cam_live_stats stats = cam_live_stats(s->live);
	stage_close(s);
	for (size_t i = 0; i < s->n_windows; i++) {
		const struct stage_window *w = &s->windows[i];
		for (size_t k = 0; k < w->n_samples; k++) {
			bool wanted = false;
			int32_t pid = w->t.tasks[w->samples[k].task.v].pid;
			for (size_t j = 0; j < n; j++)
				wanted |= pids[j] == pid;
			assert_true(wanted);
			found++;
		}
	}
	assert_int_equal(found, n);
	assert_int_equal(stats.samples, n);
	assert_int_equal(stage_lost_samples(s, CAM_CAUSE_FILTERED), stats.filtered);
	stage_free(s);
}

static void processes_and_what_they_fork_from_then_on(void **state)
{
	(void)state;
	struct stage s;
	static const int32_t pids[] = {10};
	open_scope(&s, &(struct cam_scope){.pids = pids, .n_pids = 1, .uid = CAM_UID_NONE});
	sample(&s, 1, 10);
	sample(&s, 2, 11);
	stage_fork(&s, 1 * SEC + 3 * MS, 10, 20, 20);
	sample(&s, 4, 20);
	stage_fork(&s, 1 * SEC + 5 * MS, 20, 21, 21);
	stage_exec(&s, 1 * SEC + 6 * MS, 21, "other");
	sample(&s, 7, 21);
	stage_fork(&s, 1 * SEC + 8 * MS, 11, 22, 22);
	sample(&s, 9, 22);
	stage_run(&s, 3 * SEC);
	assert_int_equal(cam_live_stats(s.live).filtered, 2);
	static const int32_t stored[] = {10, 20, 21};
	assert_stored(&s, stored, 3);
}

/* 10 ends, and its pid is given to somebody else. */
static void a_later_bearer_of_the_pid_is_not_meant(void **state)
{
	(void)state;
	struct stage s;
	static const int32_t pids[] = {10, 30};
	open_scope(&s, &(struct cam_scope){.pids = pids, .n_pids = 2, .uid = CAM_UID_NONE});
	sample(&s, 1, 10);
	stage_run(&s, 2 * SEC);
	stage_exit(&s, 2 * SEC + 1, 10, 10);
	stage_fork(&s, 2 * SEC + 2, 11, 10, 10);
	sample(&s, 1100, 10);
	/* 30 ends before anybody has seen it. */
	stage_exit(&s, 2 * SEC + 200 * MS, 30, 30);
	stage_fork(&s, 2 * SEC + 300 * MS, 11, 30, 30);
	sample(&s, 1400, 30);
	stage_run(&s, 4 * SEC);
	assert_int_equal(cam_live_stats(s.live).filtered, 2);
	static const int32_t stored[] = {10};
	assert_stored(&s, stored, 1);
}

/* `perfcam record -- CMD`: the process is forked when the recording runs already. */
static void a_process_may_be_born_into_the_scope(void **state)
{
	(void)state;
	struct stage s;
	static const int32_t pids[] = {40};
	open_scope(&s, &(struct cam_scope){.pids = pids, .n_pids = 1, .uid = CAM_UID_NONE});
	stage_fork(&s, 1 * SEC + 1, 11, 40, 40);
	sample(&s, 1, 40);
	sample(&s, 2, 11);
	stage_run(&s, 3 * SEC);
	static const int32_t stored[] = {40};
	assert_stored(&s, stored, 1);
}

static void by_user(void **state)
{
	(void)state;
	struct stage s;
	open_scope(&s, &(struct cam_scope){.uid = 1011});
	sample(&s, 1, 10);
	sample(&s, 2, 11);
	sample(&s, 3, 12);
	/* One whose user nobody knows is not one of those that were asked for. */
	sample(&s, 4, 13);
	stage_run(&s, 3 * SEC);
	assert_int_equal(cam_live_stats(s.live).filtered, 3);
	static const int32_t stored[] = {11};
	assert_stored(&s, stored, 1);
}

/* A child that changes its user: what /proc says counts, not what it was born with. */
static void a_user_is_confirmed(void **state)
{
	(void)state;
	struct stage s;
	open_scope(&s, &(struct cam_scope){.uid = 1011});
	sample(&s, 1, 11);
	stage_run(&s, 2 * SEC);
	world_process(&s, 50, "www", "/bin/www")->start_ns = 2 * SEC;
	stage_fork(&s, 2 * SEC, 11, 50, 50);
	sample(&s, 1001, 50);
	stage_run(&s, 3 * SEC);
	assert_int_equal(cam_live_stats(s.live).filtered, 1);
	static const int32_t stored[] = {11};
	assert_stored(&s, stored, 1);
}

static void by_cgroup(void **state)
{
	(void)state;
	struct stage s;
	open_scope(&s, &(struct cam_scope){.uid = CAM_UID_NONE, .cgroup = CAM_TEXT("/a/11/")});
	snprintf(s.processes[2].cgroup, sizeof(s.processes[2].cgroup), "/a/11/child");
	world_process(&s, 13, "app", "/bin/app");
	snprintf(s.processes[3].cgroup, sizeof(s.processes[3].cgroup), "/a/111");
	for (int32_t pid = 10; pid <= 13; pid++)
		sample(&s, (uint64_t)pid, pid);
	stage_run(&s, 3 * SEC);
	static const int32_t stored[] = {11, 12};
	assert_stored(&s, stored, 2);
}

/* All that is set must hold. */
static void by_all_of_them(void **state)
{
	(void)state;
	struct stage s;
	static const int32_t pids[] = {10, 11};
	open_scope(&s, &(struct cam_scope){
			       .pids = pids, .n_pids = 2, .uid = 1011, .cgroup = CAM_TEXT("/a")});
	for (int32_t pid = 10; pid <= 12; pid++)
		sample(&s, (uint64_t)pid, pid);
	stage_run(&s, 3 * SEC);
	assert_int_equal(cam_live_stats(s.live).filtered, 2);
	static const int32_t stored[] = {11};
	assert_stored(&s, stored, 1);
}

/* Nobody tells that a process was moved: one that is sampled is asked about once a window. */
static void a_move_to_another_cgroup_is_seen_by_the_next_window(void **state)
{
	(void)state;
	struct stage s;
	struct cam_live_options o;
	stage_options(&o);
	o.window_ns = 2 * SEC;
	stage_open(&s, &o);
	struct world_process *p = world_process(&s, 10, "app", "/bin/app");
	strcpy(p->cgroup, "/before");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/app");
	stage_tick(&s, 1 * SEC);
	for (uint64_t ms = 0; ms < 7000; ms += 100) {
		if (ms == 1500)
			strcpy(p->cgroup, "/after");
		stage_run(&s, 1 * SEC + ms * MS);
		sample(&s, ms, 10);
	}
	stage_run(&s, 9 * SEC);
	/* Bounded: not at each sample. */
	assert_in_range(s.asked[CAM_ERRAND_PROCESS], 2, 5);
	stage_close(&s);
	bool before = false, after = false;
	for (size_t i = 0; i < s.n_windows; i++) {
		const struct stage_window *w = &s.windows[i];
		for (size_t k = 0; k < w->n_samples; k++) {
			const struct cam_task *t = &w->t.tasks[w->samples[k].task.v];
			bool moved =
				cam_text_equal(cam_string(&w->t, t->cgroup), CAM_TEXT("/after"));
			before |= !moved;
			after |= moved;
			if (w->samples[k].time_ns >= 6 * SEC)
				assert_true(moved);
		}
	}
	assert_true(before && after);
	stage_free(&s);
}

/* In a pid namespace whoever is outside has pid 0: not idle, and of no process that could be named. */
static void nobody_outside_a_pid_namespace_is_idle(void **state)
{
	(void)state;
	struct stage s;
	struct cam_live_options o;
	stage_options(&o);
	o.inside_pid_ns = true;
	stage_open(&s, &o);
	world_process(&s, 10, "app", "/bin/app");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/app");
	stage_tick(&s, 1 * SEC);
	for (uint64_t ms = 1; ms <= 7; ms++)
		sample(&s, ms, 0);
	sample(&s, 8, 10);
	stage_run(&s, 3 * SEC);
	assert_int_equal(cam_live_stats(s.live).filtered, 7);
	assert_int_equal(cam_live_stats(s.live).idle, 0);
	static const int32_t stored[] = {10};
	assert_stored(&s, stored, 1);
}

/* Asked about before it is sampled, with its files: who has ended when its samples are looked at has names. */
static void who_is_expected_may_end_at_once(void **state)
{
	(void)state;
	struct stage s;
	static const int32_t pids[] = {10, 10};
	open_scope(&s, &(struct cam_scope){.pids = pids, .n_pids = 1, .uid = CAM_UID_NONE});
	cam_live_expect(s.live, pids, 2, 1 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 1);
	stage_answer(&s);
	assert_int_equal(s.asked[CAM_ERRAND_FILE], 1);
	stage_answer(&s);
	s.processes[0].gone = true;
	s.file_error = -ENOENT;
	sample(&s, 1, 10);
	stage_exit(&s, 1 * SEC + 2 * MS, 10, 10);
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_int_equal(stage_samples(&s), 1);
	assert_string_equal(stage_stack(&s, 0, 0), "app_0");
	assert_string_equal(stage_who(&s, 0, 0), "app|/bin/app|/a/10");
	stage_free(&s);
}

/* It has become another program before its answer is believed: what that maps it is asked for as ever. */
static void who_is_expected_may_become_another(void **state)
{
	(void)state;
	struct stage s;
	static const int32_t pids[] = {10};
	open_scope(&s, &(struct cam_scope){.pids = pids, .n_pids = 1, .uid = CAM_UID_NONE});
	cam_live_expect(s.live, pids, 1, 1 * SEC);
	stage_answer(&s);
	stage_exec(&s, 1 * SEC + 1 * MS, 10, "sh");
	stage_map(&s, 1 * SEC + 2 * MS, 10, 0x1000, 0x3000, 6, "/bin/sh");
	world_process(&s, 10, "sh", "/bin/sh");
	world_map(&s, 10, 0x1000, 0x3000, 6, "/bin/sh");
	sample(&s, 3, 10);
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_int_equal(stage_samples(&s), 1);
	assert_string_equal(stage_stack(&s, 0, 0), "sh_0");
	stage_free(&s);
}

static void only_so_many_are_expected(void **state)
{
	(void)state;
	struct stage s;
	static int32_t pids[CAM_LIVE_EXPECTED + 10];
	for (size_t i = 0; i < CAM_LIVE_EXPECTED + 10; i++)
		pids[i] = 1000 + (int32_t)i;
	open_scope(&s, &(struct cam_scope){.pids = pids,
					   .n_pids = CAM_LIVE_EXPECTED + 10,
					   .uid = CAM_UID_NONE});
	cam_live_expect(s.live, pids, CAM_LIVE_EXPECTED + 10, 1 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], CAM_LIVE_EXPECTED);
	stage_close(&s);
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_and_what_they_fork_from_then_on),
		cmocka_unit_test(a_later_bearer_of_the_pid_is_not_meant),
		cmocka_unit_test(a_process_may_be_born_into_the_scope),
		cmocka_unit_test(by_user),
		cmocka_unit_test(a_user_is_confirmed),
		cmocka_unit_test(by_cgroup),
		cmocka_unit_test(by_all_of_them),
		cmocka_unit_test(a_move_to_another_cgroup_is_seen_by_the_next_window),
		cmocka_unit_test(nobody_outside_a_pid_namespace_is_idle),
		cmocka_unit_test(who_is_expected_may_end_at_once),
		cmocka_unit_test(who_is_expected_may_become_another),
		cmocka_unit_test(only_so_many_are_expected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
