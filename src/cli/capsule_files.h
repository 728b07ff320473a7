// SPDX-License-Identifier: Apache-2.0
/* The capsules that rules have written into a store: files, which no window knows of. */
#pragma once
#include "base/json.h"
#include "query/select.h"

/*
 * Those of the times selected, oldest first. json: an array of them; NULL: a table. An exit status; without any it says so.
 */
int cam_capsule_files_list(const char *store, const struct cam_selection *s, struct cam_out *out,
			   struct cam_json *json);
/* A line for whoever lists windows: how many there are, and the newest. Nothing where there are none. */
void cam_capsule_files_mention(const char *store, const struct cam_selection *s,
			       struct cam_out *out);
