// SPDX-License-Identifier: Apache-2.0
#include "cli/say.h"
#include "cli/serving.h"
#include "cli/setting_options.h"
#include "cli/verbs.h"

#include <stdlib.h>

int cam_cmd_serve(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	const struct cam_option own[] = {{NULL}};
	struct cam_option options[CAM_SETTING_OPTIONS];
	int n_rest;
	bool done;
	cam_setting_options(options, own, CAM_FOR_SERVE, &given);
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (status || done)
		return status;
	if (n_rest)
		return cam_usage("serve takes no arguments, only options: '%s'", argv[0]);
	struct cam_settings *settings = malloc(sizeof(*settings));
	if (!settings)
		return cam_failed("out of memory");
	struct cam_serving s = {.status_fd = -1};
	status = cam_setting_load(&given, settings);
	if (!status)
		status = cam_serving_open(&s, settings);
	if (!status)
		status = cam_serving_run(&s);
	cam_serving_close(&s);
	free(settings);
	return status;
}
