// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's middle: raw records in, journal blocks out.
 *
 * Everything happens on one thread and nothing waits: questions go out through errands->send(), and
 * answers come back as tidings whenever they come. tick() is what moves time on: parked samples go
 * on, names are asked for and entered, blocks are written, windows closed.
 *
 * Memory: two windows of at most max_table_bytes (cut at half of it), max_process_bytes,
 * max_name_bytes, and below that pending rows, parked samples (PARKED_BYTES), wants, files and the
 * ledger, each with its own bound. Nothing grows with time.
 *
 * Invariants
 *  1. Every record is dealt with in the call that brings it, or parked; see live_sample.c.
 *  2. What a sample's row says was true at its time, or is left out.
 *
 * Example: a sample of pid 7, never seen before. It is parked and CAM_ERRAND_PROCESS sent. 20 ms
 * later the tidings come: 7 is known. The next tick finds its addresses in two files of which one
 * is new: CAM_ERRAND_FILE. The tick after that has its key; the sample is stored, its two new
 * locations are wanted and, since the file is held, asked for in the same tick. 50 ms later their
 * names are in the book, and the next tick enters them. All in all 650 ms; had the file not been
 * answered, the sample would have been stored after 400 ms without its key.
 */
#include "ingest/live_parts.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

#define PARKED_BYTES ((size_t)2 << 20)
#define MAX_TEXT     4096u

uint32_t cam_live_ticket(struct cam_live *l)
{
	if (++l->next_ticket == 0)
		l->next_ticket = 1;
	return l->next_ticket;
}

int cam_live_send(struct cam_live *l, struct cam_errand *e)
{
	if (l->errands_full)
		return -EAGAIN;
	e->ticket = cam_live_ticket(l);
	int err = l->doors.errands->send(l->doors.errands, e);
	if (err == -EAGAIN)
		l->errands_full = true;
	else if (err)
		l->stats.errands_failed++;
	else
		l->stats.errands++;
	return err;
}

static void forget_file(void *arg, uint32_t number)
{
	struct cam_live *l = arg;
	struct cam_errand e = {.type = CAM_ERRAND_FORGET, .file = number};
	cam_live_table_forget(l, number);
	/* Not an answerable question: it goes out even if others do not. */
	l->doors.errands->send(l->doors.errands, &e);
}

static bool is_written(void *arg, uint32_t number)
{
	struct cam_live *l = arg;
	struct cam_errands *e = l->doors.errands;
	return e->is_written && e->is_written(e, number);
}

static int take_ledger_row(void *arg, const struct cam_ledger_row *row)
{
	struct cam_live *l = arg;
	struct cam_live_window *w;
	int err = cam_live_window_at(l, row->from_ns, &w);
	if (!err)
		err = cam_open_window_ledger(&w->w, row);
	l->stats.by_cause[row->cause] += row->samples;
	if (cam_cause_is_loss(row->cause))
		l->stats.lost += row->samples;
	return err;
}

static int keep_text(struct cam_buf *b, struct cam_text *text)
{
	*b = CAM_BUF(MAX_TEXT);
	cam_buf_put(b, text->p, text->n);
	*text = (struct cam_text){(const char *)b->data, b->len};
	return cam_buf_error(b);
}

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

/* Options outlive the caller's. */
static int keep_options(struct cam_live *l)
{
	struct cam_scope *s = &l->options.scope;
	int err = keep_text(&l->host, &l->options.host);
	if (!err)
		err = keep_text(&l->event, &l->options.event);
	if (!err)
		err = keep_text(&l->cgroup, &s->cgroup);
	if (err || !s->n_pids)
		return err;
	l->pids = calloc(s->n_pids, sizeof(*l->pids));
	if (!l->pids)
		return -ENOMEM;
	memcpy(l->pids, s->pids, s->n_pids * sizeof(*l->pids));
	qsort(l->pids, s->n_pids, sizeof(*l->pids), by_number);
	s->pids = l->pids;
	return 0;
}

static int make_parts(struct cam_live *l)
{
	const struct cam_live_options *o = &l->options;
	int err = cam_words_init(&l->words);
	if (!err)
		err = cam_files_new(&l->words, forget_file, l, &l->files);
	if (!err)
		cam_files_set_written(l->files, is_written);
	const struct cam_process_options processes = {
		.max_bytes = o->max_process_bytes,
		.pids = o->scope.pids,
		.n_pids = o->scope.n_pids,
		.words = &l->words,
		.files = l->files,
		.left = cam_live_unwind_left,
		.left_arg = l,
	};
	if (!err)
		err = cam_processes_new(&processes, &l->processes);
	if (!err) {
		struct cam_images *images = cam_processes_images(l->processes);
		images->forget = cam_live_unwind_forget_image;
		images->arg = l;
	}
	if (!err)
		err = cam_jits_new(&l->jits);
	if (!err)
		err = cam_namebook_new(o->max_name_bytes, &l->names);
	const struct cam_ledger_options ledger = {
		.hz = o->hz,
		.due_known = o->due_known,
		.of_threads = o->of_threads,
		.bpf = o->bpf,
		.fn = take_ledger_row,
		.arg = l,
	};
	if (!err)
		err = cam_ledger_new(&ledger, &l->ledger);
	return err;
}

int cam_live_new(const struct cam_live_options *o, const struct cam_live_doors *doors,
		 struct cam_live **out)
{
	if (!o->hz || !o->window_ns)
		return -EINVAL;
	struct cam_live *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->options = *o;
	l->doors = *doors;
	l->parking.max = PARKED_BYTES;
	l->next_start_ns = CAM_TIME_NONE;
	l->windows[1].slot = 1;
	cam_link_init(&l->due);
	cam_link_init(&l->copies);
	cam_link_init(&l->tables_first);
	cam_link_init(&l->tables_later);
	int err = keep_options(l);
	if (!err)
		err = make_parts(l);
	if (err)
		cam_live_free(l);
	else
		*out = l;
	return err;
}

static bool let_go(void *arg, struct cam_parked *q, const struct cam_raw *r)
{
	struct cam_live *l = arg;
	(void)r;
	cam_image_release(cam_processes_images(l->processes), q->image);
	cam_processes_unpark(l->processes, q->process);
	return true;
}

void cam_live_free(struct cam_live *l)
{
	if (!l)
		return;
	/* Whoever unwinds is about to go, too: it need not hear of each. */
	l->doors.unwinder = NULL;
	cam_parking_visit(&l->parking, let_go, l);
	cam_parking_free(&l->parking);
	cam_live_copies_free(l);
	for (size_t i = 0; i < 2; i++) {
		cam_open_window_free(&l->windows[i].w);
		free(l->windows[i].wants);
	}
	cam_ledger_free(l->ledger);
	cam_namebook_free(l->names);
	cam_processes_free(l->processes);
	cam_jits_free(l->jits, l->files);
	cam_files_free(l->files);
	cam_words_free(&l->words);
	cam_facts_free(&l->facts);
	cam_buf_free(&l->host);
	cam_buf_free(&l->event);
	cam_buf_free(&l->cgroup);
	free(l->pids);
	free(l);
}

int cam_live_raw(struct cam_live *l, const struct cam_raw *r)
{
	if (r->time_ns > l->now_ns)
		l->now_ns = r->time_ns;
	switch (r->type) {
	case CAM_RAW_SAMPLE:
		cam_live_sample(l, r);
		return 0;
	case CAM_RAW_KSYMBOL:
		cam_live_names_change(l, &r->ksymbol, r->time_ns);
		return 0;
	case CAM_RAW_LOST:
		if (r->lost.side_band)
			cam_live_names_lost(l);
		cam_processes_raw(l->processes, r);
		return cam_ledger_raw(l->ledger, r);
	case CAM_RAW_MMAP:
		cam_processes_raw(l->processes, r);
		cam_live_unwind_changed(l, r->pid);
		return 0;
	case CAM_RAW_COMM:
	case CAM_RAW_FORK:
	case CAM_RAW_EXIT:
		cam_processes_raw(l->processes, r);
		return 0;
	default:
		return cam_ledger_raw(l->ledger, r);
	}
}

int cam_live_tidings(struct cam_live *l, const struct cam_tidings *t)
{
	switch (t->type) {
	case CAM_ERRAND_PROCESS:
	case CAM_ERRAND_THREAD:
		l->stats.errands_failed += t->error != 0;
		cam_processes_answer(l->processes, t);
		cam_live_expected_answer(l, t->pid);
		cam_live_copies_retry(l);
		return 0;
	case CAM_ERRAND_FILE:
		l->stats.errands_failed += t->error != 0;
		cam_files_answer(l->files, t, l->now_ns);
		cam_live_table_held(l, t->file);
		cam_live_copies_retry(l);
		return 0;
	case CAM_ERRAND_JIT:
		cam_jit_answer(l, t);
		return 0;
	case CAM_ERRAND_NAMES:
		cam_live_names_answer(l, t);
		return 0;
	case CAM_ERRAND_TABLE:
		cam_live_table_answer(l, t);
		return 0;
	case CAM_ERRAND_UNWIND:
		cam_live_copy_answer(l, t);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Before what was read at that time is put anywhere. A journal without its end is over where the last of it is: what is of
 * later would have it overlap the next one, should this be the last that is written. */
static int turn_to(struct cam_live *l, uint64_t time_ns)
{
	cam_live_window_settle(l, time_ns);
	return l->cur && time_ns >= l->cur->end_ns ? cam_live_window_turn(l, time_ns) : 0;
}

int cam_live_anchor(struct cam_live *l, const struct cam_anchor *a)
{
	struct cam_live_window *w;
	bool is_first = !l->has_anchor && !l->cur;
	int err = turn_to(l, a->time_ns);
	/* The first one waits for the first window, which starts with the first record. */
	if (!err && !is_first)
		err = cam_live_window_at(l, a->time_ns, &w);
	if (!err && !is_first)
		err = cam_open_window_anchor(&w->w, a);
	l->anchor = *a;
	l->has_anchor = true;
	if (a->boottime_ns != CAM_TIME_NONE)
		cam_processes_set_boot_offset(l->processes, (int64_t)(a->boottime_ns - a->time_ns));
	return err;
}

int cam_live_counter(struct cam_live *l, const struct cam_counter *c)
{
	struct cam_live_window *w;
	int err = cam_ledger_counter(l->ledger, c);
	if (!err)
		err = turn_to(l, c->time_ns);
	if (!err)
		err = cam_live_window_at(l, c->time_ns, &w);
	return err ? err : cam_open_window_counter(&w->w, c);
}

int cam_live_rate(struct cam_live *l, uint64_t time_ns, uint32_t hz)
{
	cam_ledger_rate(l->ledger, time_ns, hz);
	return 0;
}

int cam_live_suspended(struct cam_live *l, uint64_t from_ns, uint64_t to_ns, uint64_t asleep_ns)
{
	return cam_ledger_suspended(l->ledger, from_ns, to_ns, asleep_ns);
}

int cam_live_event(struct cam_live *l, uint64_t time_ns, uint64_t uncertainty_ns,
		   enum cam_severity severity, struct cam_text source, struct cam_text text)
{
	struct cam_event e = {
		.time_ns = time_ns, .uncertainty_ns = uncertainty_ns, .severity = severity};
	struct cam_live_window *w;
	if (severity >= CAM_SEVERITY_MAX)
		return -EINVAL;
	int err = cam_live_window_at(l, time_ns, &w);
	if (!err)
		err = cam_string_intern(&w->w.tables, source, &e.source);
	if (!err)
		err = cam_string_intern(&w->w.tables, text, &e.text);
	return err ? err : cam_open_window_event(&w->w, &e);
}

int cam_live_fact(struct cam_live *l, struct cam_text key, struct cam_text value)
{
	return cam_facts_set(&l->facts, key, value);
}

int cam_live_tick(struct cam_live *l, uint64_t now_ns, uint64_t released_ns)
{
	if (now_ns > l->now_ns)
		l->now_ns = now_ns;
	l->tick_ns = l->now_ns;
	l->released_ns = released_ns;
	l->errands_full = false;
	cam_files_tick(l->files, l->now_ns);
	cam_processes_believe(l->processes, l->no_more ? UINT64_MAX : released_ns);
	cam_live_names_apply(l);
	cam_live_release(l, false);
	cam_live_copies_tick(l, false);
	cam_live_unwind_tick(l);
	cam_live_tables_tick(l);
	cam_live_names_ask(l);
	cam_jit_tick(l);
	cam_processes_tick(l->processes, released_ns);
	int err = cam_ledger_tick(l->ledger, l->now_ns, released_ns);
	int written = cam_live_window_tick(l, released_ns);
	return written ? written : err;
}

bool cam_live_waits_for_records(const struct cam_live *l)
{
	return cam_processes_has_noted(l->processes);
}

void cam_live_no_more(struct cam_live *l)
{
	l->no_more = true;
}

bool cam_live_may_cut(const struct cam_live *l, uint64_t end_ns)
{
	return !l->prev || end_ns >= l->prev->end_ns;
}

int cam_live_cut(struct cam_live *l, uint64_t end_ns)
{
	cam_live_names_apply(l);
	cam_live_copies_tick(l, true);
	cam_live_release(l, true);
	cam_ledger_flush(l->ledger, end_ns);
	return cam_live_window_end_all(l, end_ns);
}

bool cam_live_thread_name(const struct cam_live *l, int32_t pid, int32_t tid,
			  char name[CAM_COMM_BYTES])
{
	const struct cam_process *p = cam_processes_find(l->processes, pid);
	const struct cam_thread *k = p ? cam_processes_thread(l->processes, p, tid) : NULL;
	if (!k || !k->known || cam_processes_is_suspect(l->processes, p))
		return false;
	memcpy(name, k->comm, CAM_COMM_BYTES);
	return true;
}

struct cam_live_stats cam_live_stats(const struct cam_live *l)
{
	struct cam_live_stats s = l->stats;
	struct cam_processes_stats p = cam_processes_stats(l->processes);
	s.source_hz = cam_ledger_source_hz(l->ledger);
	s.processes = p.processes;
	s.evicted = p.evicted;
	s.files = cam_files_count(l->files);
	s.process_bytes = p.bytes + cam_files_bytes(l->files);
	s.name_bytes = cam_namebook_bytes(l->names);
	s.parked_bytes = l->parking.cap;
	s.max_parked_bytes = l->parking.max;
	s.copy_bytes = l->copy_bytes;
	s.max_copy_bytes = CAM_LIVE_COPY_BYTES;
	for (size_t i = 0; i < 2; i++)
		s.table_bytes += cam_open_window_bytes(&l->windows[i].w);
	return s;
}
