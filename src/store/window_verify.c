// SPDX-License-Identifier: Apache-2.0
/*
 * Reads and checks every byte of a sealed window: header, both directories, trailer, the zeros
 * between, and every chunk down to its last row.
 */
#include "base/units.h"
#include "store/window.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

#define PIECE 4096u

static void count(struct cam_reader *r, uint64_t bytes)
{
	r->w.damage.chunks++;
	r->w.damage.bytes += bytes;
}

/* Compares n bytes at two places (or, without a second one, with zeros). */
static bool same(struct cam_reader *r, uint64_t a, uint64_t b, uint64_t n, bool zeros)
{
	uint8_t left[PIECE], right[PIECE] = {0};
	for (uint64_t done = 0; done < n; done += PIECE) {
		size_t part = n - done < PIECE ? (size_t)(n - done) : PIECE;
		if (cam_reader_pread(r, left, part, a + done) ||
		    (!zeros && cam_reader_pread(r, right, part, b + done)) ||
		    memcmp(left, right, part) != 0)
			return false;
	}
	return true;
}

/* What surrounds the chunks. What opening found bad is counted already. */
static int verify_frame(struct cam_reader *r)
{
	int err = cam_reader_load(r, CAM_PART_CLASSES);
	if (err)
		return err;
	uint64_t front = CAM_HEADER_BYTES + r->directory_bytes;
	uint64_t at = front + r->dir.unknown_bytes;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		for (size_t i = 0; i < r->dir.sections[k].n; i++)
			at += r->dir.sections[k].chunks[i].bytes;
	uint64_t pad = cam_dir_padding(&r->dir, front, at), trailer_at = 0;
	uint64_t end = at + pad + r->directory_bytes + CAM_TRAILER_BYTES;
	uint32_t trailer_bytes = 0;
	if (!same(r, at, 0, pad, true))
		count(r, pad);
	if (!r->second_used) {
		if (!same(r, CAM_HEADER_BYTES, at + pad, r->directory_bytes, false))
			count(r, r->directory_bytes);
		if (cam_reader_trailer(r, &trailer_at, &trailer_bytes) || trailer_at != at + pad ||
		    trailer_bytes != r->directory_bytes)
			count(r, CAM_TRAILER_BYTES);
	}
	if (r->file_bytes > end)
		count(r, r->file_bytes - end);
	return 0;
}

static int read_every_chunk(struct cam_reader *r)
{
	struct cam_chunk_in chunk = {0};
	int err = 0;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS && !err; k++) {
		for (size_t i = 0; i < r->dir.sections[k].n && !err; i++) {
			err = cam_reader_chunk(r, (enum cam_chunk_kind)k, i, &chunk);
			err = err == -EBADMSG ? 0 : err;
		}
	}
	free(chunk.data);
	return err;
}

/* Decoding is what is wanted; nobody looks at the rows. */
static int ignore_batch(void *arg, const struct cam_batch *b)
{
	(void)arg;
	(void)b;
	return 0;
}
static int ignore_total(void *arg, const struct cam_total *t)
{
	(void)arg;
	(void)t;
	return 0;
}
static int ignore_cell(void *arg, const struct cam_process_cell *c)
{
	(void)arg;
	(void)c;
	return 0;
}
static int ignore_event(void *arg, const struct cam_event *e)
{
	(void)arg;
	(void)e;
	return 0;
}
static int ignore_ledger(void *arg, const struct cam_ledger_row *l)
{
	(void)arg;
	(void)l;
	return 0;
}
static int ignore_anchor(void *arg, const struct cam_anchor *a)
{
	(void)arg;
	(void)a;
	return 0;
}
static int ignore_fact(void *arg, const struct cam_fact *f)
{
	(void)arg;
	(void)f;
	return 0;
}

static int ignore_counter(void *arg, const struct cam_counter *c)
{
	(void)arg;
	(void)c;
	return 0;
}

static int ignore_name_cell(void *arg, const struct cam_name_cell *c)
{
	(void)arg;
	(void)c;
	return 0;
}

static int ignore_slots(void *arg, const struct cam_slots *s)
{
	(void)arg;
	(void)s;
	return 0;
}

static int ignore_line(void *arg, const struct cam_line *c)
{
	(void)arg;
	(void)c;
	return 0;
}

int cam_window_check(struct cam_window *w)
{
	int err = verify_frame(cam_reader_of(w));
	return err ? err : w->damage.chunks ? -EBADMSG : 0;
}

int cam_window_verify(struct cam_window *w)
{
	struct cam_reader *r = cam_reader_of(w);
	const struct cam_tables *t;
	const unsigned columns = CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_STACK |
				 CAM_COL_ETYPE | CAM_COL_WEIGHT | CAM_COL_LEAF | CAM_COL_PLACE |
				 CAM_COL_DETAIL | CAM_COL_COMM;
	int err = verify_frame(r);
	if (!err)
		err = read_every_chunk(r);
	if (!err)
		err = w->ops->tables(w, &t);
	if (!err)
		err = w->ops->samples(w, CAM_RANGE_ALL, columns, ignore_batch, NULL);
	if (!err)
		err = w->ops->small_totals(w, ignore_total, NULL);
	if (!err)
		err = w->ops->process_cells(w, ignore_cell, NULL);
	if (!err) {
		err = w->ops->name_cells(w, ignore_name_cell, NULL);
		err = err == -ENODATA ? 0 : err;
	}
	if (!err) {
		err = w->ops->slots(w, ignore_slots, NULL);
		err = err == -ENODATA ? 0 : err;
	}
	if (!err)
		err = w->ops->events(w, ignore_event, NULL);
	if (!err)
		err = w->ops->ledger(w, ignore_ledger, NULL);
	if (!err)
		err = w->ops->anchors(w, ignore_anchor, NULL);
	if (!err)
		err = w->ops->facts(w, ignore_fact, NULL);
	if (!err)
		err = w->ops->counters(w, ignore_counter, NULL);
	if (!err)
		err = w->ops->lines(w, ignore_line, NULL);
	if (err)
		return err;
	return w->damage.chunks ? -EBADMSG : 0;
}

bool cam_window_lost_time(struct cam_window *w, struct cam_range *out)
{
	struct cam_reader *r = cam_reader_of(w);
	*out = (struct cam_range){UINT64_MAX, 0};
	for (size_t i = 0; i < r->dir.n_spans; i++) {
		const struct cam_dir_span *s = &r->dir.spans[i];
		uint64_t last = s->second + s->seconds;
		if (!r->span_lost[i] || s->timeless || last > UINT64_MAX / CAM_NS_PER_SEC)
			continue;
		if (s->second * CAM_NS_PER_SEC < out->from_ns)
			out->from_ns = s->second * CAM_NS_PER_SEC;
		if (last * CAM_NS_PER_SEC > out->to_ns)
			out->to_ns = last * CAM_NS_PER_SEC;
	}
	return out->to_ns != 0;
}
