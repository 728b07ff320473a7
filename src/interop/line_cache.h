// SPDX-License-Identifier: Apache-2.0
/*
 * Lines seen before, and the id each one gave: a profile's text repeats the same few thousand
 * lines millions of times.
 *
 * A row is found in one of two ways: by its hash, or by a guess, the row that followed last time
 * (cam_line_row.next), which is checked against the text directly, so that neither the end of
 * the line has to be searched nor the line hashed. Both compare the whole text.
 * Ids die with the sink's generation: a row whose generation is not the current one must be
 * defined again; its text stays good. Memory is bounded: a full cache starts from empty.
 */
#pragma once
#include "base/index.h"
#include "base/text.h"

#define CAM_LINE_CACHE_LONGEST 4096u

struct cam_line_row {
	uint32_t at, n;	     /* its text in bytes[] */
	uint32_t generation; /* of id */
	uint32_t id;	     /* CAM_NONE: the line stands for nothing */
	uint32_t next;	     /* the row that followed; 0: none yet */
};

struct cam_line_cache {
	struct cam_line_row *rows; /* rows[0] is nobody's */
	char *bytes;
	size_t n, cap, used, bytes_cap;
	size_t max_bytes;
	uint64_t resets;
	struct cam_index index;
};

/* -ENOMEM. */
int cam_line_cache_init(struct cam_line_cache *c, size_t max_bytes);
void cam_line_cache_free(struct cam_line_cache *c);
/* The row with this text; 0: none. */
uint32_t cam_line_cache_find(const struct cam_line_cache *c, struct cam_text text, uint64_t hash);
/*
 * Adds a text that is not in it (generation and id are the caller's to set) and answers its row.
 * 0 where it cannot be kept: longer than CAM_LINE_CACHE_LONGEST, or no memory. May empty the cache
 * first: all rows the caller remembers are then dead (`resets` changed).
 */
uint32_t cam_line_cache_add(struct cam_line_cache *c, struct cam_text text, uint64_t hash);
