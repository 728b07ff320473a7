// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <string.h>

#define POLY 0x82f63b78u

/* Bit by bit: the reference, and the path of CPUs without the instruction. */
static uint32_t crc_plain(uint32_t crc, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (POLY & -(crc & 1));
	}
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
							    size_t n)
{
	uint64_t c = crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	crc = (uint32_t)c;
	for (; n; n--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}
#endif

uint32_t cam_crc32c(uint32_t crc, const void *bytes, size_t n)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_sse42(~crc, bytes, n);
#endif
	return ~crc_plain(~crc, bytes, n);
}
