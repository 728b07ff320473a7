// SPDX-License-Identifier: Apache-2.0
/* Samples of each fiftieth of a second; window_write_slots.c has the layout. */
#include "base/units.h"
#include "store/window_reader.h"

#include <errno.h>

#define MAX_SECOND (UINT64_MAX / CAM_NS_PER_SEC)

/* All of a window is decoded before any of it is handed out. */
struct getting {
	struct cam_reader *r;
	struct cam_slots *rows; /* CAM_SLOT_SECONDS */
	uint32_t n;
	uint64_t samples;
};

static int get_row(struct getting *g, struct cam_stream_in *s, uint64_t *next)
{
	uint64_t step = cam_stream_get(&s[CAM_SLOT_STEP], 0), all = g->r->dir.info.samples;
	if (g->n == CAM_SLOT_SECONDS || *next >= MAX_SECOND || step >= MAX_SECOND - *next)
		return -EBADMSG;
	struct cam_slots *row = &g->rows[g->n++];
	row->second = *next + step;
	*next = row->second + 1;
	for (unsigned k = 0; k < CAM_SLOTS; k++) {
		uint64_t v = cam_stream_get(&s[CAM_SLOT_SAMPLES], 0);
		/* No more than there are. */
		if (v > UINT32_MAX || v > all - g->samples)
			return -EBADMSG;
		row->samples[k] = (uint32_t)v;
		g->samples += v;
	}
	return 0;
}

static int get_chunk(struct getting *g, const struct cam_chunk_in *chunk)
{
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	struct cam_stream_in s[CAM_SLOT_STREAMS];
	uint64_t rows = cam_rd_varint(&rd), next = g->r->dir.info.start_ns / CAM_NS_PER_SEC;
	int err = cam_streams_open(s, &rd, CAM_SLOT_STREAMS, NULL, cam_slot_splits);
	if (err)
		return err;
	for (uint64_t i = 0; i < rows && !err; i++)
		err = get_row(g, s, &next);
	int end = cam_streams_close(s, CAM_SLOT_STREAMS);
	if (!err)
		err = cam_rd_left(&rd) ? -EBADMSG : end;
	return err;
}

static int get_all(struct getting *g)
{
	const struct cam_dir_section *s = &g->r->dir.sections[CAM_CHUNK_SLOTS];
	struct cam_chunk_in chunk = {0};
	int err = 0;
	bool bad = false;
	for (size_t i = 0; i < s->n && !err; i++) {
		err = cam_reader_chunk(g->r, CAM_CHUNK_SLOTS, i, &chunk);
		if (!err)
			err = get_chunk(g, &chunk);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(g->r, CAM_CHUNK_SLOTS, i);
			bad = true;
			err = 0;
		}
	}
	/* Sums that are not the window's are no better than none. */
	if (!err && !bad && g->samples != g->r->dir.info.samples) {
		for (size_t i = 0; i < s->n; i++)
			cam_reader_mark_bad(g->r, CAM_CHUNK_SLOTS, i);
		bad = true;
	}
	free(chunk.data);
	return !err && bad ? -ENODATA : err;
}

int cam_read_slots(struct cam_window *w, cam_slots_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	if (!r->dir.sections[CAM_CHUNK_SLOTS].n)
		return -ENODATA;
	struct getting g = {.r = r, .rows = malloc(CAM_SLOT_SECONDS * sizeof(*g.rows))};
	int err = g.rows ? get_all(&g) : -ENOMEM;
	for (uint32_t i = 0; i < g.n && !err; i++)
		err = fn(arg, &g.rows[i]);
	free(g.rows);
	return err;
}
