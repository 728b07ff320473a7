// SPDX-License-Identifier: Apache-2.0
/*
 * Errands and tidings as packets (door G).
 *
 * A packet is a head, then the body of its type, little-endian, nothing after it:
 *
 *	head      u8 'E' or 'T', u8 type, u32 ticket, i32 pid, i32 tid, u32 file
 *	          'T' also i32 error; with an error there is no body
 *	mapping   u64 start, end, offset, inode, generation, u32 major, minor, text path
 *	name      u64 offset, start, u8 source, text name, text module
 *	text      u16 length, bytes
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
_Static_assert(sizeof(struct cam_name) * CAM_ERRAND_MAX_OFFSETS <= CAM_ERRAND_MAX_BYTES,
	       "scratch bound");

enum { ERRAND = 'E', TIDINGS = 'T', MAX_ERRNO = 4095 };

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

/* The sources a symboliser can have; the others are not its to claim. */
static bool valid_source(enum cam_name_source s)
{
	return s == CAM_NAME_NONE || (s >= CAM_NAME_SYMTAB && s <= CAM_NAME_JITDUMP);
}

static bool valid_name(const struct cam_name *n)
{
	return valid_source(n->source) && n->start <= n->offset &&
	       (n->source == CAM_NAME_NONE) == (n->name.n == 0);
}

static void put_name(struct cam_buf *b, const struct cam_name *n)
{
	cam_buf_put_u64(b, n->offset);
	cam_buf_put_u64(b, n->start);
	cam_buf_put_u8(b, (uint8_t)n->source);
	put_text(b, n->name, CAM_RAW_MAX_TEXT);
	put_text(b, n->module, CAM_RAW_MAX_TEXT);
}

static void get_name(struct cam_rd *r, struct cam_name *n)
{
	n->offset = cam_rd_u64(r);
	n->start = cam_rd_u64(r);
	n->source = (enum cam_name_source)cam_rd_u8(r);
	n->name = get_text(r, CAM_RAW_MAX_TEXT);
	n->module = get_text(r, CAM_RAW_MAX_TEXT);
	if (!valid_name(n))
		r->error = -EBADMSG;
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

static void put_names(struct cam_buf *b, const struct cam_names_tidings *t)
{
	if (t->n_names > CAM_ERRAND_MAX_OFFSETS) {
		b->error = -E2BIG;
		return;
	}
	bool keep_id = t->build_id.n <= CAM_ERRAND_MAX_BUILD_ID;
	cam_buf_put_u8(b, t->more);
	put_text(b, keep_id ? t->build_id : (struct cam_text){"", 0}, CAM_ERRAND_MAX_BUILD_ID);
	cam_buf_put_u32(b, t->n_names);
	for (uint32_t i = 0; i < t->n_names; i++) {
		if (!valid_name(&t->names[i]))
			b->error = -EINVAL;
		put_name(b, &t->names[i]);
	}
}

static void get_names(struct cam_rd *r, struct scratch *s, struct cam_names_tidings *t)
{
	t->more = get_bool(r);
	t->build_id = get_text(r, CAM_ERRAND_MAX_BUILD_ID);
	t->n_names = cam_rd_u32(r);
	if (t->n_names > CAM_ERRAND_MAX_OFFSETS)
		r->error = -EBADMSG;
	struct cam_name *n = take(s, r, t->n_names, sizeof(*n), CAM_ERRAND_NAME_BYTES);
	t->names = n;
	for (uint32_t i = 0; n && i < t->n_names; i++)
		get_name(r, &n[i]);
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
	    (e->type == CAM_ERRAND_FILE && !valid_mapping(&e->mapping)))
		return -EINVAL;
	if (e->type == CAM_ERRAND_NAMES && e->n_offsets > CAM_ERRAND_MAX_OFFSETS)
		return -E2BIG;
	cam_buf_put_u8(&b, ERRAND);
	cam_buf_put_u8(&b, (uint8_t)e->type);
	cam_buf_put_u32(&b, e->ticket);
	cam_buf_put_u32(&b, (uint32_t)e->pid);
	cam_buf_put_u32(&b, (uint32_t)e->tid);
	cam_buf_put_u32(&b, e->file);
	if (e->type == CAM_ERRAND_FILE)
		put_mapping(&b, &e->mapping);
	if (e->type == CAM_ERRAND_NAMES) {
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
	if (out->type == CAM_ERRAND_NAMES) {
		out->n_offsets = cam_rd_u32(&r);
		if (out->n_offsets > CAM_ERRAND_MAX_OFFSETS)
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
	if (!t->error && t->type == CAM_ERRAND_FILE)
		put_key(&b, &t->held.key);
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
	if (!out->error && out->type == CAM_ERRAND_FILE)
		get_key(&r, &out->held.key);
	if (!out->error && out->type == CAM_ERRAND_NAMES)
		get_names(&r, &s, &out->names);
	return finish(&r);
}
