// SPDX-License-Identifier: Apache-2.0
#include "symbol/companion.h"

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
