// SPDX-License-Identifier: Apache-2.0
#include "query/frames.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

void cam_frames_free(struct cam_frames *f)
{
	free(f->v);
	free(f->of);
	cam_index_free(&f->index);
	*f = (struct cam_frames){0};
}

static bool same_frame(const void *rows, uint32_t id, const void *key)
{
	return !memcmp((const struct cam_call_frame *)rows + id, key,
		       sizeof(struct cam_call_frame));
}

int cam_frames_intern(struct cam_frames *f, const struct cam_call_frame *frame, uint32_t *out)
{
	uint64_t hash = cam_hash(frame, sizeof(*frame));
	*out = cam_index_find(&f->index, hash, same_frame, f->v, frame);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&f->v, &f->cap, f->n + 1, sizeof(*f->v), CAM_MAX_ROWS);
	if (!err)
		err = cam_index_reserve(&f->index);
	if (err)
		return err;
	*out = (uint32_t)f->n++;
	f->v[*out] = *frame;
	cam_index_add(&f->index, hash, *out);
	return 0;
}

int cam_frames_begin(struct cam_frames *f, const struct cam_tables *t)
{
	f->of = calloc(t->n_functions + 1, sizeof(*f->of));
	return f->of ? 0 : -ENOMEM;
}

void cam_frames_end(struct cam_frames *f)
{
	free(f->of);
	f->of = NULL;
}

static int make(struct cam_frames *f, struct cam_tables *names, const struct cam_tables *t,
		uint32_t function, uint32_t *out)
{
	static const struct cam_function unknown = {.kind = CAM_FUNC_USER};
	bool known = function < t->n_functions;
	const struct cam_function *of = known ? &t->functions[function] : &unknown;
	struct cam_call_frame frame = {0};
	struct cam_str_id id;
	char room[512];
	int err = 0;
	if (f->by_symbol) {
		struct cam_text label =
			known ? cam_function_label(t, (struct cam_func_id){function}, room,
						   sizeof(room))
			      : CAM_TEXT("[unknown]");
		err = cam_string_intern(names, label, &id);
		frame.symbol = err ? 0 : id.v;
		frame.kind = cam_groups_kind(of);
	}
	if (f->by_dso && !err) {
		err = cam_string_intern(names, cam_groups_dso(t, of), &id);
		frame.dso = err ? 0 : id.v;
	}
	return err ? err : cam_frames_intern(f, &frame, out);
}

int cam_frames_of(struct cam_frames *f, struct cam_tables *names, const struct cam_tables *t,
		  uint32_t function, uint32_t *out)
{
	if (function >= t->n_functions)
		return make(f, names, t, function, out);
	int err = 0;
	if (!f->of[function]) {
		err = make(f, names, t, function, out);
		f->of[function] = err ? 0 : *out + 1;
	}
	*out = f->of[function] - 1;
	return err;
}
