// SPDX-License-Identifier: Apache-2.0
/* Samples of a window that is not coded come back as they went in, from memory and from the file behind it. */
#include "store/uncoded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BLOCK 8192u
#define COLUMNS                                                                       \
	(CAM_COL_TIME | CAM_COL_WEIGHT | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_PLACE | \
	 CAM_COL_ETYPE | CAM_COL_DETAIL)

/* Sample number i of a window with so many kinds of samples. */
static struct cam_sample sample_of(uint64_t i, uint32_t kinds)
{
	return (struct cam_sample){
		.time_ns = 1000 + 3 * i,
		.weight = i % kinds % 5 + 1,
		.cpu = (uint32_t)(i % 7),
		.task = {(uint32_t)(i % 11)},
		.place = {(uint32_t)(i * 2654435761u)},
		.etype = {(uint32_t)(i % kinds % 2)},
		.detail = {(uint32_t)(i % kinds)},
	};
}

struct check {
	uint64_t next, to;
	uint32_t kinds;
};

static int compare(void *arg, const struct cam_batch *b)
{
	struct check *c = arg;
	for (size_t i = 0; i < b->n; i++, c->next++) {
		struct cam_sample s = sample_of(c->next, c->kinds);
		assert_true(b->time_ns[i] == s.time_ns && b->weight[i] == s.weight);
		assert_true(b->cpu[i] == s.cpu && b->task[i] == s.task.v);
		assert_true(b->place[i] == s.place.v && b->etype[i] == s.etype.v);
		assert_true(b->detail[i] == s.detail.v);
	}
	return 0;
}

static void write_and_read(uint64_t n, uint32_t kinds)
{
	static struct cam_sample block[BLOCK];
	const struct cam_window_head head = {.clock = CAM_CLOCK_FOREIGN, .start_ns = 1000};
	struct cam_uncoded *raw;
	struct cam_window *w;
	struct cam_tables tables = {0};
	assert_int_equal(cam_uncoded_new(&head, &raw), 0);
	for (uint64_t i = 0; i < n;) {
		struct cam_block b = {.samples = block};
		for (; b.n_samples < BLOCK - 1 && i < n; i++)
			block[b.n_samples++] = sample_of(i, kinds);
		assert_int_equal(cam_uncoded_append(raw, &b), 0);
	}
	assert_int_equal(cam_uncoded_end(raw, 1000 + 3 * n), 0);
	assert_int_equal(cam_tables_init(&tables, 1u << 20), 0);
	cam_uncoded_keep(raw, &tables);
	assert_int_equal(cam_uncoded_open(raw, &w), 0);
	assert_true(w->info.samples == n);
	struct check c = {.kinds = kinds};
	assert_int_equal(
		w->ops->samples(w, (struct cam_range){0, UINT64_MAX}, COLUMNS, compare, &c), 0);
	assert_true(c.next == n);
	/* And a part of it, which begins and ends anywhere. */
	c = (struct check){.next = n / 3, .kinds = kinds};
	struct cam_range part = {1000 + 3 * (n / 3), 1000 + 3 * (n / 2)};
	assert_int_equal(w->ops->samples(w, part, COLUMNS, compare, &c), 0);
	assert_true(c.next == n / 2);
	w->ops->close(w);
	cam_uncoded_free(raw);
}

static void few_samples_come_back(void **state)
{
	(void)state;
	write_and_read(1, 1);
	write_and_read(40000, 256);
}

static void more_kinds_than_fit_come_back(void **state)
{
	(void)state;
	write_and_read(40000, 257);
	write_and_read(40000, 30000);
}

static void more_samples_than_fit_come_back(void **state)
{
	(void)state;
	write_and_read(CAM_UNCODED_BYTES / 24 + 30001, 3);
}

/* A file may say that it was recorded at either end of all time. */
static void wall_times_end_where_numbers_do(void **state)
{
	(void)state;
	static const struct {
		uint64_t anchor_ns;
		int64_t anchor_wall_ns;
		uint64_t start_ns;
		int64_t wall_ns;
	} cases[] = {
		{1000, 5000, 1100, 5100},
		{1000, 50, 900, -50},
		{1, INT64_MAX, 2, INT64_MAX},
		{1, INT64_MAX - 5, UINT64_MAX - 1, INT64_MAX},
		{UINT64_MAX - 1, INT64_MIN + 1, 0, INT64_MIN + 1},
		{UINT64_MAX - 1, INT64_MAX, 0, INT64_MIN + 1},
		{0, INT64_MIN + 1, UINT64_MAX - 1, INT64_MAX},
		{0, INT64_MIN, 7, INT64_MIN}, /* not known */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cam_window_head head = {.clock = CAM_CLOCK_FOREIGN};
		struct cam_sample s = sample_of(0, 1);
		struct cam_anchor a = {.time_ns = cases[i].anchor_ns,
				       .realtime_ns = cases[i].anchor_wall_ns};
		struct cam_block b = {.samples = &s, .n_samples = 1, .anchors = &a, .n_anchors = 1};
		struct cam_uncoded *raw;
		s.time_ns = cases[i].start_ns;
		assert_int_equal(cam_uncoded_new(&head, &raw), 0);
		assert_int_equal(cam_uncoded_append(raw, &b), 0);
		assert_int_equal(cam_uncoded_end(raw, s.time_ns + 1), 0);
		assert_int_equal(cam_uncoded_info(raw)->realtime_ns, cases[i].wall_ns);
		cam_uncoded_free(raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_samples_come_back),
		cmocka_unit_test(more_kinds_than_fit_come_back),
		cmocka_unit_test(more_samples_than_fit_come_back),
		cmocka_unit_test(wall_times_end_where_numbers_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
