// SPDX-License-Identifier: Apache-2.0
/* Where on a window's clock a wall-clock time lies, for marks of the past. */
#pragma once
#include "model/nouns.h"
#include "store/io.h"

struct cam_moment {
	struct cam_boot_id boot_id;
	uint64_t time_ns;
	uint64_t uncertainty_ns;
};

/*
 * By the anchors of the window that holds it, of whatever boot; else, for a time of this boot, by
 * today's clocks. -ENOENT: neither. -ERANGE: it has not come yet. -EIO, … : the store or the clocks cannot be read.
 */
int cam_moment_find(struct cam_io *io, int64_t realtime_ns, struct cam_moment *out);
