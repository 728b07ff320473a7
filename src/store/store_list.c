// SPDX-License-Identifier: Apache-2.0
/*
 * What is in the directory, and in which order.
 *
 * Order: boots in the order in which this store first saw them (the least sequence number of
 * their windows; wall clocks decide only among windows without numbers, brought in by hand),
 * within a boot by start. An imported window stands for itself, where it came in.
 *
 * The directory may change while it is read. A file that has vanished was deleted, and is left
 * out; but a journal may have vanished because it was sealed under a name that was not there
 * when the names were read: then all is read again.
 */
#include "store/store_parts.h"

#include "base/vec.h"
#include "store/journal.h"
#include "store/window.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 16

struct names {
	char **v;
	size_t n, cap;
};

static int add_name(void *arg, const char *name)
{
	struct names *names = arg;
	int err = cam_vec_reserve(&names->v, &names->cap, names->n + 1, sizeof(*names->v),
				  CAM_STORE_MAX_FILES);
	if (err)
		return err;
	names->v[names->n] = strdup(name);
	if (!names->v[names->n])
		return -ENOMEM;
	names->n++;
	return 0;
}

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

void cam_store_list_free(struct cam_store_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->entries[i].name);
	free(list->entries);
	*list = (struct cam_store_list){0};
}

bool cam_store_same_window(const struct cam_window_info *a, const struct cam_window_info *b)
{
	/* The start may differ where a crash took the earliest sample of a journal: its number, given
	 * once by the store, does not. */
	return a->sequence == b->sequence && (a->sequence || a->start_ns == b->start_ns) &&
	       memcmp(&a->boot_id, &b->boot_id, sizeof(a->boot_id)) == 0 &&
	       cam_text_equal(a->host, b->host);
}

static bool is_live(const struct cam_window_info *info)
{
	return !info->imported && info->clock == CAM_CLOCK_MONOTONIC;
}

static int open_taken(enum cam_file_kind kind, struct cam_file *f, struct cam_window **out)
{
	return kind == CAM_FILE_JOURNAL ? cam_journal_open(f, CAM_STORE_TABLE_BYTES, out)
					: cam_window_open(f, out);
}

int cam_store_open_file(struct cam_io *io, const char *name, struct cam_window **out)
{
	struct cam_file *f;
	int err = io->ops->open(io, name, CAM_IO_READ, &f);
	return err ? err : open_taken(cam_name_kind(name), f, out);
}

int cam_store_open_watched(struct cam_io *io, const char *name, struct cam_window **out, int *error)
{
	struct cam_file *f;
	*error = 0;
	int err = io->ops->open(io, name, CAM_IO_READ, &f);
	if (!err)
		err = cam_store_watch(&f, error);
	if (!err)
		err = open_taken(cam_name_kind(name), f, out);
	return err == -EBADMSG && *error ? *error : err;
}

/* Keeps of an open window what the list needs: its strings die with it. */
static int keep_info(struct cam_store_entry *e, const char *name, const struct cam_window *w)
{
	size_t name_bytes = strlen(name) + 1;
	struct cam_text host = w ? w->info.host : (struct cam_text){"", 0};
	e->name = malloc(name_bytes + host.n);
	if (!e->name)
		return -ENOMEM;
	memcpy(e->name, name, name_bytes);
	if (host.n)
		memcpy(e->name + name_bytes, host.p, host.n);
	if (w)
		e->info = w->info;
	e->info.name = (struct cam_text){e->name, name_bytes - 1};
	e->info.host = (struct cam_text){e->name + name_bytes, host.n};
	return 0;
}

static int state_of(int err, enum cam_entry_state *state)
{
	switch (err) {
	case 0:
		*state = CAM_ENTRY_OK;
		return 0;
	case -EBADMSG:
		*state = CAM_ENTRY_BAD;
		return 0;
	case -EPROTONOSUPPORT:
		*state = CAM_ENTRY_NEWER;
		return 0;
	case -ENOENT:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return err;
	default:
		*state = CAM_ENTRY_FAILED;
		return 0;
	}
}

static int open_entry(struct cam_io *io, const char *name, enum cam_file_kind kind,
		      struct cam_store_entry *e, struct cam_window **out)
{
	struct cam_file *f;
	int read_error;
	int err = io->ops->open(io, name, CAM_IO_READ, &f);
	if (!err)
		err = cam_store_watch(&f, &read_error);
	if (err)
		return err;
	int64_t size = f->ops->size(f);
	e->bytes = size > 0 ? (uint64_t)size : 0;
	if (size < 0 || kind == CAM_FILE_BAD_JOURNAL) {
		f->ops->close(f);
		return size < 0 ? (int)size : -EBADMSG;
	}
	err = open_taken(kind, f, out);
	return err == -EBADMSG && read_error ? read_error : err;
}

/* -ENOENT: it is gone. */
static int read_entry(struct cam_io *io, const char *name, enum cam_file_kind kind,
		      struct cam_store_entry *e)
{
	struct cam_window *w = NULL;
	*e = (struct cam_store_entry){.journal = kind != CAM_FILE_WINDOW};
	int err = open_entry(io, name, kind, e, &w);
	if (err)
		w = NULL;
	err = state_of(err, &e->state);
	if (!err)
		err = keep_info(e, name, w);
	if (w)
		w->ops->close(w);
	return err;
}

static int add_entry(struct cam_io *io, const char *name, struct cam_store_list *list)
{
	enum cam_file_kind kind = cam_name_kind(name);
	if (kind != CAM_FILE_WINDOW && kind != CAM_FILE_JOURNAL && kind != CAM_FILE_BAD_JOURNAL)
		return 0;
	int err = cam_vec_reserve(&list->entries, &list->cap, list->n + 1, sizeof(*list->entries),
				  CAM_STORE_MAX_FILES);
	if (err)
		return err;
	struct cam_store_entry *e = &list->entries[list->n];
	err = read_entry(io, name, kind, e);
	if (err == -ENOENT)
		return kind == CAM_FILE_JOURNAL ? -EAGAIN : 0;
	if (err)
		return err;
	list->n++;
	uint64_t sequence = cam_name_journal_sequence(name);
	if (e->state == CAM_ENTRY_OK && e->info.sequence > sequence)
		sequence = e->info.sequence;
	/* A number out of any reason would leave no room to count on from it. */
	if (sequence <= UINT64_MAX / 2 && sequence > list->last_sequence)
		list->last_sequence = sequence;
	return 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Readable ones first, boots together. */
static int by_boot(const void *a, const void *b)
{
	const struct cam_store_entry *x = a, *y = b;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (is_live(&x->info) != is_live(&y->info))
		return is_live(&x->info) ? -1 : 1;
	return memcmp(&x->info.boot_id, &y->info.boot_id, sizeof(x->info.boot_id));
}

static int by_time(const void *a, const void *b)
{
	const struct cam_store_entry *x = a, *y = b;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	int order = compare_u64(x->position, y->position);
	if (!order && x->boot_realtime_ns != y->boot_realtime_ns)
		order = x->boot_realtime_ns < y->boot_realtime_ns ? -1 : 1;
	if (!order)
		order = memcmp(&x->info.boot_id, &y->info.boot_id, sizeof(x->info.boot_id));
	if (!order)
		order = compare_u64(x->info.start_ns, y->info.start_ns);
	if (!order)
		order = compare_u64(x->info.sequence, y->info.sequence);
	return order ? order : strcmp(x->name, y->name);
}

static void place_boot(struct cam_store_entry *first, size_t n)
{
	uint64_t position = UINT64_MAX;
	int64_t realtime_ns = INT64_MIN;
	for (size_t i = 0; i < n; i++) {
		if (first[i].info.sequence < position)
			position = first[i].info.sequence;
		if (first[i].info.realtime_ns > realtime_ns)
			realtime_ns = first[i].info.realtime_ns;
	}
	for (size_t i = 0; i < n; i++) {
		first[i].position = position;
		first[i].boot_realtime_ns = realtime_ns;
	}
}

static void sort_list(struct cam_store_list *list)
{
	struct cam_store_entry *e = list->entries;
	if (list->n)
		qsort(e, list->n, sizeof(*e), by_boot);
	for (list->n_readable = 0; list->n_readable < list->n; list->n_readable++) {
		if (e[list->n_readable].state != CAM_ENTRY_OK)
			break;
	}
	for (size_t i = 0, end; i < list->n_readable; i = end) {
		for (end = i + 1; end < list->n_readable && is_live(&e[i].info); end++) {
			if (by_boot(&e[i], &e[end]) != 0)
				break;
		}
		place_boot(&e[i], end - i);
	}
	if (list->n)
		qsort(e, list->n, sizeof(*e), by_time);
}

/* A crash, or a reader's luck, shows both forms of a window: they stand side by side. */
static void find_shadowed(struct cam_store_list *list)
{
	for (size_t i = 0; i < list->n_readable; i++) {
		struct cam_store_entry *j = &list->entries[i];
		for (size_t k = 0; j->journal && !j->shadowed && k < list->n_readable; k++) {
			const struct cam_store_entry *w = &list->entries[k];
			j->shadowed = !w->journal && cam_store_same_window(&j->info, &w->info);
		}
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_once(struct cam_io *io, struct cam_store_list *list)
{
	struct names names = {0};
	int err = io->ops->list(io, add_name, &names);
	if (!err && names.n)
		qsort(names.v, names.n, sizeof(*names.v), compare_names);
	for (size_t i = 0; i < names.n && !err; i++)
		err = add_entry(io, names.v[i], list);
	free_names(&names);
	if (err) {
		cam_store_list_free(list);
		return err;
	}
	sort_list(list);
	find_shadowed(list);
	return 0;
}

int cam_store_list_read(struct cam_io *io, struct cam_store_list *list)
{
	int err = -EAGAIN;
	*list = (struct cam_store_list){0};
	for (int attempt = 0; err == -EAGAIN && attempt < ATTEMPTS; attempt++)
		err = read_once(io, list);
	return err;
}
