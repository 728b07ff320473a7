// SPDX-License-Identifier: Apache-2.0
/* A window reads what is asked for: counted at the file, by kind of chunk. */
#include "base/units.h"
#include "query/selector.h"
#include "store/window.h"
#include "store/window_reader.h"
#include "store/window_writer.h"
#include "support_dump.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NS	CAM_NS_PER_SEC
#define SECONDS 120u

/* Comms by the number that with_tasks() takes. */
static const char *const names_of[] = {"nginx", "swapper/0", "swapper/1"};

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

/* The window is gone then, and what was written of it is open. */
static void open_window(struct fixture *x, struct fake_window *f, uint32_t chunk_bytes)
{
	struct cam_out out;
	x->bytes = CAM_BUF(SIZE_MAX / 2);
	cam_out_to_buf(&out, &x->bytes);
	assert_int_equal(cam_window_write_chunks(fake_window_ready(f), &out, chunk_bytes), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	fake_window_free(f);
	memory_file_init(&x->file, x->bytes.data, x->bytes.len);
	x->file.on_read = note_read;
	x->file.arg = &x->reads;
	assert_int_equal(cam_window_open(&x->file.file, &x->w), 0);
}

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct fake_window *f = fake_window_new();
	struct cam_task_id tasks[20];
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
	open_window(x, f, 16384);
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

/* What a directory says of stacks, most of it, is decoded for whoever asks for stacks. */
static void seconds_need_no_classes(void **state)
{
	struct fixture *x = *state;
	const struct cam_dir *d = &cam_reader_of(x->w)->dir;
	uint64_t n = 0;
	assert_int_equal(cam_window_seconds(x->w, take_cell, &n), 0);
	assert_int_equal(x->w->ops->cells(x->w, take_cell, &n), 0);
	assert_int_equal(n, 2 * SECONDS * 100);
	assert_null(d->classes);
	n = 0;
	assert_int_equal(x->w->ops->totals(x->w, take_total, &n), 0);
	assert_int_equal(n, SECONDS * 100);
	assert_true(d->n_classes > 0);
}

static int take_process(void *arg, const struct cam_process_cell *c)
{
	*(uint64_t *)arg += c->samples;
	return 0;
}

static int take_name(void *arg, const struct cam_name_cell *c)
{
	*(uint64_t *)arg += c->samples;
	return 0;
}

static int take_batch(void *arg, const struct cam_batch *b)
{
	*(uint64_t *)arg += b->n;
	return 0;
}

static void a_glance_says_what_opening_says(void **state)
{
	struct fixture *x = *state;
	const struct cam_window_info *all = &x->w->info;
	struct memory_file file;
	struct cam_window_info info;
	char *host = NULL;
	memory_file_init(&file, x->bytes.data, x->bytes.len);
	assert_int_equal(cam_window_glance(&file.file, &info, &host), 0);
	assert_true(cam_text_equal(info.host, all->host));
	assert_ptr_equal(info.host.p, host);
	info.host = all->host;
	info.name = all->name;
	assert_memory_equal(&info, all, sizeof(info));
	free(host);
	/* The first directory is bad: the second one is asked. */
	x->bytes.data[CAM_HEADER_BYTES + CAM_DIRECTORY_HEAD_BYTES + 3] ^= 1;
	memory_file_init(&file, x->bytes.data, x->bytes.len);
	assert_int_equal(cam_window_glance(&file.file, &info, &host), 0);
	assert_int_equal(info.samples, all->samples);
	free(host);
	memory_file_init(&file, x->bytes.data, x->bytes.len - 1);
	assert_int_equal(cam_window_glance(&file.file, &info, &host), -EBADMSG);
}

/* Tokens may take no bits: what a section's cells may take of memory its bytes say. */
static void cells_are_no_more_than_samples_and_bytes(void **state)
{
	struct fixture *x = *state;
	struct cam_reader *r = cam_reader_of(x->w);
	uint64_t samples = r->dir.info.samples;
	assert_int_equal(cam_dir_most_cells(&r->dir, CAM_CHUNK_PROCESSES), samples);
	r->dir.info.samples = 1ull << 32;
	assert_int_equal(cam_dir_most_cells(&r->dir, CAM_CHUNK_PROCESSES), 1 << 20);
	struct cam_dir_chunk *chunk = &r->dir.sections[CAM_CHUNK_PROCESSES].chunks[0];
	uint32_t bytes = chunk->bytes;
	chunk->bytes = 1 << 20;
	assert_int_equal(cam_dir_most_cells(&r->dir, CAM_CHUNK_PROCESSES), 64 << 20);
	chunk->bytes = bytes;
	/* Processes that are there one second each, and one cell less than they have: nothing of them. */
	uint64_t n = 0;
	r->dir.info.samples = 1;
	assert_int_equal(x->w->ops->process_cells(x->w, take_process, &n), 0);
	assert_int_equal(n, 0);
	assert_true(x->w->damage.chunks > 0);
	r->dir.info.samples = samples;
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

/* Pids that take room. */
static int32_t pid_of(unsigned i)
{
	return 100 + (int32_t)(i * 7919ull % 1000003);
}

/* A window with thousands of tasks, whose first second also has those given. */
static struct cam_window *with_tasks(struct fixture *x, const struct cam_task *who, size_t n)
{
	struct fake_window *f = fake_window_new();
	for (unsigned i = 0; i < n; i++) {
		struct cam_task_id task =
			fake_task(f, who[i].pid, who[i].tid, names_of[who[i].uid]);
		fake_sample(f, 1000 * NS + i, 0, task, fake_place(f, "do_idle;intel_idle"));
	}
	for (unsigned i = 0; i < 6000; i++)
		fake_sample(f, 1001 * NS + i * 1000, 1, fake_task(f, pid_of(i), pid_of(i), "cc1"),
			    fake_place(f, "main"));
	open_window(x, f, 8192);
	assert_true(cam_reader_of(x->w)->dir.sections[CAM_CHUNK_TASKS].n > 1);
	return x->w;
}

struct comms {
	const struct cam_tables *t;
	unsigned n, several;
};

static int take_comm(void *arg, struct cam_str_id comm, uint32_t task)
{
	struct comms *k = arg;
	struct cam_text text = cam_string(k->t, comm);
	k->n++;
	k->several += task == CAM_NONE;
	assert_int_equal(task == CAM_NONE, cam_text_equal(text, CAM_TEXT("cc1")));
	return 0;
}

static void names_come_without_tasks(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct cam_task task, other = {.pid = 7};
	const struct cam_tables *t, *all;
	struct cam_window *w = with_tasks(&x, (struct cam_task[]){{.pid = 0, .uid = 1}}, 1);
	struct reads *r = watch(&x);
	assert_int_equal(cam_window_names(w, &t), 0);
	assert_int_equal(t->n_tasks, 0);
	assert_true(t->n_functions >= 3);
	struct comms k = {.t = t};
	assert_int_equal(cam_window_comms(w, take_comm, &k), 0);
	assert_int_equal(k.n, 2);
	assert_int_equal(k.several, 1);
	assert_int_equal(r->bytes[CAM_CHUNK_TASKS], 0);
	/* One of them: its chunk alone, and once. */
	assert_int_equal(cam_window_task(w, 0, &task), 0);
	assert_int_equal(cam_window_task(w, 1, &other), 0);
	assert_int_equal(task.pid, 0);
	assert_true(cam_text_equal(cam_string(t, task.comm), CAM_TEXT("swapper/0")));
	assert_int_equal(other.pid, pid_of(0));
	assert_int_equal(r->bytes[CAM_CHUNK_TASKS],
			 r->dir->sections[CAM_CHUNK_TASKS].chunks[0].bytes);
	assert_int_equal(t->n_tasks, 0);
	/* One far behind those: the chunk once more, then all that it has is there. */
	uint32_t last = r->dir->sections[CAM_CHUNK_TASKS].chunks[0].rows - 1;
	assert_true(last > 2000);
	for (uint32_t i = last; i > last - 3; i--) {
		assert_int_equal(cam_window_task(w, i, &task), 0);
		assert_int_equal(task.pid, pid_of(i - 1));
	}
	assert_int_equal(r->bytes[CAM_CHUNK_TASKS],
			 2 * r->dir->sections[CAM_CHUNK_TASKS].chunks[0].bytes);
	assert_int_equal(cam_window_task(w, 6001, &task), -EBADMSG);
	/* All of them are the same as ever. */
	assert_int_equal(w->ops->tables(w, &all), 0);
	assert_ptr_equal(all, t);
	assert_int_equal(t->n_tasks, 6001);
	for (uint32_t i = 0; i < 6001; i += 500) {
		assert_int_equal(cam_window_task(w, i, &task), 0);
		assert_int_equal(task.pid, i ? pid_of(i - 1) : 0);
		assert_memory_equal(&task, &t->tasks[i], sizeof(task));
	}
	w->ops->close(w);
	cam_buf_free(&x.bytes);
}

/* Whether tasks are looked at, and read, to tell who idles. */
static void tasks_are_read_where_somebody_is_called_swapper(void **state)
{
	(void)state;
	const struct {
		struct cam_task who[2];
		size_t n;
		bool by_stack, by_task;
		size_t chunks; /* of tasks; SIZE_MAX: all */
	} cases[] = {
		{{{.pid = 3, .tid = 3, .uid = 0}}, 1, false, false, 0},
		{{{.pid = 0, .tid = 0, .uid = 1}}, 1, true, false, 1},
		{{{.pid = 0, .uid = 1}, {.pid = 0, .tid = 1, .uid = 2}}, 2, true, false, 1},
		{{{.pid = 55, .tid = 55, .uid = 1}}, 1, true, true, SIZE_MAX},
		/* Two of one comm. */
		{{{.pid = 0, .uid = 1}, {.pid = 0, .tid = 1, .uid = 1}}, 2, true, false, SIZE_MAX},
		{{{.pid = 0, .uid = 1}, {.pid = 9, .tid = 9, .uid = 1}}, 2, true, true, SIZE_MAX},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture x = {0};
		struct cam_selection s;
		struct cam_selector selector;
		struct cam_window *w = with_tasks(&x, cases[i].who, cases[i].n);
		struct reads *r = watch(&x);
		cam_selection_init(&s);
		assert_int_equal(cam_selector_open(&selector, &s, w, (struct cam_etype_id){0},
						   (struct cam_etype_id){CAM_NONE}),
				 0);
		assert_int_equal(selector.by_stack, cases[i].by_stack);
		assert_int_equal(selector.by_task, cases[i].by_task);
		const struct cam_dir_section *section = &r->dir->sections[CAM_CHUNK_TASKS];
		/* All of them behind the one that gave the reason. */
		uint64_t bytes = cases[i].by_task && cases[i].n == 1 ? section->chunks[0].bytes : 0;
		for (size_t c = 0; c < section->n && c < cases[i].chunks; c++)
			bytes += section->chunks[c].bytes;
		assert_int_equal(r->bytes[CAM_CHUNK_TASKS], bytes);
		cam_selector_close(&selector);
		cam_selection_free(&s);
		w->ops->close(w);
		cam_buf_free(&x.bytes);
	}
}

/* From one chunk to another and back: each is not read for ever. */
static void tasks_here_and_there_are_read_once(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct cam_window *w = with_tasks(&x, NULL, 0);
	struct reads *r = watch(&x);
	for (uint32_t i = 0; i < 1000; i++) {
		struct cam_task task;
		uint32_t at = i % 2 ? 5999 - i : i;
		assert_int_equal(cam_window_task(w, at, &task), 0);
		assert_int_equal(task.pid, pid_of(at));
	}
	assert_true(r->bytes[CAM_CHUNK_TASKS] < 16 * 12000 + size_of(&x, CAM_CHUNK_TASKS));
	w->ops->close(w);
	cam_buf_free(&x.bytes);
}

/* Whoever is called swapper in a chunk that cannot be read: its stack says whether it idles, as ever. */
static void damaged_tasks_idle_by_their_stacks(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct cam_selection s;
	struct cam_selector selector;
	struct cam_window *w = with_tasks(&x, (struct cam_task[]){{.pid = 0, .uid = 1}}, 1);
	x.bytes.data[cam_reader_of(w)->dir.sections[CAM_CHUNK_TASKS].chunks[0].offset + 9] ^= 1;
	cam_selection_init(&s);
	assert_int_equal(cam_selector_open(&selector, &s, w, (struct cam_etype_id){0},
					   (struct cam_etype_id){CAM_NONE}),
			 0);
	assert_int_equal(w->damage.chunks, 1);
	assert_true(selector.by_stack);
	assert_false(selector.by_task);
	cam_selector_close(&selector);
	cam_selection_free(&s);
	w->ops->close(w);
	cam_buf_free(&x.bytes);
}

/* Random windows in small chunks: what is kept by second, and tasks one by one, against samples and tables. */
struct tally {
	const struct cam_tables *t;
	uint32_t leader[4096]; /* by task: the one its process is called after */
	uint32_t n[4096][16];  /* by leader and second */
	uint64_t told;
};

static bool same_process(const struct cam_task *a, const struct cam_task *b)
{
	return a->pid == b->pid && (a->pid != CAM_PID_NONE || a->tid == b->tid);
}

static bool is_main(const struct cam_task *k)
{
	return k->pid == k->tid || k->pid == CAM_PID_NONE;
}

static void find_leaders(struct tally *y)
{
	assert_true(y->t->n_tasks < 4096);
	for (uint32_t i = 0; i < y->t->n_tasks; i++) {
		uint32_t leader = CAM_NONE;
		for (uint32_t k = 0; k < y->t->n_tasks; k++)
			if (same_process(&y->t->tasks[i], &y->t->tasks[k]) &&
			    (leader == CAM_NONE || is_main(&y->t->tasks[k])))
				leader = k;
		y->leader[i] = leader;
	}
}

static int tally_batch(void *arg, const struct cam_batch *b)
{
	struct tally *y = arg;
	for (size_t i = 0; i < b->n; i++)
		y->n[y->leader[b->task[i]]][b->time_ns[i] / NS - 1000]++;
	return 0;
}

static int check_name_cell(void *arg, const struct cam_name_cell *c)
{
	struct tally *y = arg;
	uint64_t samples = 0, most = 0;
	for (uint32_t i = 0; i < y->t->n_tasks; i++) {
		const struct cam_task *k = &y->t->tasks[i];
		bool program = !is_main(k) && cam_string(y->t, k->exe).n;
		uint32_t n = y->n[i][c->second - 1000];
		if (y->leader[i] != i || program != c->is_program || k->cgroup.v != c->cgroup.v ||
		    (program ? k->exe.v : k->comm.v) != c->name.v)
			continue;
		samples += n;
		most = n > most ? n : most;
	}
	assert_int_equal(c->samples, samples);
	assert_int_equal(c->most, most);
	y->told += samples;
	return 0;
}

/* By second: samples, then each cause. */
struct by_second {
	uint64_t n[16][1 + CAM_CAUSE_MAX], elsewhere;
};

static int add_second(void *arg, const struct cam_cell *c)
{
	struct by_second *y = arg;
	uint64_t at = c->second - 1000;
	if (at >= 16)
		y->elsewhere += c->busy;
	for (unsigned i = 0; at < 16 && i < CAM_CAUSE_MAX; i++)
		y->n[at][1 + i] += c->by_cause[i];
	if (at < 16)
		y->n[at][0] += c->busy;
	return 0;
}

static void check_seconds(struct cam_window *w)
{
	struct by_second cells = {0}, seconds = {0};
	assert_int_equal(w->ops->cells(w, add_second, &cells), 0);
	assert_int_equal(cam_window_seconds(w, add_second, &seconds), 0);
	assert_memory_equal(&cells, &seconds, sizeof(cells));
}

struct slot_rows {
	struct cam_slots rows[400];
	unsigned n;
};

static int take_slots(void *arg, const struct cam_slots *s)
{
	struct slot_rows *r = arg;
	assert_true(r->n < 400);
	r->rows[r->n++] = *s;
	return 0;
}

/* Parts of seconds are those of the samples; what was imported has none. */
static void check_slots(struct cam_window *w, struct fake_window *f)
{
	static struct slot_rows got, want;
	got.n = want.n = 0;
	int err = w->ops->slots(w, take_slots, &got);
	assert_int_equal(err, w->info.has_slots ? 0 : -ENODATA);
	assert_int_equal(w->info.has_slots, !w->info.imported && w->info.clock != CAM_CLOCK_ABSENT);
	f->w.info.has_slots = w->info.has_slots;
	assert_int_equal(f->w.ops->slots(&f->w, take_slots, &want), err);
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.rows, want.rows, got.n * sizeof(got.rows[0]));
}

struct seconds {
	struct cam_buf v;
	bool exact;
};

static int note_seconds(void *arg, const struct cam_batch *b)
{
	struct seconds *s = arg;
	for (size_t i = 0; i < b->n; i++) {
		uint64_t t = b->time_ns[i];
		/* So no time was decoded for it. */
		assert_true(s->exact || t == CAM_TIME_NONE || t % CAM_NS_PER_SEC == 0);
		cam_buf_put_u64(&s->v, t == CAM_TIME_NONE ? t : t / CAM_NS_PER_SEC);
	}
	return 0;
}

/* Who asks for seconds alone gets those of the times, of a whole window and of a part. */
static void check_second_column(struct cam_window *w)
{
	const struct cam_range ranges[] = {
		CAM_RANGE_ALL,
		{(w->info.start_ns / CAM_NS_PER_SEC + 1) * CAM_NS_PER_SEC, UINT64_MAX}};
	for (unsigned i = 0; i < 2; i++) {
		struct seconds want = {CAM_BUF(1u << 24), true}, got = {CAM_BUF(1u << 24), false};
		int err = w->ops->samples(w, ranges[i], CAM_COL_TIME, note_seconds, &want);
		err |= w->ops->samples(w, ranges[i], CAM_COL_SECOND, note_seconds, &got);
		assert_int_equal(err, 0);
		assert_int_equal(want.v.len, got.v.len);
		if (got.v.len)
			assert_memory_equal(want.v.data, got.v.data, got.v.len);
		cam_buf_free(&want.v);
		cam_buf_free(&got.v);
	}
}

static void random_windows_say_the_same_by_second(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct fake_window *f = rich_window(seed, 1 + seed % 12, 20 + seed * 9 % 200);
		struct cam_buf bytes = CAM_BUF(SIZE_MAX / 2);
		struct memory_file file;
		struct cam_window *w, *alone;
		struct cam_out out;
		struct tally *y = calloc(1, sizeof(*y));
		cam_out_to_buf(&out, &bytes);
		assert_int_equal(cam_window_write_chunks(fake_window_ready(f), &out,
							 seed % 3 ? 300 : 65536),
				 0);
		assert_int_equal(cam_out_finish(&out), 0);
		memory_file_init(&file, bytes.data, bytes.len);
		assert_int_equal(cam_window_open(&file.file, &w), 0);
		assert_int_equal(cam_window_open(&file.file, &alone), 0);
		assert_int_equal(w->ops->tables(w, &y->t), 0);
		find_leaders(y);
		assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TIME | CAM_COL_TASK,
						 tally_batch, y),
				 0);
		assert_int_equal(w->ops->name_cells(w, check_name_cell, y), 0);
		assert_int_equal(y->told, w->info.samples);
		check_seconds(w);
		check_slots(w, f);
		check_second_column(w);
		for (uint32_t i = 0; i < y->t->n_tasks; i++) {
			uint32_t at = (uint32_t)(i * 7919ull % y->t->n_tasks);
			const struct cam_task *k = &y->t->tasks[at];
			struct cam_task one;
			assert_int_equal(cam_window_task(alone, at, &one), 0);
			assert_true(one.pid == k->pid && one.tid == k->tid && one.uid == k->uid &&
				    one.comm.v == k->comm.v && one.exe.v == k->exe.v &&
				    one.cgroup.v == k->cgroup.v && one.start_ns == k->start_ns);
		}
		assert_int_equal(cam_window_task(alone, (uint32_t)y->t->n_tasks,
						 &(struct cam_task){0}),
				 -EBADMSG);
		w->ops->close(w);
		alone->ops->close(alone);
		cam_buf_free(&bytes);
		fake_window_free(f);
		free(y);
	}
}

/* Thousands of processes, each with one sample a second: cells that take no bits. The reader believes so many a byte. */
static void many_cells_that_are_alike_are_believed(void **state)
{
	(void)state;
	enum { PROCESSES = 4200, LENGTH = 250 };
	struct fixture x = {0};
	struct fake_window *f = fake_window_new();
	struct cam_place_id place = fake_place(f, "main");
	for (unsigned p = 0; p < PROCESSES; p++) {
		char name[16];
		snprintf(name, sizeof(name), "p%u", p);
		struct cam_task_id task = fake_task(f, (int32_t)p + 1, (int32_t)p + 1, name);
		for (unsigned s = 0; s < LENGTH; s++)
			fake_sample(f, (1000 + s) * NS + p * 1000, 0, task, place);
	}
	open_window(&x, f, CAM_CHUNK_BYTES);
	uint64_t n = 0;
	assert_int_equal(x.w->ops->process_cells(x.w, take_process, &n), 0);
	assert_int_equal(n, PROCESSES * LENGTH);
	n = 0;
	assert_int_equal(x.w->ops->name_cells(x.w, take_name, &n), 0);
	assert_int_equal(n, PROCESSES * LENGTH);
	assert_int_equal(x.w->damage.chunks, 0);
	x.w->ops->close(x.w);
	cam_buf_free(&x.bytes);
}

static int count_cell(void *arg, const struct cam_cell *c)
{
	uint64_t *n = arg;
	n[0]++;
	n[1] += c->by_cause[CAM_CAUSE_LOST_RING];
	return 0;
}

/* A ledger of nothing but long rows, which say the same: 8,000 of 4,095 seconds each would be 33 million parts. */
static void long_rows_of_a_ledger_do_not_take_for_ever(void **state)
{
	(void)state;
	enum { ROWS = 8000, LOST = 5000, MOST = 1 << 22, EACH = 4095 };
	struct fixture x = {0};
	struct fake_window *f = fake_window_new();
	fake_sample(f, 1000 * NS, 0, fake_task(f, 1, 1, "a"), fake_place(f, "main"));
	for (unsigned i = 0; i < ROWS; i++)
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_LOST_RING, 0, 9000 * NS,
							    (9000ull + EACH) * NS, LOST});
	fake_add_ledger(f,
			&(struct cam_ledger_row){CAM_CAUSE_LOST_RING, 0, 9000 * NS, 9999 * NS, 0});
	open_window(&x, f, CAM_CHUNK_BYTES);
	/* Far from the window each part is handed out as it comes; none is left out. */
	uint64_t n[2] = {0};
	assert_int_equal(cam_window_seconds(x.w, count_cell, n), 0);
	assert_in_range(n[0], MOST, MOST + EACH + ROWS + 1);
	assert_int_equal(n[1], (uint64_t)ROWS * LOST);
	uint64_t cells[2] = {0};
	assert_int_equal(x.w->ops->cells(x.w, count_cell, cells), 0);
	assert_int_equal(cells[0], EACH + 1);
	assert_int_equal(cells[1], n[1]);
	x.w->ops->close(x.w);
	cam_buf_free(&x.bytes);
}

static int add_early(void *arg, const struct cam_cell *c)
{
	uint64_t(*n)[2] = arg;
	assert_in_range(c->second, 0, 5);
	n[c->second][0] += c->busy;
	n[c->second][1] += c->by_cause[CAM_CAUSE_IDLE];
	return 0;
}

/* Rows of a ledger before, in, across and behind the seconds of a window, whose clock has just begun. */
static void seconds_are_those_of_the_rows(void **state)
{
	(void)state;
	static const uint64_t spans[][2] = {{0, 1},   {5, 15},	{10, 20}, {0, 0},   {19, 39},
					    {20, 30}, {10, 10}, {35, 41}, {25, 25}, {11, 19}};
	struct fixture x = {0};
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 1, 1, "a");
	fake_sample(f, NS, 0, task, fake_place(f, "main"));
	fake_sample(f, 3 * NS, 0, task, fake_place(f, "main"));
	for (unsigned i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		fake_add_ledger(f,
				&(struct cam_ledger_row){CAM_CAUSE_IDLE, 0, spans[i][0] * NS / 10,
							 spans[i][1] * NS / 10, 100 + i});
	open_window(&x, f, CAM_CHUNK_BYTES);
	uint64_t cells[6][2] = {0}, seconds[6][2] = {0}, all = 0;
	assert_int_equal(x.w->ops->cells(x.w, add_early, cells), 0);
	assert_int_equal(cam_window_seconds(x.w, add_early, seconds), 0);
	assert_memory_equal(cells, seconds, sizeof(cells));
	for (unsigned i = 0; i < 6; i++)
		all += seconds[i][1];
	assert_int_equal(all, 1045);
	assert_int_equal(seconds[0][1], 100 + 50 + 103);
	x.w->ops->close(x.w);
	cam_buf_free(&x.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(opening_reads_header_and_directory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(seconds_need_no_classes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_glance_says_what_opening_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cells_are_no_more_than_samples_and_bytes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_footer_reads_no_column, set_up, tear_down),
		cmocka_unit_test_setup_teardown(five_seconds_read_their_spans_only, set_up,
						tear_down),
		cmocka_unit_test(names_come_without_tasks),
		cmocka_unit_test(tasks_are_read_where_somebody_is_called_swapper),
		cmocka_unit_test(tasks_here_and_there_are_read_once),
		cmocka_unit_test(damaged_tasks_idle_by_their_stacks),
		cmocka_unit_test(random_windows_say_the_same_by_second),
		cmocka_unit_test(many_cells_that_are_alike_are_believed),
		cmocka_unit_test(long_rows_of_a_ledger_do_not_take_for_ever),
		cmocka_unit_test(seconds_are_those_of_the_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
