// SPDX-License-Identifier: Apache-2.0
/*
 * Journal recovery. Inputs that begin with 'r' are a file as it is; others are repaired first, so
 * that crc, sequence and lengths of each block are right and only what is inside them is wrong.
 */
#include "peek.h"
#include "store/journal_format.h"

static void repair(uint8_t *p, size_t n)
{
	uint32_t seed = 0;
	for (uint32_t sequence = 0; n >= CAM_JOURNAL_HEAD; sequence++) {
		size_t left = n - CAM_JOURNAL_HEAD, bytes = cam_journal_get_u32(p + 4) % 4096;
		bool packed = p[13] & CAM_JOURNAL_ZSTD;
		struct cam_journal_head h = {
			.bytes = (uint32_t)(bytes < left ? bytes : left),
			.sequence = sequence,
			.type = sequence ? 2 + (p[12] == CAM_JOURNAL_END) : CAM_JOURNAL_HEADER,
			.flags = packed && sequence ? CAM_JOURNAL_ZSTD : 0,
		};
		h.plain_bytes = h.flags ? cam_journal_get_u32(p + 16) : h.bytes;
		uint32_t crc = cam_journal_put_head(p, &h, seed);
		seed = sequence ? seed : crc;
		p += CAM_JOURNAL_HEAD + h.bytes;
		n -= CAM_JOURNAL_HEAD + h.bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file *f = fuzz_file_new(data, size);
	struct cam_window *w;
	if (size && data[0] != 'r')
		repair(f->bytes, f->n);
	if (fuzz_open_journal(f, &w) == 0)
		fuzz_window(w);
	return 0;
}
