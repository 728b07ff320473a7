// SPDX-License-Identifier: Apache-2.0
#include "cli/say.h"

#include "daemon/keeper.h"
#include "daemon/log.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define DEFINE_SAY(fn, status)       \
	int fn(const char *fmt, ...) \
	{                            \
		va_list ap;          \
		va_start(ap, fmt);   \
		cam_log_va(fmt, ap); \
		va_end(ap);          \
		return status;       \
	}

DEFINE_SAY(cam_usage, CAM_EXIT_USAGE)
DEFINE_SAY(cam_failed, CAM_EXIT_FAILED)
DEFINE_SAY(cam_incomplete, CAM_EXIT_INCOMPLETE)

int cam_refused(int err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	cam_log_va(fmt, ap);
	va_end(ap);
	return err == -ENOMEM ? CAM_EXIT_FAILED : CAM_EXIT_USAGE;
}

void cam_note(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	cam_log_va(fmt, ap);
	va_end(ap);
}

const char *cam_errno_words(int err)
{
	switch (err) {
	case -EBADMSG:
		return "damaged beyond reading, or not of this format";
	case -EPROTONOSUPPORT:
		return "written by a newer perfcam; this one cannot read it";
	case -E2BIG:
		return "larger than its bound";
	case -EPERM:
		return cam_keeper_words(err);
	default:
		return strerror(-err);
	}
}
