// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of a journal, as docs/journal-format.md specifies them; the annex has the same blocks.
 *
 * A file is blocks, one after the other. A block is 24 bytes of head and a payload:
 *
 *	 0 u32 magic "PCJB"		12 u8  type
 *	 4 u32 bytes of payload		13 u8  flags
 *	 8 u32 sequence, from 0		14 u16 0
 *	16 u32 bytes once decompressed	20 u32 crc32c of the 20 bytes before and the payload
 *
 * The crc of the first block starts from 0, all others from the first one's crc: a block of
 * another journal (stale sectors after a power cut) is never taken for one of this.
 */
#pragma once
#include "base/crc32c.h"
#include "model/nouns.h"

#include <string.h>

#define CAM_JOURNAL_MAGIC     0x424a4350u /* "PCJB" */
#define CAM_JOURNAL_HEAD      24u
#define CAM_JOURNAL_MAX_BYTES (16u << 20) /* of a payload, in either form */
#define CAM_JOURNAL_ZSTD      1u

/*
 * A payload may be compressed at most this well: else it is stored plain. It keeps the work that
 * a small crafted file can ask for small.
 */
#define CAM_JOURNAL_FREE_BYTES 65536u
#define CAM_JOURNAL_MAX_RATIO  128u

enum cam_journal_type {
	CAM_JOURNAL_HEADER = 1, /* the first block, and only that */
	CAM_JOURNAL_DATA = 2,
	CAM_JOURNAL_END = 3, /* the last: the window ended on purpose */
};

/* Features a reader must know: data blocks may have extensions behind their columns. */
#define CAM_JOURNAL_EXTENDED 1u
#define CAM_JOURNAL_INCOMPAT CAM_JOURNAL_EXTENDED

/* Functions inlined at one location: of more the innermost are kept. */
#define CAM_JOURNAL_MAX_INLINED 64u

/* What may follow the columns of a data block; a reader passes over kinds it does not know. */
enum cam_journal_extension {
	CAM_JX_COUNTERS = 1,
	CAM_JX_INLINED = 2,
	CAM_JX_LINES = 3,
};

/* The tables, in the order in which their new rows are numbered and written. */
enum cam_journal_table {
	CAM_JT_STRING,
	CAM_JT_MODULE,
	CAM_JT_FUNCTION,
	CAM_JT_LOCATION,
	CAM_JT_PLACE,
	CAM_JT_TASK,
	CAM_JT_ETYPE,
	CAM_JT_MAX,
};

/* The columns of a data block, in order; what each row holds is said in the specification. */
enum cam_journal_column {
	CAM_JC_STRING_LENGTH,
	CAM_JC_STRING_BYTES,
	CAM_JC_MODULE,
	CAM_JC_FUNCTION_MODULE,
	CAM_JC_FUNCTION_KIND,
	CAM_JC_FUNCTION_BASE,
	CAM_JC_FUNCTION_NAME,
	CAM_JC_LOCATION_FUNCTION,
	CAM_JC_LOCATION_FLAGS,
	CAM_JC_LOCATION_MODULE,
	CAM_JC_LOCATION_ADDRESS,
	CAM_JC_LOCATION_OFFSET,
	CAM_JC_CHAIN_PARENT,
	CAM_JC_CHAIN_LENGTH,
	CAM_JC_CHAIN_ITEM,
	CAM_JC_TASK_DEFINITION,
	CAM_JC_ETYPE_DEFINITION,
	CAM_JC_TIME,
	CAM_JC_CPU,
	CAM_JC_TASK,
	CAM_JC_PLACE,
	CAM_JC_ETYPE,
	CAM_JC_WEIGHT,
	CAM_JC_DETAIL,
	CAM_JC_ANCHOR,
	CAM_JC_EVENT,
	CAM_JC_LEDGER,
	CAM_JC_FACT,
	CAM_JC_MAX,
};

/* Rows that are not of a table, in the order of their counts. */
enum cam_journal_count {
	CAM_JN_CHAIN,
	CAM_JN_SAMPLE,
	CAM_JN_ANCHOR,
	CAM_JN_EVENT,
	CAM_JN_LEDGER,
	CAM_JN_FACT,
	CAM_JN_MAX,
};

/* Flags of a data block: the column holds one value for all samples. */
#define CAM_JF_ONE_CPU	  1u
#define CAM_JF_ONE_ETYPE  2u
#define CAM_JF_ONE_WEIGHT 4u
#define CAM_JF_ONE_DETAIL 8u
#define CAM_JF_ALL	  15u

/* Of a location. */
#define CAM_JL_LATE	   1u
#define CAM_JL_NO_OFFSET   2u
#define CAM_JL_OWN_MODULE  4u /* another one than its function's */
#define CAM_JL_OWN_ADDRESS 8u /* another one than the function's base and its offset give */
#define CAM_JL_ALL	   15u

/* Where a function starts, in the bits above kind and source. */
enum cam_journal_start { CAM_JS_NONE, CAM_JS_BASE, CAM_JS_OWN, CAM_JS_MAX };

/* Of tasks: fields that are as in the task defined before it in the block. */
#define CAM_JK_SAME_PID	   1u /* tid is pid */
#define CAM_JK_SAME_UID	   2u
#define CAM_JK_SAME_COMM   4u
#define CAM_JK_SAME_EXE	   8u
#define CAM_JK_SAME_CGROUP 16u
#define CAM_JK_NO_START	   32u
#define CAM_JK_ALL	   63u

/* Predictors that both sides keep while they walk over a block. */
#define CAM_JOURNAL_SLOTS 256u

struct cam_journal_head {
	uint32_t bytes; /* of payload */
	uint32_t sequence;
	uint32_t plain_bytes;
	uint32_t crc;
	uint8_t type, flags;
};

static inline void cam_journal_put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static inline uint32_t cam_journal_get_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The crc of a block whose payload follows its head in memory. */
static inline uint32_t cam_journal_crc(const uint8_t *block, uint32_t bytes, uint32_t seed)
{
	uint32_t crc = cam_crc32c(seed, block, 20);
	return cam_crc32c(crc, block + CAM_JOURNAL_HEAD, bytes);
}

/* Fills the 24 bytes before a payload; answers the crc. */
static inline uint32_t cam_journal_put_head(uint8_t *block, const struct cam_journal_head *h,
					    uint32_t seed)
{
	memset(block, 0, CAM_JOURNAL_HEAD);
	cam_journal_put_u32(block, CAM_JOURNAL_MAGIC);
	cam_journal_put_u32(block + 4, h->bytes);
	cam_journal_put_u32(block + 8, h->sequence);
	block[12] = h->type;
	block[13] = h->flags;
	cam_journal_put_u32(block + 16, h->plain_bytes);
	uint32_t crc = cam_journal_crc(block, h->bytes, seed);
	cam_journal_put_u32(block + 20, crc);
	return crc;
}

/* False: no head of a block, whatever follows it. */
static inline bool cam_journal_get_head(const uint8_t *block, struct cam_journal_head *h)
{
	*h = (struct cam_journal_head){
		.bytes = cam_journal_get_u32(block + 4),
		.sequence = cam_journal_get_u32(block + 8),
		.plain_bytes = cam_journal_get_u32(block + 16),
		.crc = cam_journal_get_u32(block + 20),
		.type = block[12],
		.flags = block[13],
	};
	uint64_t most =
		h->flags ? CAM_JOURNAL_FREE_BYTES + (uint64_t)CAM_JOURNAL_MAX_RATIO * h->bytes
			 : h->bytes;
	return cam_journal_get_u32(block) == CAM_JOURNAL_MAGIC &&
	       h->bytes <= CAM_JOURNAL_MAX_BYTES && h->plain_bytes <= CAM_JOURNAL_MAX_BYTES &&
	       h->plain_bytes <= most && (h->flags & ~CAM_JOURNAL_ZSTD) == 0 &&
	       (h->flags || h->plain_bytes == h->bytes) && block[14] == 0 && block[15] == 0 &&
	       h->type >= CAM_JOURNAL_HEADER && h->type <= CAM_JOURNAL_END;
}
