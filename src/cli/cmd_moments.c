// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "cli/viewing.h"
#include "query/moments.h"
#include "render/json_why.h"

#include <errno.h>

#define MOMENTS 15u

struct moments_arguments {
	struct cam_viewing v;
	unsigned limit;
};

static void put(const struct cam_viewing *v, const void *view, struct cam_out *out)
{
	const struct cam_why *w = view;
	struct cam_time_world world = cam_range_world();
	char where[CAM_VIEWING_WHERE_BYTES];
	cam_viewing_where(v, where);
	struct cam_text_why_options o = {.table = {.zone = cam_range_zone, .zone_arg = &world},
					 .where = cam_text_of(where)};
	if (v->json) {
		struct cam_json j = {out, false};
		cam_json_open(&j, NULL, '{');
		cam_json_moments(&j, w, &o);
		cam_json_close(&j, '}');
		cam_out_str(out, "\n");
	} else {
		cam_text_moments_write(w, &o, out);
	}
}

int cam_cmd_moments(const struct cam_verb *verb, int argc, char **argv)
{
	struct moments_arguments a = {0};
	const struct cam_option options[] = {
		{"limit", 'n', CAM_OPTION_COUNT, &a.limit, "N", "moments (default: 15)"},
		CAM_VIEWING_OPTIONS(a.v),
		{0},
	};
	int status;
	if (!cam_viewing_parse(&a.v, verb, options, argc, argv, &status))
		return status;
	status = cam_viewing_open(&a.v);
	if (status)
		return status;
	struct cam_why_options o = {.limit = a.limit ? a.limit : MOMENTS,
				    .progress = &a.v.bar.progress};
	struct cam_why w;
	int err = cam_moments_build(a.v.in.source, &a.v.selection, &o, &w);
	cam_progress_bar_end(&a.v.bar);
	if (err == -ENODATA)
		status = cam_failed("%s: nothing with times was recorded then; see perfcam ls",
				    a.v.in.name);
	else if (err)
		status = cam_viewing_failed(&a.v, err);
	if (err)
		return cam_viewing_close(&a.v, status);
	status = cam_viewing_write(&a.v, put, &w, &w.seen);
	cam_why_free(&w);
	return cam_viewing_close(&a.v, status);
}
