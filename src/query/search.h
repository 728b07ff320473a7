// SPDX-License-Identifier: Apache-2.0
/* Selection → when it ran. The selection's expressions (match) say what is searched for. */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/view_search.h"

struct cam_search_options {
	size_t limit; /* moments to give */
	const struct cam_progress *progress;
};

/* Errors, with *out empty: as cam_walk()'s; -EDOM: the windows have no times; -E2BIG. */
int cam_search_build(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_search_options *o, struct cam_search *out);
