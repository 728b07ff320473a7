// SPDX-License-Identifier: Apache-2.0
#include "symbol/bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

int cam_bytes_of_file(struct cam_bytes *b, int fd)
{
	struct stat s;
	if (fstat(fd, &s))
		return -errno;
	if (!S_ISREG(s.st_mode) || s.st_size < 0)
		return -EBADMSG;
	*b = (struct cam_bytes){.fd = fd, .size = (uint64_t)s.st_size};
	return 0;
}

struct cam_bytes cam_bytes_of_memory(const void *memory, size_t size)
{
	return (struct cam_bytes){.fd = -1, .memory = memory, .size = size};
}

static bool lies_inside(const struct cam_bytes *b, uint64_t at, uint64_t n)
{
	return at <= b->size && n <= b->size - at;
}

int cam_bytes_read(const struct cam_bytes *b, uint64_t at, void *to, size_t n)
{
	if (!lies_inside(b, at, n) || at + n > INT64_MAX)
		return -EBADMSG;
	if (b->memory) {
		memcpy(to, b->memory + at, n);
		return 0;
	}
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(b->fd, (char *)to + done, n - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

int cam_rows_start(struct cam_rows *r, const struct cam_bytes *from, uint64_t at, uint64_t n,
		   uint64_t row_bytes)
{
	r->from = from;
	r->at = at;
	r->left = n;
	r->row_bytes = (uint32_t)row_bytes;
	r->pos = r->fill = 0;
	r->error = 0;
	uint64_t bytes;
	if (!row_bytes || row_bytes > sizeof(r->block) ||
	    __builtin_mul_overflow(n, row_bytes, &bytes) || !lies_inside(from, at, bytes))
		r->error = -EBADMSG;
	return r->error;
}

const uint8_t *cam_rows_next(struct cam_rows *r)
{
	if (r->error)
		return NULL;
	if (r->pos == r->fill) {
		uint64_t rows = sizeof(r->block) / r->row_bytes;
		if (rows > r->left)
			rows = r->left;
		if (!rows)
			return NULL;
		uint32_t bytes = (uint32_t)rows * r->row_bytes;
		r->error = cam_bytes_read(r->from, r->at, r->block, bytes);
		if (r->error)
			return NULL;
		r->at += bytes;
		r->left -= rows;
		r->pos = 0;
		r->fill = bytes;
	}
	const uint8_t *row = r->block + r->pos;
	r->pos += r->row_bytes;
	return row;
}
