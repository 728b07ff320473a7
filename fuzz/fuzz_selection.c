// SPDX-License-Identifier: Apache-2.0
/* A selection in words, as a URL or a quoted argument brings it. */
#include "query/select.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int32_t zone(void *arg, int64_t sec)
{
	(void)arg;
	/* One that changes: an hour more in every other ten days. */
	return sec / 864000 % 2 ? 7200 : 3600;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_selection s;
	char why[CAM_WHEN_WHY_BYTES] = "";
	cam_selection_init(&s);
	s.world.time = (struct cam_time_world){1776222847000000000, zone, NULL};
	int err = cam_selection_read(&s, (struct cam_text){(const char *)data, size}, why,
				     sizeof(why));
	if (!err)
		err = cam_selection_check(&s, why, sizeof(why));
	if (!err)
		err = cam_selection_settle(&s, NULL, why, sizeof(why));
	/* Refused with a reason, or a range that is none the wrong way round. */
	if (err ? !why[0] : s.clock != CAM_SELECT_ALWAYS && s.from_ns >= s.to_ns)
		abort();
	cam_selection_free(&s);
	return 0;
}
