// SPDX-License-Identifier: Apache-2.0
/* Any bytes as Go's table of functions: they ascend, do not overlap, and are no more than the bytes can tell of. */
#include "symbol/gopclntab.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t end, n;
};
static int look(void *arg, uint64_t address, uint64_t bytes, uint32_t name)
{
	struct seen *s = arg;
	(void)name;
	if (!bytes || (s->n && address != s->end))
		abort();
	s->end = address + bytes;
	s->n++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	struct cam_elf_file f = {.is_64 = true, .entry = 0x1000, .n_segments = 1};
	struct cam_gopclntab_names names = {0};
	struct seen s = {0};
	if (size < 8)
		return 0;
	/* The code is these bytes, too. */
	f.segments[0] = (struct cam_elf_segment){0x1000, 0, size};
	f.debug[CAM_ELF_DEBUG_GO] = (struct cam_elf_part){8, size - 8, false};
	int error = cam_gopclntab_read(&f, &b, &names, look, &s);
	if ((error && error != -ENODATA && error != -EBADMSG) || s.n > size / 16 ||
	    names.at > size || names.bytes > size - names.at)
		abort();
	return 0;
}
