// SPDX-License-Identifier: Apache-2.0
/*
 * 122,000 lines `address type name [tab [module]]` as one sorted table, 16 bytes a symbol and its
 * name in one pool: 6 MB for a file of 5.4 MB.
 *
 * Symbols that are not code (d, r, b, …) only bound those that are: their names are not kept, and
 * of several in a row only the first is.
 *
 * Invariants, of a finished table
 *  1. Rows are sorted by address, one row an address.
 *  2. No row that is not code follows another such row.
 *  3. name is a place in `names`, where a NUL ends it; a row that is not code has place 0, "".
 *
 * Example
 *   ffffffff82208bc0 T last_function     names 8 bytes: up to _etext
 *   ffffffff82208bc8 T _etext            names nothing
 *   ffffffff82400000 D __start_rodata    bounds
 *   ffffffffc0201000 t init_it  [some]   the last of its module: names up to ffffffffc0202000
 */
#include "symbol/kallsyms.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/sort.h"

#include <errno.h>

#define READ_BYTES   (64u << 10)
#define PAGE_BYTES   4096u
#define BPF_MAX	     (64u << 10)
#define FUNCTION_MAX (1u << 20)

enum {
	ROW_CODE = 1 << 0,
	ROW_END = 1 << 1, /* ends code: names nothing */
	ROW_BPF = 1 << 2,
};

struct row {
	uint64_t address;
	uint32_t name;
	uint16_t module; /* 0: the kernel itself */
	uint16_t flags;
};

struct cam_kallsyms {
	struct row *rows;
	size_t n, cap;
	struct cam_buf names;
	uint32_t *modules; /* places in names */
	size_t n_modules, modules_cap;
};

struct line {
	uint64_t address;
	char type;
	struct cam_text name, module;
};

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* `ffffffff81000000 T name` or `ffffffffc0201000 t name<tab>[module]`. */
static bool parse_line(struct cam_text t, struct line *out)
{
	size_t i = 0;
	out->address = 0;
	for (; i < t.n && hex_digit(t.p[i]) >= 0; i++)
		out->address = out->address << 4 | (unsigned int)hex_digit(t.p[i]);
	if (i == 0 || i > 16 || t.n < i + 4 || t.p[i] != ' ' || t.p[i + 2] != ' ')
		return false;
	out->type = t.p[i + 1];
	const char *name = t.p + i + 3, *end = t.p + t.n;
	const char *tab = memchr(name, '\t', (size_t)(end - name));
	out->name = (struct cam_text){name, (size_t)((tab ? tab : end) - name)};
	out->module = tab ? (struct cam_text){tab + 1, (size_t)(end - tab - 1)}
			  : (struct cam_text){end, 0};
	return out->name.n && !memchr(name, 0, (size_t)(end - name));
}

static uint32_t keep_text(struct cam_kallsyms *k, struct cam_text t)
{
	uint32_t place = (uint32_t)k->names.len;
	cam_buf_put(&k->names, t.p, t.n);
	cam_buf_put_u8(&k->names, 0);
	return place;
}

/* The file lists the symbols of one module together, so only the last module is compared. */
static int module_of(struct cam_kallsyms *k, struct cam_text module, uint16_t *out)
{
	if (!module.n) {
		*out = 0;
		return 0;
	}
	const char *last = (const char *)k->names.data + k->modules[k->n_modules - 1];
	if (k->n_modules > 1 && cam_text_equal(cam_text_of(last), module)) {
		*out = (uint16_t)(k->n_modules - 1);
		return 0;
	}
	int error = cam_vec_reserve(&k->modules, &k->modules_cap, k->n_modules + 1,
				    sizeof(*k->modules), CAM_KALLSYMS_MAX_MODULES);
	if (error)
		return error;
	*out = (uint16_t)k->n_modules;
	k->modules[k->n_modules++] = keep_text(k, module);
	return cam_buf_error(&k->names);
}

static bool is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static int keep_line(struct cam_kallsyms *k, const struct line *l)
{
	struct row row = {.address = l->address};
	int error = cam_vec_reserve(&k->rows, &k->cap, k->n + 1, sizeof(*k->rows),
				    CAM_KALLSYMS_MAX_SYMBOLS);
	if (!error)
		error = module_of(k, l->module, &row.module);
	if (error)
		return error;
	if (is_code(l->type)) {
		bool ends = !l->module.n && (cam_text_equal(l->name, CAM_TEXT("_etext")) ||
					     cam_text_equal(l->name, CAM_TEXT("_einittext")));
		bool bpf = cam_text_equal(l->module, CAM_TEXT("[bpf]"));
		row.flags = ROW_CODE | (ends ? ROW_END : 0) | (bpf ? ROW_BPF : 0);
		row.name = keep_text(k, l->name);
	}
	k->rows[k->n++] = row;
	return cam_buf_error(&k->names);
}

/* Lines that are no symbols are passed over; *seen counts those that are. */
static int keep_lines(struct cam_kallsyms *k, const char *p, const char *end, size_t *seen)
{
	int error = 0;
	while (p < end && !error) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		struct line l;
		eol = eol ? eol : end;
		if (parse_line((struct cam_text){p, (size_t)(eol - p)}, &l)) {
			++*seen;
			error = l.address ? keep_line(k, &l) : 0;
		}
		p = eol + 1;
	}
	return error;
}

static ssize_t read_some(int fd, char *to, size_t n, uint64_t at)
{
	ssize_t got;
	do
		got = pread(fd, to, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* By position, from the start, whoever read the descriptor before. */
static int read_lines(struct cam_kallsyms *k, int fd, size_t *seen)
{
	char *block CAM_AUTOFREE = malloc(READ_BYTES);
	size_t fill = 0;
	uint64_t at = 0;
	int error = 0;
	if (!block)
		return -ENOMEM;
	while (!error) {
		if (fill == READ_BYTES) /* no line is that long */
			return -EBADMSG;
		ssize_t got = read_some(fd, block + fill, READ_BYTES - fill, at);
		if (got < 0)
			return (int)got;
		at += (uint64_t)got;
		fill += (size_t)got;
		char *eol = memrchr(block, '\n', fill);
		size_t whole = !got ? fill : eol ? (size_t)(eol - block) + 1 : 0;
		error = keep_lines(k, block, block + whole, seen);
		memmove(block, block + whole, fill - whole);
		fill -= whole;
		if (!got)
			break;
	}
	return error;
}

/* One row an address: the last that is code, else the first. */
static void merge_rows(struct cam_kallsyms *k)
{
	size_t n = 0;
	for (size_t i = 0; i < k->n; i++) {
		struct row *last = n ? &k->rows[n - 1] : NULL;
		const struct row *row = &k->rows[i];
		bool code = row->flags & ROW_CODE;
		if (last && last->address == row->address) {
			if (code)
				*last = *row;
		} else if (code || !last || last->flags & ROW_CODE) {
			k->rows[n++] = *row;
		}
	}
	k->n = n;
}

static void trim(struct cam_kallsyms *k)
{
	struct row *rows = realloc(k->rows, k->n * sizeof(*rows));
	if (rows) {
		k->rows = rows;
		k->cap = k->n;
	}
	uint8_t *names = realloc(k->names.data, k->names.len);
	if (names) {
		k->names.data = names;
		k->names.cap = k->names.len;
	}
}

static int load(struct cam_kallsyms *k, int fd)
{
	size_t seen = 0;
	/* Place 0 of the names, and module 0, are "". */
	cam_buf_put_u8(&k->names, 0);
	int error = cam_vec_reserve(&k->modules, &k->modules_cap, 1, sizeof(*k->modules),
				    CAM_KALLSYMS_MAX_MODULES);
	if (error)
		return error;
	k->modules[k->n_modules++] = 0;
	error = read_lines(k, fd, &seen);
	if (!error && !k->n)
		error = seen ? -EACCES : -EBADMSG;
	if (!error)
		error = cam_sort_by_key(k->rows, k->n, sizeof(*k->rows));
	if (error)
		return error;
	merge_rows(k);
	trim(k);
	return 0;
}

int cam_kallsyms_load(int fd, struct cam_kallsyms **out)
{
	struct cam_kallsyms *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->names = CAM_BUF(CAM_KALLSYMS_MAX_BYTES);
	int error = load(k, fd);
	if (error) {
		cam_kallsyms_free(k);
		return error;
	}
	*out = k;
	return 0;
}

void cam_kallsyms_free(struct cam_kallsyms *k)
{
	if (!k)
		return;
	free(k->rows);
	free(k->modules);
	cam_buf_free(&k->names);
	free(k);
}

size_t cam_kallsyms_memory(const struct cam_kallsyms *k)
{
	return sizeof(*k) + k->cap * sizeof(*k->rows) + k->names.cap +
	       k->modules_cap * sizeof(*k->modules);
}

/* Where the row's code ends at the latest. */
static uint64_t end_of(const struct cam_kallsyms *k, size_t i)
{
	const struct row *row = &k->rows[i], *next = i + 1 < k->n ? row + 1 : NULL;
	bool goes_on = next && next->flags & ROW_CODE && next->module == row->module;
	uint64_t page_end = (row->address + 2 * PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t most = row->flags & ROW_BPF ? BPF_MAX
			: goes_on	     ? FUNCTION_MAX
					     : page_end - row->address;
	uint64_t left = next ? next->address - row->address : UINT64_MAX - row->address;
	return row->address + (most < left ? most : left);
}

static struct cam_text text_at(const struct cam_kallsyms *k, uint32_t place)
{
	return cam_text_of((const char *)k->names.data + place);
}

bool cam_kallsyms_find(const struct cam_kallsyms *k, uint64_t address, struct cam_kallsyms_hit *hit)
{
	size_t low = 0, high = k->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (k->rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	const struct row *row = &k->rows[low - 1];
	if (!(row->flags & ROW_CODE) || row->flags & ROW_END || address >= end_of(k, low - 1))
		return false;
	hit->start = row->address;
	hit->end = end_of(k, low - 1);
	hit->name = text_at(k, row->name);
	hit->module = text_at(k, k->modules[row->module]);
	return true;
}
