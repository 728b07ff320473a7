// SPDX-License-Identifier: Apache-2.0
/*
 * The settings as options of a verb: its own options, then every setting that it takes, then
 * --config. So a flag and a key of perfcam.conf can never differ.
 *
 *	struct cam_settings_given given = {0};
 *	struct cam_option options[CAM_SETTING_OPTIONS];
 *	cam_setting_options(options, own, CAM_FOR_RECORD, &given);
 *	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
 *	…
 *	status = cam_setting_load(&given, settings);
 */
#pragma once
#include "cli/options.h"
#include "daemon/settings.h"

#define CAM_SETTING_OWN_MAX 16
#define CAM_SETTING_OPTIONS (CAM_SETTING_OWN_MAX + CAM_SETTINGS + 2)

/* own: ends with a row without a name; at most CAM_SETTING_OWN_MAX before it. verbs: CAM_FOR_… */
void cam_setting_options(struct cam_option room[CAM_SETTING_OPTIONS], const struct cam_option *own,
			 unsigned verbs, struct cam_settings_given *given);
/* CAM_EXIT_OK, or the exit status after saying what is wrong. */
int cam_setting_load(const struct cam_settings_given *given, struct cam_settings *out);
