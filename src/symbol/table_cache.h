// SPDX-License-Identifier: Apache-2.0
/*
 * Packed unwind tables by ingest's file numbers, in bounded memory; the least recently used go first.
 *
 * A number means the file that was last read under it, until it is forgotten.
 */
#pragma once
#include "symbol/ehframe.h"

#define CAM_TABLE_CACHE_FILES 1024u

struct cam_table_cache;

/* max_bytes: of all blocks together. */
struct cam_table_cache *cam_table_cache_new(size_t max_bytes);
void cam_table_cache_free(struct cam_table_cache *c);
size_t cam_table_cache_memory(const struct cam_table_cache *c);

/*
 * Reads the file's table, hands each piece to `piece` and keeps it. Errors are cam_ehframe_read()'s;
 * that a table could not be kept (it alone exceeds the bound, or memory is short) is none.
 */
int cam_table_cache_read(struct cam_table_cache *c, uint32_t file, const struct cam_bytes *b,
			 cam_ehframe_piece_fn *piece, void *arg);
void cam_table_cache_forget(struct cam_table_cache *c, uint32_t file);

/* NULL: it is not there. Valid until the next read or forget. */
const struct cam_unwind_file *cam_table_cache_find(struct cam_table_cache *c, uint32_t file);
const struct cam_unwind_block *cam_table_cache_block(const struct cam_table_cache *c,
						     uint32_t number);
