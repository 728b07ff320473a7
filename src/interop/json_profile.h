// SPDX-License-Identifier: Apache-2.0
/*
 * What readers of profiles in JSON have in common: one value is read, everything is held (replay.h), then converted and
 * handed over. What is missing at the end of a file, or too much for the memory, costs that and no more.
 *
 * A reader's struct begins with this one.
 */
#pragma once
#include "interop/json_in.h"
#include "interop/replay.h"

struct cam_json_profile {
	struct cam_json_in j;
	struct cam_replay out;
	uint64_t bad; /* what made no sense and was passed over */
	uint32_t
		may_open; /* so many brackets may be missing at the end, by the format's own rule */
};

struct cam_json_profile_ops {
	const char *format;
	size_t bytes; /* of the reader's struct, which starts out as zeros */
	/* Both: -E2BIG ends the reading; what was read by then counts. */
	int (*read)(struct cam_json_profile *p);
	int (*convert)(struct cam_json_profile *p);
	void (*free)(struct cam_json_profile *p);
};

int cam_json_profile_read(const struct cam_json_profile_ops *ops, struct cam_input *in,
			  struct cam_sink *sink, const struct cam_import_options *o,
			  struct cam_import_stats *st);

/* Copies as much of a text as there is room for; how much that was. */
size_t cam_json_profile_copy(struct cam_text s, char *room, size_t bytes);
