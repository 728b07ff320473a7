// SPDX-License-Identifier: Apache-2.0
/* What `pin` and `unpin` share: pins are ranges of wall-clock time, shown as such. */
#pragma once
#include "base/json.h"
#include "cli/asking.h"

/* Sets or releases one, through the recorder or, where none runs, with the store's lock. An exit
 * status. */
int cam_pinning_change(struct cam_asking *a, enum cam_control_verb verb, const struct cam_pin *p);
/* "2026-04-15 03:14:02+02:00 to 03:14:12+02:00 note" and a newline, or an object. */
void cam_pinning_show(struct cam_out *out, struct cam_json *json, const struct cam_pin *p);
