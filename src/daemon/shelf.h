// SPDX-License-Identifier: Apache-2.0
/*
 * Where on this machine a module's file may lie, and how such a file is opened.
 *
 * A place is only a place: whether the file there is the module is told by its build-id or its key. Paths
 * come out of recordings that anybody may have made, so nothing is opened but regular files: a device or
 * a FIFO would act, or hang, on being opened.
 */
#pragma once
#include "daemon/librarian.h"

#include <limits.h>

/* What a place can be filled with by fetching. */
enum cam_shelf_fetched {
	CAM_SHELF_NOT,
	CAM_SHELF_EXECUTABLE,
	CAM_SHELF_DEBUGINFO,
};

struct cam_shelf_place {
	enum cam_namer_origin origin;
	enum cam_shelf_fetched fetched;
	char path[PATH_MAX];
};

/* The nth place, best first; false: there are no more. Places that do not fit a path are left empty. */
bool cam_shelf_place(const struct cam_librarian_options *o, const struct cam_namer_module *m,
		     unsigned nth, struct cam_shelf_place *out);
/* A descriptor to read by (close-on-exec), and the file's key. -EINVAL: no regular file; else as open(). */
int cam_shelf_open(const char *path, struct cam_file_key *key);
/* Whether a recorded key (struct cam_module's bytes) is that of this file. */
bool cam_shelf_is_key(struct cam_text recorded, const struct cam_file_key *key);
