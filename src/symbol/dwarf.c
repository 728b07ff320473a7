// SPDX-License-Identifier: Apache-2.0
/*
 * Units by address, loaded when they are needed.
 *
 * Invariants
 *  1. `units` are sorted by their place in .debug_info, `code` by start; code[i].unit is one of units.
 *  2. Of `loaded` each entry with a tree or lines counts in `loaded_bytes`; the least recently used go first.
 *  3. A unit that could not be loaded for good is remembered as such while it is among the loaded.
 *
 * Example: the address 0x1234 is in code [0x1200, 0x1300) of unit 7. Its tree is read: the innermost entry there is
 * `h`, inlined in `g`, inlined in `f`. Names are looked up from their entries: abstract origin, then specification. The
 * line of h is that of the line table, that of g where h is called, that of f where g is.
 */
#include "symbol/dwarf.h"

#include "base/vec.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_line.h"
#include "symbol/dwarf_tree.h"
#include "symbol/sort.h"

#include <errno.h>
#include <stdlib.h>

#define NAME_BYTES   4096u
#define ENTRY_BYTES  2048u /* of one entry that are looked at for its name */
#define MAX_HOPS     8u	   /* from an entry to the one that has the name */
#define MAX_OVERLAP  8u
#define ABBREV_SLOTS 4u

struct code {
	uint64_t start;
	uint32_t bytes, unit;
};

struct loaded {
	uint32_t unit; /* CAM_DWARF_NO_NODE: a free entry */
	int error;
	struct cam_dwarf_tree *tree;
	struct cam_dwarf_lines *lines; /* NULL: it has none that can be read */
	size_t bytes;
	uint64_t used;
};

struct abbrev_slot {
	uint64_t at, used; /* used is 0: free */
	struct cam_dwarf_shape shape;
	struct cam_dwarf_abbrevs abbrevs;
};

struct cam_dwarf {
	struct cam_dwarf_source s;
	struct cam_dwarf *supplement; /* NULL; borrowed. Its source is s.supplement */
	struct cam_dwarf_unit *units;
	struct code *code;
	size_t n_units, cap_units, n_code, cap_code;
	struct loaded loaded[CAM_DWARF_LOADED_UNITS];
	struct abbrev_slot slots[ABBREV_SLOTS];
	size_t loaded_bytes, inflated_bytes;
	uint64_t allowance; /* work that all finds together may still take */
	uint64_t clock;
	bool elsewhere;
};

/* ---- opening ---- */

static int add_code(void *arg, uint64_t low, uint64_t high)
{
	struct cam_dwarf *d = arg;
	if (high - low > UINT32_MAX)
		return 0;
	int error = cam_vec_reserve(&d->code, &d->cap_code, d->n_code + 1, sizeof(*d->code),
				    CAM_DWARF_MAX_CODE);
	if (!error)
		d->code[d->n_code++] =
			(struct code){low, (uint32_t)(high - low), (uint32_t)d->n_units};
	return error;
}

static int read_units(struct cam_dwarf *d)
{
	uint64_t bytes = d->s.sections[CAM_ELF_DEBUG_INFO].bytes;
	for (uint64_t at = 0; at < bytes;) {
		struct cam_dwarf_unit u = {.shape.at = at};
		struct cam_dwarf_entry root;
		int error = cam_dwarf_unit_read(&d->s, &u, &root);
		if (!u.end || u.end <= at)
			return error ? error : -EBADMSG;
		/* One that makes no sense is left out; the next begins where it says. */
		if (error && error != -ENOTSUP && error != -EBADMSG)
			return error;
		if (!error)
			error = cam_vec_reserve(&d->units, &d->cap_units, d->n_units + 1,
						sizeof(*d->units), CAM_DWARF_MAX_UNITS);
		if (error == -E2BIG || error == -ENOMEM)
			return error;
		if (!error) {
			d->units[d->n_units] = u;
			if (root.tag == CAM_DWARF_TAG_COMPILE_UNIT ||
			    root.tag == CAM_DWARF_TAG_SKELETON_UNIT)
				error = cam_dwarf_unit_ranges(&d->s, &u, &root, add_code, d);
			d->n_units++;
		}
		if (error == -E2BIG || error == -ENOMEM || error == -EBUSY)
			return error;
		at = u.end;
	}
	return 0;
}

static int open_all(struct cam_dwarf *d, const struct cam_elf_file *f, const struct cam_bytes *b)
{
	uint64_t budget = CAM_DWARF_INFLATED_BYTES;
	int error = 0;
	for (int i = 0; i < CAM_ELF_DWARF_PARTS && !error; i++)
		error = cam_section_open(&d->s.sections[i], f, b, &f->debug[i], &budget);
	d->inflated_bytes = CAM_DWARF_INFLATED_BYTES - budget;
	if (!error)
		error = read_units(d);
	return error ? error : cam_sort_by_key(d->code, d->n_code, sizeof(*d->code));
}

int cam_dwarf_open(const struct cam_elf_file *f, const struct cam_bytes *b, uint64_t *work,
		   struct cam_dwarf **out)
{
	bool has_entries =
		f->debug[CAM_ELF_DEBUG_INFO].bytes && f->debug[CAM_ELF_DEBUG_ABBREV].bytes;
	/* A supplement may have nothing but texts. */
	if (!has_entries && !f->debug[CAM_ELF_DEBUG_STR].bytes)
		return -ENODATA;
	struct cam_dwarf *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	for (size_t i = 0; i < CAM_DWARF_LOADED_UNITS; i++)
		d->loaded[i].unit = CAM_DWARF_NO_NODE;
	d->s.b = b;
	d->s.work = *work;
	d->allowance = CAM_DWARF_FILE_WORK;
	int error = open_all(d, f, b);
	if (error == -EBUSY && *work >= CAM_DWARF_ENOUGH_WORK)
		error = -E2BIG;
	*work = d->s.work;
	if (error)
		cam_dwarf_free(d);
	else
		*out = d;
	return error;
}

/* ---- what is loaded ---- */

static void unload(struct cam_dwarf *d, struct loaded *l)
{
	cam_dwarf_tree_free(l->tree);
	cam_dwarf_lines_free(l->lines);
	d->loaded_bytes -= l->bytes;
	*l = (struct loaded){.unit = CAM_DWARF_NO_NODE};
}

void cam_dwarf_free(struct cam_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < CAM_DWARF_LOADED_UNITS; i++)
		unload(d, &d->loaded[i]);
	for (size_t i = 0; i < ABBREV_SLOTS; i++)
		cam_dwarf_abbrevs_free(&d->slots[i].abbrevs);
	for (int i = 0; i < CAM_ELF_DWARF_PARTS; i++)
		cam_section_free(&d->s.sections[i]);
	free(d->units);
	free(d->code);
	free(d);
}

size_t cam_dwarf_memory(const struct cam_dwarf *d)
{
	size_t abbrevs = 0;
	for (size_t i = 0; i < ABBREV_SLOTS; i++)
		abbrevs += d->slots[i].abbrevs.cap * sizeof(struct cam_dwarf_abbrev) +
			   d->slots[i].abbrevs.cap_attributes * sizeof(struct cam_dwarf_attribute);
	return sizeof(*d) + d->cap_units * sizeof(*d->units) + d->cap_code * sizeof(*d->code) +
	       abbrevs + d->loaded_bytes + d->inflated_bytes;
}

bool cam_dwarf_is_elsewhere(const struct cam_dwarf *d)
{
	return d->elsewhere;
}

/* The abbreviations of a unit; NULL: *error. */
static const struct cam_dwarf_abbrevs *abbrevs_of(struct cam_dwarf *d,
						  const struct cam_dwarf_unit *u, int *error)
{
	struct abbrev_slot *oldest = &d->slots[0];
	for (size_t i = 0; i < ABBREV_SLOTS; i++) {
		struct abbrev_slot *slot = &d->slots[i];
		/* How much of an entry is skipped depends on the unit's shape, too. */
		if (slot->used && slot->at == u->abbrev_at &&
		    slot->shape.version == u->shape.version &&
		    slot->shape.address_bytes == u->shape.address_bytes &&
		    slot->shape.offset_bytes == u->shape.offset_bytes) {
			slot->used = ++d->clock;
			return &slot->abbrevs;
		}
		if (slot->used < oldest->used)
			oldest = slot;
	}
	cam_dwarf_abbrevs_free(&oldest->abbrevs);
	oldest->used = 0;
	*error = cam_dwarf_unit_abbrevs(&d->s, u, 0, &oldest->abbrevs);
	if (*error)
		return NULL;
	oldest->at = u->abbrev_at;
	oldest->shape = u->shape;
	oldest->used = ++d->clock;
	return &oldest->abbrevs;
}

static void read_unit(struct cam_dwarf *d, struct loaded *l)
{
	const struct cam_dwarf_unit *u = &d->units[l->unit];
	bool enough = d->s.work >= CAM_DWARF_ENOUGH_WORK;
	const struct cam_dwarf_abbrevs *abbrevs = abbrevs_of(d, u, &l->error);
	if (abbrevs)
		l->error = cam_dwarf_tree_read(&d->s, u, abbrevs, &l->tree);
	if (!l->error && cam_dwarf_lines_read(&d->s, u, &l->lines) == -EBUSY)
		l->error = -EBUSY;
	if (l->error == -EBUSY && enough)
		l->error = -E2BIG;
	l->bytes = (l->tree ? cam_dwarf_tree_memory(l->tree) : 0) +
		   (l->lines ? cam_dwarf_lines_memory(l->lines) : 0);
	d->loaded_bytes += l->bytes;
}

static struct loaded *oldest_but(struct cam_dwarf *d, const struct loaded *kept)
{
	struct loaded *oldest = NULL;
	for (size_t i = 0; i < CAM_DWARF_LOADED_UNITS; i++) {
		struct loaded *l = &d->loaded[i];
		if (l != kept && l->bytes && (!oldest || l->used < oldest->used))
			oldest = l;
	}
	return oldest;
}

static struct loaded *load(struct cam_dwarf *d, uint32_t unit)
{
	struct loaded *to = &d->loaded[0], *old;
	for (size_t i = 0; i < CAM_DWARF_LOADED_UNITS; i++) {
		struct loaded *l = &d->loaded[i];
		if (l->unit == unit) {
			l->used = ++d->clock;
			return l;
		}
		if (l->used < to->used)
			to = l;
	}
	unload(d, to);
	to->unit = unit;
	to->used = ++d->clock;
	read_unit(d, to);
	while (d->loaded_bytes > CAM_DWARF_UNIT_CACHE_BYTES && (old = oldest_but(d, to)))
		unload(d, old);
	return to;
}

/* ---- names ---- */

static uint32_t unit_at(const struct cam_dwarf *d, uint64_t entry)
{
	size_t low = 0, high = d->n_units;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (d->units[middle].shape.at <= entry)
			low = middle + 1;
		else
			high = middle;
	}
	return low && entry >= d->units[low - 1].entries && entry < d->units[low - 1].end
		       ? (uint32_t)low - 1
		       : CAM_DWARF_NO_NODE;
}

/* The entry anywhere in .debug_info, and its unit; texts in it are offsets in .debug_info. */
static int read_entry(struct cam_dwarf *d, uint64_t at, const struct cam_dwarf_unit **unit,
		      struct cam_dwarf_entry *e)
{
	uint8_t bytes[ENTRY_BYTES];
	uint32_t number = unit_at(d, at);
	int error = 0;
	if (number == CAM_DWARF_NO_NODE)
		return -EBADMSG;
	*unit = &d->units[number];
	const struct cam_dwarf_abbrevs *abbrevs = abbrevs_of(d, *unit, &error);
	if (!abbrevs)
		return error;
	uint64_t left = (*unit)->end - at;
	int n = cam_section_some(&d->s.sections[CAM_ELF_DEBUG_INFO], d->s.b, at, bytes,
				 left < sizeof(bytes) ? (size_t)left : sizeof(bytes));
	if (n < 0)
		return n;
	struct cam_rd r = cam_rd_make(bytes, (size_t)n);
	uint32_t attributes = cam_dwarf_entry_read(&r, bytes, &(*unit)->shape, abbrevs, e);
	if (!cam_dwarf_pay(&d->s, 64 + attributes))
		return -EBUSY;
	if (e->tag != CAM_DWARF_TAG_SUBPROGRAM && e->tag != CAM_DWARF_TAG_INLINED)
		return -EBADMSG;
	struct cam_dwarf_value *texts[] = {&e->name, &e->linkage};
	for (size_t i = 0; i < 2; i++)
		texts[i]->v += texts[i]->kind == CAM_DWARF_TEXT_HERE ? at : 0;
	return cam_rd_error(&r);
}

static void keep(struct cam_dwarf_hit *hit, struct cam_text from, struct cam_text *to)
{
	if (from.n > sizeof(hit->text) - hit->text_used)
		return;
	char *at = hit->text + hit->text_used;
	memcpy(at, from.p, from.n);
	hit->text_used += from.n;
	*to = (struct cam_text){at, from.n};
}

/* Whether it is in a supplement that is not there. */
static bool is_missing(const struct cam_dwarf *d, struct cam_dwarf_value v)
{
	return !d->supplement && (v.kind == CAM_DWARF_OUTER || v.kind == CAM_DWARF_OUTER_TEXT);
}

/* The mangled name, of this entry or of what it is an instance of; else the plain one nearest to it. */
static int follow_name(struct cam_dwarf *d, uint64_t at, struct cam_dwarf_hit *hit,
		       struct cam_text *out)
{
	struct cam_dwarf *in = d; /* …or its supplement */
	char raw[NAME_BYTES + 1], readable[NAME_BYTES];
	struct cam_text plain = {"", 0}, name;
	char kept[NAME_BYTES + 1];
	for (unsigned hop = 0; hop < MAX_HOPS; hop++) {
		const struct cam_dwarf_unit *u;
		struct cam_dwarf_entry e = {0};
		int found = read_entry(in, at, &u, &e);
		if (found)
			return found == -EBADMSG ? 0 : found;
		found = cam_dwarf_unit_text(&in->s, u, e.linkage, raw, sizeof(raw), &name);
		if (found < 0)
			return found;
		if (found) {
			keep(hit, cam_demangle(name, readable, sizeof(readable), &in->s.work), out);
			return 0;
		}
		if (!plain.n)
			found = cam_dwarf_unit_text(&in->s, u, e.name, kept, sizeof(kept), &plain);
		if (found < 0)
			return found;
		struct cam_dwarf_value next =
			e.origin.kind != CAM_DWARF_NOTHING ? e.origin : e.specification;
		d->elsewhere |=
			is_missing(in, e.linkage) || is_missing(in, e.name) || is_missing(in, next);
		if (next.kind == CAM_DWARF_OUTER)
			in = in->supplement;
		else if (next.kind != CAM_DWARF_REFERENCE)
			in = NULL;
		if (!in)
			break;
		at = next.v;
	}
	keep(hit, plain, out);
	return 0;
}

static int find_name(struct cam_dwarf *d, uint64_t at, struct cam_dwarf_hit *hit,
		     struct cam_text *out)
{
	uint64_t work = d->s.work;
	if (d->supplement && d->supplement != d)
		d->supplement->s.work = work;
	int error = follow_name(d, at, hit, out);
	/* What was read there is paid for here. */
	if (d->supplement && d->supplement != d && d->supplement->s.work < work)
		d->s.work -= work - d->supplement->s.work < d->s.work ? work - d->supplement->s.work
								      : d->s.work;
	return error;
}

/* ---- finding ---- */

static void set_line(struct cam_dwarf *d, struct loaded *l, uint64_t file, uint32_t line,
		     struct cam_dwarf_hit *hit, struct cam_inlined *level)
{
	char room[NAME_BYTES];
	if (!line || !l->lines)
		return;
	struct cam_text path =
		cam_dwarf_lines_path(l->lines, &d->s, &d->units[l->unit], file, room, sizeof(room));
	if (path.n)
		keep(hit, path, &level->file);
	if (level->file.n)
		level->line = line;
}

/* The levels from the innermost node outwards, then turned round. */
static int tell(struct cam_dwarf *d, struct loaded *l, uint64_t address, uint32_t node,
		struct cam_dwarf_hit *hit)
{
	const struct cam_dwarf_node *chain[1 + CAM_NAME_MAX_INLINED];
	uint32_t n = 0, file, line;
	for (; node != CAM_DWARF_NO_NODE; node = chain[n - 1]->parent) {
		/* Of more the innermost are left out. */
		if (n == 1 + CAM_NAME_MAX_INLINED) {
			memmove(&chain[0], &chain[1], sizeof(chain) - sizeof(chain[0]));
			n--;
		}
		chain[n++] = cam_dwarf_tree_node(l->tree, node);
	}
	bool has_line = l->lines && cam_dwarf_lines_find(l->lines, address, &file, &line);
	hit->low = chain[n - 1]->low;
	for (uint32_t i = n; i--;) {
		struct cam_inlined level = {{"", 0}, {"", 0}, 0};
		uint64_t at = d->units[l->unit].shape.at + chain[i]->entry;
		int error = find_name(d, at, hit, &level.name);
		if (error)
			return error;
		if (i)
			set_line(d, l, chain[i - 1]->call_file, chain[i - 1]->call_line, hit,
				 &level);
		else if (has_line)
			set_line(d, l, file, line, hit, &level);
		/* Its name may be in a file that is not there: it is inlined all the same. */
		if (!level.name.n && i != n - 1)
			level.name = CAM_TEXT("[inlined]");
		hit->levels[hit->n_levels++] = level;
	}
	return 1;
}

static int find(struct cam_dwarf *d, uint64_t address, struct cam_dwarf_hit *hit)
{
	size_t low = 0, high = d->n_code;
	if (!d->allowance)
		return -E2BIG;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (d->code[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	int error = 0;
	for (size_t i = 0; i < MAX_OVERLAP && low; i++) {
		const struct code *c = &d->code[--low];
		if (address - c->start >= c->bytes)
			continue;
		d->elsewhere |= d->units[c->unit].is_split;
		struct loaded *l = load(d, c->unit);
		uint32_t node =
			l->error ? CAM_DWARF_NO_NODE : cam_dwarf_tree_find(l->tree, address);
		error = l->error ? l->error : error;
		/* What the moment is to blame for is tried again the next time. */
		if (l->error && l->error != -EBADMSG && l->error != -E2BIG)
			unload(d, l);
		if (node != CAM_DWARF_NO_NODE)
			return tell(d, l, address, node, hit);
	}
	return error == -EBADMSG ? 0 : error;
}

void cam_dwarf_renew(struct cam_dwarf *d)
{
	for (int i = 0; i < CAM_ELF_DWARF_PARTS; i++)
		cam_section_forget(&d->s.sections[i]);
	d->supplement = NULL;
	d->s.supplement = NULL;
}

void cam_dwarf_lean(struct cam_dwarf *d, struct cam_dwarf *supplement, const struct cam_bytes *b)
{
	supplement->s.b = b;
	d->supplement = supplement;
	d->s.supplement = &supplement->s;
}

int cam_dwarf_find(struct cam_dwarf *d, const struct cam_bytes *b, uint64_t address, uint64_t *work,
		   struct cam_dwarf_hit *hit)
{
	hit->n_levels = 0;
	hit->text_used = 0;
	d->s.b = b;
	d->s.work = *work;
	d->elsewhere = false;
	int found = find(d, address, hit);
	uint64_t spent = *work - d->s.work;
	d->allowance -= spent < d->allowance ? spent : d->allowance;
	*work = d->s.work;
	return found;
}
