// SPDX-License-Identifier: Apache-2.0
/* Door G from its other side: two bytes say how it is asked, two how long the first file is, which is asked about; the second one is its
 * debug file, and its supplement. Each answer is one that the recorder takes, in whole. */
#include "symboliser.h"

#define OFFSETS 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum cam_errand_type types[] = {CAM_ERRAND_NAMES, CAM_ERRAND_NAMES,
						     CAM_ERRAND_TABLE, CAM_ERRAND_OUTLINE};
	uint64_t offsets[OFFSETS];
	if (size < 4)
		return 0;
	unsigned how = data[0] | (unsigned)data[1] << 8, own = data[2] | (unsigned)data[3] << 8;
	size_t first = own < size - 4 ? own : size - 4;
	for (unsigned i = 0; i < OFFSETS; i++)
		offsets[i] = first / OFFSETS * i + (how >> 8);
	struct fuzz_asked a = {.e = {.type = types[how & 3],
				     .file = CAM_FILE_FIRST,
				     .format = (enum cam_file_format)(how >> 2 & 3),
				     .search = how & 16,
				     .search_supplement = how & 32,
				     .supplement = how & 64,
				     .names_only = how & 128,
				     .offsets = offsets,
				     .n_offsets = OFFSETS}};
	int file = fuzz_file(data + 4, first),
	    other = fuzz_file(data + 4 + first, size - 4 - first);
	const int fds[CAM_PACKET_FDS] = {file, other, other};
	fuzz_ask(&a, fds);
	if (file >= 0)
		close(file);
	if (other >= 0)
		close(other);
	return 0;
}
