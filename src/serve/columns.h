// SPDX-License-Identifier: Apache-2.0
/*
 * Binary answers: JSON about them, then columns of numbers that a browser uses in place.
 *
 *	"PCC1"  u32 bytes of JSON  JSON  zero bytes up to a multiple of 8  columns, each aligned to 8
 *
 * All little-endian. The JSON's `columns` maps a name to [type, offset behind the padding, count]; types
 * are u8, u32, f32, f64. docs/http-api.md has it for those who write clients; web/src/columns.ts reads it.
 */
#pragma once
#include "base/buf.h"
#include "base/json.h"

enum cam_column_type { CAM_COLUMN_U8, CAM_COLUMN_U32, CAM_COLUMN_F32, CAM_COLUMN_F64 };

#define CAM_COLUMNS_MAX 16u

struct cam_columns {
	struct cam_json json; /* the object is open: the caller adds what it knows */
	struct cam_out out;
	struct cam_buf text;
	struct {
		const char *name;
		enum cam_column_type type;
		const void *data;
		size_t n;
	} columns[CAM_COLUMNS_MAX];
	size_t n;
};

void cam_columns_begin(struct cam_columns *c);
/* name and data are borrowed until cam_columns_finish(); at most CAM_COLUMNS_MAX. */
void cam_columns_add(struct cam_columns *c, const char *name, enum cam_column_type type,
		     const void *data, size_t n);
/* Writes all to *to and frees what begin() made. -E2BIG, -ENOMEM: as the buffer's. */
int cam_columns_finish(struct cam_columns *c, struct cam_buf *to);
