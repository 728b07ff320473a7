// SPDX-License-Identifier: Apache-2.0
#include "query/account.h"

#include "base/units.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NS CAM_NS_PER_SEC

static struct fake_window *window(unsigned samples)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 1, 1, "sh");
	for (unsigned i = 0; i < samples; i++)
		fake_sample(f, i * NS, i % 2, task, fake_place(f, "main"));
	return f;
}

/* One row of each cause, with 1, 2, 4, … samples: every sum is told apart from every other. */
static void test_every_cause(void **state)
{
	(void)state;
	struct fake_window *f = window(5);
	struct cam_account a;
	uint64_t lost = 0;
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		struct cam_ledger_row row = {(enum cam_cause)i, i == 3 ? 8 : 0, 0, NS, 1ull << i};
		fake_add_ledger(f, &row);
		lost += cam_cause_is_loss(row.cause) ? row.samples : 0;
	}
	assert_int_equal(cam_account_window(fake_window_ready(f), &a), 0);
	assert_true(a.complete);
	assert_int_equal(a.samples, 5);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		assert_int_equal(a.by_cause[i], 1ull << i);
	assert_int_equal(a.due, 5 + (1ull << CAM_CAUSE_MAX) - 1);
	assert_int_equal(a.observed, 5 + (1 << CAM_CAUSE_IDLE) + (1 << CAM_CAUSE_FILTERED));
	assert_int_equal(a.lost, lost);
	assert_int_equal(a.lost, f->w.info.lost);
	assert_int_equal(a.cpus, 9);
	fake_window_free(f);
}

static void test_without_a_ledger(void **state)
{
	(void)state;
	struct fake_window *f = window(3);
	struct cam_account a;
	assert_int_equal(cam_account_window(fake_window_ready(f), &a), 0);
	assert_int_equal(a.due, 3);
	assert_int_equal(a.observed, 3);
	assert_int_equal(a.cpus, 2);
	fake_window_free(f);
}

/* A crafted ledger: sums stop at the top, they do not begin anew. */
static void test_overflow(void **state)
{
	(void)state;
	struct fake_window *f = window(3);
	struct cam_account a;
	for (unsigned i = 0; i < 3; i++)
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, CAM_CPU_NONE, 0, NS,
							    UINT64_MAX - 1});
	assert_int_equal(cam_account_window(fake_window_ready(f), &a), 0);
	assert_true(a.due == UINT64_MAX && a.observed == UINT64_MAX);
	assert_int_equal(a.cpus, 2);
	fake_window_free(f);
}

static void test_share(void **state)
{
	(void)state;
	assert_int_equal(cam_account_share(0, 0), 0);
	assert_int_equal(cam_account_share(1, 3), 333);
	assert_int_equal(cam_account_share(2, 3), 667);
	assert_int_equal(cam_account_share(UINT64_MAX, UINT64_MAX), 1000);
	assert_int_equal(cam_account_share(1, 100000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cause),
		cmocka_unit_test(test_without_a_ledger),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
