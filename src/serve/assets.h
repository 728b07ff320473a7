// SPDX-License-Identifier: Apache-2.0
/* The page's files, made from web/dist by embed.py and served as they are: compressed. */
#pragma once
#include <stddef.h>

struct cam_asset {
	const char *path; /* "/", "/assets/page.js" */
	const char *type;
	const char *tag;	    /* of its content, quoted: an ETag */
	const unsigned char *bytes; /* gzip */
	size_t n;
};

extern const struct cam_asset cam_assets[];
extern const size_t cam_n_assets;
