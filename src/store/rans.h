// SPDX-License-Identifier: Apache-2.0
/*
 * A small static entropy coder: rANS over alphabets of at most 256 symbols.
 *
 * Frequencies are scaled to 4096, states are 32 bits in [2^16, 2^32) and renormalised by 16-bit
 * little-endian words, four states take turns by symbol number. The encoder runs backwards and
 * starts every state at 2^16, so a decoder that has read everything finds them there again:
 * together with "all words used" that is a self-check on top of any checksum.
 */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

#define CAM_RANS_BITS	12u
#define CAM_RANS_SCALE	(1u << CAM_RANS_BITS)
#define CAM_RANS_STATES 4u
#define CAM_RANS_START	(1u << 16)

/* How often each symbol comes, scaled: freq sums to CAM_RANS_SCALE, or to 0 (no symbol). */
struct cam_rans_freq {
	uint16_t freq[256];
	uint16_t start[256]; /* sum of freq before it */
};

/*
 * The decoder's table. Slots are hit all over, symbols mostly the same few: with all it needs in the slot itself, a
 * table was 16 KiB, and those of a window's columns in no near cache.
 */
struct cam_rans_table {
	bool present;
	struct {
		uint16_t freq, start;
	} symbols[256];
	uint8_t slots[CAM_RANS_SCALE]; /* the symbol of each */
};

/*
 * Scales a histogram: rounded, at least 1 for what occurs, the difference put on (or taken from)
 * the most frequent. One fixed integer rule: some tables are derived by reader and writer, not
 * stored. At most 2^51 in total.
 */
void cam_rans_scale(const uint64_t hist[256], struct cam_rans_freq *out);

/* On disk: number of symbols, then (gap, freq - 1) each; a single symbol has no frequency. */
void cam_rans_put_freq(struct cam_buf *out, const struct cam_rans_freq *f);
/* -EBADMSG unless symbols ascend and frequencies sum to the scale. */
int cam_rans_get_freq(struct cam_rd *in, struct cam_rans_freq *f);
void cam_rans_table_build(const struct cam_rans_freq *f, struct cam_rans_table *t);

/*
 * Encodes n symbols, each context << 8 | symbol; freqs[context] must hold it. Writes the four
 * states, then the words.
 */
void cam_rans_encode(struct cam_buf *out, const uint16_t *tokens, size_t n,
		     const struct cam_rans_freq *freqs);

struct cam_rans_in {
	uint32_t state[CAM_RANS_STATES];
	const uint8_t *p, *end;
	uint32_t turn;
	bool bad;
};

void cam_rans_open(struct cam_rans_in *in, const uint8_t *bytes, size_t n);
/* Everything read, nothing left over. */
bool cam_rans_done(const struct cam_rans_in *in);

/* The next symbol. Never reads outside its bytes; what it answers once `bad` is set means
 * nothing. */
static inline uint32_t cam_rans_get(struct cam_rans_in *in, const struct cam_rans_table *t)
{
	uint32_t *state = &in->state[in->turn++ & (CAM_RANS_STATES - 1)];
	if (!t->present) {
		in->bad = true;
		return 0;
	}
	uint32_t slot = *state & (CAM_RANS_SCALE - 1), symbol = t->slots[slot];
	uint32_t x = t->symbols[symbol].freq * (*state >> CAM_RANS_BITS) + slot -
		     t->symbols[symbol].start;
	if (in->end - in->p >= 2) {
		/* No branch: whether a word is due cannot be foretold. */
		uint32_t due = -(uint32_t)(x < CAM_RANS_START);
		uint32_t word = in->p[0] | (uint32_t)in->p[1] << 8;
		x = x << (due & 16) | (word & due);
		in->p += due & 2;
	} else if (x < CAM_RANS_START) {
		in->bad = true;
		x |= CAM_RANS_START;
	}
	*state = x;
	return symbol;
}
