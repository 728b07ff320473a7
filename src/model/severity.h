// SPDX-License-Identifier: Apache-2.0
/* The names of severities, as syslog has them. */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

/* "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug" */
const char *cam_severity_name(enum cam_severity s);
/* A name as above (or "error", "warn", "critical", "panic", "emergency") or its number; false: neither. */
bool cam_severity_parse(struct cam_text s, enum cam_severity *out);
