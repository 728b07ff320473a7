// SPDX-License-Identifier: Apache-2.0
/* How good the stacks and names of a selection are. */
#include "query/quality.h"
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_ROWS 20u

static uint64_t missing(const struct cam_quality_row *r)
{
	return r->user - r->complete;
}

static int by_missing(const void *a, const void *b)
{
	const struct cam_quality_row *x = a, *y = b;
	uint64_t p = missing(x) + x->guessed, q = missing(y) + y->guessed;
	return (q > p) - (q < p);
}

static int by_unnamed(const void *a, const void *b)
{
	const struct cam_quality_row *x = a, *y = b;
	return (y->worst_unnamed > x->worst_unnamed) - (y->worst_unnamed < x->worst_unnamed);
}

static void put_frames(struct cam_json *j, const char *key, uint64_t user, uint64_t jit,
		       uint64_t kernel)
{
	cam_json_open(j, key, '{');
	cam_json_u64(j, "user", user);
	cam_json_u64(j, "jit", jit);
	cam_json_u64(j, "kernel", kernel);
	cam_json_close(j, '}');
}

static void put_all(struct cam_json *j, const struct cam_quality_row *all)
{
	cam_json_u64(j, "samples", all->samples);
	cam_json_u64(j, "user", all->user);
	cam_json_u64(j, "complete", all->complete);
	cam_json_u64(j, "guessed", all->guessed);
	cam_json_open(j, "incomplete", '[');
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++) {
		if (!all->ends[i] || !cam_stack_end_is_incomplete((enum cam_stack_end)i))
			continue;
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "key", cam_text_of(cam_stack_end_key((enum cam_stack_end)i)));
		cam_json_text(j, "words", cam_text_of(cam_stack_end_words((enum cam_stack_end)i)));
		cam_json_u64(j, "samples", all->ends[i]);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_u64(j, cam_stack_end_key(CAM_STACK_NO_USER), all->ends[CAM_STACK_NO_USER]);
	cam_json_u64(j, cam_stack_end_key(CAM_STACK_WORKER), all->ends[CAM_STACK_WORKER]);
	put_frames(j, "frames", all->user_frames, all->jit_frames, all->kernel_frames);
	put_frames(j, "unnamed", all->user_unnamed, all->jit_unnamed, all->kernel_unnamed);
}

/* Of a process: the file with most of its unnamed frames; several may have the same one. */
static void put_worst(struct cam_json *j, struct cam_quality *q)
{
	if (q->n_rows)
		qsort(q->rows, q->n_rows, sizeof(*q->rows), by_unnamed);
	cam_json_open(j, "worst", '[');
	for (size_t i = 0; i < q->n_rows && i < MOST_ROWS && q->rows[i].worst_unnamed; i++) {
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "file", q->rows[i].worst);
		cam_json_text(j, "comm", q->rows[i].comm);
		cam_json_u64(j, "unnamed", q->rows[i].worst_unnamed);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void put_processes(struct cam_json *j, struct cam_quality *q)
{
	if (q->n_rows)
		qsort(q->rows, q->n_rows, sizeof(*q->rows), by_missing);
	cam_json_open(j, "processes", '[');
	for (size_t i = 0;
	     i < q->n_rows && i < MOST_ROWS && (missing(&q->rows[i]) || q->rows[i].guessed); i++) {
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "comm", q->rows[i].comm);
		cam_json_i64(j, "pid", q->rows[i].pid);
		cam_json_u64(j, "user", q->rows[i].user);
		cam_json_u64(j, "complete", q->rows[i].complete);
		cam_json_u64(j, "guessed", q->rows[i].guessed);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void send(struct cam_quality *q, struct cam_answer *a)
{
	struct cam_out out;
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	put_all(&j, &q->all);
	put_worst(&j, q);
	put_processes(&j, q);
	cam_json_u64(&j, "unreadable", q->unreadable);
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_asked_failed(a, -ENOMEM);
}

void cam_answer_quality(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	static const char *const own[] = {NULL};
	struct cam_asked_deadline deadline;
	struct cam_source *source;
	struct cam_selection s;
	struct cam_quality quality;
	if (cam_asked_windows(doors, a, &source))
		return;
	if (cam_asked_selection(doors, source, q, own, a, &s)) {
		const struct cam_selection *all[] = {&s};
		cam_asked_deadline_begin(&deadline);
		cam_asked_deadline_bind(&deadline, &s);
		if (!cam_asked_before(source, q, all, 1, a)) {
			int err = cam_quality_build(source, &s, &deadline.progress, &quality);
			if (err) {
				cam_asked_failed(a, err);
			} else {
				send(&quality, a);
				cam_quality_free(&quality);
			}
		}
		cam_selection_free(&s);
	}
	doors->release(doors->self, source);
}
