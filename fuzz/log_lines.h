// SPDX-License-Identifier: Apache-2.0
/* For the fuzzer of logs: which lines a text has, by the shortest code that says it. */
#pragma once
#include "events/log_tail.h"

/* The next line that is not empty; of a last one without an end, what there is. */
static struct cam_text next_line(struct cam_text *left, bool *ended)
{
	struct cam_text line = {left->p, 0};
	while (left->n && !line.n) {
		const char *end = memchr(left->p, '\n', left->n);
		size_t n = end ? (size_t)(end - left->p) : left->n, taken = n + (end != NULL);
		line = (struct cam_text){left->p, n < CAM_LOG_LINE_BYTES ? n : CAM_LOG_LINE_BYTES};
		line.n -= line.n && line.p[line.n - 1] == '\r';
		*left = (struct cam_text){left->p + taken, left->n - taken};
		*ended = end || n > CAM_LOG_LINE_BYTES;
	}
	return line;
}
