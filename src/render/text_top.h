// SPDX-License-Identifier: Apache-2.0
/* The heaviest functions as a table for a terminal. */
#pragma once
#include "base/out.h"
#include "query/views.h"

/* columns: of the terminal, at least 40; 0: 100. The error of the stream, if any. */
int cam_text_top_write(const struct cam_top *top, unsigned columns, struct cam_out *out);
