// SPDX-License-Identifier: Apache-2.0
/*
 * Which rows of a window an exporter takes: asked for each one, by whoever knows the selection.
 * Rooms of one rank do not know each other, so this is a callback and not the selection itself.
 */
#pragma once
#include "model/cursor.h"

struct cam_row_filter {
	unsigned columns; /* of the batch that take() looks at */
	/* 1: this row is wanted, 0: it is not; a negative errno ends the export. NULL: all are. */
	int (*take)(void *self, const struct cam_batch *b, size_t i);
	void *self;
	/* Half-open times on the window's clock, in order; none: nothing of this window. */
	const struct cam_range *ranges;
	size_t n_ranges;
};
