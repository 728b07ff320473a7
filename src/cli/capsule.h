// SPDX-License-Identifier: Apache-2.0
/* All that is known of a moment in one HTML file, for a ticket: it opens anywhere, without perfcam and without a network. */
#pragma once
#include "cli/viewing.h"
#include "serve/server.h"

/* Of what is open and settled, to the file v->out: an exit status, after saying what failed. */
int cam_capsule_write(struct cam_viewing *v);
/* The same for who asks over HTTP (struct cam_server_doors): -ENODATA: nothing was recorded then; -EDOM: there are no times;
 * -E2BIG: too long, or too large; what its progress answers. */
int cam_capsule_send(void *self, const struct cam_server_capsule *asked, struct cam_out *out);
