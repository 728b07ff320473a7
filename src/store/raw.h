// SPDX-License-Identifier: Apache-2.0
/*
 * A window that is not coded at all: its samples as they are in a nameless temporary file, its
 * tables in memory. For `-i FILE`, where coding a journal only to decode it at once took a third
 * of the whole time.
 *
 * Write (begin, append, end, then the tables), then read; the two do not overlap. One thread.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"

struct cam_raw;

int cam_raw_new(const struct cam_window_head *head, struct cam_raw **out);
void cam_raw_free(struct cam_raw *raw);
int cam_raw_append(struct cam_raw *raw, const struct cam_block *block);
int cam_raw_end(struct cam_raw *raw, uint64_t end_ns);
/* Takes the tables over; *t is empty afterwards. */
void cam_raw_keep(struct cam_raw *raw, struct cam_tables *t);
/* Valid after cam_raw_keep(), as long as raw. */
const struct cam_window_info *cam_raw_info(const struct cam_raw *raw);
/* A reader; raw must outlive it. Samples come in the order they were appended. */
int cam_raw_open(struct cam_raw *raw, struct cam_window **out);
