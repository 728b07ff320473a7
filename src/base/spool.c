// SPDX-License-Identifier: Apache-2.0
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For file systems that cannot make a file without a name. */
static int open_and_unlink(const char *dir)
{
	char name[4096];
	int n = snprintf(name, sizeof(name), "%s/perfcam-XXXXXX", dir);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

int cam_spool_open(struct cam_spool *s)
{
	const char *dir = getenv("TMPDIR");
	dir = dir && *dir ? dir : "/tmp";
	s->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd < 0)
		s->fd = open_and_unlink(dir);
	if (s->fd < 0)
		return s->fd;
	s->bytes = 0;
	cam_out_to_fd(&s->out, s->fd);
	return 0;
}

int cam_spool_rewind(struct cam_spool *s)
{
	int err = cam_out_finish(&s->out);
	off_t end = lseek(s->fd, 0, SEEK_CUR);
	if (!err && end < 0)
		err = -errno;
	s->bytes = err ? 0 : (uint64_t)end;
	return err;
}

int cam_spool_copy(struct cam_spool *s, struct cam_out *to)
{
	char room[65536];
	for (uint64_t at = 0; at < s->bytes && !to->error;) {
		size_t want = s->bytes - at < sizeof(room) ? (size_t)(s->bytes - at) : sizeof(room);
		ssize_t n = pread(s->fd, room, want, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		cam_out_bytes(to, room, (size_t)n);
		at += (uint64_t)n;
	}
	return to->error;
}

void cam_spool_close(struct cam_spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
