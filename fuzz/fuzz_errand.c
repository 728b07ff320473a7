// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an errand, as tidings and as a bundle of them; what is accepted must pack into the same bytes. */
#include "base/bundle.h"
#include "model/errand.h"

#include <stdlib.h>

static void same(int n, const void *again, const uint8_t *data, size_t size)
{
	if (n < 0 || (size_t)n != size || memcmp(again, data, size) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char again[CAM_ERRAND_MAX_BYTES];
	char *scratch = malloc(3 * size + 8); /* errand.c: three times its own size */
	struct cam_errand e;
	struct cam_tidings t;
	if (!scratch)
		return 0;
	if (cam_errand_unpack(data, size, scratch, 3 * size, &e) == 0)
		same(cam_errand_pack(&e, again, sizeof(again)), again, data, size);
	if (cam_tidings_unpack(data, size, scratch, 3 * size, &t) == 0)
		same(cam_tidings_pack(&t, again, sizeof(again)), again, data, size);
	struct cam_text rest = {(const char *)data, size}, packet;
	while (cam_bundle_next(&rest, &packet))
		if (packet.p + packet.n != rest.p || rest.p + rest.n != (const char *)data + size)
			abort();
	free(scratch);
	return 0;
}
