// SPDX-License-Identifier: Apache-2.0
/*
 * What makes an open file itself, for the caches of this room. The change time is a part of it: a file that was written
 * to is another one.
 */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct cam_identity {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	uint64_t bytes;
};

/* -EBADMSG: no regular file. */
static inline int cam_identity_of(int fd, struct cam_identity *out)
{
	struct stat s;
	*out = (struct cam_identity){0};
	if (fstat(fd, &s))
		return -errno;
	if (!S_ISREG(s.st_mode) || s.st_size < 0)
		return -EBADMSG;
	*out = (struct cam_identity){s.st_dev, s.st_ino, s.st_ctim, (uint64_t)s.st_size};
	return 0;
}

static inline bool cam_identity_equal(const struct cam_identity *a, const struct cam_identity *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
	       a->bytes == b->bytes;
}
