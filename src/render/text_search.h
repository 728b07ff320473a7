// SPDX-License-Identifier: Apache-2.0
/* Moments of a search as text, one a line. */
#pragma once
#include "query/view_search.h"
#include "render/text_table.h"

/* Of o the zone and columns count. The stream's error, or 0. */
int cam_text_search_write(const struct cam_search *s, const struct cam_text_table_options *o,
			  struct cam_out *out);
