// SPDX-License-Identifier: Apache-2.0
/*
 * What a person wants said or linked at frames of some names: the file of flamegraph.pl's --nameattr.
 * A line is a name (annotated as in folded stacks, or bare), then a tab and "key=value", any number of
 * them. Known keys: title (shown in the tooltip), href and target (a link, followed by Ctrl-click), id
 * and class (for one's own style sheet).
 *
 * The file is data like any other: values become escaped attributes and text. A link is http, https,
 * mailto, file or relative; id and class are plain words. g_extra and a_extra, which are markup, are not taken.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

struct cam_frame_attribute {
	struct cam_text name; /* of the frame */
	struct cam_text title, href, target, id, cls;
};

struct cam_frame_attributes {
	struct cam_frame_attribute *v; /* by name, the last one of a name */
	size_t n;
	size_t refused;	  /* values that were left out, as above */
	size_t first_bad; /* number of the first line without a tab; 0: there is none */
};

/* Borrows from the file. -EINVAL: see first_bad. -E2BIG past 100,000 lines, -ENOMEM. */
int cam_frame_attributes_read(struct cam_text file, struct cam_frame_attributes *out);
void cam_frame_attributes_free(struct cam_frame_attributes *a);
/* NULL: nothing is said about that name. */
const struct cam_frame_attribute *cam_frame_attributes_find(const struct cam_frame_attributes *a,
							    struct cam_text name);
