// SPDX-License-Identifier: Apache-2.0
/*
 * What is few: anchors, events, ledger, facts. A chunk holds one block of varints, row by row,
 * each a difference where that is small, and for events and facts a block of lines.
 *
 *	anchor  time, raw, boottime, sched, realtime, uncertainty: differences to the row before
 *	event   time (difference), uncertainty, severity; lines: source, text
 *	ledger  cause, CPU + 1 (0: all), from (difference), to - from, samples
 *	fact    lines: key, value
 */
#include "base/vec.h"
#include "store/window_text.h"
#include "store/window_writer.h"

#include <errno.h>

#define LEVEL 9

struct cam_notes {
	struct cam_anchor *anchors;
	struct cam_event *events;
	struct cam_ledger_row *ledger;
	struct cam_fact *facts;
	size_t n_anchors, n_events, n_ledger, n_facts;
	size_t cap_anchors, cap_events, cap_ledger, cap_facts;
};

#define DEFINE_KEEP(name, type, rows)                                                \
	static int name(void *arg, const type *row)                                  \
	{                                                                            \
		struct cam_notes *n = arg;                                           \
		int err = cam_vec_reserve(&n->rows, &n->cap_##rows, n->n_##rows + 1, \
					  sizeof(*n->rows), CAM_WINDOW_ROWS_MAX);    \
		if (!err)                                                            \
			n->rows[n->n_##rows++] = *row;                               \
		return err;                                                          \
	}

DEFINE_KEEP(keep_anchor, struct cam_anchor, anchors)
DEFINE_KEEP(keep_event, struct cam_event, events)
DEFINE_KEEP(keep_ledger, struct cam_ledger_row, ledger)
DEFINE_KEEP(keep_fact, struct cam_fact, facts)

static void put_difference(struct cam_buf *b, uint64_t v, uint64_t *last)
{
	cam_buf_put_zigzag(b, (int64_t)(v - *last));
	*last = v;
}

/* Ends a chunk's rows: their varints and, where it has any, their lines. */
static int finish_rows(struct cam_buf *rows, struct cam_buf *lines, struct cam_buf *out)
{
	int err = rows ? rows->error : 0;
	if (!err && rows)
		err = cam_block_write(out, rows->data, rows->len, LEVEL);
	if (!err && lines)
		err = lines->error ? lines->error
				   : cam_block_write(out, lines->data, lines->len, LEVEL);
	if (rows)
		cam_buf_free(rows);
	if (lines)
		cam_buf_free(lines);
	return err;
}

static int put_anchors(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_buf rows = CAM_BUF(CAM_TEXT_RAW_MAX);
	uint64_t last[6] = {0};
	for (uint32_t i = from; i < to; i++) {
		const struct cam_anchor *a = &w->notes->anchors[i];
		put_difference(&rows, a->time_ns, &last[0]);
		put_difference(&rows, a->raw_ns, &last[1]);
		put_difference(&rows, a->boottime_ns, &last[2]);
		put_difference(&rows, a->sched_ns, &last[3]);
		put_difference(&rows, (uint64_t)a->realtime_ns, &last[4]);
		put_difference(&rows, a->uncertainty_ns, &last[5]);
	}
	return finish_rows(&rows, NULL, out);
}

static int put_events(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_buf rows = CAM_BUF(CAM_TEXT_RAW_MAX), lines = CAM_BUF(CAM_TEXT_RAW_MAX);
	uint64_t last = 0;
	for (uint32_t i = from; i < to; i++) {
		const struct cam_event *e = &w->notes->events[i];
		put_difference(&rows, e->time_ns, &last);
		cam_buf_put_varint(&rows, e->uncertainty_ns);
		cam_buf_put_varint(&rows, e->severity);
		cam_line_put(&lines, cam_string(w->t, e->source));
		cam_line_put(&lines, cam_string(w->t, e->text));
	}
	return finish_rows(&rows, &lines, out);
}

static int put_ledger(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_buf rows = CAM_BUF(CAM_TEXT_RAW_MAX);
	uint64_t last = 0;
	for (uint32_t i = from; i < to; i++) {
		const struct cam_ledger_row *l = &w->notes->ledger[i];
		cam_buf_put_varint(&rows, l->cause);
		cam_buf_put_varint(&rows, (uint32_t)(l->cpu + 1));
		put_difference(&rows, l->from_ns, &last);
		cam_buf_put_zigzag(&rows, (int64_t)(l->to_ns - l->from_ns));
		cam_buf_put_varint(&rows, l->samples);
	}
	return finish_rows(&rows, NULL, out);
}

static int put_facts(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_buf lines = CAM_BUF(CAM_TEXT_RAW_MAX);
	for (uint32_t i = from; i < to; i++) {
		cam_line_put(&lines, cam_string(w->t, w->notes->facts[i].key));
		cam_line_put(&lines, cam_string(w->t, w->notes->facts[i].value));
	}
	return finish_rows(NULL, &lines, out);
}

static int check_notes(struct cam_writer *w, const struct cam_notes *n)
{
	for (size_t i = 0; i < n->n_events; i++) {
		if ((unsigned)n->events[i].severity >= CAM_SEVERITY_MAX)
			return -EBADMSG;
		w->text_bytes += cam_string(w->t, n->events[i].source).n;
		w->text_bytes += cam_string(w->t, n->events[i].text).n;
	}
	for (size_t i = 0; i < n->n_ledger; i++)
		if ((unsigned)n->ledger[i].cause >= CAM_CAUSE_MAX)
			return -EBADMSG;
	for (size_t i = 0; i < n->n_facts; i++) {
		w->text_bytes += cam_string(w->t, n->facts[i].key).n;
		w->text_bytes += cam_string(w->t, n->facts[i].value).n;
	}
	return 0;
}

int cam_write_notes(struct cam_writer *w)
{
	struct cam_notes n = {0};
	int err = w->in->ops->anchors(w->in, keep_anchor, &n);
	if (!err)
		err = w->in->ops->events(w->in, keep_event, &n);
	if (!err)
		err = w->in->ops->ledger(w->in, keep_ledger, &n);
	if (!err)
		err = w->in->ops->facts(w->in, keep_fact, &n);
	if (!err)
		err = check_notes(w, &n);
	w->notes = &n;
	w->dir.info.events = (uint32_t)n.n_events;
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_ANCHORS, (uint32_t)n.n_anchors, put_anchors);
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_EVENTS, (uint32_t)n.n_events, put_events);
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_LEDGER, (uint32_t)n.n_ledger, put_ledger);
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_FACTS, (uint32_t)n.n_facts, put_facts);
	w->notes = NULL;
	free(n.anchors);
	free(n.events);
	free(n.ledger);
	free(n.facts);
	return err;
}
