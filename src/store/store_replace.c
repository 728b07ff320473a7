// SPDX-License-Identifier: Apache-2.0
/*
 * The next generation of a window: written beside it, looked through, renamed over it.
 *
 * The work is the staging, and needs no lock: it makes a file of its own, which the next writer would
 * remove. The lock's holder does the rest, which is short: so a recorder can be asked for it.
 *
 * 1. The old file is there, whole, until the rename; the new one is synced and verified before.
 * 2. Two who stage the same window do not meet: each has a temporary name of its own.
 */
#include "store/store_parts.h"
#include "store/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_STAGED 16u

/* Not after the file it replaces, which people may have renamed: the next writer must know it as ours. */
static int create_staged(struct cam_io *io, const struct cam_window_info *info,
			 char staged[CAM_NAME_BYTES], struct cam_file **f)
{
	int err = -EEXIST;
	for (unsigned copy = 1; copy <= MAX_STAGED && err == -EEXIST; copy++) {
		char made[CAM_NAME_BYTES];
		cam_name_window(info, copy, made);
		int n = snprintf(staged, CAM_NAME_BYTES, "%s.tmp", made);
		if (n < 0 || n >= CAM_NAME_BYTES)
			return -ENAMETOOLONG;
		err = io->ops->open(io, staged, CAM_IO_CREATE, f);
	}
	return err;
}

static int stage(struct cam_io *io, struct cam_window *better, char staged[CAM_NAME_BYTES],
		 bool *failed_sync)
{
	struct cam_file *f;
	int err = create_staged(io, &better->info, staged, &f);
	if (err)
		return err;
	err = cam_seal_write(better, f);
	if (!err && (err = f->ops->fdatasync(f)))
		*failed_sync = true;
	if (!err)
		err = cam_seal_verify(f, &better->info);
	if (!err && (better->damage.chunks || better->damage.samples || better->damage.stacks))
		err = -EBADMSG;
	f->ops->close(f);
	if (err)
		cam_store_remove(io, staged);
	return err;
}

int cam_store_stage(struct cam_io *io, struct cam_window *better, char staged[CAM_NAME_BYTES])
{
	bool failed_sync = false;
	return stage(io, better, staged, &failed_sync);
}

/* A journal that is still there must not be sealed over the better names. */
static int finish(struct cam_store *s, const char *name, const struct cam_window_info *better)
{
	int err = cam_store_sync_dir(s);
	for (size_t i = 0; i < s->list.n; i++) {
		struct cam_store_entry *e = &s->list.entries[i];
		e->changes |= strcmp(e->name, name) == 0;
		if (!err && e->journal && e->state == CAM_ENTRY_OK &&
		    cam_store_same_window(&e->info, better))
			e->seal.done = true;
	}
	return err;
}

/* Whether the file is there, and is that window. */
static int is_older(struct cam_io *io, const char *name, const struct cam_window_info *better)
{
	struct cam_window *old;
	if (cam_name_kind(name) != CAM_FILE_WINDOW)
		return -EINVAL;
	int err = cam_store_open_file(io, name, &old);
	if (err)
		return err;
	if (!cam_store_same_window(&old->info, better) || old->info.end_ns != better->end_ns ||
	    old->info.samples != better->samples)
		err = -EINVAL;
	old->ops->close(old);
	return err;
}

int cam_store_adopt(struct cam_store *s, const char *staged, const char *name)
{
	struct cam_window *better;
	struct cam_file *f;
	if (cam_name_kind(staged) != CAM_FILE_TEMPORARY)
		return -EINVAL;
	int err = s->io->ops->open(s->io, staged, CAM_IO_READ, &f);
	if (!err)
		err = cam_window_open(f, &better);
	if (err)
		return err;
	err = cam_window_check(better);
	if (!err)
		err = is_older(s->io, name, &better->info);
	if (!err)
		err = s->io->ops->rename(s->io, staged, name, true);
	if (!err)
		err = finish(s, name, &better->info);
	better->ops->close(better);
	return err;
}

int cam_store_replace(struct cam_store *s, const char *name, struct cam_window *better)
{
	char staged[CAM_NAME_BYTES];
	bool failed_sync = false;
	int err = is_older(s->io, name, &better->info);
	if (!err)
		err = stage(s->io, better, staged, &failed_sync);
	s->counts.failed_syncs += failed_sync;
	if (err)
		return err;
	err = s->io->ops->rename(s->io, staged, name, true);
	if (err) {
		cam_store_remove(s->io, staged);
		return err;
	}
	return finish(s, name, &better->info);
}

int cam_store_open_sealed(struct cam_io *io, const char *name, struct cam_window **out)
{
	return cam_name_kind(name) == CAM_FILE_WINDOW ? cam_store_open_file(io, name, out)
						      : -EINVAL;
}
