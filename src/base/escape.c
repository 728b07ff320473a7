// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include "base/utf8.h"

#define ESCAPE_BYTES 4u /* \xNN */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_control(unsigned char c, unsigned flags)
{
	if (c == '\t')
		return flags & CAM_ESCAPE_TAB;
	if (c == ';')
		return flags & CAM_ESCAPE_SEMICOLON;
	if (c == '=' || c == '+' || c == '-' || c == '@')
		return flags & CAM_ESCAPE_FORMULA;
	return (flags & CAM_ESCAPE_CONTROL) && (c < 0x20 || c == 0x7f);
}

/*
 * Whether cam_escape_put() makes what stands at the start of s: an escape of a byte that needs one, or of
 * a backslash before such a text. `\x5cx5cx0a` is, since `\x5cx0a` is, since `\x0a` is.
 */
static bool is_escape(struct cam_text s, unsigned flags)
{
	for (size_t i = 1; s.n && s.p[0] == '\\' && i + 2 < s.n && s.p[i] == 'x'; i += 3) {
		int high = hex(s.p[i + 1]), low = hex(s.p[i + 2]);
		if (high < 0 || low < 0)
			return false;
		int byte = high << 4 | low;
		if (byte != '\\')
			return is_control((unsigned char)byte, flags) ||
			       (byte >= 0x80 && (flags & CAM_ESCAPE_BYTES));
	}
	return false;
}

/* What is escaped at that place of a text. */
static unsigned flags_at(size_t i, unsigned flags)
{
	return i ? flags & ~(unsigned)CAM_ESCAPE_FORMULA : flags;
}

/* How many bytes at the start of s go as they are; 0: its first byte must be escaped. */
static size_t plain(struct cam_text s, unsigned flags)
{
	unsigned char c = (unsigned char)s.p[0];
	if (is_control(c, flags))
		return 0;
	if (c == '\\')
		return !is_escape(s, flags);
	if (c < 0x80 || !(flags & CAM_ESCAPE_BYTES))
		return 1;
	size_t n = cam_utf8_length(s);
	return n == 2 && c == 0xc2 && (unsigned char)s.p[1] < 0xa0 ? 0 : n;
}

void cam_escape_put(struct cam_buf *out, struct cam_text s, unsigned flags)
{
	size_t done = 0;
	for (size_t i = 0; i < s.n;) {
		size_t n = plain((struct cam_text){s.p + i, s.n - i}, flags_at(i, flags));
		if (n) {
			i += n;
			continue;
		}
		cam_buf_put(out, s.p + done, i - done);
		cam_buf_printf(out, "\\x%02x", (unsigned char)s.p[i]);
		done = ++i;
	}
	if (done < s.n)
		cam_buf_put(out, s.p + done, s.n - done);
}

size_t cam_escape_undo(struct cam_text s, unsigned flags, char *room)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n;) {
		struct cam_text rest = {s.p + i, s.n - i};
		bool undo = s.p[i] == '\\' && is_escape(rest, flags_at(i, flags));
		room[n++] = undo ? (char)((unsigned)hex(rest.p[2]) << 4 | (unsigned)hex(rest.p[3]))
				 : s.p[i];
		i += undo ? ESCAPE_BYTES : 1;
	}
	return n;
}
