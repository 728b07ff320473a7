// SPDX-License-Identifier: Apache-2.0
/* The constant parts of pictures, made from *.css and flame.js by embed.py. */
#pragma once

extern const char cam_embedded_flame_css[];
extern const char cam_embedded_heatmap_css[];
extern const char cam_embedded_page_css[];
/* The same bytes in every SVG; docs/svg.md has their SHA-256. */
extern const char cam_embedded_flame_js[];
/* That hash in base64, as a content security policy names a script. */
extern const char cam_embedded_flame_js_sha256[];
