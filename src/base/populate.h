// SPDX-License-Identifier: Apache-2.0
/*
 * The pages of memory that is about to be written all over, at once: a hash table that has just grown would take them one
 * fault at a time, and two for each page that is read before it is written. A hint: kernels that do not know it (before
 * 5.14) go on as ever. Not for rows that grow at their end: half of those may never be used.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define CAM_POPULATE_LEAST 65536u /* bytes: less is not worth a call */

static inline void cam_populate(void *p, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t page = 4096, from = ((uintptr_t)p + page - 1) / page * page;
	uintptr_t to = ((uintptr_t)p + bytes) / page * page;
	if (bytes >= CAM_POPULATE_LEAST && to > from)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
#else
	(void)p, (void)bytes;
#endif
}
