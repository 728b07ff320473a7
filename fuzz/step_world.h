// SPDX-License-Identifier: Apache-2.0
/* A world for model/unwind_step.h that is made of any bytes. */
#pragma once
#include "model/unwind_step.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cam_step_env {
	struct cam_unwind_file file;
	struct cam_unwind_image image;
	struct cam_unwind_chunk *chunk;
	struct cam_unwind_block *blocks;
	uint32_t n_blocks;
	const uint8_t *stack;
	size_t n_stack;
};

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return number % 16 < e->n_blocks ? &e->blocks[number % 16] : NULL;
}

static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	return number & 1 ? NULL : &e->file;
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return &e->image;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	return k & 1 ? NULL : e->chunk;
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	if (address > e->n_stack || e->n_stack - address < bytes)
		return -1;
	memcpy(to, e->stack + address, bytes);
	return 0;
}

static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	__u8 before[7];
	return cam_step_read(e, before, 7, address - 7) || cam_step_is_call(before);
}

/* What is missing is 0xff. */
static inline void take(void *to, size_t bytes, const uint8_t **data, size_t *size)
{
	size_t n = bytes < *size ? bytes : *size;
	memset(to, 0xff, bytes);
	memcpy(to, *data, n);
	*data += n;
	*size -= n;
}
