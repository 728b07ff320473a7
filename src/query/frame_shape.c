// SPDX-License-Identifier: Apache-2.0
#include "query/frame_shape.h"

#include "base/vec.h"
#include "query/package.h"

#include <stdlib.h>

#define MAX_NAME (1u << 20)

enum { HIDE_ASKED = 1, HIDDEN = 2, FOCUS_ASKED = 4, FOCUSED = 8 };

void cam_frame_shape_init(struct cam_frame_shape *s, const struct cam_reshape *shape)
{
	*s = (struct cam_frame_shape){.shape = shape, .name = CAM_BUF(MAX_NAME)};
}

void cam_frame_shape_free(struct cam_frame_shape *s)
{
	free(s->verdicts);
	free(s->groups);
	cam_buf_free(&s->name);
	*s = (struct cam_frame_shape){0};
}

/* An inlined function is where its caller is. */
static bool is_kernel(const struct cam_tables *t, uint32_t stack)
{
	enum cam_func_kind kind;
	do {
		kind = t->functions[t->stacks.item[stack]].kind;
		stack = t->stacks.parent[stack];
	} while (stack && kind == CAM_FUNC_INLINED);
	return kind == CAM_FUNC_KERNEL;
}

static int ask(struct cam_frame_shape *s, const struct cam_tables *names,
	       const struct cam_frames *frames, const struct cam_select_expressions *e,
	       uint32_t frame, uint8_t asked, uint8_t yes)
{
	size_t had = s->cap_verdicts;
	int err = cam_vec_reserve(&s->verdicts, &s->cap_verdicts, frame + 1ul, 1, CAM_MAX_ROWS);
	if (err)
		return err;
	if (s->cap_verdicts > had)
		memset(s->verdicts + had, 0, s->cap_verdicts - had);
	uint8_t *v = &s->verdicts[frame];
	if (!(*v & asked)) {
		struct cam_str_id symbol = {frames->v[frame].symbol};
		int found = cam_reshape_match(e, cam_string(names, symbol), &s->name);
		if (found < 0)
			return found;
		*v |= (uint8_t)(asked | (found ? yes : 0));
	}
	return *v & yes ? 1 : 0;
}

int cam_frame_shape_hides(struct cam_frame_shape *s, const struct cam_tables *names,
			  const struct cam_frames *frames, const struct cam_tables *t,
			  uint32_t stack, uint32_t frame)
{
	const struct cam_reshape *shape = s->shape;
	if (shape && shape->frames && t->stacks.item[stack] < t->n_functions &&
	    is_kernel(t, stack) != (shape->frames == CAM_FRAMES_KERNEL))
		return 1;
	return shape && shape->hide.n
		       ? ask(s, names, frames, &shape->hide, frame, HIDE_ASKED, HIDDEN)
		       : 0;
}

int cam_frame_shape_starts(struct cam_frame_shape *s, const struct cam_tables *names,
			   const struct cam_frames *frames, uint32_t frame)
{
	return s->shape && s->shape->focus.n
		       ? ask(s, names, frames, &s->shape->focus, frame, FOCUS_ASKED, FOCUSED)
		       : 1;
}

int cam_frame_shape_find_start(struct cam_frame_shape *s, struct cam_tables *names,
			       struct cam_frames *frames, const struct cam_tables *t,
			       uint32_t stack, uint32_t *from)
{
	uint32_t frame;
	*from = 0;
	for (uint32_t node = stack; node; node = t->stacks.parent[node]) {
		int err = cam_frames_of(frames, names, t, t->stacks.item[node], &frame);
		int starts = err ? err : cam_frame_shape_starts(s, names, frames, frame);
		if (starts < 0)
			return starts;
		*from = starts ? node : *from;
	}
	return 0;
}

static int make_group(struct cam_frame_shape *s, struct cam_tables *names,
		      struct cam_frames *frames, uint32_t frame, uint32_t *out)
{
	struct cam_call_frame f = frames->v[frame];
	struct cam_text package = {"", 0}, dso = cam_string(names, (struct cam_str_id){f.dso});
	struct cam_str_id id;
	char room[1024];
	if (s->shape->group == CAM_GROUP_PACKAGE && f.kind != CAM_FRAME_KERNEL)
		package = cam_package_of(cam_string(names, (struct cam_str_id){f.symbol}));
	package = package.n ? package : cam_package_file(dso);
	/* A copy: what is interned may move the text that it is part of. */
	size_t n = package.n < sizeof(room) ? package.n : sizeof(room);
	memcpy(room, package.p, n);
	int err = cam_string_intern(names, (struct cam_text){room, n}, &id);
	f.symbol = err ? 0 : id.v;
	return err ? err : cam_frames_intern(frames, &f, out);
}

int cam_frame_shape_group(struct cam_frame_shape *s, struct cam_tables *names,
			  struct cam_frames *frames, uint32_t frame, uint32_t *out)
{
	*out = frame;
	if (!s->shape || !s->shape->group || frames->v[frame].kind == CAM_FRAME_MARK)
		return 0;
	size_t had = s->cap_groups;
	int err = cam_vec_reserve(&s->groups, &s->cap_groups, frame + 1ul, sizeof(*s->groups),
				  CAM_MAX_ROWS);
	if (err)
		return err;
	if (s->cap_groups > had)
		memset(s->groups + had, 0, (s->cap_groups - had) * sizeof(*s->groups));
	if (!s->groups[frame]) {
		err = make_group(s, names, frames, frame, out);
		s->groups[frame] = err ? 0 : *out + 1;
	}
	*out = err ? frame : s->groups[frame] - 1;
	return err;
}

int cam_frame_shape_hidden(struct cam_tables *names, struct cam_frames *frames, uint32_t *out)
{
	struct cam_str_id name;
	int err = cam_string_intern(names, CAM_TEXT("[hidden]"), &name);
	const struct cam_call_frame frame = {
		.symbol = name.v, .dso = name.v, .kind = CAM_FRAME_MARK};
	return err ? err : cam_frames_intern(frames, &frame, out);
}
