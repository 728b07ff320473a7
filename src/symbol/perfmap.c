// SPDX-License-Identifier: Apache-2.0
#include "symbol/perfmap.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCK_BYTES 65536u

int cam_perfmap_open(struct cam_perfmap *m)
{
	*m = (struct cam_perfmap){.code = cam_jitcode_new()};
	return m->code ? 0 : -ENOMEM;
}

void cam_perfmap_close(struct cam_perfmap *m)
{
	cam_jitcode_free(m->code);
	*m = (struct cam_perfmap){0};
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and the blanks behind it; false: it is none. */
static bool take_number(const char **p, const char *end, uint64_t *out)
{
	const char *at = *p;
	uint64_t v = 0;
	int d;
	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	const char *first = at;
	for (; at < end && (d = digit(*at)) >= 0; at++) {
		if (v >> 60)
			return false;
		v = v << 4 | (unsigned)d;
	}
	if (at == first || at == end || (*at != ' ' && *at != '\t'))
		return false;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	*p = at;
	*out = v;
	return true;
}

/* -EINVAL: the line makes no sense. */
static int take_line(struct cam_perfmap *m, const char *p, const char *end)
{
	uint64_t start, bytes;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (!take_number(&p, end, &start) || !take_number(&p, end, &bytes))
		return -EINVAL;
	return cam_jitcode_add(m->code, start, bytes, (struct cam_text){p, (size_t)(end - p)});
}

/* The lines that end in the block; answers how many bytes they are, or -ENOMEM. */
static int take_lines(struct cam_perfmap *m, const char *block, size_t n)
{
	const char *p = block, *end = block + n, *newline;
	while (p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		int err = m->in_long_line ? -EINVAL : take_line(m, p, newline);
		if (err == -EINVAL)
			m->bad_lines++;
		else if (err)
			return err;
		m->in_long_line = false;
		p = newline + 1;
	}
	if (p == block && n == BLOCK_BYTES) {
		m->in_long_line = true;
		p = end;
	}
	return (int)(p - block);
}

static int read_mark(const struct cam_bytes *b, uint64_t at, uint8_t mark[CAM_PERFMAP_MARK_BYTES])
{
	size_t n = at < CAM_PERFMAP_MARK_BYTES ? (size_t)at : CAM_PERFMAP_MARK_BYTES;
	memset(mark, 0, CAM_PERFMAP_MARK_BYTES);
	return n ? cam_bytes_read(b, at - n, mark, n) : 0;
}

/* Whether what was read is still there, as far as both its ends tell. */
static bool is_same(const struct cam_perfmap *m, const struct cam_bytes *b)
{
	uint8_t now[CAM_PERFMAP_MARK_BYTES];
	uint64_t head = m->at < CAM_PERFMAP_MARK_BYTES ? m->at : CAM_PERFMAP_MARK_BYTES;
	return b->size >= m->at && !read_mark(b, head, now) && !memcmp(now, m->head, sizeof(now)) &&
	       !read_mark(b, m->at, now) && !memcmp(now, m->tail, sizeof(now));
}

static int read_on(struct cam_perfmap *m, const struct cam_bytes *b, uint64_t max_bytes,
		   bool *behind)
{
	CAM_AUTOFREE char *block = malloc(BLOCK_BYTES);
	int n = block ? 1 : -ENOMEM;
	while (n > 0 && m->at < b->size) {
		uint64_t left = b->size - m->at;
		size_t room = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
		if (max_bytes < BLOCK_BYTES) {
			*behind = true;
			break;
		}
		n = cam_bytes_read(b, m->at, block, room);
		if (!n)
			n = take_lines(m, block, room);
		if (n > 0) {
			m->at += (uint64_t)n;
			max_bytes -= (uint64_t)n;
		}
	}
	return n < 0 ? n : 0;
}

int cam_perfmap_read(struct cam_perfmap *m, const struct cam_bytes *b, uint64_t max_bytes,
		     bool *behind)
{
	*behind = false;
	if (!is_same(m, b)) {
		cam_jitcode_clear(m->code);
		*m = (struct cam_perfmap){.code = m->code, .bad_lines = m->bad_lines};
	}
	int err = read_on(m, b, max_bytes, behind);
	int settled = cam_jitcode_settle(m->code);
	if (!err)
		err = settled;
	/* It shrank under our hands: the marks will not fit, and the next reading starts anew. */
	if (read_mark(b, m->at < CAM_PERFMAP_MARK_BYTES ? m->at : CAM_PERFMAP_MARK_BYTES,
		      m->head) ||
	    read_mark(b, m->at, m->tail))
		memset(m->tail, 0xff, sizeof(m->tail));
	return err;
}
