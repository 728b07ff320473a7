// SPDX-License-Identifier: Apache-2.0
/*
 * Counting, merging, filtering and sorting of folded lines over hand-made windows. What names
 * become is tested in test_interop_collapse.c, the whole way from text in tests/cli.
 */
#include "interop/folded_lines.h"
#include "interop/folded_out.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC 1000000000ull

static char *fold(struct cam_folded *f)
{
	struct cam_buf text = CAM_BUF(64 << 20);
	struct cam_out out;
	cam_out_to_buf(&out, &text);
	assert_int_equal(cam_folded_write(f, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&text, 0);
	return (char *)text.data;
}

static struct cam_folded *folded_new(const struct cam_folded_options *o)
{
	struct cam_folded *f;
	assert_int_equal(cam_folded_new(o, &f), 0);
	return f;
}

/* The lines of one window. */
static void check(struct fake_window *fw, const struct cam_folded_options *o, const char *expected)
{
	struct cam_folded *f = folded_new(o);
	assert_int_equal(cam_folded_add(f, fake_window_ready(fw), CAM_RANGE_ALL), 0);
	char *text = fold(f);
	assert_string_equal(text, expected);
	free(text);
	cam_folded_free(f);
}

static void add(struct fake_window *fw, struct cam_task_id task, struct cam_place_id place,
		struct cam_etype_id etype, uint64_t weight, const char *detail)
{
	struct cam_sample s = {.time_ns = SEC + fw->n_samples,
			       .weight = weight,
			       .task = task,
			       .place = place,
			       .etype = etype,
			       .detail = fake_str(fw, detail)};
	fake_add_sample(fw, &s);
}

static void samples_are_counted_by_text(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_task_id a = fake_task(fw, 10, 10, "cc1"), b = fake_task(fw, 11, 12, "cc1");
	struct cam_task_id c = fake_task(fw, 11, 13, "as well");
	struct cam_place_id lex = fake_place(fw, "main;lex(int)"),
			    lex2 = fake_place(fw, "main;lex");
	fake_sample(fw, 3 * SEC, 0, a, lex);
	fake_sample(fw, 1 * SEC, 1, b, lex);
	fake_sample(fw, 2 * SEC, 0, b, lex2);
	fake_sample(fw, 2 * SEC, 0, c, lex2);
	fake_sample(fw, 2 * SEC, 0, c, fake_place(fw, ""));
	fake_sample(fw, 2 * SEC, 0, a, fake_place(fw, "main;f;f;f"));
	struct cam_folded_options o = {.weight = CAM_FOLDED_SAMPLES};
	const char *plain = "as_well 1\nas_well;main;lex 1\ncc1;main;f;f;f 1\ncc1;main;lex 3\n";
	check(fw, &o, plain);
	/* From the totals alone; periods need the samples, and are 1 here. */
	assert_int_equal(fw->samples_calls, 0);
	o.weight = CAM_FOLDED_PERIOD;
	check(fw, &o, plain);
	assert_int_equal(fw->samples_calls, 1);
	o.rules.with_pid = true;
	check(fw, &o,
	      "as_well-11 1\nas_well-11;main;lex 1\ncc1-10;main;f;f;f 1\ncc1-10;main;lex 1\n"
	      "cc1-11;main;lex 2\n");
	o.rules.with_tid = true;
	check(fw, &o,
	      "as_well-11/13 1\nas_well-11/13;main;lex 1\ncc1-10/10;main;f;f;f 1\n"
	      "cc1-10/10;main;lex 1\ncc1-11/12;main;lex 2\n");
	fake_window_free(fw);
}

static void windows_are_merged(void **state)
{
	(void)state;
	struct cam_folded_options o = {.weight = CAM_FOLDED_SAMPLES};
	struct cam_folded *f = folded_new(&o);
	for (int i = 0; i < 3; i++) {
		struct fake_window *fw = fake_window_new();
		/* Ids differ from window to window, texts do not. */
		for (int k = 0; k < i; k++)
			fake_place(fw, k ? "x;y" : "z");
		fake_sample(fw, SEC, 0, fake_task(fw, i, i, "sh"), fake_place(fw, "main;run"));
		fake_sample(fw, 2 * SEC, 0, fake_task(fw, i, i, i ? "ls" : "sh"),
			    fake_place(fw, "main"));
		struct cam_window *w = fake_window_ready(fw);
		w->damage.samples = 5;
		assert_int_equal(cam_folded_add(f, w, CAM_RANGE_ALL), 0);
		w->ops->close(w);
	}
	char *text = fold(f);
	assert_string_equal(text, "ls;main 2\nsh;main 1\nsh;main;run 3\n");
	free(text);
	struct cam_folded_stats st = cam_folded_stats(f);
	assert_int_equal(st.windows, 3);
	assert_int_equal(st.samples, 6);
	assert_int_equal(st.counted, 6);
	assert_int_equal(st.weight, 6);
	assert_int_equal(st.lines, 3);
	assert_int_equal(st.damage.samples, 15);
	cam_folded_free(f);
}

static void a_range_takes_part_of_a_window(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_task_id a = fake_task(fw, 10, 10, "cc1");
	fake_sample(fw, 1 * SEC, 0, a, fake_place(fw, "one"));
	fake_sample(fw, 2 * SEC, 0, a, fake_place(fw, "two"));
	fake_sample(fw, 3 * SEC, 0, a, fake_place(fw, "three"));
	struct cam_folded_options o = {.weight = CAM_FOLDED_SAMPLES};
	struct cam_folded *f = folded_new(&o);
	struct cam_range r = {2 * SEC, 3 * SEC};
	assert_int_equal(cam_folded_add(f, fake_window_ready(fw), r), 0);
	char *text = fold(f);
	assert_string_equal(text, "cc1;two 1\n");
	free(text);
	cam_folded_free(f);
	fake_window_free(fw);
}

static void only_one_event_type_is_counted(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_etype_id cycles = fake_etype(fw, "cycles", 0, true);
	struct cam_etype_id faults = fake_etype(fw, "page-faults", 0, true);
	struct cam_task_id a = fake_task(fw, 10, 10, "cc1");
	struct cam_place_id main_ = fake_place(fw, "main");
	/* Id 0, cpu-clock, has no samples; faults come first in time, cycles were named first. */
	add(fw, a, main_, faults, 7, "");
	add(fw, a, main_, cycles, 100, "");
	add(fw, a, main_, cycles, 0, "");
	for (int imported = 0; imported < 2; imported++) {
		fw->w.info.imported = imported;
		struct cam_folded_options o = {0};
		/* A printed period of 0 counts as 1. */
		check(fw, &o, imported ? "cc1;main 101\n" : "cc1;main 100\n");
		o.weight = CAM_FOLDED_SAMPLES;
		check(fw, &o, "cc1;main 2\n");
		o.weight = CAM_FOLDED_PERIOD;
		o.event_type = CAM_TEXT("page-faults");
		check(fw, &o, "cc1;main 7\n");
		o.event_type = CAM_TEXT("no-such");
		check(fw, &o, "");
	}
	struct cam_folded_options o = {0};
	struct cam_folded *f = folded_new(&o);
	assert_int_equal(cam_folded_add(f, &fw->w, CAM_RANGE_ALL), 0);
	struct cam_folded_stats st = cam_folded_stats(f);
	assert_true(cam_text_equal(st.event, CAM_TEXT("cycles")));
	assert_true(cam_text_equal(st.other, CAM_TEXT("page-faults")));
	assert_int_equal(st.samples, 3);
	assert_int_equal(st.counted, 2);
	assert_int_equal(st.filtered, 1);
	cam_folded_free(f);
	fake_window_free(fw);
}

static void the_first_window_chooses_the_event(void **state)
{
	(void)state;
	struct cam_folded_options o = {0};
	struct cam_folded *f = folded_new(&o);
	for (int i = 0; i < 2; i++) {
		struct fake_window *fw = fake_window_new();
		struct cam_task_id a = fake_task(fw, 10, 10, "cc1");
		struct cam_etype_id x = fake_etype(fw, i ? "b" : "a", 0, true);
		struct cam_etype_id y = fake_etype(fw, i ? "a" : "b", 0, true);
		add(fw, a, fake_place(fw, "first"), x, 1, "");
		add(fw, a, fake_place(fw, "second"), y, 10, "");
		assert_int_equal(cam_folded_add(f, fake_window_ready(fw), CAM_RANGE_ALL), 0);
		fake_window_free(fw);
	}
	char *text = fold(f);
	assert_string_equal(text, "cc1;first 1\ncc1;second 10\n");
	free(text);
	cam_folded_free(f);
}

static void samples_with_a_text_are_of_no_type(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_etype_id sw = fake_etype(fw, "sched:sched_switch", 0, true);
	struct cam_etype_id cycles = fake_etype(fw, "cycles", 0, true);
	struct cam_task_id a = fake_task(fw, 10, 10, "cc1");
	add(fw, a, fake_place(fw, "switch"), sw, 50, "prev=1 next=2");
	add(fw, a, fake_place(fw, "work"), cycles, 1000, "");
	add(fw, a, fake_place(fw, "odd"), sw, 3, "x: 40 cycles:");
	add(fw, a, fake_place(fw, "other"), sw, 3, "x: 40 instructions:");
	struct cam_folded_options o = {0};
	/* perfcam's own windows know the type of every sample. */
	check(fw, &o, "cc1;odd 3\ncc1;other 3\ncc1;switch 50\n");
	fw->w.info.imported = true;
	check(fw, &o, "cc1;odd 40\ncc1;switch 1\ncc1;work 1000\n");
	/* A text without times names no type at all. */
	fw->w.info.clock = CAM_CLOCK_ABSENT;
	check(fw, &o, "cc1;odd 40\ncc1;switch 1\ncc1;work 1\n");
	fake_window_free(fw);
}

/* The first event met is counted, even if it is a text that reads like one. */
static void a_text_may_name_the_event(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct fake_window *fw = fake_window_new();
		struct cam_etype_id cycles = fake_etype(fw, "cycles", 0, true);
		struct cam_task_id a = fake_task(fw, 10, 10, "cc1");
		fw->w.info.imported = true;
		if (late)
			add(fw, a, fake_place(fw, "work"), cycles, 1000, "");
		add(fw, a, fake_place(fw, "odd"), cycles, 3, "x: 40 other:");
		if (!late)
			add(fw, a, fake_place(fw, "work"), cycles, 1000, "");
		struct cam_folded_options o = {0};
		check(fw, &o, late ? "cc1;work 1000\n" : "cc1;odd 40\n");
		fake_window_free(fw);
	}
}

static void folded_files_are_passed_on(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	fw->w.info.imported = true;
	fw->w.info.clock = CAM_CLOCK_ABSENT;
	fake_add_fact(fw, "format", "folded");
	struct cam_etype_id e = fake_etype(fw, "samples", 0, true);
	add(fw, fake_task(fw, -1, -1, "a b"), fake_place(fw, "f(int);->;(g)"), e, 12, "");
	add(fw, fake_task(fw, -1, -1, ""), fake_place(fw, "x y"), e, 3, "");
	struct cam_folded_options o = {.rules = {.with_pid = true}};
	check(fw, &o, ";x y 3\na b;f(int);->;(g) 12\n");
	fake_window_free(fw);
}

static void addresses_come_from_places_or_function_starts(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_loc_id loc = fake_frame(fw, "@/lib/x.so", 0x10);
	struct cam_place_id place;
	struct cam_folded_options o = {.rules = {.addrs = true}};
	char expected[200];
	assert_int_equal(cam_place_intern(&fw->t, &loc, 1, &place), 0);
	fake_sample(fw, SEC, 0, fake_task(fw, 10, 10, "cc1"), place);
	unsigned long address = fw->t.locations[loc.v].address;
	fw->w.info.has_places = true;
	snprintf(expected, sizeof(expected), "cc1;[x.so <%lx>] 1\n", address);
	check(fw, &o, expected);
	fw->w.info.has_places = false;
	snprintf(expected, sizeof(expected), "cc1;[x.so <%lx>] 1\n", address - 0x10);
	check(fw, &o, expected);
	struct cam_folded *f = folded_new(&o);
	assert_int_equal(cam_folded_add(f, &fw->w, CAM_RANGE_ALL), 0);
	assert_int_equal(cam_folded_stats(f).entry_addresses, 1);
	cam_folded_free(f);
	o.rules.addrs = false;
	snprintf(expected, sizeof(expected), "cc1;[x.so+0x%lx] 1\n", address - 0x10);
	check(fw, &o, expected);
	fake_window_free(fw);
}

static void java_names_depend_on_the_root(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_place_id place = fake_place(fw, "Lorg/A");
	fake_sample(fw, SEC, 0, fake_task(fw, 1, 1, "java"), place);
	fake_sample(fw, SEC, 0, fake_task(fw, 2, 2, "node"), place);
	struct cam_folded_options o = {0};
	check(fw, &o, "java;org/A 1\nnode;Lorg/A 1\n");
	fake_window_free(fw);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All lines over a small alphabet around ' ' and ';', against qsort of their texts. */
static void lines_are_sorted_by_bytes(void **state)
{
	(void)state;
	static const char *const names[] = {"",	  " ",	"a",   "a ",   "a 1", "a 10", "a!",  "a.b",
					    "a:", "a<", "a\t", "a 1 ", "a 9", "b",    "\xff"};
	enum { N = sizeof(names) / sizeof(names[0]), LINES = N + N * N + N * N * N };
	struct cam_folded_lines l;
	char **lines = calloc(LINES, sizeof(*lines));
	size_t n = 0;
	assert_int_equal(cam_folded_lines_init(&l, 64 << 20), 0);
	for (size_t i = 0; i < LINES; i++) {
		size_t depth = i < N ? 1 : i < N + N * N ? 2 : 3;
		size_t code = i - (depth > 1 ? N : 0) - (depth > 2 ? N * N : 0);
		uint32_t node = 0;
		char text[100] = "";
		for (size_t d = 0; d < depth; d++, code /= N) {
			struct cam_str_id name;
			assert_int_equal(cam_string_intern(&l.names, cam_text_of(names[code % N]),
							   &name),
					 0);
			assert_int_equal(cam_folded_lines_node(&l, node, name, &node), 0);
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 d ? ";" : "", names[code % N]);
		}
		uint64_t count = i * 7919 % 101;
		assert_int_equal(cam_folded_lines_add(&l, node, count), 0);
		if (count)
			assert_true(asprintf(&lines[n++], "%s %d\n", text, (int)count) > 0);
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	struct cam_buf text = CAM_BUF(1 << 20);
	struct cam_out out;
	uint64_t written;
	cam_out_to_buf(&out, &text);
	assert_int_equal(cam_folded_lines_write(&l, &out, &written), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	assert_int_equal(written, n);
	const char *p = (char *)text.data;
	for (size_t i = 0; i < n; i++) {
		if (strncmp(p, lines[i], strlen(lines[i])) != 0)
			fail_msg("line %zu is not %s", i, lines[i]);
		p += strlen(lines[i]);
		free(lines[i]);
	}
	assert_int_equal(p - (char *)text.data, text.len);
	free(lines);
	cam_buf_free(&text);
	cam_folded_lines_free(&l);
}

/* More distinct stacks than the table of counts holds, in a window and in all. */
static void the_table_of_counts_is_bounded(void **state)
{
	(void)state;
	enum { STACKS = 300000 };
	struct fake_window *fw = fake_window_new();
	struct cam_task_id a = fake_task(fw, 10, 10, "cc1");
	struct cam_loc_id fn[100];
	for (int i = 0; i < 100; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%02d", i);
		fn[i] = fake_frame(fw, name, 0);
	}
	for (unsigned i = 0; i < 2 * STACKS; i++) {
		struct cam_loc_id frames[] = {fn[i % 100], fn[i / 100 % 100], fn[i / 10000 % 30]};
		struct cam_place_id place;
		assert_int_equal(cam_place_intern(&fw->t, frames, 3, &place), 0);
		fake_sample(fw, SEC + i, 0, a, place);
	}
	struct cam_folded_options o = {0};
	struct cam_folded *f = folded_new(&o);
	assert_int_equal(cam_folded_add(f, fake_window_ready(fw), CAM_RANGE_ALL), 0);
	char *text = fold(f);
	assert_int_equal(cam_folded_stats(f).lines, STACKS);
	assert_int_equal(cam_folded_stats(f).weight, 2 * STACKS);
	const char *p = text;
	for (unsigned i = 0; i < STACKS; i++) {
		char line[64];
		int n = snprintf(line, sizeof(line), "cc1;f%02u;f%02u;f%02u 2\n", i / 10000,
				 i / 100 % 100, i % 100);
		assert_memory_equal(p, line, (size_t)n);
		p += n;
	}
	free(text);
	cam_folded_free(f);

	o.max_bytes = 1 << 20;
	f = folded_new(&o);
	assert_int_equal(cam_folded_add(f, &fw->w, CAM_RANGE_ALL), 0);
	struct cam_folded_stats st = cam_folded_stats(f);
	assert_true(st.dropped > 0 && st.counted > 0);
	assert_int_equal(st.dropped + st.counted, 2 * STACKS);
	assert_int_equal(st.weight, st.counted);
	assert_true(fw->t.bytes > 1 << 20);
	free(fold(f));
	cam_folded_free(f);
	fake_window_free(fw);
}

static void errors_of_the_window_are_answered(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_folded_options o = {0};
	struct cam_folded *f = folded_new(&o);
	fake_sample(fw, SEC, 0, fake_task(fw, 1, 1, "x"), fake_place(fw, "f"));
	fake_window_ready(fw);
	fw->fail_samples = -EBADMSG;
	assert_int_equal(cam_folded_add(f, &fw->w, CAM_RANGE_ALL), -EBADMSG);
	fw->fail_samples = 0;
	assert_int_equal(cam_folded_add(f, &fw->w, CAM_RANGE_ALL), 0);
	char *text = fold(f);
	assert_string_equal(text, "x;f 1\n");
	free(text);
	cam_folded_free(f);
	fake_window_free(fw);
}

static void sums_stop_at_the_top(void **state)
{
	(void)state;
	struct fake_window *fw = fake_window_new();
	struct cam_etype_id e = fake_etype(fw, "e", 0, true);
	struct cam_task_id a = fake_task(fw, 10, 10, "cc1"), b = fake_task(fw, 10, 10, "as");
	add(fw, a, fake_place(fw, "f"), e, UINT64_MAX - 1, "");
	add(fw, a, fake_place(fw, "f"), e, 5, "");
	add(fw, b, fake_place(fw, "f"), e, UINT64_MAX - 1, "");
	struct cam_folded_options o = {0};
	check(fw, &o, "as;f 18446744073709551614\ncc1;f 18446744073709551615\n");
	fake_window_free(fw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_counted_by_text),
		cmocka_unit_test(windows_are_merged),
		cmocka_unit_test(a_range_takes_part_of_a_window),
		cmocka_unit_test(only_one_event_type_is_counted),
		cmocka_unit_test(the_first_window_chooses_the_event),
		cmocka_unit_test(samples_with_a_text_are_of_no_type),
		cmocka_unit_test(a_text_may_name_the_event),
		cmocka_unit_test(folded_files_are_passed_on),
		cmocka_unit_test(addresses_come_from_places_or_function_starts),
		cmocka_unit_test(java_names_depend_on_the_root),
		cmocka_unit_test(lines_are_sorted_by_bytes),
		cmocka_unit_test(the_table_of_counts_is_bounded),
		cmocka_unit_test(errors_of_the_window_are_answered),
		cmocka_unit_test(sums_stop_at_the_top),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
