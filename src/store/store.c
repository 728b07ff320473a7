// SPDX-License-Identifier: Apache-2.0
#include "store/store_parts.h"

#include "store/retain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An annex smaller than this is not worth trimming. */
#define TRIM_BYTES ((uint64_t)1 << 20)

int cam_store_sync_dir(struct cam_store *s)
{
	int err = s->io->ops->sync_dir(s->io);
	s->counts.failed_syncs += err != 0;
	return err;
}

int cam_store_refresh(struct cam_store *s)
{
	int err = cam_store_list_refresh(s->io, &s->list);
	cam_store_doors_note(s);
	s->list_stale = err != 0;
	return err;
}

struct cam_store_entry *cam_store_find(struct cam_store *s, const char *name)
{
	for (size_t i = 0; i < s->list.n; i++) {
		if (strcmp(s->list.entries[i].name, name) == 0)
			return &s->list.entries[i];
	}
	return NULL;
}

struct leftovers {
	char (*names)[CAM_NAME_BYTES];
	size_t n;
	bool more;
};
#define LEFTOVERS 64

static int note_leftover(void *arg, const char *name)
{
	struct leftovers *l = arg;
	size_t bytes = strlen(name) + 1;
	if (cam_name_kind(name) != CAM_FILE_TEMPORARY || bytes > CAM_NAME_BYTES)
		return 0;
	if (l->n == LEFTOVERS) {
		l->more = true;
		return 1;
	}
	memcpy(l->names[l->n++], name, bytes);
	return 0;
}

/* What a crash left unfinished. One that cannot be removed is no harm, only room. */
static int remove_leftovers(struct cam_io *io)
{
	char names[LEFTOVERS][CAM_NAME_BYTES];
	struct leftovers l = {.names = names};
	int err;
	do {
		l.n = 0;
		l.more = false;
		err = io->ops->list(io, note_leftover, &l);
		for (size_t i = 0; i < l.n && err >= 0; i++) {
			if (cam_store_remove(io, names[i]))
				l.more = false;
		}
	} while (err >= 0 && l.more);
	return err < 0 ? err : 0;
}

static int open_locked(struct cam_store *s)
{
	int err = remove_leftovers(s->io);
	if (!err)
		err = cam_store_refresh(s);
	if (err)
		return err;
	s->sequence = s->list.last_sequence;
	for (size_t i = 0; i < s->list.n; i++)
		s->list.entries[i].seal.found = s->list.entries[i].journal;
	cam_annex_recover(s->io, &s->annex);
	return 0;
}

int cam_store_open_live(struct cam_io *io, struct cam_store **out, int *holder)
{
	struct cam_store *s = calloc(1, sizeof(*s));
	*holder = 0;
	if (!s)
		return -ENOMEM;
	s->io = io;
	s->round = 1;
	int err = io->ops->lock(io, CAM_NAME_LOCK, &s->lock, holder);
	if (err) {
		free(s);
		return err;
	}
	err = open_locked(s);
	if (err) {
		cam_store_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int cam_store_open_write(struct cam_io *io, struct cam_store **out, int *holder)
{
	unsigned sealed;
	int err = cam_store_open_live(io, out, holder);
	/* Whatever cannot be done now waits, and is counted. */
	if (!err)
		cam_store_seal_pending(*out, &sealed);
	return err;
}

void cam_store_close(struct cam_store *s)
{
	if (!s)
		return;
	cam_store_doors_free(s);
	cam_annex_writer_close(&s->annex);
	cam_store_list_free(&s->list);
	s->lock->ops->close(s->lock);
	free(s);
}

const struct cam_store_counts *cam_store_counts(const struct cam_store *s)
{
	return &s->counts;
}

static struct cam_retain_item item_of(const struct cam_store *s, const struct cam_store_entry *e)
{
	const struct cam_window_info *info = &e->info;
	bool ok = e->state == CAM_ENTRY_OK;
	return (struct cam_retain_item){
		.sequence = info->sequence,
		.bytes = e->shadowed ? 0 : e->bytes, /* goes with its window, never alone */
		.start_ns = info->start_ns,
		.end_ns = info->end_ns,
		.boot_id = info->boot_id,
		.live = ok && !info->imported && info->clock == CAM_CLOCK_MONOTONIC,
		.pinned = ok && info->pinned,
		.busy = e->shadowed || e->seal.busy || (!ok && e->state != CAM_ENTRY_BAD) ||
			cam_store_is_open(s, e->name),
		.hopeless = !ok,
	};
}

/* The journal first where both forms are there: else it would be sealed again. */
static int delete_window(struct cam_store *s, const struct cam_store_list *list,
			 const struct cam_store_entry *e)
{
	int err = 0;
	for (size_t i = 0; i < list->n_readable && !err && !e->journal; i++) {
		const struct cam_store_entry *j = &list->entries[i];
		if (j->shadowed && cam_store_same_window(&j->info, &e->info))
			err = cam_store_remove(s->io, j->name);
	}
	return err ? err : cam_store_remove(s->io, e->name);
}

static int delete_doomed(struct cam_store *s, const struct cam_retain_item *items,
			 unsigned *deleted)
{
	struct cam_store_list *list = &s->list;
	int err = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (!items[i].doomed)
			continue;
		int one = delete_window(s, list, &list->entries[i]);
		if (!err)
			err = one;
		*deleted += !one;
		list->entries[i].deleted = !one;
		s->list_stale = true;
	}
	return err;
}

int cam_store_retain(struct cam_store *s, const struct cam_retention *r, unsigned *deleted)
{
	struct cam_store_list *list = &s->list;
	uint64_t total_bytes = 0, free_bytes = UINT64_MAX;
	*deleted = 0;
	int err = r->min_free_bytes ? s->io->ops->space(s->io, &total_bytes, &free_bytes) : 0;
	if (!err)
		err = cam_store_refresh(s);
	if (err)
		return err;
	/* Pins that are damaged pin everything: verify says so, it is no error here. */
	err = cam_store_list_pin(s->io, list, r->max_pinned_bytes, NULL);
	if (err == -EBADMSG || err == -EPROTONOSUPPORT)
		err = 0;
	struct cam_retain_item *items = err ? NULL : calloc(list->n + 1, sizeof(*items));
	if (!err && !items)
		err = -ENOMEM;
	for (size_t i = 0; i < list->n && !err; i++)
		items[i] = item_of(s, &list->entries[i]);
	if (!err)
		err = cam_retain_plan(items, list->n, r, free_bytes);
	if (!err)
		err = delete_doomed(s, items, deleted);
	free(items);
	return err ? err : cam_annex_trim(s->io, &s->annex, list, TRIM_BYTES);
}
