// SPDX-License-Identifier: Apache-2.0
/* Any name: it must come to an end within its work, and stay inside its room. */
#include "symbol/demangle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[CAM_DEMANGLE_MAX_BYTES + 1], room[512];
	if (size > CAM_DEMANGLE_MAX_BYTES)
		return 0;
	memcpy(name, data, size);
	name[size] = 0;
	uint64_t work = 1u << 20;
	size_t room_bytes = size % sizeof(room) + 1;
	struct cam_text t = cam_demangle(cam_text_of(name), room, room_bytes, &work);
	if (t.p != name && (t.p != room || t.n > room_bytes || !t.n))
		abort();
	return 0;
}
