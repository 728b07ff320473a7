// SPDX-License-Identifier: Apache-2.0
/*
 * Where the function around an offset starts, for functions without a name: from .eh_frame_hdr, the
 * table that the C++ runtime searches when an exception is thrown. Nothing is loaded; an answer takes
 * some ten reads of a few bytes.
 */
#pragma once
#include "symbol/elf_file.h"

/* A file offset; equal to `offset` where nothing is known. *end: of the same function; 0: not known. */
uint64_t cam_frame_index_start(const struct cam_elf_file *f, const struct cam_bytes *b,
			       uint64_t offset, uint64_t *end);
