// SPDX-License-Identifier: Apache-2.0
/* Any bytes as Chrome's trace events (or gzip, or zstd), into the real receiver. */
#include "importer.h"
#include "interop/chrome_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(data, size, cam_trace_events_read);
}
