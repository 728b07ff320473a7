// SPDX-License-Identifier: Apache-2.0
/* The half of probe.c that judges. Private to it. */
#pragma once
#include "capture/probe.h"

/* Fills in what follows from what was read, and the findings. */
void cam_probe_judge(struct cam_probe *p, uint32_t hz);
