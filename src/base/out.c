// SPDX-License-Identifier: Apache-2.0
#include "base/out.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void cam_out_init(struct cam_out *out, int (*write_fn)(struct cam_out *, const void *, size_t),
		  void *self)
{
	out->write = write_fn;
	out->self = self;
	out->error = 0;
	out->len = 0;
}

void cam_out_flush(struct cam_out *out)
{
	if (!out->error && out->len)
		out->error = out->write(out, out->pending, out->len);
	out->len = 0;
}

void cam_out_long(struct cam_out *out, const void *bytes, size_t n)
{
	cam_out_flush(out);
	if (!out->error)
		out->error = out->write(out, bytes, n);
}

void cam_out_text(struct cam_out *out, struct cam_text s)
{
	cam_out_bytes(out, s.p, s.n);
}

void cam_out_str(struct cam_out *out, const char *s)
{
	cam_out_bytes(out, s, strlen(s));
}

void cam_out_printf(struct cam_out *out, const char *fmt, ...)
{
	char line[512];
	char *long_line = NULL;
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(line) && vasprintf(&long_line, fmt, again) < 0)
		n = -1;
	va_end(again);
	if (n < 0 && !out->error)
		out->error = -ENOMEM;
	else if (n >= 0)
		cam_out_bytes(out, long_line ? long_line : line, (size_t)n);
	free(long_line);
}

void cam_out_printable(struct cam_out *out, struct cam_text s)
{
	while (s.n) {
		size_t len = cam_utf8_length(s);
		unsigned char first = (unsigned char)s.p[0];
		/* U+0080 to U+009F, the other control characters, are 0xc2 0x80 to 0xc2 0x9f. */
		bool control = first < 0x20 || first == 0x7f ||
			       (len == 2 && first == 0xc2 && (unsigned char)s.p[1] < 0xa0);
		if (len == 0 || control) {
			cam_out_printf(out, "\\x%02x", first);
			len = 1;
		} else {
			cam_out_bytes(out, s.p, len);
		}
		s.p += len;
		s.n -= len;
	}
}

int cam_out_finish(struct cam_out *out)
{
	cam_out_flush(out);
	return out->error;
}

static int write_fd(struct cam_out *out, const void *bytes, size_t n)
{
	const char *p = bytes;
	int fd = (int)(intptr_t)out->self;
	while (n) {
		ssize_t wrote = write(fd, p, n);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		p += wrote;
		n -= (size_t)wrote;
	}
	return 0;
}

void cam_out_to_fd(struct cam_out *out, int fd)
{
	cam_out_init(out, write_fd, (void *)(intptr_t)fd);
}

static int write_buf(struct cam_out *out, const void *bytes, size_t n)
{
	struct cam_buf *buf = out->self;
	cam_buf_put(buf, bytes, n);
	return cam_buf_error(buf);
}

void cam_out_to_buf(struct cam_out *out, struct cam_buf *buf)
{
	cam_out_init(out, write_buf, buf);
}
