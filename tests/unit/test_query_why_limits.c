// SPDX-License-Identifier: Apache-2.0
/* `why` ends when it is told to, after all samples are read as well; and what is not one's is not told as that one's. */
#include "base/units.h"
#include "query/why_explain.h"
#include "query/why_pauses.h"
#include "store/window.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECONDS	 100u
#define FUNCTION 0u
enum { STEADY, SURGING, N_PROCESSES };

struct fixture {
	struct cam_why_history h;
	struct cam_why_rows rows;
	uint8_t claimed[4096];
	unsigned asked;
};

static int too_late(void *arg, uint64_t done, uint64_t all)
{
	unsigned *asked = arg;
	(void)done;
	(void)all;
	++*asked;
	return -ETIMEDOUT;
}

static uint32_t intern(struct cam_why_history *h, const char *text)
{
	struct cam_str_id id;
	assert_int_equal(cam_string_intern(h->names, cam_text_of(text), &id), 0);
	return id.v;
}

static void add_cell(struct cam_why_cells *c, uint32_t of, uint32_t at, uint32_t n)
{
	c->v[c->n++] = (struct cam_why_cell){of, at, n};
}

/* Two processes that share a function: in second 50 one does as always, 80 samples, the other 20 more than nothing. */
static void set_up(struct fixture *f)
{
	const struct cam_window_info info = {.end_ns = (SECONDS - 1) * CAM_NS_PER_SEC};
	struct cam_why_history *h = &f->h;
	*f = (struct fixture){0};
	h->names = calloc(1, sizeof(*h->names));
	assert_int_equal(cam_tables_init(h->names, 1 << 20), 0);
	assert_int_equal(cam_why_axis_add(&h->axis, &info), 0);
	assert_int_equal(cam_why_axis_make(&h->axis), 0);
	memset(h->axis.flags, CAM_WHY_SEEN | CAM_WHY_BASELINE | CAM_WHY_FUNCTIONS | CAM_WHY_PIDS,
	       SECONDS);
	h->axis.flags[50] |= CAM_WHY_ASKED;
	h->cpus = 4;
	h->n_processes = N_PROCESSES;
	h->processes = calloc(N_PROCESSES, sizeof(*h->processes));
	h->processes[STEADY] = (struct cam_why_process){
		.pid = 7, .start_ns = 1, .name = intern(h, "steady"), .last = SECONDS - 1};
	h->processes[SURGING] = (struct cam_why_process){
		.pid = 8, .start_ns = 1, .name = intern(h, "surging"), .first = 50, .last = 50};
	h->n_functions = 1;
	h->functions = calloc(1, sizeof(*h->functions));
	h->functions[FUNCTION].name = intern(h, "shared");
	h->by_process.v = calloc(SECONDS + 1, sizeof(struct cam_why_cell));
	h->by_function.v = calloc(SECONDS, sizeof(struct cam_why_cell));
	for (uint32_t t = 0; t < SECONDS; t++) {
		add_cell(&h->by_process, STEADY, t, 80);
		add_cell(&h->by_function, FUNCTION, t, t == 50 ? 100 : 80);
	}
	add_cell(&h->by_process, SURGING, 50, 20);
	f->rows.n = 100;
	f->rows.v = calloc(100, sizeof(*f->rows.v));
	f->rows.stacks = calloc(1, sizeof(*f->rows.stacks));
	f->rows.frames = calloc(1, sizeof(*f->rows.frames));
	f->rows.stacks[0].n = f->rows.n_stacks = f->rows.n_frames = 1;
	for (uint32_t i = 0; i < 100; i++)
		f->rows.v[i] = (struct cam_why_row){.time_ns = 50 * CAM_NS_PER_SEC +
							       i * 10 * CAM_NS_PER_MS,
						    .at = 50,
						    .process = i < 80 ? STEADY : SURGING};
}

static void tear_down(struct fixture *f)
{
	cam_why_rows_free(&f->rows);
	cam_why_history_free(&f->h);
}

static void scores_are_not_computed_for_ever(void **state)
{
	struct fixture f;
	struct cam_why_scan scan;
	const struct cam_progress late = {too_late, &f.asked};
	(void)state;
	set_up(&f);
	assert_int_equal(cam_why_scan_run(&f.h, NULL, &scan), 0);
	cam_why_scan_free(&scan);
	assert_int_equal(cam_why_scan_run(&f.h, &late, &scan), -ETIMEDOUT);
	assert_int_equal(f.asked, 1);
	cam_why_scan_free(&scan);
	tear_down(&f);
}

static void cores_are_not_looked_for_for_ever(void **state)
{
	struct fixture f;
	struct cam_why out = {0};
	const struct cam_progress late = {too_late, &f.asked};
	(void)state;
	set_up(&f);
	const struct cam_why_explaining e = {&f.h, &f.rows, 10 * CAM_NS_PER_MS, f.claimed};
	assert_int_equal(cam_why_full_cores(&e, NULL, &out), 0);
	assert_int_equal(out.n_cores, 1);
	assert_int_equal(out.cores[0].pid, 7);
	assert_int_equal(cam_why_full_cores(&e, &late, &out), -ETIMEDOUT);
	tear_down(&f);
}

/* All of the surplus is the second's, a fifth of the samples is: it did not use them all, and is not pid 7. */
static void a_surplus_is_not_all(void **state)
{
	struct fixture f;
	struct cam_why_finding found;
	struct cam_why_candidate c = {.entity = CAM_WHY_FUNCTION,
				      .of = FUNCTION,
				      .at = 50,
				      .length = 1,
				      .x = 100,
				      .law = {80, 1.1}};
	(void)state;
	set_up(&f);
	const struct cam_why_explaining e = {&f.h, &f.rows, 10 * CAM_NS_PER_MS, f.claimed};
	assert_int_equal(cam_why_describe(&e, &c, f.h.processes[SURGING].name, &found), 0);
	assert_int_equal(found.kind, CAM_WHY_MORE_FUNCTION);
	assert_int_not_equal(found.process.n, f.h.processes[SURGING].name);
	assert_int_equal(found.processes, 2);
	assert_int_equal(cam_why_describe(&e, &c, f.h.processes[STEADY].name, &found), 0);
	assert_int_equal(found.kind, CAM_WHY_MORE_PROCESS);
	assert_int_equal(found.pid, 7);
	tear_down(&f);
}

#define LONG  3000u
#define NAMES 12u

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % below;
}

/* A long history with holes: names and functions that run always, now and then, or twice. */
static void set_up_long(struct cam_why_history *h, uint32_t (*names)[LONG + 8],
			uint32_t (*functions)[LONG + 8])
{
	const struct cam_window_info info = {.end_ns = (LONG - 1) * CAM_NS_PER_SEC};
	uint64_t seed = 11;
	*h = (struct cam_why_history){.names = calloc(1, sizeof(*h->names)), .cpus = 4};
	assert_int_equal(cam_tables_init(h->names, 1 << 20), 0);
	assert_int_equal(cam_why_axis_add(&h->axis, &info), 0);
	assert_int_equal(cam_why_axis_make(&h->axis), 0);
	for (uint32_t t = 0; t < LONG; t++) {
		bool seen = draw(&seed, 40), read = t < 1000 || t > 1200;
		h->axis.flags[t] = (uint8_t)((seen ? CAM_WHY_SEEN : 0) |
					     (seen && read ? CAM_WHY_FUNCTIONS : 0) |
					     (t < 2000 || t > 2100 ? CAM_WHY_BASELINE : 0));
	}
	h->n_processes = h->n_functions = NAMES;
	h->processes = calloc(NAMES, sizeof(*h->processes));
	h->functions = calloc(NAMES, sizeof(*h->functions));
	h->by_process.v = calloc(2 * NAMES * LONG, sizeof(struct cam_why_cell));
	h->by_function.v = calloc(2 * NAMES * LONG, sizeof(struct cam_why_cell));
	for (uint32_t i = 0; i < NAMES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%u", i);
		h->processes[i] = (struct cam_why_process){
			.pid = 10 + (int32_t)i, .name = intern(h, name), .last = LONG - 1};
		h->functions[i].name = h->processes[i].name;
		/* Those of few cells come in any order, and twice. */
		uint32_t cells = i % 3 == 0 ? LONG : i % 3 == 1 ? 200 : 5;
		for (uint32_t k = 0; k < cells; k++) {
			uint32_t at = cells == LONG ? k : draw(&seed, LONG);
			uint32_t n = 1 + draw(&seed, draw(&seed, 50) ? 20 : 300);
			add_cell(&h->by_process, i, at, n);
			add_cell(&h->by_function, i, at, n / 2 + 1);
			names[i][at] += n;
			functions[i][at] += n / 2 + 1;
		}
	}
}

static bool all_have(const struct cam_why_axis *a, uint32_t t, unsigned length, uint8_t need)
{
	for (unsigned i = 0; i < length; i++)
		if ((a->flags[t + i] & need) != need)
			return false;
	return true;
}

/* As why_stats.h says it, second by second. */
static void expect_scores(const struct cam_why_axis *a, uint32_t (*v)[LONG + 8], uint8_t need,
			  unsigned length, const float *board)
{
	float *best = calloc(LONG + 8, sizeof(*best));
	unsigned scored = 0;
	for (uint32_t e = 0; e < NAMES; e++) {
		struct cam_why_counts counts = {0};
		for (unsigned pass = 0; pass < 2; pass++) {
			struct cam_why_law law = cam_why_counts_law(&counts, length);
			for (uint32_t t = 0; t + length <= a->n; t++) {
				uint32_t x = 0;
				for (unsigned i = 0; i < length; i++)
					x += v[e][t + i];
				if (!pass && all_have(a, t, length, need | CAM_WHY_BASELINE))
					cam_why_counts_add(&counts, x);
				if (!pass || x < CAM_WHY_FLOOR || !all_have(a, t, length, need))
					continue;
				float score = (float)cam_why_surge(x, law);
				best[t] = score > best[t] ? score : best[t];
			}
		}
		assert_true(counts.n > 1200);
		cam_why_counts_free(&counts);
	}
	for (uint32_t t = 0; t < a->n; t++) {
		scored += best[t] > 0;
		assert_float_equal(board[t], best[t], 0);
	}
	assert_true(scored > 50);
	free(best);
}

static void every_second_is_scored(void **state)
{
	struct cam_why_history h;
	struct cam_why_scan scan;
	uint32_t(*names)[LONG + 8] = calloc(NAMES, sizeof(*names));
	uint32_t(*functions)[LONG + 8] = calloc(NAMES, sizeof(*functions));
	(void)state;
	set_up_long(&h, names, functions);
	assert_int_equal(cam_why_scan_run(&h, NULL, &scan), 0);
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS; length++) {
		expect_scores(&h.axis, names, CAM_WHY_SEEN, length, scan.by_process[length - 1]);
		expect_scores(&h.axis, functions, CAM_WHY_SEEN | CAM_WHY_FUNCTIONS, length,
			      scan.by_function[length - 1]);
	}
	cam_why_scan_free(&scan);
	cam_why_history_free(&h);
	free(names);
	free(functions);
}

#define WINDOWS 12u
#define EACH	20u /* seconds of a window, and cells of each second */

/* A window in which 20 processes of its own run, in every second. */
static struct fake_window *busy_window(unsigned number)
{
	struct fake_window *f = fake_window_new();
	uint64_t start = (1000 + number * EACH) * CAM_NS_PER_SEC;
	for (unsigned i = 0; i < EACH * EACH; i++) {
		int32_t pid = (int32_t)(100 * number + 100 + i % EACH);
		fake_sample(f, start + i / EACH * CAM_NS_PER_SEC + i % EACH * CAM_NS_PER_MS, 0,
			    fake_task(f, pid, pid, "worker"), fake_place(f, "main"));
	}
	f->w.info.start_ns = start;
	f->w.info.end_ns = start + EACH * CAM_NS_PER_SEC;
	return f;
}

static unsigned seen_of(const struct cam_why_history *h, unsigned window)
{
	unsigned n = 0;
	for (uint32_t t = 0; t < h->axis.n; t++) {
		uint64_t second;
		cam_why_axis_boot(&h->axis, t, &second);
		n += h->axis.flags[t] & CAM_WHY_SEEN && (second - 1000) / EACH == window;
	}
	return n;
}

/* Five windows fit: those next to the question stay, whether they are older or newer. */
static void what_is_near_is_kept(void **state)
{
	struct fake_window *windows[WINDOWS];
	(void)state;
	for (unsigned asked = 0; asked < WINDOWS; asked++) {
		struct cam_selection s;
		struct cam_why_history h;
		struct cam_why_history_options o = {.asked = &s, .room = cam_why_room_of(0)};
		unsigned kept = 0, farthest = 0, nearest_out = WINDOWS;
		o.room.cells = 5 * EACH * EACH;
		for (unsigned i = 0; i < WINDOWS; i++)
			windows[i] = busy_window(i);
		struct cam_source *source = fake_source_new(windows, WINDOWS);
		cam_selection_init(&s);
		s.clock = CAM_SELECT_CLOCK;
		s.from_ns = (int64_t)((1005 + asked * EACH) * CAM_NS_PER_SEC);
		s.to_ns = s.from_ns + 5 * (int64_t)CAM_NS_PER_SEC;
		assert_int_equal(cam_why_history_build(source, &o, &h), 0);
		/* The window asked about has functions and cores besides; of that nobody knew when the others were taken. */
		assert_true(h.by_process.n + h.by_function.n + h.by_core.n + h.of_one.n <=
			    o.room.cells + 3 * EACH);
		for (unsigned i = 0; i < WINDOWS; i++) {
			unsigned apart = i < asked ? asked - i : i - asked, seen = seen_of(&h, i);
			assert_true(seen == 0 || seen == EACH);
			kept += seen == EACH;
			farthest = seen && apart > farthest ? apart : farthest;
			nearest_out = !seen && apart < nearest_out ? apart : nearest_out;
		}
		assert_true(kept >= 4 && kept <= 5);
		assert_true(farthest <= nearest_out);
		assert_int_equal(h.left_out, WINDOWS - kept);
		assert_int_equal(h.left_out_s, (WINDOWS - kept) * EACH);
		for (size_t i = 0; i < h.by_process.n; i++) {
			const struct cam_why_cell *c = &h.by_process.v[i];
			assert_true(c->at >= h.processes[c->of].first);
			assert_true(c->at <= h.processes[c->of].last);
			assert_true(h.axis.flags[c->at] & CAM_WHY_SEEN);
		}
		cam_why_history_free(&h);
		cam_selection_free(&s);
		source->ops->close(source);
	}
}

/* A window that claims to last for ever, beside those asked about: it is not on the axis, and nobody counts its seconds. */
static void no_window_lasts_for_ever(void **state)
{
	struct fake_window *windows[WINDOWS];
	struct cam_selection s;
	struct cam_why_history h;
	struct cam_why_scan scan;
	const struct cam_why_history_options o = {.asked = &s, .room = cam_why_room_of(0)};
	(void)state;
	for (unsigned i = 0; i < WINDOWS; i++)
		windows[i] = busy_window(i);
	windows[3]->w.info.end_ns = UINT64_MAX;
	struct cam_source *source = fake_source_new(windows, WINDOWS);
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = (int64_t)((1005 + 5 * EACH) * CAM_NS_PER_SEC);
	s.to_ns = s.from_ns + 5 * (int64_t)CAM_NS_PER_SEC;
	alarm(30);
	assert_int_equal(cam_why_history_build(source, &o, &h), 0);
	assert_int_equal(cam_why_scan_run(&h, NULL, &scan), 0);
	assert_int_equal(cam_why_pauses_find(source, &s, NULL, 5, &h, &scan), 0);
	alarm(0);
	cam_why_scan_free(&scan);
	cam_why_history_free(&h);
	cam_selection_free(&s);
	source->ops->close(source);
}

/* Windows as files: they tell names by second. */
struct files {
	struct cam_source s;
	struct memory_file file[WINDOWS];
	struct cam_buf bytes[WINDOWS];
	struct cam_window *w[WINDOWS];
};

static size_t files_count(struct cam_source *s)
{
	(void)s;
	return WINDOWS;
}

static int files_info(struct cam_source *s, size_t i, const struct cam_window_info **out)
{
	*out = &((struct files *)s)->w[i]->info;
	return 0;
}

static int files_open(struct cam_source *s, size_t i, struct cam_window **out)
{
	return cam_window_open(&((struct files *)s)->file[i].file, out);
}

static void files_close(struct cam_source *s)
{
	struct files *f = (struct files *)s;
	for (unsigned i = 0; i < WINDOWS; i++) {
		f->w[i]->ops->close(f->w[i]);
		cam_buf_free(&f->bytes[i]);
	}
	free(f);
}

static struct cam_source *files_new(void)
{
	static const struct cam_source_ops ops = {files_count, files_info, files_open, files_close};
	struct files *f = calloc(1, sizeof(*f));
	f->s.ops = &ops;
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fake_window *made = busy_window(i);
		struct cam_out out;
		f->bytes[i] = CAM_BUF(SIZE_MAX / 2);
		cam_out_to_buf(&out, &f->bytes[i]);
		assert_int_equal(cam_window_write(fake_window_ready(made), &out), 0);
		assert_int_equal(cam_out_finish(&out), 0);
		fake_window_free(made);
		memory_file_init(&f->file[i], f->bytes[i].data, f->bytes[i].len);
		assert_int_equal(cam_window_open(&f->file[i].file, &f->w[i]), 0);
	}
	return &f->s;
}

static void sum_by_second(const struct cam_why_history *h, uint64_t *sums)
{
	memset(sums, 0, WINDOWS * EACH * sizeof(*sums));
	for (size_t i = 0; i < h->by_process.n; i++) {
		uint64_t second;
		cam_why_axis_boot(&h->axis, h->by_process.v[i].at, &second);
		sums[second - 1000] += h->by_process.v[i].n;
	}
}

/* Where there are too many tasks, of every second window beyond the near ones only names are known; they add up to the same. */
static void far_windows_are_known_by_name(void **state)
{
	(void)state;
	struct cam_source *source = files_new();
	struct cam_selection s;
	struct cam_why_history all, part;
	struct cam_why_history_options o = {
		.asked = &s, .by_name = true, .room = cam_why_room_of(0)};
	uint64_t of_all[WINDOWS * EACH], of_part[WINDOWS * EACH];
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = 1005 * (int64_t)CAM_NS_PER_SEC;
	s.to_ns = 1010 * (int64_t)CAM_NS_PER_SEC;
	assert_int_equal(cam_why_history_build(source, &o, &all), 0);
	assert_int_equal(all.n_processes, WINDOWS * EACH);
	assert_int_equal(all.busiest.n, 0);
	o.room.tasks = 100;
	assert_int_equal(cam_why_history_build(source, &o, &part), 0);
	assert_int_equal(part.left_out, 0);
	/* 7, 9 and 11; one more process stands for all of theirs. */
	assert_int_equal(part.n_processes, (WINDOWS - 3) * EACH + 1);
	assert_int_equal(part.busiest.n, 3 * EACH);
	for (size_t i = 0; i < part.busiest.n; i++)
		assert_int_equal(part.busiest.v[i].n, 1);
	for (uint32_t t = 0; t < WINDOWS * EACH; t++) {
		unsigned window = t / EACH;
		bool by_name = window == 7 || window == 9 || window == 11;
		assert_true(part.axis.flags[t] & CAM_WHY_SEEN);
		assert_true(all.axis.flags[t] & CAM_WHY_PIDS);
		assert_int_equal(!(part.axis.flags[t] & CAM_WHY_PIDS), by_name);
	}
	sum_by_second(&all, of_all);
	sum_by_second(&part, of_part);
	assert_memory_equal(of_all, of_part, sizeof(of_all));
	/* Who has not asked for that has them left out, as before. */
	cam_why_history_free(&part);
	o.by_name = false;
	assert_int_equal(cam_why_history_build(source, &o, &part), 0);
	assert_int_equal(part.left_out, 3);
	cam_why_history_free(&part);
	cam_why_history_free(&all);
	cam_selection_free(&s);
	source->ops->close(source);
}

static void room_is_what_was_given(void **state)
{
	(void)state;
	struct cam_why_room all = cam_why_room_of(0), part = cam_why_room_of(256u << 20);
	assert_int_equal(all.cells, 1u << 26);
	/* Cells twice, while they are sorted; processes and functions. */
	uint64_t bytes = 2 * part.cells * sizeof(struct cam_why_cell) +
			 part.things * sizeof(struct cam_why_process) +
			 part.things * sizeof(struct cam_why_function) +
			 part.rows * sizeof(struct cam_why_row) + part.name_bytes +
			 part.seconds * 240;
	assert_in_range(bytes, 192u << 20, 256u << 20);
	assert_true(part.seconds > 2 * 86400);
	assert_true(part.rows > 100 * 96 * 97);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_are_not_computed_for_ever),
		cmocka_unit_test(cores_are_not_looked_for_for_ever),
		cmocka_unit_test(a_surplus_is_not_all),
		cmocka_unit_test(every_second_is_scored),
		cmocka_unit_test(what_is_near_is_kept),
		cmocka_unit_test(no_window_lasts_for_ever),
		cmocka_unit_test(far_windows_are_known_by_name),
		cmocka_unit_test(room_is_what_was_given),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
