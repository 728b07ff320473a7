// SPDX-License-Identifier: Apache-2.0
/* A window reads what is asked for: counted at the file, by kind of chunk. */
#include "base/units.h"
#include "store/window.h"
#include "store/window_reader.h"
#include "store/window_writer.h"
#include "support_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NS	CAM_NS_PER_SEC
#define SECONDS 120u

struct reads {
	const struct cam_dir *dir;
	uint64_t bytes[CAM_CHUNK_KINDS];
	bool span[64]; /* some column of it was read */
	uint64_t all, elsewhere;
};

static void note_read(void *arg, uint64_t at, size_t n)
{
	struct reads *r = arg;
	r->all += n;
	for (unsigned k = 0; r->dir && k < CAM_CHUNK_KINDS; k++) {
		const struct cam_dir_section *s = &r->dir->sections[k];
		for (size_t i = 0; i < s->n; i++) {
			if (at - s->chunks[i].offset >= s->chunks[i].bytes)
				continue;
			r->bytes[k] += n;
			if (k >= CAM_CHUNK_COUNTS && k <= CAM_CHUNK_WEIGHT)
				r->span[i] = true;
			if (k == CAM_CHUNK_LEAF)
				r->span[i / r->dir->n_trees] = true;
			return;
		}
	}
	r->elsewhere += n;
}

struct fixture {
	struct cam_buf bytes;
	struct memory_file file;
	struct cam_window *w;
	struct reads reads;
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct fake_window *f = fake_window_new();
	struct cam_task_id tasks[20];
	struct cam_out out;
	uint64_t seed = 9;
	for (unsigned i = 0; i < 20; i++)
		tasks[i] = fake_task(f, (int32_t)i, (int32_t)i, i % 3 ? "worker" : "sh");
	for (unsigned i = 0; i < SECONDS * 100; i++) {
		uint32_t node = 0;
		for (unsigned d = 0; d < 8; d++) {
			char name[16];
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			snprintf(name, sizeof(name), "f%u", (unsigned)(seed >> 60) + 16 * d);
			struct cam_loc_id loc = fake_frame(f, name, seed >> 40 & 15);
			assert_int_equal(cam_tree_intern(&f->t, &f->t.places, node, loc.v, &node),
					 0);
		}
		fake_sample(f, 1000 * NS + i * (NS / 100), i % 4, tasks[seed >> 33 & 15],
			    (struct cam_place_id){node});
	}
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, 1, 1000 * NS, 1100 * NS, 55});
	fake_add_event(f, 1000 * NS, CAM_SEVERITY_INFO, "mark", "x");
	x->bytes = CAM_BUF(SIZE_MAX / 2);
	cam_out_to_buf(&out, &x->bytes);
	assert_int_equal(cam_window_write_chunks(fake_window_ready(f), &out, 16384), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	fake_window_free(f);
	memory_file_init(&x->file, x->bytes.data, x->bytes.len);
	x->file.on_read = note_read;
	x->file.arg = &x->reads;
	assert_int_equal(cam_window_open(&x->file.file, &x->w), 0);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;
	x->w->ops->close(x->w);
	cam_buf_free(&x->bytes);
	free(x);
	return 0;
}

/* Forgets what was read so far; from now on by kind. */
static struct reads *watch(struct fixture *x)
{
	x->reads = (struct reads){.dir = &cam_reader_of(x->w)->dir};
	return &x->reads;
}

static uint64_t of_columns(const struct reads *r)
{
	uint64_t n = 0;
	for (unsigned k = CAM_CHUNK_FIRST_COLUMN; k < CAM_CHUNK_KINDS; k++)
		n += r->bytes[k];
	return n;
}

static uint64_t size_of(const struct fixture *x, enum cam_chunk_kind kind)
{
	const struct cam_dir_section *s = &cam_reader_of(x->w)->dir.sections[kind];
	uint64_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->chunks[i].bytes;
	return n;
}

static void opening_reads_header_and_directory(void **state)
{
	struct fixture *x = *state;
	uint64_t front = CAM_HEADER_BYTES + cam_reader_of(x->w)->directory_bytes;
	assert_true(x->reads.all <= front);
	assert_true(front < x->bytes.len / 10);
	assert_int_equal(x->w->info.samples, SECONDS * 100);
}

static int take_total(void *arg, const struct cam_total *t)
{
	*(uint64_t *)arg += t->samples;
	return 0;
}

static int take_cell(void *arg, const struct cam_cell *c)
{
	*(uint64_t *)arg += c->busy;
	return 0;
}

static int take_process(void *arg, const struct cam_process_cell *c)
{
	*(uint64_t *)arg += c->samples;
	return 0;
}

static int take_batch(void *arg, const struct cam_batch *b)
{
	*(uint64_t *)arg += b->n;
	return 0;
}

static void the_footer_reads_no_column(void **state)
{
	struct fixture *x = *state;
	struct reads *r = watch(x);
	uint64_t n = 0;
	assert_true(cam_reader_of(x->w)->dir.n_trees > 1);
	assert_int_equal(x->w->ops->small_totals(x->w, take_total, &n), 0);
	assert_int_equal(n, SECONDS * 100);
	assert_int_equal(of_columns(r), 0);
	assert_int_equal(r->bytes[CAM_CHUNK_TREE], 0);
	assert_int_equal(r->bytes[CAM_CHUNK_SMALL], size_of(x, CAM_CHUNK_SMALL));
	n = 0;
	assert_int_equal(x->w->ops->totals(x->w, take_total, &n), 0);
	assert_int_equal(n, SECONDS * 100);
	n = 0;
	assert_int_equal(x->w->ops->process_cells(x->w, take_process, &n), 0);
	assert_int_equal(n, SECONDS * 100);
	assert_int_equal(of_columns(r), 0);
	n = 0;
	assert_int_equal(x->w->ops->cells(x->w, take_cell, &n), 0);
	assert_int_equal(n, SECONDS * 100);
	/* Counts are the footer's cells. */
	assert_int_equal(of_columns(r), size_of(x, CAM_CHUNK_COUNTS));
	/* And it takes little: */
	assert_true(size_of(x, CAM_CHUNK_COUNTS) < x->bytes.len / 50);
}

static void five_seconds_read_their_spans_only(void **state)
{
	struct fixture *x = *state;
	struct reads *r = watch(x);
	const struct cam_dir *d = r->dir;
	struct cam_range whole = {1043 * NS, 1048 * NS}, cut = {1043 * NS + 1, 1048 * NS};
	uint64_t n = 0, full = 0, columns;
	assert_true(d->n_spans >= 12);
	assert_int_equal(x->w->ops->samples(x->w, whole, CAM_COL_STACK | CAM_COL_CPU | CAM_COL_TASK,
					    take_batch, &n),
			 0);
	assert_int_equal(n, 500);
	for (unsigned k = CAM_CHUNK_FIRST_COLUMN; k < CAM_CHUNK_KINDS; k++)
		full += size_of(x, (enum cam_chunk_kind)k);
	for (size_t i = 0; i < d->n_spans; i++) {
		bool touched = d->spans[i].second < 1048 &&
			       d->spans[i].second + d->spans[i].seconds > 1043;
		assert_int_equal(r->span[i], touched);
	}
	columns = of_columns(r);
	assert_true(columns > 0 && columns < full / 10);
	/* Whole seconds need no times, weights or leaf offsets. */
	assert_int_equal(r->bytes[CAM_CHUNK_TIME], 0);
	assert_int_equal(r->bytes[CAM_CHUNK_WEIGHT], 0);
	assert_int_equal(r->bytes[CAM_CHUNK_LEAF], 0);
	assert_int_equal(r->bytes[CAM_CHUNK_LEAVES], 0);
	assert_int_equal(r->bytes[CAM_CHUNK_TASKS], 0);
	/* A range that cuts a second does, and tables are not read twice. */
	uint64_t tree = r->bytes[CAM_CHUNK_TREE];
	assert_int_equal(tree, size_of(x, CAM_CHUNK_TREE));
	n = 0;
	assert_int_equal(x->w->ops->samples(x->w, cut, CAM_COL_STACK, take_batch, &n), 0);
	assert_int_equal(n, 499);
	assert_true(r->bytes[CAM_CHUNK_TIME] > 0);
	assert_int_equal(r->bytes[CAM_CHUNK_TREE], tree);
	assert_int_equal(r->elsewhere, 0);
	/* CPUs alone need nothing but the counts. */
	r = watch(x);
	assert_int_equal(x->w->ops->samples(x->w, CAM_RANGE_ALL, CAM_COL_CPU, take_batch, &n), 0);
	assert_int_equal(r->all, size_of(x, CAM_CHUNK_COUNTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(opening_reads_header_and_directory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_footer_reads_no_column, set_up, tear_down),
		cmocka_unit_test_setup_teardown(five_seconds_read_their_spans_only, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
