// SPDX-License-Identifier: Apache-2.0
/* A regular expression of anybody's: what is let through is compiled, and tried, at a bounded cost. */
#include "base/expression.h"

#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[1025], why[128];
	unsigned steps;
	regex_t r;
	if (size >= sizeof(text) || memchr(data, 0, size))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (cam_expression_check((struct cam_text){text, size}, &steps, why, sizeof(why))) {
		if (!why[0])
			abort();
		return 0;
	}
	if (steps > CAM_EXPRESSION_STEPS)
		abort();
	if (regcomp(&r, text, REG_EXTENDED | REG_NOSUB))
		return 0;
	regexec(&r, "java/util/HashMap.getNode[]{}()+*?^$\\", 0, NULL, 0);
	regfree(&r);
	return 0;
}
