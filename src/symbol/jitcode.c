// SPDX-License-Identifier: Apache-2.0
/*
 * Pieces of functions, sorted, in two layers; names in a log.
 *
 * What is added waits in `fresh`. settle() sorts it by address and cuts what overlaps, so that each
 * byte belongs to the newest: a sweep over the starts with a heap of those that are open. The pieces are
 * laid over `young`, and when that has grown to an eighth of `old`, young over old: what comes in
 * small lots (150 lines a second of a busy node) must not move a million rows each time. A lookup asks
 * young, then old.
 *
 * Names are appended to a log; a row holds the place of its name there, which also tells its age.
 * When the log is full, or there are too many rows, names that no row has any more are squeezed out,
 * and if that is not enough the oldest go with their rows, until an eighth is free.
 *
 * Invariants
 *  1. Rows of a layer ascend and do not overlap. Where young has an address, old's is not asked.
 *  2. A row's name lies in the log at or below `used`, and starts at a multiple of 8.
 *  3. Work: O(n log n) in what is added, whatever it is; memory: the three bounds of the header.
 *  4. `told` has each address whose name was given out since the turn began, with the name's hash.
 *
 * Example: a [0, 10), then b [4, 6): settled, a [0, 4) b [4, 6) a [6, 10). Then c [5, 12): the layer
 * becomes a [0, 4) b [4, 5) c [5, 12). If 7 was told as a the turn is another one now; if only 2 was
 * told it is not.
 */
#include "symbol/jitcode.h"

#include "base/index.h"
#include "base/units.h"
#include "base/vec.h"
#include "symbol/sort.h"

#include <time.h>

#define MAX_FRESH  (1u << 18)
#define MIN_FOLD   8192u
#define MAX_TOLD   32768u /* slots; half of them used, a turn ends */
#define FIRST_TOLD 256u
#define DROPPED	   UINT32_MAX

struct row {
	uint64_t start; /* the key of cam_sort_by_key() */
	uint64_t end;
	uint64_t name; /* where in the log; grows with age */
};

/* In the log, before its bytes. */
struct name {
	uint64_t start; /* of the function: its row may be cut */
	uint32_t rows;	/* while squeezing: how many have it, then where it goes */
	uint32_t n;
};

struct layer {
	struct row *rows;
	size_t n, cap;
};

struct told {
	uint64_t address, hash; /* hash 0: free */
};

struct cam_jitcode {
	struct layer fresh, young, old;
	char *log;
	size_t used, log_cap;
	struct told *told;
	size_t n_told, told_slots;
	uint64_t turn;
};

struct cam_jitcode *cam_jitcode_new(void)
{
	struct cam_jitcode *c = calloc(1, sizeof(*c));
	struct timespec now;
	if (!c)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, &now);
	c->turn = cam_hash_u64((uint64_t)now.tv_sec * CAM_NS_PER_SEC + (uint64_t)now.tv_nsec,
			       (uintptr_t)c);
	return c;
}

static void free_layer(struct layer *l)
{
	free(l->rows);
	*l = (struct layer){0};
}

static void begin_turn(struct cam_jitcode *c)
{
	c->turn++;
	free(c->told);
	c->told = NULL;
	c->n_told = c->told_slots = 0;
}

void cam_jitcode_clear(struct cam_jitcode *c)
{
	free_layer(&c->fresh);
	free_layer(&c->young);
	free_layer(&c->old);
	free(c->log);
	c->log = NULL;
	c->used = c->log_cap = 0;
	begin_turn(c);
}

void cam_jitcode_free(struct cam_jitcode *c)
{
	if (c)
		cam_jitcode_clear(c);
	free(c);
}

static struct name *name_at(const struct cam_jitcode *c, uint64_t at)
{
	return (struct name *)(void *)(c->log + at);
}

static size_t name_bytes(size_t n)
{
	return sizeof(struct name) + ((n + 7) & ~(size_t)7);
}

static uint64_t name_hash(const struct cam_jitcode *c, const struct row *r)
{
	const struct name *n = name_at(c, r->name);
	uint64_t h = cam_hash(n + 1, n->n);
	return h ? h : 1;
}

static int reserve(struct layer *l, size_t n)
{
	return cam_vec_reserve(&l->rows, &l->cap, n, sizeof(*l->rows), 8u * CAM_JITCODE_MAX_ROWS);
}

/* The first row that ends behind an address; NULL: it does not hold it. */
static const struct row *find_row(const struct layer *l, uint64_t address)
{
	size_t lo = 0, hi = l->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->rows[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n && l->rows[lo].start <= address ? &l->rows[lo] : NULL;
}

/* ---- settling ---- */

static void emit(struct layer *out, uint64_t start, uint64_t end, uint64_t name)
{
	struct row *last = out->n ? &out->rows[out->n - 1] : NULL;
	if (last && last->name == name && last->end == start)
		last->end = end;
	else
		out->rows[out->n++] = (struct row){start, end, name};
}

/* A heap of rows by their names' places: the newest is on top. */
static void push(struct row *heap, size_t *n, const struct row *r)
{
	size_t at = (*n)++;
	for (; at && heap[(at - 1) / 2].name < r->name; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *r;
}

static void pop(struct row *heap, size_t *n)
{
	struct row last = heap[--*n];
	size_t at = 0, child;
	while ((child = 2 * at + 1) < *n) {
		if (child + 1 < *n && heap[child + 1].name > heap[child].name)
			child++;
		if (heap[child].name < last.name)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
}

/* Cuts sorted rows so that each address is the newest's. `out` has room for twice as many. */
static void cut(const struct layer *in, struct row *heap, struct layer *out)
{
	size_t next = 0, n = 0;
	uint64_t at = 0;
	while (next < in->n || n) {
		if (!n)
			at = in->rows[next].start;
		while (next < in->n && in->rows[next].start <= at)
			push(heap, &n, &in->rows[next++]);
		while (n && heap[0].end <= at)
			pop(heap, &n);
		if (!n)
			continue;
		uint64_t end = heap[0].end;
		if (next < in->n && in->rows[next].start < end)
			end = in->rows[next].start;
		emit(out, at, end, heap[0].name);
		at = end;
	}
}

/* What is below, where nothing is above. `out` has room for twice the upper and the lower. */
static void overlay(const struct layer *upper, const struct layer *lower, struct layer *out)
{
	size_t next = 0;
	uint64_t from = 0; /* below that the lower ones are done with */
	for (size_t i = 0; i <= upper->n; i++) {
		uint64_t to = i < upper->n ? upper->rows[i].start : UINT64_MAX;
		while (next < lower->n && lower->rows[next].start < to) {
			const struct row *r = &lower->rows[next];
			uint64_t start = r->start > from ? r->start : from;
			uint64_t end = r->end < to ? r->end : to;
			if (start < end)
				emit(out, start, end, r->name);
			if (r->end > to)
				break;
			next++;
		}
		if (i == upper->n)
			break;
		emit(out, upper->rows[i].start, upper->rows[i].end, upper->rows[i].name);
		from = upper->rows[i].end;
	}
}

/* `upper` goes into `lower`, and is empty then. */
static int fold(struct layer *upper, struct layer *lower)
{
	size_t room = 2 * upper->n + lower->n;
	if (!upper->n)
		return 0;
	struct layer out = {.rows = calloc(room, sizeof(*out.rows)), .cap = room};
	if (!out.rows)
		return -ENOMEM;
	overlay(upper, lower, &out);
	struct row *fitting = realloc(out.rows, out.n * sizeof(*out.rows));
	if (fitting) {
		out.rows = fitting;
		out.cap = out.n;
	}
	free_layer(lower);
	*lower = out;
	upper->n = 0;
	return 0;
}

static void check_told(struct cam_jitcode *c, const struct layer *new)
{
	for (size_t i = 0; i < c->told_slots; i++) {
		const struct told *t = &c->told[i];
		const struct row *r = t->hash ? find_row(new, t->address) : NULL;
		if (r && name_hash(c, r) != t->hash) {
			begin_turn(c);
			return;
		}
	}
}

/* From `fresh` to pieces. */
static int cut_fresh(struct cam_jitcode *c, struct layer *out)
{
	int err = cam_sort_by_key(c->fresh.rows, c->fresh.n, sizeof(*c->fresh.rows));
	struct row *heap = err ? NULL : malloc(c->fresh.n * sizeof(*heap));
	if (!err)
		err = heap ? reserve(out, 2 * c->fresh.n) : -ENOMEM;
	if (!err)
		cut(&c->fresh, heap, out);
	free(heap);
	return err;
}

/* ---- the bounds ---- */

static void count_rows(struct cam_jitcode *c)
{
	for (size_t at = 0; at < c->used; at += name_bytes(name_at(c, at)->n))
		name_at(c, at)->rows = 0;
	for (size_t i = 0; i < c->old.n; i++)
		name_at(c, c->old.rows[i].name)->rows++;
}

/* Decides where each name goes; the oldest go nowhere until all is within 7/8 of the bounds. */
static void place_names(struct cam_jitcode *c)
{
	size_t bytes = 0, rows = c->old.n, to = 0;
	for (size_t at = 0; at < c->used; at += name_bytes(name_at(c, at)->n))
		bytes += name_at(c, at)->rows ? name_bytes(name_at(c, at)->n) : 0;
	for (size_t at = 0; at < c->used; at += name_bytes(name_at(c, at)->n)) {
		struct name *n = name_at(c, at);
		bool goes = bytes > CAM_JITCODE_MAX_NAMES / 8 * 7 ||
			    rows > CAM_JITCODE_MAX_ROWS / 8 * 7;
		if (n->rows && goes) {
			rows -= n->rows;
			bytes -= name_bytes(n->n);
		}
		if (!n->rows || goes) {
			n->rows = DROPPED;
		} else {
			n->rows = (uint32_t)to;
			to += name_bytes(n->n);
		}
	}
}

static void move_rows(struct cam_jitcode *c)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->old.n; i++) {
		uint32_t to = name_at(c, c->old.rows[i].name)->rows;
		if (to == DROPPED)
			continue;
		c->old.rows[kept] = c->old.rows[i];
		c->old.rows[kept++].name = to;
	}
	c->old.n = kept;
}

static void move_names(struct cam_jitcode *c)
{
	size_t next, end = 0;
	for (size_t at = 0; at < c->used; at = next) {
		const struct name *n = name_at(c, at);
		size_t bytes = name_bytes(n->n), to = n->rows;
		next = at + bytes;
		if (to == DROPPED)
			continue;
		memmove(c->log + to, n, bytes);
		end = to + bytes;
	}
	c->used = end;
}

/* All is in `old`. */
static void squeeze(struct cam_jitcode *c)
{
	count_rows(c);
	place_names(c);
	move_rows(c);
	move_names(c);
}

int cam_jitcode_settle(struct cam_jitcode *c)
{
	struct layer pieces = {0};
	if (c->n_told > MAX_TOLD / 2)
		begin_turn(c);
	if (!c->fresh.n)
		return 0;
	int err = cut_fresh(c, &pieces);
	free_layer(&c->fresh);
	if (!err) {
		check_told(c, &pieces);
		err = fold(&pieces, &c->young);
	}
	if (!err && c->young.n > MIN_FOLD && c->young.n > c->old.n / 8)
		err = fold(&c->young, &c->old);
	free_layer(&pieces);
	if (!err && c->old.n > CAM_JITCODE_MAX_ROWS) {
		err = fold(&c->young, &c->old);
		if (!err)
			squeeze(c);
	}
	return err;
}

/* ---- adding, finding ---- */

static int make_room(struct cam_jitcode *c, size_t bytes)
{
	int err = 0;
	if (bytes > CAM_JITCODE_MAX_NAMES - c->used) {
		err = cam_jitcode_settle(c);
		if (!err)
			err = fold(&c->young, &c->old);
		if (!err)
			squeeze(c);
	}
	void **log = (void **)&c->log;
	if (!err)
		err = cam_vec_reserve(log, &c->log_cap, c->used + bytes, 1, CAM_JITCODE_MAX_NAMES);
	return err;
}

int cam_jitcode_add(struct cam_jitcode *c, uint64_t start, uint64_t bytes, struct cam_text name)
{
	if (!bytes || bytes > CAM_JITCODE_MAX_BYTES || start > UINT64_MAX - bytes || !name.n)
		return -EINVAL;
	if (name.n > CAM_JITCODE_MAX_NAME)
		name.n = CAM_JITCODE_MAX_NAME;
	int err = c->fresh.n >= MAX_FRESH ? cam_jitcode_settle(c) : 0;
	if (!err)
		err = make_room(c, name_bytes(name.n));
	if (!err)
		err = reserve(&c->fresh, c->fresh.n + 1);
	if (err)
		return err;
	struct name *n = name_at(c, c->used);
	*n = (struct name){.start = start, .n = (uint32_t)name.n};
	memcpy(n + 1, name.p, name.n);
	c->fresh.rows[c->fresh.n++] = (struct row){start, start + bytes, c->used};
	c->used += name_bytes(name.n);
	return 0;
}

static const struct row *find(const struct cam_jitcode *c, uint64_t address)
{
	const struct row *r = find_row(&c->young, address);
	return r ? r : find_row(&c->old, address);
}

bool cam_jitcode_find(const struct cam_jitcode *c, uint64_t address, struct cam_jitcode_hit *hit)
{
	const struct row *r = find(c, address);
	if (!r)
		return false;
	const struct name *n = name_at(c, r->name);
	*hit = (struct cam_jitcode_hit){n->start, {(const char *)(n + 1), n->n}};
	return true;
}

static struct told *told_slot(struct told *told, size_t slots, uint64_t address)
{
	size_t i = cam_hash_u64(address, 0) >> 32;
	while (told[i & (slots - 1)].hash && told[i & (slots - 1)].address != address)
		i++;
	return &told[i & (slots - 1)];
}

static bool remember(struct cam_jitcode *c, uint64_t address, uint64_t hash)
{
	if (c->n_told >= c->told_slots - c->told_slots / 4) {
		size_t slots = c->told_slots ? 2 * c->told_slots : FIRST_TOLD;
		struct told *told = slots <= MAX_TOLD ? calloc(slots, sizeof(*told)) : NULL;
		if (!told)
			return false;
		for (size_t i = 0; i < c->told_slots; i++) {
			if (c->told[i].hash)
				*told_slot(told, slots, c->told[i].address) = c->told[i];
		}
		free(c->told);
		c->told = told;
		c->told_slots = slots;
	}
	struct told *t = told_slot(c->told, c->told_slots, address);
	c->n_told += !t->hash;
	*t = (struct told){address, hash};
	return true;
}

bool cam_jitcode_tell(struct cam_jitcode *c, uint64_t address, struct cam_jitcode_hit *hit)
{
	/* What cannot be remembered is not told. */
	return cam_jitcode_find(c, address, hit) &&
	       remember(c, address, name_hash(c, find(c, address)));
}

uint64_t cam_jitcode_turn(const struct cam_jitcode *c)
{
	return c->turn;
}

size_t cam_jitcode_rows(const struct cam_jitcode *c)
{
	return c->young.n + c->old.n;
}

size_t cam_jitcode_memory(const struct cam_jitcode *c)
{
	return sizeof(*c) + c->log_cap + c->told_slots * sizeof(*c->told) +
	       (c->fresh.cap + c->young.cap + c->old.cap) * sizeof(struct row);
}
