// SPDX-License-Identifier: Apache-2.0
/* A report as text, in the layout of perf report --stdio. */
#pragma once
#include "base/out.h"
#include "query/view_report.h"

struct cam_text_report_options {
	bool samples; /* with their number */
};

/* The stream's error, or 0. */
int cam_text_report_write(const struct cam_report *r, const struct cam_text_report_options *o,
			  struct cam_out *out);
