// SPDX-License-Identifier: Apache-2.0
/* What a step reads (model/unwind_step.h), all of it in the struct that the fuzzer filled. */
#pragma once

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return number < N_BLOCKS ? &e->blocks[number] : NULL;
}

static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	return number ? &e->file : NULL;
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return &e->image;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	return k ? NULL : &e->chunk;
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	uint64_t at = address - e->sp;
	if (address < e->sp || at > sizeof(e->stack) || bytes > sizeof(e->stack) - at)
		return -1;
	memcpy(to, (const char *)e->stack + at, bytes);
	return 0;
}

static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	(void)e;
	return (int)(address & 1);
}
