// SPDX-License-Identifier: Apache-2.0
/* What recording has cost here so far, from the newest windows of a store. Any thread; reads only. */
#pragma once
#include "store/io.h"

#include <stdint.h>

/* Windows with less say little: what a window takes anyway would be shared among too few. */
#define CAM_PAST_SAMPLES 1000u
#define CAM_PAST_WINDOWS 5u

struct cam_past {
	uint32_t windows;    /* looked at; 0: none is good for it */
	uint64_t samples;    /* in them */
	uint64_t file_bytes; /* of their files */
	uint64_t own_cpu_ns; /* of perfcam's processes */
};

void cam_past_read(struct cam_io *io, struct cam_past *out);
