// SPDX-License-Identifier: Apache-2.0
/* A line: any bytes as a rule; what follows it as an event that the rule is tried on. */
#include "events/rule.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cam_rule rule;
	const char *p = (const char *)data;
	const char *end = size ? memchr(p, '\n', size) : NULL;
	struct cam_text text = {p, end ? (size_t)(end - p) : size};
	char why[256] = "";
	if (size > 2048)
		return 0;
	if (cam_rule_parse(&rule, text, why, sizeof(why))) {
		/* Whatever is wrong is said. */
		if (!why[0])
			abort();
		return 0;
	}
	size_t used = text.n + (end != NULL);
	cam_rule_is_about(&rule, CAM_TEXT("kmsg"), (struct cam_text){p + used, size - used});
	cam_rule_free(&rule);
	return 0;
}
