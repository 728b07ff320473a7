// SPDX-License-Identifier: Apache-2.0
/* Leaves the small parts of a flame tree out: whoever has room for so many nodes only. */
#pragma once
#include "query/views.h"

/*
 * Until at most max_nodes are left, those below ever larger totals go, with all below them; their weight
 * stays in their parents' totals. Returns the total below which nodes are gone; 0: none is.
 */
uint64_t cam_flame_prune(struct cam_flame *f, size_t max_nodes);
