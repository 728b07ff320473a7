// SPDX-License-Identifier: Apache-2.0
/* Heatmap → PNG, for where an SVG cannot go: chats, tickets, terminals that show pictures. */
#pragma once
#include "render/svg_heatmap.h"

unsigned cam_png_heatmap_columns(unsigned width);
/* The error of the stream, -ENOMEM; -EINVAL: more rows than a picture has room for. */
int cam_png_heatmap_write(const struct cam_heatmap *h, const struct cam_heat_options *o,
			  struct cam_out *out);
