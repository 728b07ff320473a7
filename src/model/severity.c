// SPDX-License-Identifier: Apache-2.0
#include "model/severity.h"

#include <strings.h>

static const char *const severities[CAM_SEVERITY_MAX] = {
	"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
};

const char *cam_severity_name(enum cam_severity s)
{
	return (unsigned)s < CAM_SEVERITY_MAX ? severities[s] : "?";
}

bool cam_severity_parse(struct cam_text s, enum cam_severity *out)
{
	static const struct {
		const char *name;
		enum cam_severity severity;
	} others[] = {
		{"emergency", CAM_SEVERITY_EMERG}, {"panic", CAM_SEVERITY_EMERG},
		{"fatal", CAM_SEVERITY_CRIT},	   {"critical", CAM_SEVERITY_CRIT},
		{"error", CAM_SEVERITY_ERR},	   {"warn", CAM_SEVERITY_WARNING},
	};
	if (s.n == 1 && s.p[0] >= '0' && s.p[0] < '0' + CAM_SEVERITY_MAX) {
		*out = (enum cam_severity)(s.p[0] - '0');
		return true;
	}
	for (unsigned i = 0; i < CAM_SEVERITY_MAX; i++) {
		if (strlen(severities[i]) == s.n && !strncasecmp(severities[i], s.p, s.n)) {
			*out = (enum cam_severity)i;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strlen(others[i].name) == s.n && !strncasecmp(others[i].name, s.p, s.n)) {
			*out = others[i].severity;
			return true;
		}
	}
	return false;
}
