// SPDX-License-Identifier: Apache-2.0
/* Names: of the right file, at the right time, or none. */
#include "ingest/ksymbols.h"
#include "support_live.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_replaced_binary_has_its_own_names(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	s.version = 1;
	stage_fork(&s, 3 * SEC, 10, 20, 20);
	stage_exec(&s, 3 * SEC + 1, 20, "app");
	stage_map(&s, 3 * SEC + 2, 20, 0x1000, 0x2000, 50, "/opt/app");
	stage_sample(&s, 3 * SEC + 10000, 20, 20, USER(0x1010));
	stage_run(&s, 4 * SEC);
	/* Replaced by rename while it runs: the same path, another inode. */
	s.version = 2;
	stage_fork(&s, 4 * SEC, 10, 21, 21);
	stage_exec(&s, 4 * SEC + 1, 21, "app");
	stage_map(&s, 4 * SEC + 2, 21, 0x1000, 0x2000, 51, "/opt/app");
	stage_sample(&s, 4 * SEC + 10000, 21, 21, USER(0x1010));
	stage_sample(&s, 4 * SEC + 20000, 20, 20, USER(0x1010));
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 4);
	for (size_t i = 1; i < 4; i++) {
		bool old = s.windows[0].samples[i].time_ns != 4 * SEC + 10000;
		assert_string_equal(stage_stack(&s, 0, i), old ? "app.1_0" : "app.2_0");
	}
	/* Two modules of one path, told apart by their keys. */
	const struct cam_tables *t = &s.windows[0].t;
	size_t n = 0;
	for (size_t i = 0; i < t->n_modules; i++) {
		if (!cam_text_equal(cam_string(t, t->modules[i].path), CAM_TEXT("/opt/app")))
			continue;
		assert_int_equal(cam_string(t, t->modules[i].key).n, 40);
		n++;
	}
	assert_int_equal(n, 2);
	stage_free(&s);
}

/* Nobody takes hold of either in time: in two roots they have one path, but not one place. */
static void two_files_of_one_path_are_two_modules_before_they_are_held(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	s.silent = true;
	for (int32_t pid = 20; pid < 22; pid++) {
		uint64_t t = 3 * SEC + (uint64_t)pid * MS;
		stage_fork(&s, t, 10, pid, pid);
		stage_exec(&s, t + 1, pid, "app");
		stage_map(&s, t + 2, pid, 0x1000, 0x2000, 30 + (uint64_t)pid, "/opt/app");
		stage_sample(&s, t + 10000, pid, pid, USER(0x1010));
	}
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	const struct cam_tables *t = &s.windows[0].t;
	size_t n = 0;
	for (size_t i = 0; i < t->n_modules; i++)
		n += cam_text_equal(cam_string(t, t->modules[i].path), CAM_TEXT("/opt/app"));
	assert_int_equal(n, 2);
	assert_int_equal(s.windows[0].n_samples, 3);
	assert_int_not_equal(s.windows[0].samples[1].place.v, s.windows[0].samples[2].place.v);
	stage_free(&s);
}

/* The inode is used again by another file: only the generation tells. */
static void a_reused_inode_is_another_file(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	for (unsigned i = 0; i < 2; i++) {
		struct cam_raw r = {.type = CAM_RAW_MMAP, .pid = 20, .tid = 20};
		uint64_t t = (3 + i) * SEC;
		s.version = 1 + i;
		stage_fork(&s, t, 10, 20, 20);
		stage_exec(&s, t + 1, 20, "app");
		r.time_ns = t + 2;
		r.mmap = (struct cam_mapping){.start = 0x1000, .end = 0x2000, .inode = 50};
		r.mmap.major = 8;
		r.mmap.generation = 100 + i;
		r.mmap.path = CAM_TEXT("/opt/app");
		cam_live_raw(s.live, &r);
		stage_sample(&s, t + 10000, 20, 20, USER(0x1010));
		stage_exit(&s, t + 20000, 20, 20);
		stage_run(&s, t + SEC);
	}
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "app.1_0");
	assert_string_equal(stage_stack(&s, 0, 2), "app.2_0");
	stage_free(&s);
}

static bool written_now(struct cam_errands *e, uint32_t file)
{
	(void)e;
	(void)file;
	return true;
}

/* Overwritten between two runs, faster than daemon looks: the second run has names of its own. */
static void a_file_that_was_overwritten_between_two_runs_is_another(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	for (unsigned i = 1; i <= 2; i++) {
		uint64_t t = (3 + i) * SEC;
		s.version = i;
		s.errands.is_written = i == 2 ? written_now : NULL;
		stage_fork(&s, t, 10, 20, 20);
		stage_exec(&s, t + 1, 20, "test");
		stage_map(&s, t + 2, 20, 0x1000, 0x2000, 100, "/tmp/a");
		s.errands.is_written = NULL;
		stage_sample(&s, t + 10000, 20, 20, USER(0x1010));
		stage_exit(&s, t + 20000, 20, 20);
		stage_run(&s, t + SEC - 1);
	}
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "a.1_0");
	assert_string_equal(stage_stack(&s, 0, 2), "a.2_0");
	stage_free(&s);
}

/* Overwritten in place: daemon tells that the file it holds has another key now. */
static void an_overwritten_file_loses_its_names(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	struct cam_tidings t = {.type = CAM_ERRAND_FILE, .file = s.files[0].number};
	t.held.key = (struct cam_file_key){.major = 8, .minor = 1, .inode = 5, .ctime_ns = 99};
	assert_int_equal(cam_live_tidings(s.live, &t), 0);
	assert_int_equal(s.asked[CAM_ERRAND_FORGET], 1);
	stage_sample(&s, 3 * SEC + 10000, 10, 10, USER(0x1010));
	/* A new process of it: the new content, a new number, new names. */
	s.version = 2;
	stage_fork(&s, 3 * SEC + 20000, 10, 20, 20);
	stage_exec(&s, 3 * SEC + 20001, 20, "sh");
	stage_map(&s, 3 * SEC + 20002, 20, 0x1000, 0x3000, 5, "/bin/sh");
	stage_sample(&s, 3 * SEC + 30000, 20, 20, USER(0x1010));
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "sh_0");
	assert_string_equal(stage_stack(&s, 0, 1), "[sh+0x10]");
	assert_string_equal(stage_stack(&s, 0, 2), "sh.2_0");
	stage_free(&s);
}

/* Nobody came to take hold of it before it was written over: what was mapped then has no names, not those of now. */
static void a_file_held_too_late_names_nobody_of_before(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_fork(&s, 4 * SEC, 10, 20, 20);
	stage_exec(&s, 4 * SEC + 1, 20, "red");
	stage_map(&s, 4 * SEC + 2, 20, 0x1000, 0x2000, 100, "/tmp/a");
	stage_sample(&s, 4 * SEC + 10000, 20, 20, USER(0x1010));
	stage_exit(&s, 4 * SEC + 20000, 20, 20);
	s.written_ns = 4 * SEC + 30000;
	stage_run(&s, 5 * SEC);
	/* Who maps it afterwards has what is there now. */
	s.version = 2;
	stage_fork(&s, 5 * SEC + 10000, 10, 30, 30);
	stage_exec(&s, 5 * SEC + 10001, 30, "blue");
	stage_map(&s, 5 * SEC + 10002, 30, 0x1000, 0x2000, 100, "/tmp/a");
	stage_sample(&s, 5 * SEC + 20000, 30, 30, USER(0x1010));
	stage_run(&s, 6 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[a+0x10]");
	assert_string_equal(stage_stack(&s, 0, 2), "a.2_0");
	stage_free(&s);
}

/* Who had it before the start is known by when /proc said so. */
static void a_library_written_over_before_its_first_sample_names_nobody(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	world_process(&s, 40, "old", "/bin/old");
	world_map(&s, 40, 0x1000, 0x2000, 200, "/bin/old");
	world_map(&s, 40, 0x8000, 0x9000, 201, "/lib/a.so");
	stage_sample(&s, 4 * SEC, 40, 40, USER(0x1010));
	stage_run(&s, 6 * SEC);
	s.written_ns = 7 * SEC;
	stage_sample(&s, 8 * SEC, 40, 40, USER(0x8010));
	stage_run(&s, 10 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "old_0");
	assert_string_equal(stage_stack(&s, 0, 2), "[a.so+0x10]");
	stage_free(&s);
}

/* Nobody could take hold of it, it was written over, and runs again: that one has its own names, for all its life. */
static void a_file_that_failed_is_another_for_who_comes_later(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	s.file_error = -EACCES;
	stage_fork(&s, 4 * SEC, 10, 20, 20);
	stage_exec(&s, 4 * SEC + 1, 20, "red");
	struct cam_raw r = {.type = CAM_RAW_MMAP, .time_ns = 4 * SEC + 2, .pid = 20, .tid = 20};
	r.mmap = (struct cam_mapping){.start = 0x1000, .end = 0x2000, .inode = 100};
	r.mmap.major = 8;
	r.mmap.generation = 9;
	r.mmap.path = CAM_TEXT("/tmp/a");
	cam_live_raw(s.live, &r);
	stage_sample(&s, 4 * SEC + 10000, 20, 20, USER(0x1010));
	stage_run(&s, 5 * SEC);
	stage_exit(&s, 5 * SEC + 10000, 20, 20);
	s.file_error = 0;
	s.version = 2;
	s.written_ns = 6 * SEC;
	stage_fork(&s, 7 * SEC, 10, 30, 30);
	stage_exec(&s, 7 * SEC + 1, 30, "blue");
	r.time_ns = 7 * SEC + 2;
	r.pid = r.tid = 30;
	cam_live_raw(s.live, &r);
	stage_sample(&s, 7 * SEC + 20000, 30, 30, USER(0x1010));
	stage_run(&s, 9 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[a+0x10]");
	assert_string_equal(stage_stack(&s, 0, 2), "a.2_0");
	stage_free(&s);
}

/* Where the answer says that the whole function has that name, its other offsets are not asked for. */
static void a_function_with_one_name_is_asked_for_once(void **state)
{
	(void)state;
	for (int one_name = 0; one_name < 2; one_name++) {
		struct stage s;
		stage_open_known_shell(&s);
		s.one_name = one_name;
		for (uint64_t i = 0; i < 6; i++) {
			stage_sample(&s, 3 * SEC + i * 2 * SEC / 3, 10, 10, USER(0x1100 + i * 8));
			stage_run(&s, 3 * SEC + (i + 1) * 2 * SEC / 3);
		}
		size_t before = s.asked[CAM_ERRAND_NAMES];
		stage_sample(&s, 7 * SEC + MS, 10, 10, USER(0x11f8));
		stage_run(&s, 8 * SEC);
		assert_int_equal(s.asked[CAM_ERRAND_NAMES] - before, !one_name);
		stage_sample(&s, 8 * SEC + MS, 10, 10, USER(0x1200));
		stage_run(&s, 9 * SEC + 500 * MS);
		assert_int_equal(s.asked[CAM_ERRAND_NAMES] - before, !one_name + 1);
		stage_close(&s);
		assert_int_equal(s.windows[0].n_samples, 9);
		for (size_t i = 1; i < 8; i++)
			assert_string_equal(stage_stack(&s, 0, i), "sh_1");
		assert_string_equal(stage_stack(&s, 0, 8), "sh_2");
		stage_free(&s);
	}
}

/* Another offset every tick; names still come within 2 s, and a file is asked about once a second. */
static void a_busy_file_is_asked_about_once_a_second(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	size_t before = s.asked[CAM_ERRAND_NAMES];
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t t = 4 * SEC + i * 200 * MS;
		stage_sample(&s, t, 10, 10, USER(0x1110 + 0x10 * i));
		stage_run(&s, t + 200 * MS);
	}
	size_t asked = s.asked[CAM_ERRAND_NAMES] - before;
	assert_in_range(asked, 4, 6);
	stage_run(&s, 9500 * MS);
	assert_in_range(s.asked[CAM_ERRAND_NAMES] - before, asked, asked + 1);
	stage_close(&s);
	for (size_t i = 1; i < 21; i++)
		assert_memory_equal(stage_stack(&s, 0, i), "sh_", 3);
	stage_free(&s);
}

/* At the leaf and at a caller; also in the next window, where the book has them. */
static void what_is_inlined_hangs_below_its_function(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	s.inlines = true;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t t = (4 + 120 * i) * SEC;
		stage_sample(&s, t, 10, 10, USER(0x1110, 0x1251));
		stage_run(&s, t + 3 * SEC);
	}
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "sh_2;in1;in2;sh_1;in1;in2");
	assert_string_equal(stage_stack(&s, 1, 0), "sh_2;in1;in2;sh_1;in1;in2");
	const struct cam_tables *w = &s.windows[1].t;
	unsigned found = 0;
	for (size_t i = 0; i < w->n_functions; i++)
		found += w->functions[i].kind == CAM_FUNC_INLINED &&
			 w->functions[i].source == CAM_NAME_DWARF;
	assert_int_equal(found, 2);
	stage_free(&s);
}

/* A BPF program is replaced by another at the same address. */
static void changed_kernel_code_has_its_new_name(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	struct cam_raw k = {.type = CAM_RAW_KSYMBOL, .time_ns = 3 * SEC};
	k.ksymbol = (struct cam_raw_ksymbol){.address = 0xc0001000, .bytes = 0x100};
	for (unsigned i = 1; i <= 3; i++) {
		uint64_t t = (2 + i) * SEC;
		s.version = i;
		stage_sample(&s, t + 10000, 10, 10, KERNEL(0xc0001010, 0x81000011));
		stage_run(&s, t + 800 * MS);
		k.time_ns = t + 900 * MS;
		cam_live_raw(s.live, &k);
		stage_run(&s, t + SEC);
	}
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "k.1_810000;k.1_c00010");
	assert_string_equal(stage_stack(&s, 0, 2), "k.1_810000;k.2_c00010");
	assert_string_equal(stage_stack(&s, 0, 3), "k.1_810000;k.3_c00010");
	stage_free(&s);
}

/* The records that tell of it are lost: who was there before does not name who is there now. */
static void code_that_changed_unheard_is_asked_for_again(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	struct cam_raw k = {.type = CAM_RAW_KSYMBOL, .time_ns = 3 * SEC};
	k.ksymbol = (struct cam_raw_ksymbol){.address = 0xc0001000, .bytes = 0x100};
	cam_live_raw(s.live, &k);
	for (unsigned i = 1; i <= 2; i++) {
		uint64_t t = (2 + i) * SEC;
		s.version = i;
		stage_sample(&s, t + 10000, 10, 10, KERNEL(0xc0001010));
		stage_run(&s, t + 800 * MS);
		if (i == 1)
			stage_lost(&s, t + 810 * MS, t + 900 * MS);
	}
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "k.1_c00010");
	assert_string_equal(stage_stack(&s, 0, 2), "k.2_c00010");
	stage_free(&s);
}

static void say_ksymbol(struct stage *s, uint64_t time_ns, const char *name, bool removed)
{
	struct cam_raw k = {.type = CAM_RAW_KSYMBOL, .time_ns = time_ns};
	k.ksymbol = (struct cam_raw_ksymbol){.address = 0xc0001000,
					     .bytes = 0x100,
					     .removed = removed,
					     .name = cam_text_of(name)};
	cam_live_raw(s->live, &k);
}

/* As the records say it: nobody could be asked in time. Each sample has who was there then, also one that comes late. */
static void programs_that_come_and_go_have_the_names_they_came_with(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	stage_sample(&s, 3 * SEC, 10, 10, KERNEL(0x81000010));
	stage_run(&s, 3 * SEC + 900 * MS);
	size_t asked = s.asked[CAM_ERRAND_NAMES];
	say_ksymbol(&s, 4 * SEC, "bpf_prog_1_first", false);
	stage_sample(&s, 4 * SEC + 100 * MS, 10, 10, KERNEL(0xc0001010));
	say_ksymbol(&s, 4 * SEC + 200 * MS, "bpf_prog_1_first", true);
	say_ksymbol(&s, 4 * SEC + 300 * MS, "bpf_prog_2_second", false);
	stage_sample(&s, 4 * SEC + 400 * MS, 10, 10, KERNEL(0xc0001010));
	stage_sample(&s, 4 * SEC + 150 * MS, 10, 10, KERNEL(0xc0001010));
	stage_sample(&s, 4 * SEC + 450 * MS, 10, 10, KERNEL(0xc0001020));
	stage_run(&s, 5 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_NAMES], asked);
	/* Another kind of code; and after a loss nobody knows. Then those are asked who know what is there now. */
	say_ksymbol(&s, 5 * SEC, "ftrace_trampoline", false);
	stage_sample(&s, 5 * SEC + 100 * MS, 10, 10, KERNEL(0xc0001010));
	stage_run(&s, 6 * SEC);
	say_ksymbol(&s, 6 * SEC, "bpf_prog_3_third", false);
	struct cam_raw lost = {.type = CAM_RAW_LOST, .time_ns = 6 * SEC + 50 * MS};
	lost.lost.records = 1;
	lost.lost.side_band = true;
	cam_live_raw(s.live, &lost);
	stage_sample(&s, 6 * SEC + 100 * MS, 10, 10, KERNEL(0xc0001010));
	stage_run(&s, 8 * SEC);
	stage_close(&s);
	static const char *const want[] = {
		"bpf_prog_1_first",  "bpf_prog_2_second", "bpf_prog_1_first",
		"bpf_prog_2_second", "k_c00010",	  "k_c00010",
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(stage_stack(&s, 0, 2 + i), want[i]);
	stage_free(&s);
}

/* A module is loaded where another was: no record says so. What lies elsewhere is not asked for again, and a BPF program
 * between modules keeps the name it came with. */
static void a_module_that_came_has_its_own_names(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	say_ksymbol(&s, 2 * SEC + 500 * MS, "bpf_prog_1_first", false);
	for (unsigned i = 1; i <= 3; i++) {
		uint64_t t = (2 + i) * SEC;
		s.version = i;
		stage_sample(&s, t + 10000, 10, 10, KERNEL(0xc0005010, 0xc0001011, 0x81000011));
		stage_run(&s, t + 800 * MS);
		cam_live_kernel_changed(s.live, 0xc0000000, 0xc0006000);
		stage_run(&s, t + SEC);
	}
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "k.1_810000;bpf_prog_1_first;k.1_c00050");
	assert_string_equal(stage_stack(&s, 0, 2), "k.1_810000;bpf_prog_1_first;k.2_c00050");
	assert_string_equal(stage_stack(&s, 0, 3), "k.1_810000;bpf_prog_1_first;k.3_c00050");
	stage_free(&s);
}

/* A host with more programs than are kept: the newest that fit, and those that went make room. */
static void many_programs_make_room(void **state)
{
	(void)state;
	static struct cam_ksymbols k;
	char name[32];
	for (uint64_t i = 0; i < 2 * CAM_MAX_KSYMBOLS; i++) {
		snprintf(name, sizeof(name), "bpf_prog_%u", (unsigned)i);
		struct cam_raw_ksymbol r = {
			.address = 0x1000 * i, .bytes = 0x10, .name = cam_text_of(name)};
		cam_ksymbols_note(&k, &r, i + 1, (uint32_t)i);
	}
	assert_non_null(cam_ksymbols_find(&k, 0x1000, 1000));
	assert_null(cam_ksymbols_find(&k, 0x1010, 1000));
	assert_null(cam_ksymbols_find(&k, 0x1000, 1));
	assert_null(cam_ksymbols_find(&k, 0x1000 * CAM_MAX_KSYMBOLS, 1000));
	struct cam_raw_ksymbol gone = {.address = 0x1000, .bytes = 0x10, .removed = true};
	cam_ksymbols_note(&k, &gone, 1000, 0);
	struct cam_raw_ksymbol new = {.address = 0x1000 * CAM_MAX_KSYMBOLS,
				      .bytes = 0x10,
				      .name = CAM_TEXT("bpf_prog_x")};
	cam_ksymbols_note(&k, &new, 1001, 77);
	assert_int_equal(cam_ksymbols_find(&k, 0x1000 * CAM_MAX_KSYMBOLS, 1002)->turn, 77);
	assert_null(cam_ksymbols_find(&k, 0x1000, 1002));
}

/* Asked before the change, answered after it: whose name would that be? */
static void a_name_that_was_overtaken_by_a_change_is_not_used(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	struct cam_raw k = {.type = CAM_RAW_KSYMBOL, .time_ns = 3 * SEC};
	k.ksymbol = (struct cam_raw_ksymbol){.address = 0xc0001000, .bytes = 0x100};
	cam_live_raw(s.live, &k);
	stage_sample(&s, 3 * SEC + 10000, 10, 10, KERNEL(0xc0001010));
	stage_tick(&s, 3 * SEC + 200 * MS);
	assert_int_equal(s.n_sent, 1);
	k.time_ns = 3 * SEC + 300 * MS;
	cam_live_raw(s.live, &k);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[kernel.kallsyms]");
	stage_free(&s);
}

/* The file cannot be had: the module has no key, its frames no names, until it can. */
static void a_file_that_cannot_be_held_is_tried_again(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.file_error = -EACCES;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_run(&s, 3 * SEC);
	s.file_error = 0;
	stage_sample(&s, 4 * SEC, 10, 10, USER(0x1110));
	stage_run(&s, 6 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_FILE], 2);
	stage_close(&s);
	/* It is the same file by device and inode: the first one gets its name, too. */
	assert_string_equal(stage_stack(&s, 0, 0), "sh_0");
	assert_string_equal(stage_stack(&s, 0, 1), "sh_1");
	stage_free(&s);
}

static void a_file_without_readable_names_is_given_up(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.names_error = -EBADMSG;
	for (unsigned i = 0; i < 40; i++) {
		stage_sample(&s, (1 + i / 10) * SEC + (i % 10) * 10 * MS + 1, 10, 10,
			     USER(0x1010 + i * 0x40));
		if (i % 10 == 9)
			stage_run(&s, (2 + i / 10) * SEC);
	}
	assert_true(s.asked[CAM_ERRAND_NAMES] <= 3);
	assert_int_equal(cam_live_stats(s.live).unnamed, 40);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 39), "[sh+0x9d0]");
	stage_free(&s);
}

/* The symboliser is not to be trusted: names go only where they were asked for. */
static void names_of_another_file_are_not_taken(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	while (!s.asked[CAM_ERRAND_NAMES]) {
		stage_answer(&s);
		stage_tick(&s, s.now_ns + 50 * MS);
	}
	struct cam_name name = {.offset = 0x10, .source = CAM_NAME_SYMTAB, .name = CAM_TEXT("lie")};
	struct cam_tidings t = {.type = CAM_ERRAND_NAMES, .file = CAM_FILE_KERNEL};
	t.names = (struct cam_names_tidings){.names = &name, .n_names = 1};
	t.ticket = s.sent[0].e.ticket;
	cam_live_tidings(s.live, &t); /* the right ticket, another file */
	t.file = s.sent[0].e.file;
	t.ticket += 7;
	cam_live_tidings(s.live, &t); /* the file, no ticket */
	stage_run(&s, 3 * SEC);
	/* A start behind the offset is nonsense: the name may stay, its offset not. */
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "sh_0");
	stage_free(&s);
}

/* A dynamic symbol keeps its start, so that a better name can come; others do not need it. */
static void dynamic_names_keep_their_place(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x2011));
	while (!s.asked[CAM_ERRAND_NAMES]) {
		stage_answer(&s);
		stage_tick(&s, s.now_ns + 50 * MS);
	}
	struct cam_name names[] = {
		{.offset = 0x10, .start = 8, .source = CAM_NAME_DYNSYM, .name = CAM_TEXT("puts")},
		{.offset = 0x1010, .source = CAM_NAME_NONE},
	};
	struct cam_tidings t = {.type = CAM_ERRAND_NAMES, .ticket = s.sent[0].e.ticket};
	t.file = s.sent[0].e.file;
	t.names = (struct cam_names_tidings){.names = names, .n_names = 2};
	cam_live_tidings(s.live, &t);
	s.n_sent = 0;
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_int_equal(s.asked[CAM_ERRAND_NAMES], 1);
	assert_string_equal(stage_stack(&s, 0, 0), "[sh+0x1010];puts");
	const struct cam_tables *w = &s.windows[0].t;
	const struct cam_location *leaf =
		&w->locations[w->places.item[s.windows[0].samples[0].place.v]];
	assert_int_equal(w->functions[leaf->func.v].start, 8);
	assert_int_equal(leaf->func_offset, 8);
	stage_free(&s);
}

/* A file that daemon will not have named does not hold up the others. */
static void one_refused_file_is_no_reason_to_wait(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	world_map(&s, 10, 0x5000, 0x6000, 6, "/lib/c");
	s.refuse_names = -EBADF;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	stage_run(&s, 4 * SEC);
	/* Three times, then never again. */
	assert_int_equal(s.asked[CAM_ERRAND_NAMES], 3 + 1);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "c_0;[sh+0x10]");
	stage_free(&s);
}

/* The symboliser died: that is not the file's fault. */
static void a_helper_that_died_is_asked_again(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.names_error = -EIO;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_run(&s, 4 * SEC);
	s.names_error = 0;
	stage_sample(&s, 4 * SEC + 1, 10, 10, USER(0x1110));
	stage_run(&s, 6 * SEC);
	stage_close(&s);
	/* Its own name was given up after three attempts. */
	assert_string_equal(stage_stack(&s, 0, 0), "[sh+0x10]");
	assert_string_equal(stage_stack(&s, 0, 1), "sh_1");
	stage_free(&s);
}

/* A program that runs once and is gone; so many of them that numbers are given again. */
static void run_once(struct stage *s, unsigned i)
{
	char path[32];
	uint64_t t = 3 * SEC + i * 100 * SEC;
	snprintf(path, sizeof(path), "/tmp/t%u", i);
	stage_fork(s, t, 10, 20, 20);
	stage_exec(s, t + 1, 20, "test");
	stage_map(s, t + 2, 20, 0x1000, 0x2000, 100 + i, path);
	stage_sample(s, t + 10000, 20, 20, USER(0x1010));
	stage_exit(s, t + 20000, 20, 20);
	for (unsigned tick = 1; tick < 8; tick++) {
		stage_answer(s);
		stage_tick(s, t + tick * 200 * MS);
	}
	/* A minute later nothing maps it any more. */
	stage_tick(s, t + 70 * SEC);
}

static void numbers_are_given_again_and_names_are_not(void **state)
{
	(void)state;
	struct stage s;
	struct cam_live_options o;
	stage_options(&o);
	o.window_ns = 10000000 * SEC;
	stage_open(&s, &o);
	world_process(&s, 10, "sh", "/bin/sh");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/sh");
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_run(&s, 3 * SEC);
	uint32_t largest = 0;
	for (unsigned i = 0; i < 5000; i++) {
		run_once(&s, i);
		assert_int_equal(s.n_files, 2);
		largest = s.files[1].number > largest ? s.files[1].number : largest;
		assert_int_equal(cam_live_stats(s.live).files, 1);
		s.n_files = 1;
	}
	assert_int_equal(s.asked[CAM_ERRAND_FORGET], 5000);
	assert_true(largest < CAM_FILE_FIRST + 4096);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 5001);
	for (unsigned i = 0; i < 5000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "t%u_0", i);
		assert_string_equal(stage_stack(&s, 0, 1 + i), name);
	}
	stage_free(&s);
}

/* No descriptor is left: one that nothing needs is given up for it. */
static void an_unused_file_makes_room_for_another(void **state)
{
	(void)state;
	struct stage s;
	stage_open_known_shell(&s);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t t = (3 + i) * SEC;
		stage_fork(&s, t, 10, 20, 20);
		stage_exec(&s, t + 1, 20, "test");
		stage_map(&s, t + 2, 20, 0x1000, 0x2000, 100 + i, i ? "/tmp/b" : "/tmp/a");
		stage_sample(&s, t + 10000, 20, 20, USER(0x1010));
		stage_exit(&s, t + 20000, 20, 20);
		stage_run(&s, t + SEC - 1);
		s.refuse_file = -EMFILE;
	}
	stage_close(&s);
	assert_int_equal(s.asked[CAM_ERRAND_FORGET], 1);
	assert_string_equal(stage_stack(&s, 0, 1), "a_0");
	assert_string_equal(stage_stack(&s, 0, 2), "b_0");
	stage_free(&s);
}

/* …and can be named later: by file and start of the function. */
static void samples_of_an_unnamed_function_are_one(void **state)
{
	(void)state;
	struct stage s;
	stage_open_shell(&s);
	s.nameless = true;
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1110));
	stage_sample(&s, 1 * SEC + 10000, 10, 10, USER(0x1120));
	stage_run(&s, 3 * SEC);
	/* Now the book has them, and the location is new. */
	stage_sample(&s, 3 * SEC, 10, 10, USER(0x1210, 0x1121));
	stage_run(&s, 5 * SEC);
	stage_sample(&s, 5 * SEC, 10, 10, USER(0x1110));
	stage_run(&s, 11 * SEC);
	stage_sample(&s, 11 * SEC, 10, 10, USER(0x1120));
	stage_run(&s, 12 * SEC);
	assert_int_equal(cam_live_stats(s.live).unnamed, 3);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "[sh+0x100]");
	assert_string_equal(stage_stack(&s, 0, 1), "[sh+0x100]");
	assert_string_equal(stage_stack(&s, 0, 2), "[sh+0x100];[sh+0x200]");
	assert_string_equal(stage_stack(&s, 0, 3), "[sh+0x100]");
	assert_string_equal(stage_stack(&s, 1, 0), "[sh+0x100]");
	/* One function, of the two samples at two addresses. */
	struct stage_window *w = &s.windows[0];
	struct cam_stack_id a, b;
	assert_int_equal(cam_place_stack(&w->t, w->samples[0].place, &a), 0);
	assert_int_equal(cam_place_stack(&w->t, w->samples[1].place, &b), 0);
	assert_int_equal(a.v, b.v);
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replaced_binary_has_its_own_names),
		cmocka_unit_test(two_files_of_one_path_are_two_modules_before_they_are_held),
		cmocka_unit_test(a_reused_inode_is_another_file),
		cmocka_unit_test(a_file_that_was_overwritten_between_two_runs_is_another),
		cmocka_unit_test(an_overwritten_file_loses_its_names),
		cmocka_unit_test(a_file_held_too_late_names_nobody_of_before),
		cmocka_unit_test(a_library_written_over_before_its_first_sample_names_nobody),
		cmocka_unit_test(a_file_that_failed_is_another_for_who_comes_later),
		cmocka_unit_test(a_function_with_one_name_is_asked_for_once),
		cmocka_unit_test(a_busy_file_is_asked_about_once_a_second),
		cmocka_unit_test(what_is_inlined_hangs_below_its_function),
		cmocka_unit_test(changed_kernel_code_has_its_new_name),
		cmocka_unit_test(code_that_changed_unheard_is_asked_for_again),
		cmocka_unit_test(programs_that_come_and_go_have_the_names_they_came_with),
		cmocka_unit_test(a_module_that_came_has_its_own_names),
		cmocka_unit_test(many_programs_make_room),
		cmocka_unit_test(a_name_that_was_overtaken_by_a_change_is_not_used),
		cmocka_unit_test(a_file_that_cannot_be_held_is_tried_again),
		cmocka_unit_test(a_file_without_readable_names_is_given_up),
		cmocka_unit_test(names_of_another_file_are_not_taken),
		cmocka_unit_test(dynamic_names_keep_their_place),
		cmocka_unit_test(one_refused_file_is_no_reason_to_wait),
		cmocka_unit_test(a_helper_that_died_is_asked_again),
		cmocka_unit_test(numbers_are_given_again_and_names_are_not),
		cmocka_unit_test(an_unused_file_makes_room_for_another),
		cmocka_unit_test(samples_of_an_unnamed_function_are_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
