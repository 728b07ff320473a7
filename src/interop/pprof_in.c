// SPDX-License-Identifier: Apache-2.0
/*
 * Two passes over the bytes: one notes where strings, functions, mappings and locations are (they may
 * come after the samples that use them), the other hands over samples. Ids of pprof are any numbers;
 * each table is a list of (id, where it is) sorted by id.
 */
#include "interop/pprof_in.h"

#include "base/escape.h"
#include "base/vec.h"
#include "interop/pprof.h"
#include "interop/replay.h"

#include <errno.h>
#include <stdlib.h>

/* A field of a message: a number, or bytes. */
struct field {
	unsigned number;
	bool is_bytes;
	uint64_t value;
	struct cam_rd bytes;
};

/* False at the end; r->error says whether it was one. */
static bool next_field(struct cam_rd *r, struct field *f)
{
	if (!cam_rd_left(r) || cam_rd_error(r))
		return false;
	uint64_t key = cam_rd_varint(r);
	*f = (struct field){.number = (unsigned)(key >> 3)};
	switch (key & 7) {
	case CAM_PROTOBUF_VARINT:
		f->value = cam_rd_varint(r);
		break;
	case CAM_PROTOBUF_FIXED64:
		f->value = cam_rd_u64(r);
		break;
	case CAM_PROTOBUF_FIXED32:
		f->value = cam_rd_u32(r);
		break;
	case CAM_PROTOBUF_BYTES: {
		size_t n;
		const uint8_t *p = cam_rd_string(r, &n);
		f->is_bytes = true;
		f->bytes = cam_rd_make(p, p ? n : 0);
		break;
	}
	default:
		r->error = -EBADMSG;
	}
	if (!key || key >> 3 > 1000)
		r->error = -EBADMSG;
	return !cam_rd_error(r);
}

/* The next of a repeated number, packed or not; `f` is the field that was found. */
static bool next_number(struct field *f, uint64_t *out)
{
	if (!f->is_bytes) {
		*out = f->value;
		f->is_bytes = true; /* once */
		f->bytes = cam_rd_make(NULL, 0);
		return true;
	}
	if (!cam_rd_left(&f->bytes))
		return false;
	*out = cam_rd_varint(&f->bytes);
	return !cam_rd_error(&f->bytes);
}

/* Each is looked up many times: what is wanted of a function or a mapping is read once. */
struct entry {
	uint64_t id;
	union {
		struct cam_rd at;
		struct {
			uint64_t name, build_id; /* numbers of strings */
		};
	};
};

struct list {
	struct entry *rows;
	size_t n, cap;
};

struct profile {
	struct cam_replay out;
	struct list strings, functions, mappings, locations, types;
	/* Per location: its frames, made on first use. */
	struct {
		uint32_t at, n; /* in frames; n 0: not made */
	} * made;
	uint32_t *frames; /* innermost first */
	size_t n_frames, cap_frames;
	size_t value; /* which one counts */
	uint32_t etype;
	uint64_t bad;
};

static int add(struct profile *p, struct list *l, const struct entry *e)
{
	int err = cam_replay_reserve(&p->out, &l->rows, &l->cap, l->n + 1, sizeof(*l->rows));
	if (!err)
		l->rows[l->n++] = *e;
	return err;
}

static uint64_t number_in(struct cam_rd m, unsigned number)
{
	struct field f;
	uint64_t value = 0;
	while (next_field(&m, &f)) {
		if (f.number == number && !f.is_bytes)
			value = f.value;
	}
	return value;
}

static int note(struct profile *p, struct field *f, struct cam_rd *comment)
{
	struct entry e = {.at = f->bytes};
	switch (f->number) {
	case CAM_PPROF_STRING:
		return add(p, &p->strings, &e);
	case CAM_PPROF_SAMPLE_TYPE:
		return add(p, &p->types, &e);
	case CAM_PPROF_FUNCTION:
		e = (struct entry){.id = number_in(f->bytes, CAM_PPROF_ID),
				   .name = number_in(f->bytes, CAM_PPROF_NAME)};
		return add(p, &p->functions, &e);
	case CAM_PPROF_MAPPING:
		e = (struct entry){.id = number_in(f->bytes, CAM_PPROF_ID),
				   .name = number_in(f->bytes, CAM_PPROF_FILENAME),
				   .build_id = number_in(f->bytes, CAM_PPROF_BUILD_ID)};
		return add(p, &p->mappings, &e);
	case CAM_PPROF_LOCATION:
		e.id = number_in(f->bytes, CAM_PPROF_ID);
		return add(p, &p->locations, &e);
	case CAM_PPROF_COMMENT:
		*comment = f->bytes;
		if (!f->is_bytes)
			p->out.clock_ns = f->value; /* the string's number, for now */
		return 0;
	default:
		return 0;
	}
}

static int by_id(const void *a, const void *b)
{
	const struct entry *p = a, *q = b;
	return p->id < q->id ? -1 : p->id > q->id;
}

static void sort(struct list *l)
{
	if (l->n)
		qsort(l->rows, l->n, sizeof(*l->rows), by_id);
}

static const struct entry *find(const struct list *l, uint64_t id)
{
	const struct entry key = {.id = id};
	return l->n ? bsearch(&key, l->rows, l->n, sizeof(*l->rows), by_id) : NULL;
}

static struct cam_text string(const struct profile *p, uint64_t number)
{
	if (number >= p->strings.n)
		return (struct cam_text){"", 0};
	const struct cam_rd *r = &p->strings.rows[number].at;
	return (struct cam_text){(const char *)r->p, cam_rd_left(r)};
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1f2e…" → bytes; anything else is kept out. */
static struct cam_text unhex(struct cam_text s, char room[64])
{
	size_t n = 0;
	for (size_t i = 0; i + 1 < s.n && n < 64; i += 2) {
		if (hex(s.p[i]) < 0 || hex(s.p[i + 1]) < 0)
			return (struct cam_text){"", 0};
		room[n++] = (char)(hex(s.p[i]) << 4 | hex(s.p[i + 1]));
	}
	return (struct cam_text){room, s.n % 2 ? 0 : n};
}

static enum cam_func_kind kind_of(struct cam_text module, uint64_t address)
{
	if (module.n && module.p[0] == '[' &&
	    (cam_text_starts(module, CAM_TEXT("[kernel")) || address >> 63))
		return CAM_FUNC_KERNEL;
	return CAM_FUNC_USER;
}

static int add_frame(struct profile *p, const struct cam_replay_frame *f)
{
	uint32_t location;
	int err = cam_replay_reserve(&p->out, &p->frames, &p->cap_frames, p->n_frames + 1,
				     sizeof(*p->frames));
	if (!err)
		err = cam_replay_frame(&p->out, f, &location);
	if (!err)
		p->frames[p->n_frames++] = location;
	return err;
}

/* Lines of a location, as they stand there: the innermost first. */
static int add_lines(struct profile *p, struct cam_rd at, struct cam_replay_frame *f)
{
	struct field x;
	size_t lines = 0, seen = 0;
	int err = 0;
	for (struct cam_rd r = at; next_field(&r, &x);)
		lines += x.number == CAM_PPROF_LINE && x.is_bytes;
	enum cam_func_kind kind = f->kind;
	for (struct cam_rd r = at; !err && next_field(&r, &x);) {
		if (x.number != CAM_PPROF_LINE || !x.is_bytes)
			continue;
		const struct entry *fn =
			find(&p->functions, number_in(x.bytes, CAM_PPROF_FUNCTION_ID));
		f->name = fn ? string(p, fn->name) : CAM_TEXT("");
		f->kind = ++seen < lines ? CAM_FUNC_INLINED : kind;
		err = add_frame(p, f);
	}
	if (!err && !lines)
		err = add_frame(p, f);
	return err;
}

static int make_location(struct profile *p, size_t row)
{
	struct cam_rd at = p->locations.rows[row].at;
	const struct entry *m = find(&p->mappings, number_in(at, CAM_PPROF_MAPPING_ID));
	char room[64];
	struct cam_replay_frame f = {.address = number_in(at, CAM_PPROF_ADDRESS)};
	f.name = f.module = f.build_id = CAM_TEXT("");
	if (m) {
		f.module = string(p, m->name);
		f.build_id = unhex(string(p, m->build_id), room);
	}
	f.kind = kind_of(f.module, f.address);
	p->made[row].at = (uint32_t)p->n_frames;
	int err = add_lines(p, at, &f);
	p->made[row].n = (uint32_t)(p->n_frames - p->made[row].at);
	return err;
}

/* The frames of a stack, leaf first: one more than are shown, so that a longer one is seen to be cut. */
struct stack {
	uint32_t frames[CAM_MAX_STACK_FRAMES + 1];
	size_t n;
};

static int add_location(struct profile *p, uint64_t id, struct stack *s)
{
	const struct entry *e = find(&p->locations, id);
	if (!e) {
		p->bad++;
		return 0;
	}
	size_t row = (size_t)(e - p->locations.rows);
	int err = p->made[row].n ? 0 : make_location(p, row);
	for (uint32_t i = 0; i < p->made[row].n && !err && s->n <= CAM_MAX_STACK_FRAMES; i++)
		s->frames[s->n++] = p->frames[p->made[row].at + i];
	return err;
}

/* Locations stand leaf first; the tree grows from the root. */
static int add_stack(struct profile *p, struct cam_rd sample, uint32_t *node)
{
	struct stack s;
	uint64_t id;
	struct field f;
	int err = 0;
	s.n = 0;
	*node = 0;
	while (!err && s.n <= CAM_MAX_STACK_FRAMES && next_field(&sample, &f)) {
		while (f.number == CAM_PPROF_LOCATION_ID && !err && s.n <= CAM_MAX_STACK_FRAMES &&
		       next_number(&f, &id))
			err = add_location(p, id, &s);
	}
	while (s.n && !err)
		err = cam_tree_intern(&p->out.t, &p->out.t.places, *node, s.frames[--s.n], node);
	return err;
}

struct labels {
	int64_t pid, tid, cpu;
	struct cam_text comm, event;
};

static void take_label(struct profile *p, struct cam_rd label, struct labels *out)
{
	struct cam_text key = string(p, number_in(label, CAM_PPROF_KEY));
	struct cam_text text = string(p, number_in(label, CAM_PPROF_STR));
	int64_t number = (int64_t)number_in(label, CAM_PPROF_NUM);
	if (cam_text_equal(key, CAM_TEXT("pid")))
		out->pid = number;
	else if (cam_text_equal(key, CAM_TEXT("tid")) || cam_text_equal(key, CAM_TEXT("thread id")))
		out->tid = number;
	else if (cam_text_equal(key, CAM_TEXT("cpu")))
		out->cpu = number;
	else if (cam_text_equal(key, CAM_TEXT("event")))
		out->event = text;
	else if (cam_text_equal(key, CAM_TEXT("comm")) || cam_text_equal(key, CAM_TEXT("thread")))
		out->comm = text;
}

static int32_t as_id(int64_t v)
{
	return v >= 0 && v <= INT32_MAX ? (int32_t)v : CAM_PID_NONE;
}

static int add_sample(struct profile *p, struct cam_rd sample)
{
	struct labels l = {.pid = -1, .tid = -1, .cpu = -1, .comm = CAM_TEXT("pprof")};
	struct cam_replay_sample out = {.time_ns = CAM_TIME_NONE, .etype = p->etype};
	struct field f;
	uint64_t v;
	size_t values = 0;
	for (struct cam_rd r = sample; next_field(&r, &f);) {
		if (f.number == CAM_PPROF_LABEL && f.is_bytes)
			take_label(p, f.bytes, &l);
		while (f.number == CAM_PPROF_VALUE && next_number(&f, &v)) {
			if (values++ == p->value)
				out.weight = (int64_t)v < 0 ? 0 : v;
		}
	}
	if (!out.weight)
		return 0;
	out.cpu = l.cpu >= 0 && l.cpu < UINT32_MAX ? (uint32_t)l.cpu : CAM_CPU_NONE;
	int err = add_stack(p, sample, &out.stack);
	if (!err)
		err = cam_replay_task(&p->out, as_id(l.pid), as_id(l.tid), l.comm, &out.task);
	/* Our own profiles say which event it was. */
	if (!err && p->out.escapes && l.event.n)
		err = cam_replay_etype(&p->out, l.event, 0, true, &out.etype);
	return err ? err : cam_replay_add(&p->out, &out);
}

/* A value that is time, if there is one; else the last. */
static int choose_value(struct profile *p)
{
	struct cam_text name = CAM_TEXT("samples"), unit;
	for (size_t i = 0; i < p->types.n; i++) {
		p->value = i;
		name = string(p, number_in(p->types.rows[i].at, CAM_PPROF_TYPE));
		unit = string(p, number_in(p->types.rows[i].at, CAM_PPROF_UNIT));
		if (cam_text_equal(unit, CAM_TEXT("nanoseconds")))
			break;
	}
	return cam_replay_etype(&p->out, name, 0, true, &p->etype);
}

static int read_profile(struct profile *p, struct cam_rd all)
{
	struct field f;
	struct cam_rd comments = cam_rd_make(NULL, 0), r = all;
	int err = 0;
	while (!err && next_field(&r, &f))
		err = note(p, &f, &comments);
	p->bad += cam_rd_error(&r) != 0;
	if (err)
		return err;
	sort(&p->functions);
	sort(&p->mappings);
	sort(&p->locations);
	p->made = calloc(p->locations.n + 1, sizeof(*p->made));
	if (!p->made)
		return -ENOMEM;
	uint64_t comment = cam_rd_left(&comments) ? cam_rd_varint(&comments) : p->out.clock_ns;
	if (cam_text_equal(string(p, comment), CAM_TEXT("perfcam")))
		p->out.escapes = CAM_ESCAPE_CONTROL | CAM_ESCAPE_TAB | CAM_ESCAPE_BYTES;
	p->out.clock_ns = 0;
	err = choose_value(p);
	for (r = all; !err && next_field(&r, &f);) {
		if (f.number == CAM_PPROF_SAMPLE && f.is_bytes)
			err = add_sample(p, f.bytes);
	}
	return err;
}

bool cam_pprof_probe(struct cam_text first)
{
	/* Fields of a profile that are messages or texts; the others are numbers. */
	const unsigned bytes = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 11;
	struct cam_rd r = cam_rd_make(first.p, first.n);
	struct field f;
	size_t good = 0, types = 0;
	while (good < 64 && next_field(&r, &f)) {
		bool number_or_list = f.number == CAM_PPROF_COMMENT;
		if (f.number == 0 || f.number > 15 ||
		    (!number_or_list && f.is_bytes != (bytes >> f.number & 1)))
			return false;
		if (f.number == CAM_PPROF_SAMPLE_TYPE) {
			if (cam_rd_left(&f.bytes) > 22)
				return false;
			types++;
		}
		good++;
	}
	return types && good >= 2;
}

static int load(struct cam_input *in, struct cam_buf *all)
{
	do {
		cam_buf_put(all, in->p, (size_t)(in->end - in->p));
		in->p = in->end;
	} while (!cam_buf_error(all) && cam_input_more(in));
	return cam_buf_error(all) == -E2BIG ? -EFBIG : cam_buf_error(all);
}

int cam_pprof_read(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		   struct cam_import_stats *st)
{
	*st = (struct cam_import_stats){.clock = CAM_CLOCK_ABSENT};
	struct cam_buf all = CAM_BUF(CAM_PPROF_IN_BYTES);
	struct profile *p = calloc(1, sizeof(*p));
	int err = p ? cam_replay_init(&p->out, CAM_REPLAY_BYTES) : -ENOMEM;
	if (!err)
		p->out.began_ns = o ? o->began_ns : 0;
	if (!err)
		err = load(in, &all);
	if (!err)
		err = read_profile(p, cam_rd_make(all.data, all.len));
	bool full = err == -E2BIG;
	if (p && (!err || full)) {
		err = cam_replay_finish(&p->out, "pprof", in, !p->bad && !full, sink, st);
	}
	if (p) {
		struct list *lists[] = {&p->strings, &p->functions, &p->mappings, &p->locations,
					&p->types};
		for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
			free(lists[i]->rows);
		free(p->made);
		free(p->frames);
		cam_replay_free(&p->out);
	}
	free(p);
	cam_buf_free(&all);
	return err;
}
