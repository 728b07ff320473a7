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
 *
 * A reader opens every file for its list, but those that an earlier list of it has met: a server is asked
 * several times a second, and a sealed file under the same name, with the same stamp, is the same. The writer keeps its list and brings it up to date: it
 * opens only what it has not met (a closed journal and a sealed file do not change under their
 * names), and of a journal it looks at the ends only. So a list of 400 windows costs it the reading
 * of a directory.
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

/* Keeps what the list needs: the strings of an info die with what it came from. */
static int keep_info(struct cam_store_entry *e, const char *name,
		     const struct cam_window_info *info)
{
	size_t name_bytes = strlen(name) + 1;
	struct cam_text host = info ? info->host : (struct cam_text){"", 0};
	e->name = malloc(name_bytes + host.n);
	if (!e->name)
		return -ENOMEM;
	memcpy(e->name, name, name_bytes);
	if (host.n)
		memcpy(e->name + name_bytes, host.p, host.n);
	if (info)
		e->info = *info;
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

static int look_at_window(struct cam_file *f, struct cam_store_entry *e, const char *name)
{
	struct cam_window_info info;
	char *host = NULL;
	int err = cam_window_glance(f, &info, &host);
	if (!err)
		err = keep_info(e, name, &info);
	free(host);
	return err;
}

static int look_at(struct cam_file *f, enum cam_file_kind kind, bool glance,
		   struct cam_store_entry *e, const char *name)
{
	struct cam_journal_peek peek;
	struct cam_window *w;
	bool peeks = glance && kind == CAM_FILE_JOURNAL;
	if (kind == CAM_FILE_WINDOW)
		return look_at_window(f, e, name);
	int err =
		peeks ? cam_journal_peek(f, &peek) : cam_journal_open(f, CAM_STORE_TABLE_BYTES, &w);
	if (peeks)
		f->ops->close(f);
	if (err)
		return err;
	err = keep_info(e, name, peeks ? &peek.info : &w->info);
	if (!peeks) {
		w->ops->close(w);
		return err;
	}
	free(peek.host);
	e->written = peek.samples;
	e->written_exactly = peek.exact;
	e->used = peek.used;
	return err;
}

static int open_entry(struct cam_io *io, const char *name, enum cam_file_kind kind, bool glance,
		      struct cam_store_entry *e)
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
	err = look_at(f, kind, glance, e, name);
	/* Blocks that could not be read look as if there were none: nothing may follow from that. */
	if (!err && read_error && glance && kind == CAM_FILE_JOURNAL)
		err = read_error;
	return err == -EBADMSG && read_error ? read_error : err;
}

/* -ENOENT: it is gone. */
static int read_entry(struct cam_io *io, const char *name, enum cam_file_kind kind, bool glance,
		      struct cam_store_entry *e)
{
	*e = (struct cam_store_entry){.journal = kind != CAM_FILE_WINDOW};
	int err = state_of(open_entry(io, name, kind, glance, e), &e->state);
	if (err) {
		free(e->name);
		return err;
	}
	/* What cannot be read still has a name. */
	return e->name ? 0 : keep_info(e, name, NULL);
}

static void note_sequence(struct cam_store_list *list, const struct cam_store_entry *e)
{
	uint64_t sequence = cam_name_journal_sequence(e->name);
	if (e->state == CAM_ENTRY_OK && e->info.sequence > sequence)
		sequence = e->info.sequence;
	/* A number out of any reason would leave no room to count on from it. */
	if (sequence <= UINT64_MAX / 2 && sequence > list->last_sequence)
		list->last_sequence = sequence;
}

static bool is_listed(enum cam_file_kind kind)
{
	return kind == CAM_FILE_WINDOW || kind == CAM_FILE_JOURNAL || kind == CAM_FILE_BAD_JOURNAL;
}

static int add_entry(struct cam_io *io, const char *name, bool glance, struct cam_store_list *list)
{
	enum cam_file_kind kind = cam_name_kind(name);
	if (!is_listed(kind))
		return 0;
	int err = cam_vec_reserve(&list->entries, &list->cap, list->n + 1, sizeof(*list->entries),
				  CAM_STORE_MAX_FILES);
	if (err)
		return err;
	struct cam_store_entry *e = &list->entries[list->n];
	err = read_entry(io, name, kind, glance, e);
	if (err == -ENOENT)
		return kind == CAM_FILE_JOURNAL && !glance ? -EAGAIN : 0;
	if (err)
		return err;
	list->n++;
	note_sequence(list, e);
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
		j->shadowed = false;
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

static int read_names(struct cam_io *io, struct names *names)
{
	*names = (struct names){0};
	int err = io->ops->list(io, add_name, names);
	if (err)
		free_names(names);
	else if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), compare_names);
	return err;
}

/* A sealed file as it was met, in order of names. */
struct known_file {
	struct cam_io_stamp stamp;
	struct cam_store_entry entry; /* its name is its own */
};

struct cam_store_known {
	struct known_file *files;
	size_t n, cap;
};

static void forget(struct cam_store_known *known)
{
	for (size_t i = 0; i < known->n; i++)
		free(known->files[i].entry.name);
	free(known->files);
	*known = (struct cam_store_known){0};
}

struct cam_store_known *cam_store_known_new(void)
{
	return calloc(1, sizeof(struct cam_store_known));
}

void cam_store_known_free(struct cam_store_known *known)
{
	if (known)
		forget(known);
	free(known);
}

static bool same_stamp(const struct cam_io_stamp *a, const struct cam_io_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
	       a->written_s == b->written_s && a->written_ns == b->written_ns &&
	       a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;
}

static int compare_known(const void *name, const void *file)
{
	return strcmp(name, ((const struct known_file *)file)->entry.name);
}

static int copy_entry(const struct cam_store_entry *from, struct cam_store_entry *to)
{
	*to = *from;
	to->name = NULL;
	return keep_info(to, from->name, &from->info);
}

static int learn(struct cam_store_known *known, const struct cam_io_stamp *stamp,
		 const struct cam_store_entry *e)
{
	int err = cam_vec_reserve(&known->files, &known->cap, known->n + 1, sizeof(*known->files),
				  CAM_STORE_MAX_FILES);
	if (!err)
		err = copy_entry(e, &known->files[known->n].entry);
	if (!err)
		known->files[known->n++].stamp = *stamp;
	return err;
}

/* As add_entry(), from what is known where that is so; what it meets goes to `next`. */
static int add_entry_once(struct cam_io *io, const char *name, const struct cam_store_known *known,
			  struct cam_store_known *next, struct cam_store_list *list)
{
	struct cam_io_stamp stamp;
	if (!known || cam_name_kind(name) != CAM_FILE_WINDOW || !io->ops->stamp ||
	    io->ops->stamp(io, name, &stamp))
		return add_entry(io, name, false, list);
	const struct known_file *old = known->n ? bsearch(name, known->files, known->n,
							  sizeof(*known->files), compare_known)
						: NULL;
	size_t had = list->n;
	int err;
	if (old && same_stamp(&old->stamp, &stamp)) {
		err = cam_vec_reserve(&list->entries, &list->cap, had + 1, sizeof(*list->entries),
				      CAM_STORE_MAX_FILES);
		if (!err)
			err = copy_entry(&old->entry, &list->entries[had]);
		if (err)
			return err;
		list->n++;
		note_sequence(list, &list->entries[had]);
	} else {
		/* The stamp is older than what is read: one that changes meanwhile is read again. */
		err = add_entry(io, name, false, list);
	}
	if (!err && list->n > had && list->entries[had].state == CAM_ENTRY_OK)
		err = learn(next, &stamp, &list->entries[had]);
	return err;
}

static int read_once(struct cam_io *io, struct cam_store_known *known, struct cam_store_list *list)
{
	struct cam_store_known next = {0};
	struct names names;
	int err = read_names(io, &names);
	if (err)
		return err;
	for (size_t i = 0; i < names.n && !err; i++)
		err = add_entry_once(io, names.v[i], known, &next, list);
	free_names(&names);
	if (known && !err) {
		forget(known);
		*known = next;
	} else {
		forget(&next);
	}
	if (err) {
		cam_store_list_free(list);
		return err;
	}
	sort_list(list);
	find_shadowed(list);
	return 0;
}

int cam_store_list_read(struct cam_io *io, struct cam_store_known *known,
			struct cam_store_list *list)
{
	int err = -EAGAIN;
	*list = (struct cam_store_list){0};
	for (int attempt = 0; err == -EAGAIN && attempt < ATTEMPTS; attempt++)
		err = read_once(io, known, list);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct cam_store_entry *)a)->name,
		      ((const struct cam_store_entry *)b)->name);
}

/* Whether what is known of a file is still so. */
static bool is_settled(const struct cam_store_entry *e)
{
	return !e->changes && e->state != CAM_ENTRY_FAILED;
}

/* Reads what is not known; both lists are in order of names. Nothing of `known` is lost on error. */
static int read_fresh(struct cam_io *io, const struct names *names, struct cam_store_list *known,
		      struct cam_store_list *fresh)
{
	size_t k = 0;
	int err = 0;
	for (size_t i = 0; i < known->n; i++)
		known->entries[i].stays = false;
	for (size_t i = 0; i < names->n && !err; i++) {
		struct cam_store_entry *old = NULL;
		while (k < known->n && strcmp(known->entries[k].name, names->v[i]) < 0)
			k++;
		if (k < known->n && strcmp(known->entries[k].name, names->v[i]) == 0)
			old = &known->entries[k];
		if (old && is_settled(old)) {
			old->stays = true;
			continue;
		}
		size_t had = fresh->n;
		err = add_entry(io, names->v[i], true, fresh);
		/* What was tried with it counts, whatever it looks like now. */
		if (!err && old && fresh->n > had)
			fresh->entries[had].seal = old->seal;
	}
	return err;
}

/* Drops what is gone and takes over what is new. */
static int take_fresh(struct cam_store_list *list, struct cam_store_list *fresh)
{
	size_t kept = 0;
	int err = cam_vec_reserve(&list->entries, &list->cap, list->n + fresh->n,
				  sizeof(*list->entries), CAM_STORE_MAX_FILES);
	if (err)
		return err;
	for (size_t i = 0; i < list->n; i++) {
		if (list->entries[i].stays)
			list->entries[kept++] = list->entries[i];
		else
			free(list->entries[i].name);
	}
	if (fresh->n)
		memcpy(&list->entries[kept], fresh->entries, fresh->n * sizeof(*fresh->entries));
	list->n = kept + fresh->n;
	fresh->n = 0;
	list->last_sequence = 0;
	for (size_t i = 0; i < list->n; i++)
		note_sequence(list, &list->entries[i]);
	return 0;
}

int cam_store_list_refresh(struct cam_io *io, struct cam_store_list *list)
{
	struct cam_store_list fresh = {0};
	struct names names;
	int err = read_names(io, &names);
	if (err)
		return err;
	if (list->n)
		qsort(list->entries, list->n, sizeof(*list->entries), by_name);
	err = read_fresh(io, &names, list, &fresh);
	if (!err)
		err = take_fresh(list, &fresh);
	free_names(&names);
	cam_store_list_free(&fresh);
	sort_list(list);
	find_shadowed(list);
	return err;
}
