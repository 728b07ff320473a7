// SPDX-License-Identifier: Apache-2.0
/*
 * Windows of every version of the format, kept for ever: each must open and say what it said when
 * it was written.
 *
 * tests/data/window-1.pcw is version 1 with chunks of 128 bytes, so that it has several of every
 * kind. It was made by `test_store_window_golden tests/data/window-1.pcw` and is never made
 * again: a writer that has learnt something writes other bytes, and a new version gets a new file. window-1-seconds.pcw is the same
 * content, with the compatible table of names by second; window-1-known.pcw has functions of the second form (CAM_FEATURE_KNOWN).
 */
#include "base/units.h"
#include "store/window.h"
#include "store/window_reader.h"
#include "store/window_writer.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS CAM_NS_PER_SEC

static struct cam_task_id add_task(struct fake_window *f, unsigned i)
{
	struct cam_task k = {.pid = i == 4 ? CAM_PID_NONE : (int32_t)(4000 + i / 2),
			     .tid = (int32_t)(4000 + i),
			     .uid = i == 3 ? CAM_UID_NONE : 1000 + i,
			     .comm = fake_str(f, i < 3	  ? "cc1"
						 : i == 3 ? "a\nb\\c"
							  : "sh"),
			     .exe = fake_str(f, i < 3 ? "/usr/lib/gcc/cc1" : "/bin/dash"),
			     .cgroup = fake_str(f, i & 1 ? "/user.slice" : "/system.slice/ci"),
			     .start_ns = i * 30000000ull};
	struct cam_task_id id;
	assert_int_equal(cam_task_intern(&f->t, &k, &id), 0);
	return id;
}

static struct cam_place_id add_stack(struct fake_window *f, unsigned i)
{
	static const char *const names[] = {"main",	  "parse@/usr/bin/cc1", "lex@/usr/bin/cc1",
					    "@/lib/libc", "read@[kernel]",	"gc@[jit]",
					    "now@[vdso]", "emit@/usr/bin/cc1"};
	uint32_t node = 0;
	for (unsigned d = 0; d < i % 6; d++) {
		unsigned which = (i * 7 + d * d * 3 + i / 9) % 8;
		struct cam_loc_id loc = fake_frame(f, names[d ? which : 0], (i + d) % 4 * 16);
		assert_int_equal(cam_tree_intern(&f->t, &f->t.places, node, loc.v, &node), 0);
	}
	return (struct cam_place_id){node};
}

static void add_notes(struct fake_window *f)
{
	fake_add_event(f, 101 * NS, CAM_SEVERITY_ERR, "kmsg", "Out of memory: Killed process 4001");
	fake_add_event(f, 100 * NS, CAM_SEVERITY_INFO, "mark", "deploy \xff\n");
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, 0, 100 * NS, 103 * NS, 30});
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_LOST_RING, CAM_CPU_NONE, 110 * NS,
						    110 * NS + 1, 7});
	fake_add_anchor(f, &(struct cam_anchor){100 * NS, 99 * NS, 200 * NS, CAM_TIME_NONE,
						1700000000 * (int64_t)NS, 1500});
	fake_add_anchor(f, &(struct cam_anchor){101 * NS, 100 * NS, 201 * NS, 5,
						1700000001 * (int64_t)NS, 1400});
	fake_add_fact(f, "kernel", "6.1.0-18-amd64");
	fake_add_fact(f, "cpus", "2");
}

static struct fake_window *version_1(void)
{
	struct fake_window *f = fake_window_new();
	struct cam_etype_id cycles = fake_etype(f, "cycles:u", 0, true);
	struct cam_etype_id sched = fake_etype(f, "sched:sched_switch", 0, false);
	struct cam_task_id tasks[6];
	for (unsigned i = 0; i < 6; i++)
		tasks[i] = add_task(f, i);
	f->w.info.has_places = true;
	f->w.info.host = CAM_TEXT("build-7.example");
	memcpy(f->w.info.boot_id.bytes, "0123456789abcdef", 16);
	for (unsigned i = 0; i < 90; i++) {
		struct cam_sample s = {.time_ns =
					       100 * NS + i * 330 * CAM_NS_PER_MS + i % 3 * 10000,
				       .weight = 1,
				       .cpu = i % 11 == 10 ? CAM_CPU_NONE : i % 2,
				       .task = tasks[(i * i + i / 7) % 6],
				       .place = add_stack(f, i)};
		if (i % 5 == 1) {
			s.etype = cycles;
			s.weight = 1000000 + i * i * 977;
		} else if (i % 5 == 2) {
			s.etype = sched;
			s.detail = fake_str(f, i & 1 ? "prev_comm=sh prev_pid=4005" : "next=\\n");
		}
		fake_add_sample(f, &s);
	}
	add_notes(f);
	return f;
}

static void write_file(const char *path)
{
	struct cam_buf bytes = CAM_BUF(SIZE_MAX / 2);
	struct cam_out out;
	struct fake_window *f = version_1();
	cam_out_to_buf(&out, &bytes);
	if (cam_window_write_chunks(fake_window_ready(f), &out, 128) || cam_out_finish(&out))
		abort();
	FILE *file = fopen(path, "wbx");
	if (!file || fwrite(bytes.data, 1, bytes.len, file) != bytes.len || fclose(file))
		abort();
	cam_buf_free(&bytes);
	fake_window_free(f);
}

static struct cam_buf read_file(const char *name)
{
	char path[4096];
	struct cam_buf bytes = CAM_BUF(1u << 20);
	snprintf(path, sizeof(path), "%s/%s", getenv("PERFCAM_TEST_DATA"), name);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	for (int c; (c = fgetc(file)) != EOF;)
		cam_buf_put_u8(&bytes, (uint8_t)c);
	fclose(file);
	return bytes;
}

static void says_what_it_said(const char *name, uint32_t incompat)
{
	struct cam_buf bytes = read_file(name);
	struct cam_buf expected = CAM_BUF(SIZE_MAX / 2), got = CAM_BUF(SIZE_MAX / 2);
	struct fake_window *f = version_1();
	struct memory_file m;
	struct cam_window *w;
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(cam_reader_of(w)->dir.incompat, incompat);
	for (unsigned k = 0; k <= CAM_CHUNK_DETAIL; k++)
		assert_true(cam_reader_of(w)->dir.sections[k].n > 0);
	window_dump(fake_window_ready(f), WINDOW_DUMP_NO_SMALL, &expected);
	window_dump(w, WINDOW_DUMP_NO_SMALL, &got);
	assert_int_equal(expected.len, got.len);
	assert_memory_equal(expected.data, got.data, got.len);
	assert_int_equal(cam_window_verify(w), 0);
	w->ops->close(w);
	fake_window_free(f);
	cam_buf_free(&bytes);
	cam_buf_free(&expected);
	cam_buf_free(&got);
}

static void version_1_says_what_it_said(void **state)
{
	(void)state;
	says_what_it_said("window-1.pcw", 0);
	says_what_it_said("window-1-seconds.pcw", 0);
	says_what_it_said("window-1-known.pcw", CAM_FEATURE_KNOWN);
}

#define MAX_SECONDS 64u
#define MAX_PIDS    16u

/* Samples by process and second, and by name and second, counted sample by sample. */
struct tally {
	const struct cam_tables *t;
	uint32_t leader[MAX_PIDS]; /* by process: a task + 1 */
	bool has_main[MAX_PIDS];
	int32_t pids[MAX_PIDS];
	unsigned n_pids;
	uint32_t n[MAX_PIDS][MAX_SECONDS];
	uint64_t told;
	unsigned cells;
};

static unsigned process_of(struct tally *y, uint32_t task)
{
	const struct cam_task *k = &y->t->tasks[task];
	int32_t pid = k->pid == CAM_PID_NONE ? -k->tid : k->pid;
	unsigned p = 0;
	while (p < y->n_pids && y->pids[p] != pid)
		p++;
	assert_true(p < MAX_PIDS);
	y->n_pids += p == y->n_pids;
	y->pids[p] = pid;
	return p;
}

static int tally_batch(void *arg, const struct cam_batch *b)
{
	struct tally *y = arg;
	for (size_t i = 0; i < b->n; i++) {
		uint64_t second = b->time_ns[i] / NS - 100;
		assert_true(second < MAX_SECONDS);
		y->n[process_of(y, b->task[i])][second]++;
	}
	return 0;
}

static bool is_called(const struct tally *y, unsigned p, const struct cam_name_cell *c)
{
	const struct cam_task *k = &y->t->tasks[y->leader[p] - 1];
	bool program = !y->has_main[p] && cam_string(y->t, k->exe).n;
	return c->is_program == program && c->cgroup.v == k->cgroup.v &&
	       c->name.v == (program ? k->exe.v : k->comm.v);
}

static int check_cell(void *arg, const struct cam_name_cell *c)
{
	struct tally *y = arg;
	uint64_t samples = 0, most = 0;
	for (unsigned p = 0; p < y->n_pids; p++) {
		uint32_t n = y->n[p][c->second - 100];
		if (!is_called(y, p, c))
			continue;
		samples += n;
		most = n > most ? n : most;
	}
	assert_int_equal(c->samples, samples);
	assert_int_equal(c->most, most);
	y->told += samples;
	y->cells++;
	return 0;
}

/* What processes of a name had in a second is what their samples say. */
static void check_seconds(struct cam_window *w)
{
	struct tally y = {0};
	assert_int_equal(w->ops->tables(w, &y.t), 0);
	for (uint32_t i = 0; i < y.t->n_tasks; i++) {
		unsigned p = process_of(&y, i);
		const struct cam_task *k = &y.t->tasks[i];
		bool is_main = k->pid == k->tid || k->pid == CAM_PID_NONE;
		if (!y.leader[p] || is_main)
			y.leader[p] = i + 1;
		y.has_main[p] |= is_main;
	}
	assert_int_equal(
		w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TIME | CAM_COL_TASK, tally_batch, &y), 0);
	assert_int_equal(w->ops->name_cells(w, check_cell, &y), 0);
	assert_int_equal(y.told, w->info.samples);
	assert_true(y.cells > 30);
}

static int no_cell(void *arg, const struct cam_name_cell *c)
{
	(void)arg;
	(void)c;
	fail_msg("a window of before told seconds");
	return 0;
}

static void seconds_of_names_are_told(void **state)
{
	(void)state;
	struct cam_buf old = read_file("window-1.pcw"), kept = read_file("window-1-seconds.pcw");
	struct cam_buf made = CAM_BUF(SIZE_MAX / 2);
	const struct cam_buf *files[] = {&kept, &made};
	struct memory_file m;
	struct cam_window *w;
	struct cam_out out;
	struct fake_window *f = version_1();
	memory_file_init(&m, old.data, old.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(w->ops->name_cells(w, no_cell, NULL), -ENODATA);
	w->ops->close(w);
	cam_out_to_buf(&out, &made);
	assert_int_equal(cam_window_write(fake_window_ready(f), &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	for (unsigned i = 0; i < 2; i++) {
		memory_file_init(&m, files[i]->data, files[i]->len);
		assert_int_equal(cam_window_open(&m.file, &w), 0);
		assert_true(cam_reader_of(w)->dir.sections[CAM_CHUNK_SECONDS].n > 0);
		check_seconds(w);
		assert_int_equal(cam_window_verify(w), 0);
		w->ops->close(w);
	}
	fake_window_free(f);
	cam_buf_free(&old);
	cam_buf_free(&kept);
	cam_buf_free(&made);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_says_what_it_said),
		cmocka_unit_test(seconds_of_names_are_told),
	};
	if (argc == 2) {
		write_file(argv[1]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
