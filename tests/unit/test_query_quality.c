// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "query/quality.h"
#include "support_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC CAM_NS_PER_SEC

/* The frames, below a mark that says why there are no more. */
static struct cam_place_id cut(struct fake_window *f, enum cam_stack_end why, const char *frame)
{
	struct cam_function mark = {
		.kind = CAM_FUNC_MARK,
		.source = CAM_NAME_OWN,
		.name = fake_str(f, "[truncated]"),
		.start = why,
	};
	struct cam_location loc = {.func_offset = CAM_OFFSET_NONE};
	struct cam_loc_id id;
	uint32_t node;
	assert_int_equal(cam_function_intern(&f->t, &mark, &loc.func), 0);
	assert_int_equal(cam_location_intern(&f->t, &loc, &id), 0);
	assert_int_equal(cam_tree_intern(&f->t, &f->t.places, 0, id.v, &node), 0);
	assert_int_equal(
		cam_tree_intern(&f->t, &f->t.places, node, fake_frame(f, frame, 0).v, &node), 0);
	return (struct cam_place_id){node};
}

static struct cam_quality quality_of(struct fake_window **windows, size_t n)
{
	struct cam_source *source = fake_source_new(windows, n);
	struct cam_selection s;
	struct cam_quality q;
	cam_selection_init(&s);
	assert_int_equal(cam_quality_build(source, &s, NULL, &q), 0);
	cam_selection_free(&s);
	source->ops->close(source);
	/* What holds of every row. */
	uint64_t samples = 0;
	for (size_t i = 0; i < q.n_rows; i++) {
		uint64_t user = q.rows[i].complete;
		for (unsigned k = 0; k < CAM_STACK_ENDS; k++)
			user += cam_stack_end_is_incomplete((enum cam_stack_end)k)
					? q.rows[i].ends[k]
					: 0;
		assert_int_equal(user, q.rows[i].user);
		assert_int_equal(q.rows[i].samples, user + q.rows[i].ends[CAM_STACK_NO_USER] +
							    q.rows[i].ends[CAM_STACK_WORKER]);
		samples += q.rows[i].samples;
	}
	assert_int_equal(samples, q.all.samples);
	return q;
}

static void assert_words(struct cam_text got, const char *want)
{
	assert_true(cam_text_equal(got, cam_text_of(want)));
}

static void marks_tell_why_in_a_window_unwound_by_tables(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id web = fake_task(f, 10, 11, "web"), cc1 = fake_task(f, 20, 20, "cc1");
	fake_add_fact(f, CAM_FACT_UNWIND, "tables in the kernel (bpf_loop)");
	for (int i = 0; i < 3; i++)
		fake_sample(f, (uint64_t)i * SEC, 0, web,
			    fake_place(f, "_start@/bin/web;@/lib/libz.so;@/lib/libz.so"));
	/* One frame is complete, if its unwinder says so. */
	fake_sample(f, 3 * SEC, 0, web, fake_place(f, "_start@/bin/web"));
	fake_sample(f, 4 * SEC, 0, web, cut(f, CAM_STACK_NO_CFI, "@/bin/web"));
	fake_sample(f, 5 * SEC, 1, cc1, cut(f, CAM_STACK_PENDING, "lex@/usr/bin/cc1"));
	fake_sample(f, 6 * SEC, 1, cc1, fake_place(f, "kthread@[kernel];@[kernel]"));
	struct cam_quality q = quality_of(&f, 1);
	assert_int_equal(q.n_rows, 2);
	const struct cam_quality_row *r = &q.rows[0];
	assert_int_equal(r->pid, 10);
	assert_int_equal(r->samples, 5);
	assert_int_equal(r->user, 5);
	assert_int_equal(r->complete, 4);
	assert_int_equal(r->ends[CAM_STACK_NO_CFI], 1);
	assert_int_equal(r->user_frames, 3 * 3 + 1 + 1);
	assert_int_equal(r->user_unnamed, 3 * 2 + 1);
	assert_words(r->worst, "/lib/libz.so");
	assert_int_equal(r->worst_unnamed, 6);
	r = &q.rows[1];
	assert_words(r->comm, "cc1");
	assert_int_equal(r->user, 1);
	assert_int_equal(r->ends[CAM_STACK_PENDING], 1);
	assert_int_equal(r->kernel_frames, 2);
	assert_int_equal(r->kernel_unnamed, 1);
	assert_int_equal(q.all.samples, 7);
	assert_int_equal(q.all.complete, 4);
	cam_quality_free(&q);
}

/* A kernel thread is a process of its own; a worker is a thread of somebody's. */
static void who_has_no_user_stack_says_why(void **state)
{
	(void)state;
	static const char kernel[] = "ret_from_fork@[kernel];io_read@[kernel]";
	struct fake_window *f = fake_window_new();
	struct cam_task_id main = fake_task(f, 10, 10, "web"),
			   worker = fake_task(f, 10, 12, "iou-wrk-10"),
			   poller = fake_task(f, 10, 13, "iou-sqp-10"),
			   ending = fake_task(f, 10, 14, "iou-w"),
			   thread = fake_task(f, 30, 30, "iou-wrk-30");
	for (size_t i = 0; i < f->t.n_tasks; i++)
		f->t.tasks[i].start_ns = 5 * SEC;
	fake_add_fact(f, CAM_FACT_UNWIND, "tables (bpf_loop)");
	fake_sample(f, 0, 0, main, fake_place(f, "_start@/bin/web"));
	fake_sample(f, SEC, 0, main, cut(f, CAM_STACK_NO_CFI, "@/bin/web"));
	fake_sample(f, 2 * SEC, 0, ending, fake_place(f, kernel));
	for (uint64_t i = 3; i < 10; i++)
		fake_sample(f, i * SEC, 0, i % 2 ? worker : poller, fake_place(f, kernel));
	fake_sample(f, 10 * SEC, 0, thread, fake_place(f, kernel));
	struct cam_quality q = quality_of(&f, 1);
	assert_int_equal(q.n_rows, 2);
	assert_int_equal(q.rows[0].pid, 10);
	assert_int_equal(q.rows[0].samples, 10);
	assert_int_equal(q.rows[0].user, 2);
	assert_int_equal(q.rows[0].ends[CAM_STACK_WORKER], 7);
	assert_int_equal(q.rows[0].ends[CAM_STACK_NO_USER], 1);
	/* However many they are, they are not what is wrong. */
	assert_int_equal(cam_quality_why(&q.rows[0]), CAM_STACK_NO_CFI);
	assert_int_equal(q.rows[1].ends[CAM_STACK_NO_USER], 1);
	assert_int_equal(q.all.ends[CAM_STACK_WORKER], 7);
	cam_quality_free(&q);
}

static struct cam_sample of(struct cam_task_id task, uint64_t time_ns, struct cam_place_id place,
			    struct cam_str_id detail)
{
	return (struct cam_sample){
		.time_ns = time_ns, .weight = 1, .task = task, .place = place, .detail = detail};
}

static void guesses_are_their_processes(void **state)
{
	(void)state;
	static const char *const hows[] = {"tables (bpf_loop)", CAM_FACT_UNWIND_FP, NULL};
	static const uint64_t of_web[] = {7, 20, 0}, of_cc1[] = {0, 0, 0};
	for (size_t how = 0; how < 3; how++) {
		struct fake_window *f = fake_window_new();
		struct cam_task_id web = fake_task(f, 10, 11, "web"),
				   cc1 = fake_task(f, 20, 20, "cc1");
		struct cam_str_id guessed = fake_str(f, CAM_DETAIL_GUESSED),
				  other = fake_str(f, "bytes=3"), none = {0};
		f->t.tasks[web.v].cgroup = fake_str(f, "/system.slice/web.service");
		if (hows[how])
			fake_add_fact(f, CAM_FACT_UNWIND, hows[how]);
		for (uint64_t i = 0; i < 20; i++) {
			struct cam_sample a = of(web, i * SEC,
						 fake_place(f, "_start@/bin/web;main@/bin/web"),
						 i < 7 ? guessed : none),
					  b = of(cc1, i * SEC + 1, fake_place(f, "_start@/bin/cc1"),
						 other);
			fake_add_sample(f, &a);
			fake_add_sample(f, &b);
		}
		struct cam_quality q = quality_of(&f, 1);
		assert_int_equal(q.n_rows, 2);
		for (size_t i = 0; i < 2; i++) {
			bool is_web = q.rows[i].pid == 10;
			assert_int_equal(q.rows[i].guessed, is_web ? of_web[how] : of_cc1[how]);
			assert_words(q.rows[i].cgroup, is_web ? "/system.slice/web.service" : "");
		}
		assert_int_equal(q.all.guessed, of_web[how]);
		cam_quality_free(&q);
	}
}

/* As windows had it before their samples said so; what samples say is not counted twice. */
static void guesses_of_older_windows_are_counters(void **state)
{
	(void)state;
	for (int marked = 0; marked < 2; marked++) {
		struct fake_window *f = fake_window_new();
		struct cam_task_id web = fake_task(f, 10, 11, "web");
		struct cam_str_id guessed = fake_str(f, CAM_DETAIL_GUESSED), none = {0};
		fake_add_fact(f, CAM_FACT_UNWIND, "tables (bpf_loop)");
		for (uint64_t i = 0; i < 20; i++) {
			struct cam_sample a = of(web, i * SEC, fake_place(f, "_start@/bin/web"),
						 marked && i < 2 ? guessed : none);
			fake_add_sample(f, &a);
		}
		fake_add_counter(f, &(struct cam_counter){10 * SEC, 10 * SEC, CAM_COUNTER_GUESSED,
							  10, 4});
		fake_add_counter(f, &(struct cam_counter){20 * SEC, 10 * SEC, CAM_COUNTER_GUESSED,
							  10, 3});
		fake_add_counter(f, &(struct cam_counter){20 * SEC, 10 * SEC, CAM_COUNTER_GUESSED,
							  30, 9});
		fake_add_counter(f, &(struct cam_counter){20 * SEC, SEC, CAM_COUNTER_RUN_DELAY, 10,
							  5});
		struct cam_quality q = quality_of(&f, 1);
		assert_int_equal(q.all.guessed, marked ? 2 : 7);
		cam_quality_free(&q);
	}
}

static void frame_pointers_are_judged_by_where_they_end(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id web = fake_task(f, 10, 10, "web");
	fake_add_fact(f, CAM_FACT_UNWIND, CAM_FACT_UNWIND_FP);
	fake_sample(f, 0, 0, web, fake_place(f, "_start@/bin/web;main@/bin/web;read@/lib/libc.so"));
	fake_sample(f, SEC, 0, web,
		    fake_place(f, "start_thread@/lib/libc.so;a@/bin/web;b@/bin/web"));
	/* Too few; and none of the known roots. */
	fake_sample(f, 2 * SEC, 0, web, fake_place(f, "main@/bin/web;read@/lib/libc.so"));
	fake_sample(f, 3 * SEC, 0, web, fake_place(f, "x@/bin/web;y@/bin/web;z@/bin/web"));
	struct cam_quality q = quality_of(&f, 1);
	assert_int_equal(q.all.complete, 2);
	assert_int_equal(q.all.ends[CAM_STACK_UNKNOWN], 2);
	cam_quality_free(&q);
}

static void code_made_at_run_time_is_counted_apart(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id node = fake_task(f, 10, 10, "node");
	fake_sample(f, 0, 0, node, fake_place(f, "_start@/bin/node;@[jit];@[jit];f@[jit]"));
	struct cam_quality q = quality_of(&f, 1);
	assert_int_equal(q.all.jit_frames, 3);
	assert_int_equal(q.all.jit_unnamed, 2);
	assert_int_equal(q.all.user_frames, 1);
	assert_int_equal(q.all.user_unnamed, 0);
	assert_int_equal(q.rows[0].worst.n, 0);
	cam_quality_free(&q);
}

/* The same process in two windows is one row; a pid used again is another. */
static void processes_are_told_apart_by_their_start(void **state)
{
	(void)state;
	struct fake_window *windows[2];
	for (int i = 0; i < 2; i++) {
		struct fake_window *f = windows[i] = fake_window_new();
		fake_str(f, i ? "other ids" : "ids");
		for (uint64_t start = 1; start <= 2; start++) {
			struct cam_task task = {.pid = 10,
						.tid = 10,
						.comm = fake_str(f, start == 1 ? "old" : "new"),
						.start_ns = start};
			struct cam_task_id id;
			assert_int_equal(cam_task_intern(&f->t, &task, &id), 0);
			for (uint64_t k = 0; k < start; k++)
				fake_sample(f, k * SEC, 0, id, fake_place(f, "main@/bin/a"));
		}
	}
	struct cam_quality q = quality_of(windows, 2);
	assert_int_equal(q.n_rows, 2);
	assert_words(q.rows[0].comm, "new");
	assert_int_equal(q.rows[0].samples, 4);
	assert_words(q.rows[1].comm, "old");
	assert_int_equal(q.rows[1].samples, 2);
	cam_quality_free(&q);
}

static void every_end_has_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++) {
		assert_non_null(cam_stack_end_words((enum cam_stack_end)i));
		assert_non_null(cam_stack_end_key((enum cam_stack_end)i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_tell_why_in_a_window_unwound_by_tables),
		cmocka_unit_test(frame_pointers_are_judged_by_where_they_end),
		cmocka_unit_test(code_made_at_run_time_is_counted_apart),
		cmocka_unit_test(processes_are_told_apart_by_their_start),
		cmocka_unit_test(every_end_has_words),
		cmocka_unit_test(who_has_no_user_stack_says_why),
		cmocka_unit_test(guesses_are_their_processes),
		cmocka_unit_test(guesses_of_older_windows_are_counters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
