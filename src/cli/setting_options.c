// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_options.h"

#include "cli/say.h"

#include <errno.h>

void cam_setting_options(struct cam_option room[CAM_SETTING_OPTIONS], const struct cam_option *own,
			 unsigned verbs, struct cam_settings_given *given)
{
	size_t n = 0;
	for (; own[n].name && n < CAM_SETTING_OWN_MAX; n++)
		room[n] = own[n];
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		const struct cam_setting *s = cam_setting_of((enum cam_setting_id)i);
		if (s->verbs & verbs)
			room[n++] = (struct cam_option){
				s->name,
				s->letter,
				s->flag ? CAM_OPTION_OPTIONAL : CAM_OPTION_TEXT,
				&given->flags[i],
				s->value_name,
				s->help,
			};
	}
	room[n++] = (struct cam_option){
		"config",
		0,
		CAM_OPTION_TEXT,
		&given->config,
		"FILE",
		"the configuration (default: /etc/perfcam/perfcam.conf, or "
		"~/.config/perfcam/perfcam.conf)",
	};
	room[n] = (struct cam_option){0};
}

int cam_setting_load(const struct cam_settings_given *given, struct cam_settings *out)
{
	char why[CAM_SETTINGS_WHY_BYTES];
	int err = cam_settings_load(given, out, why);
	if (err == -EINVAL)
		return cam_usage("%s", why);
	return err ? cam_failed("%s", why) : CAM_EXIT_OK;
}
