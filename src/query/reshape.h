// SPDX-License-Identifier: Apache-2.0
/*
 * A flame tree seen another way: frames hidden, replaced or turned around. Works on the finished tree, so
 * every view that starts from one can use it, and costs by distinct stacks, not by samples.
 *
 * In this order, whatever of it is asked for:
 *	focus	the tree starts at the outermost frame that matches; stacks without one are gone
 *	frames	only frames of user space, or of the kernel (an inlined one is where its caller is)
 *	hide	frames that match are taken out; what was sampled in them is their caller's
 *	group	each frame becomes its package or module; a frame as its caller goes into it
 *	recursion	a frame directly below one of the same name goes into it
 *	reverse	merged from the leaf: who calls it, from the heaviest functions on
 *
 * Nothing but focus changes the total. The frame of the first level (comm, process, …) stays, unless it
 * is hidden or above the focus. Expressions are POSIX extended, tried on a frame's name, unanchored.
 */
#pragma once
#include "base/buf.h"
#include "query/chart.h"
#include "query/select.h"
#include "query/views.h"

enum cam_reshape_frames {
	CAM_FRAMES_ALL,
	CAM_FRAMES_USER,
	CAM_FRAMES_KERNEL,
};

enum cam_reshape_group {
	CAM_GROUP_NONE,
	CAM_GROUP_PACKAGE,	/* of Java or Node.js: package.h; without one as GROUP_MODULE */
	CAM_GROUP_MODULE,	/* the file that the code is in */
	CAM_GROUP_LEAF_PACKAGE, /* no stacks: the leaf's package, class and method, level by level */
};

struct cam_reshape {
	struct cam_select_expressions hide, focus; /* only through cam_reshape_add() */
	enum cam_reshape_frames frames;
	enum cam_reshape_group group;
	bool recursion, reverse;
	size_t max_bytes; /* of the new tree; 0: 1 GiB */
};

enum cam_reshape_filter {
	CAM_RESHAPE_HIDE,
	CAM_RESHAPE_FOCUS,
};

/* As cam_selection_add(). */
int cam_reshape_add(struct cam_reshape *r, enum cam_reshape_filter filter, struct cam_text value,
		    char *why, size_t why_bytes);
void cam_reshape_free(struct cam_reshape *r);

/* Whether a name matches any of them; room: for a copy of it. -ENOMEM. */
int cam_reshape_match(const struct cam_select_expressions *e, struct cam_text name,
		      struct cam_buf *room);

/* Whether anything is asked for at all. */
bool cam_reshape_is_any(const struct cam_reshape *r);
/*
 * Puts the new tree into f, and moves the rows of a chart along (NULL: there is none). -E2BIG past max_bytes,
 * -ENOMEM: then f is a tree that only part of this has been done to.
 */
int cam_reshape_apply(const struct cam_reshape *r, struct cam_flame *f, struct cam_chart *chart);
