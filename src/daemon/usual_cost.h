// SPDX-License-Identifier: Apache-2.0
/*
 * What a sample costs where nothing better is known: measured on a 2-CPU VM (docs/benchmarks.md), in ns. The recorder
 * measures its host's own at its start, and takes the rest from what earlier windows cost.
 */
#pragma once

#define CAM_USUAL_SAMPLE_NS 15000u /* of the sampled CPU: interrupt, kernel stack, record */
#define CAM_USUAL_UNWIND_NS 12500u /* …and the user stack by tables */
#define CAM_USUAL_OWN_NS    15000u /* of perfcam's processes */
