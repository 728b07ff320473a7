// SPDX-License-Identifier: Apache-2.0
/*
 * Door F, and through it every view of door E: a line with a path and its parameters, a line with a body, and the bytes
 * of the one window that is asked. Whatever they are there is an answer, within its bounds.
 */
#include "house.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cam_shared shared;
	char line[2048] = "", body[1024] = "", *rest = line;
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size, at = n + (end != NULL);
	snprintf(line, sizeof(line), "%.*s", (int)n, (const char *)data);
	end = size > at ? memchr(data + at, '\n', size - at) : NULL;
	n = end ? (size_t)(end - data) - at : 0;
	snprintf(body, sizeof(body), "%.*s", (int)n, (const char *)data + at);
	at += n + (end != NULL);
	struct fuzz_house h = {data + at, size - at};
	struct cam_server_house house = {.self = &h,
					 .given = 1,
					 .enter = fuzz_enter,
					 .find = fuzz_find,
					 .leave = fuzz_leave,
					 .limits = fuzz_limits};
	struct cam_request q = {.house = &house, .shared = &shared};
	struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES)};
	q.path = strsep(&rest, "?");
	fuzz_params(rest, &q);
	q.type = "application/json";
	q.body = cam_text_of(body);
	if (!strcmp(q.path, "/api/live") || cam_route_opens(q.path))
		return 0; /* the one never ends, the other has no answer of its own */
	cam_route(&q, &a);
	fuzz_check(a.status >= 200 && a.status < 600 && a.body.len <= CAM_ANSWER_BYTES);
	if (a.stream)
		fuzz_drain(a.stream);
	cam_buf_free(&a.body);
	return 0;
}
