// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a line of a log, in every format. */
#include "events/log_time.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cam_log_world world = {.now_ns = 1776222847000000000};
	struct cam_text line = {(const char *)data, size};
	for (unsigned f = 0; f < CAM_LOG_FORMATS; f++) {
		struct cam_log_stamp s;
		cam_log_stamp_read(line, (enum cam_log_format)f, &world, &s);
		/* What is left of the line is its end. */
		if (s.text.n > size || (s.text.n && s.text.p + s.text.n != line.p + size))
			abort();
		if (s.format >= CAM_LOG_FORMATS || s.severity > CAM_SEVERITY_MAX)
			abort();
	}
	return 0;
}
