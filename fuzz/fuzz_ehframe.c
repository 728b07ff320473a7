// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ELF file: its unwind table can be packed, and starts of functions are before them. */
#include "model/unwind_pack.h"
#include "symbol/ehframe.h"
#include "symbol/frame_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int put(void *arg, const struct cam_unwind_block *block, uint32_t *number)
{
	(void)block;
	*number = (*(uint32_t *)arg)++;
	return 0;
}

static int pack(void *arg, const struct cam_ehframe_piece *p)
{
	if (cam_unwind_pack_rules(arg, p->rules, p->n_rules) ||
	    cam_unwind_pack_rows(arg, p->rows, p->n_rows))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cam_unwind_packer packer;
	static struct cam_elf_file f;
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	struct cam_unwind_file table;
	uint32_t blocks = 0;
	cam_unwind_pack_start(&packer, put, &blocks);
	if (!cam_ehframe_read(&b, pack, &packer) && cam_unwind_pack_finish(&packer, &table))
		abort();
	for (uint64_t at = 0, end; !cam_elf_file_read(&f, &b) && at < size; at += 1 + size / 64)
		if (cam_frame_index_start(&f, &b, at, &end) > at || (end && end <= at))
			abort();
	return 0;
}
