// SPDX-License-Identifier: Apache-2.0
#include "cli/capsule.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <string.h>

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
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	const char *argument = n_rest ? argv[0] : NULL;
	if (n_rest > 1)
		return cam_usage("capsule takes one time or event, not also '%s'", argv[1]);
	if (argument && !strncmp(argument, "ev-", 3) && !v.range.event) {
		v.range.event = argument + 3;
		argument = NULL;
	}
	if (cam_range_is_empty(&v.range, argument))
		return cam_usage("capsule of what? a time or an event: %s", CAM_TIME_TRY);
	if (!v.out)
		return cam_usage("a capsule needs a file: -o incident.html");
	status = cam_viewing_open(&v, argument);
	if (status)
		return status;
	return cam_viewing_close(&v, cam_capsule_write(&v));
}
