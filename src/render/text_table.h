// SPDX-License-Identifier: Apache-2.0
/* A table as text, one row a line. */
#pragma once
#include "base/out.h"
#include "query/view_table.h"

struct cam_text_table_options {
	unsigned columns; /* of the screen; 0: as wide as it needs */
	bool samples;	  /* with their number */
	bool no_head;
	/* Seconds east of UTC at that moment (seconds since 1970); NULL: UTC. */
	int32_t (*zone)(void *arg, int64_t sec);
	void *zone_arg;
};

/* The stream's error, or 0. */
int cam_text_table_write(const struct cam_table *t, const struct cam_text_table_options *o,
			 struct cam_out *out);
