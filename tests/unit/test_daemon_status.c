// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"
#include "daemon/status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t number(struct cam_json_value v, const char *key)
{
	struct cam_json_value m;
	uint64_t n = 0;
	if (!cam_json_value_get(v, key, &m) || !cam_json_value_u64(m, &n))
		fail_msg("%s is no number", key);
	return n;
}

static void test_written(void **state)
{
	(void)state;
	const struct cam_status_process processes[] = {
		{"recorder", 41, 1500000000, 1200, 20971520, 0},
		{"opener", 42, 7, 0, 1, 3},
	};
	const struct cam_status_budget budgets[] = {{"rings", 5, 10, 1}};
	const struct cam_status_error errors[] = {{-1, 3, CAM_TEXT("a \"b\"\n")}};
	struct cam_status s = {
		.store = CAM_TEXT("/var/lib/perfcam"),
		.since_realtime_ns = 1776222847250000000,
		.source = "bpf",
		.hz = 97,
		.oldest_realtime_ns = INT64_MIN,
		.processes = processes,
		.n_processes = 2,
		.budgets = budgets,
		.n_budgets = 1,
		.errors = errors,
		.n_errors = 1,
		.kernel_stacks = true,
		.stacks = {.how = CAM_TEXT("by hand"), .ends[CAM_STACK_PENDING] = 4, .copies = 7},
		.names = {31, 2, 5, 1, 3, 4},
	};
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		s.by_cause[i] = 100 + i;
	struct cam_buf out = CAM_BUF(65536);
	struct cam_json_value v, list, e;
	char room[32];
	cam_status_write(&s, &out);
	assert_int_equal(cam_buf_error(&out), 0);
	assert_int_equal(out.data[out.len - 1], '\n');
	assert_int_equal(cam_json_value_parse((struct cam_text){(char *)out.data, out.len}, &v), 0);
	assert_int_equal(number(v, "since_realtime_ns"), 1776222847250000000);
	assert_int_equal(number(v, "hz"), 97);
	assert_true(cam_json_value_get(v, "source", &e) && cam_json_value_string(e, room, 32));
	assert_string_equal(room, "bpf");
	assert_true(cam_json_value_get(v, "oldest_realtime_ns", &e));
	assert_memory_equal(e.text.p, "null", 4);
	/* Every cause, under its own key. */
	assert_true(cam_json_value_get(v, "by_cause", &list));
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		assert_int_equal(number(list, cam_cause_key((enum cam_cause)i)), 100 + i);
	struct cam_json_value stacks, ends;
	assert_true(cam_json_value_get(v, "stacks", &stacks));
	assert_true(cam_json_value_get(stacks, "ends", &ends));
	assert_int_equal(number(ends, "pending"), 4);
	assert_int_equal(number(ends, "complete"), 0);
	assert_int_equal(number(stacks, "copies"), 7);
	assert_true(cam_json_value_get(v, "names", &e));
	assert_int_equal(number(e, "held_files"), 31);
	assert_int_equal(number(e, "left_out_files"), 2);
	assert_int_equal(number(e, "elsewhere_files"), 5);
	assert_int_equal(number(e, "poisoned_files"), 1);
	assert_int_equal(number(e, "symbols_only_files"), 3);
	assert_int_equal(number(e, "debug_files"), 4);
	/* Nobody unwinds by tables: there is nothing to say of them. */
	assert_false(cam_json_value_get(stacks, "max_bytes", &e));
	assert_true(cam_json_value_get(v, "processes", &list) && cam_json_value_at(list, 1, &e));
	assert_int_equal(number(e, "restarts"), 3);
	assert_false(cam_json_value_at(list, 2, &e));
	assert_true(cam_json_value_get(v, "budgets", &list) && cam_json_value_at(list, 0, &e));
	assert_int_equal(number(e, "limit"), 10);
	assert_true(cam_json_value_get(v, "errors", &list) && cam_json_value_at(list, 0, &e));
	assert_true(cam_json_value_get(e, "text", &e) && cam_json_value_string(e, room, 32));
	assert_string_equal(room, "a \"b\"\n");
	cam_buf_free(&out);
	/* What does not fit is an error, not half a text. */
	out = CAM_BUF(100);
	cam_status_write(&s, &out);
	assert_int_equal(cam_buf_error(&out), -E2BIG);
	cam_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
