// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ELF file with DWARF: what is found must be inside its bounds, and what it costs must be paid. */
#include "symbol/dwarf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cam_dwarf_hit hit;
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	struct cam_elf_file f;
	struct cam_dwarf *d;
	uint64_t work = 8u << 20;
	if (cam_elf_file_read_debug(&f, &b) || cam_dwarf_open(&f, &b, &work, &d))
		return 0;
	for (uint32_t s = 0; s < f.n_segments; s++) {
		for (uint64_t k = 0; k < 256 && work; k++) {
			uint64_t at = f.segments[s].bytes / 256 * k;
			if (cam_dwarf_find(d, &b, f.segments[s].address + at, &work, &hit) != 1)
				continue;
			check(hit.n_levels && hit.n_levels <= 1 + CAM_NAME_MAX_INLINED &&
			      hit.text_used <= sizeof(hit.text));
			for (uint32_t i = 0; i < hit.n_levels; i++)
				check((i == 0 || hit.levels[i].name.n) &&
				      (hit.levels[i].file.n || !hit.levels[i].line));
		}
	}
	check(cam_dwarf_memory(d) <=
	      CAM_DWARF_INFLATED_BYTES + CAM_DWARF_UNIT_CACHE_BYTES + (4u << 20) + 64 * size);
	cam_dwarf_free(d);
	return 0;
}
