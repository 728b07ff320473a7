// SPDX-License-Identifier: Apache-2.0
/*
 * Errands and tidings as packets (door G).
 *
 * A packet is a head, then the body of its type, little-endian, nothing after it:
 *
 *	head      u8 'E' or 'T', u8 type, u32 ticket, i32 pid, i32 tid, u32 file
 *	          'T' also i32 error; with an error there is no body
 *	mapping   u64 start, end, offset, inode, generation, u32 major, minor, text path
 *	name      u64 offset, start, u8 source, text name, module, file, u32 line, u8 number of inlined
 *	inlined   text name, file, u32 line
 *	text      u16 length, bytes
 *	map       u64 start, end, offset, u32 file
 *	rule      u8 cfa, rbp, i16 rbp offset, i32 cfa offset
 *	row       u32 offset, u16 rule
 *	segment   u64 address, offset, bytes
 *
 * Fixed widths, not varints: what arrives came from a process that parses hostile files, and with
 * fixed widths the number of elements is bounded by the bytes left before anything is written, so
 * that the scratch a packet can ask for is at most three times its own size.
 *
 * Invariants: 1. unpack reads nothing outside `from` and writes nothing outside `scratch` and *out,
 * whatever the bytes are. 2. What unpack accepts, pack packs into the same bytes: there is one form.
 * 3. pack refuses (-EINVAL) what unpack would refuse, so that a fault shows where it was made.
 *
 * Worked example: the thread 7 of process 5 is called "ab", asked with ticket 1:
 *	54 01  01000000 05000000 07000000 00000000  00000000  0200 6162
 *	'T' THREAD ticket pid      tid      file      error     comm
 */
#include "model/errand.h"

#include "base/buf.h"

#include <errno.h>

_Static_assert(sizeof(struct cam_mapping) <= 2 * CAM_ERRAND_MAPPING_BYTES, "scratch bound");
_Static_assert(sizeof(struct cam_name) * CAM_ERRAND_MAX_OFFSETS +
			       sizeof(struct cam_inlined) * CAM_ERRAND_MAX_INLINED <=
		       2 * CAM_ERRAND_MAX_BYTES,
	       "scratch bound");

enum { ERRAND = 'E', TIDINGS = 'T', MAX_ERRNO = 4095, MAP_BYTES = 28, SEGMENT_BYTES = 24 };

/* Memory of the caller, given out from its start. */
struct scratch {
	char *p;
	size_t left;
};

static void put_text(struct cam_buf *b, struct cam_text t, size_t max)
{
	if (t.n > max)
		t.n = max;
	cam_buf_put_u16(b, (uint16_t)t.n);
	cam_buf_put(b, t.p, t.n);
}

static struct cam_text get_text(struct cam_rd *r, size_t max)
{
	size_t n = cam_rd_u16(r);
	if (n > max)
		r->error = -EBADMSG;
	const char *p = (const char *)cam_rd_bytes(r, n);
	return (struct cam_text){p ? p : "", p ? n : 0};
}

static bool get_bool(struct cam_rd *r)
{
	uint8_t v = cam_rd_u8(r);
	if (v > 1)
		r->error = -EBADMSG;
	return v == 1;
}

static bool valid_mapping(const struct cam_mapping *m)
{
	return m->start < m->end;
}

static void put_mapping(struct cam_buf *b, const struct cam_mapping *m)
{
	cam_buf_put_u64(b, m->start);
	cam_buf_put_u64(b, m->end);
	cam_buf_put_u64(b, m->file_offset);
	cam_buf_put_u64(b, m->inode);
	cam_buf_put_u64(b, m->generation);
	cam_buf_put_u32(b, m->major);
	cam_buf_put_u32(b, m->minor);
	put_text(b, m->path, CAM_RAW_MAX_TEXT);
}

static void get_mapping(struct cam_rd *r, struct cam_mapping *m)
{
	m->start = cam_rd_u64(r);
	m->end = cam_rd_u64(r);
	m->file_offset = cam_rd_u64(r);
	m->inode = cam_rd_u64(r);
	m->generation = cam_rd_u64(r);
	m->major = cam_rd_u32(r);
	m->minor = cam_rd_u32(r);
	m->path = get_text(r, CAM_RAW_MAX_TEXT);
	if (!valid_mapping(m))
		r->error = -EBADMSG;
}

static void put_debug(struct cam_buf *b, const struct cam_errand *e)
{
	put_text(b, e->mapping.path, CAM_RAW_MAX_TEXT);
	put_text(b, e->build_id, CAM_ERRAND_MAX_BUILD_ID);
	put_text(b, e->link, CAM_ERRAND_MAX_LINK);
	cam_buf_put_u32(b, e->skip);
	cam_buf_put_u8(b, e->supplement);
}

static void get_debug(struct cam_rd *r, struct cam_errand *e)
{
	e->mapping.path = get_text(r, CAM_RAW_MAX_TEXT);
	e->build_id = get_text(r, CAM_ERRAND_MAX_BUILD_ID);
	e->link = get_text(r, CAM_ERRAND_MAX_LINK);
	e->skip = cam_rd_u32(r);
	e->supplement = get_bool(r);
}

/* The sources a symboliser can have; the others are not its to claim. */
static bool valid_source(enum cam_name_source s)
{
	return s == CAM_NAME_NONE || (s >= CAM_NAME_SYMTAB && s <= CAM_NAME_JITDUMP);
}

static bool valid_name(const struct cam_name *n)
{
	return valid_source(n->source) && n->start <= n->offset &&
	       (n->source == CAM_NAME_NONE) == (n->name.n == 0) &&
	       n->n_inlined <= (n->name.n ? CAM_NAME_MAX_INLINED : 0) &&
	       (!n->end || (n->end > n->offset && !n->file.n && !n->line && !n->n_inlined));
}

static void put_name(struct cam_buf *b, const struct cam_name *n)
{
	cam_buf_put_u64(b, n->offset);
	cam_buf_put_u64(b, n->start);
	cam_buf_put_u64(b, n->end);
	cam_buf_put_u8(b, (uint8_t)n->source);
	put_text(b, n->name, CAM_RAW_MAX_TEXT);
	put_text(b, n->module, CAM_RAW_MAX_TEXT);
	put_text(b, n->file, CAM_RAW_MAX_TEXT);
	cam_buf_put_u32(b, n->line);
	cam_buf_put_u8(b, (uint8_t)n->n_inlined);
	for (uint32_t i = 0; i < n->n_inlined; i++) {
		if (!n->inlined[i].name.n)
			b->error = -EINVAL;
		put_text(b, n->inlined[i].name, CAM_RAW_MAX_TEXT);
		put_text(b, n->inlined[i].file, CAM_RAW_MAX_TEXT);
		cam_buf_put_u32(b, n->inlined[i].line);
	}
}

/* Room for n elements of which each takes at least `packed` of the bytes left; NULL: an error. */
static void *take(struct scratch *s, struct cam_rd *r, size_t n, size_t size, size_t packed)
{
	if (!cam_rd_error(r) && n > cam_rd_left(r) / packed)
		r->error = -EBADMSG;
	if (!cam_rd_error(r) && n > s->left / size)
		r->error = -E2BIG;
	if (cam_rd_error(r))
		return NULL;
	void *p = s->p;
	s->p += n * size;
	s->left -= n * size;
	return p;
}

static void get_inlined(struct cam_rd *r, struct scratch *s, struct cam_name *n)
{
	struct cam_inlined *in = take(s, r, n->n_inlined, sizeof(*in), CAM_ERRAND_INLINED_BYTES);
	n->inlined = in;
	for (uint32_t i = 0; in && i < n->n_inlined; i++) {
		in[i].name = get_text(r, CAM_RAW_MAX_TEXT);
		in[i].file = get_text(r, CAM_RAW_MAX_TEXT);
		in[i].line = cam_rd_u32(r);
		if (!in[i].name.n)
			r->error = -EBADMSG;
	}
}

static void get_name(struct cam_rd *r, struct scratch *s, struct cam_name *n)
{
	n->offset = cam_rd_u64(r);
	n->start = cam_rd_u64(r);
	n->end = cam_rd_u64(r);
	n->source = (enum cam_name_source)cam_rd_u8(r);
	n->name = get_text(r, CAM_RAW_MAX_TEXT);
	n->module = get_text(r, CAM_RAW_MAX_TEXT);
	n->file = get_text(r, CAM_RAW_MAX_TEXT);
	n->line = cam_rd_u32(r);
	n->n_inlined = cam_rd_u8(r);
	if (!valid_name(n))
		r->error = -EBADMSG;
	get_inlined(r, s, n);
}

static bool valid_mappings(const struct cam_mapping *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!valid_mapping(&m[i]) || (i && m[i].start < m[i - 1].end))
			return false;
	}
	return true;
}

static void put_process(struct cam_buf *b, const struct cam_process_tidings *p)
{
	if (!valid_mappings(p->mappings, p->n_mappings)) {
		b->error = -EINVAL;
		return;
	}
	cam_buf_put_u64(b, p->start_ns);
	cam_buf_put_u64(b, p->maps_read_ns);
	cam_buf_put_u32(b, p->uid);
	cam_buf_put_u8(b, p->more);
	put_text(b, p->comm, CAM_ERRAND_MAX_COMM);
	put_text(b, p->exe, CAM_RAW_MAX_TEXT);
	put_text(b, p->cgroup, CAM_RAW_MAX_TEXT);
	cam_buf_put_u32(b, p->n_mappings);
	for (uint32_t i = 0; i < p->n_mappings; i++)
		put_mapping(b, &p->mappings[i]);
}

static void get_process(struct cam_rd *r, struct scratch *s, struct cam_process_tidings *p)
{
	p->start_ns = cam_rd_u64(r);
	p->maps_read_ns = cam_rd_u64(r);
	p->uid = cam_rd_u32(r);
	p->more = get_bool(r);
	p->comm = get_text(r, CAM_ERRAND_MAX_COMM);
	p->exe = get_text(r, CAM_RAW_MAX_TEXT);
	p->cgroup = get_text(r, CAM_RAW_MAX_TEXT);
	p->n_mappings = cam_rd_u32(r);
	struct cam_mapping *m = take(s, r, p->n_mappings, sizeof(*m), CAM_ERRAND_MAPPING_BYTES);
	p->mappings = m;
	for (uint32_t i = 0; m && i < p->n_mappings; i++)
		get_mapping(r, &m[i]);
	if (m && !cam_rd_error(r) && !valid_mappings(m, p->n_mappings))
		r->error = -EBADMSG;
}

static void put_key(struct cam_buf *b, const struct cam_file_key *k)
{
	cam_buf_put_u32(b, k->major);
	cam_buf_put_u32(b, k->minor);
	cam_buf_put_u64(b, k->inode);
	cam_buf_put_u64(b, k->generation);
	cam_buf_put_u64(b, (uint64_t)k->ctime_ns);
	cam_buf_put_u64(b, k->bytes);
}

static void get_key(struct cam_rd *r, struct cam_file_key *k)
{
	k->major = cam_rd_u32(r);
	k->minor = cam_rd_u32(r);
	k->inode = cam_rd_u64(r);
	k->generation = cam_rd_u64(r);
	k->ctime_ns = (int64_t)cam_rd_u64(r);
	k->bytes = cam_rd_u64(r);
}

static void put_held(struct cam_buf *b, const struct cam_file_tidings *t)
{
	put_key(b, &t->key);
	cam_buf_put_u64(b, t->written_ns);
}

static void get_held(struct cam_rd *r, struct cam_file_tidings *t)
{
	get_key(r, &t->key);
	t->written_ns = cam_rd_u64(r);
}

static void put_names(struct cam_buf *b, const struct cam_names_tidings *t)
{
	if (t->n_names > CAM_ERRAND_MAX_OFFSETS) {
		b->error = -E2BIG;
		return;
	}
	bool keep_id = t->build_id.n <= CAM_ERRAND_MAX_BUILD_ID;
	cam_buf_put_u8(b, t->more);
	cam_buf_put_u8(b, t->behind);
	cam_buf_put_u8(b, t->left_out);
	cam_buf_put_u8(b, t->elsewhere);
	cam_buf_put_u8(b, t->wants_debug);
	cam_buf_put_u8(b, t->wants_supplement);
	put_text(b, t->link, CAM_ERRAND_MAX_LINK);
	cam_buf_put_u64(b, t->turn);
	put_text(b, keep_id ? t->build_id : (struct cam_text){"", 0}, CAM_ERRAND_MAX_BUILD_ID);
	cam_buf_put_u32(b, t->n_names);
	uint32_t inlined = 0;
	for (uint32_t i = 0; i < t->n_names && !b->error; i++) {
		inlined += t->names[i].n_inlined;
		if (!valid_name(&t->names[i]))
			b->error = -EINVAL;
		else if (inlined > CAM_ERRAND_MAX_INLINED)
			b->error = -E2BIG;
		else
			put_name(b, &t->names[i]);
	}
}

static void get_names(struct cam_rd *r, struct scratch *s, struct cam_names_tidings *t)
{
	t->more = get_bool(r);
	t->behind = get_bool(r);
	t->left_out = get_bool(r);
	t->elsewhere = get_bool(r);
	t->wants_debug = get_bool(r);
	t->wants_supplement = get_bool(r);
	t->link = get_text(r, CAM_ERRAND_MAX_LINK);
	t->turn = cam_rd_u64(r);
	t->build_id = get_text(r, CAM_ERRAND_MAX_BUILD_ID);
	t->n_names = cam_rd_u32(r);
	if (t->n_names > CAM_ERRAND_MAX_OFFSETS)
		r->error = -EBADMSG;
	struct cam_name *n = take(s, r, t->n_names, sizeof(*n), CAM_ERRAND_NAME_BYTES);
	t->names = n;
	uint32_t inlined = 0;
	for (uint32_t i = 0; n && i < t->n_names && !cam_rd_error(r); i++) {
		get_name(r, s, &n[i]);
		inlined += n[i].n_inlined;
		if (inlined > CAM_ERRAND_MAX_INLINED)
			r->error = -EBADMSG;
	}
}

static void put_copy(struct cam_buf *b, const struct cam_raw_copy *c)
{
	cam_buf_put_u64(b, c->ip);
	cam_buf_put_u64(b, c->sp);
	cam_buf_put_u64(b, c->bp);
	cam_buf_put_u32(b, c->stack_bytes);
	cam_buf_put(b, c->stack, c->stack_bytes);
}

static void get_copy(struct cam_rd *r, struct cam_raw_copy *c)
{
	c->ip = cam_rd_u64(r);
	c->sp = cam_rd_u64(r);
	c->bp = cam_rd_u64(r);
	c->stack_bytes = cam_rd_u32(r);
	if (c->stack_bytes > CAM_RAW_MAX_STACK)
		r->error = -EBADMSG;
	c->stack = cam_rd_bytes(r, c->stack_bytes);
}

static bool valid_maps(const struct cam_unwind_mapping *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (m[i].start >= m[i].end || (i && m[i].start < m[i - 1].end))
			return false;
	}
	return true;
}

static void put_unwind(struct cam_buf *b, const struct cam_errand *e)
{
	put_copy(b, &e->copy);
	cam_buf_put_u32(b, e->n_maps);
	for (uint32_t i = 0; i < e->n_maps; i++) {
		cam_buf_put_u64(b, e->maps[i].start);
		cam_buf_put_u64(b, e->maps[i].end);
		cam_buf_put_u64(b, e->maps[i].offset);
		cam_buf_put_u32(b, e->maps[i].file);
	}
}

static void get_unwind(struct cam_rd *r, struct scratch *s, struct cam_errand *e)
{
	get_copy(r, &e->copy);
	e->n_maps = cam_rd_u32(r);
	if (e->n_maps > CAM_UNWIND_MAX_MAPS)
		r->error = -EBADMSG;
	struct cam_unwind_mapping *m = take(s, r, e->n_maps, sizeof(*m), MAP_BYTES);
	e->maps = m;
	for (uint32_t i = 0; m && i < e->n_maps; i++) {
		m[i].start = cam_rd_u64(r);
		m[i].end = cam_rd_u64(r);
		m[i].offset = cam_rd_u64(r);
		m[i].file = cam_rd_u32(r);
	}
	if (m && !cam_rd_error(r) && !valid_maps(m, e->n_maps))
		r->error = -EBADMSG;
}

static bool valid_table(const struct cam_table_tidings *t)
{
	if (t->n_rules > CAM_UNWIND_MAX_RULES)
		return false;
	for (uint32_t i = 0; i < t->n_rules; i++) {
		if (t->rules[i].cfa >= CAM_CFA_KINDS || t->rules[i].rbp >= CAM_RBP_KINDS)
			return false;
	}
	for (uint32_t i = 0; i < t->n_rows; i++) {
		if (t->rows[i].rule >= CAM_UNWIND_MAX_RULES ||
		    (i && t->rows[i].offset <= t->rows[i - 1].offset))
			return false;
	}
	return true;
}

static void put_table(struct cam_buf *b, const struct cam_table_tidings *t)
{
	if (!valid_table(t)) {
		b->error = -EINVAL;
		return;
	}
	cam_buf_put_u8(b, t->more);
	cam_buf_put_u32(b, t->n_rules);
	for (uint32_t i = 0; i < t->n_rules; i++) {
		cam_buf_put_u8(b, t->rules[i].cfa);
		cam_buf_put_u8(b, t->rules[i].rbp);
		cam_buf_put_u16(b, (uint16_t)t->rules[i].rbp_offset);
		cam_buf_put_u32(b, (uint32_t)t->rules[i].cfa_offset);
	}
	cam_buf_put_u32(b, t->n_rows);
	for (uint32_t i = 0; i < t->n_rows; i++) {
		cam_buf_put_u32(b, t->rows[i].offset);
		cam_buf_put_u16(b, (uint16_t)t->rows[i].rule);
	}
}

static void get_table(struct cam_rd *r, struct scratch *s, struct cam_table_tidings *t)
{
	t->more = get_bool(r);
	t->n_rules = cam_rd_u32(r);
	struct cam_unwind_rule *rules =
		take(s, r, t->n_rules, sizeof(*rules), CAM_ERRAND_RULE_BYTES);
	for (uint32_t i = 0; rules && i < t->n_rules; i++) {
		rules[i].cfa = cam_rd_u8(r);
		rules[i].rbp = cam_rd_u8(r);
		rules[i].rbp_offset = (int16_t)cam_rd_u16(r);
		rules[i].cfa_offset = (int32_t)cam_rd_u32(r);
	}
	t->n_rows = cam_rd_u32(r);
	struct cam_unwind_row *rows = take(s, r, t->n_rows, sizeof(*rows), CAM_ERRAND_ROW_BYTES);
	for (uint32_t i = 0; rows && i < t->n_rows; i++) {
		rows[i].offset = cam_rd_u32(r);
		rows[i].rule = cam_rd_u16(r);
	}
	t->rules = rules;
	t->rows = rows;
	if (rules && rows && !cam_rd_error(r) && !valid_table(t))
		r->error = -EBADMSG;
}

static bool valid_unwound(const struct cam_unwind_tidings *t)
{
	return t->n_frames <= CAM_RAW_MAX_FRAMES && (unsigned)t->end < CAM_STACK_ENDS &&
	       (t->lacking == CAM_NONE || t->end == CAM_STACK_PENDING);
}

static void put_unwound(struct cam_buf *b, const struct cam_unwind_tidings *t)
{
	if (!valid_unwound(t)) {
		b->error = -EINVAL;
		return;
	}
	cam_buf_put_u8(b, (uint8_t)t->end);
	cam_buf_put_u8(b, t->guessed);
	cam_buf_put_u32(b, t->lacking);
	cam_buf_put_u32(b, t->n_frames);
	for (uint32_t i = 0; i < t->n_frames; i++)
		cam_buf_put_u64(b, t->frames[i]);
}

static void get_unwound(struct cam_rd *r, struct scratch *s, struct cam_unwind_tidings *t)
{
	t->end = (enum cam_stack_end)cam_rd_u8(r);
	t->guessed = get_bool(r);
	t->lacking = cam_rd_u32(r);
	t->n_frames = cam_rd_u32(r);
	if (!cam_rd_error(r) && !valid_unwound(t))
		r->error = -EBADMSG;
	uint64_t *frames = take(s, r, t->n_frames, sizeof(*frames), 8);
	t->frames = frames;
	for (uint32_t i = 0; frames && i < t->n_frames; i++)
		frames[i] = cam_rd_u64(r);
}

static bool valid_outline(const struct cam_outline_tidings *t)
{
	if (t->n_segments > CAM_OUTLINE_MAX_SEGMENTS || t->build_id.n > CAM_ERRAND_MAX_BUILD_ID ||
	    (t->n_segments && !t->has_code))
		return false;
	for (uint32_t i = 0; i < t->n_segments; i++) {
		const struct cam_file_segment *s = &t->segments[i];
		if (s->address + s->bytes < s->address || s->offset + s->bytes < s->offset)
			return false;
	}
	return true;
}

static void put_outline(struct cam_buf *b, const struct cam_outline_tidings *t)
{
	if (!valid_outline(t)) {
		b->error = -EINVAL;
		return;
	}
	cam_buf_put_u8(b, t->has_code);
	cam_buf_put_u8(b, t->has_symbols);
	put_text(b, t->build_id, CAM_ERRAND_MAX_BUILD_ID);
	cam_buf_put_u32(b, t->n_segments);
	for (uint32_t i = 0; i < t->n_segments; i++) {
		cam_buf_put_u64(b, t->segments[i].address);
		cam_buf_put_u64(b, t->segments[i].offset);
		cam_buf_put_u64(b, t->segments[i].bytes);
	}
}

static void get_outline(struct cam_rd *r, struct scratch *s, struct cam_outline_tidings *t)
{
	t->has_code = get_bool(r);
	t->has_symbols = get_bool(r);
	t->build_id = get_text(r, CAM_ERRAND_MAX_BUILD_ID);
	t->n_segments = cam_rd_u32(r);
	struct cam_file_segment *to = take(s, r, t->n_segments, sizeof(*to), SEGMENT_BYTES);
	t->segments = to;
	for (uint32_t i = 0; to && i < t->n_segments; i++) {
		to[i].address = cam_rd_u64(r);
		to[i].offset = cam_rd_u64(r);
		to[i].bytes = cam_rd_u64(r);
	}
	if (to && !cam_rd_error(r) && !valid_outline(t))
		r->error = -EBADMSG;
}

static struct cam_buf borrow(void *room, size_t bytes)
{
	size_t n = bytes < CAM_ERRAND_MAX_BYTES ? bytes : CAM_ERRAND_MAX_BYTES;
	return (struct cam_buf){.data = room, .cap = n, .max_bytes = n};
}

/* Works on a reader whose length was checked; anything left over is as wrong as anything missing. */
static int finish(const struct cam_rd *r)
{
	if (cam_rd_error(r))
		return cam_rd_error(r);
	return cam_rd_left(r) ? -EBADMSG : 0;
}

static int start(const void *from, size_t bytes, uint8_t kind, struct cam_rd *r, uint8_t *type)
{
	if (bytes > CAM_ERRAND_MAX_BYTES)
		return -EBADMSG;
	*r = cam_rd_make(from, bytes);
	if (cam_rd_u8(r) != kind || cam_rd_error(r))
		return -EBADMSG;
	*type = cam_rd_u8(r);
	return *type < CAM_ERRAND_TYPES ? 0 : -EBADMSG;
}

int cam_errand_pack(const struct cam_errand *e, void *room, size_t room_bytes)
{
	struct cam_buf b = borrow(room, room_bytes);
	if ((unsigned)e->type >= CAM_ERRAND_TYPES || e->pid < 0 || e->tid < 0 ||
	    (unsigned)e->format >= CAM_FORMATS ||
	    (e->type == CAM_ERRAND_FILE && !valid_mapping(&e->mapping)) ||
	    (e->type == CAM_ERRAND_UNWIND && !valid_maps(e->maps, e->n_maps)))
		return -EINVAL;
	if ((e->type == CAM_ERRAND_NAMES && e->n_offsets > CAM_ERRAND_MAX_OFFSETS) ||
	    (e->type == CAM_ERRAND_UNWIND &&
	     (e->n_maps > CAM_UNWIND_MAX_MAPS || e->copy.stack_bytes > CAM_RAW_MAX_STACK)))
		return -E2BIG;
	cam_buf_put_u8(&b, ERRAND);
	cam_buf_put_u8(&b, (uint8_t)e->type);
	cam_buf_put_u32(&b, e->ticket);
	cam_buf_put_u32(&b, (uint32_t)e->pid);
	cam_buf_put_u32(&b, (uint32_t)e->tid);
	cam_buf_put_u32(&b, e->file);
	if (e->type == CAM_ERRAND_FILE)
		put_mapping(&b, &e->mapping);
	if (e->type == CAM_ERRAND_JIT) {
		cam_buf_put_u64(&b, e->start_ns);
		cam_buf_put_u8(&b, e->wake);
	}
	if (e->type == CAM_ERRAND_UNWIND)
		put_unwind(&b, e);
	if (e->type == CAM_ERRAND_DEBUG)
		put_debug(&b, e);
	if (e->type == CAM_ERRAND_NAMES) {
		cam_buf_put_u8(&b, (uint8_t)e->format);
		cam_buf_put_u8(&b, e->search);
		cam_buf_put_u8(&b, e->search_supplement);
		cam_buf_put_u8(&b, e->supplement);
		cam_buf_put_u8(&b, e->symbols_only);
		cam_buf_put_u8(&b, e->names_only);
		cam_buf_put_u32(&b, e->n_offsets);
		for (uint32_t i = 0; i < e->n_offsets; i++)
			cam_buf_put_u64(&b, e->offsets[i]);
	}
	return cam_buf_error(&b) ? cam_buf_error(&b) : (int)b.len;
}

int cam_errand_unpack(const void *from, size_t bytes, void *scratch, size_t scratch_bytes,
		      struct cam_errand *out)
{
	struct scratch s = {scratch, scratch_bytes};
	struct cam_rd r;
	uint8_t type;
	*out = (struct cam_errand){0};
	if (start(from, bytes, ERRAND, &r, &type))
		return -EBADMSG;
	out->type = (enum cam_errand_type)type;
	out->ticket = cam_rd_u32(&r);
	out->pid = (int32_t)cam_rd_u32(&r);
	out->tid = (int32_t)cam_rd_u32(&r);
	out->file = cam_rd_u32(&r);
	if (out->pid < 0 || out->tid < 0)
		return -EBADMSG;
	if (out->type == CAM_ERRAND_FILE)
		get_mapping(&r, &out->mapping);
	if (out->type == CAM_ERRAND_JIT) {
		out->start_ns = cam_rd_u64(&r);
		out->wake = get_bool(&r);
	}
	if (out->type == CAM_ERRAND_UNWIND)
		get_unwind(&r, &s, out);
	if (out->type == CAM_ERRAND_DEBUG)
		get_debug(&r, out);
	if (out->type == CAM_ERRAND_NAMES) {
		out->format = (enum cam_file_format)cam_rd_u8(&r);
		out->search = get_bool(&r);
		out->search_supplement = get_bool(&r);
		out->supplement = get_bool(&r);
		out->symbols_only = get_bool(&r);
		out->names_only = get_bool(&r);
		out->n_offsets = cam_rd_u32(&r);
		if (out->n_offsets > CAM_ERRAND_MAX_OFFSETS || (unsigned)out->format >= CAM_FORMATS)
			return -EBADMSG;
		uint64_t *offsets = take(&s, &r, out->n_offsets, sizeof(*offsets), 8);
		out->offsets = offsets;
		for (uint32_t i = 0; offsets && i < out->n_offsets; i++)
			offsets[i] = cam_rd_u64(&r);
	}
	return finish(&r);
}

/* FORGET is not answered; an error is an errno. */
static bool valid_tidings(const struct cam_tidings *t)
{
	return (unsigned)t->type < CAM_ERRAND_TYPES && t->type != CAM_ERRAND_FORGET &&
	       t->pid >= 0 && t->tid >= 0 && t->error <= 0 && t->error >= -MAX_ERRNO;
}

int cam_tidings_pack(const struct cam_tidings *t, void *room, size_t room_bytes)
{
	struct cam_buf b = borrow(room, room_bytes);
	if (!valid_tidings(t))
		return -EINVAL;
	cam_buf_put_u8(&b, TIDINGS);
	cam_buf_put_u8(&b, (uint8_t)t->type);
	cam_buf_put_u32(&b, t->ticket);
	cam_buf_put_u32(&b, (uint32_t)t->pid);
	cam_buf_put_u32(&b, (uint32_t)t->tid);
	cam_buf_put_u32(&b, t->file);
	cam_buf_put_u32(&b, (uint32_t)t->error);
	if (!t->error && t->type == CAM_ERRAND_PROCESS)
		put_process(&b, &t->process);
	if (!t->error && t->type == CAM_ERRAND_THREAD)
		put_text(&b, t->comm, CAM_ERRAND_MAX_COMM);
	if (!t->error && (t->type == CAM_ERRAND_FILE || t->type == CAM_ERRAND_JIT))
		put_held(&b, &t->held);
	if (!t->error && t->type == CAM_ERRAND_TABLE)
		put_table(&b, &t->table);
	if (!t->error && t->type == CAM_ERRAND_UNWIND)
		put_unwound(&b, &t->unwound);
	if (!t->error && t->type == CAM_ERRAND_OUTLINE)
		put_outline(&b, &t->outline);
	if (!t->error && t->type == CAM_ERRAND_NAMES)
		put_names(&b, &t->names);
	return cam_buf_error(&b) ? cam_buf_error(&b) : (int)b.len;
}

int cam_tidings_unpack(const void *from, size_t bytes, void *scratch, size_t scratch_bytes,
		       struct cam_tidings *out)
{
	struct scratch s = {scratch, scratch_bytes};
	struct cam_rd r;
	uint8_t type;
	*out = (struct cam_tidings){0};
	if (start(from, bytes, TIDINGS, &r, &type))
		return -EBADMSG;
	out->type = (enum cam_errand_type)type;
	out->ticket = cam_rd_u32(&r);
	out->pid = (int32_t)cam_rd_u32(&r);
	out->tid = (int32_t)cam_rd_u32(&r);
	out->file = cam_rd_u32(&r);
	out->error = (int32_t)cam_rd_u32(&r);
	if (!valid_tidings(out))
		return -EBADMSG;
	if (!out->error && out->type == CAM_ERRAND_PROCESS)
		get_process(&r, &s, &out->process);
	if (!out->error && out->type == CAM_ERRAND_THREAD)
		out->comm = get_text(&r, CAM_ERRAND_MAX_COMM);
	if (!out->error && (out->type == CAM_ERRAND_FILE || out->type == CAM_ERRAND_JIT))
		get_held(&r, &out->held);
	if (!out->error && out->type == CAM_ERRAND_TABLE)
		get_table(&r, &s, &out->table);
	if (!out->error && out->type == CAM_ERRAND_UNWIND)
		get_unwound(&r, &s, &out->unwound);
	if (!out->error && out->type == CAM_ERRAND_OUTLINE)
		get_outline(&r, &s, &out->outline);
	if (!out->error && out->type == CAM_ERRAND_NAMES)
		get_names(&r, &s, &out->names);
	return finish(&r);
}
