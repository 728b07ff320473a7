// SPDX-License-Identifier: Apache-2.0
#include "store/borrowed.h"

#include <errno.h>
#include <stdlib.h>

struct borrowed {
	struct cam_file file;
	struct cam_file *real;
};

static ssize_t borrowed_pread(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	struct cam_file *real = ((struct borrowed *)f)->real;
	return real->ops->pread(real, bytes, n, at);
}

static int64_t borrowed_size(struct cam_file *f)
{
	struct cam_file *real = ((struct borrowed *)f)->real;
	return real->ops->size(real);
}

static void borrowed_close(struct cam_file *f)
{
	free(f);
}

static const struct cam_io_ops borrowed_ops = {
	.pread = borrowed_pread,
	.size = borrowed_size,
	.close = borrowed_close,
};

int cam_file_borrow(struct cam_file *real, struct cam_file **out)
{
	struct borrowed *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->file.ops = &borrowed_ops;
	b->real = real;
	*out = &b->file;
	return 0;
}
