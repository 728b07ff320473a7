// SPDX-License-Identifier: Apache-2.0
/* Pins: 'r' and the file as it is, or lines without their checksums, which are put in. */
#include "base/crc32c.h"
#include "one_file.h"

static void put_line(struct cam_buf *out, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);
	const char *note = space ? memchr(space + 1, ' ', n - (size_t)(space + 1 - line)) : NULL;
	size_t times = note ? (size_t)(note - line) : n;
	cam_buf_put(out, line, times);
	cam_buf_printf(out, " %08x", cam_crc32c(0, line, n));
	cam_buf_put(out, line + times, n - times);
	cam_buf_put_u8(out, '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_buf made = CAM_BUF(1u << 20);
	size_t lines = 0;
	bool raw = size && data[0] == 'r';
	cam_buf_put(&made, raw ? (const char *)data + 1 : "perfcam pins 1\n", raw ? size - 1 : 15);
	for (size_t at = 0, n; !raw && at < size; at += n + 1, lines++) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		n = end ? (size_t)(end - data) - at : size - at;
		put_line(&made, (const char *)data + at, n);
	}
	if (!raw)
		cam_buf_printf(&made, "end %zu\n", lines);
	struct fuzz_store store = fuzz_store_with(made.data, made.len);
	struct cam_pins pins = {0};
	struct cam_window_info info = {0};
	int err = cam_pins_read(&store.io, &pins);
	fuzz_check(raw || err || pins.n == lines);
	for (size_t i = 0; i < pins.n; i++)
		cam_pin_covers(&pins.rows[i], &info);
	free(pins.rows);
	cam_buf_free(&made);
	return 0;
}
