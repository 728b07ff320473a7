// SPDX-License-Identifier: Apache-2.0
/* `import --events FILE`: lines of a saved log as events of what was recorded then. */
#pragma once
#include "store/store.h"

struct cam_import_events {
	const char *file, *boot; /* NULL: not given */
	int64_t began_ns;	 /* of a dmesg: when its boot began; INT64_MIN: not said */
	bool json;
};

/* Says what became of the lines: an exit status. path: of the store, for messages. */
int cam_import_events(const struct cam_import_events *e, struct cam_io *io, struct cam_store *store,
		      const char *path);
