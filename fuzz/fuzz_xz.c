// SPDX-License-Identifier: Apache-2.0
/* .gnu_debugdata: any bytes as an xz stream, of which a mebibyte is wanted at most. */
#include "symbol/xz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t most = 1u << 20;
	struct cam_bytes bytes = cam_bytes_of_memory(data, size);
	uint8_t *out = NULL;
	size_t n = 0;
	if (cam_xz_inflate(&bytes, 0, size, most, &out, &n) == 0) {
		if (n > most || (n && !out))
			abort();
		uint8_t sum = 0;
		for (size_t i = 0; i < n; i++)
			sum |= out[i];
		if (sum && !n)
			abort();
		free(out);
	}
	return 0;
}
