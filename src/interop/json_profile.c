// SPDX-License-Identifier: Apache-2.0
#include "interop/json_profile.h"

#include <errno.h>
#include <stdlib.h>

size_t cam_json_profile_copy(struct cam_text s, char *room, size_t bytes)
{
	size_t n = s.n < bytes ? s.n : bytes;
	memcpy(room, s.p, n);
	return n;
}

int cam_json_profile_read(const struct cam_json_profile_ops *ops, struct cam_input *in,
			  struct cam_sink *sink, const struct cam_import_options *o,
			  struct cam_import_stats *st)
{
	*st = (struct cam_import_stats){.clock = CAM_CLOCK_FOREIGN};
	struct cam_json_profile *p = calloc(1, ops->bytes);
	if (!p)
		return -ENOMEM;
	cam_json_in_init(&p->j, in);
	int err = cam_replay_init(&p->out, CAM_REPLAY_BYTES);
	p->out.began_ns = o ? o->began_ns : 0;
	if (!err)
		err = ops->read(p);
	bool full = err == -E2BIG;
	if (!err || full)
		err = ops->convert(p);
	full |= err == -E2BIG;
	bool whole = p->j.token != CAM_JSON_BAD && p->j.depth <= p->may_open && !p->bad && !full;
	if (!err || full)
		err = cam_replay_finish(&p->out, ops->format, in, whole, sink, st);
	st->long_lines += p->j.cut_texts;
	cam_json_in_free(&p->j);
	cam_replay_free(&p->out);
	ops->free(p);
	free(p);
	return err;
}
