// SPDX-License-Identifier: Apache-2.0
/* .gnu_debugdata: an ELF file of symbols alone, compressed by xz, inside of a stripped one. */
#pragma once
#include "symbol/bytes.h"

/* Inflates n bytes from `at` into new memory, which is the caller's. -E2BIG: it has more than max_bytes, or needs more
 * memory than xz's strongest level does; -EBADMSG: it is no xz stream, or a damaged one; -ENOMEM. */
int cam_xz_inflate(const struct cam_bytes *b, uint64_t at, uint64_t n, size_t max_bytes,
		   uint8_t **out, size_t *out_bytes);
