// SPDX-License-Identifier: Apache-2.0
/*
 * A window that is not coded at all: its tables in memory, and its samples too, as far as CAM_UNCODED_BYTES
 * reach; what comes then is in a nameless temporary file. For `-i FILE`, where coding a journal only to decode it at
 * once took a third of the whole time.
 *
 * Write (begin, append, end, then the tables), then read; the two do not overlap. One thread.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"

#define CAM_UNCODED_BYTES (48u << 20) /* 2 million samples */

struct cam_uncoded;

int cam_uncoded_new(const struct cam_window_head *head, struct cam_uncoded **out);
void cam_uncoded_free(struct cam_uncoded *raw);
int cam_uncoded_append(struct cam_uncoded *raw, const struct cam_block *block);
int cam_uncoded_end(struct cam_uncoded *raw, uint64_t end_ns);
/* Takes the tables over; *t is empty afterwards. */
void cam_uncoded_keep(struct cam_uncoded *raw, struct cam_tables *t);
/* Valid after cam_uncoded_keep(), as long as raw. */
const struct cam_window_info *cam_uncoded_info(const struct cam_uncoded *raw);
/* A reader; raw must outlive it. Samples come in the order they were appended. */
int cam_uncoded_open(struct cam_uncoded *raw, struct cam_window **out);
