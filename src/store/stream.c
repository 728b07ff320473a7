// SPDX-License-Identifier: Apache-2.0
#include "store/stream.h"

#include "base/vec.h"
#include "store/format.h"

#include <string.h>

#define MAX_STREAM_BYTES (1u << 28)

void cam_stream_out_init(struct cam_stream_out *s, unsigned split)
{
	*s = (struct cam_stream_out){.split = split, .raw = CAM_BUF(MAX_STREAM_BYTES)};
}

void cam_stream_out_free(struct cam_stream_out *s)
{
	free(s->tokens);
	cam_buf_free(&s->raw);
	cam_stream_out_init(s, s->split);
}

void cam_stream_out_clear(struct cam_stream_out *s)
{
	s->n = 0;
	s->acc = 0;
	s->acc_bits = 0;
	s->cost_bits = 0;
	s->error = 0;
	cam_buf_clear(&s->raw);
}

void cam_stream_put_token(struct cam_stream_out *s, unsigned ctx, uint32_t token)
{
	if (s->n == s->cap) {
		int err = cam_vec_reserve(&s->tokens, &s->cap, s->n + 1, sizeof(*s->tokens),
					  MAX_STREAM_BYTES);
		if (err) {
			s->error = err;
			return;
		}
	}
	s->tokens[s->n++] = (uint16_t)(ctx << 8 | token);
	s->cost_bits += 8; /* as stored: coded only where that is smaller */
}

void cam_stream_put_raw(struct cam_stream_out *s, uint64_t v, unsigned bits)
{
	s->cost_bits += bits;
	while (bits) {
		unsigned take = bits < 32 ? bits : 32;
		s->acc |= (v & (((uint64_t)1 << take) - 1)) << s->acc_bits;
		s->acc_bits += take;
		v >>= take;
		bits -= take;
		for (; s->acc_bits >= 8; s->acc_bits -= 8, s->acc >>= 8)
			cam_buf_put_u8(&s->raw, (uint8_t)s->acc);
	}
}

void cam_stream_put(struct cam_stream_out *s, unsigned ctx, uint64_t v)
{
	uint32_t token = cam_token_of(v, s->split);
	cam_stream_put_token(s, ctx, token);
	unsigned bits = cam_token_bits(token, s->split);
	if (bits)
		cam_stream_put_raw(s, v, bits);
}

int cam_stream_count(const struct cam_stream_out *s, uint64_t (*hist)[256])
{
	for (size_t i = 0; i < s->n; i++)
		hist[s->tokens[i] >> 8][s->tokens[i] & 255]++;
	return s->error;
}

static void put_stored(struct cam_stream_out *s, struct cam_buf *out)
{
	cam_buf_put_u8(out, CAM_CODER_STORED);
	cam_buf_put_varint(out, s->n);
	cam_buf_put_varint(out, s->raw.len);
	for (size_t i = 0; i < s->n; i++)
		cam_buf_put_u8(out, (uint8_t)s->tokens[i]);
	cam_buf_put(out, s->raw.data, s->raw.len);
}

/* Writes the stream coded behind `head` bytes of out that hold coder byte and tables; falls back
 * to the stored form, from `start` on, where that is not longer. */
static int finish(struct cam_stream_out *s, const struct cam_rans_freq *freqs, size_t start,
		  struct cam_buf *out)
{
	struct cam_buf words = CAM_BUF(MAX_STREAM_BYTES);
	if (s->acc_bits)
		cam_buf_put_u8(&s->raw, (uint8_t)s->acc);
	s->acc = 0;
	s->acc_bits = 0;
	cam_rans_encode(&words, s->tokens, s->n, freqs);
	if (!words.error && out->len - start + words.len + 2 < s->n + 3) {
		cam_buf_put_varint(out, words.len);
		cam_buf_put_varint(out, s->raw.len);
		cam_buf_put(out, words.data, words.len);
		cam_buf_put(out, s->raw.data, s->raw.len);
	} else if (!out->error) {
		out->len = start;
		put_stored(s, out);
	}
	int err = s->error ? s->error : s->raw.error ? s->raw.error : words.error;
	cam_buf_free(&words);
	return err ? err : out->error;
}

int cam_stream_write(struct cam_stream_out *s, unsigned contexts, struct cam_buf *out)
{
	uint64_t(*hist)[256] = calloc(contexts, sizeof(*hist));
	struct cam_rans_freq *freqs = calloc(contexts, sizeof(*freqs));
	size_t start = out->len;
	int err = -ENOMEM;
	if (hist && freqs) {
		cam_stream_count(s, hist);
		cam_buf_put_u8(out, CAM_CODER_RANS);
		for (unsigned c = 0; c < contexts; c++) {
			cam_rans_scale(hist[c], &freqs[c]);
			cam_rans_put_freq(out, &freqs[c]);
		}
		err = finish(s, freqs, start, out);
	}
	free(hist);
	free(freqs);
	return err;
}

int cam_stream_write_shared(struct cam_stream_out *s, const struct cam_rans_freq *freqs,
			    struct cam_buf *out)
{
	size_t start = out->len;
	cam_buf_put_u8(out, CAM_CODER_RANS);
	return finish(s, freqs, start, out);
}

int cam_streams_write_cells(struct cam_stream_out *s, unsigned n, const uint8_t *contexts,
			    unsigned counted, bool many, struct cam_buf *out)
{
	size_t start = out->len;
	int err = 0;
	for (unsigned i = 0; i < n && !err; i++)
		err = cam_stream_write(&s[i], contexts ? contexts[i] : 1, out);
	if (err || !many || (out->len - start) * CAM_ROWS_PER_BYTE >= s[counted].n)
		return err;
	out->len = start;
	for (unsigned i = 0; i < n && !err; i++) {
		if (i == counted)
			put_stored(&s[i], out);
		else
			err = cam_stream_write(&s[i], contexts ? contexts[i] : 1, out);
	}
	return err ? err : out->error;
}

static int open_stored(struct cam_stream_in *s, struct cam_rd *r)
{
	uint64_t n = cam_rd_varint(r), raw = cam_rd_varint(r);
	if (cam_rd_error(r) || n > cam_rd_left(r) || raw > cam_rd_left(r) - n)
		return -EBADMSG;
	s->stored = cam_rd_bytes(r, n);
	s->stored_end = s->stored + n;
	s->raw = cam_rd_bytes(r, raw);
	s->bits = raw * 8;
	return 0;
}

static int open_words(struct cam_stream_in *s, struct cam_rd *r)
{
	uint64_t words = cam_rd_varint(r), raw = cam_rd_varint(r);
	if (cam_rd_error(r) || words > cam_rd_left(r) || raw > cam_rd_left(r) - words)
		return -EBADMSG;
	cam_rans_open(&s->rans, cam_rd_bytes(r, words), words);
	s->raw = cam_rd_bytes(r, raw);
	s->bits = raw * 8;
	return s->rans.bad ? -EBADMSG : 0;
}

int cam_stream_open(struct cam_stream_in *s, struct cam_rd *r, unsigned contexts, unsigned split)
{
	*s = (struct cam_stream_in){.contexts = contexts, .split = split};
	uint8_t coder = cam_rd_u8(r);
	if (coder == CAM_CODER_STORED)
		return open_stored(s, r);
	if (coder != CAM_CODER_RANS)
		return -EBADMSG;
	s->own = malloc(contexts * sizeof(*s->own));
	if (!s->own)
		return -ENOMEM;
	for (unsigned c = 0; c < contexts; c++) {
		struct cam_rans_freq freq;
		int err = cam_rans_get_freq(r, &freq);
		if (err)
			return err;
		cam_rans_table_build(&freq, &s->own[c]);
	}
	s->tables = s->own;
	return open_words(s, r);
}

int cam_stream_open_shared(struct cam_stream_in *s, struct cam_rd *r,
			   const struct cam_rans_table *tables, unsigned contexts, unsigned split)
{
	*s = (struct cam_stream_in){.contexts = contexts, .split = split, .tables = tables};
	uint8_t coder = cam_rd_u8(r);
	if (coder == CAM_CODER_STORED)
		return open_stored(s, r);
	return coder == CAM_CODER_RANS ? open_words(s, r) : -EBADMSG;
}

int cam_stream_pass(struct cam_rd *r, unsigned contexts)
{
	struct cam_stream_in s = {0};
	struct cam_rans_freq freq;
	uint8_t coder = cam_rd_u8(r);
	if (coder == CAM_CODER_STORED)
		return open_stored(&s, r);
	int err = coder == CAM_CODER_RANS ? 0 : -EBADMSG;
	for (unsigned c = 0; c < contexts && !err; c++)
		err = cam_rans_get_freq(r, &freq);
	return err ? err : open_words(&s, r);
}

void cam_stream_in_free(struct cam_stream_in *s)
{
	free(s->own);
	s->own = NULL;
}

bool cam_stream_done(const struct cam_stream_in *s)
{
	if (s->bad || s->bits - s->bit >= 8)
		return false;
	/* The bits that fill the last byte are zero. */
	if (s->bit < s->bits && s->raw[s->bit >> 3] >> (s->bit & 7))
		return false;
	return s->stored ? s->stored == s->stored_end : cam_rans_done(&s->rans);
}
