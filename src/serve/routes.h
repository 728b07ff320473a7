// SPDX-License-Identifier: Apache-2.0
/* What each path answers: pure but for the doors. */
#pragma once
#include "serve/server.h"

/* An HTTP status; the JSON in *out. */
unsigned cam_route(const struct cam_server_doors *doors, const char *path, struct cam_buf *out);
