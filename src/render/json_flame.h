// SPDX-License-Identifier: Apache-2.0
/*
 * Flame tree → JSON: nested objects with name, kind, module, value, self and children, the form that
 * d3-flame-graph and its kin read; of a differential also "before" (value) and "delta".
 */
#pragma once
#include "base/json.h"
#include "query/views.h"

/* One member of an open object, under that key. A node of less than min_share of all is left out. */
void cam_json_flame_put(struct cam_json *j, const char *key, const struct cam_flame *f,
			double min_share);
