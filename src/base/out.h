// SPDX-License-Identifier: Apache-2.0
/*
 * A stream of bytes that somebody writes somewhere: a file, a compressor, a test's buffer.
 * Errors stick (negative errno), so writers check once, by cam_out_finish().
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"

#include <string.h>

#define CAM_OUT_ROOM 32768u

struct cam_out {
	/* Takes all n bytes or answers a negative errno. */
	int (*write)(struct cam_out *out, const void *bytes, size_t n);
	void *self;
	int error;
	size_t len;
	char pending[CAM_OUT_ROOM];
};

void cam_out_init(struct cam_out *out, int (*write)(struct cam_out *, const void *, size_t),
		  void *self);
void cam_out_flush(struct cam_out *out);
/* Where the next n bytes go, CAM_OUT_ROOM at most: who fills them adds to len. */
static inline char *cam_out_room(struct cam_out *out, size_t n)
{
	if (n > sizeof(out->pending) - out->len)
		cam_out_flush(out);
	return out->pending + out->len;
}
void cam_out_long(struct cam_out *out, const void *bytes, size_t n);
static inline void cam_out_bytes(struct cam_out *out, const void *bytes, size_t n)
{
	if (n > sizeof(out->pending)) {
		cam_out_long(out, bytes, n);
		return;
	}
	char *p = cam_out_room(out, n);
	if (n)
		memcpy(p, bytes, n);
	out->len += n;
}
void cam_out_text(struct cam_out *out, struct cam_text s);
void cam_out_str(struct cam_out *out, const char *s);
void cam_out_printf(struct cam_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* For terminals and line formats: control characters and bytes that are not UTF-8 as \xNN. */
void cam_out_printable(struct cam_out *out, struct cam_text s);
/* Writes what is pending; the first error of the stream, or 0. */
int cam_out_finish(struct cam_out *out);

/* Streams to a descriptor (borrowed) and into a buffer. */
void cam_out_to_fd(struct cam_out *out, int fd);
void cam_out_to_buf(struct cam_out *out, struct cam_buf *buf);
