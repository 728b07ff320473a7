// SPDX-License-Identifier: Apache-2.0
/*
 * A file's unwind table: rows and rules (model/unwind_table.h) from .eh_frame and .debug_frame.
 *
 * Sides: the symboliser (or a test) hands over a file that anyone may have made, and takes pieces
 * of a table as they are made: rows are never held all at once.
 * Ownership: pieces are borrowed for the call.
 * Both sections are read: a program built without asynchronous tables has its own functions in
 * .debug_frame and the C library's start-up code in .eh_frame. Where both describe code .eh_frame
 * counts. .debug_frame may be compressed (zlib, zstd). Without section headers .eh_frame is found by
 * PT_GNU_EH_FRAME.
 * Bounds: CAM_EHFRAME_MAX_*; memory is the sections, and 32 bytes a function while they are sorted.
 */
#pragma once
#include "model/unwind_table.h"
#include "symbol/bytes.h"

#include <stdbool.h>

#define CAM_EHFRAME_MAX_BYTES \
	(32u << 20) /* of both sections; libLLVM's has 5 MB. A
						       * .debug_frame that exceeds it is left out */
#define CAM_EHFRAME_MAX_FUNCTIONS (1u << 20)
#define CAM_EHFRAME_MAX_CIES	  (1u << 16)
#define CAM_EHFRAME_PIECE_ROWS	  8192u

/* Part of a table: what rules are new, and rows that ascend over all pieces; every rule they use was
 * given before or is given here. Errors end the reading and are passed on. */
struct cam_ehframe_piece {
	const struct cam_unwind_rule *rules;
	const struct cam_unwind_row *rows;
	uint32_t n_rules, n_rows;
	bool more; /* further pieces follow */
};

typedef int cam_ehframe_piece_fn(void *arg, const struct cam_ehframe_piece *piece);

/*
 * At least one piece is handed over unless there is an error: a file without any CFI has no rows.
 * -EBADMSG: no ELF file; -ENOEXEC: not of x86-64; -E2BIG; -ENOMEM; or what pread said. Entries that
 * make no sense cost what they describe, nothing else. What is beyond CAM_UNWIND_MAX_* is UNSUPPORTED.
 */
int cam_ehframe_read(const struct cam_bytes *b, cam_ehframe_piece_fn *piece, void *arg);
