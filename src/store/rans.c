// SPDX-License-Identifier: Apache-2.0
/*
 * Static rANS. Why this and not zstd's entropy stage: the columns of a window are order-0 once
 * modelled, several of their tables are derived from what the window holds anyway, and each
 * chunk must be decodable alone, down to a few hundred symbols. 4 to 7 % smaller than zstd-9 over
 * the same symbols, and cheaper to encode (docs/window-format.md).
 *
 * Invariants
 * 1. A state is in [2^16, 2^32) between symbols. Encoding symbol s of frequency f first writes
 *    the low 16 bits if state >= f << 20, so each symbol writes at most one word.
 * 2. x' = (x / f) << 12 | start[s] + x % f; decoding inverts it by the slot x' & 4095.
 * 3. The decoder reads the words in the order in which the encoder wrote them backwards.
 *
 * Example: frequencies a = 3072, b = 1024 and the text "ab": 'b' is encoded first, into state 1:
 * 65536 / 1024 << 12 | 3072 + 0 = 265216; then 'a' into state 0: 65536 / 3072 << 12 | 1024 =
 * 87040 (21 whole times, remainder 1024). Both fit, no word is written, and the stream is four
 * states: 87040, 265216, 65536, 65536. The decoder finds slot 87040 & 4095 = 1024, an 'a'
 * (0..3071), and 3072 * 21 + 1024 = 65536 again.
 */
#include "store/rans.h"

#include <errno.h>
#include <string.h>

static void fill_starts(struct cam_rans_freq *f)
{
	uint32_t sum = 0;
	for (int s = 0; s < 256; s++) {
		f->start[s] = (uint16_t)sum;
		sum += f->freq[s];
	}
}

void cam_rans_scale(const uint64_t hist[256], struct cam_rans_freq *out)
{
	uint64_t total = 0;
	int largest = 0;
	memset(out, 0, sizeof(*out));
	for (int s = 0; s < 256; s++) {
		total += hist[s];
		if (hist[s] > hist[largest])
			largest = s;
	}
	if (!total)
		return;
	int32_t left = CAM_RANS_SCALE;
	for (int s = 0; s < 256; s++) {
		if (!hist[s])
			continue;
		uint64_t f = (hist[s] * CAM_RANS_SCALE + total / 2) / total;
		out->freq[s] = (uint16_t)(f ? f : 1);
		left -= out->freq[s];
	}
	/* Rounding can take more than the most frequent has to spare: then from all, in turn. */
	while (left < 0 && out->freq[largest] + left < 1) {
		for (int s = 0; s < 256; s++)
			if (out->freq[s] > out->freq[largest])
				largest = s;
		out->freq[largest]--;
		left++;
	}
	out->freq[largest] = (uint16_t)(out->freq[largest] + left);
	fill_starts(out);
}

void cam_rans_put_freq(struct cam_buf *out, const struct cam_rans_freq *f)
{
	unsigned n = 0;
	int last = -1;
	for (int s = 0; s < 256; s++)
		n += f->freq[s] > 0;
	cam_buf_put_varint(out, n);
	for (int s = 0; s < 256; s++) {
		if (!f->freq[s])
			continue;
		cam_buf_put_varint(out, (uint64_t)(s - last - 1));
		if (n > 1)
			cam_buf_put_varint(out, f->freq[s] - 1u);
		last = s;
	}
}

int cam_rans_get_freq(struct cam_rd *in, struct cam_rans_freq *f)
{
	uint64_t n = cam_rd_varint(in), sum = 0, next = 0;
	memset(f, 0, sizeof(*f));
	/* Many contexts of a window's columns are not used. */
	if (n > 256 || !n)
		return n || cam_rd_error(in) ? -EBADMSG : 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t gap = cam_rd_varint(in);
		uint64_t freq = n > 1 ? cam_rd_varint(in) : CAM_RANS_SCALE - 1;
		if (cam_rd_error(in) || gap > 255 || next + gap > 255 || freq >= CAM_RANS_SCALE)
			return -EBADMSG;
		f->freq[next + gap] = (uint16_t)(freq + 1);
		next += gap + 1;
		sum += freq + 1;
	}
	if (cam_rd_error(in) || (n && sum != CAM_RANS_SCALE))
		return -EBADMSG;
	fill_starts(f);
	return 0;
}

void cam_rans_table_build(const struct cam_rans_freq *f, struct cam_rans_table *t)
{
	uint32_t slot = 0;
	for (uint32_t s = 0; s < 256; s++) {
		uint32_t n = f->freq[s];
		if (!n)
			continue;
		t->symbols[s].freq = (uint16_t)n;
		t->symbols[s].start = (uint16_t)slot;
		memset(&t->slots[slot], (int)s, n);
		slot += n;
	}
	t->present = slot == CAM_RANS_SCALE;
}

void cam_rans_encode(struct cam_buf *out, const uint16_t *tokens, size_t n,
		     const struct cam_rans_freq *freqs)
{
	uint32_t state[CAM_RANS_STATES];
	size_t head = 4 * CAM_RANS_STATES;
	uint8_t *room = cam_buf_reserve(out, head + 2 * n);
	if (!room)
		return;
	uint8_t *end = room + head + 2 * n, *p = end;
	for (unsigned i = 0; i < CAM_RANS_STATES; i++)
		state[i] = CAM_RANS_START;
	for (size_t i = n; i-- > 0;) {
		const struct cam_rans_freq *t = &freqs[tokens[i] >> 8];
		uint32_t f = t->freq[tokens[i] & 255];
		uint32_t x = state[i & (CAM_RANS_STATES - 1)];
		if (x >= (uint64_t)f << (32 - CAM_RANS_BITS)) {
			*--p = (uint8_t)(x >> 8);
			*--p = (uint8_t)x;
			x >>= 16;
		}
		state[i & (CAM_RANS_STATES - 1)] =
			((x / f) << CAM_RANS_BITS) + x % f + t->start[tokens[i] & 255];
	}
	memmove(room + head, p, (size_t)(end - p));
	for (unsigned i = 0; i < CAM_RANS_STATES; i++)
		cam_buf_put_u32(out, state[i]);
	out->len += (size_t)(end - p);
}

void cam_rans_open(struct cam_rans_in *in, const uint8_t *bytes, size_t n)
{
	struct cam_rd r = cam_rd_make(bytes, n);
	*in = (struct cam_rans_in){0};
	for (unsigned i = 0; i < CAM_RANS_STATES; i++) {
		in->state[i] = cam_rd_u32(&r);
		in->bad |= in->state[i] < CAM_RANS_START;
	}
	in->bad |= cam_rd_error(&r) != 0;
	in->p = r.p;
	in->end = r.end;
}

bool cam_rans_done(const struct cam_rans_in *in)
{
	bool good = !in->bad && in->p == in->end;
	for (unsigned i = 0; i < CAM_RANS_STATES; i++)
		good &= in->state[i] == CAM_RANS_START;
	return good;
}
