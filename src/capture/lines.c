// SPDX-License-Identifier: Apache-2.0
#include "capture/lines.h"

#include <errno.h>
#include <unistd.h>

void cam_lines_start(struct cam_lines *l, int fd)
{
	l->len = l->at = 0;
	l->offset = 0;
	l->fd = fd;
	l->error = 0;
	l->skip = l->end = false;
}

/* More bytes behind those not given yet. */
static void fill(struct cam_lines *l)
{
	memmove(l->bytes, l->bytes + l->at, l->len - l->at);
	l->len -= l->at;
	l->at = 0;
	ssize_t n;
	do
		n = pread(l->fd, l->bytes + l->len, sizeof(l->bytes) - l->len, (off_t)l->offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		l->error = -errno;
	if (n <= 0)
		l->end = true;
	else
		l->len += (size_t)n;
	l->offset += n > 0 ? (uint64_t)n : 0;
}

bool cam_lines_next(struct cam_lines *l, struct cam_text *line)
{
	for (;;) {
		const char *start = l->bytes + l->at;
		size_t left = l->len - l->at;
		const char *newline = left ? memchr(start, '\n', left) : NULL;
		bool full = !newline && left == sizeof(l->bytes);
		if (!newline && !full && !l->end) {
			if (l->skip)
				l->at = l->len;
			fill(l);
			continue;
		}
		if (!newline && !left)
			return false;
		size_t n = newline ? (size_t)(newline - start) : left;
		bool skipped = l->skip;
		l->at += newline ? n + 1 : n;
		l->skip = full;
		if (skipped)
			continue;
		*line = (struct cam_text){start, n};
		return true;
	}
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 99;
}

bool cam_number_take(struct cam_text *s, unsigned base, uint64_t *value)
{
	size_t i = 0;
	while (i < s->n && (s->p[i] == ' ' || s->p[i] == '\t'))
		i++;
	size_t first = i;
	uint64_t v = 0;
	for (; i < s->n && digit(s->p[i]) < base; i++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit(s->p[i]), &v))
			return false;
	if (i == first)
		return false;
	*value = v;
	*s = (struct cam_text){s->p + i, s->n - i};
	return true;
}
