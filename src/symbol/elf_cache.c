// SPDX-License-Identifier: Apache-2.0
#include "symbol/elf_cache.h"

#include "symbol/identity.h"

#include <stdlib.h>

struct entry {
	struct cam_identity file;
	bool debug;	     /* how it was read */
	struct cam_elf *elf; /* NULL with an error */
	int error;
	uint64_t used; /* 0: a free entry; else when it was last asked for */
};

struct cam_elf_cache {
	size_t max_bytes, held_bytes;
	uint64_t clock;
	const struct cam_elf *pinned;
	struct cam_blocks *blocks;
	struct entry entries[CAM_ELF_CACHE_FILES];
};

struct cam_elf_cache *cam_elf_cache_new(size_t max_bytes, struct cam_blocks *blocks)
{
	struct cam_elf_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->max_bytes = max_bytes;
	c->blocks = blocks;
	return c;
}

static void drop(struct cam_elf_cache *c, struct entry *e)
{
	if (e->elf)
		c->held_bytes -= cam_elf_memory(e->elf);
	cam_elf_free(e->elf);
	*e = (struct entry){0};
}

void cam_elf_cache_free(struct cam_elf_cache *c)
{
	for (size_t i = 0; c && i < CAM_ELF_CACHE_FILES; i++)
		drop(c, &c->entries[i]);
	free(c);
}

size_t cam_elf_cache_memory(const struct cam_elf_cache *c)
{
	return sizeof(*c) + c->held_bytes;
}

/* Drops the least recently used tables, but `kept`, until the rest fits. */
static void make_fit(struct cam_elf_cache *c, const struct entry *kept, size_t max_bytes)
{
	while (c->held_bytes > max_bytes) {
		struct entry *oldest = NULL;
		for (size_t i = 0; i < CAM_ELF_CACHE_FILES; i++) {
			struct entry *e = &c->entries[i];
			if (e->elf && e != kept && e->elf != c->pinned &&
			    (!oldest || e->used < oldest->used))
				oldest = e;
		}
		if (!oldest)
			return;
		drop(c, oldest);
	}
}

/* The file's entry, or a free one (used is 0), or the least recently used, emptied. */
static struct entry *entry_of(struct cam_elf_cache *c, const struct cam_identity *file, bool debug)
{
	struct entry *least = &c->entries[0];
	for (size_t i = 0; i < CAM_ELF_CACHE_FILES; i++) {
		struct entry *e = &c->entries[i];
		if (e->used && e->debug == debug && cam_identity_equal(&e->file, file))
			return e;
		if (least->elf && least->elf == c->pinned)
			least = e;
		if (e->used < least->used && (!e->elf || e->elf != c->pinned))
			least = e;
	}
	if (least->used)
		drop(c, least);
	return least;
}

static void load(struct cam_elf_cache *c, struct entry *e, const struct cam_bytes *b)
{
	int (*read)(const struct cam_bytes *, struct cam_elf **) =
		e->debug ? cam_elf_load_debug : cam_elf_load;
	e->error = read(b, &e->elf);
	if (e->error == -ENOMEM && c->held_bytes) {
		make_fit(c, e, 0);
		e->error = read(b, &e->elf);
	}
	if (!e->error)
		c->held_bytes += cam_elf_memory(e->elf);
	make_fit(c, e, c->max_bytes);
}

static int get(struct cam_elf_cache *c, int fd, bool debug, struct cam_bytes *b,
	       const struct cam_elf **e)
{
	struct cam_identity file;
	int error = cam_identity_of(fd, &file);
	if (error)
		return error;
	*b = (struct cam_bytes){.fd = fd, .size = file.bytes, .blocks = c->blocks};
	struct entry *entry = entry_of(c, &file, debug);
	if (!entry->used) {
		*entry = (struct entry){.file = file, .debug = debug, .used = 1};
		load(c, entry, b);
	}
	entry->used = ++c->clock;
	*e = entry->elf;
	error = entry->error;
	/* Only what the file's bytes decide will be so again. */
	if (error && error != -EBADMSG && error != -E2BIG)
		drop(c, entry);
	return error;
}

int cam_elf_cache_get(struct cam_elf_cache *c, int fd, struct cam_bytes *b,
		      const struct cam_elf **e)
{
	return get(c, fd, false, b, e);
}

int cam_elf_cache_get_debug(struct cam_elf_cache *c, int fd, struct cam_bytes *b,
			    const struct cam_elf **e)
{
	return get(c, fd, true, b, e);
}

void cam_elf_cache_pin(struct cam_elf_cache *c, const struct cam_elf *e)
{
	c->pinned = e;
}

void cam_elf_cache_empty(struct cam_elf_cache *c)
{
	make_fit(c, NULL, 0);
}
