// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks, and the samples of each process in each second.
 *
 * A process is all tasks of one pid; a task without a pid is one by itself. Processes are numbered
 * by their first task, so a task's process is mostly the next one, and a process's first second
 * never comes before that of the one before it.
 *
 * Tasks, a chunk: varints: number of the next process, unit of start times, smallest comm. Streams:
 * process (0: the next one, else distance back from the next), pid (where this chunk has not met
 * the process: difference to the last one coded), tid - pid, comm - smallest, exe, cgroup and uid
 * (0: as the last task of this comm in the chunk, else 1 + value), start (difference to the task
 * before, in units).
 *
 * Processes, a chunk: varint first second of its first process; streams: first second (difference
 * to the process before), seconds with samples - 1, gaps between them - 1, samples - 1 (context:
 * the process has more than one second).
 */
#include "base/vec.h"
#include "store/window_layout.h"
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

static int64_t process_key(const struct cam_task *k)
{
	return k->pid == CAM_PID_NONE ? (int64_t)1 << 32 | (uint32_t)k->tid : k->pid;
}

static const struct cam_task *task_of(const struct cam_writer *w, uint32_t task)
{
	return &w->t->tasks[w->rows.tasks[task]];
}

static bool same_process(const void *rows, uint32_t id, const void *key)
{
	return ((const int64_t *)rows)[id] == *(const int64_t *)key;
}

static int number_processes(struct cam_writer *w)
{
	int64_t *keys = calloc(w->rows.n_tasks + 1, sizeof(*keys));
	struct cam_index ix = {0};
	w->task_process = calloc(w->rows.n_tasks + 1, sizeof(uint32_t));
	int err = keys && w->task_process ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < w->rows.n_tasks && !err; i++) {
		int64_t key = process_key(task_of(w, i));
		uint64_t hash = cam_hash_u64((uint64_t)key, 1);
		uint32_t at = cam_index_find(&ix, hash, same_process, keys, &key);
		if (at == CAM_INDEX_NONE) {
			err = cam_index_reserve(&ix);
			if (err)
				break;
			at = w->dir.n_processes++;
			keys[at] = key;
			cam_index_add(&ix, hash, at);
		}
		w->task_process[i] = at;
	}
	cam_index_free(&ix);
	free(keys);
	return err;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

struct task_rows {
	struct cam_stream_out streams[CAM_TASK_STREAMS];
	uint32_t *last_of_comm; /* by string of the tables: the last task + 1 */
	bool *met;		/* by process */
	uint32_t next_process, first_comm;
	int32_t last_pid;
	uint64_t unit, last_start;
};

static int put_string_field(struct cam_writer *w, struct cam_stream_out *s, struct cam_str_id id,
			    const struct cam_str_id *like)
{
	uint32_t number = 0;
	int err = cam_writer_string(w, id, &number);
	cam_stream_put(s, 0, like && like->v == id.v ? 0 : 1 + (uint64_t)number);
	return err;
}

static int put_task(struct cam_writer *w, struct task_rows *r, uint32_t i)
{
	const struct cam_task *k = task_of(w, i);
	uint32_t *last = &r->last_of_comm[k->comm.v];
	const struct cam_task *like = *last ? task_of(w, *last - 1) : NULL;
	struct cam_stream_out *s = r->streams;
	uint32_t comm = 0, process = w->task_process[i];
	bool fresh = process == r->next_process;
	cam_stream_put(&s[CAM_TASK_PROCESS], 0, fresh ? 0 : r->next_process - process);
	r->next_process += fresh;
	if (!r->met[process]) {
		cam_stream_put(&s[CAM_TASK_PID], 0, cam_zigzag((int64_t)k->pid - r->last_pid));
		r->last_pid = k->pid;
		r->met[process] = true;
	}
	cam_stream_put(&s[CAM_TASK_TID], 0, cam_zigzag((int64_t)k->tid - k->pid));
	int err = cam_writer_string(w, k->comm, &comm);
	cam_stream_put(&s[CAM_TASK_COMM], 0, comm - r->first_comm);
	if (!err)
		err = put_string_field(w, &s[CAM_TASK_EXE], k->exe, like ? &like->exe : NULL);
	if (!err)
		err = put_string_field(w, &s[CAM_TASK_CGROUP], k->cgroup,
				       like ? &like->cgroup : NULL);
	cam_stream_put(&s[CAM_TASK_UID], 0, like && like->uid == k->uid ? 0 : 1 + (uint64_t)k->uid);
	uint64_t start = k->start_ns / r->unit;
	cam_stream_put(&s[CAM_TASK_START], 0, cam_zigzag((int64_t)(start - r->last_start)));
	r->last_start = start;
	*last = i + 1;
	return err;
}

/* What the rows of a chunk have in common. */
static int begin_tasks(struct cam_writer *w, struct task_rows *r, uint32_t from, uint32_t to)
{
	r->first_comm = UINT32_MAX;
	r->next_process = 0;
	for (uint32_t i = 0; i < from; i++)
		if (w->task_process[i] >= r->next_process)
			r->next_process = w->task_process[i] + 1;
	for (uint32_t i = from; i < to; i++) {
		uint32_t comm = 0;
		int err = cam_writer_string(w, task_of(w, i)->comm, &comm);
		if (err)
			return err;
		if (comm < r->first_comm)
			r->first_comm = comm;
		r->unit = gcd(r->unit, task_of(w, i)->start_ns);
	}
	r->unit += r->unit == 0;
	return 0;
}

static int put_tasks(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct task_rows r = {0};
	for (unsigned i = 0; i < CAM_TASK_STREAMS; i++)
		cam_stream_out_init(&r.streams[i], cam_task_splits[i]);
	r.last_of_comm = calloc(w->t->strings.n + 1, sizeof(uint32_t));
	r.met = calloc((size_t)w->dir.n_processes + 1, sizeof(*r.met));
	int err = r.last_of_comm && r.met ? begin_tasks(w, &r, from, to) : -ENOMEM;
	if (!err) {
		cam_buf_put_varint(out, r.next_process);
		cam_buf_put_varint(out, r.unit);
		cam_buf_put_varint(out, r.first_comm);
	}
	for (uint32_t i = from; i < to && !err; i++)
		err = put_task(w, &r, i);
	for (unsigned i = 0; i < CAM_TASK_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&r.streams[i], 1, out);
		cam_stream_out_free(&r.streams[i]);
	}
	free(r.last_of_comm);
	free(r.met);
	return err;
}

int cam_write_tasks(struct cam_writer *w)
{
	uint32_t unused;
	int err = number_processes(w);
	/* All paths of programs, then all cgroups: neighbours that are alike compress. */
	for (uint32_t i = 0; i < w->rows.n_tasks && !err; i++)
		err = cam_writer_string(w, task_of(w, i)->exe, &unused);
	for (uint32_t i = 0; i < w->rows.n_tasks && !err; i++)
		err = cam_writer_string(w, task_of(w, i)->cgroup, &unused);
	w->dir.n_tasks = (uint32_t)w->rows.n_tasks;
	return err ? err : cam_writer_cut(w, CAM_CHUNK_TASKS, w->dir.n_tasks, put_tasks);
}

/* Samples of a process in a second; those of one process are linked, last second first. */
struct cell {
	uint64_t second;
	uint32_t samples, next;
};

struct cells {
	struct cell *rows;
	size_t n, cap;
	uint32_t *of; /* by process: its cell + 1 */
};

static int count_cells(struct cam_writer *w, struct cells *c)
{
	for (size_t i = 0; i < w->rows.n; i++) {
		uint32_t *head = &c->of[w->task_process[w->rows.task[i]]];
		uint64_t second = cam_rows_second(w->rows.time_ns[i]);
		if (*head && c->rows && c->rows[*head - 1].second == second) {
			c->rows[*head - 1].samples++;
			continue;
		}
		int err = cam_vec_reserve(&c->rows, &c->cap, c->n + 1, sizeof(*c->rows),
					  UINT32_MAX - 1);
		if (err)
			return err;
		c->rows[c->n] = (struct cell){second, 1, *head};
		*head = (uint32_t)++c->n;
	}
	/* First second first. */
	for (uint32_t p = 0; p < w->dir.n_processes; p++) {
		uint32_t list = 0;
		for (uint32_t at = c->of[p], next; at; at = next) {
			next = c->rows[at - 1].next;
			c->rows[at - 1].next = list;
			list = at;
		}
		c->of[p] = list;
	}
	return 0;
}

static int put_processes(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	const struct cells *c = w->cells;
	struct cam_stream_out s[CAM_PROCESS_STREAMS];
	if (!c->rows)
		return -EBADMSG;
	uint64_t last = c->rows[c->of[from] - 1].second;
	for (unsigned i = 0; i < CAM_PROCESS_STREAMS; i++)
		cam_stream_out_init(&s[i], cam_process_splits[i]);
	cam_buf_put_varint(out, last);
	for (uint32_t p = from; p < to; p++) {
		const struct cell *cell = &c->rows[c->of[p] - 1];
		uint32_t n = 0;
		cam_stream_put(&s[CAM_PROCESS_FIRST], 0, cell->second - last);
		last = cell->second;
		bool more = cell->next != 0;
		for (uint64_t before = last; cell; n++) {
			if (n)
				cam_stream_put(&s[CAM_PROCESS_GAP], 0, cell->second - before - 1);
			cam_stream_put(&s[CAM_PROCESS_SAMPLES], more, cell->samples - 1);
			before = cell->second;
			cell = cell->next ? &c->rows[cell->next - 1] : NULL;
		}
		cam_stream_put(&s[CAM_PROCESS_SECONDS], 0, n - 1);
	}
	int err = cam_streams_write_cells(s, CAM_PROCESS_STREAMS, cam_process_contexts,
					  CAM_PROCESS_SAMPLES, c->n > CAM_FREE_CELLS, out);
	for (unsigned i = 0; i < CAM_PROCESS_STREAMS; i++)
		cam_stream_out_free(&s[i]);
	return err;
}

int cam_write_processes(struct cam_writer *w)
{
	struct cells c = {.of = calloc((size_t)w->dir.n_processes + 1, sizeof(uint32_t))};
	int err = c.of ? count_cells(w, &c) : -ENOMEM;
	w->cells = &c;
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_PROCESSES, w->dir.n_processes, put_processes);
	w->cells = NULL;
	free(c.rows);
	free(c.of);
	return err;
}
