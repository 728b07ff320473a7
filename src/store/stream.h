// SPDX-License-Identifier: Apache-2.0
/*
 * Streams of integers: the one way in which every column and table of a sealed window keeps its
 * numbers.
 *
 * A value becomes a token (a byte) and raw bits. With split S: below 2^S the token is the value.
 * Above, with b its bit length: token 2^S + 2 (b - S - 1) + second highest bit, then the low
 * b - 2 bits raw. So S = 7 needs 242 tokens for 64 bits, and CAM_TOKEN_MARK (255) is free as a
 * marker. Tokens are entropy coded in contexts the stream's user chooses; raw bits are packed,
 * lowest first.
 *
 * On disk: a coder byte, then
 *	CAM_CODER_STORED: varint tokens, varint raw bytes, token bytes, raw bytes;
 *	CAM_CODER_RANS: (its own frequency tables, unless shared,) varint words bytes, varint raw
 *	bytes, words, raw bytes.
 * The smaller of the two is written. Values up to 2^64 - 1, contexts up to 32, S up to 7.
 */
#pragma once
#include "store/rans.h"

#include <endian.h>
#include <stdlib.h>

#define CAM_TOKEN_MARK	   255u
#define CAM_STREAM_CTX_MAX 32u
#define CAM_STREAM_SLACK   8u /* readable bytes behind a stream, for wide loads */

enum cam_coder {
	CAM_CODER_STORED = 0,
	CAM_CODER_ZSTD = 1, /* text only */
	CAM_CODER_RANS = 2,
	CAM_CODER_ZSTD_KNOWN = 3, /* text: zstd behind the text of store/known.h */
};

/* The first token that stands before raw bits. */
static inline uint32_t cam_token_limit(unsigned split)
{
	return 1u << (split & 7);
}
/* Raw bits a token stands before, and the value they are added to. */
static inline unsigned cam_token_bits(uint32_t token, unsigned split)
{
	uint32_t limit = cam_token_limit(split);
	return token < limit ? 0 : ((token - limit) >> 1) + split - 1;
}
static inline uint64_t cam_token_base(uint32_t token, unsigned split)
{
	uint32_t limit = cam_token_limit(split);
	if (token < limit)
		return token;
	return (2 | (uint64_t)((token - limit) & 1)) << (cam_token_bits(token, split) & 63);
}
static inline uint32_t cam_token_of(uint64_t v, unsigned split)
{
	uint32_t limit = cam_token_limit(split);
	if (v < limit)
		return (uint32_t)v;
	unsigned b = 64 - (unsigned)__builtin_clzll(v);
	return limit + 2 * (b - split - 1) + (uint32_t)(v >> (b - 2) & 1);
}

struct cam_stream_out {
	uint16_t *tokens; /* context << 8 | token */
	size_t n, cap;
	struct cam_buf raw;
	uint64_t acc;
	unsigned acc_bits;
	unsigned split;
	uint64_t cost_bits; /* never less than what it will take on disk, tables apart */
	int error;
};

void cam_stream_out_init(struct cam_stream_out *s, unsigned split);
void cam_stream_out_free(struct cam_stream_out *s);
/* Forgets the content, keeps the memory. */
void cam_stream_out_clear(struct cam_stream_out *s);
void cam_stream_put(struct cam_stream_out *s, unsigned ctx, uint64_t v);
void cam_stream_put_token(struct cam_stream_out *s, unsigned ctx, uint32_t token);
void cam_stream_put_raw(struct cam_stream_out *s, uint64_t v, unsigned bits);
/* Adds its tokens to the histograms of its contexts. The stream's error where it has not all of them: shared tables
 * must know every token that is written with them. */
int cam_stream_count(const struct cam_stream_out *s, uint64_t (*hist)[256]);
/* Appends the stream, with tables of its own or with shared ones. 0 or a negative errno. */
int cam_stream_write(struct cam_stream_out *s, unsigned contexts, struct cam_buf *out);
int cam_stream_write_shared(struct cam_stream_out *s, const struct cam_rans_freq *freqs,
			    struct cam_buf *out);

/*
 * Writes n streams of a table of cells, one behind the other. `many`: the table has more than CAM_FREE_CELLS, of which a
 * reader believes no more than CAM_ROWS_PER_BYTE a byte; so where cells that are all alike take less, those of the
 * stream `counted`, one token each, are stored as they are.
 */
int cam_streams_write_cells(struct cam_stream_out *s, unsigned n, const uint8_t *contexts,
			    unsigned counted, bool many, struct cam_buf *out);

struct cam_stream_in {
	const struct cam_rans_table *tables;
	struct cam_rans_table *own; /* freed by cam_stream_in_free() */
	unsigned contexts, split;
	struct cam_rans_in rans;
	const uint8_t *stored, *stored_end; /* instead of rans */
	const uint8_t *raw;
	uint64_t bit, bits;
	bool bad;
};

/*
 * Opens the stream at r (which must stay, with CAM_STREAM_SLACK readable bytes behind its end) and
 * moves r behind it. -EBADMSG, -ENOMEM. Free it in any case.
 */
int cam_stream_open(struct cam_stream_in *s, struct cam_rd *r, unsigned contexts, unsigned split);
int cam_stream_open_shared(struct cam_stream_in *s, struct cam_rd *r,
			   const struct cam_rans_table *tables, unsigned contexts, unsigned split);
/* Moves r behind a stream that nobody wants to read, with tables of its own. -EBADMSG. */
int cam_stream_pass(struct cam_rd *r, unsigned contexts);
void cam_stream_in_free(struct cam_stream_in *s);
/* Everything was read, and all of it was well-formed. */
bool cam_stream_done(const struct cam_stream_in *s);

static inline uint64_t cam_stream_get_raw(struct cam_stream_in *s, unsigned bits)
{
	if (bits > s->bits - s->bit) {
		s->bad = true;
		return 0;
	}
	uint64_t v = 0;
	for (unsigned done = 0; done < bits;) {
		uint64_t word;
		unsigned shift = s->bit & 7, take = bits - done < 56 ? bits - done : 56;
		__builtin_memcpy(&word, s->raw + (s->bit >> 3), 8);
		word = le64toh(word);
		v |= (word >> shift & (((uint64_t)1 << take) - 1)) << done;
		s->bit += take;
		done += take;
	}
	return v;
}

static inline uint32_t cam_stream_get_token(struct cam_stream_in *s, unsigned ctx)
{
	if (!s->stored)
		return cam_rans_get(&s->rans, &s->tables[ctx]);
	if (s->stored == s->stored_end) {
		s->bad = true;
		return 0;
	}
	return *s->stored++;
}

static inline uint64_t cam_stream_value(struct cam_stream_in *s, uint32_t token)
{
	unsigned bits = cam_token_bits(token, s->split);
	if (bits == 0)
		return token;
	if (bits > 62) {
		s->bad = true;
		return 0;
	}
	return cam_token_base(token, s->split) + cam_stream_get_raw(s, bits);
}

static inline uint64_t cam_stream_get(struct cam_stream_in *s, unsigned ctx)
{
	return cam_stream_value(s, cam_stream_get_token(s, ctx));
}
