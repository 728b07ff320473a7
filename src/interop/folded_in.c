// SPDX-License-Identifier: Apache-2.0
#include "interop/folded_in.h"

#include "base/escape.h"
#include "interop/frame.h"
#include "interop/line_cache.h"
#include "model/tables.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_BYTES (64u << 20)
#define THOUSAND    1000u

struct count {
	uint64_t whole;
	uint32_t thousandths; /* rounded: up to 1000 */
	bool fraction;
};

struct line {
	struct cam_text stack;
	struct count counts[2]; /* before, after; the only one is after */
	bool two;
};

struct reader {
	struct cam_input *in;
	struct cam_sink *sink;
	struct cam_import_stats *st;
	int64_t began_ns;
	struct cam_folded_shape shape;
	struct cam_line_cache names; /* to locations */
	struct cam_line_cache comms; /* to tasks */
	struct cam_etype_id etypes[2];
	uint32_t etype_generation;
	bool etypes_known;
	bool truncated;
	size_t n_frames;
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "12" or "12.3456"; false where it is neither, or too large. */
static bool parse_count(struct cam_text s, struct count *out)
{
	size_t i = 0;
	*out = (struct count){0};
	for (; i < s.n && is_digit(s.p[i]); i++) {
		if (__builtin_mul_overflow(out->whole, 10u, &out->whole) ||
		    __builtin_add_overflow(out->whole, (uint64_t)(s.p[i] - '0'), &out->whole))
			return false;
	}
	if (i == 0 || i == s.n)
		return i > 0;
	if (s.p[i++] != '.')
		return false;
	uint32_t unit = THOUSAND / 10;
	for (size_t k = 0; i < s.n; i++, k++) {
		if (!is_digit(s.p[i]))
			return false;
		out->fraction |= s.p[i] != '0';
		out->thousandths += (uint32_t)(s.p[i] - '0') * unit;
		out->thousandths += k == 3 && s.p[i] >= '5';
		unit /= 10;
	}
	return true;
}

/* Takes a count off the end of s; false, and nothing taken, where there is none. */
static bool take_count(struct cam_text *s, struct count *out)
{
	size_t end = s->n;
	while (end && (is_blank(s->p[end - 1]) || s->p[end - 1] == '\r'))
		end--;
	size_t start = end;
	while (start && !is_blank(s->p[start - 1]))
		start--;
	/* One blank stands before a count; any other belongs to the name, which may end in one. */
	if (start == 0 || !parse_count((struct cam_text){s->p + start, end - start}, out))
		return false;
	s->n = start - 1;
	return s->n > 0;
}

static bool parse_line(struct cam_text text, bool two, struct line *out)
{
	out->stack = text;
	out->two = two;
	if (!take_count(&out->stack, &out->counts[1]))
		return false;
	return !two || take_count(&out->stack, &out->counts[0]);
}

static bool is_skipped(struct cam_text line)
{
	struct line l;
	size_t i = 0;
	while (i < line.n && (is_blank(line.p[i]) || line.p[i] == '\r'))
		i++;
	return i == line.n || (line.p[i] == '#' && !parse_line(line, false, &l));
}

struct cam_folded_shape cam_folded_probe(struct cam_text first)
{
	struct cam_folded_shape shape = {.two_columns = true};
	size_t good = 0, bad = 0;
	const char *end = first.p + first.n;
	for (const char *p = first.p, *nl; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		/* The last line is looked at only where it is all there is. */
		if (!nl && p != first.p)
			break;
		nl = nl ? nl : end;
		struct cam_text text = {p, (size_t)(nl - p)};
		struct line l, two;
		if (is_skipped(text))
			continue;
		if (memchr(p, '\0', text.n) || !parse_line(text, false, &l)) {
			bad++;
			continue;
		}
		good++;
		shape.fractions |= l.counts[1].fraction;
		shape.two_columns = shape.two_columns && parse_line(text, true, &two);
		shape.fractions |= shape.two_columns && two.counts[0].fraction;
	}
	shape.found = good && good >= bad;
	shape.two_columns = shape.two_columns && good;
	return shape;
}

/* Strips the suffix of a kind from the name. */
static enum cam_func_kind take_kind(struct cam_text *name)
{
	static const struct {
		struct cam_text suffix;
		enum cam_func_kind kind;
	} kinds[] = {
		{{"_[k]", 4}, CAM_FUNC_KERNEL},
		{{"_[j]", 4}, CAM_FUNC_JIT},
		{{"_[i]", 4}, CAM_FUNC_INLINED},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (name->n > 4 && cam_text_ends(*name, kinds[i].suffix)) {
			name->n -= 4;
			return kinds[i].kind;
		}
	}
	return CAM_FUNC_USER;
}

static int define_frame(struct reader *r, struct cam_text text, uint32_t *out)
{
	struct cam_location loc = {.func_offset = CAM_OFFSET_NONE};
	struct cam_function func = {.source = text.n ? CAM_NAME_IMPORTED : CAM_NAME_NONE};
	struct cam_loc_id id;
	func.kind = take_kind(&text);
	int err = cam_frame_string(r->sink, text, CAM_ESCAPE_CONTROL, &func.name);
	if (!err)
		err = r->sink->function(r->sink, &func, &loc.func);
	if (!err)
		err = r->sink->location(r->sink, &loc, &id);
	if (!err)
		*out = id.v;
	return err;
}

static int define_task(struct reader *r, struct cam_text text, uint32_t *out)
{
	struct cam_task task = {.pid = CAM_PID_NONE, .tid = CAM_PID_NONE, .uid = CAM_UID_NONE};
	struct cam_task_id id;
	int err = cam_frame_string(r->sink, text, CAM_ESCAPE_CONTROL, &task.comm);
	if (!err)
		err = r->sink->task(r->sink, &task, &id);
	if (!err)
		*out = id.v;
	return err;
}

typedef int define_fn(struct reader *r, struct cam_text text, uint32_t *out);

static int find_or_define(struct reader *r, struct cam_line_cache *cache, define_fn *define,
			  struct cam_text text, uint32_t *out)
{
	uint64_t hash = cam_hash(text.p, text.n);
	uint32_t row = cam_line_cache_find(cache, text, hash);
	if (row && cache->rows[row].generation == r->sink->generation) {
		*out = cache->rows[row].id;
		return 0;
	}
	int err = define(r, text, out);
	if (err)
		return err;
	if (!row)
		row = cam_line_cache_add(cache, text, hash);
	if (row) {
		cache->rows[row].id = *out;
		cache->rows[row].generation = r->sink->generation;
	}
	return 0;
}

static int define_etypes(struct reader *r)
{
	const char *names[2] = {"before", r->shape.two_columns ? "after" : "samples"};
	if (r->shape.fractions && !r->shape.two_columns)
		names[1] = "thousandths";
	if (r->etypes_known && r->etype_generation == r->sink->generation)
		return 0;
	for (int i = r->shape.two_columns ? 0 : 1; i < 2; i++) {
		struct cam_etype e = {.has_weight = true};
		int err = r->sink->string(r->sink, cam_text_of(names[i]), &e.name);
		if (!err)
			err = r->sink->etype(r->sink, &e, &r->etypes[i]);
		if (err)
			return err;
	}
	r->etypes_known = true;
	r->etype_generation = r->sink->generation;
	return 0;
}

/* From the leaf to the root, which is the comm and no frame. */
static int define_frames(struct reader *r, struct cam_text stack, struct cam_task_id *task)
{
	r->n_frames = 0;
	r->truncated = false;
	size_t end = stack.n;
	const char *sep;
	int err = 0;
	while (!err && !r->truncated && (sep = memrchr(stack.p, ';', end))) {
		struct cam_text name = {sep + 1, end - (size_t)(sep + 1 - stack.p)};
		end = (size_t)(sep - stack.p);
		if (r->n_frames < CAM_MAX_STACK_FRAMES) {
			err = find_or_define(r, &r->names, define_frame, name,
					     &r->frames[r->n_frames++].v);
			continue;
		}
		r->truncated = true;
		err = cam_frame_truncated(r->sink, &r->frames[CAM_MAX_STACK_FRAMES - 1]);
	}
	if (err)
		return err;
	sep = memchr(stack.p, ';', stack.n);
	struct cam_text comm = {stack.p, sep ? (size_t)(sep - stack.p) : stack.n};
	return find_or_define(r, &r->comms, define_task, comm, &task->v);
}

static bool weigh(struct reader *r, const struct count *c, uint64_t *weight)
{
	*weight = c->whole;
	if (!r->shape.fractions) {
		r->st->rounded_counts += c->fraction;
		*weight += c->thousandths >= THOUSAND / 2 && *weight < UINT64_MAX;
		return true;
	}
	return !__builtin_mul_overflow(c->whole, (uint64_t)THOUSAND, weight) &&
	       !__builtin_add_overflow(*weight, (uint64_t)c->thousandths, weight);
}

static int deliver(struct reader *r, struct cam_text stack, int column, uint64_t weight)
{
	struct cam_sink_sample sample = {
		.time_ns = CAM_TIME_NONE,
		.weight = weight,
		.cpu = CAM_CPU_NONE,
		.frames = r->frames,
	};
	int err = cam_sink_begin(r->sink, CAM_TIME_NONE);
	if (!err)
		err = define_etypes(r);
	if (!err)
		err = define_frames(r, stack, &sample.task);
	if (!err) {
		sample.etype = r->etypes[column];
		sample.n_frames = r->n_frames;
		err = r->sink->sample(r->sink, &sample);
	}
	if (err == -E2BIG || err == -ERANGE) {
		r->st->refused_samples++;
		return 0;
	}
	if (err)
		return err;
	r->st->samples++;
	r->st->truncated_stacks += r->truncated;
	return 0;
}

static void malformed(struct reader *r)
{
	if (!r->st->malformed_samples++)
		r->st->bad_line = r->st->lines;
}

static int take_line(struct reader *r, struct cam_text text)
{
	struct line l;
	uint64_t before = 0, after;
	if (is_skipped(text))
		return 0;
	if (!parse_line(text, r->shape.two_columns, &l) || !weigh(r, &l.counts[1], &after) ||
	    (l.two && !weigh(r, &l.counts[0], &before))) {
		malformed(r);
		return 0;
	}
	int err = 0;
	if (before)
		err = deliver(r, l.stack, 0, before);
	if (!err && (after || !before))
		err = deliver(r, l.stack, 1, after);
	return err;
}

static int read_lines(struct reader *r)
{
	for (;;) {
		struct cam_text line;
		enum cam_input_line got = cam_input_line(r->in, &line);
		if (got == CAM_LINE_END)
			return 0;
		r->st->lines++;
		if (got == CAM_LINE_LONG) {
			malformed(r);
			continue;
		}
		int err = take_line(r, line);
		if (err)
			return err;
	}
}

static int read_all(struct reader *r, size_t cache_bytes)
{
	int err = cam_line_cache_init(&r->names, cache_bytes);
	if (!err)
		err = cam_line_cache_init(&r->comms, cache_bytes / 8);
	if (!err)
		err = cam_sink_fact(r->sink, CAM_TEXT("format"), CAM_TEXT("folded"));
	if (!err && r->began_ns)
		err = cam_sink_anchor(r->sink, &(struct cam_anchor){
						       .raw_ns = CAM_TIME_NONE,
						       .boottime_ns = CAM_TIME_NONE,
						       .sched_ns = CAM_TIME_NONE,
						       .realtime_ns = r->began_ns,
					       });
	if (err)
		return err;
	r->shape = cam_folded_probe(cam_input_peek(r->in));
	err = read_lines(r);
	if (err)
		return err;
	r->st->unfinished_samples = r->in->cut_lines;
	if (r->in->state == CAM_INPUT_BOMB)
		return -EFBIG;
	return r->in->state == CAM_INPUT_UNREADABLE ? r->in->error : 0;
}

int cam_folded_read(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		    struct cam_import_stats *st)
{
	*st = (struct cam_import_stats){.clock = CAM_CLOCK_ABSENT};
	struct reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->in = in;
	r->sink = sink;
	r->st = st;
	r->began_ns = o ? o->began_ns : 0;
	int err = read_all(r, o && o->cache_bytes ? o->cache_bytes : CACHE_BYTES);
	st->bytes = in->bytes;
	st->bytes_in = in->bytes_in;
	st->long_lines = in->long_lines;
	st->end = in->state;
	cam_line_cache_free(&r->names);
	cam_line_cache_free(&r->comms);
	free(r);
	return err;
}
