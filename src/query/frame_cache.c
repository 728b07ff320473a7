// SPDX-License-Identifier: Apache-2.0
#include "query/frame_cache.h"

#include "query/package.h"

#include <errno.h>
#include <stdlib.h>

static enum cam_frame_kind frame_kind(enum cam_func_kind kind)
{
	static const enum cam_frame_kind kinds[CAM_FUNC_KIND_MAX] = {
		[CAM_FUNC_KERNEL] = CAM_FRAME_KERNEL, [CAM_FUNC_USER] = CAM_FRAME_USER,
		[CAM_FUNC_JIT] = CAM_FRAME_JIT,	      [CAM_FUNC_INLINED] = CAM_FRAME_INLINED,
		[CAM_FUNC_MARK] = CAM_FRAME_MARK,
	};
	return (unsigned)kind < CAM_FUNC_KIND_MAX ? kinds[kind] : CAM_FRAME_USER;
}

int cam_frame_cache_find(struct cam_frame_cache *c, struct cam_merge *m, const struct cam_tables *t,
			 uint32_t function, uint32_t *frame)
{
	char room[512], tidy[512];
	if (function >= t->n_functions)
		return cam_merge_frame(m, CAM_TEXT("[unknown]"), CAM_FRAME_USER, frame);
	if (c->n < t->n_functions) {
		uint32_t *grown = reallocarray(c->frames, t->n_functions, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		for (size_t i = c->n; i < t->n_functions; i++)
			grown[i] = CAM_NONE;
		c->frames = grown;
		c->n = t->n_functions;
	}
	int err = 0;
	if (c->frames[function] == CAM_NONE) {
		struct cam_text label =
			cam_function_label(t, (struct cam_func_id){function}, room, sizeof(room));
		err = cam_merge_frame(m, cam_package_tidy(label, tidy, sizeof(tidy)),
				      frame_kind(t->functions[function].kind),
				      &c->frames[function]);
	}
	*frame = c->frames[function];
	return err;
}

void cam_frame_cache_free(struct cam_frame_cache *c)
{
	free(c->frames);
	*c = (struct cam_frame_cache){0};
}
