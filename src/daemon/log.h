// SPDX-License-Identifier: Apache-2.0
/* One line on stderr, "perfcam: …", in one write; control characters made harmless. */
#pragma once
#include <stdarg.h>

__attribute__((format(printf, 1, 2))) void cam_log(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) void cam_log_va(const char *fmt, va_list ap);
