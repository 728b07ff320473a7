// SPDX-License-Identifier: Apache-2.0
/*
 * Where things are when nobody says where. Each writes a path into room: 0, -ERANGE where it does
 * not fit, -ENOENT where this user has no such place. A service manager that made directories for
 * this service ($STATE_DIRECTORY, $CONFIGURATION_DIRECTORY, $RUNTIME_DIRECTORY) is asked first.
 */
#pragma once
#include <stddef.h>

/* /var/lib/perfcam for root, else perfcam in the user's data directory. */
int cam_paths_store(char *room, size_t room_bytes);
/* Makes what is missing above that: a new user may have no data directory yet. Who opens it tells errors. */
void cam_paths_make_store_parents(void);
/* /etc/perfcam/perfcam.conf for root, else perfcam/perfcam.conf in the user's configuration. */
int cam_paths_config(char *room, size_t room_bytes);
/* /run/perfcam for root, else perfcam in the user's run-time directory. */
int cam_paths_run(char *room, size_t room_bytes);
