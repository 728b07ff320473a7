// SPDX-License-Identifier: Apache-2.0
/* Any bytes at door H: what is understood must be written again as the same bytes. */
#include "daemon/control_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(struct cam_buf *again, const uint8_t *data, size_t size)
{
	/* A varint has longer forms too: those are read, never written. */
	if (cam_buf_error(again) || again->len > size ||
	    (again->len == size && memcmp(again->data, data, size) != 0))
		abort();
	cam_buf_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_text bytes = {(const char *)data, size}, text;
	struct cam_control_request r = {0};
	struct cam_buf again = CAM_BUF(CAM_CONTROL_MAX_BYTES);
	enum cam_control_verb verb;
	int status;
	if (cam_control_get_request(bytes, &verb, &r) == 0) {
		cam_control_put_request(&again, verb, &r);
		compare(&again, data, size);
	}
	if (cam_control_get_reply(bytes, &status, &text) == 0) {
		cam_control_put_reply(&again, status, text);
		compare(&again, data, size);
	}
	return 0;
}
