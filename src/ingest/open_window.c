// SPDX-License-Identifier: Apache-2.0
#include "ingest/open_window.h"

#include "base/vec.h"

int cam_open_window_init(struct cam_open_window *w, struct cam_journal *to,
			 const struct cam_open_window_options *o)
{
	/* Nothing of it is there if this is not: who sees its door takes it for whole. */
	struct cam_open_window_place *places = calloc(o->place_slots, sizeof(*places));
	if (!places)
		return -ENOMEM;
	*w = (struct cam_open_window){.to = to, .options = *o, .places = places};
	return 0;
}

static void forget_pending(struct cam_open_window *w)
{
	w->n_samples = w->n_events = w->n_ledger = 0;
	w->n_anchors = w->n_counters = w->n_named = 0;
}

void cam_open_window_drop(struct cam_open_window *w)
{
	forget_pending(w);
	cam_tables_free(&w->tables);
	w->started = w->begun = false;
}

void cam_open_window_free(struct cam_open_window *w)
{
	cam_open_window_drop(w);
	free(w->samples);
	free(w->events);
	free(w->ledger);
	free(w->anchors);
	free(w->counters);
	free(w->named);
	free(w->places);
	free(w->paths);
	*w = (struct cam_open_window){0};
}

int cam_open_window_start(struct cam_open_window *w)
{
	int err = cam_tables_init(&w->tables, w->options.max_table_bytes);
	if (err)
		return err;
	memset(w->places, 0, w->options.place_slots * sizeof(*w->places));
	if (w->paths)
		memset(w->paths, 0, CAM_OPEN_WINDOW_PATHS * sizeof(*w->paths));
	w->facts_stamp = 0;
	w->started = true;
	w->begun = false;
	return 0;
}

int cam_open_window_begin(struct cam_open_window *w, const struct cam_window_head *head,
			  struct cam_text host)
{
	struct cam_window_head own = *head;
	int err = cam_string_intern(&w->tables, host, &own.host);
	if (!err)
		err = w->to->begin(w->to, &w->tables, &own);
	w->begun = !err;
	return err;
}

/* The first block takes everything, with the first samples; the others only samples. */
static int append(struct cam_open_window *w, size_t from, const struct cam_fact *facts,
		  size_t n_facts)
{
	size_t left = w->n_samples - from;
	struct cam_block block = {
		.samples = w->samples ? w->samples + from : NULL,
		.n_samples = left < CAM_OPEN_WINDOW_BLOCK ? left : CAM_OPEN_WINDOW_BLOCK,
	};
	if (from == 0) {
		block.events = w->events;
		block.n_events = w->n_events;
		block.ledger = w->ledger;
		block.n_ledger = w->n_ledger;
		block.anchors = w->anchors;
		block.n_anchors = w->n_anchors;
		block.counters = w->counters;
		block.n_counters = w->n_counters;
		block.named = w->named;
		block.n_named = w->n_named;
		block.facts = facts;
		block.n_facts = n_facts;
	}
	if (!block.n_samples && !block.n_events && !block.n_ledger && !block.n_anchors &&
	    !block.n_counters && !block.n_named && !block.n_facts)
		return 0;
	return w->to->append(w->to, &w->tables, &block);
}

int cam_open_window_flush(struct cam_open_window *w, const struct cam_facts *facts)
{
	if (!w->begun)
		return 0;
	struct cam_fact rows[CAM_FACTS_MAX];
	int n_facts = cam_facts_intern(facts, w->facts_stamp, &w->tables, rows);
	if (n_facts < 0)
		return n_facts;
	size_t written = 0;
	int err;
	do {
		err = append(w, written, rows, (size_t)n_facts);
		if (err)
			break;
		if (written == 0) {
			w->n_events = w->n_ledger = w->n_anchors = w->n_counters = w->n_named = 0;
			w->facts_stamp = facts->stamp;
		}
		written += CAM_OPEN_WINDOW_BLOCK;
	} while (written < w->n_samples);
	if (!err) {
		w->n_samples = 0;
	} else if (written) {
		w->n_samples -= written;
		memmove(w->samples, w->samples + written, w->n_samples * sizeof(*w->samples));
	}
	return err;
}

int cam_open_window_end(struct cam_open_window *w, uint64_t end_ns, bool keep_empty)
{
	int err = w->to->end(w->to, end_ns, keep_empty);
	if (err)
		return err;
	if (w->to->keep)
		w->to->keep(w->to, &w->tables);
	cam_open_window_drop(w);
	return 0;
}

/* The way that this stack's may be like: by the root and what is near it. */
static struct cam_open_window_path *path_of(struct cam_open_window *w,
					    const struct cam_loc_id *frames, size_t n)
{
	if (!w->paths)
		w->paths = calloc(CAM_OPEN_WINDOW_PATHS, sizeof(*w->paths));
	uint64_t hash = cam_hash_u64(frames[n - 1].v, frames[n > 3 ? n - 4 : 0].v);
	return w->paths ? &w->paths[hash % CAM_OPEN_WINDOW_PATHS] : NULL;
}

static int intern_place(struct cam_open_window *w, const struct cam_loc_id *frames, size_t n,
			struct cam_place_id *out)
{
	struct cam_open_window_path *path =
		n && n <= CAM_MAX_STACK_FRAMES ? path_of(w, frames, n) : NULL;
	if (!path)
		return cam_place_intern(&w->tables, frames, n, out);
	size_t i = 0;
	while (i < path->n && i < n && path->loc[i] == frames[n - 1 - i].v)
		i++;
	uint32_t node = i ? path->node[i - 1] : 0;
	for (; i < n; i++) {
		uint32_t loc = frames[n - 1 - i].v;
		int err = cam_tree_intern(&w->tables, &w->tables.places, node, loc, &node);
		if (err)
			return err;
		if (i >= CAM_OPEN_WINDOW_STEPS)
			continue;
		path->loc[i] = loc;
		path->node[i] = node;
		path->n = (uint32_t)i + 1;
	}
	out->v = node;
	return 0;
}

int cam_open_window_place(struct cam_open_window *w, const struct cam_loc_id *frames, size_t n,
			  struct cam_place_id *out)
{
	struct cam_hash_128 hash = cam_hash_128(frames, n * sizeof(*frames), 0);
	struct cam_open_window_place *slot = &w->places[hash.low & (w->options.place_slots - 1)];
	if (slot->place_plus_1 && slot->hash.low == hash.low && slot->hash.high == hash.high) {
		out->v = slot->place_plus_1 - 1;
		return 0;
	}
	int err = intern_place(w, frames, n, out);
	if (!err)
		*slot = (struct cam_open_window_place){hash, out->v + 1};
	return err;
}

int cam_open_window_sample(struct cam_open_window *w, const struct cam_sample *s)
{
	int err = cam_vec_reserve(&w->samples, &w->cap_samples, w->n_samples + 1,
				  sizeof(*w->samples), w->options.max_samples);
	if (!err)
		w->samples[w->n_samples++] = *s;
	return err;
}

/* The other kinds of rows differ only in their type. */
#define DEFINE_ROW(fn, row_type, rows, n_rows, cap_rows)                                           \
	int fn(struct cam_open_window *w, const row_type *row)                                     \
	{                                                                                          \
		int err = cam_vec_reserve(&w->rows, &w->cap_rows, w->n_rows + 1, sizeof(*w->rows), \
					  w->options.max_rows);                                    \
		if (!err)                                                                          \
			w->rows[w->n_rows++] = *row;                                               \
		else                                                                               \
			w->refused++;                                                              \
		return err;                                                                        \
	}
DEFINE_ROW(cam_open_window_event, struct cam_event, events, n_events, cap_events)
DEFINE_ROW(cam_open_window_ledger, struct cam_ledger_row, ledger, n_ledger, cap_ledger)
DEFINE_ROW(cam_open_window_anchor, struct cam_anchor, anchors, n_anchors, cap_anchors)
DEFINE_ROW(cam_open_window_counter, struct cam_counter, counters, n_counters, cap_counters)

int cam_open_window_named(struct cam_open_window *w, struct cam_loc_id loc)
{
	int err = cam_vec_reserve(&w->named, &w->cap_named, w->n_named + 1, sizeof(*w->named),
				  w->options.max_rows);
	if (!err)
		w->named[w->n_named++] = loc;
	else
		w->refused++;
	return err;
}

size_t cam_open_window_bytes(const struct cam_open_window *w)
{
	return w->tables.bytes + w->options.place_slots * sizeof(*w->places) +
	       w->cap_samples * sizeof(*w->samples) + w->cap_events * sizeof(*w->events) +
	       w->cap_ledger * sizeof(*w->ledger) + w->cap_anchors * sizeof(*w->anchors) +
	       w->cap_counters * sizeof(*w->counters) + w->cap_named * sizeof(*w->named) +
	       (w->paths ? CAM_OPEN_WINDOW_PATHS * sizeof(*w->paths) : 0);
}
