// SPDX-License-Identifier: Apache-2.0
/* The store in a few numbers, from the windows' headers alone. */
#pragma once
#include "model/cursor.h"

struct cam_facts {
	int64_t from_ns, to_ns; /* INT64_MIN: nothing has a wall clock */
	uint64_t windows, sealed, unreadable, samples, lost, bytes, cpus, events;
	struct cam_text host; /* of the newest; good as long as the source */
	bool several_hosts;
	size_t newest; /* a window that can be opened; SIZE_MAX: none */
};

void cam_facts_gather(struct cam_source *source, struct cam_facts *f);
