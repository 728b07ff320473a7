// SPDX-License-Identifier: Apache-2.0
/*
 * The colours of flamegraph.pl: its palettes by name, so that a picture drawn here and one drawn there
 * show a function in the same colour, and its palette.map, which keeps colours from picture to picture.
 * perfcam's own look (flame.css) does not come from here.
 *
 * A name comes annotated, as in folded stacks: kernel code as "read_[k]", JIT "_[j]", inlined "_[i]".
 * The palettes look at that, and the shade follows from it too.
 */
#pragma once
#include "base/out.h"
#include "model/tables.h"
#include "render/rgb.h"

enum cam_theme {
	CAM_THEME_HOT,
	CAM_THEME_MEM,
	CAM_THEME_IO,
	/* By the kind of code, as far as the name tells: */
	CAM_THEME_WAKEUP,
	CAM_THEME_CHAIN,
	CAM_THEME_JAVA,
	CAM_THEME_JS,
	CAM_THEME_PERL,
	/* One hue each: */
	CAM_THEME_RED,
	CAM_THEME_GREEN,
	CAM_THEME_BLUE,
	CAM_THEME_AQUA,
	CAM_THEME_YELLOW,
	CAM_THEME_PURPLE,
	CAM_THEME_ORANGE,
	CAM_THEME_MAX,
};

enum cam_shade {
	CAM_SHADE_BY_NAME, /* one number from the sum of its characters */
	CAM_SHADE_BY_HASH, /* two, from its first and its last characters: like names look alike */
	CAM_SHADE_RANDOM,
};

/* Zeroed but for theme and shade (and seed) is a palette without a map. */
struct cam_palette {
	enum cam_theme theme;
	enum cam_shade shade;
	uint64_t seed; /* of CAM_SHADE_RANDOM: not 0 */
	bool keep;     /* colours are looked up in the map first, and new ones put there */
	struct cam_tables names;
	struct cam_rgb *colours; /* by string id */
	size_t n_colours, cap_colours;
	bool open; /* names is to be freed */
};

/* "hot", "java", …; false: there is none of that name. */
bool cam_theme_find(struct cam_text name, enum cam_theme *out);
/* The names, for messages: "hot, mem, …". */
const char *cam_theme_names(void);
/* Upper and lower colour of a background: yellow, blue, green, grey, or #rrggbb. */
bool cam_background_find(struct cam_text name, struct cam_rgb *top, struct cam_rgb *bottom);
/* The background that goes with a palette where none is asked for. */
const char *cam_background_of(enum cam_theme theme);

/* The colour of a frame. 0, or -ENOMEM, -E2BIG of the map. */
int cam_palette_colour(struct cam_palette *p, struct cam_text annotated, struct cam_rgb *out);

/*
 * The map as a file, "name->rgb(1,2,3)" a line. Lines of another form are left out; answers how many
 * they were, or -ENOMEM, -E2BIG. Written in order of names; control characters in a name as \xNN.
 */
int cam_palette_read(struct cam_palette *p, struct cam_text file);
int cam_palette_write(const struct cam_palette *p, struct cam_out *out);
void cam_palette_free(struct cam_palette *p);
