// SPDX-License-Identifier: Apache-2.0
/*
 * Invariants
 *  1. Every block belongs to one table, by the chain that begins in its entry, or to the table that is
 *     being read, or is free (blocks[i] is NULL and i is on the chain of free numbers).
 *  2. A table is found only when it is complete.
 */
#include "symbol/table_cache.h"

#include "model/ids.h"
#include "model/unwind_pack.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	struct cam_unwind_file table;
	uint32_t blocks; /* the first of its chain */
	uint64_t used;	 /* when it was last asked for */
};

struct cam_table_cache {
	uint32_t max_blocks, n_blocks, numbers; /* numbers: given so far */
	uint32_t free_chain;
	struct cam_unwind_block **blocks;
	uint32_t *next; /* in its chain, by block number; CAM_NONE: the last */
	uint64_t clock;
	uint32_t files[CAM_TABLE_CACHE_FILES]; /* CAM_NONE: a free entry */
	struct entry entries[CAM_TABLE_CACHE_FILES];
	/* The table that is being read. */
	struct cam_unwind_packer packer;
	uint32_t reading; /* its chain */
	cam_ehframe_piece_fn *piece;
	void *arg;
};

struct cam_table_cache *cam_table_cache_new(size_t max_bytes)
{
	struct cam_table_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->max_blocks = (uint32_t)(max_bytes / CAM_UNWIND_BLOCK_BYTES);
	c->blocks = calloc(c->max_blocks, sizeof(c->blocks[0]));
	c->next = calloc(c->max_blocks, sizeof(c->next[0]));
	c->free_chain = c->reading = CAM_NONE;
	memset(c->files, 0xff, sizeof(c->files));
	if (!c->blocks || !c->next) {
		cam_table_cache_free(c);
		return NULL;
	}
	return c;
}

void cam_table_cache_free(struct cam_table_cache *c)
{
	for (uint32_t i = 0; c && i < c->numbers; i++)
		free(c->blocks[i]);
	if (c) {
		free(c->blocks);
		free(c->next);
	}
	free(c);
}

size_t cam_table_cache_memory(const struct cam_table_cache *c)
{
	return sizeof(*c) + c->max_blocks * (sizeof(c->blocks[0]) + sizeof(c->next[0])) +
	       (size_t)c->n_blocks * CAM_UNWIND_BLOCK_BYTES;
}

static void free_chain(struct cam_table_cache *c, uint32_t *first)
{
	while (*first != CAM_NONE) {
		uint32_t number = *first;
		*first = c->next[number];
		free(c->blocks[number]);
		c->blocks[number] = NULL;
		c->next[number] = c->free_chain;
		c->free_chain = number;
		c->n_blocks--;
	}
}

static void drop(struct cam_table_cache *c, uint32_t i)
{
	if (c->files[i] != CAM_NONE)
		free_chain(c, &c->entries[i].blocks);
	c->files[i] = CAM_NONE;
}

/* The least recently used; CAM_TABLE_CACHE_FILES: there is none. */
static uint32_t oldest(const struct cam_table_cache *c)
{
	uint32_t found = CAM_TABLE_CACHE_FILES;
	for (uint32_t i = 0; i < CAM_TABLE_CACHE_FILES; i++) {
		if (c->files[i] != CAM_NONE &&
		    (found == CAM_TABLE_CACHE_FILES || c->entries[i].used < c->entries[found].used))
			found = i;
	}
	return found;
}

static uint32_t entry_of(const struct cam_table_cache *c, uint32_t file)
{
	uint32_t i = 0;
	while (i < CAM_TABLE_CACHE_FILES && c->files[i] != file)
		i++;
	return i;
}

static int put_block(void *arg, const struct cam_unwind_block *block, uint32_t *number)
{
	struct cam_table_cache *c = arg;
	struct cam_unwind_block *copy = NULL;
	while (c->n_blocks == c->max_blocks || !(copy = malloc(sizeof(*copy)))) {
		uint32_t i = oldest(c);
		if (i == CAM_TABLE_CACHE_FILES)
			return c->n_blocks == c->max_blocks ? -ENOSPC : -ENOMEM;
		drop(c, i);
	}
	*copy = *block;
	*number = c->free_chain;
	if (*number == CAM_NONE)
		*number = c->numbers++;
	else
		c->free_chain = c->next[*number];
	c->blocks[*number] = copy;
	c->next[*number] = c->reading;
	c->reading = *number;
	c->n_blocks++;
	return 0;
}

/* What cannot be kept is handed on all the same. */
static int take_piece(void *arg, const struct cam_ehframe_piece *piece)
{
	struct cam_table_cache *c = arg;
	if (cam_unwind_pack_rules(&c->packer, piece->rules, piece->n_rules) ||
	    cam_unwind_pack_rows(&c->packer, piece->rows, piece->n_rows))
		free_chain(c, &c->reading);
	return c->piece(c->arg, piece);
}

int cam_table_cache_read(struct cam_table_cache *c, uint32_t file, const struct cam_bytes *b,
			 cam_ehframe_piece_fn *piece, void *arg)
{
	struct cam_unwind_file table;
	cam_table_cache_forget(c, file);
	cam_unwind_pack_start(&c->packer, put_block, c);
	c->piece = piece;
	c->arg = arg;
	int error = cam_ehframe_read(b, take_piece, c);
	if (error == -ENOMEM && c->n_blocks) {
		/* Sections are read before the first piece: nothing was handed over yet. */
		for (uint32_t i = 0; i < CAM_TABLE_CACHE_FILES; i++)
			drop(c, i);
		error = cam_ehframe_read(b, take_piece, c);
	}
	if (error || cam_unwind_pack_finish(&c->packer, &table)) {
		free_chain(c, &c->reading);
		return error;
	}
	uint32_t i = entry_of(c, CAM_NONE);
	if (i == CAM_TABLE_CACHE_FILES) {
		i = oldest(c);
		drop(c, i);
	}
	c->files[i] = file;
	c->entries[i] = (struct entry){table, c->reading, ++c->clock};
	c->reading = CAM_NONE;
	return 0;
}

void cam_table_cache_forget(struct cam_table_cache *c, uint32_t file)
{
	uint32_t i = entry_of(c, file);
	if (file != CAM_NONE && i < CAM_TABLE_CACHE_FILES)
		drop(c, i);
}

const struct cam_unwind_file *cam_table_cache_find(struct cam_table_cache *c, uint32_t file)
{
	uint32_t i = entry_of(c, file);
	if (file == CAM_NONE || i == CAM_TABLE_CACHE_FILES)
		return NULL;
	c->entries[i].used = ++c->clock;
	return &c->entries[i].table;
}

const struct cam_unwind_block *cam_table_cache_block(const struct cam_table_cache *c,
						     uint32_t number)
{
	return number < c->numbers ? c->blocks[number] : NULL;
}
