// SPDX-License-Identifier: Apache-2.0
/*
 * The interpreter of call frame instructions, for the two registers that lead to the caller.
 *
 * A function's frame is described by a program: an FDE's instructions advance an address and
 * change a state, which begins as its CIE's. We follow where the CFA, rbp and the return address are, and
 * skip what is said of other registers.
 *
 * Invariants
 *  1. Nothing is read at or beyond the entry's end, nor the section's.
 *  2. A state that we cannot express is UNSUPPORTED, never something near it: a return address that
 *     is not at CFA - 8, a CFA relative to another register, an expression of another shape.
 *     A caller's rbp that we cannot express is GONE: that matters only if it is needed.
 *  3. A CIE's instructions run once, not once an FDE.
 *
 * Example: `push %rbp; mov %rsp,%rbp; …; leave; ret` at 0x1130 has the CIE's state {CFA rsp+8, ra at
 * CFA-8} and the instructions advance 1, def_cfa_offset 16, offset rbp -16, advance 3,
 * def_cfa_register rbp, advance 20, def_cfa rsp 8. Rows: 0x1130 rsp+8; 0x1131 rsp+16, rbp at CFA-16;
 * 0x1134 rbp+16, rbp at CFA-16; 0x1148 rsp+8, rbp at CFA-16 (`leave` restored it, but the slot still
 * holds it, and compilers leave it at that).
 */
#include "symbol/cfi.h"

#include "symbol/bytes.h"

#define RBP	     6u
#define RSP	     7u
#define RA	     16u
#define MAX_REMEMBER 16u /* nesting of DW_CFA_remember_state; compilers reach 2 */
#define SAVED_RSP    160 /* from the stack pointer at a signal's return to the saved one */

enum {
	CFA_ADVANCE = 0x40, /* the three with an operand in the low six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0,
	CFA_SET_LOC,
	CFA_ADVANCE1,
	CFA_ADVANCE2,
	CFA_ADVANCE4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_ADVANCE8 = 0x1d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

enum {
	PE_ABSPTR,
	PE_ULEB128,
	PE_UDATA2,
	PE_UDATA4,
	PE_UDATA8,
	PE_SLEB128 = 9,
	PE_SDATA2,
	PE_SDATA4,
	PE_SDATA8,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
};

/* Reading forwards; after `bad` everything is 0. */
struct reader {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t get(struct reader *r, unsigned int bytes)
{
	uint64_t value = 0;
	if (r->bad || (size_t)(r->end - r->p) < bytes) {
		r->bad = true;
		return 0;
	}
	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)r->p[i] << 8 * i;
	r->p += bytes;
	return value;
}

static uint64_t get_leb(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;
	do {
		byte = (uint8_t)get(r, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~(uint64_t)0 << shift;
	return value;
}

static uint64_t get_uleb(struct reader *r)
{
	return get_leb(r, false);
}

static int64_t get_sleb(struct reader *r)
{
	return (int64_t)get_leb(r, true);
}

/* The next n bytes, as a reader of their own. */
static struct reader take(struct reader *r, uint64_t n)
{
	struct reader part = {r->p, r->p, r->bad};
	if (r->bad || n > (uint64_t)(r->end - r->p)) {
		r->bad = part.bad = true;
		return part;
	}
	part.end = r->p += n;
	return part;
}

static int64_t scaled(uint64_t by, int64_t align)
{
	return (int64_t)(by * (uint64_t)align);
}

static uint64_t get_pointer(struct reader *r, uint8_t encoding, uint64_t address, uint64_t data)
{
	uint64_t value;
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		value = get(r, 8);
		break;
	case PE_UDATA2:
		value = get(r, 2);
		break;
	case PE_SDATA2:
		value = (uint64_t)(int64_t)(int16_t)get(r, 2);
		break;
	case PE_UDATA4:
		value = get(r, 4);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int64_t)(int32_t)get(r, 4);
		break;
	case PE_ULEB128:
	case PE_SLEB128:
		value = get_leb(r, (encoding & 0x0f) == PE_SLEB128);
		break;
	default:
		r->bad = true;
		return 0;
	}
	uint8_t relative = encoding & 0x70;
	if (encoding & PE_INDIRECT || (relative && relative != PE_PCREL && relative != PE_DATAREL))
		r->bad = true;
	if (!value) /* means none, whatever it is relative to */
		return 0;
	return value + (relative == PE_PCREL ? address : relative == PE_DATAREL ? data : 0);
}

bool cam_cfi_pointer(const struct cam_cfi_section *s, uint32_t *at, uint32_t end, uint8_t encoding,
		     uint64_t data, uint64_t *value)
{
	if (end > s->size || *at > end)
		return false;
	struct reader r = {s->bytes + *at, s->bytes + end, false};
	*value = get_pointer(&r, encoding, s->address + *at, data);
	*at = (uint32_t)(r.p - s->bytes);
	return !r.bad;
}

bool cam_cfi_next(const struct cam_cfi_section *s, struct cam_cfi_entry *e)
{
	uint64_t length, id;
	uint32_t at = e->next;
	struct reader r = {s->bytes + at, s->bytes + s->size, at > s->size};
	do {
		at = (uint32_t)(r.p - s->bytes);
		length = get(&r, 4);
		if (r.bad || (!length && s->ends_at_zero))
			return false;
	} while (!length);
	bool wide = length == 0xffffffff;
	if (wide)
		length = get(&r, 8);
	struct reader body = take(&r, length);
	const uint8_t *id_at = body.p;
	id = get(&body, wide && !s->eh ? 8 : 4);
	if (r.bad || body.bad)
		return false;
	bool is_cie = s->eh ? !id : id == (wide ? UINT64_MAX : UINT32_MAX);
	uint64_t cie = s->eh ? (uint64_t)(id_at - s->bytes) - id : id;
	*e = (struct cam_cfi_entry){
		.kind = is_cie ? CAM_CFI_CIE : CAM_CFI_FDE,
		.at = at,
		.body = (uint32_t)(body.p - s->bytes),
		.end = (uint32_t)(body.end - s->bytes),
		.next = (uint32_t)(r.p - s->bytes),
		.cie_at = !is_cie && cie < s->size ? (uint32_t)cie : UINT32_MAX,
	};
	return true;
}

/* What a run of instructions needs. */
struct run {
	const struct cam_cfi_section *s;
	const struct cam_cfi_cie *cie;
	const struct cam_cfi_state *initial; /* NULL while it is being found */
	struct cam_cfi_state now;
	struct cam_cfi_state kept[MAX_REMEMBER];
	unsigned int n_kept;
	uint64_t address, end;
	cam_cfi_row_fn *row;
	void *arg;
};

static const struct cam_unwind_rule unsupported = {.cfa = CAM_CFA_UNSUPPORTED};

static void set_rbp(const struct cam_cfi_state *c, struct cam_unwind_rule *rule)
{
	bool fits = c->rbp_offset >= INT16_MIN && c->rbp_offset <= INT16_MAX;
	if (c->rbp == CAM_CFI_SAME) {
		rule->rbp = CAM_RBP_SAME;
	} else if ((c->rbp == CAM_CFI_AT_CFA || c->rbp == CAM_CFI_AT_RBP) && fits) {
		rule->rbp = c->rbp == CAM_CFI_AT_CFA ? CAM_RBP_AT_CFA : CAM_RBP_AT_RBP;
		rule->rbp_offset = (int16_t)c->rbp_offset;
	} else {
		rule->rbp = CAM_RBP_GONE;
	}
}

static struct cam_unwind_rule rule_of(const struct cam_cfi_cie *cie, const struct cam_cfi_state *c)
{
	struct cam_unwind_rule rule = {.cfa_offset = (int32_t)c->cfa_offset};
	if (c->ra == CAM_CFI_UNDEFINED)
		return (struct cam_unwind_rule){.cfa = CAM_CFA_END};
	if (cie->signal && c->cfa == CAM_CFI_CFA_SIGNAL)
		return (struct cam_unwind_rule){.cfa = CAM_CFA_SIGNAL};
	if (c->ra != CAM_CFI_AT_CFA || c->ra_offset != -8 || rule.cfa_offset != c->cfa_offset)
		return unsupported;
	if (c->cfa == CAM_CFI_CFA_PLT)
		rule.cfa = CAM_CFA_PLT;
	else if (c->cfa == CAM_CFI_CFA_DEREF_RBP)
		rule.cfa = CAM_CFA_DEREF_RBP;
	else if (c->cfa == CAM_CFI_CFA_REGISTER && c->cfa_register == RSP)
		rule.cfa = CAM_CFA_RSP;
	else if (c->cfa == CAM_CFI_CFA_REGISTER && c->cfa_register == RBP)
		rule.cfa = CAM_CFA_RBP;
	else
		return unsupported;
	set_rbp(c, &rule);
	return rule;
}

static void set_place(struct run *x, uint64_t reg, enum cam_cfi_place place, int64_t offset)
{
	if (reg == RBP) {
		x->now.rbp = place;
		x->now.rbp_offset = offset;
	} else if (reg == RA) {
		x->now.ra = place;
		x->now.ra_offset = offset;
	}
}

static void restore(struct run *x, uint64_t reg)
{
	static const struct cam_cfi_state nothing;
	const struct cam_cfi_state *from = x->initial ? x->initial : &nothing;
	if (reg == RBP)
		set_place(x, reg, from->rbp, from->rbp_offset);
	else if (reg == RA)
		set_place(x, reg, from->ra, from->ra_offset);
}

static bool advance(struct run *x, uint64_t by)
{
	uint64_t to = x->address + by;
	if (to < x->address)
		return false;
	if (by && x->row && x->address < x->end)
		x->row(x->arg, x->address, rule_of(x->cie, &x->now));
	x->address = to;
	return true;
}

/* rsp + 8 + ((rip & 15) >= N) << 3 */
static bool is_plt(struct reader e, int64_t *from)
{
	static const uint8_t head[] = {OP_BREG0 + RSP, 8, OP_BREG0 + RA, 0, OP_LIT0 + 15, OP_AND};
	static const uint8_t tail[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	const uint8_t *p = e.p;
	if (e.end - p != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	*from = (int64_t)p[sizeof(head)] - OP_LIT0;
	return *from >= 0 && *from < 16;
}

static void set_cfa_expression(struct run *x, struct reader e)
{
	x->now.cfa = CAM_CFI_CFA_UNKNOWN;
	if (is_plt(e, &x->now.cfa_offset)) {
		x->now.cfa = CAM_CFI_CFA_PLT;
		return;
	}
	uint64_t op = get(&e, 1);
	int64_t offset = get_sleb(&e);
	if (get(&e, 1) != OP_DEREF || e.bad || e.p != e.end)
		return;
	x->now.cfa_offset = offset;
	if (op == OP_BREG0 + RBP)
		x->now.cfa = CAM_CFI_CFA_DEREF_RBP;
	else if (op == OP_BREG0 + RSP && offset == SAVED_RSP)
		x->now.cfa = CAM_CFI_CFA_SIGNAL;
}

/* A register that is at an address; realigned functions find rbp at (rbp). */
static void set_expression(struct run *x, uint64_t reg, struct reader e)
{
	uint64_t op = get(&e, 1);
	int64_t offset = get_sleb(&e);
	bool at_rbp = op == OP_BREG0 + RBP && !e.bad && e.p == e.end;
	set_place(x, reg, at_rbp ? CAM_CFI_AT_RBP : CAM_CFI_ELSEWHERE, at_rbp ? offset : 0);
}

static void set_cfa(struct run *x, uint64_t reg)
{
	x->now.cfa = CAM_CFI_CFA_REGISTER;
	x->now.cfa_register = reg;
}

/* Those that move on, and the stack of states. */
static bool run_control(struct run *x, struct reader *r, uint8_t op)
{
	const struct cam_cfi_section *s = x->s;
	uint64_t to;
	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC:
		to = get_pointer(r, x->cie->encoding, s->address + (uint64_t)(r->p - s->bytes), 0);
		return !r->bad && to >= x->address && advance(x, to - x->address);
	case CFA_ADVANCE1:
		return advance(x, get(r, 1) * x->cie->code_align);
	case CFA_ADVANCE2:
		return advance(x, get(r, 2) * x->cie->code_align);
	case CFA_ADVANCE4:
		return advance(x, get(r, 4) * x->cie->code_align);
	case CFA_ADVANCE8:
		return advance(x, get(r, 8) * x->cie->code_align);
	case CFA_REMEMBER:
		if (x->n_kept == MAX_REMEMBER)
			return false;
		x->kept[x->n_kept++] = x->now;
		return true;
	case CFA_RESTORE_STATE:
		if (!x->n_kept)
			return false;
		x->now = x->kept[--x->n_kept];
		return true;
	case CFA_GNU_ARGS_SIZE:
		(void)get_uleb(r);
		return true;
	default:
		return false;
	}
}

static bool run_cfa(struct run *x, struct reader *r, uint8_t op)
{
	switch (op) {
	case CFA_DEF_CFA:
		set_cfa(x, get_uleb(r));
		x->now.cfa_offset = (int64_t)get_uleb(r);
		return true;
	case CFA_DEF_CFA_SF:
		set_cfa(x, get_uleb(r));
		x->now.cfa_offset = scaled((uint64_t)get_sleb(r), x->cie->data_align);
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(x, get_uleb(r));
		return true;
	case CFA_DEF_CFA_OFFSET:
		x->now.cfa_offset = (int64_t)get_uleb(r);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		x->now.cfa_offset = scaled((uint64_t)get_sleb(r), x->cie->data_align);
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		set_cfa_expression(x, take(r, get_uleb(r)));
		return true;
	default:
		return run_control(x, r, op);
	}
}

static bool run_one(struct run *x, struct reader *r)
{
	uint8_t op = (uint8_t)get(r, 1), low = op & 0x3f;
	int64_t align = x->cie->data_align;
	uint64_t reg;
	if ((op & 0xc0) == CFA_ADVANCE)
		return advance(x, low * x->cie->code_align);
	if ((op & 0xc0) == CFA_RESTORE) {
		restore(x, low);
		return true;
	}
	if ((op & 0xc0) == CFA_OFFSET) {
		set_place(x, low, CAM_CFI_AT_CFA, scaled(get_uleb(r), align));
		return true;
	}
	bool has_register = (op >= CFA_OFFSET_EXTENDED && op <= CFA_REGISTER) ||
			    op == CFA_EXPRESSION || op == CFA_OFFSET_EXTENDED_SF ||
			    (op >= CFA_VAL_OFFSET && op <= CFA_VAL_EXPRESSION) ||
			    op == CFA_GNU_NEGATIVE_OFFSET;
	if (!has_register)
		return run_cfa(x, r, op);
	reg = get_uleb(r);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_place(x, reg, CAM_CFI_AT_CFA, scaled(get_uleb(r), align));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_place(x, reg, CAM_CFI_AT_CFA, scaled((uint64_t)get_sleb(r), align));
		break;
	case CFA_GNU_NEGATIVE_OFFSET:
		set_place(x, reg, CAM_CFI_AT_CFA, scaled(-get_uleb(r), align));
		break;
	case CFA_RESTORE_EXTENDED:
		restore(x, reg);
		break;
	case CFA_UNDEFINED:
		set_place(x, reg, CAM_CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_place(x, reg, CAM_CFI_SAME, 0);
		break;
	case CFA_EXPRESSION:
		set_expression(x, reg, take(r, get_uleb(r)));
		break;
	case CFA_VAL_EXPRESSION:
		set_place(x, reg, CAM_CFI_ELSEWHERE, 0);
		(void)take(r, get_uleb(r));
		break;
	default: /* CFA_REGISTER, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF */
		set_place(x, reg, CAM_CFI_ELSEWHERE, 0);
		(void)get_uleb(r);
	}
	return true;
}

static bool run_all(struct run *x, uint32_t from, uint32_t end)
{
	struct reader r = {x->s->bytes + from, x->s->bytes + end, false};
	while (r.p < r.end) {
		if (!run_one(x, &r) || r.bad)
			return false;
	}
	return true;
}

/* What follows 'z' says what stands where; an unknown letter ends what we can know, but the sizes
 * say where the instructions are. */
static bool read_augmentation(const struct cam_cfi_section *s, struct cam_cfi_cie *cie,
			      const char *letters, struct reader *r)
{
	struct reader data = take(r, get_uleb(r));
	for (; *letters && !data.bad; letters++) {
		uint8_t encoding;
		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)get(&data, 1);
			break;
		case 'L':
			(void)get(&data, 1);
			break;
		case 'P':
			encoding = (uint8_t)get(&data, 1) & 0x0f;
			(void)get_pointer(&data, encoding, s->address, 0);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* return addresses are signed by another key; arm */
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

void cam_cfi_read_cie(const struct cam_cfi_section *s, const struct cam_cfi_entry *e,
		      struct cam_cfi_cie *cie)
{
	struct reader r = {s->bytes + e->body, s->bytes + e->end, false};
	*cie = (struct cam_cfi_cie){.at = e->at};
	uint64_t version = get(&r, 1);
	const char *letters = (const char *)r.p;
	while (get(&r, 1))
		;
	if (r.bad || (version != 1 && version != 3 && version != 4))
		return;
	if (version == 4 && get(&r, 2) != 8)
		return; /* a byte for addresses of 8, one for no segments; others do not occur */
	cie->code_align = get_uleb(&r);
	cie->data_align = get_sleb(&r);
	uint64_t ra = version == 1 ? get(&r, 1) : get_uleb(&r);
	cie->has_augmentation = *letters == 'z';
	if (r.bad || ra != RA || (*letters && !cie->has_augmentation))
		return;
	if (cie->has_augmentation && !read_augmentation(s, cie, letters + 1, &r))
		return;
	struct run x = {.s = s, .cie = cie};
	if (r.bad || !run_all(&x, (uint32_t)(r.p - s->bytes), e->end))
		return;
	cie->initial = x.now;
	cie->usable = true;
}

bool cam_cfi_read_fde(const struct cam_cfi_section *s, const struct cam_cfi_entry *e,
		      const struct cam_cfi_cie *cie, struct cam_cfi_fde *fde)
{
	struct reader r = {s->bytes + e->body, s->bytes + e->end, false};
	fde->start = get_pointer(&r, cie->encoding, s->address + e->body, 0);
	fde->bytes = get_pointer(&r, cie->encoding & 0x0f, 0, 0);
	if (cie->has_augmentation)
		(void)take(&r, get_uleb(&r));
	fde->instructions = (uint32_t)(r.p - s->bytes);
	fde->end = e->end;
	uint64_t end;
	return !r.bad && fde->bytes && !__builtin_add_overflow(fde->start, fde->bytes, &end);
}

void cam_cfi_run(const struct cam_cfi_section *s, const struct cam_cfi_cie *cie,
		 const struct cam_cfi_fde *fde, cam_cfi_row_fn *row, void *arg)
{
	struct run x = {
		.s = s,
		.cie = cie,
		.initial = &cie->initial,
		.now = cie->initial,
		.address = fde->start,
		.end = fde->start + fde->bytes,
		.row = row,
		.arg = arg,
	};
	bool whole = run_all(&x, fde->instructions, fde->end);
	if (x.address < x.end)
		row(arg, x.address, whole ? rule_of(cie, &x.now) : unsupported);
}
