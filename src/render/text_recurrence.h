// SPDX-License-Identifier: Apache-2.0
/* What precedes events, in sentences and as JSON. */
#pragma once
#include "base/json.h"
#include "query/view_recurrence.h"

/* Without an end of line. */
void cam_text_recurrence_sentence(const struct cam_recurrence_row *row, struct cam_out *out);
/* The stream's error, or 0. where: what a command needs to find the same data ("--store DIR"); may be empty. */
int cam_text_recurrence_write(const struct cam_recurrence *r, struct cam_text where,
			      struct cam_out *out);
/* The members of an object that the caller opens and closes. */
void cam_json_recurrence(struct cam_json *j, const struct cam_recurrence *r, struct cam_text where);
