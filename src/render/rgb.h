// SPDX-License-Identifier: Apache-2.0
/* A colour, as every picture has them. */
#pragma once
#include <stdint.h>

struct cam_rgb {
	uint8_t r, g, b;
};
