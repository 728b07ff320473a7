// SPDX-License-Identifier: Apache-2.0
/*
 * A store without a directory, for `-i FILE`: journals in nameless temporary files, which end with
 * the process. Memory stays bounded by one window's tables however long the file is.
 *
 * Write all windows through the journal door, then read them through the source; the two do not
 * overlap. One thread.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"

struct cam_temporary;

int cam_temporary_new(size_t max_table_bytes, struct cam_temporary **out);
void cam_temporary_free(struct cam_temporary *t);
/* Both borrowed, as long as the temporary lives; closing the source does nothing. */
struct cam_journal *cam_temporary_journal(struct cam_temporary *t);
struct cam_source *cam_temporary_source(struct cam_temporary *t);
