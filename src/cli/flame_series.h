// SPDX-License-Identifier: Apache-2.0
/* A selection cut into stretches of the same length, and what the file of each is called. */
#pragma once
#include "query/select.h"

struct cam_flame_series {
	bool wall; /* from, to are wall-clock times, and stretches start at whole multiples of the step */
	int64_t from_ns, to_ns, step_ns;
	size_t n;
};

/*
 * By what `--every` says and the windows that a settled selection touches. An exit status, after saying
 * what is wrong: no time, no length, more than 10,000 pictures.
 */
int cam_flame_series_find(const char *every, struct cam_source *source,
			  const struct cam_selection *s, struct cam_flame_series *out);
/* Makes the selection that of stretch i, which is never wider than it was. */
void cam_flame_series_select(const struct cam_flame_series *series, size_t i,
			     struct cam_selection *s);
/* When stretch i begins: "20260415-031407" in local time (".250" where it matters), or "12.500s". */
void cam_flame_series_stamp(const struct cam_flame_series *series, size_t i, char *room,
			    size_t bytes);
/* "dir/x-STAMP.svg.gz" of "dir/x.svg.gz". */
void cam_flame_series_path(const char *path, const char *stamp, char *room, size_t bytes);
