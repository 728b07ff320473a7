// SPDX-License-Identifier: Apache-2.0
/* Flame tree → the heaviest functions. */
#pragma once
#include "query/views.h"

/* At most `limit` rows. The flame is borrowed as long as the result lives. -ENOMEM. */
int cam_top_build(const struct cam_flame *flame, size_t limit, struct cam_top *out);
