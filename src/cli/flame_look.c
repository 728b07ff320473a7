// SPDX-License-Identifier: Apache-2.0
#include "cli/flame_look.h"

#include "cli/output.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define PALETTE_FILE   "palette.map"
#define MAX_FILE_BYTES (64u << 20)

static struct cam_text text_of(const char *s)
{
	return s ? cam_text_of(s) : (struct cam_text){"", 0};
}

/* "0.1" or "0.5%". */
static int check_minwidth(const char *s, struct cam_svg_flame_options *out)
{
	char *end;
	if (!s)
		return 0;
	double v = strtod(s, &end);
	bool percent = *end == '%' && !end[1];
	if (end == s || strspn(s, "0123456789.") != (size_t)(end - s) || (*end && !percent) ||
	    v > (percent ? 100 : 20000))
		return cam_usage("--minwidth takes pixels (0.1) or a share (0.5%%), not '%s'", s);
	/* 0 would be the default; nothing is narrower than this. */
	if (percent)
		out->min_share = v > 0 ? v / 100 : 1e-18;
	else
		out->min_width = v > 0 ? v : 1e-9;
	return 0;
}

static bool only(const char *s, const char *marks)
{
	for (; *s; s++) {
		bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			     (*s >= '0' && *s <= '9');
		if (!plain && !strchr(marks, *s))
			return false;
	}
	return true;
}

/* The encoding must have ASCII where ASCII is: that is what is written. */
static int check_encoding(const char *s)
{
	static const char *const others[] = {"utf-16", "utf16", "utf-32", "utf32", "ucs",
					     "utf-7",  "utf7",	"ebcdic", "ibm",   "iso-10646"};
	if (!s)
		return 0;
	if (!*s || !only(s, "._-") || strlen(s) > 40 || !only((char[]){*s, 0}, "") ||
	    (*s >= '0' && *s <= '9'))
		return cam_usage("--encoding takes the name of one, like UTF-8, not '%s'", s);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strncasecmp(s, others[i], strlen(others[i])))
			return cam_usage("--encoding '%s': the file is written in ASCII, which is "
					 "not a part of that",
					 s);
	}
	return 0;
}

static int check_words(const struct cam_flame_look *l)
{
	if (l->fonttype &&
	    (!*l->fonttype || !only(l->fonttype, " ,_-") || strlen(l->fonttype) > 200))
		return cam_usage("--fonttype takes names of fonts, like 'Verdana, sans-serif', not "
				 "'%s'",
				 l->fonttype);
	if (l->notes && strpbrk(l->notes, "<>"))
		return cam_usage("--notes cannot hold < or >: '%s'", l->notes);
	if (l->change && strcmp(l->change, "self") != 0 && strcmp(l->change, "total") != 0)
		return cam_usage("--change takes self or total, not '%s'", l->change);
	return check_encoding(l->encoding);
}

static int check_numbers(const struct cam_flame_look *l)
{
	if (l->width && (l->width < 200 || l->width > 20000))
		return cam_usage("--width takes 200 to 20000 pixels, not %u", l->width);
	if (l->height && (l->height < 4 || l->height > 200))
		return cam_usage("--height is of one frame: 4 to 200 pixels, not %u", l->height);
	if (l->fontsize != 0 && (l->fontsize < 1 || l->fontsize > 100))
		return cam_usage("--fontsize takes 1 to 100 pixels, not %g", l->fontsize);
	if (l->fontwidth != 0 && (l->fontwidth < 0.1 || l->fontwidth > 3))
		return cam_usage("--fontwidth is a part of the font's size: 0.1 to 3, not %g",
				 l->fontwidth);
	return 0;
}

/* The whole of a file, ended by a zero that is not counted. */
static int read_all(const char *path, char **out, size_t *n)
{
	FILE *in = fopen(path, "re");
	*out = NULL;
	*n = 0;
	if (!in)
		return -errno;
	int err = 0;
	for (size_t cap = 0;;) {
		if (*n + 1 >= cap) {
			cap = cap ? cap * 2 : 65536;
			char *grown = cap <= MAX_FILE_BYTES ? realloc(*out, cap) : NULL;
			if (!grown) {
				err = cap <= MAX_FILE_BYTES ? -ENOMEM : -E2BIG;
				break;
			}
			*out = grown;
		}
		size_t got = fread(*out + *n, 1, cap - *n - 1, in);
		*n += got;
		(*out)[*n] = 0;
		if (!got) {
			err = ferror(in) ? -EIO : 0;
			break;
		}
	}
	fclose(in);
	if (err)
		free(*out);
	if (err)
		*out = NULL;
	return err;
}

static int read_palette(struct cam_flame_look *l)
{
	char *file;
	size_t n;
	int err = read_all(PALETTE_FILE, &file, &n);
	if (err == -ENOENT)
		return 0;
	int strange = err ? err : cam_palette_read(&l->palette, (struct cam_text){file, n});
	free(file);
	if (strange < 0)
		return cam_failed("%s: %s", PALETTE_FILE, cam_errno_words(strange));
	if (strange)
		cam_note("%s: %d lines are not NAME->rgb(R,G,B), and left out", PALETTE_FILE,
			 strange);
	return 0;
}

static int find_palette(struct cam_flame_look *l, struct cam_svg_flame_options *out)
{
	struct cam_rgb top, bottom;
	if (l->colors && !cam_theme_find(cam_text_of(l->colors), &l->palette.theme))
		return cam_usage("--colors takes %s; not '%s'", cam_theme_names(), l->colors);
	if (l->bgcolors && !cam_background_find(cam_text_of(l->bgcolors), &top, &bottom))
		return cam_usage("--bgcolors takes yellow, blue, green, grey or #rrggbb, not '%s'",
				 l->bgcolors);
	out->background = text_of(l->bgcolors);
	if (!l->colors && !l->hash && !l->random && !l->cp)
		return 0;
	out->palette = &l->palette;
	l->palette.shade = l->hash     ? CAM_SHADE_BY_HASH
			   : l->random ? CAM_SHADE_RANDOM
				       : CAM_SHADE_BY_NAME;
	if (getrandom(&l->palette.seed, sizeof(l->palette.seed), 0) < 0 || !l->palette.seed)
		l->palette.seed = 1;
	if (!l->bgcolors)
		out->background = cam_text_of(cam_background_of(l->palette.theme));
	l->palette.keep = l->cp;
	return l->cp ? read_palette(l) : 0;
}

static int read_attributes(struct cam_flame_look *l, struct cam_svg_flame_options *out)
{
	size_t n;
	if (!l->nameattr)
		return 0;
	int err = read_all(l->nameattr, &l->attribute_file, &n);
	if (!err)
		err = cam_frame_attributes_read((struct cam_text){l->attribute_file, n},
						&l->attributes);
	if (err == -EINVAL)
		return cam_failed("%s: line %zu has no tab behind the name", l->nameattr,
				  l->attributes.first_bad);
	if (err)
		return cam_failed("%s: %s", l->nameattr, cam_errno_words(err));
	if (l->attributes.refused)
		cam_note("%s: %zu values left out: title, href (a link to a page), target, id and "
			 "class are taken",
			 l->nameattr, l->attributes.refused);
	out->attributes = &l->attributes;
	return 0;
}

int cam_flame_look_resolve(struct cam_flame_look *l, struct cam_svg_flame_options *out)
{
	*out = (struct cam_svg_flame_options){
		.title = text_of(l->title),
		.subtitle = text_of(l->subtitle),
		.notes = text_of(l->notes),
		.count_name = text_of(l->countname),
		.name_type = text_of(l->nametype),
		.font = text_of(l->fonttype),
		.encoding = text_of(l->encoding),
		.icicle = l->inverted,
		.negate = l->negate,
		.by_self = !l->change || !strcmp(l->change, "self"),
		.width = l->width,
		.row_height = l->height,
		.font_size = l->fontsize,
		.font_width = l->fontwidth,
		.total = l->total,
		.factor = l->factor,
	};
	int status = check_numbers(l);
	if (!status)
		status = check_words(l);
	if (!status)
		status = check_minwidth(l->minwidth, out);
	if (!status)
		status = find_palette(l, out);
	return status ? status : read_attributes(l, out);
}

int cam_flame_look_keep(const struct cam_flame_look *l)
{
	if (!l->cp)
		return CAM_EXIT_OK;
	struct cam_output *output = cam_output_open(PALETTE_FILE);
	if (!output)
		return CAM_EXIT_FAILED;
	int err = cam_palette_write(&l->palette, cam_output_stream(output));
	if (!err)
		return cam_output_commit(output);
	cam_output_abandon(output);
	return cam_failed("%s: %s", PALETTE_FILE, cam_errno_words(err));
}

void cam_flame_look_free(struct cam_flame_look *l)
{
	cam_palette_free(&l->palette);
	cam_frame_attributes_free(&l->attributes);
	free(l->attribute_file);
	l->attribute_file = NULL;
}
