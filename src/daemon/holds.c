// SPDX-License-Identifier: Apache-2.0
#include "daemon/holds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NUMBERS 32768u

static const struct cam_hold nothing = {.fd = -1, .aids = {{.fd = -1}, {.fd = -1}}};

/*
 * As fstat(), but from what the kernel knows: a file system whose server is gone (NFS, FUSE) would be asked, and waited
 * for, by the thread that writes samples.
 */
static int look_at(int fd, struct stat *out)
{
	struct statx x;
	*out = (struct stat){0};
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return -errno;
	*out = (struct stat){
		.st_mode = x.stx_mode,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
		.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
	};
	return 0;
}

struct cam_hold *cam_holds_find(const struct cam_holds *h, uint32_t file)
{
	return file >= CAM_FILE_FIRST && file - CAM_FILE_FIRST < h->n
		       ? &h->rows[file - CAM_FILE_FIRST]
		       : NULL;
}

/* Numbers are ingest's and small: a plain array, grown as they come. */
struct cam_hold *cam_holds_make(struct cam_holds *h, uint32_t file)
{
	size_t at = file - CAM_FILE_FIRST;
	if (file < CAM_FILE_FIRST || at >= MAX_NUMBERS)
		return NULL;
	if (at >= h->n) {
		size_t n = at + 64;
		struct cam_hold *rows = realloc(h->rows, n * sizeof(*rows));
		if (!rows)
			return NULL;
		for (size_t i = h->n; i < n; i++)
			rows[i] = nothing;
		h->rows = rows;
		h->n = n;
	}
	return &h->rows[at];
}

static void let_go(struct cam_holds *h, int fd)
{
	if (h->closer)
		cam_closer_close(h->closer, fd);
	else
		close(fd);
}

void cam_holds_drop_aid(struct cam_holds *h, struct cam_aid *aid, enum cam_aid_state now)
{
	if (aid->fd >= 0) {
		let_go(h, aid->fd);
		h->aids--;
	}
	*aid = (struct cam_aid){.state = now, .fd = -1, .skip = aid->skip};
}

static void drop_aids(struct cam_holds *h, struct cam_hold *row)
{
	for (int i = 0; i < CAM_AIDS; i++) {
		cam_holds_drop_aid(h, &row->aids[i], CAM_AID_UNKNOWN);
		row->aids[i].skip = 0;
	}
}

bool cam_hold_is_settled(const struct cam_hold *row)
{
	return cam_aid_is_settled(&row->aids[CAM_AID_DEBUG]) &&
	       cam_aid_is_settled(&row->aids[CAM_AID_SUPPLEMENT]);
}

bool cam_hold_waits(const struct cam_hold *row)
{
	return row->aids[CAM_AID_DEBUG].state == CAM_AID_ASKED ||
	       row->aids[CAM_AID_SUPPLEMENT].state == CAM_AID_ASKED;
}

int cam_holds_keep(struct cam_holds *h, uint32_t file, const struct cam_file_key *key, bool grows,
		   int fd)
{
	struct stat now;
	struct cam_hold *row = cam_holds_find(h, file);
	if (!row || fd < 0)
		return -EBADMSG;
	int err = look_at(fd, &now);
	if (err)
		return err;
	/* Several were under way when the last place was free. */
	if (row->fd < 0 && !cam_holds_has_room(h))
		return -EMFILE;
	if (row->fd >= 0)
		let_go(h, row->fd);
	else
		h->count++;
	drop_aids(h, row);
	row->fd = fd;
	row->grows = grows;
	row->key = *key;
	row->written = now.st_mtim;
	row->bytes = now.st_size;
	row->owner = now.st_uid;
	row->group = now.st_gid;
	row->mode = now.st_mode;
	return 0;
}

static bool may_write_both(const struct cam_hold *row, const struct stat *debug)
{
	if (debug->st_uid != 0 && debug->st_uid != row->owner)
		return false;
	bool same_group = row->group == debug->st_gid && row->mode & S_IWGRP;
	return !(debug->st_mode & S_IWOTH) && (same_group || !(debug->st_mode & S_IWGRP));
}

int cam_holds_keep_aid(struct cam_holds *h, struct cam_hold *row, enum cam_aid_kind kind, int fd)
{
	struct stat s;
	int error = look_at(fd, &s);
	if (!error && (!S_ISREG(s.st_mode) || !may_write_both(row, &s)))
		error = -EPERM;
	cam_holds_drop_aid(h, &row->aids[kind], row->aids[kind].state);
	if (!error && !cam_holds_has_room(h))
		error = -EMFILE;
	if (error) {
		let_go(h, fd);
		return error;
	}
	row->aids[kind].state = CAM_AID_FOUND;
	row->aids[kind].fd = fd;
	h->aids++;
	return 0;
}

void cam_holds_release(struct cam_holds *h, uint32_t file)
{
	struct cam_hold *row = cam_holds_find(h, file);
	if (!row)
		return;
	if (row->fd >= 0) {
		let_go(h, row->fd);
		h->count--;
	}
	drop_aids(h, row);
	free(row->path);
	*row = nothing;
}

bool cam_holds_has_room(const struct cam_holds *h)
{
	uint32_t pending = h->closer ? cam_closer_pending(h->closer) : 0;
	/* A few are always about to be closed: there is room for those beside max_files. */
	return h->count + h->aids + (pending > CAM_CLOSER_THREADS ? pending : 0) < h->max_files;
}

void cam_holds_free(struct cam_holds *h)
{
	for (size_t i = 0; i < h->n; i++)
		cam_holds_release(h, (uint32_t)i + CAM_FILE_FIRST);
	free(h->rows);
	*h = (struct cam_holds){0};
}

bool cam_hold_was_written(const struct cam_hold *row, struct stat *now)
{
	return !row->grows && !look_at(row->fd, now) &&
	       (now->st_mtim.tv_sec != row->written.tv_sec ||
		now->st_mtim.tv_nsec != row->written.tv_nsec || now->st_size != row->bytes);
}
