// SPDX-License-Identifier: Apache-2.0
#include "symbol/section.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define ZSTD_SECTION 2u /* ELFCOMPRESS_ZSTD, which elf.h may be too old for */

/* How the two libraries look from here: some input, some output, each moved on. */
struct inflating {
	const struct cam_bytes *b;
	uint64_t at, left; /* of the file */
	uint8_t *to;
	size_t bytes, done;
	uint8_t block[16384];
};

static int next_block(struct inflating *i, size_t *n)
{
	*n = i->left < sizeof(i->block) ? (size_t)i->left : sizeof(i->block);
	int error = cam_bytes_read(i->b, i->at, i->block, *n);
	i->at += *n;
	i->left -= *n;
	return error;
}

static int inflate_zlib(struct inflating *i)
{
	z_stream z = {.next_out = i->to, .avail_out = (uInt)i->bytes};
	int error = inflateInit(&z) == Z_OK ? 0 : -ENOMEM, state = Z_OK;
	if (error)
		return error;
	while (!error && state == Z_OK && i->left) {
		size_t n;
		error = next_block(i, &n);
		z.next_in = i->block;
		z.avail_in = (uInt)n;
		while (!error && state == Z_OK && z.avail_in)
			state = inflate(&z, Z_NO_FLUSH);
	}
	i->done = (size_t)z.total_out;
	inflateEnd(&z);
	if (state == Z_MEM_ERROR)
		return -ENOMEM;
	return error ? error : state == Z_STREAM_END ? 0 : -EBADMSG;
}

/* In one go: in pieces zstd would keep a second copy of what it has written. */
static int inflate_zstd(struct inflating *i)
{
	uint8_t *from = malloc(i->left);
	int error = from ? cam_bytes_read(i->b, i->at, from, i->left) : -ENOMEM;
	if (!error) {
		i->done = ZSTD_decompress(i->to, i->bytes, from, i->left);
		error = ZSTD_isError(i->done) ? -EBADMSG : 0;
	}
	free(from);
	return error;
}

static int open_compressed(struct cam_section *s, const struct cam_elf_file *f,
			   const struct cam_bytes *b, const struct cam_elf_part *part,
			   uint64_t *budget)
{
	uint8_t head[sizeof(Elf64_Chdr)];
	size_t head_bytes = f->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	if (part->bytes <= head_bytes)
		return -EBADMSG;
	int error = cam_bytes_read(b, part->offset, head, head_bytes);
	if (error)
		return error;
	uint32_t type = cam_get32(head);
	uint64_t bytes = f->is_64 ? cam_get64(head + offsetof(Elf64_Chdr, ch_size))
				  : cam_get32(head + offsetof(Elf32_Chdr, ch_size));
	if (type != ELFCOMPRESS_ZLIB && type != ZSTD_SECTION)
		return -ENOTSUP;
	if (!bytes)
		return 0;
	if (bytes > *budget || part->bytes > *budget || bytes > UINT32_MAX)
		return -E2BIG;
	struct inflating *i = malloc(sizeof(*i));
	s->memory = malloc(bytes);
	if (!i || !s->memory) {
		free(i);
		return -ENOMEM;
	}
	*budget -= bytes;
	*i = (struct inflating){.b = b,
				.at = part->offset + head_bytes,
				.left = part->bytes - head_bytes,
				.to = s->memory,
				.bytes = bytes};
	error = type == ELFCOMPRESS_ZLIB ? inflate_zlib(i) : inflate_zstd(i);
	if (!error && i->done != bytes)
		error = -EBADMSG;
	s->bytes = error ? 0 : bytes;
	free(i);
	return error;
}

int cam_section_open(struct cam_section *s, const struct cam_elf_file *f, const struct cam_bytes *b,
		     const struct cam_elf_part *part, uint64_t *budget)
{
	*s = (struct cam_section){.at = part->offset, .bytes = part->bytes};
	if (!part->compressed || !part->bytes)
		return 0;
	s->at = s->bytes = 0;
	return open_compressed(s, f, b, part, budget);
}

void cam_section_free(struct cam_section *s)
{
	free(s->memory);
	s->memory = NULL;
	s->bytes = 0;
}

const uint8_t *cam_section_borrow(const struct cam_section *s, const struct cam_bytes *b,
				  uint64_t at, size_t n)
{
	if (at > s->bytes || n > s->bytes - at)
		return NULL;
	if (s->memory)
		return s->memory + at;
	return b->memory && s->at <= b->size && s->bytes <= b->size - s->at ? b->memory + s->at + at
									    : NULL;
}

int cam_section_some(struct cam_section *s, const struct cam_bytes *b, uint64_t at, void *to,
		     size_t n)
{
	if (at >= s->bytes)
		return 0;
	uint64_t left = s->bytes - at;
	n = n < left ? n : (size_t)left;
	n = n < INT32_MAX ? n : INT32_MAX;
	int error = cam_section_read(s, b, at, to, n);
	return error ? error : (int)n;
}

int cam_section_read(struct cam_section *s, const struct cam_bytes *b, uint64_t at, void *to,
		     size_t n)
{
	if (at > s->bytes || n > s->bytes - at)
		return -EBADMSG;
	const uint8_t *here = cam_section_borrow(s, b, at, n);
	if (here) {
		memcpy(to, here, n);
		return 0;
	}
	if (n > sizeof(s->block) / 4)
		return cam_bytes_read(b, s->at + at, to, n);
	if (at < s->block_at || at - s->block_at > s->block_bytes ||
	    n > s->block_bytes - (at - s->block_at)) {
		uint64_t left = s->bytes - at;
		uint32_t fill =
			left < sizeof(s->block) ? (uint32_t)left : (uint32_t)sizeof(s->block);
		s->block_bytes = 0;
		int error = cam_bytes_read(b, s->at + at, s->block, fill);
		if (error)
			return error;
		s->block_at = at;
		s->block_bytes = fill;
	}
	memcpy(to, s->block + (at - s->block_at), n);
	return 0;
}

int cam_section_text(struct cam_section *s, const struct cam_bytes *b, uint64_t at, char *room,
		     size_t room_bytes, struct cam_text *out)
{
	size_t got = 0;
	char *end = NULL;
	while (!end && got < room_bytes - 1) {
		size_t want = got ? room_bytes - 1 - got : 128; /* most are short */
		want = want < room_bytes - 1 - got ? want : room_bytes - 1 - got;
		int n = cam_section_some(s, b, at + got, room + got, want);
		if (n <= 0)
			return n ? n : -EBADMSG;
		end = memchr(room + got, 0, (size_t)n);
		got += (size_t)n;
	}
	room[got] = '\0';
	*out = (struct cam_text){room, end ? (size_t)(end - room) : got};
	return 0;
}
