// SPDX-License-Identifier: Apache-2.0
/*
 * The journal's writer: blocks of rows → bytes, one pwrite a block.
 *
 * What: each data block holds the samples of about a second and the definitions of what they use
 * that this *epoch* has not defined yet. Ids in blocks are local to the epoch: a table's rows are
 * numbered in the order in which the epoch defines them, so they are small, and a block that
 * cannot be read costs names and stacks only up to the next epoch.
 *
 * Why an epoch is not simply 10 s: a definition is paid for again in each epoch. Measured on a
 * fork-heavy 97 Hz recording (docs/journal-format.md), epochs of 10 s take 18 bytes a sample with
 * short stacks and 30 with complete ones; of 60 s, 13 and 19. So an epoch lasts at least 10 s of
 * samples, and goes on while it has cost more than EPOCH_BYTES a sample, to 60 s at most.
 *
 * Invariants
 *  1. mark[row] >= base, if and only if this epoch has defined the row; its local id is then
 *     mark[row] - base. Marks only grow, so a new epoch is base = next.
 *  2. Local id 0 is the row 0 of strings, modules and places, never written; else unused.
 *  3. New rows are referred to by code 0, "the next new one", others by local id + 1. New rows of a
 *     table are numbered in the order in which the tables before them mention them, so that a reader
 *     who decodes in the order of the columns counts along.
 *  4. A block that could not be written leaves no trace: the next one goes to the same place with
 *     the same sequence, and starts an epoch.
 *  5. The item of a new place that last followed the same item above it in this epoch is code 1:
 *     callers mostly call what they called before.
 *
 * Example: two samples of the stacks a;b and a;c in a fresh epoch. Places: chain (parent 0, length 2,
 * items 0 0), chain (parent 1, length 1, item 0). The samples' place column is 0 0: each the leaf of
 * the next chain. A third sample of a;b in a later block: 3, the local id 2 + 1.
 */
#include "base/buf.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/journal.h"
#include "store/journal_format.h"
#include "store/journal_scan.h"

#include <zstd.h>

#define LEVEL		 3
#define EPOCH_MIN_NS	 (10 * CAM_NS_PER_SEC)
#define EPOCH_MAX_NS	 (60 * CAM_NS_PER_SEC)
#define EPOCH_BYTES	 18u
#define EPOCH_MAX_BLOCKS 1024u
#define MAX_MARK	 0xc0000000u

struct table {
	uint32_t *mark;
	size_t cap;
	uint32_t base, next;
	uint32_t block_next; /* next, before this block */
	/* The rows this block defines, in order. */
	uint32_t *rows;
	size_t n, rows_cap;
};

struct cam_journal_writer {
	struct cam_file *file;
	ZSTD_CCtx *zstd; /* NULL: blocks stay plain */
	uint64_t bytes;
	uint32_t sequence, seed;
	uint64_t samples;

	struct table tables[CAM_JT_MAX];
	uint64_t *function_base;
	size_t function_base_cap;
	uint32_t *successor; /* by location: the mark of the one that last stood below it */
	size_t successor_cap;
	uint32_t root_successor;

	uint64_t epoch;
	bool epoch_starts; /* with the next block that gets written */
	uint64_t epoch_from_ns, epoch_to_ns;
	uint64_t epoch_bytes, epoch_samples;
	uint32_t epoch_blocks;

	struct cam_buf columns[CAM_JC_MAX];
	struct cam_buf plain, out;
	uint8_t flags;
	size_t n_chains;
	uint64_t last_address[CAM_JOURNAL_SLOTS];
	uint8_t last_kind[CAM_JOURNAL_SLOTS];
	int error; /* of this block */
};

int cam_journal_writer_new(struct cam_file *file, bool compress, struct cam_journal_writer **out)
{
	struct cam_journal_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	if (compress) {
		w->zstd = ZSTD_createCCtx();
		if (!w->zstd) {
			free(w);
			return -ENOMEM;
		}
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_contentSizeFlag, 0);
	}
	w->file = file;
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		w->columns[i] = CAM_BUF(CAM_JOURNAL_MAX_BYTES);
	w->plain = CAM_BUF(CAM_JOURNAL_MAX_BYTES + CAM_JOURNAL_HEAD);
	w->out = CAM_BUF(CAM_JOURNAL_MAX_BYTES + CAM_JOURNAL_HEAD);
	w->epoch_starts = true;
	for (size_t i = 0; i < CAM_JT_MAX; i++)
		w->tables[i].base = w->tables[i].next = 1;
	*out = w;
	return 0;
}

void cam_journal_writer_free(struct cam_journal_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCCtx(w->zstd);
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		free(w->tables[i].mark);
		free(w->tables[i].rows);
	}
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		cam_buf_free(&w->columns[i]);
	cam_buf_free(&w->plain);
	cam_buf_free(&w->out);
	free(w->function_base);
	free(w->successor);
	free(w);
}

uint64_t cam_journal_writer_bytes(const struct cam_journal_writer *w)
{
	return w->bytes;
}

/* Compresses `plain` into `out` where that pays; answers the payload's bytes, 0: it does not. */
static size_t compress(struct cam_journal_writer *w)
{
	size_t n = w->plain.len - CAM_JOURNAL_HEAD;
	if (!w->zstd || n < 64)
		return 0;
	cam_buf_clear(&w->out);
	uint8_t *to = cam_buf_reserve(&w->out, CAM_JOURNAL_HEAD + n);
	if (!to)
		return 0;
	/* Room for less than n: what does not shrink is an error, and stays plain. */
	size_t got = ZSTD_compress2(w->zstd, to + CAM_JOURNAL_HEAD, n - 1,
				    w->plain.data + CAM_JOURNAL_HEAD, n);
	if (ZSTD_isError(got) || n > CAM_JOURNAL_FREE_BYTES + CAM_JOURNAL_MAX_RATIO * got)
		return 0;
	return got;
}

/* Writes `plain` (room for the head, then the payload) as the next block. */
static int write_block(struct cam_journal_writer *w, enum cam_journal_type type)
{
	if (cam_buf_error(&w->plain))
		return cam_buf_error(&w->plain);
	if (w->sequence == UINT32_MAX)
		return -E2BIG;
	size_t small = type == CAM_JOURNAL_DATA ? compress(w) : 0;
	uint8_t *block = small ? w->out.data : w->plain.data;
	struct cam_journal_head head = {
		.plain_bytes = (uint32_t)(w->plain.len - CAM_JOURNAL_HEAD),
		.sequence = w->sequence,
		.type = (uint8_t)type,
		.flags = small ? CAM_JOURNAL_ZSTD : 0,
	};
	head.bytes = small ? (uint32_t)small : head.plain_bytes;
	uint32_t crc = cam_journal_put_head(block, &head, w->seed);
	size_t n = CAM_JOURNAL_HEAD + head.bytes;
	int err = w->file->ops->pwrite(w->file, block, n, w->bytes);
	if (err)
		return err;
	if (type == CAM_JOURNAL_HEADER)
		w->seed = crc;
	w->bytes += n;
	w->sequence++;
	return 0;
}

static void start_payload(struct cam_journal_writer *w)
{
	static const uint8_t head[CAM_JOURNAL_HEAD];
	cam_buf_clear(&w->plain);
	cam_buf_put(&w->plain, head, sizeof(head));
}

int cam_journal_writer_begin(struct cam_journal_writer *w, const struct cam_tables *t,
			     const struct cam_window_head *head)
{
	struct cam_buf *b = &w->plain;
	struct cam_text host = cam_string(t, head->host);
	if (w->bytes)
		return -EINVAL;
	start_payload(w);
	cam_buf_put_u32(b, 0); /* compatible features */
	cam_buf_put_u32(b, 0); /* compatible for reading */
	cam_buf_put_u32(b, CAM_JOURNAL_INCOMPAT);
	cam_buf_put_u8(b, (uint8_t)head->clock);
	cam_buf_put_u8(b, (uint8_t)(head->keep_places | head->imported << 1));
	cam_buf_put(b, head->boot_id.bytes, sizeof(head->boot_id.bytes));
	cam_buf_put_u64(b, head->start_ns);
	cam_buf_put_u64(b, head->time_unit_ns);
	cam_buf_put_u64(b, head->sequence);
	cam_buf_put_string(b, host.p, host.n);
	return write_block(w, CAM_JOURNAL_HEADER);
}

int cam_journal_writer_resume(struct cam_journal_writer *w)
{
	struct cam_journal_scan scan;
	int err = w->bytes ? -EINVAL : cam_journal_scan_open(&scan, w->file);
	if (err)
		return err;
	struct cam_journal_span span;
	while ((err = cam_journal_scan_next(&scan, &span)) > 0 && span.head.type != CAM_JOURNAL_END)
		;
	if (err > 0)
		err = -EINVAL;
	if (!err) {
		w->bytes = scan.good_end;
		w->sequence = scan.sequence + 1;
		w->seed = scan.seed;
		/* Above all epochs there may have been: each takes at least a block. */
		w->epoch = w->sequence;
	}
	cam_journal_scan_close(&scan);
	return err;
}

static int reserve_marks(struct cam_journal_writer *w, const struct cam_tables *t)
{
	const size_t need[CAM_JT_MAX] = {
		t->strings.n, t->n_modules, t->n_functions, t->n_locations,
		t->places.n,  t->n_tasks,   t->n_etypes,
	};
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		struct table *tab = &w->tables[i];
		size_t had = tab->cap;
		int err = cam_vec_reserve(&tab->mark, &tab->cap, need[i], sizeof(*tab->mark),
					  CAM_MAX_ROWS);
		if (err)
			return err;
		if (tab->cap > had)
			memset(tab->mark + had, 0, (tab->cap - had) * sizeof(*tab->mark));
	}
	size_t had = w->successor_cap;
	int err = cam_vec_reserve(&w->successor, &w->successor_cap, t->n_locations,
				  sizeof(*w->successor), CAM_MAX_ROWS);
	if (!err && w->successor_cap > had)
		memset(w->successor + had, 0, (w->successor_cap - had) * sizeof(*w->successor));
	if (!err)
		err = cam_vec_reserve(&w->function_base, &w->function_base_cap, t->n_functions,
				      sizeof(*w->function_base), CAM_MAX_ROWS);
	return err;
}

/* The times a block's samples span; false: none carries a time. */
static bool block_span(const struct cam_block *b, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = UINT64_MAX;
	*to_ns = 0;
	for (size_t i = 0; i < b->n_samples; i++) {
		uint64_t t = b->samples[i].time_ns;
		if (t == CAM_TIME_NONE)
			continue;
		if (t < *from_ns)
			*from_ns = t;
		if (t > *to_ns)
			*to_ns = t;
	}
	return *from_ns <= *to_ns;
}

static bool epoch_is_over(const struct cam_journal_writer *w, uint64_t from_ns, uint64_t to_ns)
{
	if (w->epoch_blocks >= EPOCH_MAX_BLOCKS)
		return true;
	if (w->epoch_from_ns > w->epoch_to_ns)
		return false; /* no time so far */
	uint64_t from = from_ns < w->epoch_from_ns ? from_ns : w->epoch_from_ns;
	uint64_t to = to_ns > w->epoch_to_ns ? to_ns : w->epoch_to_ns;
	if (to - from <= EPOCH_MIN_NS)
		return false;
	return to - from > EPOCH_MAX_NS || w->epoch_bytes <= w->epoch_samples * EPOCH_BYTES;
}

static void start_block(struct cam_journal_writer *w)
{
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		struct table *tab = &w->tables[i];
		if (w->epoch_starts) {
			if (tab->next > MAX_MARK) {
				if (tab->cap)
					memset(tab->mark, 0, tab->cap * sizeof(*tab->mark));
				tab->next = 1;
			}
			tab->base = tab->next++;
			if (i == CAM_JT_STRING || i == CAM_JT_MODULE || i == CAM_JT_PLACE)
				tab->mark[0] = tab->base;
		}
		tab->block_next = tab->next;
		tab->n = 0;
	}
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		cam_buf_clear(&w->columns[i]);
	memset(w->last_address, 0, sizeof(w->last_address));
	memset(w->last_kind, 0, sizeof(w->last_kind));
	w->flags = 0;
	w->n_chains = 0;
	w->error = 0;
}

static inline bool is_defined(const struct table *tab, uint32_t row)
{
	return tab->mark[row] >= tab->base;
}

static void define(struct cam_journal_writer *w, struct table *tab, uint32_t row)
{
	int err = cam_vec_reserve(&tab->rows, &tab->rows_cap, tab->n + 1, sizeof(*tab->rows),
				  CAM_MAX_ROWS);
	if (err) {
		w->error = err;
		return;
	}
	tab->mark[row] = tab->next++;
	tab->rows[tab->n++] = row;
}

/* 0: a new row, defined by this; else its local id + 1. */
static inline uint32_t refer(struct cam_journal_writer *w, enum cam_journal_table which,
			     uint32_t row)
{
	struct table *tab = &w->tables[which];
	if (is_defined(tab, row))
		return tab->mark[row] - tab->base + 1;
	define(w, tab, row);
	return 0;
}

static inline void put(struct cam_journal_writer *w, enum cam_journal_column column, uint64_t v)
{
	cam_buf_put_varint(&w->columns[column], v);
}

static void put_ref(struct cam_journal_writer *w, enum cam_journal_column column,
		    enum cam_journal_table which, uint32_t row)
{
	put(w, column, refer(w, which, row));
}

/* 0: the next new location; 1: the one that last followed `above`; else local id + 2. */
static void put_item(struct cam_journal_writer *w, uint32_t above, uint32_t item)
{
	struct table *locations = &w->tables[CAM_JT_LOCATION];
	uint32_t *before = above == CAM_NONE ? &w->root_successor : &w->successor[above];
	if (!is_defined(locations, item)) {
		define(w, locations, item);
		put(w, CAM_JC_CHAIN_ITEM, 0);
	} else if (*before == locations->mark[item]) {
		put(w, CAM_JC_CHAIN_ITEM, 1);
	} else {
		put(w, CAM_JC_CHAIN_ITEM, locations->mark[item] - locations->base + 2);
	}
	*before = locations->mark[item];
}

/* The part of a place's path that the epoch does not know, as a chain below what it knows. */
static void put_chain(struct cam_journal_writer *w, const struct cam_tables *t, uint32_t place)
{
	struct table *places = &w->tables[CAM_JT_PLACE];
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	for (; !is_defined(places, place); place = t->places.parent[place]) {
		if (n == CAM_MAX_STACK_FRAMES) {
			w->error = -EINVAL;
			return;
		}
		path[n++] = place;
	}
	put(w, CAM_JC_CHAIN_PARENT, places->mark[place] - places->base);
	put(w, CAM_JC_CHAIN_LENGTH, n);
	w->n_chains++;
	uint32_t above = t->places.item[place];
	while (n--) {
		uint32_t item = t->places.item[path[n]];
		put_item(w, above, item);
		define(w, places, path[n]);
		above = item;
	}
}

static bool sample_is_good(const struct cam_tables *t, const struct cam_sample *s)
{
	return s->place.v < t->places.n && s->task.v < t->n_tasks && s->etype.v < t->n_etypes &&
	       s->detail.v < t->strings.n;
}

/* The largest unit that all times of a block are multiples of. */
static uint64_t time_unit(const struct cam_block *b)
{
	uint64_t unit = 10000;
	for (size_t i = 0; i < b->n_samples; i++) {
		while (b->samples[i].time_ns % unit)
			unit = unit == 10000 ? 1000 : 1;
	}
	return unit;
}

/* The first distance of two samples on one CPU: on a busy one, the sampling period. */
static uint64_t time_step(const struct cam_block *b, uint64_t unit)
{
	uint64_t last[CAM_JOURNAL_SLOTS];
	bool seen[CAM_JOURNAL_SLOTS] = {false};
	for (size_t i = 0; i < b->n_samples; i++) {
		const struct cam_sample *s = &b->samples[i];
		uint32_t slot = s->cpu % CAM_JOURNAL_SLOTS;
		if (seen[slot])
			return (s->time_ns - last[slot]) / unit;
		seen[slot] = true;
		last[slot] = s->time_ns;
	}
	return 0;
}

/* Each time against the one before on its CPU, plus the step; arithmetic is modulo 2^64. */
static void put_times(struct cam_journal_writer *w, const struct cam_block *b)
{
	if (!b->n_samples)
		return;
	uint64_t unit = time_unit(b), step = time_step(b, unit);
	uint64_t first = b->samples[0].time_ns / unit;
	uint64_t last[CAM_JOURNAL_SLOTS];
	for (size_t i = 0; i < CAM_JOURNAL_SLOTS; i++)
		last[i] = first - step;
	put(w, CAM_JC_TIME, unit);
	put(w, CAM_JC_TIME, step);
	put(w, CAM_JC_TIME, first);
	for (size_t i = 0; i < b->n_samples; i++) {
		uint64_t t = unit == 1 ? b->samples[i].time_ns : b->samples[i].time_ns / unit;
		uint64_t *before = &last[b->samples[i].cpu % CAM_JOURNAL_SLOTS];
		put(w, CAM_JC_TIME, cam_zigzag((int64_t)(t - *before - step)));
		*before = t;
	}
}

static void note_constants(struct cam_journal_writer *w, const struct cam_block *b)
{
	const struct cam_sample *s = b->samples;
	w->flags = CAM_JF_ALL;
	for (size_t i = 1; i < b->n_samples && w->flags; i++) {
		if (s[i].cpu != s[0].cpu)
			w->flags &= (uint8_t)~CAM_JF_ONE_CPU;
		if (s[i].etype.v != s[0].etype.v)
			w->flags &= (uint8_t)~CAM_JF_ONE_ETYPE;
		if (s[i].weight != s[0].weight)
			w->flags &= (uint8_t)~CAM_JF_ONE_WEIGHT;
		if (s[i].detail.v != s[0].detail.v)
			w->flags &= (uint8_t)~CAM_JF_ONE_DETAIL;
	}
}

/* How many values a column has that may hold one for all. */
static size_t column_rows(const struct cam_journal_writer *w, const struct cam_block *b,
			  uint8_t one)
{
	return w->flags & one && b->n_samples ? 1 : b->n_samples;
}

static int put_samples(struct cam_journal_writer *w, const struct cam_tables *t,
		       const struct cam_block *b)
{
	struct table *tasks = &w->tables[CAM_JT_TASK], *places = &w->tables[CAM_JT_PLACE];
	note_constants(w, b);
	put_times(w, b);
	for (size_t i = 0; i < b->n_samples; i++) {
		const struct cam_sample *s = &b->samples[i];
		if (!sample_is_good(t, s))
			return -EINVAL;
		/* Tasks by distance from the newest: those that run now were seen just now. */
		put(w, CAM_JC_TASK,
		    is_defined(tasks, s->task.v) ? tasks->next - tasks->mark[s->task.v] : 0);
		if (!is_defined(tasks, s->task.v))
			define(w, tasks, s->task.v);
		if (is_defined(places, s->place.v)) {
			put(w, CAM_JC_PLACE, places->mark[s->place.v] - places->base + 1);
		} else {
			put(w, CAM_JC_PLACE, 0);
			put_chain(w, t, s->place.v);
		}
	}
	for (size_t i = 0; i < column_rows(w, b, CAM_JF_ONE_CPU); i++)
		put(w, CAM_JC_CPU, (uint32_t)(b->samples[i].cpu + 1));
	for (size_t i = 0; i < column_rows(w, b, CAM_JF_ONE_ETYPE); i++)
		put_ref(w, CAM_JC_ETYPE, CAM_JT_ETYPE, b->samples[i].etype.v);
	uint64_t before = 1;
	for (size_t i = 0; i < column_rows(w, b, CAM_JF_ONE_WEIGHT); i++) {
		put(w, CAM_JC_WEIGHT, cam_zigzag((int64_t)(b->samples[i].weight - before)));
		before = b->samples[i].weight;
	}
	return 0;
}

static int add_named(struct cam_journal_writer *w, const struct cam_tables *t,
		     const struct cam_block *b)
{
	struct table *locations = &w->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < b->n_named; i++) {
		uint32_t row = b->named[i].v;
		if (row >= t->n_locations)
			return -EINVAL;
		if (locations->mark[row] < locations->block_next)
			define(w, locations, row);
	}
	return 0;
}

static uint32_t slot_of(const struct cam_journal_writer *w, uint32_t module)
{
	const struct table *modules = &w->tables[CAM_JT_MODULE];
	return (modules->mark[module] - modules->base) % CAM_JOURNAL_SLOTS;
}

/* Against the last address of the same module. */
static void put_address(struct cam_journal_writer *w, enum cam_journal_column column,
			uint32_t module, uint64_t address)
{
	uint64_t *last = &w->last_address[slot_of(w, module)];
	put(w, column, cam_zigzag((int64_t)(address - *last)));
	*last = address;
}

/* A function's base, were it named by this location. */
static uint64_t base_of(const struct cam_location *l)
{
	return l->func_offset == CAM_OFFSET_NONE ? l->address : l->address - l->func_offset;
}

static void put_functions(struct cam_journal_writer *w, const struct cam_tables *t)
{
	const struct table *functions = &w->tables[CAM_JT_FUNCTION];
	for (size_t i = 0; i < functions->n; i++) {
		uint32_t row = functions->rows[i];
		const struct cam_function *f = &t->functions[row];
		uint64_t base = w->function_base[row];
		enum cam_journal_start start = f->start == 0	  ? CAM_JS_NONE
					       : f->start == base ? CAM_JS_BASE
								  : CAM_JS_OWN;
		put_ref(w, CAM_JC_FUNCTION_MODULE, CAM_JT_MODULE, f->module.v);
		uint8_t *kind = &w->last_kind[slot_of(w, f->module.v)];
		uint8_t packed = (uint8_t)(f->kind | f->source << 3);
		put(w, CAM_JC_FUNCTION_KIND, (unsigned)(packed ^ *kind) | (unsigned)start << 7);
		*kind = packed;
		put_address(w, CAM_JC_FUNCTION_BASE, f->module.v, base);
		if (start == CAM_JS_OWN)
			put(w, CAM_JC_FUNCTION_BASE, f->start);
	}
}

static void put_location(struct cam_journal_writer *w, const struct cam_tables *t,
			 const struct cam_location *l)
{
	bool named = l->func.v != CAM_NONE;
	unsigned flags = l->late ? CAM_JL_LATE : 0;
	uint64_t offset = l->func_offset == CAM_OFFSET_NONE ? 0 : l->func_offset;
	if (l->func_offset == CAM_OFFSET_NONE)
		flags |= CAM_JL_NO_OFFSET;
	if (!named || t->functions[l->func.v].module.v != l->module.v)
		flags |= CAM_JL_OWN_MODULE;
	if (!named || w->function_base[l->func.v] + offset != l->address)
		flags |= CAM_JL_OWN_ADDRESS;
	put(w, CAM_JC_LOCATION_FLAGS, flags);
	if (flags & CAM_JL_OWN_MODULE)
		put_ref(w, CAM_JC_LOCATION_MODULE, CAM_JT_MODULE, l->module.v);
	if (!named)
		put_address(w, CAM_JC_LOCATION_ADDRESS, l->module.v, l->address);
	else if (flags & CAM_JL_OWN_ADDRESS)
		put(w, CAM_JC_LOCATION_ADDRESS,
		    cam_zigzag((int64_t)(l->address - w->function_base[l->func.v] - offset)));
	if (!(flags & CAM_JL_NO_OFFSET))
		put(w, CAM_JC_LOCATION_OFFSET, offset);
}

/* 0: the next new function, 1: none, else local id + 2. */
static void put_location_functions(struct cam_journal_writer *w, const struct cam_tables *t)
{
	const struct table *locations = &w->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < locations->n; i++) {
		const struct cam_location *l = &t->locations[locations->rows[i]];
		if (l->func.v == CAM_NONE) {
			put(w, CAM_JC_LOCATION_FUNCTION, 1);
			continue;
		}
		uint32_t code = refer(w, CAM_JT_FUNCTION, l->func.v);
		if (code == 0)
			w->function_base[l->func.v] = base_of(l);
		put(w, CAM_JC_LOCATION_FUNCTION, code ? code + 1 : 0);
	}
}

static void put_tasks(struct cam_journal_writer *w, const struct cam_tables *t)
{
	static const struct cam_task nobody = {0};
	const struct table *tasks = &w->tables[CAM_JT_TASK];
	const struct cam_task *before = &nobody;
	const enum cam_journal_column c = CAM_JC_TASK_DEFINITION;
	for (size_t i = 0; i < tasks->n; i++) {
		const struct cam_task *k = &t->tasks[tasks->rows[i]];
		unsigned flags = (k->tid == k->pid ? CAM_JK_SAME_PID : 0) |
				 (k->uid == before->uid ? CAM_JK_SAME_UID : 0) |
				 (k->comm.v == before->comm.v ? CAM_JK_SAME_COMM : 0) |
				 (k->exe.v == before->exe.v ? CAM_JK_SAME_EXE : 0) |
				 (k->cgroup.v == before->cgroup.v ? CAM_JK_SAME_CGROUP : 0) |
				 (k->start_ns == 0 ? CAM_JK_NO_START : 0);
		put(w, c, flags);
		put(w, c, cam_zigzag((int64_t)k->pid - before->pid));
		if (!(flags & CAM_JK_SAME_PID))
			put(w, c, cam_zigzag((int64_t)k->tid - k->pid));
		if (!(flags & CAM_JK_SAME_UID))
			put(w, c, k->uid);
		if (!(flags & CAM_JK_SAME_COMM))
			put_ref(w, c, CAM_JT_STRING, k->comm.v);
		if (!(flags & CAM_JK_SAME_EXE))
			put_ref(w, c, CAM_JT_STRING, k->exe.v);
		if (!(flags & CAM_JK_SAME_CGROUP))
			put_ref(w, c, CAM_JT_STRING, k->cgroup.v);
		if (!(flags & CAM_JK_NO_START))
			put(w, c, cam_zigzag((int64_t)(k->start_ns - before->start_ns)));
		before = k;
	}
}

/* All that mentions strings, in the order a reader comes to it. */
static void put_string_refs(struct cam_journal_writer *w, const struct cam_tables *t,
			    const struct cam_block *b)
{
	const struct table *modules = &w->tables[CAM_JT_MODULE];
	const struct table *functions = &w->tables[CAM_JT_FUNCTION];
	const struct table *etypes = &w->tables[CAM_JT_ETYPE];
	for (size_t i = 0; i < modules->n; i++) {
		const struct cam_module *m = &t->modules[modules->rows[i]];
		put_ref(w, CAM_JC_MODULE, CAM_JT_STRING, m->path.v);
		put_ref(w, CAM_JC_MODULE, CAM_JT_STRING, m->key.v);
		put_ref(w, CAM_JC_MODULE, CAM_JT_STRING, m->build_id.v);
		put(w, CAM_JC_MODULE, m->kind);
	}
	for (size_t i = 0; i < functions->n; i++)
		put_ref(w, CAM_JC_FUNCTION_NAME, CAM_JT_STRING,
			t->functions[functions->rows[i]].name.v);
	put_tasks(w, t);
	for (size_t i = 0; i < etypes->n; i++) {
		const struct cam_etype *e = &t->etypes[etypes->rows[i]];
		put_ref(w, CAM_JC_ETYPE_DEFINITION, CAM_JT_STRING, e->name.v);
		put(w, CAM_JC_ETYPE_DEFINITION, e->period_ns);
		put(w, CAM_JC_ETYPE_DEFINITION, e->has_weight);
	}
	for (size_t i = 0; i < column_rows(w, b, CAM_JF_ONE_DETAIL); i++)
		put_ref(w, CAM_JC_DETAIL, CAM_JT_STRING, b->samples[i].detail.v);
}

static int put_events_and_facts(struct cam_journal_writer *w, const struct cam_tables *t,
				const struct cam_block *b)
{
	uint64_t before = 0;
	for (size_t i = 0; i < b->n_events; i++) {
		const struct cam_event *e = &b->events[i];
		if (e->source.v >= t->strings.n || e->text.v >= t->strings.n ||
		    e->severity >= CAM_SEVERITY_MAX)
			return -EINVAL;
		put(w, CAM_JC_EVENT, cam_zigzag((int64_t)(e->time_ns - before)));
		put(w, CAM_JC_EVENT, e->uncertainty_ns);
		put(w, CAM_JC_EVENT, e->severity);
		put_ref(w, CAM_JC_EVENT, CAM_JT_STRING, e->source.v);
		put_ref(w, CAM_JC_EVENT, CAM_JT_STRING, e->text.v);
		before = e->time_ns;
	}
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct cam_fact *f = &b->facts[i];
		if (f->key.v >= t->strings.n || f->value.v >= t->strings.n)
			return -EINVAL;
		put_ref(w, CAM_JC_FACT, CAM_JT_STRING, f->key.v);
		put_ref(w, CAM_JC_FACT, CAM_JT_STRING, f->value.v);
	}
	return 0;
}

static int put_anchors_and_ledger(struct cam_journal_writer *w, const struct cam_block *b)
{
	uint64_t before = 0;
	for (size_t i = 0; i < b->n_anchors; i++) {
		const struct cam_anchor *a = &b->anchors[i];
		put(w, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->time_ns - before)));
		before = a->time_ns;
		put(w, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->raw_ns - before)));
		put(w, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->boottime_ns - before)));
		put(w, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->sched_ns - before)));
		put(w, CAM_JC_ANCHOR, cam_zigzag(a->realtime_ns));
		put(w, CAM_JC_ANCHOR, a->uncertainty_ns);
	}
	before = 0;
	for (size_t i = 0; i < b->n_ledger; i++) {
		const struct cam_ledger_row *r = &b->ledger[i];
		if (r->cause >= CAM_CAUSE_MAX)
			return -EINVAL;
		put(w, CAM_JC_LEDGER, r->cause);
		put(w, CAM_JC_LEDGER, (uint32_t)(r->cpu + 1));
		put(w, CAM_JC_LEDGER, cam_zigzag((int64_t)(r->from_ns - before)));
		put(w, CAM_JC_LEDGER, cam_zigzag((int64_t)(r->to_ns - r->from_ns)));
		put(w, CAM_JC_LEDGER, r->samples);
		before = r->from_ns;
	}
	return 0;
}

static void put_strings(struct cam_journal_writer *w, const struct cam_tables *t)
{
	const struct table *strings = &w->tables[CAM_JT_STRING];
	for (size_t i = 0; i < strings->n; i++) {
		struct cam_text s = cam_string(t, (struct cam_str_id){strings->rows[i]});
		put(w, CAM_JC_STRING_LENGTH, s.n);
		cam_buf_put(&w->columns[CAM_JC_STRING_BYTES], s.p, s.n);
	}
}

static int encode(struct cam_journal_writer *w, const struct cam_tables *t,
		  const struct cam_block *b)
{
	int err = put_samples(w, t, b);
	if (!err)
		err = add_named(w, t, b);
	if (err)
		return err;
	put_location_functions(w, t);
	put_functions(w, t);
	const struct table *locations = &w->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < locations->n; i++)
		put_location(w, t, &t->locations[locations->rows[i]]);
	put_string_refs(w, t, b);
	err = put_events_and_facts(w, t, b);
	if (!err)
		err = put_anchors_and_ledger(w, b);
	put_strings(w, t);
	return err ? err : w->error;
}

static int assemble(struct cam_journal_writer *w, const struct cam_block *b)
{
	struct cam_buf *p = &w->plain;
	const size_t counts[CAM_JN_MAX] = {
		[CAM_JN_CHAIN] = w->n_chains,	[CAM_JN_SAMPLE] = b->n_samples,
		[CAM_JN_ANCHOR] = b->n_anchors, [CAM_JN_EVENT] = b->n_events,
		[CAM_JN_LEDGER] = b->n_ledger,	[CAM_JN_FACT] = b->n_facts,
	};
	start_payload(w);
	cam_buf_put_varint(p, w->epoch + w->epoch_starts);
	cam_buf_put_varint(p, w->samples);
	cam_buf_put_u8(p, w->flags);
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		cam_buf_put_varint(p, w->tables[i].block_next - w->tables[i].base);
		cam_buf_put_varint(p, w->tables[i].n);
	}
	for (size_t i = 0; i < CAM_JN_MAX; i++)
		cam_buf_put_varint(p, counts[i]);
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		cam_buf_put_varint(p, w->columns[i].len);
	for (size_t i = 0; i < CAM_JC_MAX; i++) {
		if (cam_buf_error(&w->columns[i]))
			return cam_buf_error(&w->columns[i]);
		cam_buf_put(p, w->columns[i].data, w->columns[i].len);
	}
	return 0;
}

int cam_journal_writer_append(struct cam_journal_writer *w, const struct cam_tables *t,
			      const struct cam_block *block)
{
	uint64_t from_ns, to_ns, at = w->bytes;
	if (!w->bytes)
		return -EINVAL;
	int err = reserve_marks(w, t);
	if (err)
		return err;
	bool timed = block_span(block, &from_ns, &to_ns);
	if (epoch_is_over(w, from_ns, to_ns))
		w->epoch_starts = true;
	start_block(w);
	err = encode(w, t, block);
	if (!err)
		err = assemble(w, block);
	if (!err)
		err = write_block(w, CAM_JOURNAL_DATA);
	if (err) {
		w->epoch_starts = true;
		return err;
	}
	if (w->epoch_starts) {
		w->epoch++;
		w->epoch_starts = false;
		w->epoch_bytes = w->epoch_samples = w->epoch_blocks = 0;
		w->epoch_from_ns = UINT64_MAX;
		w->epoch_to_ns = 0;
	}
	if (timed && from_ns < w->epoch_from_ns)
		w->epoch_from_ns = from_ns;
	if (timed && to_ns > w->epoch_to_ns)
		w->epoch_to_ns = to_ns;
	w->epoch_blocks++;
	w->epoch_bytes += w->bytes - at;
	w->epoch_samples += block->n_samples;
	w->samples += block->n_samples;
	return 0;
}

int cam_journal_writer_end(struct cam_journal_writer *w, uint64_t end_ns)
{
	if (!w->bytes)
		return -EINVAL;
	start_payload(w);
	cam_buf_put_u64(&w->plain, end_ns);
	cam_buf_put_u64(&w->plain, w->samples);
	return write_block(w, CAM_JOURNAL_END);
}
