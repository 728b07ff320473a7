// SPDX-License-Identifier: Apache-2.0
/*
 * Ids of rows in a window's tables. One-member structs, so that a string id cannot pass as a
 * stack id. Dense, from 0, in order of first sight; valid as long as the tables they came from.
 * Row 0 of strings is the empty string, row 0 of both trees the root (the empty stack), row 0 of
 * modules "no module": so a zeroed struct means "nothing known".
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define CAM_NONE UINT32_MAX

struct cam_str_id {
	uint32_t v;
};
struct cam_module_id {
	uint32_t v;
};
struct cam_func_id {
	uint32_t v;
};
struct cam_loc_id {
	uint32_t v;
};
/* A node of the tree of functions: the stack from the root down to it. */
struct cam_stack_id {
	uint32_t v;
};
/* A node of the tree of locations: the same stack with addresses. */
struct cam_place_id {
	uint32_t v;
};
struct cam_task_id {
	uint32_t v;
};
struct cam_etype_id {
	uint32_t v;
};
