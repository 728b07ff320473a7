// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_cache.h"

#include "symbol/identity.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	struct cam_identity file;
	struct cam_dwarf *dwarf; /* NULL with an error */
	int error;
	size_t bytes;  /* as of when it was last looked at */
	uint64_t used; /* 0: a free entry */
};

struct cam_dwarf_cache {
	size_t max_bytes, held_bytes;
	uint64_t clock;
	struct entry entries[CAM_DWARF_CACHE_FILES];
};

struct cam_dwarf_cache *cam_dwarf_cache_new(size_t max_bytes)
{
	struct cam_dwarf_cache *c = calloc(1, sizeof(*c));
	if (c)
		c->max_bytes = max_bytes;
	return c;
}

static void drop(struct cam_dwarf_cache *c, struct entry *e)
{
	cam_dwarf_free(e->dwarf);
	c->held_bytes -= e->bytes;
	*e = (struct entry){0};
}

void cam_dwarf_cache_empty(struct cam_dwarf_cache *c)
{
	for (size_t i = 0; i < CAM_DWARF_CACHE_FILES; i++)
		drop(c, &c->entries[i]);
}

void cam_dwarf_cache_free(struct cam_dwarf_cache *c)
{
	if (c)
		cam_dwarf_cache_empty(c);
	free(c);
}

/* All of them: units may have been loaded by whoever got one. */
static void weigh(struct cam_dwarf_cache *c)
{
	c->held_bytes = 0;
	for (size_t i = 0; i < CAM_DWARF_CACHE_FILES; i++) {
		struct entry *e = &c->entries[i];
		e->bytes = e->dwarf ? cam_dwarf_memory(e->dwarf) : 0;
		c->held_bytes += e->bytes;
	}
}

static void make_fit(struct cam_dwarf_cache *c, const struct entry *got,
		     const struct cam_dwarf *kept)
{
	weigh(c);
	while (c->held_bytes > c->max_bytes) {
		struct entry *oldest = NULL;
		for (size_t i = 0; i < CAM_DWARF_CACHE_FILES; i++) {
			struct entry *e = &c->entries[i];
			if (e->dwarf && e != got && e->dwarf != kept &&
			    (!oldest || e->used < oldest->used))
				oldest = e;
		}
		if (!oldest)
			return;
		drop(c, oldest);
	}
}

static struct entry *entry_of(struct cam_dwarf_cache *c, const struct cam_identity *file)
{
	struct entry *least = &c->entries[0];
	for (size_t i = 0; i < CAM_DWARF_CACHE_FILES; i++) {
		struct entry *e = &c->entries[i];
		if (e->used && cam_identity_equal(&e->file, file))
			return e;
		if (e->used < least->used)
			least = e;
	}
	drop(c, least);
	return least;
}

int cam_dwarf_cache_get(struct cam_dwarf_cache *c, const struct cam_bytes *b,
			const struct cam_elf_file *f, const struct cam_dwarf *kept, uint64_t *work,
			struct cam_dwarf **out)
{
	struct cam_identity file;
	if (b->memory)
		return -ENODATA;
	int error = cam_identity_of(b->fd, &file);
	if (error)
		return error;
	struct entry *e = entry_of(c, &file);
	if (!e->used) {
		*e = (struct entry){.file = file};
		e->error = cam_dwarf_open(f, b, work, &e->dwarf);
	} else if (e->dwarf) {
		cam_dwarf_renew(e->dwarf);
	}
	e->used = ++c->clock;
	make_fit(c, e, kept);
	*out = e->dwarf;
	error = e->error;
	/* Only what the file's bytes decide will be so again. */
	if (error && error != -EBADMSG && error != -E2BIG && error != -ENODATA && error != -ENOTSUP)
		drop(c, e);
	return error;
}
