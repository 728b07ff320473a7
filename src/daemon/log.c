// SPDX-License-Identifier: Apache-2.0
#include "daemon/log.h"

#include "base/out.h"

#include <stdio.h>
#include <unistd.h>

void cam_log_va(const char *fmt, va_list ap)
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

void cam_log(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	cam_log_va(fmt, ap);
	va_end(ap);
}
