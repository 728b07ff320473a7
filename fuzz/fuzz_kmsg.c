// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a record of the kernel's log, and as a text that may hold secrets. */
#include "events/event_kind.h"
#include "events/kmsg_record.h"
#include "events/redact.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_kmsg_record r;
	struct cam_text bytes = {(const char *)data, size};
	char *room = malloc(size ? size : 1);
	if (!room || size > CAM_KMSG_RECORD_BYTES) {
		free(room);
		return 0;
	}
	struct cam_text text = bytes;
	if (cam_kmsg_record_parse(bytes, room, &r) == 0)
		text = r.text;
	if (text.n > size)
		abort();
	struct cam_buf out = CAM_BUF(1u << 20);
	cam_redact(text, &out);
	cam_event_kind_of(text);
	/* Ten bytes for one at most. */
	if (cam_buf_error(&out) || out.len > 10 * text.n + 10)
		abort();
	cam_buf_free(&out);
	free(room);
	return 0;
}
