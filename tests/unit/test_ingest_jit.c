// SPDX-License-Identifier: Apache-2.0
/* Code made at run time: whose names, when they are asked for, and when they are not to be used. */
#include "ingest/jit.h"
#include "support_live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct world_process *add_compiler(struct stage *s, int32_t pid, const char *jit)
{
	struct world_process *p = world_process(s, pid, "node", "/bin/node");
	world_map(s, pid, 0x1000, 0x2000, 5, "/bin/node");
	world_map(s, pid, 0x5000, 0x6000, 0, "");
	snprintf(p->jit, sizeof(p->jit), "%s", jit);
	p->jit_turn = 1;
	return p;
}

static void two_processes_share_no_name(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	add_compiler(&s, 10, "ten");
	add_compiler(&s, 20, "twenty");
	add_compiler(&s, 30, "");
	for (int32_t pid = 10; pid <= 30; pid += 10)
		stage_sample(&s, 1 * SEC + (uint64_t)pid, pid, pid, USER(0x5110, 0x5211, 0x1011));
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "node_0;ten_52;ten_51");
	assert_string_equal(stage_stack(&s, 0, 1), "node_0;twenty_52;twenty_51");
	assert_string_equal(stage_stack(&s, 0, 2), "node_0;[jit];[jit]");
	/* Told by kind and source; one module for all. */
	const struct cam_tables *t = &s.windows[0].t;
	for (size_t i = 0; i < t->n_functions; i++) {
		const struct cam_function *f = &t->functions[i];
		if (f->kind != CAM_FUNC_JIT)
			continue;
		assert_int_equal(t->modules[f->module.v].kind, CAM_MODULE_JIT);
		assert_int_equal(t->modules[f->module.v].key.v, 0);
		assert_int_equal(f->source,
				 cam_string(t, f->name).n ? CAM_NAME_PERF_MAP : CAM_NAME_NONE);
	}
	stage_free(&s);
}

/* Without a name: one function a mapping, what adjoins it is the same one, and leaves have no offset. */
static void a_mapping_without_names_is_one_function(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	add_compiler(&s, 10, "");
	world_map(&s, 10, 0x6000, 0x7000, 0, "");
	world_map(&s, 10, 0x9000, 0xa000, 0, "");
	const uint64_t leaves[] = {0x5110, 0x5f00, 0x6120, 0x9110, 0x9f10};
	for (size_t i = 0; i < 5; i++)
		stage_sample(&s, 1 * SEC + i, 10, 10, USER(leaves[i], 0x1011));
	stage_run(&s, 5 * SEC);
	stage_close(&s);
	const struct cam_tables *t = &s.windows[0].t;
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(stage_stack(&s, 0, i), "node_0;[jit]");
		assert_int_equal(cam_place_leaf_offset(t, s.windows[0].samples[i].place),
				 CAM_OFFSET_NONE);
	}
	uint64_t starts[4];
	size_t n = 0;
	for (size_t i = 0; i < t->n_functions; i++) {
		if (t->functions[i].kind == CAM_FUNC_JIT && n < 4)
			starts[n++] = t->functions[i].start;
	}
	assert_int_equal(n, 2);
	assert_int_equal(starts[0], 0x5000);
	assert_int_equal(starts[1], 0x9000);
	stage_free(&s);
}

/* The map comes 2 s after the first sample, its names 3 s after that. */
static void maps_and_names_may_come_late(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	struct world_process *p = add_compiler(&s, 10, "");
	uint64_t at = SEC;
	for (; at < 6 * SEC; at += 100 * MS) {
		if (at == 3 * SEC) {
			snprintf(p->jit, sizeof(p->jit), "late");
			p->jit_is_late = true;
		}
		stage_sample(&s, at, 10, 10, USER(0x5110));
		stage_run(&s, at + 100 * MS);
	}
	size_t asked = s.asked[CAM_ERRAND_JIT];
	assert_in_range(asked, 2, 5);
	p->jit_is_late = false;
	stage_run(&s, 10 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "late_51");
	stage_free(&s);
}

static void another_turn_is_another_function(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	struct world_process *p = add_compiler(&s, 10, "first");
	for (uint64_t at = SEC; at < 9 * SEC; at += 100 * MS) {
		if (at == 5 * SEC) {
			snprintf(p->jit, sizeof(p->jit), "second");
			p->jit_turn++;
		}
		stage_sample(&s, at, 10, 10, USER(0x5110));
		stage_run(&s, at + 100 * MS);
	}
	stage_close(&s);
	const struct stage_window *w = &s.windows[0];
	size_t wrong = 0;
	for (size_t i = 0; i < w->n_samples; i++) {
		bool second = w->samples[i].time_ns >= 5 * SEC;
		wrong += strcmp(stage_stack(&s, 0, i), second ? "second_51" : "first_51") != 0;
	}
	/* Nobody can tell sooner than the map is read again: at most 1.4 s. */
	assert_true(wrong <= 14);
	assert_string_equal(stage_stack(&s, 0, 0), "first_51");
	assert_string_equal(stage_stack(&s, 0, w->n_samples - 1), "second_51");
	stage_free(&s);
}

/* The names are there only at the end, as of one who buffers what it writes. */
static void names_are_asked_for_once_more_at_the_end(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	struct world_process *p = add_compiler(&s, 10, "end");
	p->jit_is_late = true;
	stage_sample(&s, 1 * SEC, 10, 10, USER(0x5110));
	stage_run(&s, 6 * SEC);
	p->jit_is_late = false;
	p->gone = true;
	stage_exit(&s, 6 * SEC, 10, 10);
	stage_run(&s, 6 * SEC + 800 * MS);
	size_t forgotten = s.asked[CAM_ERRAND_FORGET];
	stage_run(&s, 9 * SEC + 900 * MS);
	/* Then its descriptor goes. */
	assert_int_equal(s.asked[CAM_ERRAND_FORGET], forgotten + 1);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "end_51");
	stage_free(&s);
}

static void another_program_is_another_source(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	struct world_process *p = add_compiler(&s, 10, "old");
	stage_sample(&s, 1 * SEC, 10, 10, USER(0x5110));
	stage_run(&s, 3 * SEC);
	snprintf(p->jit, sizeof(p->jit), "new");
	p->jit_turn++;
	stage_exec(&s, 3 * SEC, 10, "java");
	stage_map(&s, 3 * SEC + 1, 10, 0x5000, 0x6000, 0, "//anon");
	stage_sample(&s, 4 * SEC, 10, 10, USER(0x5110));
	stage_run(&s, 6 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "old_51");
	assert_string_equal(stage_stack(&s, 0, 1), "new_51");
	stage_free(&s);
}

/* The mark of a jitdump among the mappings: that file is asked for, as what it is. */
/* Asked for all the while, a JVM writes its map at most once a window: to do that it stops. */
static void a_jvm_is_woken_once_a_window(void **state)
{
	(void)state;
	struct stage s;
	for (int wanted = 0; wanted < 2; wanted++) {
		struct cam_live_options o;
		stage_options(&o);
		o.java_maps = wanted;
		o.window_ns = 10 * SEC;
		stage_open(&s, &o);
		add_compiler(&s, 10, "");
		world_map(&s, 10, 0x9000, 0xa000, 6, "/usr/lib/jvm/lib/server/libjvm.so");
		for (uint64_t t = 1 * SEC; t < 41 * SEC; t += SEC / 2) {
			stage_sample(&s, t, 10, 10, USER(0x5110, 0x5211, 0x1011));
			stage_run(&s, t + SEC / 4);
		}
		assert_in_range(s.wakes, 3 * wanted, 4 * wanted);
		stage_close(&s);
		stage_free(&s);
	}
}

/* Descriptors are few: who was sampled longest ago gives its own away. */
static void of_too_many_sources_the_longest_unsampled_goes(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	uint64_t t = SEC;
	for (int32_t pid = 10; pid < 10 + (int32_t)CAM_JIT_MAX_SOURCES; pid++, t += 10 * MS) {
		add_compiler(&s, pid, "a");
		stage_sample(&s, t, pid, pid, USER(0x5110, 0x1011));
		stage_run(&s, t + 5 * MS);
	}
	/* All but one have something to do. */
	for (int32_t pid = 10; pid < 10 + (int32_t)CAM_JIT_MAX_SOURCES; pid++, t += MS) {
		if (pid != 77)
			stage_sample(&s, t, pid, pid, USER(0x5110, 0x1011));
	}
	stage_run(&s, t);
	assert_int_equal(s.asked[CAM_ERRAND_FORGET], 0);
	add_compiler(&s, 9, "b");
	stage_sample(&s, t + MS, 9, 9, USER(0x5110, 0x1011));
	stage_run(&s, t + SEC);
	assert_int_equal(s.asked[CAM_ERRAND_FORGET], 1);
	assert_int_equal(s.forgotten, s.jit_file_of_77);
	stage_close(&s);
	stage_free(&s);
}

static void a_mapped_jitdump_goes_first(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	add_compiler(&s, 10, "dump");
	world_map(&s, 10, 0x8000, 0x9000, 77, "/home/x/.debug/jit/jit-10.dump");
	stage_sample(&s, 1 * SEC, 10, 10, USER(0x5110));
	stage_run(&s, 4 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_JIT], 0);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "dump_51");
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_processes_share_no_name),
		cmocka_unit_test(maps_and_names_may_come_late),
		cmocka_unit_test(another_turn_is_another_function),
		cmocka_unit_test(names_are_asked_for_once_more_at_the_end),
		cmocka_unit_test(another_program_is_another_source),
		cmocka_unit_test(a_mapping_without_names_is_one_function),
		cmocka_unit_test(a_jvm_is_woken_once_a_window),
		cmocka_unit_test(of_too_many_sources_the_longest_unsampled_goes),
		cmocka_unit_test(a_mapped_jitdump_goes_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
