// SPDX-License-Identifier: Apache-2.0
#include "interop/threads.h"

#include "base/vec.h"

#define MAX_SAMPLES (1u << 28)
#define MAX_THREADS (1u << 22)

int cam_threads_init(struct cam_threads *th, size_t max_bytes)
{
	th->max_bytes = max_bytes;
	th->realtime_ns = INT64_MIN;
	th->first_ns = UINT64_MAX;
	return cam_gather_init(&th->g, max_bytes);
}

void cam_threads_free(struct cam_threads *th)
{
	cam_gather_free(&th->g);
	cam_index_free(&th->index);
	free(th->threads);
	free(th->samples);
}

static bool same_thread(const void *rows, uint32_t id, const void *key)
{
	const struct cam_threads *th = rows;
	const struct cam_thread *a = &th->threads[id], *b = key;
	const struct cam_task *p = &th->g.t.tasks[a->task], *q = &th->g.t.tasks[b->task];
	return a->etype == b->etype && p->pid == q->pid && p->tid == q->tid &&
	       p->start_ns == q->start_ns && (p->tid != CAM_PID_NONE || p->comm.v == q->comm.v);
}

static int thread_of(struct cam_threads *th, const struct cam_thread *key, uint32_t *out)
{
	const struct cam_task *k = &th->g.t.tasks[key->task];
	uint64_t who = (uint64_t)(uint32_t)k->pid << 32 | (uint32_t)k->tid;
	uint64_t rest = k->start_ns ^ (uint64_t)key->etype << 48;
	if (k->tid == CAM_PID_NONE)
		rest ^= k->comm.v;
	uint64_t hash = cam_hash_u64(who, rest);
	uint32_t at = cam_index_find(&th->index, hash, same_thread, th, key);
	if (at == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&th->threads, &th->cap_threads, th->n_threads + 1,
					  sizeof(*th->threads), MAX_THREADS);
		if (!err)
			err = cam_index_reserve(&th->index);
		if (err)
			return err;
		at = (uint32_t)th->n_threads++;
		cam_index_add(&th->index, hash, at);
	}
	th->threads[at] = *key;
	*out = at;
	return 0;
}

static void note_time(struct cam_threads *th, struct cam_exporter *x, uint64_t time_ns)
{
	int64_t wall;
	if (time_ns == CAM_TIME_NONE || time_ns >= th->first_ns)
		return;
	th->first_ns = time_ns;
	th->realtime_ns = cam_exporter_wall(x, time_ns, &wall) ? wall : INT64_MIN;
}

int cam_threads_add(struct cam_threads *th, struct cam_exporter *x, const struct cam_export_row *r)
{
	struct cam_thread key = {0};
	struct cam_thread_sample s = {.time_ns = r->time_ns, .weight = r->weight};
	size_t bytes = th->g.t.bytes + th->cap_samples * sizeof(s) +
		       th->cap_threads * sizeof(*th->threads);
	int err = bytes > th->max_bytes ? -E2BIG : cam_gather_stack(&th->g, x, r, &s.stack);
	if (!err)
		err = cam_gather_task(&th->g, x, r->task, &key.task);
	if (!err)
		err = cam_gather_etype(&th->g, x, r->etype, &key.etype);
	if (!err)
		err = thread_of(th, &key, &s.thread);
	if (!err)
		err = cam_vec_reserve(&th->samples, &th->cap_samples, th->n_samples + 1, sizeof(s),
				      MAX_SAMPLES);
	if (err)
		return err;
	th->samples[th->n_samples++] = s;
	note_time(th, x, r->time_ns);
	if (!th->period_ns)
		th->period_ns = x->t->etypes[r->etype].period_ns;
	return 0;
}

/* Counting by thread keeps the order of rows, which is that of time. */
int cam_threads_sort(struct cam_threads *th)
{
	struct cam_thread_sample *sorted = reallocarray(NULL, th->n_samples + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < th->n_threads; i++)
		th->threads[i].n = 0;
	for (size_t i = 0; i < th->n_samples; i++)
		th->threads[th->samples[i].thread].n++;
	size_t from = 0;
	for (size_t i = 0; i < th->n_threads; i++) {
		th->threads[i].from = from;
		from += th->threads[i].n;
		th->threads[i].n = 0;
	}
	for (size_t i = 0; i < th->n_samples; i++) {
		struct cam_thread *k = &th->threads[th->samples[i].thread];
		sorted[k->from + k->n++] = th->samples[i];
	}
	free(th->samples);
	th->samples = sorted;
	th->cap_samples = th->n_samples;
	return 0;
}
