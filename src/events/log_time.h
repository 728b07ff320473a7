// SPDX-License-Identifier: Apache-2.0
/*
 * When a line of a log was written, and how much it matters, by the line itself.
 *
 *	iso	2026-04-15T03:14:07.25Z, 2026-04-15 03:14:07,250 +02:00, also in [ ] or " "; and in the first
 *		bytes of a line of JSON
 *	syslog	Apr 15 03:14:07 host …, and <34>1 2026-04-15T03:14:07Z … (RFC 3164 and 5424), with its severity;
 *		[Wed Apr 15 03:14:07 2026] … as dmesg -T has it
 *	epoch	1776222847, 1776222847.25, 1776222847250 (ms; 16 digits: µs, 19: ns)
 *	nginx	2026/04/15 03:14:07 [error] …, and … [15/Apr/2026:03:14:07 +0200] … of access logs
 *	klog	E0415 03:14:07.250123 12345 file.go:7] …
 *	dmesg	[12345.678901] …: a stamp of the kernel's clock, not a wall time; dmesg -x has kern:info: before it
 *	An iso or epoch behind a key, time, ts or timestamp, may be anywhere in the first bytes: time="…", {"ts":1776222847.25,…
 *
 * A date without a year is of the last twelve months, one without a zone is local. Severities are also read where a
 * program writes them: ERROR, [warn], level=info. Pure; whatever the bytes are, nothing is read beyond them.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

enum cam_log_format {
	CAM_LOG_AUTO,
	CAM_LOG_ISO,
	CAM_LOG_SYSLOG,
	CAM_LOG_EPOCH,
	CAM_LOG_NGINX,
	CAM_LOG_KLOG,
	CAM_LOG_DMESG,
	CAM_LOG_FORMATS,
};

struct cam_log_world {
	int64_t now_ns; /* since 1970 */
	/* Seconds east of UTC then; NULL: UTC. */
	int32_t (*zone)(void *arg, int64_t sec);
	void *arg;
};

struct cam_log_stamp {
	enum cam_log_format format; /* CAM_LOG_AUTO: the line has no time */
	int64_t time_ns;	    /* since 1970; of dmesg: the kernel's clock */
	uint64_t doubt_ns;	    /* the last digit's worth */
	enum cam_severity severity; /* CAM_SEVERITY_MAX: it does not say */
	struct cam_text text;	    /* without a time that it begins with */
};

void cam_log_stamp_read(struct cam_text line, enum cam_log_format format,
			const struct cam_log_world *w, struct cam_log_stamp *out);
/* "iso", …; NULL: no such format. */
const char *cam_log_format_name(enum cam_log_format f);
/* False: no such name. */
bool cam_log_format_parse(struct cam_text name, enum cam_log_format *out);
