// SPDX-License-Identifier: Apache-2.0
/* The parser of a print fmt: its format string, and the expressions behind it. See trace_format.h. */
#pragma once
#include "interop/trace_format.h"

/*
 * Parses [p, end) into f->format, f->nodes and f->args; texts are unescaped in place. What it does not
 * understand sets f->failed. -ENOMEM.
 */
int cam_trace_expr_parse(struct cam_trace_format *f, char *p, char *end);
