// SPDX-License-Identifier: Apache-2.0
/*
 * For the fuzzer of sealed windows: makes a file whose checksums are right from a directory and
 * what follows it, so that only what is inside them is wrong.
 */
#pragma once
#include "base/crc32c.h"
#include "store/window_dir.h"
#include "window.h"

static void put_u32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

/* data: a byte of the fuzzer's own, u16 bytes of the directory, the directory, the chunks. */
static struct fuzz_file *fuzz_sealed(const uint8_t *data, size_t size)
{
	struct cam_buf b = CAM_BUF(1u << 20);
	struct cam_dir d;
	size_t dir = size < 3 ? 0 : data[1] | data[2] << 8, left = size < 3 ? 0 : size - 3;
	dir = dir < left ? dir : left;
	cam_buf_put_u8(&b, 0); /* fuzz_file_new() drops it */
	cam_buf_put_u64(&b, CAM_WINDOW_MAGIC);
	cam_buf_put(&b, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	cam_buf_put_u32(&b, cam_crc32c(0, b.data + 1, 20));
	size_t head = b.len;
	cam_buf_put_u32(&b, CAM_DIRECTORY_MAGIC);
	cam_buf_put(&b, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	cam_buf_put_u8(&b, CAM_CODER_STORED);
	cam_buf_put_string(&b, data + 3, dir);
	put_u32(b.data + head + 4, (uint32_t)(b.len - head - 16));
	put_u32(b.data + head + 8, (uint32_t)dir);
	uint32_t crc = cam_crc32c(0, b.data + head, 12);
	put_u32(b.data + head + 12, cam_crc32c(crc, b.data + head + 16, b.len - head - 16));
	size_t chunks = b.len;
	cam_buf_put(&b, data + 3 + dir, left - dir);
	cam_buf_put(&b, "\0\0\0\0\0\0\0\0", CAM_STREAM_SLACK);
	b.len -= CAM_STREAM_SLACK;
	int err = cam_dir_read(&d, b.data + chunks - dir, dir, b.len - 1);
	for (unsigned k = 0; !err && !cam_dir_place_chunks(&d, chunks) && k < CAM_CHUNK_KINDS; k++)
		for (size_t i = 0; i < d.sections[k].n; i++) {
			const struct cam_dir_chunk *c = &d.sections[k].chunks[i];
			if (c->bytes > 4 && c->offset <= b.len && c->bytes <= b.len - c->offset)
				put_u32(b.data + c->offset,
					cam_chunk_crc((enum cam_chunk_kind)k, (uint32_t)i,
						      b.data + c->offset + 4, c->bytes - 4));
		}
	cam_dir_free(&d);
	struct fuzz_file *f = fuzz_file_new(b.data, b.len);
	cam_buf_free(&b);
	return f;
}
