// SPDX-License-Identifier: Apache-2.0
#include "symbol/jit_cache.h"

#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct entry {
	dev_t device;
	ino_t inode;
	int32_t pid;
	enum cam_file_format format;
	uint64_t used; /* 0: a free entry; else when it was last asked for */
	struct cam_perfmap map;
	struct cam_jitdump dump;
};

struct cam_jit_cache {
	size_t max_bytes;
	uint64_t clock;
	struct entry entries[CAM_JIT_CACHE_FILES];
};

struct cam_jit_cache *cam_jit_cache_new(size_t max_bytes)
{
	struct cam_jit_cache *c = calloc(1, sizeof(*c));
	if (c)
		c->max_bytes = max_bytes;
	return c;
}

static void drop(struct entry *e)
{
	if (e->format == CAM_FORMAT_JITDUMP)
		cam_jitdump_close(&e->dump);
	else
		cam_perfmap_close(&e->map);
	*e = (struct entry){0};
}

void cam_jit_cache_free(struct cam_jit_cache *c)
{
	for (size_t i = 0; c && i < CAM_JIT_CACHE_FILES; i++)
		drop(&c->entries[i]);
	free(c);
}

static struct cam_jitcode *code_of(const struct entry *e)
{
	return e->format == CAM_FORMAT_JITDUMP ? e->dump.code : e->map.code;
}

size_t cam_jit_cache_memory(const struct cam_jit_cache *c)
{
	size_t bytes = sizeof(*c);
	for (size_t i = 0; i < CAM_JIT_CACHE_FILES; i++) {
		if (c->entries[i].used)
			bytes += cam_jitcode_memory(code_of(&c->entries[i]));
	}
	return bytes;
}

static struct entry *least_used(struct cam_jit_cache *c, const struct entry *but)
{
	struct entry *least = NULL;
	for (size_t i = 0; i < CAM_JIT_CACHE_FILES; i++) {
		struct entry *e = &c->entries[i];
		if (e->used && e != but && (!least || e->used < least->used))
			least = e;
	}
	return least;
}

/* Drops the least recently used, but `kept`, until the rest fits. */
static void make_fit(struct cam_jit_cache *c, const struct entry *kept, size_t max_bytes)
{
	struct entry *e;
	while (cam_jit_cache_memory(c) > max_bytes && (e = least_used(c, kept)))
		drop(e);
}

static int open_entry(struct entry *e, const struct stat *s, int32_t pid,
		      enum cam_file_format format)
{
	*e = (struct entry){s->st_dev, s->st_ino, pid, format};
	return format == CAM_FORMAT_JITDUMP ? cam_jitdump_open(&e->dump)
					    : cam_perfmap_open(&e->map);
}

static struct entry *entry_of(struct cam_jit_cache *c, const struct stat *s, int32_t pid,
			      enum cam_file_format format)
{
	struct entry *free_one = NULL;
	for (size_t i = 0; i < CAM_JIT_CACHE_FILES; i++) {
		struct entry *e = &c->entries[i];
		if (e->used && e->device == s->st_dev && e->inode == s->st_ino && e->pid == pid &&
		    e->format == format)
			return e;
		if (!e->used)
			free_one = e;
	}
	if (!free_one) {
		free_one = least_used(c, NULL);
		drop(free_one);
	}
	return open_entry(free_one, s, pid, format) ? NULL : free_one;
}

static int read_on(struct entry *e, const struct cam_bytes *b, bool *behind)
{
	return e->format == CAM_FORMAT_JITDUMP
		       ? cam_jitdump_read(&e->dump, b, CAM_JIT_READ_BYTES, behind)
		       : cam_perfmap_read(&e->map, b, CAM_JIT_READ_BYTES, behind);
}

int cam_jit_cache_get(struct cam_jit_cache *c, int fd, int32_t pid, enum cam_file_format format,
		      struct cam_jitcode **code, bool *behind)
{
	struct stat s;
	if (fstat(fd, &s))
		return -errno;
	if (!S_ISREG(s.st_mode) || s.st_size < 0)
		return -EBADMSG;
	const struct cam_bytes b = {.fd = fd, .size = (uint64_t)s.st_size};
	struct entry *e = entry_of(c, &s, pid, format);
	if (!e)
		return -ENOMEM;
	e->used = ++c->clock;
	int err = read_on(e, &b, behind);
	if (err == -ENOMEM) {
		/* With nothing beside it, and from its beginning: something of it may be lost. */
		make_fit(c, e, 0);
		drop(e);
		err = open_entry(e, &s, pid, format);
		e->used = err ? 0 : c->clock;
		if (!err)
			err = read_on(e, &b, behind);
	}
	if (err) {
		drop(e);
		return err;
	}
	make_fit(c, e, c->max_bytes);
	*code = code_of(e);
	return 0;
}
