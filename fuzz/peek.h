// SPDX-License-Identifier: Apache-2.0
/*
 * For fuzzers of journals: blocks made right but for what is inside them; a glance at one, and what it says against
 * what is really there.
 */
#pragma once
#include "store/journal.h"
#include "store/journal_format.h"
#include "window.h"

/* Crc, sequence and lengths of each block are right afterwards. */
static inline void fuzz_repair(uint8_t *p, size_t n)
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

static inline int fuzz_open_journal(struct fuzz_file *f, struct cam_window **out)
{
	struct cam_journal_peek peek;
	int err = cam_journal_peek(&f->file, &peek);
	if (!err)
		free(peek.host);
	int opened = cam_journal_open(&f->file, 16u << 20, out);
	/* Opening may meet its limits; but what it can read a glance can. */
	fuzz_check(opened || !err);
	if (!opened)
		fuzz_check(peek.info.sequence == (*out)->info.sequence &&
			   peek.info.clean_end == (*out)->info.clean_end);
	return opened;
}
