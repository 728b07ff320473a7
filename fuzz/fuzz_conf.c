// SPDX-License-Identifier: Apache-2.0
/* Any bytes as perfcam.conf, each value into every setting. */
#include "daemon/conf.h"
#include "daemon/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
	struct cam_settings s;
	char why[CAM_SETTINGS_WHY_BYTES];
};

static int take(void *arg, unsigned line, const char *key, const char *value)
{
	struct target *t = arg;
	(void)key;
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		/* Looking a name up in the host's tables is not what is tried here. */
		if (i == CAM_SET_USER && (value[0] < '0' || value[0] > '9'))
			continue;
		cam_settings_set(&t->s, (enum cam_setting_id)i, value,
				 (struct cam_origin){CAM_FROM_FILE, line}, t->why);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct target t;
	cam_conf_parse((struct cam_text){(const char *)data, size}, "conf", take, &t, t.why,
		       sizeof(t.why));
	return 0;
}
