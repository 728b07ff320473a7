// SPDX-License-Identifier: Apache-2.0
/*
 * What paused: a process that is always at work, and had no sample for longer than it ever is without one. Sums over
 * seconds (why_scan.h) do not see that where each second holds some work; times of samples do. why_pauses.c
 * opens with how they are judged.
 *
 * Samples are read again, of the windows nearest to the question, at most CAM_WHY_PAUSE_SAMPLES; these seconds are
 * CAM_WHY_PAUSES afterwards, and the moments that a pause is compared with. Of a host so large that these are less than
 * four minutes nothing is said.
 */
#pragma once
#include "query/why_scan.h"

#define CAM_WHY_PAUSE_SAMPLES 1500000u

/*
 * Adds what paused within the seconds asked about to the scan's candidates, and the most unusual pause of each second to its
 * board. width: of a moment, in seconds. Errors as cam_walk()'s.
 */
int cam_why_pauses_find(struct cam_source *source, const struct cam_selection *s,
			const struct cam_progress *progress, unsigned width,
			struct cam_why_history *h, struct cam_why_scan *scan);
