// SPDX-License-Identifier: Apache-2.0
/* Late events: 'r' and the file as it is, or payloads, each behind a byte with its length: of whole blocks in order. */
#include "one_file.h"
#include "store/journal_format.h"

static void put_block(struct cam_buf *out, const void *p, size_t n, uint32_t nth, uint32_t *seed)
{
	static const uint8_t head[CAM_JOURNAL_HEAD];
	struct cam_journal_head h = {.bytes = (uint32_t)n,
				     .plain_bytes = (uint32_t)n,
				     .sequence = nth,
				     .type = nth ? CAM_JOURNAL_DATA : CAM_JOURNAL_HEADER};
	cam_buf_put(out, head, sizeof(head));
	cam_buf_put(out, p, n);
	uint8_t *at = out->data + (out->len - n - sizeof(head));
	uint32_t crc = cam_buf_error(out) ? 0 : cam_journal_put_head(at, &h, *seed);
	*seed = nth ? *seed : crc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char header[] = "\0\0\0\0\0\0\0\0\0\0\0\0\rperfcam annex";
	struct cam_buf made = CAM_BUF(1u << 20);
	uint32_t seed = 0, sequence = 0;
	bool raw = size && data[0] == 'r';
	put_block(&made, header, sizeof(header) - 1, sequence++, &seed);
	for (size_t at = 0, n; !raw && at < size; at += n + 1) {
		n = data[at] < size - at ? data[at] : size - at - 1;
		put_block(&made, data + at + 1, n, sequence++, &seed);
	}
	struct fuzz_store s =
		fuzz_store_with(raw ? data + 1 : made.data, raw ? size - 1 : made.len);
	struct cam_annex a;
	if (cam_annex_read(&s.io, &a) == 0) {
		fuzz_check(a.good_bytes <= a.file_bytes && a.bad_bytes <= a.file_bytes);
		cam_annex_free(&a);
	}
	cam_buf_free(&made);
	return 0;
}
