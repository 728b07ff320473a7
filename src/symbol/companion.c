// SPDX-License-Identifier: Apache-2.0
#include "symbol/companion.h"

#include "base/buf.h"
#include "symbol/identity.h"

#include <stdlib.h>
#include <zlib.h>

#define FILES 32u

struct cam_companions {
	struct {
		struct cam_identity file;
		bool used, read; /* not read: it could not be */
		uint32_t crc;
	} files[FILES];
	unsigned next;
	uint8_t block[65536];
};

struct cam_companions *cam_companions_new(void)
{
	return calloc(1, sizeof(struct cam_companions));
}

void cam_companions_free(struct cam_companions *c)
{
	free(c);
}

void cam_companion_link(const struct cam_elf_file *f, const struct cam_bytes *b,
			struct cam_companion_link *out)
{
	const struct cam_elf_part *part = &f->debug[CAM_ELF_DEBUG_LINK];
	uint8_t bytes[CAM_COMPANION_LINK + 8];
	out->name = (struct cam_text){out->room, 0};
	if (part->compressed || part->bytes < 8 || part->bytes > sizeof(bytes) ||
	    cam_bytes_read(b, part->offset, bytes, part->bytes))
		return;
	size_t n = strnlen((const char *)bytes, part->bytes);
	size_t crc_at = (n + 1 + 3) & ~(size_t)3;
	if (!n || n >= CAM_COMPANION_LINK || crc_at + 4 > part->bytes)
		return;
	memcpy(out->room, bytes, n);
	out->name.n = n;
	out->crc = cam_get32(bytes + crc_at);
}

/* Path and id, of which the latter fills what is left; false: no such text is there. */
static bool take_supplement(struct cam_rd *r, bool has_length, struct cam_companion_supplement *out)
{
	size_t left = cam_rd_left(r), n = strnlen((const char *)r->p, left);
	if (n >= CAM_COMPANION_LINK || n == left)
		return false;
	memcpy(out->room, r->p, n);
	cam_rd_bytes(r, n + 1);
	uint64_t id = has_length ? cam_rd_varint(r) : cam_rd_left(r);
	if (cam_rd_error(r) || !id || id > cam_rd_left(r) || id > CAM_ELF_MAX_BUILD_ID)
		return false;
	memcpy(out->room + n, r->p, id);
	out->path = (struct cam_text){out->room, n};
	out->id = (struct cam_text){out->room + n, id};
	return true;
}

/* .debug_sup: u16 version, u8 whether this is the supplement itself, path, LEB length of the id, id. */
static void read_sup(const struct cam_elf_file *f, const struct cam_bytes *b, bool itself,
		     struct cam_companion_supplement *out)
{
	const struct cam_elf_part *part = &f->debug[CAM_ELF_DEBUG_SUP];
	uint8_t bytes[CAM_COMPANION_LINK + CAM_ELF_MAX_BUILD_ID + 16];
	if (part->compressed || part->bytes < 4 || part->bytes > sizeof(bytes) ||
	    cam_bytes_read(b, part->offset, bytes, part->bytes))
		return;
	struct cam_rd r = cam_rd_make(bytes, part->bytes);
	if (cam_rd_u16(&r) == 5 && cam_rd_u8(&r) == itself)
		take_supplement(&r, true, out);
}

void cam_companion_supplement(const struct cam_elf_file *f, const struct cam_bytes *b,
			      struct cam_companion_supplement *out)
{
	const struct cam_elf_part *part = &f->debug[CAM_ELF_DEBUG_ALTLINK];
	uint8_t bytes[CAM_COMPANION_LINK + CAM_ELF_MAX_BUILD_ID];
	out->path = out->id = (struct cam_text){out->room, 0};
	if (part->compressed || !part->bytes || part->bytes > sizeof(bytes) ||
	    cam_bytes_read(b, part->offset, bytes, part->bytes)) {
		read_sup(f, b, false, out);
		return;
	}
	struct cam_rd r = cam_rd_make(bytes, part->bytes);
	take_supplement(&r, false, out);
}

bool cam_companion_is_supplement(const struct cam_companion_supplement *wanted,
				 const struct cam_elf_file *f, const struct cam_bytes *b)
{
	struct cam_companion_supplement own = {
		.id = {(const char *)f->build_id, f->build_id_bytes}};
	if (!own.id.n)
		read_sup(f, b, true, &own);
	return wanted->id.n && own.id.n == wanted->id.n &&
	       !memcmp(own.id.p, wanted->id.p, own.id.n);
}

static bool read_crc(struct cam_companions *c, const struct cam_bytes *b, uint32_t *crc)
{
	uLong sum = crc32(0, NULL, 0);
	if (b->size > CAM_COMPANION_MAX_BYTES)
		return false;
	for (uint64_t at = 0; at < b->size;) {
		uint64_t left = b->size - at;
		size_t n = left < sizeof(c->block) ? (size_t)left : sizeof(c->block);
		if (cam_bytes_read(b, at, c->block, n))
			return false;
		sum = crc32(sum, c->block, (uInt)n);
		at += n;
	}
	*crc = (uint32_t)sum;
	return true;
}

static bool crc_is(struct cam_companions *c, const struct cam_bytes *b, uint32_t wanted)
{
	struct cam_identity file;
	if (b->memory || cam_identity_of(b->fd, &file))
		return false;
	for (unsigned i = 0; i < FILES; i++) {
		if (c->files[i].used && cam_identity_equal(&c->files[i].file, &file))
			return c->files[i].read && c->files[i].crc == wanted;
	}
	unsigned at = c->next++ % FILES;
	c->files[at].file = file;
	c->files[at].used = true;
	c->files[at].read = read_crc(c, b, &c->files[at].crc);
	return c->files[at].read && c->files[at].crc == wanted;
}

bool cam_companion_is(struct cam_companions *c, const struct cam_elf_file *f,
		      const struct cam_companion_link *link, const struct cam_elf_file *debug,
		      const struct cam_bytes *debug_bytes)
{
	if (f->is_64 != debug->is_64 || f->machine != debug->machine)
		return false;
	if (f->build_id_bytes)
		return f->build_id_bytes == debug->build_id_bytes &&
		       !memcmp(f->build_id, debug->build_id, f->build_id_bytes);
	return link->name.n && crc_is(c, debug_bytes, link->crc);
}
