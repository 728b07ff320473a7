// SPDX-License-Identifier: Apache-2.0
/* Two selections → what changed between them. diff.c opens with how. */
#pragma once
#include "query/progress.h"
#include "query/reshape.h"
#include "query/select.h"
#include "query/view_diff.h"

struct cam_diff_input {
	struct cam_source *source;
	const struct cam_selection *selection; /* its times settled */
};

struct cam_diff_options {
	enum cam_diff_scale scale;
	bool self; /* else with callees */
	const struct cam_reshape
		*shape; /* frame_shape.h; NULL: all frames. A focus is also what is compared */
	const struct cam_progress *progress;
	size_t max_bytes; /* of what is merged; 0: 1 GiB */
};

/* Errors, with *out empty: -ENODATA: a side has no samples; -E2BIG, -ENOMEM; what progress answered. */
int cam_diff_build(const struct cam_diff_input *before, const struct cam_diff_input *after,
		   const struct cam_diff_options *o, struct cam_diff *out);

/* The statistics alone: one amount over the stretches of both sides, and all there was in them. */
#define CAM_DIFF_STRETCHES 24u
struct cam_diff_series {
	unsigned n;			/* stretches; fewer than 4 give no interval */
	double v[CAM_DIFF_STRETCHES];	/* samples of the row in each */
	double all[CAM_DIFF_STRETCHES]; /* samples of everything */
	double due; /* samples there would be of CPUs that are always busy; 0: not known */
};
/* Amount: after − factor · before in samples; share: of each side's own total. */
struct cam_diff_result {
	double low, high, p;
};
struct cam_diff_result cam_diff_compare_amount(const struct cam_diff_series *before,
					       const struct cam_diff_series *after, double factor);
struct cam_diff_result cam_diff_compare_share(const struct cam_diff_series *before,
					      const struct cam_diff_series *after);
/* p of n rows → q (Benjamini and Hochberg); in place. -ENOMEM. */
int cam_diff_control(double *p, size_t n);
