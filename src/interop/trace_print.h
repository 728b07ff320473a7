// SPDX-License-Identifier: Apache-2.0
/* A tracepoint's fields as text, as perf script prints them. */
#pragma once
#include "base/buf.h"
#include "interop/trace_format.h"

/* Who knows the kernel's functions by their addresses; find NULL: nobody. */
struct cam_trace_symbols {
	void *arg;
	bool (*find)(void *arg, uint64_t address, struct cam_text *name, uint64_t *offset);
};

/*
 * Appends the text of one sample. An event whose format was not understood gets "[FAILED TO PARSE]" and its
 * fields, as perf has it. Reads nothing past raw + bytes: fields that lie there are 0 or empty.
 */
void cam_trace_print(const struct cam_trace_format *f, const uint8_t *raw, size_t bytes, bool swap,
		     const struct cam_trace_symbols *symbols, struct cam_buf *out);
