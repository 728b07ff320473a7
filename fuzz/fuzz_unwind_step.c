// SPDX-License-Identifier: Apache-2.0
/* Any bytes as registers, mappings, packed tables and a stack: steps stay inside, and lead upwards. */
#include "model/unwind_step.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define N_BLOCKS 4u

struct cam_step_env {
	uint64_t ip, sp, bp;
	struct cam_unwind_file file;
	struct cam_unwind_image image;
	struct cam_unwind_chunk chunk;
	uint64_t stack[64];
	struct cam_unwind_block blocks[N_BLOCKS];
};

#include "step_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_step_env *e = calloc(1, sizeof(*e));
	if (!e)
		return 0;
	memcpy(e, data, size < sizeof(*e) ? size : sizeof(*e));
	struct cam_step s = {e->ip, e->sp, e->bp, .exact = 1, .bp_known = 1, .leaf = 1};
	for (unsigned int i = 0; i < 512; i++) {
		uint64_t sp = s.sp;
		if (cam_step_up(e, &s) != CAM_STACK_UNKNOWN)
			break;
		if (s.sp <= sp && !s.exact) /* but for signals */
			abort();
	}
	free(e);
	return 0;
}
