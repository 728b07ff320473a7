// SPDX-License-Identifier: Apache-2.0
/*
 * A growable byte buffer with a hard maximum, and a bounded reader for the same bytes.
 *
 * Every buffer is created with the largest size it may ever reach; growing past it fails with
 * -E2BIG, a failed allocation with -ENOMEM. Errors stick: after the first one every put is a
 * no-op and cam_buf_error() keeps answering it, so a writer checks once, at the end. The reader
 * works the same way: after the first read past the end it returns zeros and cam_rd_error() is
 * -EBADMSG. Integers on disk are little-endian or LEB128 varints, whatever the host.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cam_buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	size_t max_bytes;
	int error;
};

#define CAM_BUF(max) ((struct cam_buf){.max_bytes = (max)})

void cam_buf_free(struct cam_buf *b);
/* Forgets the content and the error, keeps the memory. */
void cam_buf_clear(struct cam_buf *b);
static inline int cam_buf_error(const struct cam_buf *b)
{
	return b->error;
}
/* Makes room for n more bytes and returns where they go (the caller adds to len), or NULL. */
uint8_t *cam_buf_reserve(struct cam_buf *b, size_t n);
void cam_buf_put(struct cam_buf *b, const void *bytes, size_t n);
void cam_buf_put_u8(struct cam_buf *b, uint8_t v);
void cam_buf_put_u16(struct cam_buf *b, uint16_t v);
void cam_buf_put_u32(struct cam_buf *b, uint32_t v);
void cam_buf_put_u64(struct cam_buf *b, uint64_t v);
void cam_buf_put_varint(struct cam_buf *b, uint64_t v);
/* Signed values: small magnitudes of either sign become small varints. */
void cam_buf_put_zigzag(struct cam_buf *b, int64_t v);
/* A varint length, then the bytes. */
void cam_buf_put_string(struct cam_buf *b, const void *bytes, size_t n);
void cam_buf_printf(struct cam_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct cam_rd {
	const uint8_t *p;
	const uint8_t *end;
	int error;
};

static inline struct cam_rd cam_rd_make(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	return (struct cam_rd){p, n ? p + n : p, 0};
}
static inline int cam_rd_error(const struct cam_rd *r)
{
	return r->error;
}
static inline size_t cam_rd_left(const struct cam_rd *r)
{
	return (size_t)(r->end - r->p);
}
uint8_t cam_rd_u8(struct cam_rd *r);
uint16_t cam_rd_u16(struct cam_rd *r);
uint32_t cam_rd_u32(struct cam_rd *r);
uint64_t cam_rd_u64(struct cam_rd *r);
uint64_t cam_rd_long_varint(struct cam_rd *r);
/* Most are of one byte. */
static inline uint64_t cam_rd_varint(struct cam_rd *r)
{
	return r->p != r->end && *r->p < 0x80 ? *r->p++ : cam_rd_long_varint(r);
}
int64_t cam_rd_zigzag(struct cam_rd *r);
/* Borrowed from the reader's bytes; NULL (and the error) when fewer than n are left. */
const uint8_t *cam_rd_bytes(struct cam_rd *r, size_t n);
/* What cam_buf_put_string() wrote: borrowed, length in *n; NULL on error. */
const uint8_t *cam_rd_string(struct cam_rd *r, size_t *n);

static inline uint64_t cam_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t cam_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
