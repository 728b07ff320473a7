// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile tables and stacks: registers (24 bytes), an entry of cam_files (48), an image (136), a chunk
 * (2048), blocks, and from the middle on the stack. No step leaves its arrays, or lowers sp.
 */
#include "step_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_step_env e = {.n_stack = size / 2, .stack = data + size - size / 2};
	struct cam_step s = {.bp_known = 1, .exact = 1, .leaf = 1};
	size -= size / 2;
	/* Exactly as large as they are: a read beyond is seen. */
	e.chunk = malloc(sizeof(*e.chunk));
	take(&s, 24, &data, &size);
	take(&e.file, sizeof(e.file), &data, &size);
	take(&e.image, sizeof(e.image), &data, &size);
	take(e.chunk, sizeof(*e.chunk), &data, &size);
	e.n_blocks = (uint32_t)(size / sizeof(*e.blocks)) + 1;
	e.n_blocks = e.n_blocks < 16 ? e.n_blocks : 16;
	e.blocks = malloc(e.n_blocks * sizeof(*e.blocks));
	for (uint32_t i = 0; i < e.n_blocks; i++)
		take(&e.blocks[i], sizeof(*e.blocks), &data, &size);
	for (int i = 0; i < 1000; i++) {
		uint64_t sp = s.sp;
		if (cam_step_up(&e, &s) != CAM_STACK_UNKNOWN)
			break;
		/* But for signals: what they interrupted is exact, and its stack may be any. */
		if (s.sp <= sp && !s.exact)
			abort();
	}
	free(e.chunk);
	free(e.blocks);
	return 0;
}
