// SPDX-License-Identifier: Apache-2.0
/*
 * Unwrapping a foreign file into text, in bounded memory.
 *
 *   source ──▶ raw (128 KiB) ──inflate or zstd──▶ text (256 KiB) ──▶ p..end
 *   source ──────────────plain──────────────────▶ text
 *
 * Invariants
 *  1. text[0 .. fill) is decoded; p and end point into it, end = text + fill.
 *  2. The unread tail is at most a line (64 KiB) when more is asked for, so a call always has
 *     room for at least 128 KiB.
 *  3. Once `done` is set nothing more is read, and `state` is final.
 *  4. The decoder sees at most `ratio` times growth past `free_bytes`: checked after each step,
 *     which adds at most the text buffer.
 *
 * Example: 1,000:1 gzip of zeros, default limits. After 16 MiB of text 16 KiB were taken, the
 * ratio is over 200, the state becomes CAM_INPUT_BOMB; the reader got the 16 MiB.
 */
#include "interop/input.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define RAW_BYTES	(128u << 10)
#define FREE_BYTES	(16u << 20)
#define USEFUL_FACTOR	20u
#define RATIO		200u
#define ZSTD_WINDOW_LOG 27
#define PEEK_BYTES	(64u << 10)

struct impl {
	struct cam_input in; /* first: users hold a pointer to it */
	cam_input_read_fn *read;
	void *arg;
	int fd;
	struct cam_input_limits limits;
	bool done;
	bool in_stream; /* inside a gzip member or zstd frame */
	bool source_end;
	z_stream z;
	bool z_open;
	ZSTD_DStream *zstd;
	size_t raw_at, raw_fill;
	size_t fill;
	char head[CAM_INPUT_HEAD_BYTES];
	unsigned char raw[RAW_BYTES];
	char text[CAM_INPUT_TEXT_BYTES + 1]; /* and a newline behind the last line */
};

static ssize_t read_fd(void *arg, void *room, size_t n)
{
	struct impl *im = arg;
	ssize_t got;
	do
		got = read(im->fd, room, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void finish(struct impl *im, enum cam_input_end state)
{
	im->done = true;
	im->in.state = state;
}

/* 0 at the end and on an error; the latter also finishes. */
static size_t read_source(struct impl *im, void *room, size_t n)
{
	if (im->source_end)
		return 0;
	ssize_t got = im->read(im->arg, room, n);
	if (got <= 0) {
		im->source_end = true;
		if (got < 0) {
			im->in.error = (int)got;
			finish(im, CAM_INPUT_UNREADABLE);
		}
		return 0;
	}
	im->in.bytes_in += (size_t)got;
	return (size_t)got;
}

/* Until raw holds n unread bytes (n is small) or the source ends. */
static bool fill_raw(struct impl *im, size_t n)
{
	if (im->raw_fill - im->raw_at >= n)
		return true;
	memmove(im->raw, im->raw + im->raw_at, im->raw_fill - im->raw_at);
	im->raw_fill -= im->raw_at;
	im->raw_at = 0;
	while (im->raw_fill < n) {
		size_t got = read_source(im, im->raw + im->raw_fill, RAW_BYTES - im->raw_fill);
		if (!got)
			return false;
		im->raw_fill += got;
	}
	return true;
}

static enum cam_input_wrap wrap_of(const unsigned char *p, size_t n)
{
	if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b)
		return CAM_INPUT_GZIP;
	/* A frame, or one to skip (0x184d2a50 to 5f), as pzstd puts first. */
	if (n >= 4 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd && p[0] == 0x28)
		return CAM_INPUT_ZSTD;
	if (n >= 4 && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)
		return CAM_INPUT_ZSTD;
	return CAM_INPUT_PLAIN;
}

static int open_decoder(struct impl *im)
{
	if (im->in.wrap == CAM_INPUT_GZIP) {
		im->z_open = inflateInit2(&im->z, 16 + MAX_WBITS) == Z_OK;
		return im->z_open ? 0 : -ENOMEM;
	}
	if (im->in.wrap == CAM_INPUT_ZSTD) {
		im->zstd = ZSTD_createDStream();
		if (!im->zstd)
			return -ENOMEM;
		ZSTD_DCtx_setParameter(im->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	}
	return 0;
}

static int open_input(struct cam_input **out, cam_input_read_fn *read_fn, void *arg, int fd,
		      const struct cam_input_limits *limits)
{
	/* calloc would touch the buffers; they need no zeros. */
	struct impl *im = malloc(sizeof(*im));
	if (!im)
		return -ENOMEM;
	memset(im, 0, offsetof(struct impl, head));
	im->read = read_fn;
	im->fd = fd;
	im->arg = arg ? arg : im;
	if (limits)
		im->limits = *limits;
	if (!im->limits.free_bytes)
		im->limits.free_bytes = FREE_BYTES;
	if (!im->limits.ratio)
		im->limits.ratio = RATIO;
	im->in.p = im->in.end = im->text;
	fill_raw(im, 4);
	im->in.wrap = wrap_of(im->raw, im->raw_fill);
	int err = open_decoder(im);
	if (err) {
		cam_input_close(&im->in);
		return err;
	}
	*out = &im->in;
	return 0;
}

int cam_input_open_fd(struct cam_input **out, int fd, const struct cam_input_limits *limits)
{
	return open_input(out, read_fd, NULL, fd, limits);
}

int cam_input_open_fn(struct cam_input **out, cam_input_read_fn *read_fn, void *arg,
		      const struct cam_input_limits *limits)
{
	return arg ? open_input(out, read_fn, arg, -1, limits) : -EINVAL;
}

void cam_input_close(struct cam_input *in)
{
	struct impl *im = (struct impl *)in;
	if (!im)
		return;
	if (im->z_open)
		inflateEnd(&im->z);
	ZSTD_freeDStream(im->zstd);
	free(im);
}

/* One step of each: decode into the free part of text; sets done at the end. */

static void step_plain(struct impl *im)
{
	size_t room = CAM_INPUT_TEXT_BYTES - im->fill;
	size_t got = im->raw_fill - im->raw_at;
	if (got) {
		got = got < room ? got : room;
		memcpy(im->text + im->fill, im->raw + im->raw_at, got);
		im->raw_at += got;
	} else {
		got = read_source(im, im->text + im->fill, room);
		if (!got && !im->done)
			finish(im, CAM_INPUT_WHOLE);
	}
	im->fill += got;
}

/* What the end of the source means for a compressed stream. */
static void end_of_source(struct impl *im)
{
	if (!im->done)
		finish(im, im->in_stream ? CAM_INPUT_CUT : CAM_INPUT_WHOLE);
}

/* Between members: another one, the end, or bytes that are neither (zeros are padding). */
static bool next_member(struct impl *im)
{
	while (fill_raw(im, 1) && im->raw[im->raw_at] == 0)
		im->raw_at++;
	if (!fill_raw(im, 2)) {
		if (im->raw_fill > im->raw_at && !im->done)
			finish(im, CAM_INPUT_DAMAGED);
		end_of_source(im);
		return false;
	}
	if (wrap_of(im->raw + im->raw_at, 2) != CAM_INPUT_GZIP || inflateReset(&im->z) != Z_OK) {
		finish(im, CAM_INPUT_DAMAGED);
		return false;
	}
	im->in_stream = true;
	return true;
}

static void step_gzip(struct impl *im)
{
	if (!im->in_stream && !next_member(im))
		return;
	if (!fill_raw(im, 1)) {
		end_of_source(im);
		return;
	}
	im->z.next_in = im->raw + im->raw_at;
	im->z.avail_in = (uInt)(im->raw_fill - im->raw_at);
	im->z.next_out = (unsigned char *)im->text + im->fill;
	im->z.avail_out = (uInt)(CAM_INPUT_TEXT_BYTES - im->fill);
	int got = inflate(&im->z, Z_NO_FLUSH);
	im->raw_at = im->raw_fill - im->z.avail_in;
	im->fill = CAM_INPUT_TEXT_BYTES - im->z.avail_out;
	if (got == Z_STREAM_END)
		im->in_stream = false;
	else if (got != Z_OK && got != Z_BUF_ERROR)
		finish(im, CAM_INPUT_DAMAGED);
}

static void step_zstd(struct impl *im)
{
	/* Bytes held back by the decoder come out with empty input too, so ask before giving up. */
	bool more = fill_raw(im, 1);
	ZSTD_inBuffer from = {im->raw, im->raw_fill, im->raw_at};
	ZSTD_outBuffer to = {im->text, CAM_INPUT_TEXT_BYTES, im->fill};
	size_t got = ZSTD_decompressStream(im->zstd, &to, &from);
	bool moved = to.pos != im->fill || from.pos != im->raw_at;
	im->raw_at = from.pos;
	im->fill = to.pos;
	if (ZSTD_isError(got)) {
		bool window = ZSTD_getErrorCode(got) == ZSTD_error_frameParameter_windowTooLarge;
		finish(im, window ? CAM_INPUT_BOMB : CAM_INPUT_DAMAGED);
		return;
	}
	if (moved)
		im->in_stream = got != 0;
	if (!more && !moved)
		end_of_source(im);
}

static void step(struct impl *im)
{
	switch (im->in.wrap) {
	case CAM_INPUT_PLAIN:
		step_plain(im);
		return;
	case CAM_INPUT_GZIP:
		step_gzip(im);
		break;
	case CAM_INPUT_ZSTD:
		step_zstd(im);
		break;
	}
}

static void check_ratio(struct impl *im)
{
	uint64_t taken = im->in.bytes_in - (im->raw_fill - im->raw_at);
	uint64_t idle = im->in.bytes - im->in.useful;
	if (im->in.wrap == CAM_INPUT_PLAIN || im->in.bytes <= im->limits.free_bytes)
		return;
	/* One hot loop compresses 500:1 and is no bomb: text that goes on giving samples may. */
	uint64_t allowed = im->limits.ratio * (idle < im->limits.free_bytes ? USEFUL_FACTOR : 1u);
	if (im->in.bytes / allowed > taken)
		finish(im, CAM_INPUT_BOMB);
}

bool cam_input_more(struct cam_input *in)
{
	struct impl *im = (struct impl *)in;
	size_t tail = (size_t)(in->end - in->p);
	memmove(im->text, in->p, tail);
	im->fill = tail;
	while (!im->done && im->fill == tail)
		step(im);
	in->p = im->text;
	in->end = im->text + im->fill;
	in->bytes += im->fill - tail;
	if (!im->done)
		check_ratio(im);
	return im->fill > tail;
}

struct cam_text cam_input_peek(struct cam_input *in)
{
	while (in->end - in->p < (ptrdiff_t)PEEK_BYTES && cam_input_more(in))
		;
	return (struct cam_text){in->p, (size_t)(in->end - in->p)};
}

/* Drops bytes up to and with the next newline. */
static void skip_line(struct cam_input *in)
{
	for (;;) {
		const char *nl = memchr(in->p, '\n', (size_t)(in->end - in->p));
		in->p = nl ? nl + 1 : in->end;
		if (nl || !cam_input_more(in))
			return;
	}
}

/* Its head is copied: skipping the rest overwrites the text. */
static enum cam_input_line long_line(struct cam_input *in, struct cam_text *line)
{
	struct impl *im = (struct impl *)in;
	memcpy(im->head, in->p, sizeof(im->head));
	*line = (struct cam_text){im->head, sizeof(im->head)};
	in->long_lines++;
	skip_line(in);
	return CAM_LINE_LONG;
}

enum cam_input_line cam_input_line_slow(struct cam_input *in, struct cam_text *line)
{
	struct impl *im = (struct impl *)in;
	for (;;) {
		size_t n = (size_t)(in->end - in->p);
		size_t look = n < CAM_INPUT_LINE_BYTES + 1 ? n : CAM_INPUT_LINE_BYTES + 1;
		const char *nl = look ? memchr(in->p, '\n', look) : NULL;
		if (nl) {
			*line = (struct cam_text){in->p, (size_t)(nl - in->p)};
			in->p = nl + 1;
			return CAM_LINE_WHOLE;
		}
		if (n > CAM_INPUT_LINE_BYTES)
			return long_line(in, line);
		if (!cam_input_more(in))
			break;
	}
	*line = (struct cam_text){in->p, (size_t)(in->end - in->p)};
	im->text[im->fill] = '\n';
	in->p = in->end;
	if (!line->n)
		return CAM_LINE_END;
	/* Half a line of a stream that breaks off would be taken for another line. */
	if (im->in.state != CAM_INPUT_WHOLE) {
		in->cut_lines++;
		return CAM_LINE_END;
	}
	return CAM_LINE_WHOLE;
}
