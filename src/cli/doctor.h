// SPDX-License-Identifier: Apache-2.0
/* What the parts of `perfcam doctor` share: the host, the recorder, stacks and names by process. */
#pragma once
#include "base/json.h"
#include "cli/asking.h"
#include "query/quality.h"

struct cam_finding {
	char missing[256], cost[256], remedy[512];
	uint64_t samples; /* that it cost so far; 0: not counted */
};

#define CAM_DOCTOR_FINDINGS 64u

/* Collected first, shown last. What is beyond the bound is left out. */
struct cam_findings {
	struct cam_finding v[CAM_DOCTOR_FINDINGS];
	size_t n;
};

/* One more, to be filled in; never NULL. */
struct cam_finding *cam_findings_add(struct cam_findings *f);

/* As text, or as members of an open object. */
struct cam_doctor {
	struct cam_out *out;
	struct cam_json *json; /* NULL: text */
	struct cam_findings found;
};

/* Facts of the host; findings of what this process may not do there. */
void cam_doctor_host(struct cam_doctor *d, const struct cam_settings *s);
/* The quality of what was recorded in that time; findings by process. An exit status. */
int cam_doctor_stacks(struct cam_doctor *d, struct cam_asking *a, const char *last);
