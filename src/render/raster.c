// SPDX-License-Identifier: Apache-2.0
#include "render/raster.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define DOT	2
#define ADVANCE (6 * DOT)

int cam_raster_init(struct cam_raster *r, unsigned width, unsigned height, struct cam_rgb fill)
{
	if (!width || !height || width > CAM_RASTER_MAX || height > CAM_RASTER_MAX)
		return -EINVAL;
	*r = (struct cam_raster){width, height, malloc((size_t)width * height * 3)};
	if (!r->rgb)
		return -ENOMEM;
	cam_raster_rect(r, 0, 0, (int)width, (int)height, fill);
	return 0;
}

void cam_raster_free(struct cam_raster *r)
{
	free(r->rgb);
	*r = (struct cam_raster){0};
}

static void put(struct cam_raster *r, int x, int y, struct cam_rgb c)
{
	if (x < 0 || y < 0 || x >= (int)r->width || y >= (int)r->height)
		return;
	uint8_t *p = r->rgb + ((size_t)y * r->width + (size_t)x) * 3;
	p[0] = c.r;
	p[1] = c.g;
	p[2] = c.b;
}

void cam_raster_rect(struct cam_raster *r, int x, int y, int width, int height, struct cam_rgb c)
{
	for (int i = y; i < y + height; i++) {
		for (int k = x; k < x + width; k++)
			put(r, k, i, c);
	}
}

void cam_raster_hatch(struct cam_raster *r, int x, int y, int width, int height, struct cam_rgb c)
{
	for (int i = y; i < y + height; i++) {
		for (int k = x; k < x + width; k++) {
			if ((i + k) % 6 == 0)
				put(r, k, i, c);
		}
	}
}

/* Seven rows of five dots, the leftmost the highest bit. */
struct glyph {
	char character;
	uint8_t rows[7];
};

static const struct glyph glyphs[] = {
	{'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}},
	{'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}},
	{'2', {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}},
	{'3', {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e}},
	{'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}},
	{'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}},
	{'6', {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}},
	{'7', {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}},
	{'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}},
	{'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c}},
	{'A', {0x0e, 0x11, 0x11, 0x11, 0x1f, 0x11, 0x11}},
	{'B', {0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e}},
	{'C', {0x0e, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0e}},
	{'D', {0x1c, 0x12, 0x11, 0x11, 0x11, 0x12, 0x1c}},
	{'E', {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f}},
	{'F', {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10}},
	{'G', {0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f}},
	{'H', {0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}},
	{'I', {0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}},
	{'J', {0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0c}},
	{'K', {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11}},
	{'L', {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f}},
	{'M', {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}},
	{'N', {0x11, 0x11, 0x19, 0x15, 0x13, 0x11, 0x11}},
	{'O', {0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}},
	{'P', {0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10}},
	{'Q', {0x0e, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0d}},
	{'R', {0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11}},
	{'S', {0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e}},
	{'T', {0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}},
	{'U', {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}},
	{'V', {0x11, 0x11, 0x11, 0x11, 0x11, 0x0a, 0x04}},
	{'W', {0x11, 0x11, 0x11, 0x15, 0x15, 0x15, 0x0a}},
	{'X', {0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11}},
	{'Y', {0x11, 0x11, 0x11, 0x0a, 0x04, 0x04, 0x04}},
	{'Z', {0x1f, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1f}},
	{':', {0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x0c, 0x00}},
	{'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c}},
	{',', {0x00, 0x00, 0x00, 0x00, 0x0c, 0x04, 0x08}},
	{'-', {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00}},
	{'+', {0x00, 0x04, 0x04, 0x1f, 0x04, 0x04, 0x00}},
	{'_', {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1f}},
	{'%', {0x18, 0x19, 0x02, 0x04, 0x08, 0x13, 0x03}},
	{'/', {0x00, 0x01, 0x02, 0x04, 0x08, 0x10, 0x00}},
	{'?', {0x0e, 0x11, 0x01, 0x02, 0x04, 0x00, 0x04}},
	{'(', {0x02, 0x04, 0x08, 0x08, 0x08, 0x04, 0x02}},
	{')', {0x08, 0x04, 0x02, 0x02, 0x02, 0x04, 0x08}},
	{' ', {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}},
};

static const struct glyph *glyph_of(unsigned char c)
{
	for (size_t i = 0; i < sizeof(glyphs) / sizeof(glyphs[0]); i++) {
		if (glyphs[i].character == (char)toupper(c))
			return &glyphs[i];
	}
	return NULL;
}

/* The character at s[*i], which is passed over; dashes, dots and spaces of three bytes are known. */
static const struct glyph *next_glyph(struct cam_text s, size_t *i)
{
	unsigned char c = (unsigned char)s.p[(*i)++];
	if (c < 0x80)
		return glyph_of(c);
	size_t first = *i;
	while (*i < s.n && ((unsigned char)s.p[*i] & 0xc0) == 0x80)
		(*i)++;
	if (c == 0xe2 && *i - first == 2 && (unsigned char)s.p[first] == 0x80)
		return glyph_of((unsigned char)s.p[first + 1] == 0x93 ? '-' : ' ');
	if (c == 0xc2 && *i - first == 1 && (unsigned char)s.p[first] == 0xb7)
		return glyph_of('-');
	return NULL;
}

int cam_raster_text_width(struct cam_text s)
{
	int n = 0;
	for (size_t i = 0; i < s.n && n < (int)CAM_RASTER_MAX;)
		n += next_glyph(s, &i) != NULL;
	return n * ADVANCE;
}

void cam_raster_text(struct cam_raster *r, int x, int y, struct cam_text s, struct cam_rgb c)
{
	for (size_t i = 0; i < s.n && x < (int)r->width;) {
		const struct glyph *g = next_glyph(s, &i);
		if (!g)
			continue;
		for (int row = 0; row < 7; row++) {
			for (int column = 0; column < 5; column++) {
				if (g->rows[row] >> (4 - column) & 1)
					cam_raster_rect(r, x + column * DOT, y + row * DOT, DOT,
							DOT, c);
			}
		}
		x += ADVANCE;
	}
}

static void put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static void put_chunk(struct cam_out *out, const char type[4], const uint8_t *data, uint32_t n)
{
	uint8_t head[8], tail[4];
	put_u32(head, n);
	memcpy(head + 4, type, 4);
	uLong crc = crc32(0, head + 4, 4);
	if (n)
		crc = crc32(crc, data, n);
	put_u32(tail, (uint32_t)crc);
	cam_out_bytes(out, head, 8);
	if (n)
		cam_out_bytes(out, data, n);
	cam_out_bytes(out, tail, 4);
}

/* Each line as its differences to the one above, which compress well: most cells span several. */
static void filter(const struct cam_raster *r, uint8_t *to)
{
	size_t line = (size_t)r->width * 3;
	for (size_t y = 0; y < r->height; y++) {
		const uint8_t *now = r->rgb + y * line, *above = y ? now - line : NULL;
		*to++ = y ? 2 : 0;
		for (size_t i = 0; i < line; i++)
			*to++ = (uint8_t)(now[i] - (above ? above[i] : 0));
	}
}

int cam_raster_png(const struct cam_raster *r, struct cam_out *out)
{
	uLong raw = ((uLong)r->width * 3 + 1) * r->height, packed = compressBound(raw);
	uint8_t *lines = malloc(raw), *data = malloc(packed);
	int err = lines && data && packed <= INT32_MAX ? 0 : -ENOMEM;
	if (!err) {
		filter(r, lines);
		if (compress2(data, &packed, lines, raw, 6) != Z_OK)
			err = -ENOMEM;
	}
	if (!err) {
		uint8_t head[13] = {[8] = 8, [9] = 2}; /* 8 bits of red, green and blue */
		put_u32(head, r->width);
		put_u32(head + 4, r->height);
		cam_out_bytes(out, "\x89PNG\r\n\x1a\n", 8);
		put_chunk(out, "IHDR", head, sizeof(head));
		put_chunk(out, "IDAT", data, (uint32_t)packed);
		put_chunk(out, "IEND", NULL, 0);
		err = out->error;
	}
	free(lines);
	free(data);
	return err;
}
