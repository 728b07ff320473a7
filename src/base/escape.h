// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes that a format cannot carry, as \xNN, so that a name stays a name there and comes back as it was.
 *
 * What is escaped is up to the format (the flags); each such byte becomes `\x` and two lower-case hex
 * digits. A backslash before what would be taken for one becomes `\x5c`; all others stay as they are. So
 * undo(put(text)) is the text, whatever it holds; and put(undo(text)) is, for texts of others that hold
 * nothing to be escaped (with CAM_ESCAPE_BYTES: unless pieces of theirs join to UTF-8).
 *
 * Example, CAM_ESCAPE_CONTROL: the three bytes a, newline, b give `a\x0ab`; the text `a\x0ab` itself
 * gives `a\x5cx0ab`; `C:\temp` stays `C:\temp`.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"

enum cam_escape {
	CAM_ESCAPE_CONTROL = 1 << 0, /* below 0x20 but tab, and 0x7f */
	CAM_ESCAPE_TAB = 1 << 1,
	CAM_ESCAPE_BYTES =
		1 << 2, /* what is not UTF-8; and U+0080 to U+009F, which terminals obey */
	CAM_ESCAPE_SEMICOLON = 1 << 3, /* between frames of a stack on one line */
	CAM_ESCAPE_FORMULA =
		1 << 4, /* = + - @ as the first byte: a spreadsheet computes what begins so */
};

/* Appends s to out. Nothing is added where nothing must be escaped but s itself. */
void cam_escape_put(struct cam_buf *out, struct cam_text s, unsigned flags);

/*
 * The other way: writes at most s.n bytes to room (which may be s.p) and answers their number. Only what
 * cam_escape_put() would have made with these flags is undone.
 */
size_t cam_escape_undo(struct cam_text s, unsigned flags, char *room);
