// SPDX-License-Identifier: Apache-2.0
/* All that is known of a moment in one HTML file, for a ticket: it opens anywhere, without perfcam and without a network. */
#pragma once
#include "cli/viewing.h"

/* Of what is open and settled, to the file v->out: an exit status, after saying what failed. */
int cam_capsule_write(struct cam_viewing *v);
