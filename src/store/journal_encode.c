// SPDX-License-Identifier: Apache-2.0
/*
 * Encoding: each data block holds samples and the definitions of what they use that this *epoch*
 * has not defined yet. Ids in blocks are local to the epoch: a table's rows are numbered in the
 * order in which the epoch defines them, so they are small, and a block that cannot be read costs
 * names and stacks only up to the next epoch.
 *
 * Invariants
 *  1. mark[row] >= base, if and only if this epoch has defined the row; its local id is then
 *     mark[row] - base. Marks only grow, so a new epoch is base = next.
 *  2. Local id 0 is the row 0 of strings, modules and places, never written; else unused.
 *  3. New rows are referred to by code 0, "the next new one", others by local id + 1. New rows of a
 *     table are numbered in the order in which the tables before them mention them, so that a
 *     reader who decodes in the order of the columns counts along.
 *  4. The item of a new place that last followed the same item above it in this epoch is code 1:
 *     callers mostly call what they called before.
 *
 * Example: two samples of the stacks a;b and a;c in a fresh epoch. Places: chain (parent 0, length 2,
 * items 0 0), chain (parent 1, length 1, item 0). The samples' place column is 0 0: each the leaf
 * of the next chain. A third sample of a;b in a later block: 3, the local id 2 + 1.
 */
#include "store/journal_encode.h"

#include "base/vec.h"
#include "store/journal_counter.h"

#define MAX_MARK 0xc0000000u

void cam_journal_encode_init(struct cam_journal_encode *en)
{
	*en = (struct cam_journal_encode){0};
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		en->columns[i] = CAM_BUF(CAM_JOURNAL_MAX_BYTES);
	en->counters = CAM_BUF(CAM_JOURNAL_MAX_BYTES);
	en->inlined = CAM_BUF(CAM_JOURNAL_MAX_BYTES);
	en->lines = CAM_BUF(CAM_JOURNAL_MAX_BYTES);
	for (size_t i = 0; i < CAM_JT_MAX; i++)
		en->tables[i].base = en->tables[i].next = 1;
}

void cam_journal_encode_free(struct cam_journal_encode *en)
{
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		free(en->tables[i].mark);
		free(en->tables[i].rows);
	}
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		cam_buf_free(&en->columns[i]);
	cam_buf_free(&en->counters);
	cam_buf_free(&en->inlined);
	cam_buf_free(&en->lines);
	free(en->function_base);
	free(en->successor);
}

static int reserve_marks(struct cam_journal_encode *en, const struct cam_tables *t)
{
	const size_t need[CAM_JT_MAX] = {
		t->strings.n, t->n_modules, t->n_functions, t->n_locations,
		t->places.n,  t->n_tasks,   t->n_etypes,
	};
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		struct cam_journal_marks *tab = &en->tables[i];
		size_t had = tab->cap;
		int err = cam_vec_reserve(&tab->mark, &tab->cap, need[i], sizeof(*tab->mark),
					  CAM_MAX_ROWS);
		if (err)
			return err;
		if (tab->cap > had)
			memset(tab->mark + had, 0, (tab->cap - had) * sizeof(*tab->mark));
	}
	size_t had = en->successor_cap;
	int err = cam_vec_reserve(&en->successor, &en->successor_cap, t->n_locations,
				  sizeof(*en->successor), CAM_MAX_ROWS);
	if (!err && en->successor_cap > had)
		memset(en->successor + had, 0, (en->successor_cap - had) * sizeof(*en->successor));
	if (!err)
		err = cam_vec_reserve(&en->function_base, &en->function_base_cap, t->n_functions,
				      sizeof(*en->function_base), CAM_MAX_ROWS);
	return err;
}

static void start_block(struct cam_journal_encode *en, bool new_epoch)
{
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		struct cam_journal_marks *tab = &en->tables[i];
		if (new_epoch) {
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
		cam_buf_clear(&en->columns[i]);
	cam_buf_clear(&en->counters);
	cam_buf_clear(&en->inlined);
	cam_buf_clear(&en->lines);
	en->n_inlined = en->n_lines = 0;
	memset(en->last_address, 0, sizeof(en->last_address));
	memset(en->last_kind, 0, sizeof(en->last_kind));
	en->flags = 0;
	en->n_chains = 0;
	en->error = 0;
}

static inline bool is_defined(const struct cam_journal_marks *tab, uint32_t row)
{
	return tab->mark[row] >= tab->base;
}

static void define(struct cam_journal_encode *en, struct cam_journal_marks *tab, uint32_t row)
{
	int err = cam_vec_reserve(&tab->rows, &tab->rows_cap, tab->n + 1, sizeof(*tab->rows),
				  CAM_MAX_ROWS);
	if (err) {
		en->error = err;
		return;
	}
	tab->mark[row] = tab->next++;
	tab->rows[tab->n++] = row;
}

/* 0: a new row, defined by this; else its local id + 1. */
static inline uint32_t refer(struct cam_journal_encode *en, enum cam_journal_table which,
			     uint32_t row)
{
	struct cam_journal_marks *tab = &en->tables[which];
	if (is_defined(tab, row))
		return tab->mark[row] - tab->base + 1;
	define(en, tab, row);
	return 0;
}

static inline void put(struct cam_journal_encode *en, enum cam_journal_column column, uint64_t v)
{
	cam_buf_put_varint(&en->columns[column], v);
}

static void put_ref(struct cam_journal_encode *en, enum cam_journal_column column,
		    enum cam_journal_table which, uint32_t row)
{
	put(en, column, refer(en, which, row));
}

/* 0: the next new location; 1: the one that last followed `above`; else local id + 2. */
static void put_item(struct cam_journal_encode *en, uint32_t above, uint32_t item)
{
	struct cam_journal_marks *locations = &en->tables[CAM_JT_LOCATION];
	uint32_t *before = above == CAM_NONE ? &en->root_successor : &en->successor[above];
	if (!is_defined(locations, item)) {
		define(en, locations, item);
		put(en, CAM_JC_CHAIN_ITEM, 0);
	} else if (*before == locations->mark[item]) {
		put(en, CAM_JC_CHAIN_ITEM, 1);
	} else {
		put(en, CAM_JC_CHAIN_ITEM, locations->mark[item] - locations->base + 2);
	}
	*before = locations->mark[item];
}

/* The part of a place's path that the epoch does not know, as a chain below what it knows. */
static void put_chain(struct cam_journal_encode *en, const struct cam_tables *t, uint32_t place)
{
	struct cam_journal_marks *places = &en->tables[CAM_JT_PLACE];
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	for (; !is_defined(places, place); place = t->places.parent[place]) {
		if (n == CAM_MAX_STACK_FRAMES) {
			en->error = -EINVAL;
			return;
		}
		path[n++] = place;
	}
	put(en, CAM_JC_CHAIN_PARENT, places->mark[place] - places->base);
	put(en, CAM_JC_CHAIN_LENGTH, n);
	en->n_chains++;
	uint32_t above = t->places.item[place];
	while (n--) {
		uint32_t item = t->places.item[path[n]];
		put_item(en, above, item);
		define(en, places, path[n]);
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
static void put_times(struct cam_journal_encode *en, const struct cam_block *b)
{
	if (!b->n_samples)
		return;
	uint64_t unit = time_unit(b), step = time_step(b, unit);
	uint64_t first = b->samples[0].time_ns / unit;
	uint64_t last[CAM_JOURNAL_SLOTS];
	for (size_t i = 0; i < CAM_JOURNAL_SLOTS; i++)
		last[i] = first - step;
	put(en, CAM_JC_TIME, unit);
	put(en, CAM_JC_TIME, step);
	put(en, CAM_JC_TIME, first);
	for (size_t i = 0; i < b->n_samples; i++) {
		uint64_t t = unit == 1 ? b->samples[i].time_ns : b->samples[i].time_ns / unit;
		uint64_t *before = &last[b->samples[i].cpu % CAM_JOURNAL_SLOTS];
		put(en, CAM_JC_TIME, cam_zigzag((int64_t)(t - *before - step)));
		*before = t;
	}
}

static void note_constants(struct cam_journal_encode *en, const struct cam_block *b)
{
	const struct cam_sample *s = b->samples;
	en->flags = CAM_JF_ALL;
	for (size_t i = 1; i < b->n_samples && en->flags; i++) {
		if (s[i].cpu != s[0].cpu)
			en->flags &= (uint8_t)~CAM_JF_ONE_CPU;
		if (s[i].etype.v != s[0].etype.v)
			en->flags &= (uint8_t)~CAM_JF_ONE_ETYPE;
		if (s[i].weight != s[0].weight)
			en->flags &= (uint8_t)~CAM_JF_ONE_WEIGHT;
		if (s[i].detail.v != s[0].detail.v)
			en->flags &= (uint8_t)~CAM_JF_ONE_DETAIL;
	}
}

/* How many values a column has that may hold one for all. */
static size_t column_rows(const struct cam_journal_encode *en, const struct cam_block *b,
			  uint8_t one)
{
	return en->flags & one && b->n_samples ? 1 : b->n_samples;
}

static int put_samples(struct cam_journal_encode *en, const struct cam_tables *t,
		       const struct cam_block *b)
{
	struct cam_journal_marks *tasks = &en->tables[CAM_JT_TASK],
				 *places = &en->tables[CAM_JT_PLACE];
	note_constants(en, b);
	put_times(en, b);
	for (size_t i = 0; i < b->n_samples; i++) {
		const struct cam_sample *s = &b->samples[i];
		if (!sample_is_good(t, s))
			return -EINVAL;
		/* Tasks by distance from the newest: those that run now were seen just now. */
		put(en, CAM_JC_TASK,
		    is_defined(tasks, s->task.v) ? tasks->next - tasks->mark[s->task.v] : 0);
		if (!is_defined(tasks, s->task.v))
			define(en, tasks, s->task.v);
		if (is_defined(places, s->place.v)) {
			put(en, CAM_JC_PLACE, places->mark[s->place.v] - places->base + 1);
		} else {
			put(en, CAM_JC_PLACE, 0);
			put_chain(en, t, s->place.v);
		}
	}
	for (size_t i = 0; i < column_rows(en, b, CAM_JF_ONE_CPU); i++)
		put(en, CAM_JC_CPU, (uint32_t)(b->samples[i].cpu + 1));
	for (size_t i = 0; i < column_rows(en, b, CAM_JF_ONE_ETYPE); i++)
		put_ref(en, CAM_JC_ETYPE, CAM_JT_ETYPE, b->samples[i].etype.v);
	uint64_t before = 1;
	for (size_t i = 0; i < column_rows(en, b, CAM_JF_ONE_WEIGHT); i++) {
		put(en, CAM_JC_WEIGHT, cam_zigzag((int64_t)(b->samples[i].weight - before)));
		before = b->samples[i].weight;
	}
	return 0;
}

static int add_named(struct cam_journal_encode *en, const struct cam_tables *t,
		     const struct cam_block *b)
{
	struct cam_journal_marks *locations = &en->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < b->n_named; i++) {
		uint32_t row = b->named[i].v;
		if (row >= t->n_locations)
			return -EINVAL;
		if (locations->mark[row] < locations->block_next)
			define(en, locations, row);
	}
	return 0;
}

static uint32_t slot_of(const struct cam_journal_encode *en, uint32_t module)
{
	const struct cam_journal_marks *modules = &en->tables[CAM_JT_MODULE];
	return (modules->mark[module] - modules->base) % CAM_JOURNAL_SLOTS;
}

/* Against the last address of the same module. */
static void put_address(struct cam_journal_encode *en, enum cam_journal_column column,
			uint32_t module, uint64_t address)
{
	uint64_t *last = &en->last_address[slot_of(en, module)];
	put(en, column, cam_zigzag((int64_t)(address - *last)));
	*last = address;
}

/* A function's base, were it named by this location. */
static uint64_t base_of(const struct cam_location *l)
{
	return l->func_offset == CAM_OFFSET_NONE ? l->address : l->address - l->func_offset;
}

static void put_functions(struct cam_journal_encode *en, const struct cam_tables *t)
{
	const struct cam_journal_marks *functions = &en->tables[CAM_JT_FUNCTION];
	for (size_t i = 0; i < functions->n; i++) {
		uint32_t row = functions->rows[i];
		const struct cam_function *f = &t->functions[row];
		uint64_t base = en->function_base[row];
		enum cam_journal_start start = f->start == 0	  ? CAM_JS_NONE
					       : f->start == base ? CAM_JS_BASE
								  : CAM_JS_OWN;
		put_ref(en, CAM_JC_FUNCTION_MODULE, CAM_JT_MODULE, f->module.v);
		uint8_t *kind = &en->last_kind[slot_of(en, f->module.v)];
		uint8_t packed = (uint8_t)(f->kind | f->source << 3);
		put(en, CAM_JC_FUNCTION_KIND, (unsigned)(packed ^ *kind) | (unsigned)start << 7);
		*kind = packed;
		put_address(en, CAM_JC_FUNCTION_BASE, f->module.v, base);
		if (start == CAM_JS_OWN)
			put(en, CAM_JC_FUNCTION_BASE, f->start);
	}
}

static void put_location(struct cam_journal_encode *en, const struct cam_tables *t,
			 const struct cam_location *l)
{
	bool named = l->func.v != CAM_NONE;
	unsigned flags = l->late ? CAM_JL_LATE : 0;
	uint64_t offset = l->func_offset == CAM_OFFSET_NONE ? 0 : l->func_offset;
	if (l->func_offset == CAM_OFFSET_NONE)
		flags |= CAM_JL_NO_OFFSET;
	if (!named || t->functions[l->func.v].module.v != l->module.v)
		flags |= CAM_JL_OWN_MODULE;
	if (!named || en->function_base[l->func.v] + offset != l->address)
		flags |= CAM_JL_OWN_ADDRESS;
	put(en, CAM_JC_LOCATION_FLAGS, flags);
	if (flags & CAM_JL_OWN_MODULE)
		put_ref(en, CAM_JC_LOCATION_MODULE, CAM_JT_MODULE, l->module.v);
	if (!named)
		put_address(en, CAM_JC_LOCATION_ADDRESS, l->module.v, l->address);
	else if (flags & CAM_JL_OWN_ADDRESS)
		put(en, CAM_JC_LOCATION_ADDRESS,
		    cam_zigzag((int64_t)(l->address - en->function_base[l->func.v] - offset)));
	if (!(flags & CAM_JL_NO_OFFSET))
		put(en, CAM_JC_LOCATION_OFFSET, offset);
}

/* 0: the next new function, 1: none, else local id + 2. */
static void put_location_functions(struct cam_journal_encode *en, const struct cam_tables *t)
{
	const struct cam_journal_marks *locations = &en->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < locations->n; i++) {
		const struct cam_location *l = &t->locations[locations->rows[i]];
		if (l->func.v == CAM_NONE) {
			put(en, CAM_JC_LOCATION_FUNCTION, 1);
			continue;
		}
		uint32_t code = refer(en, CAM_JT_FUNCTION, l->func.v);
		if (code == 0)
			en->function_base[l->func.v] = base_of(l);
		put(en, CAM_JC_LOCATION_FUNCTION, code ? code + 1 : 0);
	}
}

/* What is inlined at the locations that this block defines, outermost first. */
static int put_inlined(struct cam_journal_encode *en, const struct cam_tables *t)
{
	const struct cam_journal_marks *locations = &en->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < locations->n; i++) {
		const struct cam_location *l = &t->locations[locations->rows[i]];
		uint32_t chain[CAM_JOURNAL_MAX_INLINED];
		size_t n = 0;
		for (uint32_t node = l->inlined; node && n < CAM_JOURNAL_MAX_INLINED;
		     node = t->inlines.parent[node])
			chain[n++] = t->inlines.item[node];
		if (!n)
			continue;
		cam_buf_put_varint(&en->inlined, i);
		cam_buf_put_varint(&en->inlined, n);
		en->n_inlined++;
		while (n--) {
			uint32_t code = refer(en, CAM_JT_FUNCTION, chain[n]);
			if (code == 0)
				en->function_base[chain[n]] = base_of(l);
			cam_buf_put_varint(&en->inlined, code);
		}
	}
	return cam_buf_error(&en->inlined);
}

static void put_tasks(struct cam_journal_encode *en, const struct cam_tables *t)
{
	static const struct cam_task nobody = {0};
	const struct cam_journal_marks *tasks = &en->tables[CAM_JT_TASK];
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
		put(en, c, flags);
		put(en, c, cam_zigzag((int64_t)k->pid - before->pid));
		if (!(flags & CAM_JK_SAME_PID))
			put(en, c, cam_zigzag((int64_t)k->tid - k->pid));
		if (!(flags & CAM_JK_SAME_UID))
			put(en, c, k->uid);
		if (!(flags & CAM_JK_SAME_COMM))
			put_ref(en, c, CAM_JT_STRING, k->comm.v);
		if (!(flags & CAM_JK_SAME_EXE))
			put_ref(en, c, CAM_JT_STRING, k->exe.v);
		if (!(flags & CAM_JK_SAME_CGROUP))
			put_ref(en, c, CAM_JT_STRING, k->cgroup.v);
		if (!(flags & CAM_JK_NO_START))
			put(en, c, cam_zigzag((int64_t)(k->start_ns - before->start_ns)));
		before = k;
	}
}

/* All that mentions strings, in the order a reader comes to it. */
static void put_string_refs(struct cam_journal_encode *en, const struct cam_tables *t,
			    const struct cam_block *b)
{
	const struct cam_journal_marks *modules = &en->tables[CAM_JT_MODULE];
	const struct cam_journal_marks *functions = &en->tables[CAM_JT_FUNCTION];
	const struct cam_journal_marks *etypes = &en->tables[CAM_JT_ETYPE];
	for (size_t i = 0; i < modules->n; i++) {
		const struct cam_module *m = &t->modules[modules->rows[i]];
		put_ref(en, CAM_JC_MODULE, CAM_JT_STRING, m->path.v);
		put_ref(en, CAM_JC_MODULE, CAM_JT_STRING, m->key.v);
		put_ref(en, CAM_JC_MODULE, CAM_JT_STRING, m->build_id.v);
		put(en, CAM_JC_MODULE, m->kind);
	}
	for (size_t i = 0; i < functions->n; i++)
		put_ref(en, CAM_JC_FUNCTION_NAME, CAM_JT_STRING,
			t->functions[functions->rows[i]].name.v);
	put_tasks(en, t);
	for (size_t i = 0; i < etypes->n; i++) {
		const struct cam_etype *e = &t->etypes[etypes->rows[i]];
		put_ref(en, CAM_JC_ETYPE_DEFINITION, CAM_JT_STRING, e->name.v);
		put(en, CAM_JC_ETYPE_DEFINITION, e->period_ns);
		put(en, CAM_JC_ETYPE_DEFINITION, e->has_weight | e->flat << 1);
	}
	for (size_t i = 0; i < column_rows(en, b, CAM_JF_ONE_DETAIL); i++)
		put_ref(en, CAM_JC_DETAIL, CAM_JT_STRING, b->samples[i].detail.v);
}

static int put_events_and_facts(struct cam_journal_encode *en, const struct cam_tables *t,
				const struct cam_block *b)
{
	uint64_t before = 0;
	for (size_t i = 0; i < b->n_events; i++) {
		const struct cam_event *e = &b->events[i];
		if (e->source.v >= t->strings.n || e->text.v >= t->strings.n ||
		    e->severity >= CAM_SEVERITY_MAX)
			return -EINVAL;
		put(en, CAM_JC_EVENT, cam_zigzag((int64_t)(e->time_ns - before)));
		put(en, CAM_JC_EVENT, e->uncertainty_ns);
		put(en, CAM_JC_EVENT, e->severity);
		put_ref(en, CAM_JC_EVENT, CAM_JT_STRING, e->source.v);
		put_ref(en, CAM_JC_EVENT, CAM_JT_STRING, e->text.v);
		before = e->time_ns;
	}
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct cam_fact *f = &b->facts[i];
		if (f->key.v >= t->strings.n || f->value.v >= t->strings.n)
			return -EINVAL;
		put_ref(en, CAM_JC_FACT, CAM_JT_STRING, f->key.v);
		put_ref(en, CAM_JC_FACT, CAM_JT_STRING, f->value.v);
	}
	return 0;
}

static int put_anchors_and_ledger(struct cam_journal_encode *en, const struct cam_block *b)
{
	uint64_t before = 0;
	for (size_t i = 0; i < b->n_anchors; i++) {
		const struct cam_anchor *a = &b->anchors[i];
		put(en, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->time_ns - before)));
		before = a->time_ns;
		put(en, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->raw_ns - before)));
		put(en, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->boottime_ns - before)));
		put(en, CAM_JC_ANCHOR, cam_zigzag((int64_t)(a->sched_ns - before)));
		put(en, CAM_JC_ANCHOR, cam_zigzag(a->realtime_ns));
		put(en, CAM_JC_ANCHOR, a->uncertainty_ns);
	}
	before = 0;
	for (size_t i = 0; i < b->n_ledger; i++) {
		const struct cam_ledger_row *r = &b->ledger[i];
		if (r->cause >= CAM_CAUSE_MAX)
			return -EINVAL;
		put(en, CAM_JC_LEDGER, r->cause);
		put(en, CAM_JC_LEDGER, (uint32_t)(r->cpu + 1));
		put(en, CAM_JC_LEDGER, cam_zigzag((int64_t)(r->from_ns - before)));
		put(en, CAM_JC_LEDGER, cam_zigzag((int64_t)(r->to_ns - r->from_ns)));
		put(en, CAM_JC_LEDGER, r->samples);
		before = r->from_ns;
	}
	return 0;
}

static void put_strings(struct cam_journal_encode *en, const struct cam_tables *t)
{
	const struct cam_journal_marks *strings = &en->tables[CAM_JT_STRING];
	for (size_t i = 0; i < strings->n; i++) {
		struct cam_text s = cam_string(t, (struct cam_str_id){strings->rows[i]});
		put(en, CAM_JC_STRING_LENGTH, s.n);
		cam_buf_put(&en->columns[CAM_JC_STRING_BYTES], s.p, s.n);
	}
}

/* Source lines of the locations that this block defines; a path that is the one before's is not repeated. */
static int put_lines(struct cam_journal_encode *en, const struct cam_tables *t)
{
	const struct cam_journal_marks *locations = &en->tables[CAM_JT_LOCATION];
	uint32_t path = 0, line = 0;
	size_t next = 0;
	for (size_t i = 0; i < locations->n; i++) {
		const struct cam_location *l = &t->locations[locations->rows[i]];
		if (!l->line || !l->file.v)
			continue;
		bool same = l->file.v == path;
		cam_buf_put_varint(&en->lines, (i - next) << 1 | !same);
		if (!same) {
			struct cam_text text = cam_string(t, l->file);
			cam_buf_put_string(&en->lines, text.p, text.n);
		}
		cam_buf_put_zigzag(&en->lines, (int64_t)l->line - line);
		en->n_lines++;
		next = i + 1;
		path = l->file.v;
		line = l->line;
	}
	return cam_buf_error(&en->lines);
}

static int encode(struct cam_journal_encode *en, const struct cam_tables *t,
		  const struct cam_block *b)
{
	int err = put_samples(en, t, b);
	if (!err)
		err = add_named(en, t, b);
	if (err)
		return err;
	put_location_functions(en, t);
	err = put_inlined(en, t);
	if (!err)
		err = put_lines(en, t);
	if (err)
		return err;
	put_functions(en, t);
	const struct cam_journal_marks *locations = &en->tables[CAM_JT_LOCATION];
	for (size_t i = 0; i < locations->n; i++)
		put_location(en, t, &t->locations[locations->rows[i]]);
	put_string_refs(en, t, b);
	err = put_events_and_facts(en, t, b);
	if (!err)
		err = put_anchors_and_ledger(en, b);
	put_strings(en, t);
	if (!err && b->n_counters)
		err = cam_journal_put_counters(b->counters, b->n_counters, &en->counters);
	return err ? err : en->error;
}

static int assemble(struct cam_journal_encode *en, const struct cam_block *b,
		    const struct cam_journal_place *at, struct cam_buf *p)
{
	const size_t counts[CAM_JN_MAX] = {
		[CAM_JN_CHAIN] = en->n_chains,	[CAM_JN_SAMPLE] = b->n_samples,
		[CAM_JN_ANCHOR] = b->n_anchors, [CAM_JN_EVENT] = b->n_events,
		[CAM_JN_LEDGER] = b->n_ledger,	[CAM_JN_FACT] = b->n_facts,
	};
	cam_buf_put_varint(p, at->epoch);
	cam_buf_put_varint(p, at->samples_before);
	cam_buf_put_u8(p, en->flags);
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		cam_buf_put_varint(p, en->tables[i].block_next - en->tables[i].base);
		cam_buf_put_varint(p, en->tables[i].n);
	}
	for (size_t i = 0; i < CAM_JN_MAX; i++)
		cam_buf_put_varint(p, counts[i]);
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		cam_buf_put_varint(p, en->columns[i].len);
	for (size_t i = 0; i < CAM_JC_MAX; i++) {
		if (cam_buf_error(&en->columns[i]))
			return cam_buf_error(&en->columns[i]);
		cam_buf_put(p, en->columns[i].data, en->columns[i].len);
	}
	if (b->n_counters) {
		cam_buf_put_varint(p, CAM_JX_COUNTERS);
		cam_buf_put_varint(p, b->n_counters);
		cam_buf_put_string(p, en->counters.data, en->counters.len);
	}
	if (en->n_inlined) {
		cam_buf_put_varint(p, CAM_JX_INLINED);
		cam_buf_put_varint(p, en->n_inlined);
		cam_buf_put_string(p, en->inlined.data, en->inlined.len);
	}
	if (en->n_lines) {
		cam_buf_put_varint(p, CAM_JX_LINES);
		cam_buf_put_varint(p, en->n_lines);
		cam_buf_put_string(p, en->lines.data, en->lines.len);
	}
	return cam_buf_error(p);
}

int cam_journal_encode_block(struct cam_journal_encode *en, const struct cam_tables *t,
			     const struct cam_block *b, const struct cam_journal_place *at,
			     struct cam_buf *out)
{
	int err = reserve_marks(en, t);
	if (err)
		return err;
	start_block(en, at->starts_epoch);
	err = encode(en, t, b);
	return err ? err : assemble(en, b, at, out);
}
