// SPDX-License-Identifier: Apache-2.0
/* Lines to begin with, for --help and the manual pages. */
#pragma once

/* "  perfcam …" lines, each ended by a newline; "" where a verb has none. */
const char *cam_examples(const char *verb);
