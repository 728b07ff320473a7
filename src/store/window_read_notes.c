// SPDX-License-Identifier: Apache-2.0
/* Anchors, events, ledger, facts; window_write_notes.c has their layout. */
#include "store/window_reader.h"
#include "store/window_text.h"

#include <errno.h>

/*
 * What a chunk's rows are made of. All rows of a chunk are decoded before any is handed out, so a
 * chunk that is bad in its middle gives none.
 */
struct notes {
	struct cam_block_in rows_block, lines_block;
	struct cam_rd rows, lines;
};

static int open_notes(struct notes *n, const struct cam_chunk_in *chunk, bool rows, bool lines)
{
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	int err = 0;
	*n = (struct notes){0};
	if (rows)
		err = cam_block_read(&n->rows_block, &rd, CAM_TEXT_RAW_MAX);
	if (!err && lines)
		err = cam_block_read(&n->lines_block, &rd, CAM_TEXT_RAW_MAX);
	if (!err && cam_rd_left(&rd))
		err = -EBADMSG;
	n->rows = cam_block_rd(&n->rows_block);
	n->lines = cam_block_rd(&n->lines_block);
	return err;
}

static int close_notes(struct notes *n, int err)
{
	if (!err && (cam_rd_error(&n->rows) || cam_rd_left(&n->rows) || cam_rd_left(&n->lines)))
		err = -EBADMSG;
	cam_block_free(&n->rows_block);
	cam_block_free(&n->lines_block);
	return err;
}

static int get_text(struct cam_reader *r, struct notes *n, struct cam_str_id *out)
{
	struct cam_text text;
	int err = cam_line_get(&n->lines, &text);
	return err ? err : cam_reader_intern(r, text, out);
}

static uint64_t get_difference(struct notes *n, uint64_t *last)
{
	*last += (uint64_t)cam_rd_zigzag(&n->rows);
	return *last;
}

struct last {
	uint64_t v[6];
};

static int get_anchor(struct cam_reader *r, struct notes *n, struct last *last, void *row)
{
	struct cam_anchor *a = row;
	(void)r;
	a->time_ns = get_difference(n, &last->v[0]);
	a->raw_ns = get_difference(n, &last->v[1]);
	a->boottime_ns = get_difference(n, &last->v[2]);
	a->sched_ns = get_difference(n, &last->v[3]);
	a->realtime_ns = (int64_t)get_difference(n, &last->v[4]);
	a->uncertainty_ns = get_difference(n, &last->v[5]);
	return cam_rd_error(&n->rows);
}

static int get_event(struct cam_reader *r, struct notes *n, struct last *last, void *row)
{
	struct cam_event *e = row;
	e->time_ns = get_difference(n, &last->v[0]);
	e->uncertainty_ns = cam_rd_varint(&n->rows);
	uint64_t severity = cam_rd_varint(&n->rows);
	if (cam_rd_error(&n->rows) || severity >= CAM_SEVERITY_MAX)
		return -EBADMSG;
	e->severity = (enum cam_severity)severity;
	int err = get_text(r, n, &e->source);
	return err ? err : get_text(r, n, &e->text);
}

static int get_ledger(struct cam_reader *r, struct notes *n, struct last *last, void *row)
{
	struct cam_ledger_row *l = row;
	struct cam_rd rows = n->rows; /* a window of many CPUs has thousands: in registers */
	(void)r;
	uint64_t cause = cam_rd_varint(&rows), cpu = cam_rd_varint(&rows);
	l->from_ns = last->v[0] += (uint64_t)cam_unzigzag(cam_rd_varint(&rows));
	l->to_ns = l->from_ns + (uint64_t)cam_unzigzag(cam_rd_varint(&rows));
	l->samples = cam_rd_varint(&rows);
	n->rows = rows;
	if (cam_rd_error(&rows) || cpu > UINT32_MAX)
		return -EBADMSG;
	l->cause = cam_cause_stored(cause);
	l->cpu = (uint32_t)cpu - 1;
	return 0;
}

static int get_fact(struct cam_reader *r, struct notes *n, struct last *last, void *row)
{
	struct cam_fact *f = row;
	(void)last;
	int err = get_text(r, n, &f->key);
	return err ? err : get_text(r, n, &f->value);
}

struct kind {
	enum cam_chunk_kind chunks;
	size_t size;
	bool rows, lines;
	int (*get)(struct cam_reader *r, struct notes *n, struct last *last, void *row);
};

static int decode_chunk(struct cam_reader *r, const struct kind *kind, size_t i,
			struct cam_chunk_in *chunk, uint8_t **out)
{
	const struct cam_dir_chunk *c = &r->dir.sections[kind->chunks].chunks[i];
	struct notes notes;
	struct last last = {0};
	int err = open_notes(&notes, chunk, kind->rows, kind->lines);
	/* Every row takes a byte at least: before memory is taken for it. */
	if (!err && c->rows > notes.rows_block.n + notes.lines_block.n)
		err = -EBADMSG;
	/* Each row is written whole, or none is handed out. */
	uint8_t *rows = err ? NULL : malloc(((size_t)c->rows + 1) * kind->size);
	if (!err && !rows)
		err = -ENOMEM;
	for (uint32_t k = 0; k < c->rows && !err; k++)
		err = kind->get(r, &notes, &last, rows + k * kind->size);
	*out = rows;
	return close_notes(&notes, err);
}

/* Hands out every row of every good chunk. */
static int each_row(struct cam_reader *r, const struct kind *kind,
		    int (*fn)(void *arg, const void *row), void *arg)
{
	const struct cam_dir_section *s = &r->dir.sections[kind->chunks];
	struct cam_chunk_in chunk = {0};
	int err = 0;
	for (size_t i = 0; i < s->n && !err; i++) {
		uint32_t n = s->chunks[i].rows;
		err = cam_reader_chunk(r, kind->chunks, i, &chunk);
		uint8_t *rows = NULL;
		if (!err)
			err = decode_chunk(r, kind, i, &chunk, &rows);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, kind->chunks, i);
			err = 0;
			n = 0;
		}
		for (uint32_t k = 0; k < n && !err; k++)
			err = fn(arg, rows + k * kind->size);
		free(rows);
	}
	free(chunk.data);
	return err;
}

/* Each door's own callback, behind one that takes any row. */
#define DEFINE_READ(scope, name, fn_type, row_type, chunk_kind, has_rows, has_lines, get_row) \
	struct name##_give {                                                                  \
		fn_type *fn;                                                                  \
		void *arg;                                                                    \
	};                                                                                    \
	static int name##_row(void *arg, const void *row)                                     \
	{                                                                                     \
		const struct name##_give *g = arg;                                            \
		return g->fn(g->arg, row);                                                    \
	}                                                                                     \
	scope int name(struct cam_window *w, fn_type *fn, void *arg)                          \
	{                                                                                     \
		static const struct kind kind = {chunk_kind, sizeof(row_type), has_rows,      \
						 has_lines, get_row};                         \
		struct name##_give g = {fn, arg};                                             \
		return each_row(cam_reader_of(w), &kind, name##_row, &g);                     \
	}

DEFINE_READ(extern, cam_read_anchors, cam_anchor_fn, struct cam_anchor, CAM_CHUNK_ANCHORS, true,
	    false, get_anchor)
DEFINE_READ(extern, cam_read_events, cam_event_fn, struct cam_event, CAM_CHUNK_EVENTS, true, true,
	    get_event)
DEFINE_READ(static, read_ledger, cam_ledger_fn, struct cam_ledger_row, CAM_CHUNK_LEDGER, true,
	    false, get_ledger)
DEFINE_READ(extern, cam_read_facts, cam_fact_fn, struct cam_fact, CAM_CHUNK_FACTS, false, true,
	    get_fact)

/* What was written, and what has been found lost since then. */
int cam_read_ledger(struct cam_window *w, cam_ledger_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = read_ledger(w, fn, arg);
	for (size_t i = 0; i < r->dir.n_spans && !err; i++) {
		struct cam_ledger_row row;
		if (!r->span_lost[i])
			continue;
		cam_reader_lost_row(r, i, &row);
		err = fn(arg, &row);
	}
	return err;
}
