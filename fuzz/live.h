// SPDX-License-Identifier: Apache-2.0
/*
 * For the fuzzer of the live half of door B: bytes become records of the kernel in order of time, ticks, and answers of
 * helpers (door G) that somebody took over. Each sample must end exactly once.
 */
#pragma once
#include "ingest/live.h"

#include <stdlib.h>
#include <string.h>

#define FUZZ_TICKETS 64u
#define FUZZ_MS	     1000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_live {
	const uint8_t *p;
	size_t left;
	struct cam_live *live;
	struct cam_errands errands;
	struct cam_journal doors[2];
	size_t n_doors;
	struct cam_errand sent[FUZZ_TICKETS]; /* the latest; of them only what has no pointer */
	uint32_t n_sent;
	uint64_t now_ns, given, appended;
	uint64_t frames[8];
};

static inline uint8_t fuzz_byte(struct fuzz_live *f)
{
	f->left -= f->left > 0;
	return f->left ? *f->p++ : 0;
}

static inline struct cam_text fuzz_text(struct fuzz_live *f)
{
	size_t n = fuzz_byte(f);
	n = n < f->left ? n : f->left;
	struct cam_text t = {(const char *)f->p, n};
	f->p += n;
	f->left -= n;
	return t;
}

static inline int fuzz_send(struct cam_errands *e, const struct cam_errand *errand)
{
	struct fuzz_live *f = e->self;
	f->sent[f->n_sent++ % FUZZ_TICKETS] = *errand;
	return 0;
}

static inline int fuzz_begin(struct cam_journal *j, const struct cam_tables *t,
			     const struct cam_window_head *head)
{
	(void)j;
	(void)t;
	(void)head;
	return 0;
}

static inline int fuzz_append(struct cam_journal *j, const struct cam_tables *t,
			      const struct cam_block *b)
{
	struct fuzz_live *f = j->self;
	f->appended += b->n_samples;
	for (size_t i = 0; i < b->n_samples; i++) {
		if (b->samples[i].task.v >= t->n_tasks || b->samples[i].etype.v >= t->n_etypes)
			abort();
	}
	return 0;
}

static inline int fuzz_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	(void)j;
	(void)end_ns;
	(void)keep_empty;
	return 0;
}

static inline struct cam_journal *fuzz_door(void *self)
{
	struct fuzz_live *f = self;
	struct cam_journal *j = &f->doors[f->n_doors++];
	*j = (struct cam_journal){
		.self = f, .begin = fuzz_begin, .append = fuzz_append, .end = fuzz_end};
	return j;
}

static inline void fuzz_sample(struct fuzz_live *f, struct cam_raw *r)
{
	for (size_t i = 0; i < 8; i++)
		f->frames[i] = (uint64_t)fuzz_byte(f) << 8 | (i << 4);
	uint8_t how = fuzz_byte(f);
	r->sample = (struct cam_raw_sample){.kernel = f->frames + (how & 7),
					    .user = f->frames,
					    .n_kernel = how >> 3 & 1,
					    .n_user = how & 7,
					    .flags = how >> 4,
					    .end = how % CAM_STACK_ENDS,
					    .uid = how,
					    .start_ns = how * 10ull * FUZZ_MS,
					    .comm = "x",
					    .weight = 1};
	f->given++;
}

/* What any helper might say: whatever unpack() lets through, as the answer to something that was asked. */
static inline void fuzz_answer(struct fuzz_live *f)
{
	static uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
	uint8_t which = fuzz_byte(f);
	struct cam_text packet = fuzz_text(f);
	const struct cam_errand *e =
		&f->sent[f->n_sent ? which % f->n_sent % FUZZ_TICKETS : FUZZ_TICKETS - 1];
	struct cam_tidings t = {.type = e->type, .error = -2};
	int err = cam_tidings_unpack(packet.p, packet.n, scratch, sizeof(scratch), &t);
	if (err)
		t = (struct cam_tidings){.type = e->type, .error = packet.n & 1 ? -2 : -110};
	t.ticket = which & 128 ? t.ticket : e->ticket;
	t.pid = e->pid;
	t.tid = e->tid;
	t.file = e->file;
	cam_live_tidings(f->live, &t);
}

static inline void fuzz_step(struct fuzz_live *f)
{
	struct cam_raw r = {.type = fuzz_byte(f) % (CAM_RAW_TYPES + 2)};
	r.pid = r.tid = fuzz_byte(f) & 31;
	r.cpu = (uint32_t)r.pid & 3;
	r.time_ns = f->now_ns += fuzz_byte(f) * FUZZ_MS;
	if (r.type == CAM_RAW_TYPES)
		cam_live_tick(f->live, f->now_ns, f->now_ns);
	else if (r.type > CAM_RAW_TYPES)
		fuzz_answer(f);
	else if (r.type == CAM_RAW_SAMPLE)
		fuzz_sample(f, &r);
	else if (r.type == CAM_RAW_MMAP) {
		r.mmap.start = (uint64_t)fuzz_byte(f) << 8;
		r.mmap.end = r.mmap.start + 256 + ((uint64_t)fuzz_byte(f) << 8);
		r.mmap.inode = fuzz_byte(f);
		r.mmap.path = fuzz_text(f);
	} else if (r.type == CAM_RAW_COMM) {
		r.comm.exec = fuzz_byte(f) & 1;
		r.comm.comm = fuzz_text(f);
	} else if (r.type == CAM_RAW_KSYMBOL) {
		r.ksymbol.address = (uint64_t)fuzz_byte(f) << 8;
		r.ksymbol.bytes = fuzz_byte(f);
		r.ksymbol.name = fuzz_text(f);
	} else if (r.type == CAM_RAW_LOST) {
		r.lost.side_band = fuzz_byte(f) & 1;
		r.lost.from_ns = f->now_ns - fuzz_byte(f) * FUZZ_MS;
		r.lost.records = 1;
	} else if (r.type == CAM_RAW_FORK || r.type == CAM_RAW_EXIT) {
		r.fork.parent_pid = r.fork.parent_tid = fuzz_byte(f) & 31;
	}
	if (r.type < CAM_RAW_TYPES)
		cam_live_raw(f->live, &r);
}
