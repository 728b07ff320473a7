// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cam_buf_free(struct cam_buf *b)
{
	free(b->data);
	*b = CAM_BUF(b->max_bytes);
}

void cam_buf_clear(struct cam_buf *b)
{
	b->len = 0;
	b->error = 0;
}

uint8_t *cam_buf_reserve(struct cam_buf *b, size_t n)
{
	if (b->error)
		return NULL;
	if (n > b->max_bytes || b->len > b->max_bytes - n) {
		b->error = -E2BIG;
		return NULL;
	}
	if (b->cap - b->len < n) {
		size_t cap = b->cap ? b->cap : 256;
		while (cap - b->len < n)
			cap *= 2;
		if (cap > b->max_bytes)
			cap = b->max_bytes;
		uint8_t *data = realloc(b->data, cap);
		if (!data) {
			b->error = -ENOMEM;
			return NULL;
		}
		b->data = data;
		b->cap = cap;
	}
	return b->data + b->len;
}

void cam_buf_put(struct cam_buf *b, const void *bytes, size_t n)
{
	if (n == 0)
		return;
	uint8_t *p = cam_buf_reserve(b, n);
	if (!p)
		return;
	memcpy(p, bytes, n);
	b->len += n;
}

static void put_le(struct cam_buf *b, uint64_t v, size_t n)
{
	uint8_t *p = cam_buf_reserve(b, n);
	if (!p)
		return;
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	b->len += n;
}

void cam_buf_put_u8(struct cam_buf *b, uint8_t v)
{
	put_le(b, v, 1);
}

void cam_buf_put_u16(struct cam_buf *b, uint16_t v)
{
	put_le(b, v, 2);
}

void cam_buf_put_u32(struct cam_buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void cam_buf_put_u64(struct cam_buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void cam_buf_put_varint(struct cam_buf *b, uint64_t v)
{
	uint8_t *p = cam_buf_reserve(b, 10);
	if (!p)
		return;
	size_t n = 0;
	while (v >= 0x80) {
		p[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	b->len += n;
}

void cam_buf_put_zigzag(struct cam_buf *b, int64_t v)
{
	cam_buf_put_varint(b, cam_zigzag(v));
}

void cam_buf_put_string(struct cam_buf *b, const void *bytes, size_t n)
{
	cam_buf_put_varint(b, n);
	cam_buf_put(b, bytes, n);
}

void cam_buf_printf(struct cam_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	/* vsnprintf also writes the terminating zero: room for it, not counted in len. */
	uint8_t *p = n < 0 ? NULL : cam_buf_reserve(b, (size_t)n + 1);
	if (p) {
		vsnprintf((char *)p, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	} else if (n < 0) {
		b->error = -EINVAL;
	}
	va_end(again);
}

const uint8_t *cam_rd_bytes(struct cam_rd *r, size_t n)
{
	if (r->error)
		return NULL;
	if (cam_rd_left(r) < n) {
		r->error = -EBADMSG;
		r->p = r->end;
		return NULL;
	}
	const uint8_t *p = r->p;
	r->p += n;
	return p;
}

static uint64_t get_le(struct cam_rd *r, size_t n)
{
	const uint8_t *p = cam_rd_bytes(r, n);
	uint64_t v = 0;
	for (size_t i = 0; p && i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint8_t cam_rd_u8(struct cam_rd *r)
{
	return (uint8_t)get_le(r, 1);
}

uint16_t cam_rd_u16(struct cam_rd *r)
{
	return (uint16_t)get_le(r, 2);
}

uint32_t cam_rd_u32(struct cam_rd *r)
{
	return (uint32_t)get_le(r, 4);
}

uint64_t cam_rd_u64(struct cam_rd *r)
{
	return get_le(r, 8);
}

/* Eight bytes of seven bits each, lowest first, side by side. */
static uint64_t join_sevens(uint64_t v)
{
	v &= UINT64_C(0x7f7f7f7f7f7f7f7f);
	v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
	v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
}

uint64_t cam_rd_long_varint(struct cam_rd *r)
{
	uint64_t v = 0;
	/* Where eight bytes are left, one that ends in them is taken at once: its last byte is the first without a high bit. */
	if (cam_rd_left(r) >= sizeof(v)) {
		memcpy(&v, r->p, sizeof(v));
		v = le64toh(v);
		uint64_t last = ~v & UINT64_C(0x8080808080808080);
		if (last) {
			r->p += __builtin_ctzll(last) / 8 + 1;
			return join_sevens(v & (last ^ (last - 1)));
		}
		v = 0;
	}
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (r->p == r->end)
			break;
		uint8_t byte = *r->p++;
		/* The tenth byte holds one bit; more would be lost silently. */
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	r->error = -EBADMSG;
	r->p = r->end;
	return 0;
}

int64_t cam_rd_zigzag(struct cam_rd *r)
{
	return cam_unzigzag(cam_rd_varint(r));
}

const uint8_t *cam_rd_string(struct cam_rd *r, size_t *n)
{
	uint64_t len = cam_rd_varint(r);
	*n = 0;
	if (len > cam_rd_left(r)) {
		r->error = -EBADMSG;
		r->p = r->end;
		return NULL;
	}
	const uint8_t *p = cam_rd_bytes(r, (size_t)len);
	if (p)
		*n = (size_t)len;
	return p;
}
