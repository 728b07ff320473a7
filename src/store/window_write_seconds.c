// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of each name in each second: what processes of a name had together, and the most that one of them had.
 *
 * The samples of each process are there as well (window_write_tasks.c); but who a process is only the tasks say, and a host has ten
 * thousands of them in a window. Of names there are some dozens, so that hours of them are read at once.
 *
 * A process is called as its main thread is; without a sample of that by its program, or else as the thread that was met first.
 * What has the same name and cgroup is one row. Not in windows without times.
 *
 * A chunk: varint rows; streams: name (string of the file, zigzag difference to the row before), program (1: the name is the path of
 * a program), cgroup (as the name), seconds - 1, first second (zigzag difference to that of the row before, at first to the second in
 * which the window starts), gaps between them - 1, samples - 1, samples - the most of one process.
 *
 * Example: sh (3, cgroup 5) had 2 samples of one process in second 11 and 3, of which 2 of one, in second 14; the window begins in 10:
 *	1   name 6   program 0   cgroup 10   seconds 1   first 2   gap 2   samples 1 2   others 0 1
 */
#include "base/vec.h"
#include "store/window_layout.h"
#include "store/window_writer.h"

#include <errno.h>
#include <stdlib.h>

struct name {
	uint32_t name, cgroup; /* strings of the file */
	uint32_t program;
};

struct cam_name_row {
	uint64_t second;
	uint32_t of, samples, most;
};

struct naming {
	struct cam_writer *w;
	struct name *names;
	size_t n_names, cap_names;
	struct cam_index index;
	uint32_t *name_of; /* by process */
	uint32_t *count;   /* by process: samples of the second */
	uint32_t *met;	   /* processes that have any */
	uint32_t n_met;
	uint32_t *row_of; /* by name: its row of the second + 1 */
	struct cam_name_row *rows;
	size_t n, cap;
};

static bool same_name(const void *rows, uint32_t id, const void *key)
{
	const struct name *a = (const struct name *)rows + id, *b = key;
	return a->name == b->name && a->cgroup == b->cgroup && a->program == b->program;
}

static int find_name(struct naming *k, const struct cam_task *leader, bool main, uint32_t *out)
{
	struct name key = {.program = !main && cam_string(k->w->t, leader->exe).n};
	int err = cam_writer_string(k->w, key.program ? leader->exe : leader->comm, &key.name);
	if (!err)
		err = cam_writer_string(k->w, leader->cgroup, &key.cgroup);
	if (err)
		return err;
	uint64_t hash = cam_hash_u64((uint64_t)key.name << 32 | key.cgroup, key.program);
	*out = cam_index_find(&k->index, hash, same_name, k->names, &key);
	if (*out != CAM_INDEX_NONE)
		return 0;
	err = cam_index_reserve(&k->index);
	if (!err)
		err = cam_vec_reserve(&k->names, &k->cap_names, k->n_names + 1, sizeof(key),
				      CAM_WINDOW_ROWS_MAX);
	if (err)
		return err;
	*out = (uint32_t)k->n_names;
	k->names[k->n_names++] = key;
	cam_index_add(&k->index, hash, *out);
	return 0;
}

/* The main thread says what a process is called, else the first that was met. */
static int name_processes(struct naming *k)
{
	const struct cam_writer *w = k->w;
	size_t n = w->dir.n_processes;
	uint32_t *leader = calloc(n + 1, sizeof(*leader)); /* + 1 */
	bool *main = calloc(n + 1, sizeof(*main));
	int err = leader && main ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < w->rows.n_tasks && !err; i++) {
		const struct cam_task *task = &w->t->tasks[w->rows.tasks[i]];
		uint32_t process = w->task_process[i];
		bool is_main = task->pid == task->tid || task->pid == CAM_PID_NONE;
		if (!leader[process] || is_main)
			leader[process] = i + 1;
		main[process] |= is_main;
	}
	for (uint32_t p = 0; p < n && !err; p++)
		err = find_name(k, &w->t->tasks[w->rows.tasks[leader[p] - 1]], main[p],
				&k->name_of[p]);
	free(leader);
	free(main);
	return err;
}

static int end_second(struct naming *k, uint64_t second)
{
	size_t first = k->n;
	int err = cam_vec_reserve(&k->rows, &k->cap, k->n + k->n_met, sizeof(*k->rows),
				  UINT32_MAX - 1);
	for (uint32_t i = 0; i < k->n_met && !err; i++) {
		uint32_t samples = k->count[k->met[i]], *at = &k->row_of[k->name_of[k->met[i]]];
		if (!*at) {
			*at = (uint32_t)k->n + 1;
			k->rows[k->n++] =
				(struct cam_name_row){second, k->name_of[k->met[i]], 0, 0};
		}
		struct cam_name_row *row = &k->rows[*at - 1];
		row->samples += samples;
		row->most = samples > row->most ? samples : row->most;
		k->count[k->met[i]] = 0;
	}
	for (size_t i = first; i < k->n; i++)
		k->row_of[k->rows[i].of] = 0;
	k->n_met = 0;
	return err;
}

/* Samples are in order of their seconds. */
static int count_seconds(struct naming *k)
{
	const struct cam_rows *rows = &k->w->rows;
	int err = 0;
	for (size_t i = 0; i < rows->n && !err; i++) {
		uint64_t second = cam_rows_second(rows->time_ns[i]);
		uint32_t process = k->w->task_process[rows->task[i]];
		if (!k->count[process]++)
			k->met[k->n_met++] = process;
		if (i + 1 == rows->n || cam_rows_second(rows->time_ns[i + 1]) != second)
			err = end_second(k, second);
	}
	return err;
}

static int by_name(const void *x, const void *y)
{
	const struct cam_name_row *a = x, *b = y;
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	return a->second < b->second ? -1 : a->second > b->second;
}

/* Rows of names [from, to). */
static int put_names(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	const struct naming *k = w->naming;
	struct cam_stream_out s[CAM_SECOND_STREAMS];
	struct name last = {0};
	uint64_t first = cam_rows_second(w->dir.info.start_ns);
	size_t i = 0;
	int err;
	for (unsigned n = 0; n < CAM_SECOND_STREAMS; n++)
		cam_stream_out_init(&s[n], cam_second_splits[n]);
	while (i < k->n && k->rows[i].of < from)
		i++;
	cam_buf_put_varint(out, to - from);
	for (uint32_t n = from; n < to; n++) {
		size_t begin = i;
		const struct name *name = &k->names[n];
		cam_stream_put(&s[CAM_SECOND_NAME], 0, cam_zigzag((int64_t)name->name - last.name));
		cam_stream_put(&s[CAM_SECOND_PROGRAM], 0, name->program);
		cam_stream_put(&s[CAM_SECOND_CGROUP], 0,
			       cam_zigzag((int64_t)name->cgroup - last.cgroup));
		cam_stream_put(&s[CAM_SECOND_FIRST], 0,
			       cam_zigzag((int64_t)(k->rows[i].second - first)));
		for (; i < k->n && k->rows[i].of == n; i++) {
			const struct cam_name_row *row = &k->rows[i];
			if (i > begin)
				cam_stream_put(&s[CAM_SECOND_GAP], 0,
					       row->second - k->rows[i - 1].second - 1);
			cam_stream_put(&s[CAM_SECOND_SAMPLES], 0, row->samples - 1);
			cam_stream_put(&s[CAM_SECOND_OTHERS], 0, row->samples - row->most);
		}
		cam_stream_put(&s[CAM_SECOND_NUMBER], 0, i - begin - 1);
		first = k->rows[begin].second;
		last = *name;
	}
	err = cam_streams_write_cells(s, CAM_SECOND_STREAMS, NULL, CAM_SECOND_SAMPLES,
				      k->n > CAM_FREE_CELLS, out);
	for (unsigned n = 0; n < CAM_SECOND_STREAMS; n++)
		cam_stream_out_free(&s[n]);
	return err;
}

int cam_write_seconds(struct cam_writer *w)
{
	size_t n = w->dir.n_processes;
	struct naming k = {.w = w};
	if (!w->rows.n || w->dir.info.clock == CAM_CLOCK_ABSENT)
		return 0;
	k.name_of = calloc(n + 1, sizeof(uint32_t));
	k.count = calloc(n + 1, sizeof(uint32_t));
	k.met = calloc(n + 1, sizeof(uint32_t));
	k.row_of = calloc(n + 1, sizeof(uint32_t));
	int err = k.name_of && k.count && k.met && k.row_of ? name_processes(&k) : -ENOMEM;
	if (!err)
		err = count_seconds(&k);
	if (!err && k.n)
		qsort(k.rows, k.n, sizeof(*k.rows), by_name);
	w->naming = &k;
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_SECONDS, (uint32_t)k.n_names, put_names);
	w->naming = NULL;
	free(k.name_of);
	free(k.count);
	free(k.met);
	free(k.row_of);
	free(k.names);
	free(k.rows);
	cam_index_free(&k.index);
	return err;
}
