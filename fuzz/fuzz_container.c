// SPDX-License-Identifier: Apache-2.0
/* A cgroup's path: whatever its bytes, what it says of a container lies in it. */
#include "model/container.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_text path = {(const char *)data, size};
	struct cam_container c = cam_container_of(path);
	bool inside = c.id.p >= path.p && c.id.p + c.id.n <= path.p + path.n;
	if ((c.id.n && !inside) || strlen(c.pod) > CAM_POD_BYTES || (c.runtime.n && !c.id.n))
		abort();
	if (c.id.n && !cam_container_is(&c, c.id))
		abort();
	if (c.pod[0] && !cam_container_is_in_pod(&c, cam_text_of(c.pod)))
		abort();
	return 0;
}
