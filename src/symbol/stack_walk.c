// SPDX-License-Identifier: Apache-2.0
#include "symbol/stack_walk.h"

#include "model/unwind_pack.h"
#include "model/unwind_step.h"

#include <stdlib.h>

struct cam_step_env {
	struct cam_table_cache *tables;
	const struct cam_raw_copy *copy;
	struct cam_unwind_image image;
	struct cam_unwind_chunk chunks[CAM_UNWIND_MAX_CHUNKS];
};

struct cam_stack_walk {
	struct cam_step_env env;
	uint64_t frames[CAM_RAW_MAX_FRAMES];
};

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return cam_table_cache_block(e->tables, number);
}

static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	return cam_table_cache_find(e->tables, number);
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return &e->image;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	return k < e->image.n_chunks ? &e->chunks[k] : NULL;
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	uint64_t at = address - e->copy->sp;
	if (address < e->copy->sp || at > e->copy->stack_bytes || bytes > e->copy->stack_bytes - at)
		return -1;
	memcpy(to, e->copy->stack + at, bytes);
	return 0;
}

/* The text is not there. */
static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	(void)e;
	(void)address;
	return 1;
}

struct cam_stack_walk *cam_stack_walk_new(void)
{
	return calloc(1, sizeof(struct cam_stack_walk));
}

void cam_stack_walk_free(struct cam_stack_walk *w)
{
	free(w);
}

int cam_stack_walk(struct cam_stack_walk *w, struct cam_table_cache *tables,
		   const struct cam_raw_copy *copy, const struct cam_unwind_mapping *maps,
		   size_t n_maps, struct cam_unwind_tidings *out)
{
	struct cam_step_env *e = &w->env;
	struct cam_step s = {
		.ip = copy->ip,
		.sp = copy->sp,
		.bp = copy->bp,
		.exact = 1,
		.bp_known = 1,
		.leaf = 1,
	};
	enum cam_stack_end end = CAM_STACK_UNKNOWN;
	uint32_t n = 0;
	int error = cam_unwind_pack_image(maps, n_maps, &e->image, e->chunks);
	if (error)
		return error;
	e->tables = tables;
	e->copy = copy;
	while (end == CAM_STACK_UNKNOWN && n < CAM_RAW_MAX_FRAMES) {
		w->frames[n++] = cam_step_address(&s);
		end = cam_step_up(e, &s);
	}
	*out = (struct cam_unwind_tidings){
		.frames = w->frames,
		.n_frames = n,
		.end = end == CAM_STACK_UNKNOWN ? CAM_STACK_DEPTH : end,
		.guessed = s.guessed,
		.lacking = end == CAM_STACK_PENDING ? s.file : CAM_NONE,
	};
	return 0;
}
