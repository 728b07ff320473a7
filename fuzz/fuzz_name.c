// SPDX-License-Identifier: Apache-2.0
/* Any bytes as the name of a file in a store: what it is taken for, and what it says when it is made anew. */
#include "store/name.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[CAM_NAME_BYTES] = "", again[CAM_NAME_BYTES];
	struct cam_name_parts p, q;
	memcpy(name, data, size < sizeof(name) ? size : sizeof(name) - 1);
	uint64_t sequence = cam_name_journal_sequence(name);
	cam_name_journal(sequence, again);
	if (sequence && (cam_name_kind(name) == CAM_FILE_FOREIGN ||
			 cam_name_journal_sequence(again) != sequence))
		abort();
	if (!cam_name_parse(name, &p))
		return 0;
	if (cam_name_kind(name) != CAM_FILE_WINDOW)
		abort();
	const struct cam_window_info info = {.host = {p.host, strlen(p.host)},
					     .realtime_ns = p.start_ns,
					     .end_ns = p.seconds * 1000000000};
	cam_name_window(&info, p.copy, again);
	if (p.seconds < 1u << 30 &&
	    (!cam_name_parse(again, &q) || q.start_ns != p.start_ns || q.copy != p.copy))
		abort();
	return 0;
}
