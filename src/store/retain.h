// SPDX-License-Identifier: Apache-2.0
/* What to delete: a pure function over the list of windows. retain.c says how and why. */
#pragma once
#include "model/nouns.h"
#include "store/store.h"

#define CAM_RETAIN_NEWEST_NS (600 * UINT64_C(1000000000))

struct cam_retain_item {
	uint64_t sequence, bytes;
	uint64_t start_ns, end_ns; /* on its own clock */
	struct cam_boot_id boot_id;
	bool live;     /* recorded here, with a clock: not imported */
	bool pinned;   /* within the pins' own budget */
	bool busy;     /* being written: never deleted */
	bool hopeless; /* nothing in it can be read: no header, so no age either */

	/* Answers. */
	uint64_t age_ns; /* recorded time since it ended (an import: since it came) */
	bool newest;	 /* of the newest ten minutes */
	bool doomed;
};

/*
 * Marks what the limits doom. `items` in the order of the list: boots one after another. May
 * reorder nothing; -ENOMEM.
 */
int cam_retain_plan(struct cam_retain_item *items, size_t n, const struct cam_retention *r,
		    uint64_t free_bytes);
