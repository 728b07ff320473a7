// SPDX-License-Identifier: Apache-2.0
/*
 * The sealed window on disk: its fixed parts and its bounds. docs/window-format.md is the
 * specification; everything else in a window is streams (store/stream.h) and text.
 *
 *	header     CAM_HEADER_BYTES
 *	directory  right behind it
 *	chunks     in the order of the directory
 *	(zeros, only where both directories would begin in one page)
 *	directory  again, the same bytes
 *	trailer    CAM_TRAILER_BYTES, the last of the file
 */
#pragma once
#include "model/nouns.h"

#define CAM_WINDOW_MAGIC    0x0a314e5743465000ull /* "\0PFCWN1\n", as little-endian bytes */
#define CAM_DIRECTORY_MAGIC 0x52494443u		  /* "CDIR" */
#define CAM_TRAILER_MAGIC   0x444e4557434650ffull /* "\xffPFCWEND" */

/* Features of a file: a reader that does not know a bit of ... */
#define CAM_FEATURES_COMPAT    CAM_FEATURE_SLOTS /* compat may ignore it */
#define CAM_FEATURES_RO_COMPAT 0u		 /* ro_compat may read, but not rewrite the file */
#define CAM_FEATURES_INCOMPAT  CAM_FEATURE_KNOWN /* incompat must not touch it */
/* Chunks of functions name what store/known.h has by its number. Windows without it have the first form. */
#define CAM_FEATURE_KNOWN 1u
/* It has chunks of slots: so the header alone says it. */
#define CAM_FEATURE_SLOTS 1u

/* Header: magic u64, compat, ro_compat, incompat u32, crc32c of what is before it u32. */
#define CAM_HEADER_BYTES 24u
/* Before a directory: magic u32, stored bytes u32, raw bytes u32, crc32c u32 of these and it. */
#define CAM_DIRECTORY_HEAD_BYTES 16u
/* Trailer: magic u64, offset of the second directory u64, its bytes u32, crc32c u32. */
#define CAM_TRAILER_BYTES 24u
/* Each chunk begins with the crc32c of (kind u32, number u32) and its content. */
#define CAM_CHUNK_HEAD_BYTES 4u

#define CAM_PAGE_BYTES 4096u
/* What a writer keeps to, unless a single row is larger. */
#define CAM_CHUNK_BYTES	   65536u
#define CAM_SPAN_SECONDS   10u
#define CAM_SPAN_SAMPLES   16384u
#define CAM_TREE_ROWS	   (1u << 18) /* nodes, and pairs, a tree chunk */
#define CAM_TEXT_RAW_BYTES (1u << 20) /* text of a chunk before compression */

/* What a reader refuses to go beyond. */
#define CAM_CHUNK_BYTES_MAX	(16u << 20)
#define CAM_TEXT_RAW_MAX	(64u << 20)
#define CAM_DIRECTORY_BYTES_MAX (64u << 20)
#define CAM_WINDOW_SAMPLES_MAX	(1ull << 32)
#define CAM_WINDOW_ROWS_MAX	(1u << 24)
#define CAM_WINDOW_GROUPS_MAX	CAM_TREE_ROWS
/*
 * What a file may hold for each of its bytes. A token may take no bit at all, and zstd knows no
 * bounds: lengths alone limit nothing. A writer that would pass these adds zeros to the file, or
 * does not compress.
 */
#define CAM_ROWS_PER_BYTE    64u /* of a table; of cells by second beyond CAM_FREE_CELLS */
#define CAM_FREE_CELLS	     (1u << 20)
#define CAM_SLOT_SECONDS     4096u /* that a window with slots may have */
#define CAM_SAMPLES_PER_BYTE 1024u
#define CAM_TEXT_PER_BYTE    1024u /* strings, and the bytes of a compressed block */

enum cam_chunk_kind {
	/* Tables. */
	CAM_CHUNK_STRINGS,
	CAM_CHUNK_MODULES,
	CAM_CHUNK_FUNCTIONS,
	CAM_CHUNK_TASKS,
	CAM_CHUNK_TREE,
	CAM_CHUNK_LEAVES,
	CAM_CHUNK_LOCATIONS,
	CAM_CHUNK_PLACES,
	CAM_CHUNK_ANCHORS,
	CAM_CHUNK_EVENTS,
	CAM_CHUNK_LEDGER,
	CAM_CHUNK_FACTS,
	CAM_CHUNK_PROCESSES,
	CAM_CHUNK_SMALL,
	/* Columns: one chunk a span (LEAF: one a span and tree chunk, PLACE: one a span and chunk of
	 * places, DETAIL: any number). */
	CAM_CHUNK_COUNTS,
	CAM_CHUNK_RANK,
	CAM_CHUNK_TIME,
	CAM_CHUNK_TASK,
	CAM_CHUNK_WEIGHT,
	CAM_CHUNK_LEAF,
	CAM_CHUNK_PLACE,
	CAM_CHUNK_DETAIL,
	/* Added since version 1; a reader that does not know a kind passes over its chunks. */
	CAM_CHUNK_COUNTERS,
	CAM_CHUNK_LINES,
	CAM_CHUNK_SECONDS,
	CAM_CHUNK_SLOTS,
	CAM_CHUNK_KINDS,
};
#define CAM_CHUNK_FIRST_COLUMN CAM_CHUNK_COUNTS

/* A number of the ledger as a cause: one that a newer perfcam has invented is unexplained here. */
static inline enum cam_cause cam_cause_stored(uint64_t number)
{
	return number < CAM_CAUSE_MAX ? (enum cam_cause)number : CAM_CAUSE_UNEXPLAINED;
}
