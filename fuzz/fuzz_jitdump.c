// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a jitdump, read at once and in two steps: both find the same. */
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdlib.h>

#define CHECK(good) ((good) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_to(struct cam_jitdump *d, const uint8_t *data, size_t size)
{
	struct cam_bytes b = cam_bytes_of_memory(data, size);
	bool behind = true;
	int err = 0;
	while (!err && behind)
		err = cam_jitdump_read(d, &b, 16u << 20, &behind);
	CHECK(err == 0 || err == -EBADMSG);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_jitdump once, twice;
	struct cam_jitcode_hit a, b;
	CHECK(!cam_jitdump_open(&once) && !cam_jitdump_open(&twice));
	int err = read_to(&once, data, size);
	read_to(&twice, data, size / 2);
	CHECK(read_to(&twice, data, size) == err);
	for (uint64_t at = 0; !err && at < 0x4000; at += 7) {
		bool found = cam_jitcode_find(once.code, at, &a);
		CHECK(found == cam_jitcode_find(twice.code, at, &b));
		CHECK(!found || (a.start <= at && a.name.n && cam_text_equal(a.name, b.name)));
	}
	cam_jitdump_close(&once);
	cam_jitdump_close(&twice);
	return 0;
}
