// SPDX-License-Identifier: Apache-2.0
/*
 * Reading what another machine wrote: integers of its byte order, never past the end.
 *
 * Errors stick, as in base/buf.h: after the first read past the end all answers are 0, and `bad` is
 * set; who reads checks once.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

struct cam_perf_bytes {
	const uint8_t *p, *end;
	bool swap; /* the file's byte order is not this machine's */
	bool bad;
};

static inline struct cam_perf_bytes cam_perf_bytes_make(const void *p, size_t n, bool swap)
{
	const uint8_t *from = p;
	return (struct cam_perf_bytes){from, n ? from + n : from, swap, false};
}

static inline size_t cam_perf_bytes_left(const struct cam_perf_bytes *b)
{
	return (size_t)(b->end - b->p);
}

static inline uint16_t cam_perf_load_u16(const void *p, bool swap)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t cam_perf_load_u32(const void *p, bool swap)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t cam_perf_load_u64(const void *p, bool swap)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

/* The next n bytes, or NULL. */
static inline const uint8_t *cam_perf_bytes_take(struct cam_perf_bytes *b, uint64_t n)
{
	if (b->bad || n > cam_perf_bytes_left(b)) {
		b->bad = true;
		b->p = b->end;
		return NULL;
	}
	const uint8_t *p = b->p;
	b->p += n;
	return p;
}

static inline uint32_t cam_perf_bytes_u32(struct cam_perf_bytes *b)
{
	const uint8_t *p = cam_perf_bytes_take(b, sizeof(uint32_t));
	return p ? cam_perf_load_u32(p, b->swap) : 0;
}

static inline uint64_t cam_perf_bytes_u64(struct cam_perf_bytes *b)
{
	const uint8_t *p = cam_perf_bytes_take(b, sizeof(uint64_t));
	return p ? cam_perf_load_u64(p, b->swap) : 0;
}

/* A text that ends with a zero byte, or with the bytes; both are taken. */
static inline struct cam_text cam_perf_bytes_text(struct cam_perf_bytes *b)
{
	const char *p = (const char *)b->p;
	size_t n = strnlen(p, cam_perf_bytes_left(b));
	b->p += n + (n < cam_perf_bytes_left(b));
	return (struct cam_text){p, n};
}
