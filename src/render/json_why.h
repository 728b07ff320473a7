// SPDX-License-Identifier: Apache-2.0
/* What was different, as JSON: docs/why.md has the keys. */
#pragma once
#include "base/json.h"
#include "render/text_why.h"

/* The members of an object that the caller opens and closes. */
void cam_json_why(struct cam_json *j, const struct cam_why *w,
		  const struct cam_text_why_options *o);
/* The same of moments: "moments" in the form of findings. */
void cam_json_moments(struct cam_json *j, const struct cam_why *w,
		      const struct cam_text_why_options *o);
