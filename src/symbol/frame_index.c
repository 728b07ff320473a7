// SPDX-License-Identifier: Apache-2.0
/*
 * .eh_frame_hdr: version 1, three encodings, a pointer to .eh_frame, a count, then rows {start, FDE} of
 * two signed words relative to the header itself, sorted by start.
 *
 * The last row that starts at or before an address is its function only if that FDE's range holds
 * the address: code without an FDE must not be taken for the function before it. So the FDE is read,
 * and its CIE for how the range is written.
 */
#include "symbol/frame_index.h"

#include "symbol/cfi.h"

#define HEAD_BYTES  12u
#define ROW_BYTES   8u
#define BLOCK_ROWS  512u
#define ENTRY_BYTES 64u /* of an FDE or a CIE, that are looked at: what comes before instructions */
#define SDATA4	    0x0b /* DW_EH_PE_ */
#define UDATA4	    0x03
#define DATAREL	    0x30

/* Where two words of one row point to. */
struct row {
	uint64_t start, fde;
};

static void decode_row(const struct cam_elf_segment *x, const uint8_t *bytes, struct row *r)
{
	r->start = x->address + (uint64_t)(int64_t)(int32_t)cam_get32(bytes);
	r->fde = x->address + (uint64_t)(int64_t)(int32_t)cam_get32(bytes + 4);
}

/* Rows from `first` on. */
static bool read_rows(const struct cam_elf_segment *x, const struct cam_bytes *b, uint64_t first,
		      size_t n, uint8_t *bytes)
{
	return !cam_bytes_read(b, x->offset + HEAD_BYTES + first * ROW_BYTES, bytes, n * ROW_BYTES);
}

static uint64_t count_rows(const struct cam_elf_segment *x, const struct cam_bytes *b)
{
	uint8_t head[HEAD_BYTES];
	if (x->bytes < sizeof(head) || cam_bytes_read(b, x->offset, head, sizeof(head)))
		return 0;
	uint64_t fit = (x->bytes - sizeof(head)) / ROW_BYTES, n = cam_get32(head + 8);
	/* All linkers write these encodings; the pointer between takes four bytes. */
	if (head[0] != 1 || (head[1] & 0x0f) != SDATA4 || head[2] != UDATA4 ||
	    head[3] != (DATAREL | SDATA4))
		return 0;
	return n < fit ? n : fit;
}

/* The last row that starts at or before the address. */
static bool search(const struct cam_elf_segment *x, const struct cam_bytes *b, uint64_t address,
		   struct row *found)
{
	uint64_t low = 0, high = count_rows(x, b), block_at = 0;
	uint8_t block[BLOCK_ROWS * ROW_BYTES];
	bool any = false, in_block = false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct row r;
		/* The last steps are all in one page: one read instead of nine. */
		if (!in_block && high - low <= BLOCK_ROWS) {
			if (!read_rows(x, b, low, high - low, block))
				return false;
			block_at = low;
			in_block = true;
		}
		if (!in_block && !read_rows(x, b, middle, 1, block))
			return false;
		decode_row(x, block + (in_block ? (middle - block_at) * ROW_BYTES : 0), &r);
		if (r.start <= address) {
			*found = r;
			any = true;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return any;
}

/* The first bytes of an entry, as a section that has nothing else. */
static bool read_entry(const struct cam_elf_segment *x, const struct cam_bytes *b, uint64_t address,
		       uint8_t bytes[ENTRY_BYTES], struct cam_cfi_section *s,
		       struct cam_cfi_entry *e)
{
	uint64_t at = x->offset + (address - x->address); /* in the same segment as the header */
	uint64_t left = at < b->size ? b->size - at : 0;
	uint32_t n = left < ENTRY_BYTES ? (uint32_t)left : ENTRY_BYTES;
	if (n < 12 || cam_bytes_read(b, at, bytes, n))
		return false;
	uint32_t length = cam_get32(bytes);
	if (length < 8 || length >= UINT32_MAX - 16)
		return false;
	if (length + 4 < n)
		n = length + 4;
	*s = (struct cam_cfi_section){bytes, n, address, .eh = true};
	*e = (struct cam_cfi_entry){.kind = CAM_CFI_FDE, .body = 8, .end = n};
	return true;
}

/* How many bytes the row's function has; 0: the address is not in it. */
static uint64_t bytes_around(const struct cam_elf_segment *x, const struct cam_bytes *b,
			     const struct row *r, uint64_t address)
{
	uint8_t fde_bytes[ENTRY_BYTES], cie_bytes[ENTRY_BYTES];
	struct cam_cfi_section s, of_cie;
	struct cam_cfi_entry e, cie_entry;
	struct cam_cfi_cie cie;
	struct cam_cfi_fde fde;
	if (!read_entry(x, b, r->fde, fde_bytes, &s, &e) ||
	    !read_entry(x, b, r->fde + 4 - cam_get32(fde_bytes + 4), cie_bytes, &of_cie,
			&cie_entry))
		return 0;
	/* Its instructions may be cut: not usable, but how addresses are written is known. */
	cam_cfi_read_cie(&of_cie, &cie_entry, &cie);
	bool in = cam_cfi_read_fde(&s, &e, &cie, &fde) && fde.start == r->start &&
		  address - fde.start < fde.bytes;
	return in ? fde.bytes : 0;
}

uint64_t cam_frame_index_start(const struct cam_elf_file *f, const struct cam_bytes *b,
			       uint64_t offset, uint64_t *end)
{
	struct row r;
	*end = 0;
	for (uint32_t i = 0; i < f->n_segments; i++) {
		const struct cam_elf_segment *s = &f->segments[i];
		if (offset < s->offset || offset - s->offset >= s->bytes)
			continue;
		uint64_t address = s->address + (offset - s->offset);
		if (!search(&f->frame_index, b, address, &r) || r.start < s->address)
			continue;
		uint64_t start = s->offset + (r.start - s->address);
		uint64_t bytes = bytes_around(&f->frame_index, b, &r, address);
		if (!bytes)
			continue;
		/* A file may say more than there is of it. */
		uint64_t left = s->offset + s->bytes - start;
		*end = start + (bytes < left ? bytes : left);
		return start;
	}
	return offset;
}
