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

void cam_blocks_forget(struct cam_blocks *k)
{
	k->turn++;
}

static int read_file(int fd, uint64_t at, void *to, size_t n, size_t *done)
{
	for (*done = 0; *done < n;) {
		ssize_t got = pread(fd, (char *)to + *done, n - *done, (off_t)(at + *done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		*done += (size_t)got;
	}
	return 0;
}

/* The block with this number, read if it is not there. The last one of a file is short. */
static int have_block(const struct cam_bytes *b, uint64_t number, const struct cam_block **out)
{
	struct cam_block *k = &b->blocks->blocks[number % CAM_BLOCK_ROOM];
	*out = k;
	if (k->turn == b->blocks->turn && k->fd == b->fd && k->number == number)
		return 0;
	/* Who calls has looked: it begins before the file's end. */
	uint64_t at = number * CAM_BLOCK_BYTES, left = b->size - at;
	size_t fill, n = left < CAM_BLOCK_BYTES ? (size_t)left : CAM_BLOCK_BYTES;
	k->turn = 0;
	int error = read_file(b->fd, at, k->bytes, n, &fill);
	if (error)
		return error;
	k->turn = b->blocks->turn;
	k->fd = b->fd;
	k->number = number;
	k->fill = (uint32_t)fill;
	return 0;
}

static int read_through_blocks(const struct cam_bytes *b, uint64_t at, uint8_t *to, size_t n)
{
	while (n) {
		const struct cam_block *k;
		int error = have_block(b, at / CAM_BLOCK_BYTES, &k);
		if (error)
			return error;
		size_t from = at % CAM_BLOCK_BYTES;
		if (from >= k->fill)
			return -EBADMSG;
		size_t here = k->fill - from < n ? k->fill - from : n;
		memcpy(to, k->bytes + from, here);
		to += here;
		at += here;
		n -= here;
	}
	return 0;
}

int cam_bytes_read(const struct cam_bytes *b, uint64_t at, void *to, size_t n)
{
	if (!lies_inside(b, at, n) || at + n > INT64_MAX)
		return -EBADMSG;
	if (b->memory) {
		memcpy(to, b->memory + at, n);
		return 0;
	}
	if (b->blocks && n <= CAM_BLOCK_BYTES)
		return read_through_blocks(b, at, to, n);
	size_t done;
	int error = read_file(b->fd, at, to, n, &done);
	return !error && done < n ? -EBADMSG : error;
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
