// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ELF file with DWARF, and as its supplement: what is found is inside its bounds, and paid for. */
#include "symbol/companion.h"
#include "symbol/dwarf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(good) ((good) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cam_dwarf_hit hit;
	struct cam_companion_supplement said;
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	struct cam_elf_file f;
	struct cam_dwarf *d, *other = NULL;
	uint64_t work = 8u << 20;
	if (cam_elf_file_read_debug(&f, &b) || cam_dwarf_open(&f, &b, &work, &d))
		return 0;
	cam_companion_supplement(&f, &b, &said);
	cam_dwarf_lean(d, cam_dwarf_open(&f, &b, &work, &other) ? d : other, &b);
	for (uint64_t k = 0; k < 256 * (uint64_t)f.n_segments && work; k++) {
		uint64_t at =
			f.segments[k / 256].address + f.segments[k / 256].bytes / 256 * (k % 256);
		int found = cam_dwarf_find(d, &b, at, &work, &hit);
		check(found < 1 || hit.n_levels - 1 <= CAM_NAME_MAX_INLINED);
		for (uint32_t i = 0; found == 1 && i < hit.n_levels; i++)
			check((!i || hit.levels[i].name.n) &&
			      (hit.levels[i].file.n || !hit.levels[i].line));
	}
	check(hit.text_used <= sizeof(hit.text) &&
	      cam_dwarf_memory(d) <= CAM_DWARF_INFLATED_BYTES + CAM_DWARF_UNIT_CACHE_BYTES +
					     (4u << 20) + 64 * size);
	cam_dwarf_free(d);
	cam_dwarf_free(other);
	return 0;
}
