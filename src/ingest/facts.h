// SPDX-License-Identifier: Apache-2.0
/*
 * Facts about the host or the recording, kept for every window that follows.
 *
 * Each change gets a stamp, so that an open window knows which ones it has not written yet.
 */
#pragma once
#include "base/buf.h"
#include "model/tables.h"

#define CAM_FACTS_MAX	      1024u
#define CAM_FACTS_KEY_BYTES   4096u
#define CAM_FACTS_VALUE_BYTES 65536u

struct cam_facts {
	struct cam_facts_row {
		struct cam_buf key, value;
		uint64_t stamp; /* of its last change, from 1 */
	} * rows;
	size_t n, cap;
	uint64_t stamp; /* of the last change of all */
};

void cam_facts_free(struct cam_facts *f);
/* Adds one, whether or not there is one of that key. -E2BIG: too long, or too many. */
int cam_facts_add(struct cam_facts *f, struct cam_text key, struct cam_text value);
/* Replaces the one of that key, or adds it. */
int cam_facts_set(struct cam_facts *f, struct cam_text key, struct cam_text value);
/* Those that changed after `stamp`, interned; answers how many there are, or an error. */
int cam_facts_intern(const struct cam_facts *f, uint64_t stamp, struct cam_tables *t,
		     struct cam_fact out[CAM_FACTS_MAX]);

static inline struct cam_text cam_facts_text(const struct cam_buf *b)
{
	return (struct cam_text){(const char *)b->data, b->len};
}
