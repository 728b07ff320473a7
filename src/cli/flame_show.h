// SPDX-License-Identifier: Apache-2.0
/* One flame graph on its way out: as SVG, page, text or JSON, to a file or to standard output. */
#pragma once
#include "cli/terminal.h"
#include "query/views.h"
#include "render/svg_flame.h"

enum cam_flame_form {
	CAM_FLAME_SVG,
	CAM_FLAME_HTML,
	CAM_FLAME_TEXT,
	CAM_FLAME_JSON,
};

struct cam_flame_show {
	enum cam_flame_form form;
	const char *path; /* NULL or "-": standard output */
	bool json;	  /* JSON on standard output, too, beside a picture in a file */
	unsigned top;	  /* and so many of the heaviest functions */
	bool quiet;	  /* nothing beside the picture, nor its path */
	struct cam_svg_flame_options svg;
	struct cam_terminal terminal;
};

/* By the name's end: .html, .json, .txt, else SVG; .gz and .zst may follow. */
enum cam_flame_form cam_flame_form_of(const char *path);
/* An exit status, after saying what failed. Prints the path of a file. */
int cam_flame_show(const struct cam_flame_show *s, const struct cam_flame *f);
