// SPDX-License-Identifier: Apache-2.0
/* A row of the table of settings: what is shown, how the text is read, and where the value goes. */
#pragma once
#include "daemon/settings.h"

enum cam_setting_kind {
	CAM_KIND_PATH,
	CAM_KIND_DURATION,
	CAM_KIND_COUNT,
	CAM_KIND_CHOICE, /* of the words in value_name, into an enum */
	CAM_KIND_BOOL,
	CAM_KIND_PIDS,
	CAM_KIND_USER,
	CAM_KIND_CPUS,
	CAM_KIND_CGROUP,
	CAM_KIND_SIZE,
	CAM_KIND_AMOUNT,
	CAM_KIND_PERCENT,
	CAM_KIND_LISTEN,
	CAM_KIND_HOST,
	CAM_KIND_LOGS,
	CAM_KIND_NAMES,
	CAM_KIND_JOURNAL,
};

struct cam_setting_row {
	struct cam_setting shown;
	enum cam_setting_kind kind;
	bool limit;	  /* `none` and 0 lift it */
	size_t at, bytes; /* of its members in struct cam_settings */
	uint64_t lo, hi;
};

const struct cam_setting_row *cam_setting_row(enum cam_setting_id id);
