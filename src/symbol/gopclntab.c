// SPDX-License-Identifier: Apache-2.0
/*
 * Layout: a header (magic, 0, 0, quantum, pointer size; then seven numbers of 8 bytes: functions, files, where the code
 * starts, then where names, units, files, tables of pcs and functions are, from the header on); at the functions' place
 * pairs of 4 bytes (entry, place of its record, from here on), one more entry that ends the last; a record begins
 * with the entry once more and the offset of its name.
 *
 * Invariants
 *  1. Entries ascend strictly; a record repeats its entry. What does not is no table.
 *  2. Records are read through one block that moves forward: a table that sends it to and fro is given up.
 *
 * Example: code starts at 0x401000; pair (0x7fc0, 0x2c58), next (0x7fe0, …): the record at 0x2c58 says 0x7fc0 and name
 * 0x1a2: [0x408fc0, 0x408fe0) is "main.(*T).add".
 */
#include "symbol/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_18     0xfffffff0u /* Go 1.18 */
#define MAGIC_20     0xfffffff1u /* 1.20: what is read here is the same */
#define HEADER_BYTES 72u
#define BLOCK_BYTES  65536u
#define SPARE_MOVES  16u

struct table {
	const struct cam_bytes *b;
	uint64_t at, bytes; /* of the section, in the file */
	uint64_t n, text, functions;
	struct cam_gopclntab_names names;
	uint64_t block_at; /* in the section */
	size_t block_n;
	uint64_t moves; /* that are left */
	uint8_t block[BLOCK_BYTES];
};

/* n bytes of the section; NULL: *error. */
static const uint8_t *look(struct table *t, uint64_t at, size_t n, int *error)
{
	*error = -EBADMSG;
	if (at > t->bytes || n > t->bytes - at)
		return NULL;
	if (at < t->block_at || at + n > t->block_at + t->block_n) {
		uint64_t left = t->bytes - at;
		size_t some = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
		if (!t->moves)
			return NULL;
		t->moves--;
		t->block_n = 0;
		*error = cam_bytes_read(t->b, t->at + at, t->block, some);
		if (*error)
			return NULL;
		t->block_at = at;
		t->block_n = some;
	}
	*error = 0;
	return t->block + (at - t->block_at);
}

static int read_header(struct table *t)
{
	int error;
	const uint8_t *h = look(t, 0, HEADER_BYTES, &error);
	if (!h)
		return error;
	uint32_t magic = cam_get32(h);
	if ((magic != MAGIC_18 && magic != MAGIC_20) || h[4] || h[5] || h[7] != 8)
		return -ENODATA;
	uint64_t names = cam_get64(h + 32), names_end = cam_get64(h + 40);
	t->n = cam_get64(h + 8);
	t->text = cam_get64(h + 24);
	t->functions = cam_get64(h + 64);
	if (names > names_end || names_end > t->bytes || t->functions > t->bytes ||
	    t->bytes - t->functions < 4 || t->n > (t->bytes - t->functions - 4) / 8)
		return -EBADMSG;
	t->names = (struct cam_gopclntab_names){t->at + names, names_end - names};
	return 0;
}

static int tell_one(struct table *t, uint32_t entry, uint32_t end, uint32_t place,
		    cam_gopclntab_fn *fn, void *arg)
{
	int error;
	const uint8_t *record = look(t, t->functions + place, 8, &error);
	if (!record)
		return error;
	if (cam_get32(record) != entry)
		return -EBADMSG;
	return fn(arg, t->text + entry, end - entry, cam_get32(record + 4));
}

/* Each function, from `text` on. */
static int tell(struct table *t, cam_gopclntab_fn *fn, void *arg)
{
	struct cam_rows rows;
	const uint8_t *row;
	uint32_t entry = 0, place = 0;
	/* In steps of 4 bytes: entry, place, entry, place, …, entry. */
	int error = cam_rows_start(&rows, t->b, t->at + t->functions, 2 * t->n + 1, 4);
	for (uint64_t i = 0; !error && (row = cam_rows_next(&rows)); i++) {
		uint32_t number = cam_get32(row);
		if (i % 2) {
			place = number;
			continue;
		}
		if (i && number <= entry)
			return -EBADMSG;
		if (i)
			error = tell_one(t, entry, number, place, fn, arg);
		entry = number;
	}
	return error ? error : rows.error;
}

/* Go's own start routine is one jump to another. */
struct seeking {
	struct table *t;
	uint64_t start, target; /* UINT64_MAX: not found */
};

static bool has_name(const struct table *t, uint32_t at, const char *name, size_t bytes)
{
	char text[32];
	return at <= t->names.bytes && bytes <= t->names.bytes - at &&
	       !cam_bytes_read(t->b, t->names.at + at, text, bytes) && !memcmp(text, name, bytes);
}

static int seek(void *arg, uint64_t address, uint64_t bytes, uint32_t name)
{
	static const char start[] = "_rt0_amd64_linux", target[] = "_rt0_amd64";
	struct seeking *s = arg;
	(void)bytes;
	if (has_name(s->t, name, start, sizeof(start)))
		s->start = address;
	else if (has_name(s->t, name, target, sizeof(target)))
		s->target = address;
	return 0;
}

/* Where the code starts: from where the program does, if that is the jump between these two. */
static int find_text(struct table *t, const struct cam_elf_file *f)
{
	struct seeking s = {t, UINT64_MAX, UINT64_MAX};
	uint64_t offset, follow;
	uint8_t jump[5];
	int error = tell(t, seek, &s);
	if (error)
		return error;
	if (s.start > f->entry || s.target == UINT64_MAX ||
	    !cam_elf_file_offset(f, f->entry, &offset, &follow) || follow < sizeof(jump) ||
	    cam_bytes_read(t->b, offset, jump, sizeof(jump)) || jump[0] != 0xe9 ||
	    s.start + sizeof(jump) + (uint64_t)(int32_t)cam_get32(jump + 1) != s.target)
		return -ENODATA;
	t->text = f->entry - s.start;
	return 0;
}

int cam_gopclntab_read(const struct cam_elf_file *f, const struct cam_bytes *b,
		       struct cam_gopclntab_names *names, cam_gopclntab_fn *fn, void *arg)
{
	const struct cam_elf_part *part = &f->debug[CAM_ELF_DEBUG_GO];
	if (!f->is_64 || !part->bytes || part->compressed)
		return -ENODATA;
	struct table *t = malloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->b = b;
	t->at = part->offset;
	t->bytes = part->bytes;
	t->block_at = t->block_n = 0;
	/* Twice through the table, and some. */
	t->moves = 2 * (t->bytes / BLOCK_BYTES) + SPARE_MOVES;
	int error = read_header(t);
	if (!error && !t->text)
		error = find_text(t, f);
	if (!error) {
		*names = t->names;
		error = tell(t, fn, arg);
	}
	free(t);
	return error;
}
