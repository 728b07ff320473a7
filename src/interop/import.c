// SPDX-License-Identifier: Apache-2.0
#include "interop/import.h"

#include "base/buf.h"

#include <inttypes.h>

bool cam_import_is_partial(const struct cam_import_stats *st)
{
	return st->end != CAM_INPUT_WHOLE || st->malformed_samples || st->unfinished_samples ||
	       st->refused_samples || st->long_lines || st->truncated_stacks || st->zero_lines ||
	       st->damaged_bytes || st->missing_bytes || st->no_size || st->no_features ||
	       st->unknown_code;
}

static const char *end_text(enum cam_input_end end)
{
	switch (end) {
	case CAM_INPUT_WHOLE:
		break;
	case CAM_INPUT_CUT:
		return "the compressed file ends in the middle";
	case CAM_INPUT_DAMAGED:
		return "the compressed file is damaged from there on";
	case CAM_INPUT_BOMB:
		return "decompression bomb: it grows beyond the ratio allowed";
	case CAM_INPUT_UNREADABLE:
		return "it cannot be read further";
	}
	return "";
}

void cam_import_explain(const struct cam_import_stats *st, char *room, size_t room_bytes)
{
	const struct {
		uint64_t n;
		const char *what;
	} losses[] = {
		{st->malformed_samples, "malformed samples"},
		{st->unfinished_samples, "sample cut off at the end"},
		{st->refused_samples, "samples without a place"},
		{st->long_lines, "lines cut for length"},
		{st->truncated_stacks, "stacks cut for depth"},
		{st->rounded_counts, "counts rounded"},
		{st->zero_lines, "lines with zero bytes in them (a hole in the file)"},
		{st->malformed_lines, "lines not understood"},
		{st->damaged_bytes, "bytes of damaged records"},
		{st->missing_bytes, "bytes of records missing at the end"},
		{st->unknown_code, "mappings or threads too many to keep"},
	};
	struct cam_buf b = CAM_BUF(400);
	if (st->end != CAM_INPUT_WHOLE)
		cam_buf_printf(&b, "%s (after %" PRIu64 " samples)", end_text(st->end),
			       st->samples);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (losses[i].n)
			cam_buf_printf(&b, "%s%" PRIu64 " %s", b.len ? ", " : "", losses[i].n,
				       losses[i].what);
	}
	if (st->no_size)
		cam_buf_printf(&b, "%sthe recorder was killed before it could finish the file",
			       b.len ? ", " : "");
	if (st->no_features)
		cam_buf_printf(&b,
			       "%swhat follows the records is missing (names of events, "
			       "build-ids, host)",
			       b.len ? ", " : "");
	if (st->bad_line)
		cam_buf_printf(&b, " (the first: line %" PRIu64 ")", st->bad_line);
	size_t n = b.len < room_bytes ? b.len : room_bytes - 1;
	if (n)
		memcpy(room, b.data, n);
	room[n] = '\0';
	cam_buf_free(&b);
}
