// SPDX-License-Identifier: Apache-2.0
/* Which frames a tree shows, and below what: the same options for every verb that shows one. */
#pragma once
#include "cli/options.h"
#include "query/flame.h"
#include "query/reshape.h"

struct cam_reshape_options {
	struct cam_option_list hide, focus;
	const char *by, *frames, *group;
	bool recursion, reverse, per_thread;
};

// clang-format off
#define CAM_RESHAPE_OPTIONS(o)                                                                              \
	CAM_RESHAPE_BY_OPTIONS(o), CAM_RESHAPE_FRAME_OPTIONS(o)
#define CAM_RESHAPE_BY_OPTIONS(o)                                                                           \
	{"by", 0, CAM_OPTION_TEXT, &(o).by, "KIND", "below the root: comm process thread exe user cgroup container pod cpu"}, \
	{"per-thread", 0, CAM_OPTION_FLAG, &(o).per_thread, NULL, "--by thread"}
#define CAM_RESHAPE_FRAME_OPTIONS(o)                                                                        \
	CAM_RESHAPE_PICK_OPTIONS(o),                                                                        \
	{"reverse", 0, CAM_OPTION_FLAG, &(o).reverse, NULL, "merge from the leaf: functions, then who calls them"}
#define CAM_RESHAPE_PICK_OPTIONS(o)                                                                         \
	{"focus", 0, CAM_OPTION_LIST, &(o).focus, "RE", "start at frames that match"},                      \
	{"hide", 0, CAM_OPTION_LIST, &(o).hide, "RE", "without frames that match: their callers have it"},  \
	{"frames", 0, CAM_OPTION_TEXT, &(o).frames, "user|kernel", "only frames of that kind"},             \
	{"collapse-recursion", 0, CAM_OPTION_FLAG, &(o).recursion, NULL, "a function that calls itself is one frame"}, \
	{"group", 0, CAM_OPTION_TEXT, &(o).group, "KIND", "frames become: package module; of pictures also leaf-package build-id"}
// clang-format on

/*
 * An exit status, after saying what is wrong; shape is to be freed either way. build: what must be
 * known when the tree is built.
 */
int cam_reshaping_resolve(const struct cam_reshape_options *o, struct cam_reshape *shape,
			  struct cam_flame_options *build);
/* The same for tables and reports, which have no groups of leaves and no build-ids. */
int cam_reshaping_pick(const struct cam_reshape_options *o, struct cam_reshape *shape);
