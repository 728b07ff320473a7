// SPDX-License-Identifier: Apache-2.0
#include "symbol/sort.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static uint64_t key_of(const uint8_t *row)
{
	uint64_t key;
	memcpy(&key, row, sizeof(key));
	return key;
}

static void move_by_digit(const uint8_t *from, uint8_t *to, size_t n, size_t row_bytes,
			  unsigned int shift)
{
	size_t places[DIGITS] = {0};
	for (size_t i = 0; i < n; i++)
		places[key_of(from + i * row_bytes) >> shift & (DIGITS - 1)]++;
	size_t before = 0;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t here = places[d];
		places[d] = before;
		before += here;
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *row = from + i * row_bytes;
		size_t place = places[key_of(row) >> shift & (DIGITS - 1)]++;
		memcpy(to + place * row_bytes, row, row_bytes);
	}
}

int cam_sort_by_key(void *rows, size_t n, size_t row_bytes)
{
	uint64_t differ = 0;
	bool sorted = true;
	uint8_t *first = rows;
	for (size_t i = 1; i < n; i++) {
		uint64_t key = key_of(first + i * row_bytes);
		differ |= key ^ key_of(first);
		sorted = sorted && key_of(first + (i - 1) * row_bytes) <= key;
	}
	if (sorted)
		return 0;
	uint8_t *scratch CAM_AUTOFREE = reallocarray(NULL, n, row_bytes);
	if (!scratch)
		return -ENOMEM;
	uint8_t *from = first, *to = scratch;
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		move_by_digit(from, to, n, row_bytes, shift);
		uint8_t *was = from;
		from = to;
		to = was;
	}
	if (from != first)
		memcpy(first, scratch, n * row_bytes);
	return 0;
}
