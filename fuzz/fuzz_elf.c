// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ELF file: what is found must be inside its bounds, and memory what it weighs. */
#include "symbol/elf.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cam_elf_hit hit;
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	struct cam_elf *e;
	int error = cam_elf_load(&b, &e);
	if (error) {
		check(error == -EBADMSG || error == -E2BIG);
		return 0;
	}
	check(cam_elf_memory(e) <= 8192 + 4 * size && cam_elf_build_id(e).n <= 64);
	uint64_t work = 4u << 20;
	for (uint64_t at = 0; at < size + 16; at += 1 + size / 512) {
		int found = cam_elf_find(e, &b, at, &work, &hit);
		check(found == 0 || found == 1 || found == -EBADMSG);
		if (found == 1)
			check(hit.start <= at && hit.name.n && hit.name.n <= sizeof(hit.room));
	}
	cam_elf_free(e);
	return 0;
}
