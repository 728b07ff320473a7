// SPDX-License-Identifier: Apache-2.0
/* How many bytes the UTF-8 character at the start of s takes; 0 where there is none. */
#pragma once
#include "base/text.h"

#include <stdint.h>

static inline size_t cam_utf8_length(struct cam_text s)
{
	if (!s.n)
		return 0;
	const unsigned char *p = (const unsigned char *)s.p;
	size_t need = p[0] < 0x80		    ? 1
		      : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		      : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
		      : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						    : 0;
	if (need > s.n)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return need;
}
