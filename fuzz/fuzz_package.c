// SPDX-License-Identifier: Apache-2.0
/* Any bytes as the name of a frame: its package, its parts, and how it is tidied. */
#include "query/package.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A part of the name, or empty. */
static void check(struct cam_text part, struct cam_text name)
{
	if (part.n && (part.p < name.p || part.p + part.n > name.p + name.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_text name = {(const char *)data, size}, rest = name;
	char room[64];
	check(cam_package_of(name), name);
	while (rest.n) {
		struct cam_text before = rest;
		check(cam_package_step(&rest), name);
		if (rest.n >= before.n)
			abort();
		check(rest, name);
	}
	struct cam_text tidy = cam_package_tidy(name, room, sizeof(room));
	if (tidy.n > size || (tidy.p != name.p && tidy.n > sizeof(room)))
		abort();
	return 0;
}
