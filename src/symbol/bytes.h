// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a foreign file: by position, never mapped, never beyond its end.
 *
 * A file may shrink or change while it is read. Then a read fails or answers other bytes, and both
 * are what every reader here expects of any file: nothing that was read is trusted because it was
 * looked at before. (A mapping would answer with SIGBUS.)
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Blocks of files that were read a moment ago: a search in a table, and names that lie side by side, read the
 * same block again and again, and a system call takes longer than all the rest of it. It knows files by
 * their descriptors, so whoever owns it forgets it when a descriptor may mean another file, and once before the first use, when
 * all of it is 0. Not for two threads.
 */
#define CAM_BLOCK_BYTES 4096u
#define CAM_BLOCK_ROOM	256u
struct cam_blocks {
	uint64_t turn; /* what was read in an earlier one is forgotten */
	struct cam_block {
		uint64_t number; /* of the block in its file */
		uint64_t turn;	 /* 0: there is none */
		int fd;
		uint32_t fill;
		uint8_t bytes[CAM_BLOCK_BYTES];
	} blocks[CAM_BLOCK_ROOM];
};
void cam_blocks_forget(struct cam_blocks *k);

/* A regular file, or a piece of memory. Borrowed: neither is closed nor freed here. */
struct cam_bytes {
	int fd; /* where memory is NULL */
	const uint8_t *memory;
	uint64_t size;
	struct cam_blocks *blocks; /* what short reads go through; NULL: nothing */
};

/* -EBADMSG: fd is no regular file. */
int cam_bytes_of_file(struct cam_bytes *b, int fd);
struct cam_bytes cam_bytes_of_memory(const void *memory, size_t size);
/* Exactly n bytes from `at`. -EBADMSG: they are not there; else what pread said. */
int cam_bytes_read(const struct cam_bytes *b, uint64_t at, void *to, size_t n);

/* Rows of equal size, read in blocks, so that a long table takes no memory. */
struct cam_rows {
	const struct cam_bytes *from;
	uint64_t at;   /* of the next block */
	uint64_t left; /* rows that are not in the block */
	uint32_t row_bytes;
	uint32_t pos, fill;
	int error; /* 0, or why rows ended early */
	uint8_t block[16384];
};

/* -EBADMSG: n rows do not fit the file, or a row is larger than a block, or empty. */
int cam_rows_start(struct cam_rows *r, const struct cam_bytes *from, uint64_t at, uint64_t n,
		   uint64_t row_bytes);
/* The next row, valid until the next call; NULL: none is left, or r->error. */
const uint8_t *cam_rows_next(struct cam_rows *r);

/* Little-endian numbers of any alignment. */
static inline uint16_t cam_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t cam_get32(const uint8_t *p)
{
	return cam_get16(p) | (uint32_t)cam_get16(p + 2) << 16;
}

static inline uint64_t cam_get64(const uint8_t *p)
{
	return cam_get32(p) | (uint64_t)cam_get32(p + 4) << 32;
}
