// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of a foreign file, whatever wraps them: plain, gzip or zstd, told by content.
 *
 * One pass, never a seek, so a pipe will do. Memory is bounded whatever the file says: a text
 * buffer of CAM_INPUT_TEXT_BYTES, one for compressed bytes, and the decoder's window (zstd: at
 * most 128 MiB, what `zstd --long` makes; more is refused). Only one layer of compression is
 * undone. A stream that ends early or is damaged delivers what came before, then ends, and
 * cam_input.state says why. Text that grows beyond limits.ratio times its compressed size is a bomb
 * and ends the same way.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>
#include <sys/types.h>

#define CAM_INPUT_LINE_BYTES (64u << 10)
#define CAM_INPUT_HEAD_BYTES (4u << 10)
#define CAM_INPUT_TEXT_BYTES (256u << 10)

enum cam_input_end {
	CAM_INPUT_WHOLE,      /* everything was there */
	CAM_INPUT_CUT,	      /* the compressed stream stops in the middle */
	CAM_INPUT_DAMAGED,    /* the compressed stream is wrong: bad code or checksum */
	CAM_INPUT_BOMB,	      /* it grows beyond the ratio allowed, or needs too large a window */
	CAM_INPUT_UNREADABLE, /* the read itself failed: see error */
};

enum cam_input_wrap { CAM_INPUT_PLAIN, CAM_INPUT_GZIP, CAM_INPUT_ZSTD };

struct cam_input_limits {
	uint64_t free_bytes; /* of text, whatever the ratio; 0: 16 MiB */
	uint32_t ratio;	     /* text bytes per compressed byte from there on; 0: 200 */
};

/* Reads up to n bytes: their number, 0 at the end, or a negative errno. */
typedef ssize_t cam_input_read_fn(void *arg, void *room, size_t n);

/* Users take bytes from p up to end, and ask for more. The rest is for reading only. */
struct cam_input {
	const char *p, *end;
	enum cam_input_end state; /* meaningful at the end */
	enum cam_input_wrap wrap;
	int error;	   /* of the read, negative errno */
	uint64_t bytes_in; /* taken from the source */
	uint64_t bytes;	   /* of text, as far as decoded */
	uint64_t long_lines;
	uint64_t useful;    /* bytes, when the reader last found something worth its text */
	uint64_t cut_lines; /* the last line, where a cut stream ends inside it: not delivered */
};

/* limits may be NULL, arg may not. The descriptor is borrowed. -ENOMEM. */
int cam_input_open_fd(struct cam_input **out, int fd, const struct cam_input_limits *limits);
int cam_input_open_fn(struct cam_input **out, cam_input_read_fn *read_fn, void *arg,
		      const struct cam_input_limits *limits);
void cam_input_close(struct cam_input *in);

/*
 * The first bytes, without taking them: at least 64 KiB where the file has as many. Only before
 * the first line.
 */
struct cam_text cam_input_peek(struct cam_input *in);

/*
 * Gets more text behind what is unread; pointers into the old text are dead. True when there is
 * more. Call it only with fewer than CAM_INPUT_LINE_BYTES + 1 bytes unread.
 */
bool cam_input_more(struct cam_input *in);

enum cam_input_line {
	CAM_LINE_END,
	CAM_LINE_WHOLE,
	CAM_LINE_LONG, /* over CAM_INPUT_LINE_BYTES: the first CAM_INPUT_HEAD_BYTES of it */
};
enum cam_input_line cam_input_line_slow(struct cam_input *in, struct cam_text *line);

/*
 * The next line, good until the next call. The newline is not counted in it; a whole line has one at
 * p[n], also the last one of a file that ends without.
 */
static inline enum cam_input_line cam_input_line(struct cam_input *in, struct cam_text *line)
{
	const char *nl = memchr(in->p, '\n', (size_t)(in->end - in->p));
	if (!nl || nl - in->p > (ptrdiff_t)CAM_INPUT_LINE_BYTES)
		return cam_input_line_slow(in, line);
	*line = (struct cam_text){in->p, (size_t)(nl - in->p)};
	in->p = nl + 1;
	return CAM_LINE_WHOLE;
}
