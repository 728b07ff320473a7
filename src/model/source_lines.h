// SPDX-License-Identifier: Apache-2.0
/* The source lines of a window (door D's lines), to be looked up by function and leaf offset. */
#pragma once
#include "base/buf.h"
#include "base/index.h"
#include "model/cursor.h"

#define CAM_SOURCE_LINES_MAX	  (1u << 20)
#define CAM_SOURCE_LINES_TEXT_MAX (64u << 20)

struct cam_source_lines {
	struct cam_source_line {
		uint64_t offset;
		uint32_t func, line; /* line 0: several contradict each other */
		uint32_t file_at, file_bytes;
	} * rows;
	size_t n, cap;
	struct cam_index index;
	struct cam_buf text;
};

/* Forgets what there is and takes this window's. More than the bounds above are left out. */
int cam_source_lines_load(struct cam_source_lines *l, struct cam_window *w);
void cam_source_lines_free(struct cam_source_lines *l);
/* Which row has it, + 1; 0: it is not known. And what such a row says; *file is borrowed
 * until the next load. */
uint32_t cam_source_lines_row(const struct cam_source_lines *l, uint32_t func, uint64_t offset);
void cam_source_lines_at(const struct cam_source_lines *l, uint32_t row, struct cam_text *file,
			 uint32_t *line);
