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
	free(w->steps);
	*w = (struct cam_open_window){0};
}

int cam_open_window_start(struct cam_open_window *w)
{
	int err = cam_tables_init(&w->tables, w->options.max_table_bytes);
	if (err)
		return err;
	memset(w->places, 0, w->options.place_slots * sizeof(*w->places));
	if (w->steps)
		memset(w->steps, 0, CAM_OPEN_WINDOW_STEPS * sizeof(*w->steps));
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

/* The step that was last known by this hash. */
static struct cam_open_window_step *step_of(struct cam_open_window *w, uint64_t hash)
{
	return &w->steps[hash % CAM_OPEN_WINDOW_STEPS];
}

/* The node of such a way that ends with this location; 0: it is not known. */
static uint32_t known_node(struct cam_open_window *w, uint64_t hash, uint32_t loc)
{
	const struct cam_open_window_step *s = step_of(w, hash);
	return s->hash == hash && w->tables.places.item[s->node] == loc ? s->node : 0;
}

static int intern_place(struct cam_open_window *w, const struct cam_loc_id *frames, size_t n,
			struct cam_place_id *out)
{
	uint64_t hashes[CAM_MAX_STACK_FRAMES], hash = 0;
	if (!w->steps)
		w->steps = calloc(CAM_OPEN_WINDOW_STEPS, sizeof(*w->steps));
	if (!w->steps || n > CAM_MAX_STACK_FRAMES)
		return cam_place_intern(&w->tables, frames, n, out);
	for (size_t i = 0; i < n; i++)
		hashes[i] = hash = cam_hash_u64(hash, frames[n - 1 - i].v);
	uint32_t node = 0;
	size_t i = n;
	while (i && !(node = known_node(w, hashes[i - 1], frames[n - i].v)))
		i--;
	for (; i < n; i++) {
		int err = cam_tree_intern(&w->tables, &w->tables.places, node, frames[n - 1 - i].v,
					  &node);
		if (err)
			return err;
		*step_of(w, hashes[i]) = (struct cam_open_window_step){hashes[i], node};
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
	       (w->steps ? CAM_OPEN_WINDOW_STEPS * sizeof(*w->steps) : 0);
}
