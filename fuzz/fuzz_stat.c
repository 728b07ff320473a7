// SPDX-License-Identifier: Apache-2.0
/* Any bytes as /proc/PID/stat, whose second field is whatever the process calls itself. */
#include "proc/process.h"
#include "proc_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t ns = 0, again = 0;
	int dir = fuzz_proc_dir("stat", data, size);
	if (cam_process_start(dir, &ns) != cam_process_start(dir, &again) || ns != again)
		abort();
	return 0;
}
