// SPDX-License-Identifier: Apache-2.0
/*
 * A cache in two halves.
 *
 * Entries go into the young half; when that is full the old half is emptied and becomes the young
 * one. What is found in the old half is copied into the young one. So what is used stays, what is not
 * used is gone after at most two turns, and nothing needs a list or a count. Each half is a table of
 * entries and an arena of texts; many offsets lie in one function, whose text is kept once (as long
 * as its offsets come one after the other, or through the table of functions).
 *
 * Invariants
 *  1. A half never has more than 3/4 of its slots in use, nor more text than its arena.
 *  2. An entry's text lies in its own half.
 *  3. Memory is allocated once, at new(); untouched pages of it cost nothing.
 *
 * Example: room for 4 entries a half. a b c d go into the first half, e turns: e goes into the
 * second. A lookup of b copies it. f g turn again: a, c, d are gone, b e f are in the old half.
 */
#include "ingest/namebook.h"

#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_TEXT UINT32_MAX

struct entry {
	uint64_t offset;
	uint32_t file_plus_1; /* 0: free */
	uint32_t text;	      /* where in the arena; NO_TEXT: has no name */
};

/* In the arena, before its bytes; a multiple of 8 long with them. */
struct text {
	uint64_t start;
	uint32_t file;
	uint16_t name_bytes, module_bytes;
	uint8_t source;
};

struct half {
	struct entry *entries;
	uint32_t *functions; /* text + 1 by (file, start); newer ones replace older ones */
	char *arena;
	uint32_t used_entries, used_bytes;
};

struct cam_namebook {
	uint32_t n_entries, n_functions, arena_bytes;
	struct half halves[2];
	unsigned young;
};

static uint32_t power_below(size_t n)
{
	uint32_t p = 64;
	while ((size_t)p * 2 <= n && p < 1u << 30)
		p *= 2;
	return p;
}

int cam_namebook_new(size_t max_bytes, struct cam_namebook **out)
{
	struct cam_namebook *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	/* A quarter of a half for entries, a sixteenth for functions, the rest for text. */
	size_t half = max_bytes / 2;
	b->n_entries = power_below(half * 3 / 8 / sizeof(struct entry));
	b->n_functions = power_below(half / 16 / sizeof(uint32_t));
	size_t tables = b->n_entries * sizeof(struct entry) + b->n_functions * sizeof(uint32_t);
	size_t arena = half > tables + 4096 ? half - tables : 4096;
	b->arena_bytes = arena < NO_TEXT ? (uint32_t)arena & ~7u : NO_TEXT & ~7u;
	int err = 0;
	for (size_t i = 0; i < 2; i++) {
		struct half *h = &b->halves[i];
		h->entries = calloc(b->n_entries, sizeof(*h->entries));
		h->functions = calloc(b->n_functions, sizeof(*h->functions));
		h->arena = malloc(b->arena_bytes);
		if (!h->entries || !h->functions || !h->arena)
			err = -ENOMEM;
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
		free(b->halves[i].arena);
	}
	free(b);
}

/* The entry, or the free slot where it belongs. */
static struct entry *slot_of(const struct cam_namebook *b, const struct half *h, uint32_t file,
			     uint64_t offset)
{
	uint32_t i = (uint32_t)(cam_hash_u64(offset, file) >> 32);
	for (;; i++) {
		struct entry *e = &h->entries[i & (b->n_entries - 1)];
		if (!e->file_plus_1 || (e->offset == offset && e->file_plus_1 == file + 1))
			return e;
	}
}

static const struct text *text_at(const struct half *h, uint32_t at)
{
	return (const struct text *)(const void *)(h->arena + at);
}

static void turn(struct cam_namebook *b)
{
	b->young ^= 1;
	struct half *h = &b->halves[b->young];
	memset(h->entries, 0, b->n_entries * sizeof(*h->entries));
	memset(h->functions, 0, b->n_functions * sizeof(*h->functions));
	h->used_entries = h->used_bytes = 0;
}

static bool text_is(const struct half *h, uint32_t at, uint32_t file, const struct cam_name *n)
{
	const struct text *t = text_at(h, at);
	const char *bytes = (const char *)(t + 1);
	return t->file == file && t->start == n->start && t->source == n->source &&
	       t->name_bytes == n->name.n && t->module_bytes == n->module.n &&
	       (!n->name.n || memcmp(bytes, n->name.p, n->name.n) == 0) &&
	       (!n->module.n || memcmp(bytes + n->name.n, n->module.p, n->module.n) == 0);
}

/* The function's text in the young half; -ENOSPC: turn first. */
static int put_text(struct cam_namebook *b, uint32_t file, const struct cam_name *n, uint32_t *out)
{
	struct half *h = &b->halves[b->young];
	uint32_t *function =
		&h->functions[(cam_hash_u64(n->start, file) >> 32) & (b->n_functions - 1)];
	if (*function && text_is(h, *function - 1, file, n)) {
		*out = *function - 1;
		return 0;
	}
	size_t bytes = (sizeof(struct text) + n->name.n + n->module.n + 7) & ~(size_t)7;
	if (bytes > b->arena_bytes)
		return -E2BIG;
	if (bytes > b->arena_bytes - h->used_bytes)
		return -ENOSPC;
	struct text *t = (struct text *)(void *)(h->arena + h->used_bytes);
	*t = (struct text){
		.start = n->start,
		.file = file,
		.name_bytes = (uint16_t)n->name.n,
		.module_bytes = (uint16_t)n->module.n,
		.source = (uint8_t)n->source,
	};
	char *to = (char *)(t + 1);
	if (n->name.n)
		memcpy(to, n->name.p, n->name.n);
	if (n->module.n)
		memcpy(to + n->name.n, n->module.p, n->module.n);
	*out = h->used_bytes;
	*function = *out + 1;
	h->used_bytes += (uint32_t)bytes;
	return 0;
}

int cam_namebook_put(struct cam_namebook *b, uint32_t file, const struct cam_name *name)
{
	if (name->name.n > CAM_RAW_MAX_TEXT || name->module.n > CAM_RAW_MAX_TEXT)
		return -E2BIG;
	/* What has no name may still have a function that it lies in. */
	bool named = (name->source != CAM_NAME_NONE && name->name.n) || name->start;
	uint32_t text = NO_TEXT;
	if (b->halves[b->young].used_entries >= b->n_entries - b->n_entries / 4)
		turn(b);
	int err = named ? put_text(b, file, name, &text) : 0;
	if (err == -ENOSPC) {
		turn(b);
		err = put_text(b, file, name, &text);
	}
	if (err)
		return err;
	struct half *h = &b->halves[b->young];
	struct entry *e = slot_of(b, h, file, name->offset);
	h->used_entries += !e->file_plus_1;
	*e = (struct entry){name->offset, file + 1, text};
	return 0;
}

static void read_entry(const struct half *h, const struct entry *e, struct cam_name *out)
{
	*out = (struct cam_name){.offset = e->offset, .source = CAM_NAME_NONE};
	if (e->text == NO_TEXT)
		return;
	const struct text *t = text_at(h, e->text);
	const char *bytes = (const char *)(t + 1);
	out->start = t->start;
	out->source = (enum cam_name_source)t->source;
	out->name = (struct cam_text){bytes, t->name_bytes};
	out->module = (struct cam_text){bytes + t->name_bytes, t->module_bytes};
}

bool cam_namebook_find(struct cam_namebook *b, uint32_t file, uint64_t offset, struct cam_name *out)
{
	struct half *young = &b->halves[b->young], *old = &b->halves[b->young ^ 1];
	const struct entry *e = slot_of(b, young, file, offset);
	if (e->file_plus_1) {
		read_entry(young, e, out);
		return true;
	}
	e = slot_of(b, old, file, offset);
	if (!e->file_plus_1)
		return false;
	read_entry(old, e, out);
	/* Only if it fits as it is: a turn would take away what was just read. */
	size_t room = sizeof(struct text) + out->name.n + out->module.n + 8;
	if (young->used_entries < b->n_entries - b->n_entries / 4 &&
	    b->arena_bytes - young->used_bytes >= room)
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
