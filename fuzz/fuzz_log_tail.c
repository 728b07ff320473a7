// SPDX-License-Identifier: Apache-2.0
/* A log that grows by pieces of one length: each of its lines is handed out once, in order, as it is or cut. */
#include "log_lines.h"
#include "proc_dir.h"

#include <stdio.h>

static void compare(void *left, struct cam_text line)
{
	bool ended = false;
	if (!cam_text_equal(line, next_line(left, &ended)) || !ended)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_log_tail *t;
	struct cam_text left = {(const char *)data, size};
	char path[sizeof(fuzz_place) + 8];
	bool ended = false;
	fuzz_proc_dir("log", data, 0);
	snprintf(path, sizeof(path), "%s/log", fuzz_place);
	if (cam_log_tail_open(path, &t))
		abort();
	for (size_t at = 0, step = size % 4099 + 1, n; at < size; at += n) {
		n = step < size - at ? step : size - at;
		if (pwrite(fuzz_fd, data + at, n, (off_t)at) != (ssize_t)n ||
		    cam_log_tail_read(t, false, compare, &left))
			abort();
	}
	cam_log_tail_close(t);
	if (next_line(&left, &ended).n && ended)
		abort(); /* one was left out */
	return 0;
}
