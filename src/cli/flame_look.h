// SPDX-License-Identifier: Apache-2.0
/*
 * How a flame graph looks: the options of flamegraph.pl under their own names, checked, and turned
 * into what render takes. Files they name (palette.map, --nameattr) are read and written here.
 */
#pragma once
#include "cli/options.h"
#include "render/svg_flame.h"

struct cam_flame_look {
	const char *title, *subtitle, *minwidth, *fonttype, *countname, *nametype, *colors,
		*bgcolors, *notes, *encoding, *nameattr, *change;
	unsigned width, height;
	double fontsize, fontwidth, total, factor;
	bool hash, random, cp, inverted, negate;
	/* Made of them. */
	struct cam_palette palette;
	struct cam_frame_attributes attributes;
	char *attribute_file;
};

// clang-format off
#define CAM_FLAME_LOOK_OPTIONS(o)                                                                          \
	{"title", 0, CAM_OPTION_TEXT, &(o).title, "TEXT", "above the picture"},                            \
	{"subtitle", 0, CAM_OPTION_TEXT, &(o).subtitle, "TEXT", "below the title"},                        \
	{"width", 0, CAM_OPTION_COUNT, &(o).width, "PX", "of the picture (default: 1200, or the window's)"}, \
	{"height", 0, CAM_OPTION_COUNT, &(o).height, "PX", "of a frame (default: 18)"},                    \
	{"minwidth", 0, CAM_OPTION_TEXT, &(o).minwidth, "PX|N%", "leave out narrower frames (default: 0.1)"}, \
	{"fonttype", 0, CAM_OPTION_TEXT, &(o).fonttype, "FONT", "font family"},                            \
	{"fontsize", 0, CAM_OPTION_NUMBER, &(o).fontsize, "PX", "of the names (default: 11)"},             \
	{"fontwidth", 0, CAM_OPTION_NUMBER, &(o).fontwidth, "N", "of a letter, as part of its size (0.6)"}, \
	{"inverted", 0, CAM_OPTION_FLAG, &(o).inverted, NULL, "icicle: roots at the top"},                 \
	{"colors", 0, CAM_OPTION_TEXT, &(o).colors, "PALETTE", "hot mem io wakeup chain java js perl red green …"}, \
	{"bgcolors", 0, CAM_OPTION_TEXT, &(o).bgcolors, "COLOR", "yellow blue green grey, or #rrggbb"},    \
	{"hash", 0, CAM_OPTION_FLAG, &(o).hash, NULL, "colours by name: like names look alike"},           \
	{"random", 0, CAM_OPTION_FLAG, &(o).random, NULL, "colours at random"},                            \
	{"cp", 0, CAM_OPTION_FLAG, &(o).cp, NULL, "keep colours in ./palette.map, for the next picture"},  \
	{"negate", 0, CAM_OPTION_FLAG, &(o).negate, NULL, "of a differential: blue is more, red is less"}, \
	{"change", 0, CAM_OPTION_TEXT, &(o).change, "self|total", "… and its colour is of (default: self)"}, \
	{"countname", 0, CAM_OPTION_TEXT, &(o).countname, "TEXT", "what is counted (default: as recorded)"}, \
	{"nametype", 0, CAM_OPTION_TEXT, &(o).nametype, "TEXT", "what the names are: Function:"},          \
	{"total", 0, CAM_OPTION_NUMBER, &(o).total, "N", "the whole width is so much, if that is more"},   \
	{"factor", 0, CAM_OPTION_NUMBER, &(o).factor, "N", "show counts multiplied by this"},              \
	{"nameattr", 0, CAM_OPTION_TEXT, &(o).nameattr, "FILE", "titles and links of frames: NAME<tab>href=…"}, \
	{"notes", 0, CAM_OPTION_TEXT, &(o).notes, "TEXT", "a comment inside the file"},                    \
	{"encoding", 0, CAM_OPTION_TEXT, &(o).encoding, "NAME", "declared in the file (default: UTF-8)"}
// clang-format on

/*
 * An exit status, after saying what is wrong. *out borrows from look, which cam_flame_look_free()
 * ends. Title, when and scope are the caller's.
 */
int cam_flame_look_resolve(struct cam_flame_look *look, struct cam_svg_flame_options *out);
/* Writes ./palette.map where --cp asks for it. An exit status. */
int cam_flame_look_keep(const struct cam_flame_look *look);
void cam_flame_look_free(struct cam_flame_look *look);
