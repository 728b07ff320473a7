// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a perf map, read at once and in two steps: both find the same, inside the bounds. */
#include "symbol/perfmap.h"

#include <stdlib.h>

#define CHECK(good) ((good) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_to(struct cam_perfmap *m, const uint8_t *data, size_t size)
{
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	bool behind;
	CHECK(cam_perfmap_read(m, &b, 16u << 20, &behind) == 0 && m->at <= size);
	CHECK(cam_jitcode_memory(m->code) < (1u << 20) + 64 * size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_perfmap once, twice;
	struct cam_jitcode_hit a, b;
	CHECK(!cam_perfmap_open(&once) && !cam_perfmap_open(&twice));
	read_to(&once, data, size);
	read_to(&twice, data, size / 2);
	read_to(&twice, data, size);
	CHECK(once.at == twice.at && once.bad_lines == twice.bad_lines);
	for (uint64_t at = 0; at < 0x4000; at += 7) {
		bool found = cam_jitcode_find(once.code, at, &a);
		CHECK(found == cam_jitcode_find(twice.code, at, &b));
		CHECK(!found || (a.start <= at && a.start == b.start && a.name.n &&
				 cam_text_equal(a.name, b.name)));
	}
	cam_perfmap_close(&once);
	cam_perfmap_close(&twice);
	return 0;
}
