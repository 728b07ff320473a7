// SPDX-License-Identifier: Apache-2.0
#include "render/palette.h"

#include "base/utf8.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_MAP_BYTES (64u << 20)

static const char *const theme_names[CAM_THEME_MAX] = {
	"hot", "mem",	"io",	"wakeup", "chain",  "java",   "js",	"perl",
	"red", "green", "blue", "aqua",	  "yellow", "purple", "orange",
};

bool cam_theme_find(struct cam_text name, enum cam_theme *out)
{
	for (unsigned i = 0; i < CAM_THEME_MAX; i++) {
		if (cam_text_equal(name, cam_text_of(theme_names[i]))) {
			*out = (enum cam_theme)i;
			return true;
		}
	}
	return false;
}

const char *cam_theme_names(void)
{
	return "hot, mem, io, wakeup, chain, java, js, perl, red, green, blue, aqua, yellow, "
	       "purple, orange";
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool parse_hex(struct cam_text s, struct cam_rgb *out)
{
	uint8_t v[3];
	if (s.n != 7 || s.p[0] != '#')
		return false;
	for (size_t i = 0; i < 3; i++) {
		int high = hex_digit(s.p[1 + 2 * i]), low = hex_digit(s.p[2 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		v[i] = (uint8_t)(high << 4 | low);
	}
	*out = (struct cam_rgb){v[0], v[1], v[2]};
	return true;
}

bool cam_background_find(struct cam_text name, struct cam_rgb *top, struct cam_rgb *bottom)
{
	static const struct {
		const char *name;
		struct cam_rgb top, bottom;
	} known[] = {
		{"yellow", {0xee, 0xee, 0xee}, {0xee, 0xee, 0xb0}},
		{"blue", {0xee, 0xee, 0xee}, {0xe0, 0xe0, 0xff}},
		{"green", {0xee, 0xf2, 0xee}, {0xe0, 0xff, 0xe0}},
		{"grey", {0xf8, 0xf8, 0xf8}, {0xe8, 0xe8, 0xe8}},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (cam_text_equal(name, cam_text_of(known[i].name))) {
			*top = known[i].top;
			*bottom = known[i].bottom;
			return true;
		}
	}
	if (!parse_hex(name, top))
		return false;
	*bottom = *top;
	return true;
}

const char *cam_background_of(enum cam_theme theme)
{
	switch (theme) {
	case CAM_THEME_MEM:
		return "green";
	case CAM_THEME_IO:
	case CAM_THEME_WAKEUP:
	case CAM_THEME_CHAIN:
		return "blue";
	case CAM_THEME_HOT:
	case CAM_THEME_JAVA:
	case CAM_THEME_JS:
	case CAM_THEME_PERL:
		return "yellow";
	default:
		return "grey";
	}
}

/* The first character of a name, as a number; a byte that is none counts as itself. */
static uint32_t take_char(struct cam_text *s)
{
	static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t n = cam_utf8_length(*s);
	uint32_t c = (unsigned char)s->p[0];
	if (n) {
		c &= lead[n];
		for (size_t i = 1; i < n; i++)
			c = c << 6 | ((unsigned char)s->p[i] & 0x3f);
	}
	*s = (struct cam_text){s->p + (n ? n : 1), s->n - (n ? n : 1)};
	return c;
}

/*
 * From the sum of the characters: what the 48-bit linear congruential generator that every libc has
 * as drand48() gives first after that seed.
 */
static double by_sum(struct cam_text name)
{
	uint32_t sum = 0;
	while (name.n)
		sum += take_char(&name);
	uint64_t x = ((uint64_t)sum << 16) + 0x330e;
	x = (x * 0x5deece66du + 0xb) & ((1ull << 48) - 1);
	return (double)x / (double)(1ull << 48);
}

/* The first three characters, each counting less than the one before. 0 to 1. */
static double by_hash(const uint32_t *chars, size_t n)
{
	double vector = 0, weight = 1, max = 1;
	for (size_t i = 0; i < n && i < 3; i++) {
		unsigned mod = 10 + (unsigned)i;
		vector += (double)(chars[i] % mod) / (mod - 1) * weight;
		max += weight;
		weight *= 0.7;
	}
	return 1 - vector / max;
}

/* "module`function": what stands before the function does not count. */
static struct cam_text behind_module(struct cam_text name)
{
	const char *tick = name.n > 1 ? memchr(name.p + 1, '`', name.n - 1) : NULL;
	if (!tick)
		return name;
	return (struct cam_text){tick + 1, name.n - (size_t)(tick + 1 - name.p)};
}

static double hash_forward(struct cam_text name)
{
	uint32_t chars[3];
	size_t n = 0;
	name = behind_module(name);
	while (n < 3 && name.n)
		chars[n++] = take_char(&name);
	return by_hash(chars, n);
}

/* The same of the name read backwards, where a module stands behind its tick. */
static double hash_backward(struct cam_text name)
{
	uint32_t last[3];
	size_t n = 0, total = 0;
	const char *tick = name.n > 1 ? memrchr(name.p, '`', name.n - 1) : NULL;
	if (tick)
		name.n = (size_t)(tick - name.p);
	while (name.n) {
		last[total++ % 3] = take_char(&name);
		n = total < 3 ? total : 3;
	}
	uint32_t chars[3];
	for (size_t i = 0; i < n; i++)
		chars[i] = last[(total - 1 - i) % 3];
	return by_hash(chars, n);
}

static double random_part(struct cam_palette *p)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return (double)(p->seed >> 11) / (double)(1ull << 53);
}

static bool has(struct cam_text s, const char *part)
{
	return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

static bool ends(struct cam_text s, const char *end)
{
	return cam_text_ends(s, cam_text_of(end));
}

/* "java/util/…", "Lorg/…": a class as the JVM writes it. */
static bool is_java_class(struct cam_text s)
{
	static const char *const roots[] = {"java/", "javax/", "jdk/", "net/",
					    "org/",  "com/",   "io/",  "sun/"};
	struct cam_text bare = s.n && s.p[0] == 'L' ? (struct cam_text){s.p + 1, s.n - 1} : s;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (cam_text_starts(bare, cam_text_of(roots[i])))
			return true;
	}
	return false;
}

static enum cam_theme java_hue(struct cam_text s)
{
	if (ends(s, "_[j]"))
		return CAM_THEME_GREEN;
	if (ends(s, "_[i]"))
		return CAM_THEME_AQUA;
	if (is_java_class(s) || has(s, ":::"))
		return CAM_THEME_GREEN;
	if (has(s, "::"))
		return CAM_THEME_YELLOW;
	return ends(s, "_[k]") ? CAM_THEME_ORANGE : CAM_THEME_RED;
}

static bool is_script(struct cam_text s)
{
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
	return slash && has((struct cam_text){slash, s.n - (size_t)(slash - s.p)}, ".js");
}

static enum cam_theme js_hue(struct cam_text s)
{
	if (ends(s, "_[j]"))
		return has(s, "/") ? CAM_THEME_GREEN : CAM_THEME_AQUA;
	if (has(s, "::"))
		return CAM_THEME_YELLOW;
	if (is_script(s))
		return CAM_THEME_GREEN;
	if (has(s, ":"))
		return CAM_THEME_AQUA;
	if (cam_text_equal(s, CAM_TEXT(" ")))
		return CAM_THEME_GREEN;
	return has(s, "_[k]") ? CAM_THEME_ORANGE : CAM_THEME_RED;
}

static enum cam_theme perl_hue(struct cam_text s)
{
	if (has(s, "::"))
		return CAM_THEME_YELLOW;
	if (has(s, "Perl") || has(s, ".pl"))
		return CAM_THEME_GREEN;
	return ends(s, "_[k]") ? CAM_THEME_ORANGE : CAM_THEME_RED;
}

static enum cam_theme hue_of(enum cam_theme theme, struct cam_text name)
{
	switch (theme) {
	case CAM_THEME_JAVA:
		return java_hue(name);
	case CAM_THEME_JS:
		return js_hue(name);
	case CAM_THEME_PERL:
		return perl_hue(name);
	case CAM_THEME_WAKEUP:
		return CAM_THEME_AQUA;
	case CAM_THEME_CHAIN:
		return has(name, "_[w]") ? CAM_THEME_AQUA : CAM_THEME_BLUE;
	default:
		return theme;
	}
}

/* Where each channel starts, how far it goes, and which of the three numbers takes it there. */
static struct cam_rgb mix(enum cam_theme theme, const double v[3])
{
	static const struct {
		uint8_t from[3], span[3], by[3];
	} recipes[CAM_THEME_MAX] = {
		[CAM_THEME_HOT] = {{205, 0, 0}, {50, 230, 55}, {2, 0, 1}},
		[CAM_THEME_MEM] = {{0, 190, 0}, {0, 50, 210}, {0, 1, 0}},
		[CAM_THEME_IO] = {{80, 80, 190}, {60, 60, 55}, {0, 0, 1}},
		[CAM_THEME_RED] = {{200, 50, 50}, {55, 80, 80}, {0}},
		[CAM_THEME_GREEN] = {{50, 200, 50}, {60, 55, 60}, {0}},
		[CAM_THEME_BLUE] = {{80, 80, 205}, {60, 60, 50}, {0}},
		[CAM_THEME_YELLOW] = {{175, 175, 50}, {55, 55, 20}, {0}},
		[CAM_THEME_PURPLE] = {{190, 80, 190}, {65, 60, 65}, {0}},
		[CAM_THEME_AQUA] = {{50, 165, 165}, {60, 55, 55}, {0}},
		[CAM_THEME_ORANGE] = {{190, 90, 0}, {65, 65, 0}, {0}},
	};
	uint8_t c[3];
	for (size_t i = 0; i < 3; i++)
		c[i] = (uint8_t)(recipes[theme].from[i] +
				 (int)(recipes[theme].span[i] * v[recipes[theme].by[i]]));
	return (struct cam_rgb){c[0], c[1], c[2]};
}

static struct cam_rgb fresh_colour(struct cam_palette *p, struct cam_text name)
{
	double v[3];
	if (p->shade == CAM_SHADE_RANDOM) {
		for (size_t i = 0; i < 3; i++)
			v[i] = random_part(p);
	} else if (p->shade == CAM_SHADE_BY_HASH) {
		v[0] = hash_forward(name);
		v[1] = v[2] = hash_backward(name);
	} else {
		v[0] = v[1] = v[2] = by_sum(name);
	}
	return mix(hue_of(p->theme, name), v);
}

/* The place of a name in the map; *known: a colour is there already. */
static int map_slot(struct cam_palette *p, struct cam_text name, uint32_t *at, bool *known)
{
	struct cam_str_id id;
	int err = p->open ? 0 : cam_tables_init(&p->names, MAX_MAP_BYTES);
	p->open = !err;
	if (!err)
		err = cam_string_intern(&p->names, name, &id);
	if (!err)
		err = cam_vec_reserve(&p->colours, &p->cap_colours, id.v + 1ul, sizeof(*p->colours),
				      MAX_MAP_BYTES);
	if (err)
		return err;
	/* Id 0 is the empty name, which is there from the start. */
	for (; p->n_colours < 1; p->n_colours++)
		p->colours[0] = (struct cam_rgb){0};
	*known = id.v && id.v < p->n_colours;
	if (id.v >= p->n_colours)
		p->n_colours = id.v + 1ul;
	*at = id.v;
	return 0;
}

int cam_palette_colour(struct cam_palette *p, struct cam_text annotated, struct cam_rgb *out)
{
	uint32_t at;
	bool known = false;
	*out = (struct cam_rgb){0};
	if (!p->keep || !annotated.n) {
		*out = fresh_colour(p, annotated);
		return 0;
	}
	int err = map_slot(p, annotated, &at, &known);
	if (err)
		return err;
	if (!known)
		p->colours[at] = fresh_colour(p, annotated);
	*out = p->colours[at];
	return 0;
}

/* "name->rgb(1,2,3)" */
static bool parse_entry(struct cam_text line, struct cam_text *name, struct cam_rgb *colour)
{
	const char *arrow = memmem(line.p, line.n, "->rgb(", 6);
	char value[24];
	unsigned v[3];
	int used = 0;
	if (!arrow || arrow == line.p)
		return false;
	size_t n = line.n - (size_t)(arrow + 2 - line.p);
	if (n >= sizeof(value))
		return false;
	memcpy(value, arrow + 2, n);
	value[n] = 0;
	if (sscanf(value, "rgb(%3u,%3u,%3u)%n", &v[0], &v[1], &v[2], &used) != 3 ||
	    (size_t)used != n || v[0] > 255 || v[1] > 255 || v[2] > 255)
		return false;
	*name = (struct cam_text){line.p, (size_t)(arrow - line.p)};
	*colour = (struct cam_rgb){(uint8_t)v[0], (uint8_t)v[1], (uint8_t)v[2]};
	return true;
}

int cam_palette_read(struct cam_palette *p, struct cam_text file)
{
	int strange = 0;
	while (file.n) {
		const char *newline = memchr(file.p, '\n', file.n);
		size_t n = newline ? (size_t)(newline - file.p) : file.n;
		struct cam_text line = {file.p, n}, name;
		struct cam_rgb colour;
		file = (struct cam_text){file.p + n + !!newline, file.n - n - !!newline};
		if (!line.n)
			continue;
		uint32_t at;
		bool known;
		if (!parse_entry(line, &name, &colour)) {
			strange++;
			continue;
		}
		int err = map_slot(p, name, &at, &known);
		if (err)
			return err;
		p->colours[at] = colour;
	}
	return strange;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct cam_palette *p = arg;
	struct cam_text x = cam_string(&p->names, (struct cam_str_id){*(const uint32_t *)a});
	struct cam_text y = cam_string(&p->names, (struct cam_str_id){*(const uint32_t *)b});
	int order = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
	return order ? order : (x.n > y.n) - (x.n < y.n);
}

int cam_palette_write(const struct cam_palette *p, struct cam_out *out)
{
	if (p->n_colours < 2)
		return out->error;
	size_t n = p->n_colours - 1;
	uint32_t *order = calloc(n, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i + 1;
	qsort_r(order, n, sizeof(*order), by_name, (void *)p);
	for (size_t i = 0; i < n; i++) {
		struct cam_rgb c = p->colours[order[i]];
		cam_out_printable(out, cam_string(&p->names, (struct cam_str_id){order[i]}));
		cam_out_printf(out, "->rgb(%u,%u,%u)\n", c.r, c.g, c.b);
	}
	free(order);
	return out->error;
}

void cam_palette_free(struct cam_palette *p)
{
	if (p->open)
		cam_tables_free(&p->names);
	free(p->colours);
	*p = (struct cam_palette){0};
}
