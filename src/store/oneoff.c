// SPDX-License-Identifier: Apache-2.0
#include "store/oneoff.h"

#include "store/store_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIRECTORIES 1000u

struct cam_oneoff {
	struct cam_io *io;
	struct cam_store *store;
	char stem[PATH_MAX]; /* the path without .pcw */
	char directory[PATH_MAX];
};

static int make_directory(struct cam_oneoff *o)
{
	int err = -EEXIST;
	for (unsigned i = 1; err == -EEXIST && i <= MAX_DIRECTORIES; i++) {
		char number[16] = "";
		if (i > 1)
			snprintf(number, sizeof(number), ".%u", i);
		int n = snprintf(o->directory, sizeof(o->directory), "%s.pcw.recording%s", o->stem,
				 number);
		if (n < 0 || (size_t)n >= sizeof(o->directory))
			return -ENAMETOOLONG;
		err = cam_io_posix_create(o->directory, &o->io);
	}
	return err;
}

int cam_oneoff_open(const char *path, struct cam_oneoff **out)
{
	struct cam_text t = cam_text_of(path);
	int holder;
	if (!cam_text_ends(t, CAM_TEXT(".pcw")) || t.n >= PATH_MAX)
		return -EINVAL;
	struct cam_oneoff *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	snprintf(o->stem, sizeof(o->stem), "%.*s", (int)(t.n - 4), path);
	int err = make_directory(o);
	if (!err)
		err = cam_store_open_live(o->io, &o->store, &holder);
	if (err) {
		cam_oneoff_close(o);
		return err;
	}
	*out = o;
	return 0;
}

struct cam_store *cam_oneoff_store(struct cam_oneoff *o)
{
	return o->store;
}

const char *cam_oneoff_directory(const struct cam_oneoff *o)
{
	return o->directory;
}

static int move_windows(struct cam_oneoff *o, cam_oneoff_fn *fn, void *arg)
{
	const struct cam_store_list *list = &o->store->list;
	unsigned moved = 0;
	int err = cam_store_refresh(o->store);
	for (size_t i = 0; i < list->n && !err; i++) {
		char path[PATH_MAX + 32], number[16] = "";
		if (list->entries[i].journal || list->entries[i].state != CAM_ENTRY_OK)
			continue;
		if (++moved > 1)
			snprintf(number, sizeof(number), ".%u", moved);
		snprintf(path, sizeof(path), "%s%s.pcw", o->stem, number);
		err = cam_io_posix_move(o->io, list->entries[i].name, path);
		if (!err)
			err = fn(arg, path);
	}
	return err || moved ? err : -ENODATA;
}

int cam_oneoff_finish(struct cam_oneoff *o, cam_oneoff_fn *fn, void *arg)
{
	unsigned sealed;
	int err = cam_store_seal_pending(o->store, &sealed);
	/* What is sealed goes out in any case; the first error is the one that matters. */
	int late = move_windows(o, fn, arg);
	cam_oneoff_close(o);
	return err ? err : late;
}

/* Whether anything in the directory is worth keeping. */
static int note_file(void *arg, const char *name)
{
	enum cam_file_kind kind = cam_name_kind(name);
	*(bool *)arg |= kind != CAM_FILE_LOCK && kind != CAM_FILE_TEMPORARY;
	return 0;
}

static int remove_file(void *arg, const char *name)
{
	return cam_store_remove(arg, name);
}

void cam_oneoff_close(struct cam_oneoff *o)
{
	bool worth = false;
	cam_store_close(o->store);
	if (o->io && o->io->ops->list(o->io, note_file, &worth) == 0 && !worth &&
	    o->io->ops->list(o->io, remove_file, o->io) == 0)
		cam_io_posix_remove(o->directory);
	cam_io_posix_close(o->io);
	free(o);
}
