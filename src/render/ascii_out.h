// SPDX-License-Identifier: Apache-2.0
/*
 * XML that is good in any encoding which has ASCII: characters beyond it become references (&#8230;).
 * What is written must be UTF-8, and may have such characters only where references are read.
 */
#pragma once
#include "base/out.h"

struct cam_ascii_out {
	struct cam_out out;
	struct cam_out *to;
	char rest[4]; /* the start of a character whose end has not come yet */
	size_t n_rest;
};

/* The stream to write to; cam_out_finish() it, then the one behind it. */
struct cam_out *cam_ascii_out_init(struct cam_ascii_out *a, struct cam_out *to);
