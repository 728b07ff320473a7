// SPDX-License-Identifier: Apache-2.0
#include "model/cursor.h"
#include "model/tables.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct cam_tables make(void)
{
	struct cam_tables t;
	assert_int_equal(cam_tables_init(&t, 64u << 20), 0);
	return t;
}

static struct cam_str_id str(struct cam_tables *t, const char *s)
{
	struct cam_str_id id;
	assert_int_equal(cam_string_intern(t, cam_text_of(s), &id), 0);
	return id;
}

static struct cam_func_id func(struct cam_tables *t, const char *name)
{
	struct cam_func_id id;
	struct cam_function f = {.name = str(t, name), .source = CAM_NAME_SYMTAB};
	assert_int_equal(cam_function_intern(t, &f, &id), 0);
	return id;
}

static struct cam_loc_id loc(struct cam_tables *t, uint64_t address, struct cam_func_id f)
{
	struct cam_loc_id id;
	struct cam_location l = {.address = address, .func = f, .func_offset = 4};
	assert_int_equal(cam_location_intern(t, &l, &id), 0);
	return id;
}

static void the_same_content_is_the_same_row(void **state)
{
	(void)state;
	struct cam_tables t = make();
	assert_int_equal(str(&t, "").v, 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20000; i++) {
			char name[32];
			snprintf(name, sizeof(name), "name%d", i);
			assert_int_equal(str(&t, name).v, i + 1);
		}
	}
	assert_int_equal(t.strings.n, 20001);
	struct cam_str_id with_zero;
	assert_int_equal(cam_string_intern(&t, (struct cam_text){"a\0b", 3}, &with_zero), 0);
	assert_int_not_equal(with_zero.v, str(&t, "a").v);
	assert_int_equal(cam_string(&t, with_zero).n, 3);
	cam_tables_free(&t);
}

static void every_field_of_a_task_counts(void **state)
{
	(void)state;
	struct cam_tables t = make();
	struct cam_task base = {.pid = 1, .tid = 2, .uid = 3, .start_ns = 4};
	struct cam_task others[] = {base, base, base, base, base, base, base};
	others[0].pid = 9;
	others[1].tid = 9;
	others[2].uid = 9;
	others[3].start_ns = 9;
	others[4].comm = str(&t, "c");
	others[5].exe = str(&t, "e");
	others[6].cgroup = str(&t, "g");
	struct cam_task_id id;
	assert_int_equal(cam_task_intern(&t, &base, &id), 0);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(cam_task_intern(&t, &others[i], &id), 0);
		assert_int_equal(id.v, i + 1);
	}
	assert_int_equal(cam_task_intern(&t, &base, &id), 0);
	assert_int_equal(id.v, 0);
	cam_tables_free(&t);
}

/* a calls b, in which c was inlined, and in that d. */
static void inlined_functions_are_frames(void **state)
{
	(void)state;
	struct cam_tables t = make();
	struct cam_func_id want[] = {func(&t, "d"), func(&t, "c"), func(&t, "b"), func(&t, "a")};
	struct cam_loc_id frames[] = {loc(&t, 0x11, want[2]), loc(&t, 0x1, want[3])};
	struct cam_place_id place;
	struct cam_stack_id stack;
	uint32_t node;
	assert_int_equal(cam_tree_intern(&t, &t.inlines, 0, want[1].v, &node), 0);
	assert_int_equal(cam_tree_intern(&t, &t.inlines, node, want[0].v, &node), 0);
	cam_location_inline(&t, frames[0], node);
	cam_location_inline(&t, frames[0], 0); /* once: no effect */
	assert_int_equal(cam_place_intern(&t, frames, 2, &place), 0);
	assert_int_equal(cam_place_stack(&t, place, &stack), 0);
	uint32_t at = stack.v;
	for (size_t i = 0; i < 4; i++, at = t.stacks.parent[at])
		assert_int_equal(t.stacks.item[at], want[i].v);
	assert_int_equal(at, 0);
	cam_tables_free(&t);
}

static size_t stack_depth(const struct cam_tables *t, uint32_t node)
{
	size_t n = 0;
	for (; node; node = t->stacks.parent[node])
		n++;
	return n;
}

/* Two frames at each place: from the 513th on they are shown without what was inlined. */
static void deep_stacks_go_without_inlined_functions(void **state)
{
	(void)state;
	struct cam_tables t = make();
	struct cam_func_id f = func(&t, "f");
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	uint32_t node;
	assert_int_equal(cam_tree_intern(&t, &t.inlines, 0, func(&t, "in").v, &node), 0);
	for (size_t i = 0; i < CAM_MAX_STACK_FRAMES; i++) {
		frames[i] = loc(&t, 0x1000 + i, f);
		cam_location_inline(&t, frames[i], node);
	}
	for (size_t n = 1; n <= CAM_MAX_STACK_FRAMES; n++) {
		struct cam_place_id place;
		struct cam_stack_id stack;
		assert_int_equal(cam_place_intern(&t, frames + CAM_MAX_STACK_FRAMES - n, n, &place),
				 0);
		assert_int_equal(cam_place_stack(&t, place, &stack), 0);
		size_t depth = stack_depth(&t, stack.v);
		assert_true(depth >= n && depth <= CAM_MAX_STACK_FRAMES);
		if (n <= CAM_MAX_STACK_FRAMES / 2)
			assert_int_equal(depth, 2 * n);
	}
	cam_tables_free(&t);
}

static void stacks_are_paths_of_functions(void **state)
{
	(void)state;
	struct cam_tables t = make();
	struct cam_func_id a = func(&t, "a"), b = func(&t, "b");
	/* Two addresses of b: two places, one stack. Leaf first. */
	struct cam_loc_id one[] = {loc(&t, 0x11, b), loc(&t, 0x1, a)};
	struct cam_loc_id two[] = {loc(&t, 0x12, b), loc(&t, 0x1, a)};
	struct cam_place_id p1, p2;
	assert_int_equal(cam_place_intern(&t, one, 2, &p1), 0);
	assert_int_equal(cam_place_intern(&t, two, 2, &p2), 0);
	assert_int_not_equal(p1.v, p2.v);
	struct cam_stack_id s1, s2;
	assert_int_equal(cam_place_stack(&t, p1, &s1), 0);
	assert_int_equal(cam_place_stack(&t, p2, &s2), 0);
	assert_int_equal(s1.v, s2.v);
	assert_int_equal(t.stacks.item[s1.v], b.v);
	assert_int_equal(t.stacks.item[t.stacks.parent[s1.v]], a.v);
	assert_int_equal(t.stacks.parent[t.stacks.parent[s1.v]], 0);
	assert_true(cam_place_leaf_offset(&t, p1) == 4);
	struct cam_place_id empty;
	assert_int_equal(cam_place_intern(&t, NULL, 0, &empty), 0);
	assert_int_equal(empty.v, 0);
	assert_int_equal(cam_place_stack(&t, empty, &s1), 0);
	assert_int_equal(s1.v, 0);
	assert_true(cam_place_leaf_offset(&t, empty) == CAM_OFFSET_NONE);
	cam_tables_free(&t);
}

static void a_late_name_changes_stacks_once_forgotten(void **state)
{
	(void)state;
	struct cam_tables t = make();
	struct cam_module m = {.path = str(&t, "/usr/lib/libz.so"), .kind = CAM_MODULE_FILE};
	struct cam_module_id module;
	assert_int_equal(cam_module_intern(&t, &m, &module), 0);
	struct cam_location l = {.address = 0x40,
				 .module = module,
				 .func = {CAM_NONE},
				 .func_offset = CAM_OFFSET_NONE,
				 .late = true};
	struct cam_loc_id id, again;
	assert_int_equal(cam_location_intern(&t, &l, &id), 0);
	struct cam_place_id p;
	struct cam_stack_id before, after;
	char room[64];
	assert_int_equal(cam_place_intern(&t, &id, 1, &p), 0);
	assert_int_equal(cam_place_stack(&t, p, &before), 0);
	struct cam_func_id unnamed = {t.stacks.item[before.v]};
	struct cam_text label = cam_function_label(&t, unnamed, room, sizeof(room));
	assert_true(cam_text_equal(label, CAM_TEXT("[libz.so+0x40]")));
	assert_true(t.functions[unnamed.v].start == 0x40);

	cam_location_name(&t, id, func(&t, "inflate"), 8);
	cam_location_name(&t, id, func(&t, "wrong"), 9);
	assert_int_equal(cam_location_intern(&t, &l, &again), 0);
	assert_int_equal(again.v, id.v);
	cam_tables_forget_stacks(&t);
	assert_int_equal(cam_place_stack(&t, p, &after), 0);
	label = cam_function_label(&t, (struct cam_func_id){t.stacks.item[after.v]}, room,
				   sizeof(room));
	assert_true(cam_text_equal(label, CAM_TEXT("inflate")));
	cam_tables_free(&t);
}

/* Whatever a module is called, a frame of it without a name is shown as something. */
static void no_label_is_empty(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		uint64_t start;
		const char *label;
	} cases[] = {
		{"/lib/libz.so", 0x40, "[libz.so+0x40]"},
		{"/lib/libz.so", 0, "[libz.so]"},
		{"/", 0, "[/]"},
		{"/mnt/dir/", 0, "[/mnt/dir/]"},
		{"/mnt/dir/", 0x40, "[/mnt/dir/+0x40]"},
		{"", 0, "[unknown]"},
		{"[]", 0, "[unknown]"},
		{"[vdso]", 0x40, "[vdso]"},
		{"//anon", 0, "[jit]"},
	};
	struct cam_tables t;
	assert_int_equal(cam_tables_init(&t, 1u << 20), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_module m = {.path = str(&t, cases[i].path), .kind = CAM_MODULE_FILE};
		struct cam_function f = {.start = cases[i].start};
		struct cam_func_id id;
		char room[64];
		assert_int_equal(cam_module_intern(&t, &m, &f.module), 0);
		assert_int_equal(cam_function_intern(&t, &f, &id), 0);
		struct cam_text label = cam_function_label(&t, id, room, sizeof(room));
		if (!cam_text_equal(label, cam_text_of(cases[i].label)))
			fail_msg("%s: %.*s", cases[i].path, (int)label.n, label.p);
	}
	cam_tables_free(&t);
}

static void bounds_hold_and_leave_the_tables_whole(void **state)
{
	(void)state;
	struct cam_tables t;
	assert_int_equal(cam_tables_init(&t, 1u << 20), 0);
	int err = 0;
	uint32_t i = 0;
	for (; !err && i < 10000000; i++) {
		struct cam_str_id id;
		char name[32];
		snprintf(name, sizeof(name), "%u", i);
		err = cam_string_intern(&t, cam_text_of(name), &id);
	}
	assert_int_equal(err, -E2BIG);
	/* Doubling may overshoot by the last step, not more. */
	assert_true(t.bytes <= 2u << 20);
	assert_int_equal(str(&t, "0").v, 1);
	char last[32];
	snprintf(last, sizeof(last), "%u", i - 2);
	assert_int_equal(str(&t, last).v, i - 1);
	struct cam_loc_id deep[CAM_MAX_STACK_FRAMES + 1] = {{0}};
	struct cam_place_id p;
	assert_int_equal(cam_place_intern(&t, deep, CAM_MAX_STACK_FRAMES + 1, &p), -E2BIG);
	cam_tables_free(&t);
}

static void gaps_between_windows_are_typed(void **state)
{
	(void)state;
	struct cam_window_info a = {.start_ns = 100, .end_ns = 200, .clean_end = true}, b = a;
	struct cam_ledger_row row;
	b.start_ns = 200;
	assert_false(cam_gap_between(&a, &b, &row));
	b.start_ns = 250;
	assert_true(cam_gap_between(&a, &b, &row));
	assert_int_equal(row.cause, CAM_CAUSE_NOT_RECORDING);
	assert_true(row.from_ns == 200 && row.to_ns == 250);
	a.clean_end = false;
	/* Still being written: where it ends is not known. */
	assert_false(cam_gap_between(&a, &b, &row));
	a.sealed = true;
	assert_true(cam_gap_between(&a, &b, &row));
	assert_int_equal(row.cause, CAM_CAUSE_RECORDER_DEAD);
	/* After a reboot the clock begins anew: unobserved from the boot on. */
	b.boot_id.bytes[0] = 1;
	b.start_ns = 50;
	assert_true(cam_gap_between(&a, &b, &row));
	assert_true(row.from_ns == 0 && row.to_ns == 50);
	b.imported = true;
	assert_false(cam_gap_between(&a, &b, &row));
}

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum shape { PLAIN, ONE_FUNCTION, FUNCTION_AND_OFFSET, USER_AND_START, SHAPES };

/* What 60,000 rows take, in each of which some fields were chosen with a view to the others. */
static double seconds_of(enum shape shape)
{
	struct cam_tables t = make();
	double begun = cpu_seconds();
	for (uint64_t i = 0; i < 60000; i++) {
		struct cam_location l = {.address = 0x1000 + 16 * i, .func = {(uint32_t)i}};
		struct cam_task k = {.pid = 7,
				     .tid = 7,
				     .uid = (uint32_t)i,
				     .start_ns = 0x1234567890abcdefull ^ i << 32};
		struct cam_loc_id loc;
		struct cam_task_id task;
		if (shape == ONE_FUNCTION)
			l.func.v = 1;
		if (shape == FUNCTION_AND_OFFSET) {
			l.address = 0x1000;
			l.func_offset = 0x70000000u ^ i << 16;
		}
		if (shape == USER_AND_START) {
			assert_int_equal(cam_task_intern(&t, &k, &task), 0);
			assert_int_equal(task.v, t.n_tasks - 1);
		} else {
			assert_int_equal(cam_location_intern(&t, &l, &loc), 0);
			assert_int_equal(loc.v, t.n_locations - 1);
		}
	}
	cam_tables_free(&t);
	return cpu_seconds() - begun;
}

/* Files say what these fields are: none can be chosen so that all rows have one hash, and each is compared with all. */
static void chosen_fields_take_no_longer(void **state)
{
	(void)state;
	double plain = seconds_of(PLAIN);
	for (enum shape shape = ONE_FUNCTION; shape < SHAPES; shape++)
		assert_true(seconds_of(shape) < 30 * plain + 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_content_is_the_same_row),
		cmocka_unit_test(every_field_of_a_task_counts),
		cmocka_unit_test(stacks_are_paths_of_functions),
		cmocka_unit_test(inlined_functions_are_frames),
		cmocka_unit_test(deep_stacks_go_without_inlined_functions),
		cmocka_unit_test(a_late_name_changes_stacks_once_forgotten),
		cmocka_unit_test(no_label_is_empty),
		cmocka_unit_test(bounds_hold_and_leave_the_tables_whole),
		cmocka_unit_test(gaps_between_windows_are_typed),
		cmocka_unit_test(chosen_fields_take_no_longer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
