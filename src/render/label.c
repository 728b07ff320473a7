// SPDX-License-Identifier: Apache-2.0
#include "render/label.h"

#include "base/utf8.h"
#include "query/views.h"

#include <stdint.h>
#include <stdio.h>

/* One character of a name, or one byte that is none. */
struct glyph {
	size_t bytes;	 /* that it takes in the name */
	size_t columns;	 /* on the screen */
	char escape[12]; /* what is shown instead; empty: itself */
};

struct span {
	uint32_t from, to;
};

static bool within(uint32_t c, const struct span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c >= spans[i].from && c <= spans[i].to)
			return true;
	}
	return false;
}

/* Controls, invisible and direction-turning characters, non-characters, private tags. */
static bool is_unsafe(uint32_t c)
{
	static const struct span unsafe[] = {
		{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x61c, 0x61c},
		{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		{0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff0, 0xffff}, {0xe0000, 0xe0fff},
	};
	return (c & 0xfffe) == 0xfffe || within(c, unsafe, sizeof(unsafe) / sizeof(unsafe[0]));
}

static bool is_wide(uint32_t c)
{
	static const struct span wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0xa4cf},	{0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f},   {0xff00, 0xff60},	{0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
		{0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
	};
	return c >= 0x1100 && within(c, wide, sizeof(wide) / sizeof(wide[0]));
}

static uint32_t code_point(const char *s, size_t n)
{
	static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = (unsigned char)s[0] & lead[n];
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

static struct glyph glyph_at(struct cam_text s)
{
	struct glyph g = {.bytes = cam_utf8_length(s)};
	if (!g.bytes) {
		g.bytes = 1;
		g.columns = (size_t)snprintf(g.escape, sizeof(g.escape), "\\x%02x",
					     (unsigned char)s.p[0]);
		return g;
	}
	uint32_t c = code_point(s.p, g.bytes);
	if (is_unsafe(c))
		g.columns = (size_t)snprintf(g.escape, sizeof(g.escape),
					     c < 0x100 ? "\\x%02x" : "\\u%04x", c);
	else
		g.columns = is_wide(c) ? 2 : 1;
	return g;
}

static struct cam_text after(struct cam_text s, size_t bytes)
{
	return (struct cam_text){s.p + bytes, s.n - bytes};
}

size_t cam_label_columns(struct cam_text name)
{
	size_t columns = 0;
	while (name.n) {
		struct glyph g = glyph_at(name);
		columns += g.columns;
		name = after(name, g.bytes);
	}
	return columns;
}

static void put_xml(struct cam_out *out, const char *p, size_t n)
{
	switch (n == 1 ? *p : 0) {
	case '&':
		cam_out_str(out, "&amp;");
		break;
	case '<':
		cam_out_str(out, "&lt;");
		break;
	case '>':
		cam_out_str(out, "&gt;");
		break;
	case '"':
		cam_out_str(out, "&quot;");
		break;
	case '\'':
		cam_out_str(out, "&#39;");
		break;
	default:
		cam_out_bytes(out, p, n);
	}
}

size_t cam_label_put(struct cam_out *out, struct cam_text name, size_t max_columns,
		     enum cam_label_form form)
{
	size_t columns = 0;
	bool cut = cam_label_columns(name) > max_columns;
	size_t room = cut && max_columns ? max_columns - 1 : max_columns;
	while (name.n) {
		struct glyph g = glyph_at(name);
		if (columns + g.columns > room)
			break;
		if (g.escape[0])
			cam_out_str(out, g.escape);
		else if (form == CAM_LABEL_XML)
			put_xml(out, name.p, g.bytes);
		else
			cam_out_bytes(out, name.p, g.bytes);
		columns += g.columns;
		name = after(name, g.bytes);
	}
	if (!cut || !max_columns)
		return columns;
	cam_out_str(out, "…");
	return columns + 1;
}

/* ".isra.0", ".cold": what compilers append is no name to show alone. */
static bool is_suffix(struct cam_text s)
{
	static const char *const suffixes[] = {"isra", "constprop", "part", "cold", "llvm", "lto_"};
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (cam_text_starts(s, cam_text_of(suffixes[i])))
			return true;
	}
	return false;
}

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '~' || c == '$';
}

/* Whether a name may be cut before s[i]: behind "::", "." or a space, outside of brackets. */
static bool may_cut(struct cam_text s, size_t i)
{
	char before = s.p[i - 1];
	if (!starts_name(s.p[i]))
		return false;
	if (before == '.')
		return !is_suffix(after(s, i));
	return before == ' ' || (before == ':' && i > 1 && s.p[i - 2] == ':');
}

struct cam_text cam_label_tail(struct cam_text name, size_t columns)
{
	struct cam_text tail = name;
	size_t left = cam_label_columns(name);
	int depth = 0;
	if (left <= columns || name.p[0] == '[')
		return name;
	for (size_t i = 1; i < name.n && left + 1 > columns; i++) {
		char before = name.p[i - 1];
		depth += (before == '<' || before == '(') - (before == '>' || before == ')');
		if (depth == 0 && may_cut(name, i)) {
			tail = after(name, i);
			left = cam_label_columns(tail);
		}
	}
	return tail;
}

struct cam_text cam_label_file(struct cam_text path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (!slash || slash + 1 == path.p + path.n)
		return path;
	return (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
}

void cam_label_put_right(struct cam_out *out, const char *word, size_t columns)
{
	size_t had = cam_label_columns(cam_text_of(word));
	cam_out_printf(out, "%*s%s", (int)(had < columns ? columns - had : 0), "", word);
}

void cam_label_notes(struct cam_out *out, const char *prefix, unsigned notes)
{
	for (unsigned i = 0; i < CAM_VIEW_NOTES; i++) {
		if (notes >> i & 1)
			cam_out_printf(out, "%snote: %s\n", prefix, cam_view_note_words(i));
	}
}
