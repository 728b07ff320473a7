// SPDX-License-Identifier: Apache-2.0
/*
 * Journal recovery. Inputs that begin with 'r' are a file as it is; others are repaired first, so
 * that crc, sequence and lengths of each block are right and only what is inside them is wrong.
 */
#include "peek.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file *f = fuzz_file_new(data, size);
	struct cam_window *w;
	if (size && data[0] != 'r')
		fuzz_repair(f->bytes, f->n);
	if (fuzz_open_journal(f, &w) == 0)
		fuzz_window(w);
	return 0;
}
