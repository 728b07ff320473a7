// SPDX-License-Identifier: Apache-2.0
/*
 * From the entries of .eh_frame to ascending rows.
 *
 * Entries are sorted, not rows: a first pass over the sections keeps {file offset, place} of each
 * FDE, 16 bytes; then the FDEs run in order of their offsets, and rows come out ascending. libLLVM
 * has 950,000 rows but 110,000 functions.
 *
 * Invariants
 *  1. Rows strictly ascend; two neighbours never have the same rule.
 *  2. A function's rows end where its FDE, its segment, or the next FDE's start is: of two that start
 *     alike the later one counts (.eh_frame's, being read after .debug_frame's); what is behind a
 *     nested one is NONE, as for every unwinder that searches by start.
 *  3. Where no FDE is, NONE; but not in less than 16 bytes before a start that is a multiple of 16:
 *     that is padding, nobody runs it, and a row for each would make tables 10 to 18 % larger.
 *  4. Rule 0 is NONE and rule 1 UNSUPPORTED, in every table: they are what is left when there is no
 *     room for more.
 *
 * Example: FDEs f [0x1000, 0x1047), g [0x1050, 0x1060), then nothing up to h at 0x2000. Rows: those of
 * f, those of g (the 9 bytes between are padding), {0x1060, NONE}, those of h, {end of h, NONE}.
 */
#include "symbol/ehframe.h"

#include "base/vec.h"
#include "symbol/cfi.h"
#include "symbol/section.h"
#include "symbol/sort.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define RULE_SLOTS  8192u /* twice CAM_UNWIND_MAX_RULES: never full */
#define NONE_RULE   0u
#define BAD_RULE    1u
#define MAX_PADDING 16u

/* An FDE: where its code starts in the file, and where it stands. */
struct place {
	uint64_t offset;
	uint32_t at;  /* in its section */
	uint32_t cie; /* index */
};

struct section {
	struct cam_cfi_section cfi;
	uint32_t first_cie; /* of this section; those of the next follow */
};

enum {
	DEBUG_FRAME, /* first: see invariant 2 */
	EH_FRAME,
	SECTIONS,
};

struct making {
	const struct cam_elf_file *f;
	struct section sections[SECTIONS];
	struct cam_cfi_cie *cies;
	size_t n_cies, cies_cap;
	struct place *places;
	size_t n_places, places_cap;
	/* The table. */
	cam_ehframe_piece_fn *piece;
	void *arg;
	int error;
	struct cam_unwind_rule rules[CAM_UNWIND_MAX_RULES];
	uint32_t slots[RULE_SLOTS]; /* index + 1; 0: free */
	uint32_t n_rules, rules_given;
	struct cam_unwind_row rows[CAM_EHFRAME_PIECE_ROWS];
	uint32_t n_rows;
	uint64_t all_rows;
	uint32_t last_rule;
	uint64_t covered; /* up to here there are rows */
	/* The function that is being run. */
	uint64_t start, offset, limit;
};

static uint32_t rule_index(struct making *m, const struct cam_unwind_rule *r)
{
	uint64_t key = 0;
	memcpy(&key, r, sizeof(*r));
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 51);
	for (; m->slots[slot]; slot = (slot + 1) % RULE_SLOTS) {
		uint32_t i = m->slots[slot] - 1;
		if (!memcmp(&m->rules[i], r, sizeof(*r)))
			return i;
	}
	if (m->n_rules == CAM_UNWIND_MAX_RULES)
		return BAD_RULE;
	m->rules[m->n_rules] = *r;
	m->slots[slot] = ++m->n_rules;
	return m->n_rules - 1;
}

static void give_piece(struct making *m, bool more)
{
	struct cam_ehframe_piece piece = {
		.rules = m->rules + m->rules_given,
		.n_rules = m->n_rules - m->rules_given,
		.rows = m->rows,
		.n_rows = m->n_rows,
		.more = more,
	};
	if (!m->error)
		m->error = m->piece(m->arg, &piece);
	m->rules_given = m->n_rules;
	m->n_rows = 0;
}

static void add_row(struct making *m, uint64_t offset, uint32_t rule)
{
	if (m->all_rows >= CAM_UNWIND_MAX_ROWS - 1)
		rule = BAD_RULE;
	if (m->all_rows && rule == m->last_rule)
		return;
	if (m->n_rows == CAM_EHFRAME_PIECE_ROWS)
		give_piece(m, true);
	m->rows[m->n_rows++] = (struct cam_unwind_row){(uint32_t)offset, rule};
	m->all_rows++;
	m->last_rule = rule;
}

static void take_row(void *arg, uint64_t address, struct cam_unwind_rule rule)
{
	struct making *m = arg;
	uint64_t offset = m->offset + (address - m->start);
	if (offset < m->limit)
		add_row(m, offset, rule_index(m, &rule));
}

static void run_place(struct making *m, size_t i)
{
	const struct place *p = &m->places[i];
	const struct cam_cfi_cie *cie = &m->cies[p->cie];
	int which = p->cie < m->sections[EH_FRAME].first_cie ? DEBUG_FRAME : EH_FRAME;
	const struct cam_cfi_section *s = &m->sections[which].cfi;
	struct cam_cfi_entry entry = {.next = p->at};
	struct cam_cfi_fde fde;
	uint64_t follow;
	if (!cam_cfi_next(s, &entry) || !cam_cfi_read_fde(s, &entry, cie, &fde) ||
	    !cam_elf_file_offset(m->f, fde.start, &m->offset, &follow))
		return;
	m->start = fde.start;
	m->limit = m->offset + (fde.bytes < follow ? fde.bytes : follow);
	if (i + 1 < m->n_places && m->limit > m->places[i + 1].offset)
		m->limit = m->places[i + 1].offset;
	if (m->limit > UINT32_MAX || m->limit <= m->offset)
		return;
	bool padding = m->offset - m->covered < MAX_PADDING && m->offset % 16 == 0;
	if (m->all_rows && m->offset > m->covered && !padding)
		add_row(m, m->covered, NONE_RULE);
	cam_cfi_run(s, cie, &fde, take_row, m);
	m->covered = m->limit;
}

static int make_table(struct making *m)
{
	const struct cam_unwind_rule none = {.cfa = CAM_CFA_NONE},
				     bad = {.cfa = CAM_CFA_UNSUPPORTED};
	(void)rule_index(m, &none);
	(void)rule_index(m, &bad);
	for (size_t i = 0; i < m->n_places && !m->error; i++)
		run_place(m, i);
	if (m->all_rows)
		add_row(m, m->covered, NONE_RULE);
	give_piece(m, false);
	return m->error;
}

static int keep_cie(struct making *m, const struct cam_cfi_section *s,
		    const struct cam_cfi_entry *e)
{
	int error = cam_vec_reserve(&m->cies, &m->cies_cap, m->n_cies + 1, sizeof(*m->cies),
				    CAM_EHFRAME_MAX_CIES);
	if (error)
		return error;
	cam_cfi_read_cie(s, e, &m->cies[m->n_cies++]);
	return 0;
}

/* The CIE of this section that stands there; they come before their FDEs. */
static bool find_cie(const struct making *m, const struct section *s, uint32_t at, uint32_t *cie)
{
	size_t low = s->first_cie, high = m->n_cies;
	if (high > low && m->cies[high - 1].at == at)
		low = high - 1; /* most are of the last one */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (m->cies[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	*cie = (uint32_t)low;
	return low < high && m->cies[low].at == at && m->cies[low].usable;
}

static int keep_fde(struct making *m, const struct section *s, const struct cam_cfi_entry *e)
{
	struct cam_cfi_fde fde;
	uint64_t offset, follow;
	uint32_t cie;
	/* Address 0 is what linkers leave of code that they dropped. */
	if (!find_cie(m, s, e->cie_at, &cie) ||
	    !cam_cfi_read_fde(&s->cfi, e, &m->cies[cie], &fde) || !fde.start ||
	    !cam_elf_file_offset(m->f, fde.start, &offset, &follow) || offset >= UINT32_MAX)
		return 0;
	int error = cam_vec_reserve(&m->places, &m->places_cap, m->n_places + 1, sizeof(*m->places),
				    CAM_EHFRAME_MAX_FUNCTIONS);
	if (error)
		return error;
	m->places[m->n_places++] = (struct place){offset, e->at, cie};
	return 0;
}

static int collect(struct making *m, struct section *s)
{
	struct cam_cfi_entry e = {0};
	int error = 0;
	s->first_cie = (uint32_t)m->n_cies;
	while (!error && s->cfi.size && cam_cfi_next(&s->cfi, &e))
		error = e.kind == CAM_CFI_CIE ? keep_cie(m, &s->cfi, &e) : keep_fde(m, s, &e);
	return error;
}

static int load_section(struct section *s, const struct cam_bytes *b,
			const struct cam_elf_segment *from)
{
	if (!from->bytes)
		return 0;
	uint8_t *bytes = malloc(from->bytes);
	if (!bytes)
		return -ENOMEM;
	s->cfi.bytes = bytes;
	s->cfi.size = (uint32_t)from->bytes;
	s->cfi.address = from->address;
	return cam_bytes_read(b, from->offset, bytes, from->bytes);
}

/* As Go's linker writes it, and `-gz`. One that lies, or is too large, is left out. */
static int load_compressed(struct section *s, const struct cam_elf_file *f,
			   const struct cam_bytes *b, uint64_t max_bytes)
{
	const struct cam_elf_part part = {f->debug_frame.offset, f->debug_frame.bytes, true};
	struct cam_section inflated;
	int error = cam_section_open(&inflated, f, b, &part, &max_bytes);
	if (error)
		cam_section_free(&inflated);
	s->cfi.bytes = inflated.memory;
	s->cfi.size = (uint32_t)inflated.bytes;
	return error == -EBADMSG || error == -E2BIG || error == -ENOTSUP ? 0 : error;
}

/* Without section headers: .eh_frame_hdr's second field points to it; it ends with an empty entry. */
static void find_without_sections(const struct cam_elf_file *f, const struct cam_bytes *b,
				  struct cam_elf_segment *out)
{
	const struct cam_elf_segment *index = &f->frame_index;
	uint8_t head[16];
	uint64_t address;
	uint32_t at = 4;
	if (index->bytes < sizeof(head) || cam_bytes_read(b, index->offset, head, sizeof(head)))
		return;
	struct cam_cfi_section s = {head, sizeof(head), index->address, .eh = true};
	if (head[0] != 1 ||
	    !cam_cfi_pointer(&s, &at, sizeof(head), head[1], index->address, &address))
		return;
	/* It is in the same segment: the same distance in the file. */
	uint64_t offset = index->offset + (address - index->address);
	if (offset >= b->size)
		return;
	uint64_t bytes = b->size - offset;
	*out = (struct cam_elf_segment){
		address, offset, bytes < CAM_EHFRAME_MAX_BYTES ? bytes : CAM_EHFRAME_MAX_BYTES};
}

static int load_sections(struct making *m, const struct cam_bytes *b)
{
	struct cam_elf_segment eh = m->f->eh_frame, debug = m->f->debug_frame;
	struct section *s = m->sections;
	s[EH_FRAME].cfi.eh = true;
	if (!eh.bytes) {
		s[EH_FRAME].cfi.ends_at_zero = true;
		find_without_sections(m->f, b, &eh);
	}
	if (eh.bytes > CAM_EHFRAME_MAX_BYTES)
		return -E2BIG;
	uint64_t left = CAM_EHFRAME_MAX_BYTES - eh.bytes;
	int error = load_section(&s[EH_FRAME], b, &eh);
	if (error || debug.bytes > left)
		return error;
	return m->f->debug_frame_compressed ? load_compressed(&s[DEBUG_FRAME], m->f, b, left)
					    : load_section(&s[DEBUG_FRAME], b, &debug);
}

static int read_all(struct making *m, const struct cam_bytes *b)
{
	int error = load_sections(m, b);
	for (int i = 0; !error && i < SECTIONS; i++)
		error = collect(m, &m->sections[i]);
	if (!error)
		error = cam_sort_by_key(m->places, m->n_places, sizeof(*m->places));
	return error ? error : make_table(m);
}

int cam_ehframe_read(const struct cam_bytes *b, cam_ehframe_piece_fn *piece, void *arg)
{
	struct cam_elf_file f;
	int error = cam_elf_file_read(&f, b);
	if (error)
		return error;
	if (!f.is_64 || f.machine != EM_X86_64)
		return -ENOEXEC;
	struct making *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->f = &f;
	m->piece = piece;
	m->arg = arg;
	error = read_all(m, b);
	for (int i = 0; i < SECTIONS; i++)
		free((void *)m->sections[i].cfi.bytes);
	free(m->cies);
	free(m->places);
	free(m);
	return error;
}
