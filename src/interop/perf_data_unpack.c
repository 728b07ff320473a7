// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_data_unpack.h"

#include "interop/perf_data_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define BUFFER_BYTES (256u << 10)
#define FREE_BYTES   (64u << 20)
#define WINDOW_LOG   27
#define HEADER	     8u
#define COMPRESSED   81u
#define COMPRESSED2  83u

struct cam_perf_unpack {
	cam_perf_unpack_fn *fn;
	void *arg;
	bool swap, broken;
	ZSTD_DStream *zstd;
	size_t fill;
	uint64_t in, out, damage;
	uint8_t bytes[BUFFER_BYTES];
};

int cam_perf_unpack_new(cam_perf_unpack_fn *fn, void *arg, bool swap, struct cam_perf_unpack **out)
{
	struct cam_perf_unpack *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->fn = fn;
	u->arg = arg;
	u->swap = swap;
	u->zstd = ZSTD_createDStream();
	if (!u->zstd) {
		free(u);
		return -ENOMEM;
	}
	ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
	*out = u;
	return 0;
}

void cam_perf_unpack_free(struct cam_perf_unpack *u)
{
	if (!u)
		return;
	ZSTD_freeDStream(u->zstd);
	free(u);
}

uint64_t cam_perf_unpack_damage(const struct cam_perf_unpack *u)
{
	return u->damage + u->fill;
}

/* Whole records to fn; what is left of one stays. */
static int split(struct cam_perf_unpack *u)
{
	size_t at = 0;
	int err = 0;
	while (!err && u->fill - at >= HEADER) {
		uint32_t type = cam_perf_load_u32(u->bytes + at, u->swap);
		size_t size = cam_perf_load_u16(u->bytes + at + 6, u->swap);
		if (size < HEADER || !type || type == COMPRESSED || type == COMPRESSED2) {
			at += HEADER;
			u->damage += HEADER;
			continue;
		}
		if (size > u->fill - at)
			break;
		err = u->fn(u->arg, u->bytes + at, size);
		at += size;
	}
	memmove(u->bytes, u->bytes + at, u->fill - at);
	u->fill -= at;
	return err;
}

int cam_perf_unpack_take(struct cam_perf_unpack *u, const void *p, size_t n)
{
	ZSTD_inBuffer from = {p, n, 0};
	u->in += n;
	if (u->broken) {
		u->damage += n;
		return 0;
	}
	for (;;) {
		ZSTD_outBuffer to = {u->bytes, sizeof(u->bytes), u->fill};
		size_t before = from.pos;
		size_t got = ZSTD_decompressStream(u->zstd, &to, &from);
		bool moved = to.pos != u->fill || from.pos != before, full = to.pos == to.size;
		u->out += to.pos - u->fill;
		u->fill = to.pos;
		if (ZSTD_isError(got)) {
			u->broken = true;
			u->damage += n - from.pos;
			return split(u);
		}
		if (u->out > FREE_BYTES && u->out / CAM_PERF_UNPACK_RATIO > u->in)
			return -EFBIG;
		int err = split(u);
		if (err)
			return err;
		if (!moved || (from.pos == n && !full))
			return 0;
	}
}
