// SPDX-License-Identifier: Apache-2.0
/* Samples of each name in each second; window_write_seconds.c has the layout. */
#include "base/units.h"
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>

#define MAX_SECOND (UINT64_MAX / CAM_NS_PER_SEC)

/* All of a window is decoded before any of it is handed out. */
struct getting {
	struct cam_reader *r;
	struct cam_name_cell *rows;
	size_t n, cap;
	uint64_t samples, most;
};

static int get_string(const struct cam_reader *r, struct cam_stream_in *s, int64_t *last,
		      struct cam_str_id *out)
{
	int64_t step = cam_unzigzag(cam_stream_get(s, 0));
	if (step > UINT32_MAX || step < -(int64_t)UINT32_MAX)
		return -EBADMSG;
	*last += step;
	if (*last < 0 || *last >= r->dir.n_strings)
		return -EBADMSG;
	out->v = r->strings[*last];
	return 0;
}

/* The cells of one name, the first of which is in cell->second. */
static int get_cells(struct getting *g, struct cam_stream_in *s, struct cam_name_cell *cell)
{
	uint64_t more = cam_stream_get(&s[CAM_SECOND_NUMBER], 0), all = g->r->dir.info.samples;
	if (more >= all || g->n + more >= g->most)
		return -EBADMSG;
	for (uint64_t i = 0; i <= more; i++) {
		if (i) {
			uint64_t gap = cam_stream_get(&s[CAM_SECOND_GAP], 0);
			if (gap >= MAX_SECOND - cell->second)
				return -EBADMSG;
			cell->second += gap + 1;
		}
		uint64_t samples = cam_stream_get(&s[CAM_SECOND_SAMPLES], 0);
		uint64_t others = cam_stream_get(&s[CAM_SECOND_OTHERS], 0);
		/* No more than there are: nor more cells. */
		if (samples >= all - g->samples || others > samples)
			return -EBADMSG;
		cell->samples = samples + 1;
		cell->most = cell->samples - others;
		g->samples += cell->samples;
		int err = cam_vec_reserve(&g->rows, &g->cap, g->n + 1, sizeof(*g->rows),
					  SIZE_MAX / 64);
		if (err)
			return err;
		g->rows[g->n++] = *cell;
	}
	return 0;
}

static int get_names(struct getting *g, struct cam_stream_in *s, uint64_t rows)
{
	int64_t name = 0, cgroup = 0;
	uint64_t first = g->r->dir.info.start_ns / CAM_NS_PER_SEC;
	int err = 0;
	for (uint64_t i = 0; i < rows && !err; i++) {
		struct cam_name_cell cell = {0};
		err = get_string(g->r, &s[CAM_SECOND_NAME], &name, &cell.name);
		cell.is_program = cam_stream_get(&s[CAM_SECOND_PROGRAM], 0);
		if (!err)
			err = get_string(g->r, &s[CAM_SECOND_CGROUP], &cgroup, &cell.cgroup);
		first += (uint64_t)cam_unzigzag(cam_stream_get(&s[CAM_SECOND_FIRST], 0));
		cell.second = first;
		if (!err)
			err = first > MAX_SECOND ? -EBADMSG : get_cells(g, s, &cell);
	}
	return err;
}

static int get_chunk(struct getting *g, const struct cam_chunk_in *chunk)
{
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	struct cam_stream_in s[CAM_SECOND_STREAMS];
	uint64_t rows = cam_rd_varint(&rd);
	int err = cam_streams_open(s, &rd, CAM_SECOND_STREAMS, NULL, cam_second_splits);
	if (err)
		return err;
	err = rows > g->r->dir.n_processes ? -EBADMSG : get_names(g, s, rows);
	int end = cam_streams_close(s, CAM_SECOND_STREAMS);
	if (!err)
		err = cam_rd_left(&rd) ? -EBADMSG : end;
	return err;
}

int cam_read_name_cells(struct cam_window *w, cam_name_cell_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_SECONDS];
	struct getting g = {.r = r, .most = cam_dir_most_cells(&r->dir, CAM_CHUNK_SECONDS)};
	struct cam_chunk_in chunk = {0};
	int err = s->n ? cam_reader_load(r, CAM_PART_STRINGS) : -ENODATA;
	bool bad = false;
	for (size_t i = 0; i < s->n && !err; i++) {
		err = cam_reader_chunk(r, CAM_CHUNK_SECONDS, i, &chunk);
		if (!err)
			err = get_chunk(&g, &chunk);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, CAM_CHUNK_SECONDS, i);
			bad = true;
			err = 0;
		}
	}
	/* A part of a second's samples, or sums that are not the window's, are no better than none. */
	if (!err && !bad && g.samples != r->dir.info.samples) {
		for (size_t i = 0; i < s->n; i++)
			cam_reader_mark_bad(r, CAM_CHUNK_SECONDS, i);
		bad = true;
	}
	if (!err && bad)
		err = -ENODATA;
	for (size_t i = 0; i < g.n && !err; i++)
		err = fn(arg, &g.rows[i]);
	free(chunk.data);
	free(g.rows);
	return err;
}
