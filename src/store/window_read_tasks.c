// SPDX-License-Identifier: Apache-2.0
/* Loads tasks and answers per process; window_write_tasks.c has the layout. */
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

#define MAX_LOADS 16u	/* of parts of a chunk: who asks for more of them gets all */
#define LOAD_ROWS 1024u /* and some behind the one that is asked for */

struct task_rows {
	struct cam_stream_in s[CAM_TASK_STREAMS];
	struct cam_reader *r;
	uint32_t *last_of_comm; /* by string of the file: the last task + 1 */
	bool *met;		/* by process */
	int32_t *pid;		/* by process */
	uint64_t next_process, unit, first_comm, start;
	int64_t last_pid;
};

/* 0: as in `like`, else 1 + a string of the file. */
static int get_string(struct task_rows *k, enum cam_task_stream s, const struct cam_str_id *like,
		      struct cam_str_id *out)
{
	uint64_t v = cam_stream_get(&k->s[s], 0);
	if (v > k->r->dir.n_strings || (v == 0 && !like))
		return -EBADMSG;
	out->v = v ? k->r->strings[v - 1] : like->v;
	return 0;
}

static int get_process(struct task_rows *k, uint64_t *out)
{
	struct cam_reader *r = k->r;
	uint64_t back = cam_stream_get(&k->s[CAM_TASK_PROCESS], 0);
	uint64_t process = k->next_process - back;
	if (back > k->next_process || process >= r->dir.n_processes)
		return -EBADMSG;
	k->next_process += back == 0;
	if (!k->met[process]) {
		int64_t delta = cam_unzigzag(cam_stream_get(&k->s[CAM_TASK_PID], 0));
		if (delta > UINT32_MAX || delta < -(int64_t)UINT32_MAX)
			return -EBADMSG;
		k->last_pid += delta;
		if (k->last_pid != (int32_t)k->last_pid)
			return -EBADMSG;
		k->met[process] = true;
		k->pid[process] = (int32_t)k->last_pid;
	}
	*out = process;
	return 0;
}

static int load_task(struct task_rows *k, uint32_t i)
{
	struct cam_reader *r = k->r;
	struct cam_task *to = &r->t.tasks[i];
	uint64_t process = 0;
	int err = get_process(k, &process);
	int64_t pid = k->pid[process];
	int64_t tid = cam_unzigzag(cam_stream_get(&k->s[CAM_TASK_TID], 0));
	uint64_t comm = cam_stream_get(&k->s[CAM_TASK_COMM], 0);
	if (err || tid > UINT32_MAX || tid < -(int64_t)UINT32_MAX ||
	    pid + tid != (int32_t)(pid + tid) || comm >= r->dir.n_strings ||
	    k->first_comm >= r->dir.n_strings - comm)
		return -EBADMSG;
	comm += k->first_comm;
	uint32_t *last = &k->last_of_comm[comm];
	const struct cam_task *like = *last ? &r->t.tasks[*last - 1] : NULL;
	*to = (struct cam_task){
		.pid = (int32_t)pid, .tid = (int32_t)(pid + tid), .comm = {r->strings[comm]}};
	err = get_string(k, CAM_TASK_EXE, like ? &like->exe : NULL, &to->exe);
	if (!err)
		err = get_string(k, CAM_TASK_CGROUP, like ? &like->cgroup : NULL, &to->cgroup);
	uint64_t uid = cam_stream_get(&k->s[CAM_TASK_UID], 0);
	if (err || uid > (1ull << 32) || (uid == 0 && !like))
		return -EBADMSG;
	to->uid = uid ? (uint32_t)(uid - 1) : like->uid;
	k->start += (uint64_t)cam_unzigzag(cam_stream_get(&k->s[CAM_TASK_START], 0));
	to->start_ns = k->start * k->unit;
	*last = i + 1;
	r->process_pid[process] = to->pid == CAM_PID_NONE ? to->tid : to->pid;
	return 0;
}

/* Its first `wanted` rows: with fewer than all of them the streams are not read to their ends. */
static int load_first_rows(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c,
			   uint32_t wanted)
{
	struct task_rows k = {.r = r};
	k.next_process = cam_rd_varint(rd);
	k.unit = cam_rd_varint(rd);
	k.first_comm = cam_rd_varint(rd);
	int err = cam_streams_open(k.s, rd, CAM_TASK_STREAMS, NULL, cam_task_splits);
	if (err)
		return err;
	k.last_of_comm = calloc((size_t)r->dir.n_strings + 1, sizeof(uint32_t));
	k.met = calloc((size_t)r->dir.n_processes + 1, sizeof(*k.met));
	k.pid = calloc((size_t)r->dir.n_processes + 1, sizeof(*k.pid));
	if (!k.last_of_comm || !k.met || !k.pid)
		err = -ENOMEM;
	for (uint32_t i = 0; i < wanted && !err; i++)
		err = load_task(&k, c->first + i);
	for (unsigned i = 0; i < CAM_TASK_STREAMS && !err; i++)
		err = k.s[i].bad || k.s[i].rans.bad ? -EBADMSG : 0;
	int end = cam_streams_close(k.s, CAM_TASK_STREAMS);
	free(k.last_of_comm);
	free(k.met);
	free(k.pid);
	return err || wanted < c->rows ? err : end;
}

static int load_task_rows(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c)
{
	return load_first_rows(r, rd, c, c->rows);
}

static int damage_tasks(struct cam_reader *r, const struct cam_dir_chunk *c)
{
	uint32_t id;
	int err = cam_reader_damaged_string(r, &id);
	for (uint32_t i = 0; i < c->rows; i++)
		r->t.tasks[c->first + i] = (struct cam_task){.pid = CAM_PID_NONE,
							     .tid = CAM_PID_NONE,
							     .uid = CAM_UID_NONE,
							     .comm = {id}};
	return err;
}

/* Room for the rows, which nobody sees yet. */
static int reserve_rows(struct cam_reader *r)
{
	struct cam_tables *t = &r->t;
	int err = cam_reader_load(r, CAM_PART_STRINGS);
	if (!err)
		err = cam_vec_reserve(&t->tasks, &t->cap_tasks, (size_t)r->dir.n_tasks + 1,
				      sizeof(*t->tasks), CAM_MAX_ROWS + 1);
	if (!err && !r->process_pid)
		r->process_pid = malloc(((size_t)r->dir.n_processes + 1) * sizeof(int32_t));
	return err || r->process_pid ? err : -ENOMEM;
}

int cam_load_tasks(struct cam_reader *r)
{
	int err = reserve_rows(r);
	if (err)
		return err;
	memset(r->t.tasks, 0, r->dir.n_tasks * sizeof(*r->t.tasks));
	for (uint32_t i = 0; i < r->dir.n_processes; i++)
		r->process_pid[i] = CAM_PID_NONE;
	r->t.n_tasks = r->dir.n_tasks;
	return cam_reader_each_chunk(r, CAM_CHUNK_TASKS, load_task_rows, damage_tasks);
}

int cam_read_comms(struct cam_window *w, cam_comm_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = cam_reader_load(r, CAM_PART_STRINGS);
	for (size_t i = 0; i < r->dir.n_groups && !err; i++) {
		const struct cam_dir_group *g = &r->dir.groups[i];
		err = fn(arg, (struct cam_str_id){r->strings[g->comm]}, g->sole_task);
	}
	return err;
}

/*
 * A chunk as far as the task, or all of it: each task is coded by those before it, and idle tasks, which are asked for
 * most, are seldom among the last. Whoever then asks for one behind gets the whole chunk.
 */
static int load_up_to(struct cam_reader *r, size_t number, uint32_t task)
{
	const struct cam_dir_chunk *c = &r->dir.sections[CAM_CHUNK_TASKS].chunks[number];
	struct cam_chunk_in chunk = {0};
	uint32_t rows = (task - c->first) / LOAD_ROWS * LOAD_ROWS + LOAD_ROWS;
	bool again = r->tasks_to && r->tasks_from == c->first;
	if (again || rows > c->rows)
		rows = c->rows;
	int err = reserve_rows(r);
	if (!err)
		err = cam_reader_chunk(r, CAM_CHUNK_TASKS, number, &chunk);
	struct cam_rd rd = cam_rd_make(chunk.data, chunk.n);
	if (!err)
		err = load_first_rows(r, &rd, c, rows);
	if (!err) {
		r->tasks_from = c->first;
		r->tasks_to = c->first + rows;
	}
	free(chunk.data);
	return err;
}

int cam_read_task(struct cam_window *w, uint32_t task, struct cam_task *out)
{
	struct cam_reader *r = cam_reader_of(w);
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_TASKS];
	size_t number = 0;
	while (number < s->n && s->chunks[number].first + s->chunks[number].rows <= task)
		number++;
	if (number == s->n || s->chunks[number].first > task)
		return -EBADMSG;
	int err = 0;
	bool there = r->parts & CAM_PART_TASKS || (task >= r->tasks_from && task < r->tasks_to);
	if (!there)
		err = r->task_loads++ < MAX_LOADS ? load_up_to(r, number, task)
						  : cam_reader_load(r, CAM_PART_TASKS);
	if (!err)
		*out = r->t.tasks[task];
	return err;
}

/* Cells, process by process: where those of each begin. */
struct cells {
	struct cam_process_cell *rows;
	size_t n, cap;
	struct run {
		size_t from, to;
		int32_t pid;
	} * runs;
	size_t n_runs, cap_runs;
};

static int add_process(struct cells *cells, struct cam_stream_in *s, int32_t pid, uint64_t second,
		       uint64_t max_cells)
{
	uint64_t more = cam_stream_get(&s[CAM_PROCESS_SECONDS], 0);
	if (more >= max_cells || cells->n >= max_cells - more)
		return -EBADMSG;
	int err = cam_vec_reserve(&cells->rows, &cells->cap, cells->n + more + 1,
				  sizeof(*cells->rows), SIZE_MAX / 64);
	if (err)
		return err;
	for (uint64_t i = 0; i <= more; i++) {
		if (i) {
			uint64_t gap = cam_stream_get(&s[CAM_PROCESS_GAP], 0);
			second += gap + 1;
			if (gap > UINT64_MAX / 1000000000)
				return -EBADMSG;
		}
		uint64_t samples = cam_stream_get(&s[CAM_PROCESS_SAMPLES], more > 0);
		if (second > UINT64_MAX / 1000000000 || samples >= CAM_WINDOW_SAMPLES_MAX)
			return -EBADMSG;
		cells->rows[cells->n++] = (struct cam_process_cell){second, pid, samples + 1};
	}
	return 0;
}

static int add_run(struct cells *cells, size_t from, int32_t pid)
{
	int err = cam_vec_reserve(&cells->runs, &cells->cap_runs, cells->n_runs + 1,
				  sizeof(*cells->runs), SIZE_MAX / 64);
	if (!err)
		cells->runs[cells->n_runs++] = (struct run){from, cells->n, pid};
	return err;
}

static int add_chunk(struct cam_reader *r, const struct cam_chunk_in *chunk,
		     const struct cam_dir_chunk *c, uint64_t max_cells, struct cells *cells)
{
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	struct cam_stream_in s[CAM_PROCESS_STREAMS];
	uint64_t second = cam_rd_varint(&rd);
	size_t before = cells->n, runs_before = cells->n_runs;
	int err = cam_streams_open(s, &rd, CAM_PROCESS_STREAMS, cam_process_contexts,
				   cam_process_splits);
	if (err)
		return err;
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		uint64_t step = cam_stream_get(&s[CAM_PROCESS_FIRST], 0);
		size_t from = cells->n;
		int32_t pid = r->process_pid[c->first + i];
		second += step;
		if (step > UINT64_MAX / 1000000000 || second > UINT64_MAX / 1000000000)
			err = -EBADMSG;
		else
			err = add_process(cells, s, pid, second, max_cells);
		if (!err)
			err = add_run(cells, from, pid);
	}
	int end = cam_streams_close(s, CAM_PROCESS_STREAMS);
	if (!err)
		err = cam_rd_left(&rd) ? -EBADMSG : end;
	if (err) {
		cells->n = before;
		cells->n_runs = runs_before;
	}
	return err;
}

static int compare_cells(const void *x, const void *y)
{
	const struct cam_process_cell *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_runs(const void *x, const void *y)
{
	const struct run *a = x, *b = y;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

#define MAX_SORTED_SECONDS 65536u

/*
 * By second, then pid. There are ten thousands of them, so that comparing each with others takes long: processes
 * are put in order, which are fewer, and then cells are counted by second. Windows are minutes long.
 */
static void sort_cells(struct cells *c)
{
	uint64_t first = UINT64_MAX, last = 0;
	for (size_t i = 0; i < c->n; i++) {
		first = c->rows[i].second < first ? c->rows[i].second : first;
		last = c->rows[i].second > last ? c->rows[i].second : last;
	}
	bool few = c->n && last - first < MAX_SORTED_SECONDS;
	struct cam_process_cell *sorted = few ? malloc(c->n * sizeof(*sorted)) : NULL;
	size_t *at = few ? calloc(last - first + 2, sizeof(*at)) : NULL;
	if (sorted && at) {
		qsort(c->runs, c->n_runs, sizeof(*c->runs), compare_runs);
		for (size_t i = 0; i < c->n; i++)
			at[c->rows[i].second - first + 1]++;
		for (size_t i = 1; i <= last - first; i++)
			at[i] += at[i - 1];
		for (size_t k = 0; k < c->n_runs; k++)
			for (size_t i = c->runs[k].from; i < c->runs[k].to; i++)
				sorted[at[c->rows[i].second - first]++] = c->rows[i];
		free(c->rows);
		c->rows = sorted;
	} else {
		free(sorted);
		if (c->n)
			qsort(c->rows, c->n, sizeof(*c->rows), compare_cells);
	}
	free(at);
}

int cam_read_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	const struct cam_dir_section *section = &r->dir.sections[CAM_CHUNK_PROCESSES];
	struct cam_chunk_in chunk = {0};
	struct cells c = {0};
	uint64_t max_cells = cam_dir_most_cells(&r->dir, CAM_CHUNK_PROCESSES);
	int err = cam_reader_load(r, CAM_PART_TASKS);
	for (size_t i = 0; i < section->n && !err; i++) {
		err = cam_reader_chunk(r, CAM_CHUNK_PROCESSES, i, &chunk);
		if (!err)
			err = add_chunk(r, &chunk, &section->chunks[i], max_cells, &c);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, CAM_CHUNK_PROCESSES, i);
			err = 0;
		}
	}
	/* Sums that are not the window's are no better than none. */
	uint64_t all = 0;
	bool bad = false;
	for (size_t i = 0; i < section->n; i++)
		bad |= r->bad[CAM_CHUNK_PROCESSES][i];
	for (size_t i = 0; i < c.n; i++)
		all += c.rows[i].samples;
	if (!err && !bad && all != r->dir.info.samples) {
		for (size_t i = 0; i < section->n; i++)
			cam_reader_mark_bad(r, CAM_CHUNK_PROCESSES, i);
		c.n = 0;
	}
	sort_cells(&c);
	for (size_t i = 0; i < c.n && !err;) {
		struct cam_process_cell sum = c.rows[i++];
		for (; i < c.n && !compare_cells(&sum, &c.rows[i]); i++)
			sum.samples += c.rows[i].samples;
		err = fn(arg, &sum);
	}
	free(chunk.data);
	free(c.rows);
	free(c.runs);
	return err;
}
