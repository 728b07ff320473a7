// SPDX-License-Identifier: Apache-2.0
/* Any text as the format of a tracepoint, any bytes behind a zero as its fields. */
#include "interop/trace_format.h"
#include "interop/trace_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size ? strnlen((const char *)data, size) : 0;
	struct cam_text text = {(const char *)data, n};
	struct cam_trace_format f;
	if (cam_trace_format_parse(CAM_TEXT("fuzz"), text, &f))
		return 0;
	struct cam_buf out = CAM_BUF(1u << 16);
	uint8_t *raw = malloc(size - n + 1); /* exactly as long: reads beyond it show */
	if (!raw)
		return 0;
	memcpy(raw, data + n, size - n);
	cam_trace_print(&f, raw, size - n, size & 1, NULL, &out);
	free(raw);
	cam_buf_free(&out);
	cam_trace_format_free(&f);
	return 0;
}
