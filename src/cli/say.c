// SPDX-License-Identifier: Apache-2.0
#include "cli/say.h"

#include "base/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One write per line, and no control character of a file's name reaches the terminal. */
__attribute__((format(printf, 1, 0))) static void say(const char *fmt, va_list ap)
{
	char line[1024];
	struct cam_out out;
	if (vsnprintf(line, sizeof(line), fmt, ap) < 0)
		return;
	cam_out_to_fd(&out, STDERR_FILENO);
	cam_out_str(&out, "perfcam: ");
	cam_out_printable(&out, cam_text_of(line));
	cam_out_str(&out, "\n");
	cam_out_finish(&out);
}

#define DEFINE_SAY(fn, status)       \
	int fn(const char *fmt, ...) \
	{                            \
		va_list ap;          \
		va_start(ap, fmt);   \
		say(fmt, ap);        \
		va_end(ap);          \
		return status;       \
	}

DEFINE_SAY(cam_usage, CAM_EXIT_USAGE)
DEFINE_SAY(cam_failed, CAM_EXIT_FAILED)
DEFINE_SAY(cam_incomplete, CAM_EXIT_INCOMPLETE)

void cam_note(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(fmt, ap);
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
	default:
		return strerror(-err);
	}
}
