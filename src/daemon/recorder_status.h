// SPDX-License-Identifier: Apache-2.0
/* The recorder's own health and cost, as `perfcam status` shows it. */
#pragma once
#include "base/buf.h"

struct cam_recorder;
void cam_recorder_status(struct cam_recorder *r, struct cam_buf *out);
