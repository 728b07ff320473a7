// SPDX-License-Identifier: Apache-2.0
/* Where things are by default, and how times and sizes are shown. */
#pragma once
#include "model/cursor.h"

#include <stddef.h>

/* `given`, or what perfcam.conf says, or /var/lib/perfcam for root, or the user's data directory.
 * Written into room. -ERANGE where it does not fit, -ENOENT without a home. */
int cam_store_path(const char *given, char *room, size_t room_bytes);

/* "2026-04-15 03:14:07+02:00" in the local zone; "unknown" for INT64_MIN. */
void cam_show_realtime(int64_t realtime_ns, char *room, size_t room_bytes);
/* "2.4 MiB" */
void cam_show_bytes(uint64_t bytes, char *room, size_t room_bytes);
/* "120.0 s" */
void cam_show_span(const struct cam_window_info *w, char *room, size_t room_bytes);
