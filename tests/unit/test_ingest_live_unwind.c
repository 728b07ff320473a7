// SPDX-License-Identifier: Apache-2.0
/* What ingest hands to whoever unwinds, when, and what it makes of what comes back. */
#include "support_live.h"
#include "support_unwinder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define PENDING ((struct stage_walk){.end = CAM_STACK_PENDING})

static struct stage s;
static struct fake_unwinder u;

/* A shell, pid 10, of two mappings; nothing was sampled yet. */
static void open_shell(void)
{
	fake_unwinder_init(&u);
	stage_open_with(&s, NULL, &u.base);
	world_process(&s, 10, "sh", "/bin/sh");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/sh");
	world_map(&s, 10, 0x5000, 0x6000, 6, "/lib/c");
	stage_tick(&s, 1 * SEC);
}

static uint32_t number_of(const char *path)
{
	for (size_t i = 0; i < s.n_files; i++) {
		if (!strcmp(s.files[i].path, path))
			return s.files[i].number;
	}
	fail_msg("%s is not held", path);
	return 0;
}

static void close_all(void)
{
	stage_close(&s);
	stage_free(&s);
}

static void a_sampled_process_and_its_tables_are_handed_over_within_a_second(void **state)
{
	(void)state;
	open_shell();
	s.table_packets = 3;
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 1 * SEC + 800 * MS);
	const struct cam_unwind_process *p = fake_process(&u, 10);
	assert_non_null(p);
	const struct fake_image *i = fake_image(&u, p->image);
	assert_int_equal(i->n_maps, 2);
	assert_int_equal(i->maps[0].start, 0x1000);
	assert_int_equal(i->maps[0].end, 0x3000);
	assert_int_equal(i->maps[0].file, number_of("/bin/sh"));
	assert_int_equal(i->maps[1].file, number_of("/lib/c"));
	/* Both tables: of the file it stopped at, and of the other. All packets arrived. */
	assert_true(u.tables[number_of("/bin/sh")].there);
	assert_true(u.tables[number_of("/lib/c")].there);
	assert_int_equal(u.tables[number_of("/lib/c")].rows, 5);
	assert_int_equal(u.tables[number_of("/lib/c")].rules, 1);
	/* Nothing of it is ever said twice. */
	for (unsigned k = 0; k < 20; k++)
		stage_sample_walked(&s, 2 * SEC + k * 10000, 10, 10, USER(0x1010),
				    (struct stage_walk){CAM_STACK_COMPLETE, .image = p->image});
	stage_run(&s, 4 * SEC);
	assert_int_equal(u.told, 1);
	assert_int_equal(u.tables_ended, 2);
	assert_int_equal(s.asked[CAM_ERRAND_TABLE], 2);
	close_all();
}

static void the_file_that_a_sample_stopped_at_is_asked_for_first(void **state)
{
	(void)state;
	char path[32];
	open_shell();
	for (unsigned i = 0; i < 14; i++) {
		snprintf(path, sizeof(path), "/lib/x%u", i);
		world_map(&s, 10, 0x10000 + i * 0x1000, 0x11000 + i * 0x1000, 20 + i, path);
	}
	world_process(&s, 11, "b", "/bin/b");
	world_map(&s, 11, 0x1000, 0x3000, 70, "/bin/b");
	world_map(&s, 11, 0x5000, 0x6000, 71, "/lib/d");
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 1 * SEC + 400 * MS);
	stage_sample_walked(&s, 1 * SEC + 400 * MS, 11, 11, USER(0x1010, 0x5011), PENDING);
	/* TABLE goes out in the order of need, at most 16 at a time. */
	for (uint64_t t = 1 * SEC + 600 * MS; t <= 3 * SEC; t += 200 * MS) {
		size_t tables = 0;
		for (size_t i = 0; i < s.n_sent; i++)
			tables += s.sent[i].e.type == CAM_ERRAND_TABLE;
		assert_true(tables <= 16);
		stage_run(&s, t);
	}
	assert_int_equal(u.tables_ended, 2 + 14 + 2);
	assert_int_equal(s.asked[CAM_ERRAND_TABLE], 2 + 14 + 2);
	close_all();
}

static void forks_share_an_image_and_changes_make_another(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	uint32_t first = fake_process(&u, 10)->image;
	for (int32_t pid = 100; pid < 300; pid++) {
		stage_fork(&s, 2 * SEC + (uint64_t)pid, 10, pid, pid);
		stage_sample_walked(&s, 2 * SEC + 1000 + (uint64_t)pid, pid, pid, USER(0x1010),
				    PENDING);
	}
	stage_run(&s, 2 * SEC + 400 * MS);
	assert_int_equal(fake_process(&u, 299)->image, first);
	assert_int_equal(u.images_told, 1);
	/* The parent loads a library: its image is another one, its children's is not. */
	stage_map(&s, 2 * SEC + 500 * MS, 10, 0x8000, 0x9000, 7, "/lib/m");
	stage_run(&s, 2 * SEC + 600 * MS);
	uint32_t second = fake_process(&u, 10)->image;
	assert_true(second > first);
	assert_int_equal(fake_image(&u, second)->n_maps, 3);
	assert_int_equal(fake_process(&u, 299)->image, first);
	assert_int_equal(u.images_forgotten, 0);
	/* A change of one that nobody shares: the old number is forgotten, the new one known before. */
	stage_map(&s, 2 * SEC + 700 * MS, 10, 0xa000, 0xb000, 8, "/lib/n");
	stage_run(&s, 2 * SEC + 800 * MS);
	assert_int_equal(u.images_forgotten, 1);
	assert_null(fake_image(&u, second));
	assert_int_equal(fake_image(&u, fake_process(&u, 10)->image)->n_maps, 4);
	/* The new files' tables are asked for before anything stops there. */
	stage_run(&s, 4 * SEC);
	assert_true(u.tables[number_of("/lib/m")].there && u.tables[number_of("/lib/n")].there);
	close_all();
}

static void what_ends_or_executes_is_forgotten_at_once(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	uint32_t image = fake_process(&u, 10)->image;
	stage_exec(&s, 2 * SEC + 1, 10, "ls");
	assert_null(fake_process(&u, 10));
	stage_map(&s, 2 * SEC + 2, 10, 0x1000, 0x2000, 9, "/bin/ls");
	stage_run(&s, 2 * SEC + 200 * MS);
	assert_null(fake_image(&u, image));
	/* Not sampled: nobody needs it. */
	assert_null(fake_process(&u, 10));
	stage_sample_walked(&s, 2 * SEC + 300 * MS, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC + 400 * MS);
	assert_non_null(fake_process(&u, 10));
	stage_exit(&s, 2 * SEC + 500 * MS, 10, 10);
	assert_null(fake_process(&u, 10));
	stage_run(&s, 4 * SEC);
	assert_int_equal(u.n_images, 0);
	close_all();
}

static void hand_overs_are_bounded_by_tick(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	for (int32_t pid = 100; pid < 300; pid++) {
		uint64_t t = 2 * SEC + (uint64_t)pid * 100;
		stage_fork(&s, t, 10, pid, pid);
		/* Each with an image of its own. */
		stage_map(&s, t + 1, pid, 0x8000, 0x9000, 7, "/lib/m");
		stage_sample_walked(&s, t + 2, pid, pid, USER(0x1010), PENDING);
	}
	size_t had = u.images_told;
	for (unsigned i = 1; i <= 4; i++) {
		stage_tick(&s, 2 * SEC + i * 200 * MS);
		assert_int_equal(u.images_told - had, i < 4 ? i * 64 : 200);
	}
	assert_int_equal(u.n_processes, 201);
	close_all();
}

static void what_was_evicted_is_given_again_when_it_is_needed(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	fake_evict_all(&u);
	stage_run(&s, 3 * SEC);
	assert_int_equal(u.n_processes, 0);
	stage_sample_walked(&s, 3 * SEC, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 4 * SEC);
	assert_non_null(fake_process(&u, 10));
	assert_true(u.tables[number_of("/bin/sh")].there);
	assert_false(u.tables[number_of("/lib/c")].there);
	/* The process is there, the walk stops in the library. */
	stage_sample_walked(&s, 4 * SEC, 10, 10, USER(0x1010, 0x5011),
			    (struct stage_walk){CAM_STACK_PENDING, .image = u.highest});
	stage_run(&s, 5 * SEC);
	assert_true(u.tables[number_of("/lib/c")].there);
	close_all();
}

static void no_room_is_no_reason_to_ask_at_every_sample(void **state)
{
	(void)state;
	open_shell();
	u.process_error = -ENOSPC;
	u.rows_error = -ENOSPC;
	for (uint64_t t = 1 * SEC; t < 11 * SEC; t += 100 * MS) {
		stage_sample_walked(&s, t + 1, 10, 10, USER(0x1010), PENDING);
		stage_run(&s, t);
	}
	struct cam_live_stats st = cam_live_stats(s.live);
	assert_in_range(st.images_refused, 5, 12);
	assert_in_range(st.tables_refused, 1, 3);
	u.process_error = u.rows_error = 0;
	for (uint64_t t = 11 * SEC; t < 24 * SEC; t += 100 * MS) {
		stage_sample_walked(&s, t + 1, 10, 10, USER(0x1010), PENDING);
		stage_run(&s, t);
	}
	assert_non_null(fake_process(&u, 10));
	assert_true(u.tables[number_of("/bin/sh")].there);
	close_all();
}

static void a_file_without_tables_says_so_for_good(void **state)
{
	(void)state;
	open_shell();
	s.table_error = -ENOEXEC;
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 3 * SEC);
	uint32_t file = number_of("/bin/sh");
	/* One row: nothing is known; so that it is not "pending" for ever. */
	assert_true(u.tables[file].there);
	assert_int_equal(u.tables[file].rows, 1);
	assert_int_equal(u.tables[file].cfa, CAM_CFA_NONE);
	assert_int_equal(s.asked[CAM_ERRAND_TABLE], 2);
	for (uint64_t t = 3 * SEC; t < 9 * SEC; t += 500 * MS) {
		stage_sample_walked(&s, t, 10, 10, USER(0x1010), PENDING);
		stage_run(&s, t);
	}
	assert_int_equal(s.asked[CAM_ERRAND_TABLE], 2);
	close_all();
}

static void errors_of_the_moment_are_tried_again(void **state)
{
	(void)state;
	open_shell();
	s.table_error = -EIO;
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	assert_false(u.tables[number_of("/bin/sh")].begun);
	s.table_error = 0;
	stage_run(&s, 3 * SEC);
	stage_sample_walked(&s, 3 * SEC, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 4 * SEC);
	assert_true(u.tables[number_of("/bin/sh")].rows > 0);
	assert_int_equal(u.tables[number_of("/bin/sh")].cfa, CAM_CFA_RSP);
	close_all();
}

static void a_number_that_is_given_again_has_no_table(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	uint32_t file = number_of("/bin/sh");
	assert_true(u.tables[file].there);
	/* Overwritten in place: its table is that of something else. */
	struct cam_tidings t = {.type = CAM_ERRAND_FILE, .file = file};
	t.held.key = (struct cam_file_key){.major = 8, .minor = 1, .inode = 5, .ctime_ns = 99};
	assert_int_equal(cam_live_tidings(s.live, &t), 0);
	assert_false(u.tables[file].there);
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 3 * SEC);
	assert_int_equal(u.tables[file].cfa, CAM_CFA_NONE);
	assert_int_equal(u.tables[file].rows, 1);
	/* Unmapped and a minute old. */
	stage_exit(&s, 3 * SEC, 10, 10);
	stage_run(&s, 70 * SEC);
	assert_false(u.tables[file].begun || u.tables[number_of("/lib/c")].begun);
	close_all();
}

static void the_end_of_a_stack_is_kept(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	static const struct {
		enum cam_stack_end end;
		const char *stack;
	} cases[] = {
		{CAM_STACK_COMPLETE, "c_0;sh_0"},
		{CAM_STACK_PENDING, "[truncated];c_0;sh_0"},
		{CAM_STACK_NO_CFI, "[truncated];c_0;sh_0"},
		{CAM_STACK_UNSUPPORTED, "[truncated];c_0;sh_0"},
		{CAM_STACK_DEPTH, "[truncated];c_0;sh_0"},
		{CAM_STACK_BAD_RETURN, "[truncated];c_0;sh_0"},
		{CAM_STACK_BAD_CFA, "[truncated];c_0;sh_0"},
		{CAM_STACK_UNREADABLE, "[truncated];c_0;sh_0"},
		{CAM_STACK_COMPAT, "[truncated];c_0;sh_0"},
		{CAM_STACK_UNKNOWN, "c_0;sh_0"},
		/* It is known here: the source did not have it yet. */
		{CAM_STACK_NO_MAPPING, "[truncated];c_0;sh_0"},
	};
	size_t n = sizeof(cases) / sizeof(cases[0]);
	for (size_t i = 0; i < n; i++)
		stage_sample_walked(&s, 2 * SEC + i * 10000, 10, 10, USER(0x1010, 0x5011),
				    (struct stage_walk){.end = cases[i].end});
	stage_sample_walked(&s, 2 * SEC + n * 10000, 10, 10, USER(0x1010, 0xdead0011),
			    (struct stage_walk){.end = CAM_STACK_NO_MAPPING});
	stage_sample_walked(&s, 2 * SEC + n * 10000 + 10000, 10, 10, USER(0xdead0011),
			    (struct stage_walk){.end = CAM_STACK_NO_MAPPING});
	stage_sample_walked(&s, 2 * SEC + n * 10000 + 20000, 10, 10, KERNEL(0xffffffff80000010),
			    (struct stage_walk){.end = CAM_STACK_NO_USER});
	/* As BPF says it; as the other source does, whose threads have names alone. */
	stage_sample_walked(&s, 2 * SEC + n * 10000 + 30000, 10, 12, KERNEL(0xffffffff80000010),
			    (struct stage_walk){.end = CAM_STACK_WORKER});
	stage_comm(&s, 2 * SEC + n * 10000 + 31000, 10, 13, "iou-wrk-10");
	stage_sample_walked(&s, 2 * SEC + n * 10000 + 40000, 10, 13, KERNEL(0xffffffff80000010),
			    (struct stage_walk){.end = CAM_STACK_NO_USER});
	stage_run(&s, 4 * SEC);
	struct cam_live_stats st = cam_live_stats(s.live);
	assert_int_equal(st.ends[CAM_STACK_NO_CFI], 1);
	assert_int_equal(st.ends[CAM_STACK_NO_MAPPING], 2);
	assert_int_equal(st.ends[CAM_STACK_NO_USER], 1);
	assert_int_equal(st.ends[CAM_STACK_WORKER], 2);
	assert_int_equal(st.ends[CAM_STACK_PENDING], 3);
	stage_close(&s);
	for (size_t i = 0; i < n; i++) {
		enum cam_stack_end end = cases[i].end == CAM_STACK_NO_MAPPING ? CAM_STACK_PENDING
					 : cases[i].end == CAM_STACK_UNKNOWN  ? CAM_STACK_COMPLETE
									      : cases[i].end;
		assert_string_equal(stage_stack(&s, 0, i + 1), cases[i].stack);
		assert_int_equal(stage_end(&s, 0, i + 1), end);
	}
	assert_string_equal(stage_stack(&s, 0, n + 1), "[unmapped];sh_0");
	assert_string_equal(stage_stack(&s, 0, n + 2), "[unmapped]");
	assert_int_equal(stage_end(&s, 0, n + 2), CAM_STACK_NO_MAPPING);
	for (size_t i = 3; i <= 5; i++)
		assert_memory_equal(stage_stack(&s, 0, n + i), "k_", 2);
	stage_free(&s);
}

static void what_was_walked_with_replaced_mappings_keeps_its_leaf(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	uint32_t old = fake_process(&u, 10)->image;
	const struct stage_walk with_old = {CAM_STACK_COMPLETE, .image = old};
	/* Beside the others: what was walked before is right. */
	stage_map(&s, 2 * SEC + 1, 10, 0x8000, 0x9000, 7, "/lib/m");
	stage_sample_walked(&s, 2 * SEC + 10000, 10, 10, USER(0x1010, 0x5011), with_old);
	/* Over /lib/c. */
	stage_map(&s, 2 * SEC + 10001, 10, 0x5000, 0x6000, 8, "/lib/n");
	stage_sample_walked(&s, 2 * SEC + 20000, 10, 10, USER(0x1010, 0x2011, 0x5011, 0x2021),
			    with_old);
	stage_sample_walked(&s, 2 * SEC + 30000, 10, 10, USER(0x1010, 0x2011), with_old);
	stage_sample_walked(&s, 2 * SEC + 40000, 10, 10, USER(0x5010, 0x2011), with_old);
	stage_run(&s, 2 * SEC + 200 * MS);
	const struct stage_walk with_new = {CAM_STACK_COMPLETE,
					    .image = fake_process(&u, 10)->image};
	assert_true(with_new.image > old);
	stage_sample_walked(&s, 2 * SEC + 200 * MS, 10, 10, USER(0x1010, 0x5011), with_new);
	/* Another program at all. */
	stage_exec(&s, 2 * SEC + 201 * MS, 10, "ls");
	stage_map(&s, 2 * SEC + 202 * MS, 10, 0x1000, 0x6000, 9, "/bin/ls");
	stage_sample_walked(&s, 2 * SEC + 210 * MS, 10, 10, USER(0x1010, 0x5011), with_new);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	static const char *const right[] = {
		"c_0;sh_0",	   "[truncated];sh_0", "sh_10;sh_0",
		"[truncated];n_0", "n_0;sh_0",	       "[truncated];ls_0",
	};
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(stage_stack(&s, 0, i + 1), right[i]);
		assert_int_equal(stage_end(&s, 0, i + 1),
				 right[i][0] == '[' ? CAM_STACK_STALE : CAM_STACK_COMPLETE);
	}
	assert_string_equal(stage_who(&s, 0, 6), "ls|/bin/ls|/user/sh");
	stage_free(&s);
}

static void a_suspect_says_so(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	s.silent = true;
	stage_lost(&s, 2 * SEC, 2 * SEC + 1);
	stage_sample_walked(&s, 2 * SEC + 10000, 10, 10, USER(0x1010, 0x5011),
			    (struct stage_walk){CAM_STACK_COMPLETE, .image = u.highest});
	/* Never heard of, and nobody answers. */
	stage_sample_walked(&s, 2 * SEC + 20000, 99, 99, USER(0x1010, 0x5011), PENDING);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[truncated];[unknown]");
	assert_int_equal(stage_end(&s, 0, 1), CAM_STACK_SUSPECT);
	assert_int_equal(stage_end(&s, 0, 2), CAM_STACK_PENDING);
	stage_free(&s);
}

static void images_of_many_mappings_keep_their_files(void **state)
{
	(void)state;
	open_shell();
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), PENDING);
	stage_run(&s, 2 * SEC);
	/* 1500 pieces of code made at run time, apart from each other, below the library. */
	for (uint64_t i = 0; i < 1500; i++)
		stage_map(&s, 2 * SEC + i, 10, 0x100000 + i * 0x2000, 0x101000 + i * 0x2000, 0,
			  "//anon");
	stage_map(&s, 2 * SEC + 2000, 10, 0x7f0000000000, 0x7f0000001000, 8, "/lib/n");
	stage_map(&s, 2 * SEC + 2001, 10, 0x7f0000001000, 0x7f0000002000, 8, "/lib/n");
	stage_run(&s, 2 * SEC + 200 * MS);
	const struct fake_image *i = fake_image(&u, fake_process(&u, 10)->image);
	assert_int_equal(i->n_maps, CAM_UNWIND_MAX_MAPS);
	close_all();
}

/* Each says so itself, in whichever window it is. */
static void guessed_stacks_are_marked(void **state)
{
	(void)state;
	const struct stage_walk walks[] = {
		{.end = CAM_STACK_COMPLETE, .flags = CAM_RAW_USER_MODE},
		{.end = CAM_STACK_COMPLETE, .flags = CAM_RAW_USER_MODE | CAM_RAW_GUESSED},
		{.end = CAM_STACK_BAD_RETURN, .flags = CAM_RAW_USER_MODE | CAM_RAW_GUESSED},
		/* Frame pointers alone, wherever they end: the window says it. */
		{.end = CAM_STACK_UNKNOWN, .flags = CAM_RAW_USER_MODE | CAM_RAW_GUESSED},
	};
	stage_open(&s, NULL);
	world_process(&s, 10, "jit", "/bin/sh");
	stage_tick(&s, 1 * SEC);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = 2 * SEC + i * 100 * MS;
		if (i % 4 == 3)
			stage_sample_walked(&s, at, 10, 10, USER(0x1010, 0xdead0011), walks[3]);
		else
			stage_sample_walked(&s, at, 10, 10, USER(0x1010), walks[i % 4]);
		stage_run(&s, at + 50 * MS);
	}
	stage_run(&s, 26 * SEC);
	stage_close(&s);
	assert_true(s.n_windows >= 2);
	size_t n = 0;
	for (size_t i = 0; i < s.n_windows; i++) {
		const struct stage_window *w = &s.windows[i];
		for (size_t k = 0; k < w->n_samples; k++, n++) {
			struct cam_text said = cam_string(&w->t, w->samples[k].detail);
			bool guessed = n % 4 == 1 || n % 4 == 2;
			assert_true(cam_text_equal(said, cam_text_of(guessed ? "guessed" : "")));
		}
	}
	assert_int_equal(n, 200);
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sampled_process_and_its_tables_are_handed_over_within_a_second),
		cmocka_unit_test(the_file_that_a_sample_stopped_at_is_asked_for_first),
		cmocka_unit_test(forks_share_an_image_and_changes_make_another),
		cmocka_unit_test(what_ends_or_executes_is_forgotten_at_once),
		cmocka_unit_test(hand_overs_are_bounded_by_tick),
		cmocka_unit_test(what_was_evicted_is_given_again_when_it_is_needed),
		cmocka_unit_test(no_room_is_no_reason_to_ask_at_every_sample),
		cmocka_unit_test(a_file_without_tables_says_so_for_good),
		cmocka_unit_test(errors_of_the_moment_are_tried_again),
		cmocka_unit_test(a_number_that_is_given_again_has_no_table),
		cmocka_unit_test(the_end_of_a_stack_is_kept),
		cmocka_unit_test(what_was_walked_with_replaced_mappings_keeps_its_leaf),
		cmocka_unit_test(a_suspect_says_so),
		cmocka_unit_test(images_of_many_mappings_keep_their_files),
		cmocka_unit_test(guessed_stacks_are_marked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
