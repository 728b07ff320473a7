// SPDX-License-Identifier: Apache-2.0
/* What stands above a picture: host and time, and what was asked for; and what is missing from it. */
#pragma once
#include "cli/filters.h"
#include "query/views.h"

/* "web1 · 2026-04-15 03:14:07 – 03:15:07 +02:00", as one reads it here; empty: not known. */
void cam_heading_when(const struct cam_seen *seen, char *room, size_t bytes);
/* "pid 2997, user git"; "everything recorded". */
void cam_heading_scope(const struct cam_filter_options *o, char *room, size_t bytes);
/* Says what the selection asked for and the view lacks: an exit status. */
int cam_heading_judge(const struct cam_seen *seen);
