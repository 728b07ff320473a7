// SPDX-License-Identifier: Apache-2.0
#include "store/store_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int cam_store_remove(struct cam_io *io, const char *name)
{
	int err = io->ops->unlink(io, name);
	return err == -ENOENT ? 0 : err;
}

int cam_store_read_full(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	ssize_t got = f->ops->pread(f, bytes, n, at);
	if (got < 0)
		return (int)got;
	return (size_t)got == n ? 0 : -EBADMSG;
}

int cam_store_read_file(struct cam_io *io, const char *name, size_t max_bytes, struct cam_buf *out)
{
	struct cam_file *f;
	int err = io->ops->open(io, name, CAM_IO_READ, &f);
	if (err)
		return err;
	int64_t size = f->ops->size(f);
	uint8_t *bytes = NULL;
	if (size < 0)
		err = (int)size;
	else if ((uint64_t)size > max_bytes)
		err = -E2BIG;
	else if (size && !(bytes = cam_buf_reserve(out, (size_t)size)))
		err = cam_buf_error(out);
	else if (size)
		err = cam_store_read_full(f, bytes, (size_t)size, 0);
	f->ops->close(f);
	if (!err)
		out->len += (size_t)size;
	return err;
}

int cam_store_create_temporary(struct cam_io *io, const char *name, char temporary[CAM_NAME_BYTES],
			       struct cam_file **out)
{
	int n = snprintf(temporary, CAM_NAME_BYTES, "%s.tmp", name);
	if (n < 0 || n >= CAM_NAME_BYTES)
		return -ENAMETOOLONG;
	int err = cam_store_remove(io, temporary);
	return err ? err : io->ops->open(io, temporary, CAM_IO_CREATE, out);
}

int cam_store_replace_file(struct cam_io *io, const char *name, const void *bytes, size_t n)
{
	char temporary[CAM_NAME_BYTES];
	struct cam_file *f;
	int err = cam_store_create_temporary(io, name, temporary, &f);
	if (err)
		return err;
	err = f->ops->pwrite(f, bytes, n, 0);
	if (!err)
		err = f->ops->fdatasync(f);
	f->ops->close(f);
	if (!err)
		err = io->ops->rename(io, temporary, name, true);
	if (err) {
		cam_store_remove(io, temporary);
		return err;
	}
	return io->ops->sync_dir(io);
}

struct watched {
	struct cam_file base;
	struct cam_file *real;
	int *error;
};

static ssize_t watched_pread(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	struct watched *w = (struct watched *)f;
	ssize_t got = w->real->ops->pread(w->real, bytes, n, at);
	if (got < 0)
		*w->error = (int)got;
	return got;
}

static int64_t watched_size(struct cam_file *f)
{
	struct watched *w = (struct watched *)f;
	int64_t size = w->real->ops->size(w->real);
	if (size < 0)
		*w->error = (int)size;
	return size;
}

static void watched_close(struct cam_file *f)
{
	struct watched *w = (struct watched *)f;
	w->real->ops->close(w->real);
	free(w);
}

static const struct cam_io_ops watched_ops = {
	.pread = watched_pread,
	.size = watched_size,
	.close = watched_close,
};

int cam_store_watch(struct cam_file **f, int *error)
{
	struct watched *w = calloc(1, sizeof(*w));
	if (!w) {
		(*f)->ops->close(*f);
		return -ENOMEM;
	}
	*w = (struct watched){.base = {&watched_ops}, .real = *f, .error = error};
	*error = 0;
	*f = &w->base;
	return 0;
}
