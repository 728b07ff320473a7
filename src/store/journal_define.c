// SPDX-License-Identifier: Apache-2.0
/*
 * Decoding, the mirror of journal_write.c: the same tables in the same order, with the same
 * predictors; local ids become ids of the reader's own tables by interning what they define.
 *
 * Invariants
 *  1. Each loop reads at least a byte a turn: work is bounded by the payload's bytes.
 *  2. A local id below `next` that is in no run was defined by a block that is missing: CAM_NONE.
 *     Whatever builds on CAM_NONE is CAM_NONE; samples come out under [damaged]. A local id at or
 *     above `next` is malformed.
 *  3. Maps stay within three entries for each row of the own table (and some): a payload that
 *     defines the same row for ever is malformed.
 *  4. After an error of a block the maps are as they were before it.
 *  5. A successor (code 1 of items) is known if it was set since the last gap, and since the last item
 *     that follows one that was lost: what a missing block or such an item may have changed is not
 *     guessed at, it is CAM_NONE.
 *
 * Example: blocks 1 and 3 of an epoch, block 2 lost. Block 1 defined local places 1..10, block 3
 * says its first is 15: two runs, 1.. and 15..; 11 to 14 are CAM_NONE.
 */
#include "store/journal_define.h"

#include "base/vec.h"

#define MAP_SLACK 65536u

static void map_reset(struct cam_journal_map *m)
{
	m->n = 0;
	m->runs.next = 1;
	m->runs.n = 0;
}

void cam_journal_define_rewind(struct cam_journal_decode *d)
{
	d->epoch = 0;
	d->generation++;
	for (size_t i = 0; i < CAM_JT_MAX; i++)
		map_reset(&d->maps[i]);
}

/* Definitions go on at `local`: at once, or behind a hole. */
static int map_go_on(struct cam_journal_map *m, uint64_t local)
{
	if (local < m->runs.next || local > UINT32_MAX)
		return -EBADMSG;
	if (m->runs.n && local == m->runs.next)
		return 0;
	if (m->runs.n == CAM_JOURNAL_RUNS) {
		/* So many holes: the oldest run is given up, as if it had been lost. */
		memmove(m->runs.v, m->runs.v + 1, sizeof(m->runs.v) - sizeof(m->runs.v[0]));
		m->runs.n--;
	}
	m->runs.v[m->runs.n++] = (struct cam_journal_run){(uint32_t)local, m->n};
	m->runs.next = (uint32_t)local;
	return 0;
}

static int map_add(struct cam_journal_map *m, uint32_t own, size_t rows)
{
	if (m->n >= rows * 3 + MAP_SLACK || m->runs.next == UINT32_MAX)
		return -EBADMSG;
	int err = cam_vec_reserve(&m->ids, &m->cap, m->n + 1, sizeof(*m->ids), SIZE_MAX / 8);
	if (err)
		return err;
	m->ids[m->n++] = own;
	m->runs.next++;
	return 0;
}

/* Where in ids a local id is; SIZE_MAX: in a hole. */
static inline size_t map_find(const struct cam_journal_map *m, uint32_t local)
{
	size_t end = m->n;
	for (unsigned i = m->runs.n; i-- > 0;) {
		const struct cam_journal_run *r = &m->runs.v[i];
		if (local >= r->local)
			return local - r->local < end - r->first ? r->first + (local - r->local)
								 : SIZE_MAX;
		end = r->first;
	}
	return SIZE_MAX;
}

/* Local id 0 is row 0 where tables have one that means nothing. */
uint32_t cam_journal_define_own(struct cam_journal_decode *d, struct cam_rd *r,
				enum cam_journal_table which, uint64_t local)
{
	const struct cam_journal_map *m = &d->maps[which];
	if (local >= m->runs.next) {
		r->error = -EBADMSG;
		return CAM_NONE;
	}
	if (local == 0 &&
	    (which == CAM_JT_STRING || which == CAM_JT_MODULE || which == CAM_JT_PLACE))
		return 0;
	size_t found = map_find(m, (uint32_t)local);
	return found == SIZE_MAX ? CAM_NONE : m->ids[found];
}

uint32_t cam_journal_define_ref(struct cam_journal_decode *d, struct cam_journal_view *v,
				struct cam_rd *r, enum cam_journal_table which)
{
	uint64_t code = cam_rd_varint(r);
	if (r->error)
		return CAM_NONE;
	return cam_journal_define_own(d, r, which, code ? code - 1 : v->next[which]++);
}

static int lost_string(struct cam_journal_decode *d, uint32_t *own)
{
	struct cam_str_id id = {d->lost_string};
	int err = id.v == CAM_NONE ? cam_string_intern(d->t, CAM_TEXT("[damaged]"), &id) : 0;
	d->lost_string = *own = id.v;
	return err;
}

int cam_journal_define_string(struct cam_journal_decode *d, struct cam_journal_view *v,
			      struct cam_rd *r, struct cam_str_id *out)
{
	out->v = cam_journal_define_ref(d, v, r, CAM_JT_STRING);
	if (out->v == CAM_NONE && !r->error)
		return lost_string(d, &out->v);
	return r->error;
}

int cam_journal_define_lost_place(struct cam_journal_decode *d, uint32_t *own)
{
	struct cam_function f = {.kind = CAM_FUNC_MARK, .source = CAM_NAME_OWN};
	struct cam_location l = {.func_offset = CAM_OFFSET_NONE};
	struct cam_place_id place = {d->lost_place};
	struct cam_loc_id loc;
	int err = 0;
	if (place.v == CAM_NONE) {
		err = lost_string(d, &f.name.v);
		if (!err)
			err = cam_function_intern(d->t, &f, &l.func);
		if (!err)
			err = cam_location_intern(d->t, &l, &loc);
		if (!err)
			err = cam_place_intern(d->t, &loc, 1, &place);
	}
	if (!err)
		d->lost_place = *own = place.v;
	return err;
}

int cam_journal_define_lost_task(struct cam_journal_decode *d, uint32_t *own)
{
	struct cam_task k = {.pid = CAM_PID_NONE, .tid = CAM_PID_NONE, .uid = CAM_UID_NONE};
	struct cam_task_id id = {d->lost_task};
	int err = id.v == CAM_NONE ? lost_string(d, &k.comm.v) : 0;
	if (!err && id.v == CAM_NONE)
		err = cam_task_intern(d->t, &k, &id);
	if (!err)
		d->lost_task = *own = id.v;
	return err;
}

int cam_journal_define_lost_etype(struct cam_journal_decode *d, uint32_t *own)
{
	struct cam_etype e = {0};
	struct cam_etype_id id = {d->lost_etype};
	int err = id.v == CAM_NONE ? lost_string(d, &e.name.v) : 0;
	if (!err && id.v == CAM_NONE)
		err = cam_etype_intern(d->t, &e, &id);
	if (!err)
		d->lost_etype = *own = id.v;
	return err;
}

static int get_strings(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *lengths = &v->columns[CAM_JC_STRING_LENGTH];
	struct cam_rd *bytes = &v->columns[CAM_JC_STRING_BYTES];
	int err = 0;
	for (uint64_t i = 0; i < v->n[CAM_JT_STRING] && !err; i++) {
		uint64_t n = cam_rd_varint(lengths);
		struct cam_str_id own;
		if (lengths->error || n > cam_rd_left(bytes))
			return -EBADMSG;
		const char *p = (const char *)cam_rd_bytes(bytes, (size_t)n);
		err = cam_string_intern(d->t, (struct cam_text){p, (size_t)n}, &own);
		if (!err)
			err = map_add(&d->maps[CAM_JT_STRING], own.v, d->t->strings.n);
	}
	return err;
}

static int get_modules(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *r = &v->columns[CAM_JC_MODULE];
	int err = 0;
	for (uint64_t i = 0; i < v->n[CAM_JT_MODULE] && !err; i++) {
		struct cam_module m;
		struct cam_module_id own = {CAM_NONE};
		m.path.v = cam_journal_define_ref(d, v, r, CAM_JT_STRING);
		m.key.v = cam_journal_define_ref(d, v, r, CAM_JT_STRING);
		m.build_id.v = cam_journal_define_ref(d, v, r, CAM_JT_STRING);
		uint64_t kind = cam_rd_varint(r);
		if (r->error || kind >= CAM_MODULE_MAX)
			return -EBADMSG;
		m.kind = (enum cam_module_kind)kind;
		if (m.path.v != CAM_NONE && m.key.v != CAM_NONE && m.build_id.v != CAM_NONE)
			err = cam_module_intern(d->t, &m, &own);
		if (!err)
			err = map_add(&d->maps[CAM_JT_MODULE], own.v, d->t->n_modules);
	}
	return err;
}

/* What the next module code of a column refers to, and the slot for its addresses. */
static uint32_t module_ref(struct cam_journal_decode *d, struct cam_journal_view *v,
			   struct cam_rd *r, uint32_t *slot)
{
	uint64_t code = cam_rd_varint(r);
	uint64_t local = code ? code - 1 : v->next[CAM_JT_MODULE]++;
	*slot = (uint32_t)(local % CAM_JOURNAL_SLOTS);
	return r->error ? CAM_NONE : cam_journal_define_own(d, r, CAM_JT_MODULE, local);
}

/* A function's base goes with its local id: a block that is dropped takes it along. */
static int add_function(struct cam_journal_decode *d, uint32_t own, uint64_t base)
{
	struct cam_journal_map *m = &d->maps[CAM_JT_FUNCTION];
	int err = cam_vec_reserve(&d->function_base, &d->function_base_cap, m->n + 1,
				  sizeof(*d->function_base), SIZE_MAX / 8);
	if (!err)
		err = map_add(m, own, d->t->n_functions);
	if (!err)
		d->function_base[m->n - 1] = base;
	return err;
}

static int get_functions(struct cam_journal_decode *d, struct cam_journal_view *v, uint64_t *last)
{
	struct cam_rd *bases = &v->columns[CAM_JC_FUNCTION_BASE];
	struct cam_rd *kinds = &v->columns[CAM_JC_FUNCTION_KIND];
	struct cam_rd *modules = &v->columns[CAM_JC_FUNCTION_MODULE];
	struct cam_rd *names = &v->columns[CAM_JC_FUNCTION_NAME];
	uint8_t last_kind[CAM_JOURNAL_SLOTS] = {0};
	int err = 0;
	for (uint64_t i = 0; i < v->n[CAM_JT_FUNCTION] && !err; i++) {
		struct cam_function f = {0};
		struct cam_func_id own = {CAM_NONE};
		uint32_t slot;
		f.module.v = module_ref(d, v, modules, &slot);
		f.name.v = cam_journal_define_ref(d, v, names, CAM_JT_STRING);
		uint64_t packed = cam_rd_varint(kinds);
		uint64_t base = last[slot] = cam_journal_define_delta(bases, last[slot]);
		uint64_t start = packed >> 7;
		last_kind[slot] ^= packed & 127;
		unsigned kind = last_kind[slot] & 7, source = last_kind[slot] >> 3;
		if (start == CAM_JS_OWN)
			f.start = cam_rd_varint(bases);
		else if (start == CAM_JS_BASE)
			f.start = base;
		if (modules->error || names->error || kinds->error || bases->error ||
		    kind >= CAM_FUNC_KIND_MAX || source >= CAM_NAME_MAX || start >= CAM_JS_MAX)
			return -EBADMSG;
		f.kind = (enum cam_func_kind)kind;
		f.source = (enum cam_name_source)source;
		if (f.module.v != CAM_NONE && f.name.v != CAM_NONE)
			err = cam_function_intern(d->t, &f, &own);
		if (!err)
			err = add_function(d, own.v, base);
	}
	return err;
}

/* Whether the location has a function; which, CAM_NONE if that was lost; and its base. */
static bool location_function(struct cam_journal_decode *d, struct cam_journal_view *v,
			      struct cam_rd *r, uint32_t *own, uint64_t *base)
{
	uint64_t code = cam_rd_varint(r);
	*own = CAM_NONE;
	*base = 0;
	if (r->error || code == 1)
		return false;
	uint64_t local = code ? code - 2 : v->next[CAM_JT_FUNCTION]++;
	*own = cam_journal_define_own(d, r, CAM_JT_FUNCTION, local);
	if (*own != CAM_NONE)
		*base = d->function_base[map_find(&d->maps[CAM_JT_FUNCTION], (uint32_t)local)];
	return true;
}

/* One location; *known is false where a part of it was lost. */
static int get_location(struct cam_journal_decode *d, struct cam_journal_view *v, uint64_t *last,
			struct cam_location *l, bool *known)
{
	struct cam_rd *functions = &v->columns[CAM_JC_LOCATION_FUNCTION];
	struct cam_rd *flag_column = &v->columns[CAM_JC_LOCATION_FLAGS];
	struct cam_rd *modules = &v->columns[CAM_JC_LOCATION_MODULE];
	struct cam_rd *addresses = &v->columns[CAM_JC_LOCATION_ADDRESS];
	struct cam_rd *offsets = &v->columns[CAM_JC_LOCATION_OFFSET];
	const unsigned own = CAM_JL_OWN_MODULE | CAM_JL_OWN_ADDRESS;
	uint64_t base;
	bool named = location_function(d, v, functions, &l->func.v, &base);
	uint64_t flags = cam_rd_varint(flag_column);
	/* What has no function must say its module and address itself. */
	if (functions->error || flag_column->error || flags & ~(uint64_t)CAM_JL_ALL ||
	    (!named && (flags & own) != own))
		return -EBADMSG;
	uint32_t slot = 0;
	*known = !named || l->func.v != CAM_NONE;
	l->module.v = CAM_NONE;
	if (flags & CAM_JL_OWN_MODULE)
		l->module.v = module_ref(d, v, modules, &slot);
	else if (*known)
		l->module = d->t->functions[l->func.v].module;
	*known &= l->module.v != CAM_NONE;
	l->late = flags & CAM_JL_LATE;
	uint64_t offset = flags & CAM_JL_NO_OFFSET ? 0 : cam_rd_varint(offsets);
	l->func_offset = flags & CAM_JL_NO_OFFSET ? CAM_OFFSET_NONE : offset;
	uint64_t from = named ? base + offset : last[slot];
	l->address = flags & CAM_JL_OWN_ADDRESS ? cam_journal_define_delta(addresses, from) : from;
	if (!named)
		last[slot] = l->address;
	return modules->error || addresses->error || offsets->error ? -EBADMSG : 0;
}

static int intern_location(struct cam_journal_decode *d, const struct cam_location *l,
			   struct cam_loc_id *own)
{
	if (!l->late || l->func.v == CAM_NONE)
		return cam_location_intern(d->t, l, own);
	struct cam_location born = *l;
	born.func.v = CAM_NONE;
	born.func_offset = CAM_OFFSET_NONE;
	int err = cam_location_intern(d->t, &born, own);
	if (!err)
		cam_location_name(d->t, *own, l->func, l->func_offset);
	return err;
}

static int get_locations(struct cam_journal_decode *d, struct cam_journal_view *v, uint64_t *last)
{
	int err = 0;
	for (uint64_t i = 0; i < v->n[CAM_JT_LOCATION] && !err; i++) {
		struct cam_location l = {0};
		struct cam_loc_id own = {CAM_NONE};
		bool known;
		err = get_location(d, v, last, &l, &known);
		if (!err && known)
			err = intern_location(d, &l, &own);
		if (!err)
			err = map_add(&d->maps[CAM_JT_LOCATION], own.v, d->t->n_locations);
	}
	return err;
}

/* One location's chain, outermost first; *node is CAM_NONE where a part of it was lost. */
static int get_chain_of_inlined(struct cam_journal_decode *d, struct cam_journal_view *v,
				uint64_t n, uint32_t *node)
{
	int err = 0;
	*node = 0;
	for (; n && !err; n--) {
		uint32_t func = cam_journal_define_ref(d, v, &v->inlined, CAM_JT_FUNCTION);
		if (v->inlined.error)
			return -EBADMSG;
		if (func == CAM_NONE)
			*node = CAM_NONE;
		else if (*node != CAM_NONE)
			err = cam_tree_intern(d->t, &d->t->inlines, *node, func, node);
	}
	return err;
}

static int get_inlined(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *r = &v->inlined;
	int err = 0;
	for (uint64_t i = 0; i < v->n_inlined && !err; i++) {
		uint64_t at = cam_rd_varint(r), n = cam_rd_varint(r);
		uint32_t node;
		if (r->error || at >= v->n[CAM_JT_LOCATION] || n == 0 ||
		    n > CAM_JOURNAL_MAX_INLINED)
			return -EBADMSG;
		uint32_t own = cam_journal_define_own(d, r, CAM_JT_LOCATION,
						      v->base[CAM_JT_LOCATION] + at);
		err = get_chain_of_inlined(d, v, n, &node);
		if (err || own == CAM_NONE)
			continue;
		struct cam_journal_map *m = &d->maps[CAM_JT_LOCATION];
		if (node != CAM_NONE)
			cam_location_inline(d->t, (struct cam_loc_id){own}, node);
		else /* less than there was inlined is another stack */
			m->ids[map_find(m, (uint32_t)(v->base[CAM_JT_LOCATION] + at))] = CAM_NONE;
	}
	return err;
}

static int get_lines(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *r = &v->lines;
	struct cam_str_id path = {0};
	uint64_t at = 0, line = 0;
	int err = 0;
	for (uint64_t i = 0; i < v->n_lines && !err; i++) {
		uint64_t code = cam_rd_varint(r);
		at += code >> 1;
		if (code & 1) {
			size_t n;
			const char *text = (const char *)cam_rd_string(r, &n);
			if (!text)
				return -EBADMSG;
			err = cam_string_intern(d->t, (struct cam_text){text, n}, &path);
		}
		line = cam_journal_define_delta(r, line);
		if (r->error || at >= v->n[CAM_JT_LOCATION] || line == 0 || line > UINT32_MAX)
			return -EBADMSG;
		uint32_t own = cam_journal_define_own(d, r, CAM_JT_LOCATION,
						      v->base[CAM_JT_LOCATION] + at++);
		if (!err && own != CAM_NONE)
			cam_location_source(d->t, (struct cam_loc_id){own}, path, (uint32_t)line);
	}
	return err;
}

/* The next item of a chain, CAM_NONE: not known. `before`: of what stands above; NULL: lost. */
static int get_item(struct cam_journal_decode *d, struct cam_journal_view *v, uint32_t *item,
		    struct cam_journal_successor *before)
{
	struct cam_rd *r = &v->columns[CAM_JC_CHAIN_ITEM];
	uint64_t code = cam_rd_varint(r);
	if (r->error)
		return -EBADMSG;
	if (code == 1)
		*item = before && before->generation == d->generation ? before->own : CAM_NONE;
	else
		*item = cam_journal_define_own(d, r, CAM_JT_LOCATION,
					       code ? code - 2 : v->next[CAM_JT_LOCATION]++);
	if (before)
		*before = (struct cam_journal_successor){*item, d->generation};
	else
		d->generation++; /* whose successor it is was lost: it may be any's */
	return r->error;
}

/* The place below `parent`, checked for depth. */
static int get_place(struct cam_journal_decode *d, uint32_t parent, uint32_t item, uint32_t *own)
{
	struct cam_tables *t = d->t;
	if (d->depth[parent] >= CAM_MAX_STACK_FRAMES)
		return -EBADMSG;
	int err = cam_tree_intern(t, &t->places, parent, item, own);
	if (!err)
		err = cam_vec_reserve(&d->depth, &d->depth_cap, t->places.n, sizeof(*d->depth),
				      CAM_MAX_ROWS);
	if (!err)
		d->depth[*own] = (uint16_t)(d->depth[parent] + 1);
	return err;
}

static int reserve_chains(struct cam_journal_decode *d)
{
	size_t had = d->successors_cap;
	int err = cam_vec_reserve(&d->successors, &d->successors_cap, d->t->n_locations,
				  sizeof(*d->successors), CAM_MAX_ROWS);
	if (!err && d->successors_cap > had)
		memset(d->successors + had, 0, (d->successors_cap - had) * sizeof(*d->successors));
	if (!err)
		err = cam_vec_reserve(&d->depth, &d->depth_cap, 1, sizeof(*d->depth), CAM_MAX_ROWS);
	if (!err)
		d->depth[0] = 0;
	return err;
}

static int get_chains(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *parents = &v->columns[CAM_JC_CHAIN_PARENT];
	struct cam_rd *lengths = &v->columns[CAM_JC_CHAIN_LENGTH];
	struct cam_journal_map *places = &d->maps[CAM_JT_PLACE];
	uint64_t end = places->runs.next + v->n[CAM_JT_PLACE];
	int err = reserve_chains(d);
	if (err)
		return err;
	for (uint64_t i = 0; i < v->left[CAM_JN_CHAIN] && !err; i++) {
		uint64_t local = cam_rd_varint(parents), n = cam_rd_varint(lengths);
		uint32_t place = cam_journal_define_own(d, parents, CAM_JT_PLACE, local);
		if (parents->error || lengths->error || n == 0 || n > end - places->runs.next)
			return -EBADMSG;
		struct cam_journal_successor *before = NULL;
		if (place == 0)
			before = &d->root_successor;
		else if (place != CAM_NONE)
			before = &d->successors[d->t->places.item[place]];
		for (; n && !err; n--) {
			uint32_t item = CAM_NONE;
			err = get_item(d, v, &item, before);
			before = item == CAM_NONE ? NULL : &d->successors[item];
			if (!err && place != CAM_NONE && item != CAM_NONE)
				err = get_place(d, place, item, &place);
			else
				place = CAM_NONE;
			if (!err)
				err = map_add(places, place, d->t->places.n);
		}
	}
	return err ? err : places->runs.next == end ? 0 : -EBADMSG;
}

static bool fits_i32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static int get_task(struct cam_journal_decode *d, struct cam_journal_view *v, struct cam_task *k)
{
	struct cam_rd *r = &v->columns[CAM_JC_TASK_DEFINITION];
	uint64_t flags = cam_rd_varint(r);
	int64_t pid = (int64_t)cam_journal_define_delta(r, (uint64_t)(int64_t)k->pid), tid = pid;
	uint64_t uid = k->uid;
	int err = 0;
	if (!(flags & CAM_JK_SAME_PID))
		tid = (int64_t)cam_journal_define_delta(r, (uint64_t)pid);
	if (!(flags & CAM_JK_SAME_UID))
		uid = cam_rd_varint(r);
	if (!(flags & CAM_JK_SAME_COMM))
		err = cam_journal_define_string(d, v, r, &k->comm);
	if (!(flags & CAM_JK_SAME_EXE) && !err)
		err = cam_journal_define_string(d, v, r, &k->exe);
	if (!(flags & CAM_JK_SAME_CGROUP) && !err)
		err = cam_journal_define_string(d, v, r, &k->cgroup);
	k->start_ns = flags & CAM_JK_NO_START ? 0 : cam_journal_define_delta(r, k->start_ns);
	if (err || r->error || flags & ~(uint64_t)CAM_JK_ALL || !fits_i32(pid) || !fits_i32(tid) ||
	    uid > UINT32_MAX)
		return err ? err : -EBADMSG;
	k->pid = (int32_t)pid;
	k->tid = (int32_t)tid;
	k->uid = (uint32_t)uid;
	return 0;
}

static int get_tasks(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_task k = {0};
	int err = 0;
	for (uint64_t i = 0; i < v->n[CAM_JT_TASK] && !err; i++) {
		struct cam_task_id own;
		err = get_task(d, v, &k);
		if (!err)
			err = cam_task_intern(d->t, &k, &own);
		if (!err)
			err = map_add(&d->maps[CAM_JT_TASK], own.v, d->t->n_tasks);
	}
	return err;
}

static int get_etypes(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *r = &v->columns[CAM_JC_ETYPE_DEFINITION];
	int err = 0;
	for (uint64_t i = 0; i < v->n[CAM_JT_ETYPE] && !err; i++) {
		struct cam_etype e;
		struct cam_etype_id own;
		err = cam_journal_define_string(d, v, r, &e.name);
		e.period_ns = cam_rd_varint(r);
		uint64_t flags = cam_rd_varint(r);
		e.has_weight = flags & 1;
		e.flat = flags & 2;
		if (!err && (r->error || flags > 3))
			err = -EBADMSG;
		if (!err)
			err = cam_etype_intern(d->t, &e, &own);
		if (!err)
			err = map_add(&d->maps[CAM_JT_ETYPE], own.v, d->t->n_etypes);
	}
	return err;
}

static int take_all(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	uint64_t last[CAM_JOURNAL_SLOTS] = {0};
	int err = get_strings(d, v);
	if (!err)
		err = get_modules(d, v);
	if (!err)
		err = get_functions(d, v, last);
	if (!err)
		err = get_locations(d, v, last);
	if (!err)
		err = get_inlined(d, v);
	if (!err)
		err = get_lines(d, v);
	if (!err)
		err = get_chains(d, v);
	if (!err)
		err = get_tasks(d, v);
	if (!err)
		err = get_etypes(d, v);
	return err;
}

void cam_journal_define_save(struct cam_journal_decode *d)
{
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		struct cam_journal_map *m = &d->maps[i];
		m->saved_n = m->n;
		m->saved = m->runs;
	}
}

void cam_journal_define_drop(struct cam_journal_decode *d)
{
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		struct cam_journal_map *m = &d->maps[i];
		m->n = m->saved_n;
		m->runs = m->saved;
	}
}

int cam_journal_define_all(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	int err = 0;
	for (size_t i = 0; i < CAM_JT_MAX && !err; i++)
		err = map_go_on(&d->maps[i], v->base[i]);
	if (!err)
		err = take_all(d, v);
	if (err)
		cam_journal_define_drop(d);
	return err;
}
