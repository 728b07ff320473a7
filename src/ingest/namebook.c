// SPDX-License-Identifier: Apache-2.0
/*
 * A cache in two halves.
 *
 * Entries go into the young half; when that is full the old half is emptied and becomes the young
 * one. What is found in the old half is copied into the young one. So what is used stays, what is not
 * used is gone after at most two turns, and nothing needs a list or a count. Each half is a table of
 * entries and an arena of texts; many offsets lie in one function, whose text is kept once (as long
 * as its offsets come one after the other, or through the table of functions). Where something is inlined,
 * or the line is known, a text is one of those offsets that share all of it. Where neither is, the function is
 * found by each offset in it, through the blocks of code that it covers: a program that goes on running meets ever new
 * offsets of functions that are long known, and to ask for them would wake up another process each second.
 *
 * Invariants
 *  1. A half never has more than 3/4 of its slots in use, nor more text than its arena.
 *  2. An entry's text lies in its own half.
 *  3. Memory is allocated once, at new(); untouched pages of it cost nothing. So a half's tables begin small and grow within it:
 *     spread over all of it, each name would touch a page of its own, first to look, then to write, and to give a process
 *     with threads another page for one that was only looked at interrupts the other CPUs.
 *  4. Slots behind n_slots are empty.
 *
 * Example: room for 4 entries a half. a b c d go into the first half, e turns: e goes into the
 * second. A lookup of b copies it. f g turn again: a, c, d are gone, b e f are in the old half.
 */
#include "ingest/namebook.h"

#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_TEXT	   UINT32_MAX
#define MIN_SLOTS  256u
#define BLOCK_BITS 6u	 /* of an offset: functions are seldom shorter */
#define MAX_BLOCKS 1024u /* of a function; offsets behind them are asked for one by one */
#define BLOCKS \
	8u /* as many as there are places for functions, and all from the beginning: a
				  * small table would forget most of them again */

struct entry {
	uint64_t offset;
	uint32_t file_plus_1; /* 0: free */
	uint32_t text;	      /* where in the arena; NO_TEXT: has no name */
};

/* In the arena, before its bytes (name, module, path, then what is inlined); a multiple of 8 long with
 * them, padded with zeros. */
struct text {
	uint64_t start, end;
	uint32_t file;
	uint32_t line;
	uint16_t name_bytes, module_bytes, path_bytes;
	uint8_t source, n_inlined;
};

/* In a text, one after the other, each before its bytes; not aligned. */
struct inlined {
	uint32_t line;
	uint16_t name_bytes, path_bytes;
};

struct half {
	struct entry *entries;
	uint32_t *functions; /* text + 1 by (file, start); newer ones replace older ones */
	uint32_t *blocks;    /* text + 1 by (file, block); likewise */
	char *arena;
	uint32_t n_slots, n_functions; /* of the tables, in use: powers of 2 */
	uint32_t n_blocks;
	uint32_t used_entries, used_bytes;
};

struct cam_namebook {
	uint32_t n_entries, n_functions, arena_bytes;
	struct half halves[2];
	unsigned young;
	struct cam_inlined chain[CAM_NAME_MAX_INLINED]; /* of the last answer */
	uint64_t record[CAM_NAMEBOOK_MAX_RECORD / sizeof(uint64_t)];
};

static uint32_t power_below(size_t n)
{
	uint32_t p = 64;
	while ((size_t)p * 2 <= n && p < 1u << 30)
		p *= 2;
	return p;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static void begin_small(const struct cam_namebook *b, struct half *h)
{
	h->n_slots = at_most(MIN_SLOTS, b->n_entries);
	h->n_functions = at_most(MIN_SLOTS, b->n_functions);
}

int cam_namebook_new(size_t max_bytes, struct cam_namebook **out)
{
	struct cam_namebook *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	/* A quarter of a half for entries, a sixteenth for functions and blocks, the rest for text. */
	size_t half = max_bytes / 2;
	b->n_entries = power_below(half * 3 / 8 / sizeof(struct entry));
	b->n_functions = power_below(half / 16 / (1 + BLOCKS) / sizeof(uint32_t));
	size_t tables = b->n_entries * sizeof(struct entry) +
			b->n_functions * (1 + BLOCKS) * sizeof(uint32_t);
	size_t arena = half > tables + 4096 ? half - tables : 4096;
	b->arena_bytes = arena < NO_TEXT ? (uint32_t)arena & ~7u : NO_TEXT & ~7u;
	int err = 0;
	for (size_t i = 0; i < 2; i++) {
		struct half *h = &b->halves[i];
		h->entries = calloc(b->n_entries, sizeof(*h->entries));
		h->functions = calloc(b->n_functions, sizeof(*h->functions));
		h->n_blocks = b->n_functions * BLOCKS;
		h->blocks = calloc(h->n_blocks, sizeof(*h->blocks));
		h->arena = malloc(b->arena_bytes);
		if (!h->entries || !h->functions || !h->blocks || !h->arena)
			err = -ENOMEM;
		begin_small(b, h);
	}
	if (err)
		cam_namebook_free(b);
	else
		*out = b;
	return err;
}

void cam_namebook_free(struct cam_namebook *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < 2; i++) {
		free(b->halves[i].entries);
		free(b->halves[i].functions);
		free(b->halves[i].blocks);
		free(b->halves[i].arena);
	}
	free(b);
}

/* The entry, or the free slot where it belongs. */
static struct entry *slot_of(const struct half *h, uint32_t file, uint64_t offset)
{
	uint32_t i = (uint32_t)(cam_hash_u64(offset, file) >> 32);
	for (;; i++) {
		struct entry *e = &h->entries[i & (h->n_slots - 1)];
		if (!e->file_plus_1 || (e->offset == offset && e->file_plus_1 == file + 1))
			return e;
	}
}

static const struct text *text_at(const struct half *h, uint32_t at)
{
	return (const struct text *)(const void *)(h->arena + at);
}

static uint32_t *block_of(const struct half *h, uint32_t file, uint64_t block)
{
	uint32_t i = (uint32_t)(cam_hash_u64(block, file) >> 32);
	return &h->blocks[i & (h->n_blocks - 1)];
}

static void enter_blocks(const struct half *h, uint32_t at)
{
	const struct text *t = text_at(h, at);
	if (!t->end)
		return;
	uint64_t block = t->start >> BLOCK_BITS, last = (t->end - 1) >> BLOCK_BITS;
	if (last - block >= MAX_BLOCKS)
		last = block + MAX_BLOCKS - 1;
	for (; block <= last; block++)
		*block_of(h, t->file, block) = at + 1;
}

static void turn(struct cam_namebook *b)
{
	b->young ^= 1;
	struct half *h = &b->halves[b->young];
	memset(h->entries, 0, h->n_slots * sizeof(*h->entries));
	memset(h->functions, 0, h->n_functions * sizeof(*h->functions));
	memset(h->blocks, 0, h->n_blocks * sizeof(*h->blocks));
	h->used_entries = h->used_bytes = 0;
	begin_small(b, h);
}

static bool is_full(const struct half *h)
{
	return h->used_entries >= h->n_slots - h->n_slots / 4;
}

/* Twice as many slots. From a free one on, each entry is taken out and put where it belongs now: its own place is free then,
 * and all between that and where its search begins have been put already, so that none is left behind a gap. Functions
 * that are not found any more are only texts that are kept twice. */
static void grow(const struct cam_namebook *b, struct half *h)
{
	uint32_t before = h->n_slots, from = 0;
	while (h->entries[from].file_plus_1)
		from++;
	h->n_slots *= 2;
	if (h->n_functions < b->n_functions)
		h->n_functions *= 2;
	for (uint32_t i = 1; i < before; i++) {
		struct entry *old = &h->entries[(from + i) & (before - 1)], e = *old;
		old->file_plus_1 = 0;
		if (e.file_plus_1)
			*slot_of(h, e.file_plus_1 - 1, e.offset) = e;
	}
}

static char *append(char *to, struct cam_text t)
{
	if (t.n)
		memcpy(to, t.p, t.n);
	return to + t.n;
}

static size_t record_bytes(const struct cam_name *n)
{
	size_t bytes = sizeof(struct text) + n->name.n + n->module.n + n->file.n;
	for (uint32_t i = 0; i < n->n_inlined; i++)
		bytes += sizeof(struct inlined) + n->inlined[i].name.n + n->inlined[i].file.n;
	return (bytes + 7) & ~(size_t)7;
}

/* Makes b->record; answers its bytes. */
static size_t make_record(struct cam_namebook *b, uint32_t file, const struct cam_name *n)
{
	struct text *t = (struct text *)(void *)b->record;
	bool whole = n->n_inlined <= CAM_NAME_MAX_INLINED && record_bytes(n) <= sizeof(b->record);
	struct cam_name kept = *n;
	if (!whole) {
		kept.n_inlined = kept.line = 0;
		kept.file.n = 0;
	}
	size_t bytes = record_bytes(&kept);
	b->record[bytes / sizeof(b->record[0]) - 1] = 0;
	*t = (struct text){
		.start = n->start,
		.end = n->end,
		.file = file,
		.line = kept.line,
		.name_bytes = (uint16_t)n->name.n,
		.module_bytes = (uint16_t)n->module.n,
		.path_bytes = (uint16_t)kept.file.n,
		.source = (uint8_t)n->source,
		.n_inlined = (uint8_t)kept.n_inlined,
	};
	char *to = append(append(append((char *)(t + 1), n->name), n->module), kept.file);
	for (uint32_t i = 0; i < kept.n_inlined; i++) {
		const struct cam_inlined *in = &kept.inlined[i];
		struct inlined head = {in->line, (uint16_t)in->name.n, (uint16_t)in->file.n};
		memcpy(to, &head, sizeof(head));
		to = append(append(to + sizeof(head), in->name), in->file);
	}
	return bytes;
}

/* The function's text in the young half; -ENOSPC: turn first. */
static int put_text(struct cam_namebook *b, uint32_t file, const struct cam_name *n, uint32_t *out)
{
	struct half *h = &b->halves[b->young];
	size_t bytes = make_record(b, file, n);
	uint64_t alike = n->start ^ (uint64_t)n->line << 32 ^ (uint64_t)n->n_inlined << 56;
	uint32_t *function =
		&h->functions[(cam_hash_u64(alike, file) >> 32) & (h->n_functions - 1)];
	if (*function && bytes <= h->used_bytes - (*function - 1) &&
	    memcmp(h->arena + (*function - 1), b->record, bytes) == 0) {
		*out = *function - 1;
		return 0;
	}
	if (bytes > b->arena_bytes)
		return -E2BIG;
	if (bytes > b->arena_bytes - h->used_bytes)
		return -ENOSPC;
	memcpy(h->arena + h->used_bytes, b->record, bytes);
	*out = h->used_bytes;
	*function = *out + 1;
	h->used_bytes += (uint32_t)bytes;
	enter_blocks(h, *out);
	return 0;
}

static bool fits_fields(const struct cam_name *n)
{
	bool fits = n->name.n <= CAM_RAW_MAX_TEXT && n->module.n <= CAM_RAW_MAX_TEXT &&
		    n->file.n <= CAM_RAW_MAX_TEXT;
	for (uint32_t i = 0; fits && i < n->n_inlined; i++)
		fits = n->inlined[i].name.n <= CAM_RAW_MAX_TEXT &&
		       n->inlined[i].file.n <= CAM_RAW_MAX_TEXT;
	return fits;
}

int cam_namebook_put(struct cam_namebook *b, uint32_t file, const struct cam_name *name)
{
	if (!fits_fields(name))
		return -E2BIG;
	/* What has no name may still have a function that it lies in. */
	bool named = (name->source != CAM_NAME_NONE && name->name.n) || name->start;
	uint32_t text = NO_TEXT;
	if (is_full(&b->halves[b->young])) {
		if (b->halves[b->young].n_slots < b->n_entries)
			grow(b, &b->halves[b->young]);
		else
			turn(b);
	}
	int err = named ? put_text(b, file, name, &text) : 0;
	if (err == -ENOSPC) {
		turn(b);
		err = put_text(b, file, name, &text);
	}
	if (err)
		return err;
	struct half *h = &b->halves[b->young];
	struct entry *e = slot_of(h, file, name->offset);
	h->used_entries += !e->file_plus_1;
	*e = (struct entry){name->offset, file + 1, text};
	return 0;
}

static void read_entry(struct cam_namebook *b, const struct half *h, const struct entry *e,
		       struct cam_name *out)
{
	*out = (struct cam_name){.offset = e->offset, .source = CAM_NAME_NONE};
	if (e->text == NO_TEXT)
		return;
	const struct text *t = text_at(h, e->text);
	const char *bytes = (const char *)(t + 1);
	out->start = t->start;
	out->end = t->end;
	out->source = (enum cam_name_source)t->source;
	out->name = (struct cam_text){bytes, t->name_bytes};
	bytes += t->name_bytes;
	out->module = (struct cam_text){bytes, t->module_bytes};
	bytes += t->module_bytes;
	out->file = (struct cam_text){bytes, t->path_bytes};
	out->line = t->line;
	bytes += t->path_bytes;
	out->n_inlined = t->n_inlined;
	out->inlined = b->chain;
	for (uint32_t i = 0; i < t->n_inlined; i++) {
		struct inlined in;
		memcpy(&in, bytes, sizeof(in));
		const char *name = bytes + sizeof(in), *path = name + in.name_bytes;
		b->chain[i] =
			(struct cam_inlined){{name, in.name_bytes}, {path, in.path_bytes}, in.line};
		bytes = path + in.path_bytes;
	}
}

/* As an entry of its own, or as an offset of a function that is known. */
static bool find_in(struct cam_namebook *b, const struct half *h, uint32_t file, uint64_t offset,
		    struct cam_name *out)
{
	struct entry e = *slot_of(h, file, offset);
	if (!e.file_plus_1) {
		uint32_t at = *block_of(h, file, offset >> BLOCK_BITS);
		const struct text *t = at ? text_at(h, at - 1) : NULL;
		if (!t || t->file != file || offset < t->start || offset >= t->end)
			return false;
		e = (struct entry){offset, file + 1, at - 1};
	}
	read_entry(b, h, &e, out);
	return true;
}

bool cam_namebook_find(struct cam_namebook *b, uint32_t file, uint64_t offset, struct cam_name *out)
{
	struct half *young = &b->halves[b->young], *old = &b->halves[b->young ^ 1];
	if (find_in(b, young, file, offset, out))
		return true;
	if (!find_in(b, old, file, offset, out))
		return false;
	/* Only if it fits as it is: a turn would take away what was just read. */
	size_t room = record_bytes(out);
	bool has_slot = !is_full(young) || young->n_slots < b->n_entries;
	if (has_slot && b->arena_bytes - young->used_bytes >= room)
		cam_namebook_put(b, file, out);
	return true;
}

size_t cam_namebook_bytes(const struct cam_namebook *b)
{
	size_t bytes = sizeof(*b);
	for (size_t i = 0; i < 2; i++)
		bytes += b->halves[i].used_entries * sizeof(struct entry) + b->halves[i].used_bytes;
	return bytes;
}
