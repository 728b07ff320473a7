// SPDX-License-Identifier: Apache-2.0
/*
 * Door D over a store: a snapshot of the list, and windows with the annex's late events merged in.
 *
 * A sealed file never changes, so a late event cannot be in it. Where the annex has events for a
 * window, the window is wrapped: events() delivers both in order of time, all other questions go
 * to the window itself. A window without late events is handed out as it is.
 *
 * The strings of late events go into the tables of the window itself, when it is opened: both
 * kinds of windows of this room intern into them whenever they read a text, so ids may be added.
 * Strings must not move once they are seen, and the windows have reserved what they will need:
 * therefore room for the late ones is added to that, before anybody looks.
 */
#include "store/store_parts.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNBORN_BYTES 4096u

struct store_source {
	struct cam_source base;
	struct cam_io *io;
	struct cam_store_list list;
	struct cam_annex annex;
};

struct wrapped {
	struct cam_window base;
	struct cam_window *inner;
	struct cam_event *late; /* in order of time */
	size_t n_late;
};

static struct wrapped *wrapped_of(struct cam_window *w)
{
	return (struct wrapped *)w;
}

/* What the inner window could not read this one cannot either. */
static int follow(struct wrapped *x, int err)
{
	x->base.damage = x->inner->damage;
	return err;
}

static int wrapped_tables(struct cam_window *w, const struct cam_tables **out)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, x->inner->ops->tables(x->inner, out));
}

static int wrapped_names(struct cam_window *w, const struct cam_tables **out)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, cam_window_names(x->inner, out));
}

static int wrapped_words(struct cam_window *w, const struct cam_tables **out)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, cam_window_words(x->inner, out));
}

static int wrapped_comms(struct cam_window *w, cam_comm_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, cam_window_comms(x->inner, fn, arg));
}

static int wrapped_task(struct cam_window *w, uint32_t task, struct cam_task *out)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, cam_window_task(x->inner, task, out));
}

static int wrapped_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			   cam_batch_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, x->inner->ops->samples(x->inner, range, columns, fn, arg));
}

static int wrapped_totals_in(struct cam_window *w, struct cam_range range, cam_total_fn *fn,
			     void *arg)
{
	struct wrapped *x = wrapped_of(w);
	const struct cam_window_ops *ops = x->inner->ops;
	return ops->totals_in ? follow(x, ops->totals_in(x->inner, range, fn, arg)) : -ENODATA;
}

#define PASS_ON(question, fn_type)                                                  \
	static int wrapped_##question(struct cam_window *w, fn_type *fn, void *arg) \
	{                                                                           \
		struct wrapped *x = wrapped_of(w);                                  \
		return follow(x, x->inner->ops->question(x->inner, fn, arg));       \
	}
PASS_ON(totals, cam_total_fn)
PASS_ON(small_totals, cam_total_fn)
PASS_ON(cells, cam_cell_fn)
PASS_ON(process_cells, cam_process_cell_fn)
PASS_ON(ledger, cam_ledger_fn)
PASS_ON(anchors, cam_anchor_fn)
PASS_ON(facts, cam_fact_fn)

static int wrapped_seconds(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	return follow(x, cam_window_seconds(x->inner, fn, arg));
}

static int wrapped_name_cells(struct cam_window *w, cam_name_cell_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	int (*ask)(struct cam_window *, cam_name_cell_fn *, void *) = x->inner->ops->name_cells;
	return ask ? follow(x, ask(x->inner, fn, arg)) : -ENODATA;
}

static int wrapped_slots(struct cam_window *w, cam_slots_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	int (*ask)(struct cam_window *, cam_slots_fn *, void *) = x->inner->ops->slots;
	return ask ? follow(x, ask(x->inner, fn, arg)) : -ENODATA;
}

static int wrapped_counters(struct cam_window *w, cam_counter_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	int (*ask)(struct cam_window *, cam_counter_fn *, void *) = x->inner->ops->counters;
	return ask ? follow(x, ask(x->inner, fn, arg)) : 0;
}

static int wrapped_lines(struct cam_window *w, cam_line_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	int (*ask)(struct cam_window *, cam_line_fn *, void *) = x->inner->ops->lines;
	return ask ? follow(x, ask(x->inner, fn, arg)) : 0;
}

struct merge {
	struct wrapped *x;
	size_t next; /* of the late ones */
	cam_event_fn *fn;
	void *arg;
};

static int deliver_late(struct merge *m, uint64_t before_ns)
{
	int err = 0;
	while (!err && m->next < m->x->n_late && m->x->late[m->next].time_ns < before_ns)
		err = m->fn(m->arg, &m->x->late[m->next++]);
	return err;
}

static int merge_event(void *arg, const struct cam_event *e)
{
	struct merge *m = arg;
	int err = deliver_late(m, e->time_ns);
	return err ? err : m->fn(m->arg, e);
}

static int wrapped_events(struct cam_window *w, cam_event_fn *fn, void *arg)
{
	struct wrapped *x = wrapped_of(w);
	struct merge m = {.x = x, .fn = fn, .arg = arg};
	int err = follow(x, x->inner->ops->events(x->inner, merge_event, &m));
	return err ? err : deliver_late(&m, CAM_TIME_NONE);
}

static void wrapped_close(struct cam_window *w)
{
	struct wrapped *x = wrapped_of(w);
	x->inner->ops->close(x->inner);
	free(x->late);
	free(x);
}

static const struct cam_window_ops wrapped_ops = {
	.tables = wrapped_tables,
	.names = wrapped_names,
	.words = wrapped_words,
	.comms = wrapped_comms,
	.task = wrapped_task,
	.samples = wrapped_samples,
	.totals = wrapped_totals,
	.totals_in = wrapped_totals_in,
	.small_totals = wrapped_small_totals,
	.cells = wrapped_cells,
	.seconds = wrapped_seconds,
	.process_cells = wrapped_process_cells,
	.name_cells = wrapped_name_cells,
	.slots = wrapped_slots,
	.events = wrapped_events,
	.ledger = wrapped_ledger,
	.anchors = wrapped_anchors,
	.facts = wrapped_facts,
	.counters = wrapped_counters,
	.lines = wrapped_lines,
	.close = wrapped_close,
};

static int add_room(struct cam_tables *t, const struct cam_annex_event *events, size_t n)
{
	struct cam_strings *st = &t->strings;
	size_t had = st->bytes_cap, bytes = had + 1;
	for (size_t i = 0; i < n; i++)
		bytes += events[i].source.n + events[i].text.n;
	int err = cam_vec_reserve(&st->bytes, &st->bytes_cap, bytes, 1, CAM_MAX_STRING_BYTES);
	t->bytes += st->bytes_cap - had;
	return err;
}

/* The events of the annex as events of the window. */
static int make_events(struct cam_window *w, const struct cam_annex_event *events, size_t n,
		       struct cam_event *out)
{
	const struct cam_tables *tables;
	int err = cam_window_words(w, &tables);
	if (err)
		return err;
	struct cam_tables *t = (struct cam_tables *)tables;
	err = add_room(t, events, n);
	for (size_t i = 0; i < n && !err; i++) {
		out[i] = (struct cam_event){
			.time_ns = events[i].time_ns,
			.uncertainty_ns = events[i].uncertainty_ns,
			.severity = events[i].severity,
		};
		err = cam_string_intern(t, events[i].source, &out[i].source);
		if (!err)
			err = cam_string_intern(t, events[i].text, &out[i].text);
	}
	return err;
}

/* Takes *w over, also on error. The events are in order of time. */
static int wrap(const struct cam_annex_event *events, size_t n, struct cam_window **w)
{
	struct wrapped *x = calloc(1, sizeof(*x));
	struct cam_event *late = calloc(n, sizeof(*late));
	int err = x && late ? make_events(*w, events, n, late) : -ENOMEM;
	if (err) {
		free(x);
		free(late);
		(*w)->ops->close(*w);
		return err;
	}
	x->base = (struct cam_window){.ops = &wrapped_ops, .info = (*w)->info};
	x->base.info.events += (uint32_t)n;
	x->inner = *w;
	x->late = late;
	x->n_late = n;
	*w = &x->base;
	return follow(x, 0);
}

static struct store_source *source_of(struct cam_source *s)
{
	return (struct store_source *)s;
}

/* Why nothing of an entry can be shown; 0: it can. It stays in the list, so that a view says so. */
static int unreadable(const struct cam_store_entry *e)
{
	switch (e->state) {
	case CAM_ENTRY_OK:
		return 0;
	case CAM_ENTRY_NEWER:
		return -EPROTONOSUPPORT;
	case CAM_ENTRY_FAILED:
		return -EIO;
	case CAM_ENTRY_BAD:
		break;
	}
	return -EBADMSG;
}

static size_t source_count(struct cam_source *s)
{
	return source_of(s)->list.n;
}

static int source_info(struct cam_source *s, size_t i, const struct cam_window_info **out)
{
	if (i >= source_of(s)->list.n)
		return -EINVAL;
	const struct cam_store_entry *e = &source_of(s)->list.entries[i];
	*out = &e->info;
	return unreadable(e);
}

/* A journal that is gone has become a window, or has expired. */
static int open_sealed(struct cam_io *io, const struct cam_window_info *info,
		       struct cam_window **out)
{
	struct cam_store_list now;
	int err = cam_store_list_read(io, NULL, &now);
	if (err)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < now.n_readable && err == -ENOENT; i++) {
		if (cam_store_same_window(&now.entries[i].info, info))
			err = cam_store_open_file(io, now.entries[i].name, out);
	}
	cam_store_list_free(&now);
	return err;
}

static int source_open(struct cam_source *s, size_t i, struct cam_window **out)
{
	struct store_source *src = source_of(s);
	if (i >= src->list.n)
		return -EINVAL;
	const struct cam_store_entry *e = &src->list.entries[i];
	struct cam_window *w;
	int err = unreadable(e);
	if (!err)
		err = cam_store_open_file(src->io, e->name, &w);
	if (err == -ENOENT && e->journal)
		err = open_sealed(src->io, &e->info, &w);
	if (err)
		return err;
	const struct cam_annex_event *late;
	size_t n_late = cam_annex_find(&src->annex, &w->info, &late);
	if (n_late)
		err = wrap(late, n_late, &w);
	if (err)
		return err;
	w->info.name = e->info.name;
	w->info.pinned = e->info.pinned;
	*out = w;
	return 0;
}

static void source_close(struct cam_source *s)
{
	struct store_source *src = source_of(s);
	cam_store_list_free(&src->list);
	cam_annex_free(&src->annex);
	free(src);
}

static const struct cam_source_ops source_ops = {
	.count = source_count,
	.info = source_info,
	.open = source_open,
	.close = source_close,
};

/* Keeps one form of each window; those that cannot be read come last. */
static void keep_one_form(struct store_source *src)
{
	struct cam_store_list *list = &src->list;
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct cam_store_entry *e = &list->entries[i];
		/* A journal without a header is one that is being made. */
		bool unborn = e->journal && e->state == CAM_ENTRY_BAD && e->bytes < UNBORN_BYTES;
		if (e->shadowed || unborn) {
			free(e->name);
			continue;
		}
		const struct cam_annex_event *late;
		if (e->state == CAM_ENTRY_OK)
			e->info.events += (uint32_t)cam_annex_find(&src->annex, &e->info, &late);
		list->entries[kept++] = *e;
	}
	list->n = kept;
}

int cam_store_open_read(struct cam_io *io, struct cam_source **out)
{
	return cam_store_open_again(io, NULL, out);
}

int cam_store_open_again(struct cam_io *io, struct cam_store_known *known, struct cam_source **out)
{
	struct store_source *src = calloc(1, sizeof(*src));
	if (!src)
		return -ENOMEM;
	src->base.ops = &source_ops;
	src->io = io;
	int err = cam_store_list_read(io, known, &src->list);
	/* An annex that cannot be read costs its events, not the windows. */
	if (!err && cam_annex_read(io, &src->annex) == -ENOMEM)
		err = -ENOMEM;
	if (err) {
		source_close(&src->base);
		return err;
	}
	cam_store_list_pin(io, &src->list, 0, NULL);
	keep_one_form(src);
	*out = &src->base;
	return 0;
}
