// SPDX-License-Identifier: Apache-2.0
/* Who ran and where: what the table of processes makes of records and answers. */
#include "support_live.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_sample(struct stage *s, size_t i, const char *who, const char *stack)
{
	assert_string_equal(stage_who(s, 0, i), who);
	assert_string_equal(stage_stack(s, 0, i), stack);
}

static void a_process_that_lived_before_is_asked_about_once(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	for (unsigned i = 0; i < 5; i++)
		stage_sample(&s, 1 * SEC + 1 + i * MS, 10, 10, USER(0x1010, 0x2311));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_int_equal(s.n_windows, 1);
	assert_int_equal(s.windows[0].n_samples, 5);
	for (size_t i = 0; i < 5; i++)
		assert_sample(&s, i, "sh|/bin/sh|/user/sh", "sh_13;sh_0");
	const struct cam_task *k = &s.windows[0].t.tasks[s.windows[0].samples[0].task.v];
	assert_int_equal(k->pid, 10);
	assert_int_equal(k->uid, 1000);
	assert_int_equal(k->start_ns, 100 * MS);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 1);
	assert_int_equal(s.asked[CAM_ERRAND_THREAD], 0);
	assert_int_equal(s.asked[CAM_ERRAND_FILE], 1);
	assert_int_equal(s.asked[CAM_ERRAND_NAMES], 1);
	stage_free(&s);
}

static void an_answer_may_come_in_parts(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	world_map(&s, 10, 0x5000, 0x6000, 6, "/lib/c");
	world_map(&s, 10, 0x7000, 0x8000, 7, "/lib/m");
	s.packet = 1;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x7010, 0x5011, 0x1011));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "sh|/bin/sh|/user/sh", "sh_0;c_0;m_0");
	stage_free(&s);
}

static void a_child_has_what_its_parent_had(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_comm(&s, 3 * SEC + 1, 10, 10, "sh: job");
	stage_fork(&s, 3 * SEC + 2, 10, 20, 20);
	stage_sample(&s, 3 * SEC + 10000, 20, 20, USER(0x1010));
	/* What the child maps is not the parent's. */
	stage_map(&s, 3 * SEC + 20000, 20, 0x1000, 0x3000, 9, "/lib/x");
	stage_sample(&s, 3 * SEC + 30000, 20, 20, USER(0x1010));
	stage_sample(&s, 3 * SEC + 40000, 10, 10, USER(0x1010));
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	size_t x = 0;
	for (size_t i = 1; i < 4; i++) {
		if (s.windows[0].samples[i].time_ns == 3 * SEC + 30000)
			x = i;
		else
			assert_sample(&s, i, "sh: job|/bin/sh|/user/sh", "sh_0");
	}
	assert_true(x > 0);
	assert_sample(&s, x, "sh: job|/bin/sh|/user/sh", "x_0");
	/* Nobody needed to ask about the child. */
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 1);
	stage_free(&s);
}

/* The parent only waits: it is never sampled. The child is gone when anyone could look. */
static void a_process_of_5_ms_is_known_from_records_alone(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	uint64_t t = 2 * SEC;
	stage_fork(&s, t + 345678, 10, 20, 20);
	stage_exec(&s, t + 1 * MS, 20, "ls");
	stage_map(&s, t + 1 * MS + 1, 20, 0x400000, 0x402000, 30, "/usr/bin/ls");
	stage_map(&s, t + 1 * MS + 2, 20, 0x7f0000, 0x7f1000, 31, "/lib/ld.so");
	stage_sample(&s, t + 3 * MS, 20, 20, USER(0x400110, 0x7f0211));
	stage_exit(&s, t + 5 * MS, 20, 20);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 1);
	assert_sample(&s, 0, "ls|/usr/bin/ls|/user/sh", "ld.so_2;ls_1");
	const struct cam_task *k = &s.windows[0].t.tasks[s.windows[0].samples[0].task.v];
	/* In whole milliseconds. */
	assert_int_equal(k->start_ns, t);
	assert_int_equal(k->uid, 1000);
	stage_free(&s);
}

static void an_exec_chain_is_three_programs(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	static const char *const programs[] = {"a", "b", "c"};
	stage_fork(&s, 3 * SEC, 10, 20, 20);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t t = 3 * SEC + (1 + i) * 10 * MS;
		char path[16];
		snprintf(path, sizeof(path), "/bin/%s", programs[i]);
		stage_exec(&s, t, 20, programs[i]);
		stage_map(&s, t + 1, 20, 0x1000, 0x2000, 40 + i, path);
		stage_sample(&s, t + MS, 20, 20, USER(0x1010));
	}
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 4);
	assert_sample(&s, 1, "a|/bin/a|/user/sh", "a_0");
	assert_sample(&s, 2, "b|/bin/b|/user/sh", "b_0");
	assert_sample(&s, 3, "c|/bin/c|/user/sh", "c_0");
	stage_free(&s);
}

static void a_reused_pid_is_another_process(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	world_process(&s, 11, "cron", "/sbin/cron");
	world_map(&s, 11, 0x1000, 0x3000, 6, "/sbin/cron");
	stage_sample(&s, 3 * SEC + 1, 11, 11, USER(0x1010));
	stage_run(&s, 4 * SEC);
	uint64_t t = 4 * SEC;
	stage_fork(&s, t, 10, 20, 20);
	stage_sample(&s, t + 1 * MS, 20, 20, USER(0x1010));
	stage_exit(&s, t + 2 * MS, 20, 20);
	stage_fork(&s, t + 3 * MS, 11, 20, 20);
	stage_sample(&s, t + 4 * MS, 20, 20, USER(0x1010));
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_sample(&s, 2, "sh|/bin/sh|/user/sh", "sh_0");
	assert_sample(&s, 3, "cron|/sbin/cron|/user/cron", "cron_0");
	const struct stage_window *w = &s.windows[0];
	assert_int_equal(w->t.tasks[w->samples[2].task.v].start_ns, t);
	assert_int_equal(w->t.tasks[w->samples[3].task.v].start_ns, t + 3 * MS);
	stage_free(&s);
}

/* The answer about pid 20 is of one that got it later: another start. */
static void an_answer_about_another_bearer_of_the_pid_is_discarded(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	world_process(&s, 20, "late", "/bin/late")->start_ns = 1500 * MS;
	world_map(&s, 20, 0x1000, 0x3000, 5, "/bin/late");
	stage_tick(&s, 1 * SEC);
	/* Its parent is not known either, so it is asked about. */
	stage_fork(&s, 1 * SEC + 1, 9, 20, 20);
	stage_sample(&s, 1 * SEC + 10000, 20, 20, USER(0x1010));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "||", "[unknown]");
	stage_free(&s);
}

/* Records were lost, the pid has another bearer now, and only /proc can tell. */
static void a_bearer_whose_birth_was_lost_is_found_by_its_start(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_lost(&s, 3 * SEC, 3 * SEC + 100 * MS);
	world_process(&s, 10, "new", "/bin/new")->start_ns = 3 * SEC + 50 * MS;
	world_map(&s, 10, 0x1000, 0x3000, 8, "/bin/new");
	stage_sample(&s, 3 * SEC + 200 * MS, 10, 10, USER(0x1010));
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "sh|/bin/sh|/user/sh", "sh_0");
	assert_sample(&s, 1, "new|/bin/new|/user/new", "new_0");
	stage_free(&s);
}

static void mappings_read_before_an_exec_are_discarded(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_exec(&s, 1 * SEC + 50 * MS, 10, "vi");
	stage_map(&s, 1 * SEC + 51 * MS, 10, 0x2000, 0x3000, 8, "/bin/vi");
	s.maps_read_ns = 1 * SEC + 40 * MS;
	stage_sample(&s, 1 * SEC + 60 * MS, 10, 10, USER(0x2010));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	/* The first sample is of the old program, about which nothing came to be known. */
	assert_int_equal(s.windows[0].n_samples, 2);
	for (size_t i = 0; i < 2; i++) {
		if (s.windows[0].samples[i].time_ns == 1 * SEC)
			assert_sample(&s, i, "||/user/sh", "[unknown]");
		else
			assert_sample(&s, i, "vi|/bin/vi|/user/sh", "vi_0");
	}
	stage_free(&s);
}

/*
 * Records are released late, /proc is read now: an answer can be about a program whose exec has not
 * been told yet. What is known from records stays.
 */
static void an_answer_that_runs_ahead_of_the_records_changes_no_program(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	uint64_t t = 4 * SEC;
	s.silent = true;
	stage_fork(&s, t, 10, 20, 20);
	stage_exec(&s, t + 1 * MS, 20, "a");
	stage_map(&s, t + 2 * MS, 20, 0x1000, 0x2000, 40, "/bin/a");
	/* Settled: worth a look into /proc. */
	stage_sample(&s, t + 300 * MS, 20, 20, USER(0x1010));
	world_process(&s, 20, "b", "/bin/b");
	world_map(&s, 20, 0x1000, 0x2000, 41, "/bin/b");
	s.processes[s.n_processes - 1].start_ns = t;
	strcpy(s.processes[s.n_processes - 1].cgroup, "/user/sh");
	s.maps_read_ns = t + 400 * MS;
	s.silent = false;
	stage_answer(&s);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 2);
	stage_sample(&s, t + 320 * MS, 20, 20, USER(0x1010));
	stage_exec(&s, t + 330 * MS, 20, "b");
	stage_map(&s, t + 331 * MS, 20, 0x1000, 0x2000, 41, "/bin/b");
	stage_sample(&s, t + 340 * MS, 20, 20, USER(0x1010));
	stage_run(&s, 6 * SEC);
	stage_close(&s);
	assert_sample(&s, 1, "a|/bin/a|/user/sh", "a_0");
	assert_sample(&s, 2, "a|/bin/a|/user/sh", "a_0");
	assert_sample(&s, 3, "b|/bin/b|/user/sh", "b_0");
	stage_free(&s);
}

/* The same of a process that lived before: its sample is of the old program, which nobody has described. */
static void an_answer_that_runs_ahead_describes_no_older_sample(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.lag_ns = 250 * MS; /* records come so much later than /proc is read */
	uint64_t t = 1 * SEC;
	stage_sample(&s, t + 1 * MS, 10, 10, USER(0x1010));
	/* It executes vi at t+20, /proc is read at t+30 and answers at once; the records come then. */
	s.processes[0] = (struct world_process){.pid = 10, .start_ns = s.processes[0].start_ns};
	strcpy(s.processes[0].comm, "vi");
	strcpy(s.processes[0].exe, "/bin/vi");
	strcpy(s.processes[0].cgroup, "/user/vi");
	world_map(&s, 10, 0x1000, 0x3000, 8, "/bin/vi");
	s.maps_read_ns = t + 30 * MS;
	stage_answer(&s);
	stage_tick(&s, t + 200 * MS);
	stage_answer(&s); /* about its file too, if that was asked for */
	stage_tick(&s, t + 220 * MS);
	stage_exec(&s, t + 20 * MS, 10, "vi");
	stage_map(&s, t + 21 * MS, 10, 0x1000, 0x3000, 8, "/bin/vi");
	stage_sample(&s, t + 40 * MS, 10, 10, USER(0x1010));
	s.maps_read_ns = 0;
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 2);
	for (size_t i = 0; i < 2; i++) {
		if (s.windows[0].samples[i].time_ns < t + 20 * MS)
			assert_sample(&s, i, "||/user/vi", "[unknown]");
		else
			assert_sample(&s, i, "vi|/bin/vi|/user/vi", "vi_0");
	}
	stage_free(&s);
}

/* …and if there was no exec, it is the same program's: named, as soon as that is sure. */
static void an_answer_is_believed_when_the_records_have_come_as_far(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.lag_ns = 200 * MS;
	stage_sample(&s, 1 * SEC + 1 * MS, 10, 10, USER(0x1010));
	s.maps_read_ns = 1 * SEC + 30 * MS;
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "sh|/bin/sh|/user/sh", "sh_0");
	stage_free(&s);
}

/* In the middle of an exec the CPU is in no mapping yet: that is no reason to take the next program's mappings. */
static void a_sample_within_an_exec_does_not_bring_another_program(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	/* Nobody has asked for longer than it takes to look again. */
	uint64_t t = 14 * SEC;
	s.silent = true;
	stage_fork(&s, t, 10, 20, 20);
	stage_exec(&s, t + 1 * MS, 20, "a");
	stage_map(&s, t + 2 * MS, 20, 0x1000, 0x2000, 40, "/bin/a");
	stage_sample(&s, t + 3 * MS, 20, 20, USER(0x7010));
	world_process(&s, 20, "b", "/bin/b");
	world_map(&s, 20, 0x1000, 0x2000, 41, "/bin/b");
	s.processes[s.n_processes - 1].start_ns = t;
	strcpy(s.processes[s.n_processes - 1].cgroup, "/user/sh");
	s.maps_read_ns = t + 10 * MS;
	s.silent = false;
	stage_answer(&s);
	stage_sample(&s, t + 5 * MS, 20, 20, USER(0x1010));
	stage_run(&s, 16 * SEC);
	stage_close(&s);
	size_t last = s.n_windows - 1;
	assert_int_equal(s.windows[last].n_samples, 2);
	assert_string_equal(stage_who(&s, last, 1), "a|/bin/a|/user/sh");
	assert_string_equal(stage_stack(&s, last, 1), "a_0");
	stage_free(&s);
}

/* Records after the reading are laid over the answer, those before it are not. */
static void newer_records_win_over_an_answer(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	world_map(&s, 10, 0x5000, 0x6000, 6, "/lib/new");
	stage_map(&s, 1 * SEC + 10 * MS, 10, 0x5000, 0x6000, 7, "/lib/old");
	stage_sample(&s, 1 * SEC + 20 * MS, 10, 10, USER(0x1010, 0x1111));
	s.maps_read_ns = 1 * SEC + 30 * MS;
	stage_map(&s, 1 * SEC + 40 * MS, 10, 0x1800, 0x2000, 8, "/lib/over");
	stage_run(&s, 2 * SEC);
	stage_sample(&s, 2 * SEC, 10, 10, USER(0x5010, 0x1811, 0x1011, 0x2011));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "sh|/bin/sh|/user/sh", "sh_1;sh_0");
	assert_sample(&s, 1, "sh|/bin/sh|/user/sh", "sh_10;sh_0;over_0;new_0");
	stage_free(&s);
}

/* A parked sample is never found in a mapping that is younger than itself. */
static void a_mapping_is_no_place_for_an_older_sample(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	world_map(&s, 10, 0x5000, 0x6000, 7, "/lib/x");
	stage_sample(&s, 1 * SEC + 10000, 10, 10, USER(0x5010, 0x1011));
	stage_map(&s, 1 * SEC + 20000, 10, 0x5000, 0x6000, 7, "/lib/x");
	stage_sample(&s, 1 * SEC + 30000, 10, 10, USER(0x5010, 0x1011));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "sh_0;[unknown]");
	assert_string_equal(stage_stack(&s, 0, 1), "sh_0;x_0");
	stage_free(&s);
}

static void a_library_is_known_from_its_mapping_on(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_sample(&s, 3 * SEC + 10000, 10, 10, USER(0x1010, 0x5011));
	stage_map(&s, 3 * SEC + 20000, 10, 0x5000, 0x6000, 7, "/lib/plugin.so");
	stage_sample(&s, 3 * SEC + 30000, 10, 10, USER(0x5010, 0x1011));
	/* Another one takes its place. */
	stage_map(&s, 3 * SEC + 40000, 10, 0x5000, 0x6000, 8, "/lib/other.so");
	stage_sample(&s, 3 * SEC + 50000, 10, 10, USER(0x5010, 0x1011));
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	for (size_t i = 1; i < 4; i++) {
		uint64_t t = s.windows[0].samples[i].time_ns - 3 * SEC;
		assert_string_equal(stage_stack(&s, 0, i), t == 10000	? "[unmapped];sh_0"
							   : t == 30000 ? "sh_0;plugin.so_0"
									: "sh_0;other.so_0");
	}
	stage_free(&s);
}

static void what_lived_while_records_were_lost_is_asked_about_again(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_lost(&s, 3 * SEC, 3 * SEC + 100 * MS);
	stage_sample(&s, 3 * SEC + 200 * MS, 10, 10, USER(0x1010));
	stage_run(&s, 4 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 2);
	stage_sample(&s, 4 * SEC + 200 * MS, 10, 10, USER(0x1010));
	stage_run(&s, 5 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 2);
	assert_int_equal(cam_live_stats(s.live).suspect_samples, 0);
	stage_close(&s);
	/* It was confirmed while the sample waited. */
	assert_string_equal(stage_stack(&s, 0, 1), "sh_0");
	assert_string_equal(stage_stack(&s, 0, 2), "sh_0");
	stage_free(&s);
}

static void a_suspect_that_nobody_confirms_has_no_user_frames(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	s.silent = true;
	stage_fork(&s, 3 * SEC, 10, 20, 20);
	stage_lost(&s, 3 * SEC, 3 * SEC + 100 * MS);
	stage_sample(&s, 3 * SEC + 200 * MS, 10, 10, USER(0x1010));
	/* Children of suspects are suspect, until they execute a program. */
	stage_fork(&s, 3 * SEC + 200 * MS, 20, 30, 30);
	stage_sample(&s, 3 * SEC + 210 * MS, 30, 30, USER(0x1010));
	stage_exec(&s, 3 * SEC + 300 * MS, 30, "ls");
	stage_map(&s, 3 * SEC + 300 * MS, 30, 0x1000, 0x3000, 5, "/bin/sh");
	stage_sample(&s, 3 * SEC + 310 * MS, 30, 30, USER(0x1010));
	stage_run(&s, 5 * SEC);
	assert_int_equal(cam_live_stats(s.live).suspect_samples, 2);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 4);
	for (size_t i = 1; i < 4; i++) {
		bool sure = s.windows[0].samples[i].time_ns == 3 * SEC + 310 * MS;
		assert_string_equal(stage_stack(&s, 0, i), sure ? "sh_0" : "[unknown]");
	}
	stage_free(&s);
}

/* The loss is noticed while a sample of its time is parked. */
static void a_parked_sample_can_become_suspect(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	s.silent = true;
	stage_map(&s, 3 * SEC, 10, 0x5000, 0x6000, 7, "/lib/x");
	stage_sample(&s, 3 * SEC + 10 * MS, 10, 10, USER(0x5010));
	stage_lost(&s, 3 * SEC, 3 * SEC + 100 * MS);
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[unknown]");
	stage_free(&s);
}

static void threads_have_their_own_names(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_fork(&s, 3 * SEC, 10, 10, 11);
	stage_sample(&s, 3 * SEC + 10000, 10, 11, USER(0x1010));
	stage_comm(&s, 3 * SEC + 20000, 10, 11, "worker");
	stage_sample(&s, 3 * SEC + 30000, 10, 11, USER(0x1010));
	stage_sample(&s, 3 * SEC + 40000, 10, 10, USER(0x1010));
	/* It has just ended, and is still seen on its way out. */
	stage_exit(&s, 3 * SEC + 50000, 10, 11);
	stage_sample(&s, 3 * SEC + 60000, 10, 11, KERNEL(0xffffffff81000010));
	/* One that was there before: asked about. */
	stage_sample(&s, 3 * SEC + 70000, 10, 12, USER(0x1010));
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	static const char *const comms[] = {"sh", "sh", "worker", "sh", "worker", "sh"};
	assert_int_equal(s.windows[0].n_samples, 6);
	for (size_t i = 0; i < 6; i++)
		assert_memory_equal(stage_who(&s, 0, i), comms[i], strlen(comms[i]));
	assert_int_equal(s.asked[CAM_ERRAND_THREAD], 1);
	stage_free(&s);
}

/* The leader has ended, a thread that we never heard of goes on. */
static void a_process_without_its_leader_lives_on(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_exit(&s, 3 * SEC, 10, 10);
	stage_sample(&s, 3 * SEC + 10 * MS, 10, 12, USER(0x1010));
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_sample(&s, 1, "sh|/bin/sh|/user/sh", "sh_0");
	stage_free(&s);
}

static void kernel_frames_lie_above_user_frames(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	static const uint64_t user[] = {0x1010, 0x2011, 0}, kernel[] = {0x9f10, 0xa100, 0};
	stage_sample(&s, 3 * SEC, 10, 10, user, kernel);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	/* 0xa100 is a return address: the call is in the function before. */
	assert_string_equal(stage_stack(&s, 0, 1), "sh_10;sh_0;k_a0;k_9f");
	const struct cam_tables *t = &s.windows[0].t;
	const struct cam_location *leaf =
		&t->locations[t->places.item[s.windows[0].samples[1].place.v]];
	assert_int_equal(leaf->address, 0x9f10);
	assert_int_equal(leaf->func_offset, 0x10);
	assert_int_equal(t->modules[leaf->module.v].kind, CAM_MODULE_KERNEL);
	assert_int_equal(t->functions[leaf->func.v].kind, CAM_FUNC_KERNEL);
	stage_free(&s);
}

static void garbage_is_cut_and_hangs_under_a_mark(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_sample(&s, 3 * SEC, 10, 10, USER(0x1010, 0x2011, 0xdead0000, 0x1011));
	stage_sample_flags(&s, 3 * SEC + 10000, 10, 10, USER(0x1010, 0x2011), CAM_RAW_TRUNCATED);
	/* Where the CPU was is no garbage, even where no mapping is known. */
	stage_sample(&s, 3 * SEC + 20000, 10, 10, USER(0xdead0000, 0x2011));
	stage_run(&s, 4 * SEC);
	assert_int_equal(cam_live_stats(s.live).cut_stacks, 1);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[unmapped];sh_10;sh_0");
	assert_string_equal(stage_stack(&s, 0, 2), "[truncated];sh_10;sh_0");
	assert_string_equal(stage_stack(&s, 0, 3), "sh_10;[unknown]");
	stage_free(&s);
}

static void a_stack_of_2048_frames_is_cut_to_what_a_window_holds(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	static uint64_t user[1025], kernel[1025];
	for (size_t i = 0; i < 1024; i++) {
		user[i] = 0x1010;
		kernel[i] = 0xffffffff81000010;
	}
	stage_sample(&s, 3 * SEC, 10, 10, user, kernel);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_memory_equal(stage_stack(&s, 0, 1), "[truncated];k_", 14);
	stage_free(&s);
}

static void code_without_a_file_is_told_apart(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	world_map(&s, 10, 0x5000, 0x6000, 0, "");
	world_map(&s, 10, 0x7fff00007000, 0x7fff00008000, 0, "[vdso]");
	world_map(&s, 10, 0xb000, 0xc000, 0, "[vdso]"); /* of a 32-bit program */
	world_map(&s, 10, 0xffffffffff600000, 0xffffffffff601000, 0, "[vsyscall]");
	world_map(&s, 10, 0x9000, 0xa000, 12, "/dev/zero (deleted)");
	stage_sample(&s, 1 * SEC + 1, 10, 10,
		     USER(0x5010, 0x7fff00007311, 0xffffffffff600011, 0x9011, 0xb011, 0x1011));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "sh_0;[jit];[jit];[vsyscall];vdso_3;[jit]");
	const struct cam_tables *t = &s.windows[0].t;
	const struct cam_location *leaf =
		&t->locations[t->places.item[s.windows[0].samples[0].place.v]];
	assert_int_equal(t->modules[leaf->module.v].kind, CAM_MODULE_JIT);
	assert_int_equal(leaf->address, 0x5010);
	/* Only of the shell itself there is a file to be taken hold of. */
	assert_int_equal(s.asked[CAM_ERRAND_FILE], 1);
	stage_free(&s);
}

/* BPF says comm, user and start with each sample. */
static void the_kernels_own_word_counts(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	struct cam_raw r = {.type = CAM_RAW_SAMPLE, .time_ns = 3 * SEC, .pid = 10, .tid = 13};
	static const uint64_t user[] = {0x1010};
	r.sample = (struct cam_raw_sample){.user = user, .n_user = 1, .weight = 1, .uid = 33};
	r.sample.flags = CAM_RAW_HAS_COMM;
	r.sample.start_ns = 101 * MS;
	memcpy(r.sample.comm, "bpf", 4);
	cam_live_raw(s.live, &r);
	/* The same pid, another start: another process, that must be asked about. */
	world_process(&s, 10, "other", "/bin/other")->start_ns = 3 * SEC;
	world_map(&s, 10, 0x1000, 0x2000, 60, "/bin/other");
	r.time_ns = 3 * SEC + 100 * MS;
	r.tid = 10;
	r.sample.start_ns = 3 * SEC + 5 * MS;
	cam_live_raw(s.live, &r);
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_sample(&s, 1, "bpf|/bin/sh|/user/sh", "sh_0");
	assert_sample(&s, 2, "bpf|/bin/other|/user/other", "other_0");
	const struct stage_window *w = &s.windows[0];
	assert_int_equal(w->t.tasks[w->samples[1].task.v].uid, 33);
	assert_int_equal(w->t.tasks[w->samples[2].task.v].start_ns, 3 * SEC + 5 * MS);
	assert_int_equal(s.asked[CAM_ERRAND_THREAD], 0);
	stage_free(&s);
}

static void the_idle_task_is_counted_only(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_sample(&s, 3 * SEC, 0, 0, KERNEL(0xffffffff81000010));
	stage_run(&s, 4 * SEC);
	assert_int_equal(cam_live_stats(s.live).idle, 1);
	assert_int_equal(cam_live_stats(s.live).samples, 1);
	stage_close(&s);
	assert_int_equal(stage_samples(&s), 1);
	stage_free(&s);
}

/* Somebody who has left the table of tasks already: the kernel gives no pid. */
static void one_without_a_pid_is_not_asked_about(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_sample(&s, 3 * SEC, -1, -1, KERNEL(0xffffffff81000010));
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_sample(&s, 1, "[ended]||", "k_ffffffff810000");
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 1);
	stage_free(&s);
}

static void nobody_answers_and_samples_still_go_on(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.silent = true;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_tick(&s, 1 * SEC + 200 * MS);
	assert_int_equal(s.appended, 0);
	/* 400 ms after it was parked it is in the journal. */
	stage_tick(&s, 1 * SEC + 400 * MS);
	assert_int_equal(s.appended, 1);
	s.silent = false;
	stage_run(&s, 2 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "||", "[unknown]");
	stage_free(&s);
}

/* One that came late waits no longer: within a second of its time it is in the journal. */
static void a_sample_that_comes_late_waits_less(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.silent = true;
	stage_tick(&s, 1 * SEC + 400 * MS);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_tick(&s, 1 * SEC + 500 * MS);
	assert_int_equal(s.appended, 0);
	stage_tick(&s, 1 * SEC + 560 * MS);
	assert_int_equal(s.appended, 1);
	s.silent = false;
	stage_close(&s);
	assert_sample(&s, 0, "||", "[unknown]");
	stage_free(&s);
}

/* Also if there was no tick yet to count from. */
static void the_first_sample_waits_for_its_answer_too(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	world_process(&s, 10, "sh", "/bin/sh");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/sh");
	stage_sample(&s, 1 * SEC, 10, 10, USER(0x1010));
	stage_tick(&s, 1 * SEC + 100 * MS);
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "sh|/bin/sh|/user/sh", "sh_0");
	stage_free(&s);
}

static void errands_that_are_refused_are_sent_later(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.full = true;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_tick(&s, 1 * SEC + 100 * MS);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 0);
	s.full = false;
	stage_tick(&s, 1 * SEC + 150 * MS);
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 1);
	stage_answer(&s);
	stage_tick(&s, 1 * SEC + 200 * MS);
	stage_answer(&s);
	stage_tick(&s, 1 * SEC + 250 * MS);
	assert_int_equal(s.appended, 1);
	stage_run(&s, 2 * SEC);
	stage_close(&s);
	assert_sample(&s, 0, "sh|/bin/sh|/user/sh", "sh_0");
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_lived_before_is_asked_about_once),
		cmocka_unit_test(an_answer_may_come_in_parts),
		cmocka_unit_test(a_child_has_what_its_parent_had),
		cmocka_unit_test(a_process_of_5_ms_is_known_from_records_alone),
		cmocka_unit_test(an_exec_chain_is_three_programs),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(an_answer_about_another_bearer_of_the_pid_is_discarded),
		cmocka_unit_test(a_bearer_whose_birth_was_lost_is_found_by_its_start),
		cmocka_unit_test(mappings_read_before_an_exec_are_discarded),
		cmocka_unit_test(an_answer_that_runs_ahead_describes_no_older_sample),
		cmocka_unit_test(an_answer_is_believed_when_the_records_have_come_as_far),
		cmocka_unit_test(a_sample_within_an_exec_does_not_bring_another_program),
		cmocka_unit_test(an_answer_that_runs_ahead_of_the_records_changes_no_program),
		cmocka_unit_test(newer_records_win_over_an_answer),
		cmocka_unit_test(a_mapping_is_no_place_for_an_older_sample),
		cmocka_unit_test(a_library_is_known_from_its_mapping_on),
		cmocka_unit_test(what_lived_while_records_were_lost_is_asked_about_again),
		cmocka_unit_test(a_suspect_that_nobody_confirms_has_no_user_frames),
		cmocka_unit_test(a_parked_sample_can_become_suspect),
		cmocka_unit_test(threads_have_their_own_names),
		cmocka_unit_test(a_process_without_its_leader_lives_on),
		cmocka_unit_test(kernel_frames_lie_above_user_frames),
		cmocka_unit_test(garbage_is_cut_and_hangs_under_a_mark),
		cmocka_unit_test(a_stack_of_2048_frames_is_cut_to_what_a_window_holds),
		cmocka_unit_test(code_without_a_file_is_told_apart),
		cmocka_unit_test(the_kernels_own_word_counts),
		cmocka_unit_test(the_idle_task_is_counted_only),
		cmocka_unit_test(one_without_a_pid_is_not_asked_about),
		cmocka_unit_test(nobody_answers_and_samples_still_go_on),
		cmocka_unit_test(a_sample_that_comes_late_waits_less),
		cmocka_unit_test(the_first_sample_waits_for_its_answer_too),
		cmocka_unit_test(errands_that_are_refused_are_sent_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
