// SPDX-License-Identifier: Apache-2.0
#include "cli/capsule.h"
#include "cli/say.h"
#include "cli/verbs.h"

int cam_cmd_capsule(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_viewing v = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(v.from),
		{"output", 'o', CAM_OPTION_TEXT, &v.out, "X.html", "the file; its path is printed"},
		CAM_RANGE_OPTIONS(v.range),
		CAM_FILTER_OPTIONS(v.filters, "idle CPUs, too", "without them (the default)",
				   "only this event (default: the first one met; * is all)"),
		{0},
	};
	int status;
	if (!cam_viewing_parse(&v, verb, options, argc, argv, &status))
		return status;
	if (cam_range_is_empty(&v.range))
		return cam_usage("capsule of what? a time or an event: %s", CAM_TIME_TRY);
	if (!v.out)
		return cam_usage("a capsule needs a file: -o incident.html");
	status = cam_viewing_open(&v);
	if (status)
		return status;
	return cam_viewing_close(&v, cam_capsule_write(&v));
}
