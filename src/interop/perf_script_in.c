// SPDX-License-Identifier: Apache-2.0
/*
 * The state machine over lines, and the caches that make it quick.
 *
 * Nearly all lines are frames, and nearly all frames were seen before, so a frame line is first
 * compared with the line that followed its predecessor last time; then looked up by hash; and
 * parsed only when new. The caches hold ids of the sink, which die when its generation changes:
 * each row carries the generation of its id and is defined again from its text when stale.
 *
 *   closed ──head──▶ open ──frame──▶ open ──empty line or head──▶ sample delivered, closed
 *     │                └─refused by the sink──▶ skipped ──empty line or head──▶ closed
 *     └──frame──▶ orphan (its head is missing: counted once) ──empty line or head──▶ closed
 *
 * Invariants
 *  1. begin() is called once for a sample, before any of its definitions.
 *  2. Every sample of the text is in exactly one of: samples, malformed, unfinished, refused.
 *  3. Heads of one file have one shape: all or none have a time, and where heads of the file's
 *     first 64 KiB have an event, all must. So a line that only resembles a head makes no sample.
 *  4. frames[] holds at most CAM_MAX_STACK_FRAMES.
 *
 * Example: "a 1 1.000000: e:", "\t10 f (m)", "", "\t11 g (m)", "": one sample, one orphan.
 */
#include "interop/perf_script_in.h"

#include "base/escape.h"
#include "interop/frame.h"
#include "interop/line_cache.h"
#include "interop/perf_script_line.h"
#include "interop/perf_script_meta.h"
#include "model/tables.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_BYTES	 (64u << 20)
#define TASK_CACHE_BYTES (8u << 20)
#define FLAT_TEXT_BYTES	 256u
#define ETYPE_SLOTS	 32u
#define ETYPE_NAME_BYTES 128u

enum state { CLOSED, OPEN, SKIPPED, ORPHAN };

struct etype_slot {
	char name[ETYPE_NAME_BYTES];
	size_t n;
	bool has_weight, flat;
	uint32_t generation;
	struct cam_etype_id id;
};

struct reader {
	struct cam_input *in;
	struct cam_sink *sink;
	const struct cam_import_options *options;
	struct cam_import_stats *st;
	struct cam_perf_shape shape;
	struct cam_perf_meta meta;
	struct cam_line_cache lines;
	struct cam_line_cache tasks;
	struct etype_slot etypes[ETYPE_SLOTS];
	size_t n_etypes, oldest_etype;
	bool begun, anchored;
	bool frames_flush_left; /* frames of this text start in column 0 */
	bool ends_are_empty;	/* a sample of this text was ended by an empty line */
	uint64_t last_ns;
	uint64_t unreported; /* malformed samples that the ledger does not know yet */

	enum state state;
	struct cam_sink_sample sample;
	uint32_t row; /* of the line before, in lines; 0: the head */
	bool truncated;
	bool flat; /* frames[0] is from the head's line, where flat_text stands */
	size_t flat_text_n;
	char flat_text[FLAT_TEXT_BYTES];
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
};

/* Refusals of one sample, not of the import. */
static bool is_refusal(int err)
{
	return err == -E2BIG || err == -ERANGE;
}

static int refuse(struct reader *r, int err)
{
	if (!is_refusal(err))
		return err;
	r->st->refused_samples++;
	r->state = SKIPPED;
	return 0;
}

static void note_bad_line(struct reader *r)
{
	if (!r->st->bad_line)
		r->st->bad_line = r->st->lines;
}

static void malformed_line(struct reader *r)
{
	r->st->malformed_lines++;
	note_bad_line(r);
}

static void malformed_sample(struct reader *r)
{
	r->st->malformed_samples++;
	r->unreported++;
	note_bad_line(r);
}

static int report_malformed(struct reader *r, uint64_t until_ns)
{
	if (!r->unreported || !r->begun)
		return 0;
	struct cam_ledger_row row = {
		.cause = CAM_CAUSE_MALFORMED,
		.cpu = CAM_CPU_NONE,
		.from_ns = r->shape.timed ? r->last_ns : 0,
		.to_ns = r->shape.timed ? until_ns : 0,
		.samples = r->unreported,
	};
	if (row.from_ns > row.to_ns)
		row.from_ns = row.to_ns;
	r->unreported = 0;
	int err = cam_sink_lost(r->sink, &row);
	return is_refusal(err) ? 0 : err;
}

static int finish_sample(struct reader *r)
{
	enum state state = r->state;
	r->state = CLOSED;
	if (state != OPEN)
		return 0;
	r->sample.frames = r->frames;
	r->st->truncated_stacks += r->truncated;
	int err = r->sink->sample(r->sink, &r->sample);
	if (err) {
		err = refuse(r, err);
		r->state = CLOSED;
		return err;
	}
	r->st->samples++;
	r->in->useful = r->in->bytes;
	return 0;
}

static int define_module(struct reader *r, struct cam_text path, enum cam_module_kind *kind,
			 struct cam_module_id *out)
{
	struct cam_module m = {.kind = cam_frame_module_kind(path)};
	*kind = m.kind;
	out->v = 0;
	if (!path.n)
		return 0;
	int err = cam_frame_string(r->sink, path, CAM_ESCAPE_CONTROL, &m.path);
	return err ? err : r->sink->module(r->sink, &m, out);
}

static int define_frame(struct reader *r, const struct cam_perf_frame *f, struct cam_loc_id *out)
{
	bool drop = r->options->drop_addresses && f->address >> 60 == 0;
	struct cam_location loc = {.address = drop ? 0 : f->address, .func_offset = f->offset};
	struct cam_function func = {.source = CAM_NAME_NONE};
	enum cam_module_kind kind;
	int err = define_module(r, f->module, &kind, &loc.module);
	if (err)
		return err;
	func.module = loc.module;
	func.kind = f->inlined ? CAM_FUNC_INLINED : cam_frame_func_kind(kind, f->address);
	if (f->blank_name || (f->name.n && !cam_text_equal(f->name, CAM_TEXT("[unknown]")))) {
		func.source = CAM_NAME_IMPORTED;
		err = cam_frame_string(r->sink, f->name, CAM_ESCAPE_CONTROL, &func.name);
	}
	if (!err)
		err = r->sink->function(r->sink, &func, &loc.func);
	return err ? err : r->sink->location(r->sink, &loc, out);
}

static int define_detail(struct reader *r, struct cam_text text)
{
	r->sample.detail.v = 0;
	if (!text.n)
		return 0;
	/* One that ends like a head, "a: 5 cycles:", is read as one by stackcollapse. */
	if (r->options->drop_details && text.p[text.n - 1] != ':')
		text = CAM_TEXT(CAM_IMPORT_TEXT_DROPPED);
	return cam_frame_string(r->sink, text, CAM_ESCAPE_CONTROL, &r->sample.detail);
}

/* Frames follow a head with an address in it: that was data, and is a text like any other. */
static int unflatten(struct reader *r)
{
	r->flat = false;
	r->sample.n_frames = 0;
	return define_detail(r, (struct cam_text){r->flat_text, r->flat_text_n});
}

static int push_frame(struct reader *r, struct cam_loc_id id)
{
	int err = r->flat ? unflatten(r) : 0;
	if (err)
		return refuse(r, err);
	if (r->sample.n_frames < CAM_MAX_STACK_FRAMES) {
		r->frames[r->sample.n_frames++] = id;
		return 0;
	}
	if (r->truncated)
		return 0;
	r->truncated = true;
	err = cam_frame_truncated(r->sink, &r->frames[CAM_MAX_STACK_FRAMES - 1]);
	return err ? refuse(r, err) : 0;
}

/* Remembers that this row follows the one before. */
static void follow(struct reader *r, uint32_t row)
{
	r->lines.rows[r->row].next = row;
	r->row = row;
}

/*
 * How much of a frame line its cache need not know: blanks and the address, where addresses are
 * dropped. Kernel addresses (16 digits) stay: they are the same for all, and tell a kind.
 */
static size_t forgotten(const struct reader *r, const char *p, const char *end)
{
	/* perf starts frames with a tab; below blanks a line may be something else. */
	if (!r->options->drop_addresses || p == end || *p != '\t')
		return 0;
	const char *q = p;
	while (q < end && (*q == ' ' || *q == '\t'))
		q++;
	const char *digits = q;
	while (q < end && ((*q >= '0' && *q <= '9') || (*q >= 'a' && *q <= 'f')))
		q++;
	bool user = q > digits && q - digits < 16 && q < end && *q == ' ';
	return user ? (size_t)(q - p) : 0;
}

/* The id of a frame line of which nothing current is known; CAM_NONE for a source line. */
static int define_line(struct reader *r, struct cam_text line, struct cam_loc_id *out)
{
	struct cam_perf_frame f;
	out->v = CAM_NONE;
	if (!cam_perf_frame_parse(line, &f) ||
	    (cam_perf_is_source_line(line) && !(f.has_address && f.module.n)))
		return 0;
	return define_frame(r, &f, out);
}

/*
 * A line in an open sample that is a frame, or stands below one, with its newline: cached lines
 * are compared with the text as it comes. row: in the cache, 0: not there.
 */
static int take_frame(struct reader *r, struct cam_text line, uint32_t row, uint64_t hash)
{
	size_t skip = forgotten(r, line.p, line.p + line.n);
	if (r->state != OPEN)
		return 0;
	uint32_t generation = r->sink->generation;
	struct cam_loc_id id;
	if (row && r->lines.rows[row].generation == generation) {
		id.v = r->lines.rows[row].id;
	} else {
		int err = define_line(r, (struct cam_text){line.p, line.n - 1}, &id);
		if (err)
			return refuse(r, err);
		uint64_t resets = r->lines.resets;
		if (!row)
			row = cam_line_cache_add(
				&r->lines, (struct cam_text){line.p + skip, line.n - skip}, hash);
		if (r->lines.resets != resets)
			r->row = 0;
		if (row) {
			r->lines.rows[row].id = id.v;
			r->lines.rows[row].generation = generation;
		}
	}
	if (row)
		follow(r, row);
	return id.v == CAM_NONE ? 0 : push_frame(r, id);
}

static int define_etype(struct reader *r, const struct cam_perf_head *h)
{
	uint32_t generation = r->sink->generation;
	/* perf moves the comm to the right of its columns where no chains were sampled, and only there. */
	bool flat = h->who.n && (h->who.p[0] == ' ' || h->who.p[0] == '\t');
	struct etype_slot *slot = NULL;
	for (size_t i = 0; i < r->n_etypes && !slot; i++) {
		struct etype_slot *e = &r->etypes[i];
		if (e->has_weight == h->has_weight && e->flat == flat && e->n == h->event.n &&
		    memcmp(e->name, h->event.p, e->n) == 0)
			slot = e;
	}
	if (slot && slot->generation == generation) {
		r->sample.etype = slot->id;
		return 0;
	}
	struct cam_etype e = {
		.period_ns = cam_perf_meta_period(&r->meta, h->event),
		.has_weight = h->has_weight,
		.flat = flat,
	};
	int err = cam_frame_string(r->sink, h->event, CAM_ESCAPE_CONTROL, &e.name);
	if (!err)
		err = r->sink->etype(r->sink, &e, &r->sample.etype);
	if (err || h->event.n > ETYPE_NAME_BYTES)
		return err;
	if (!slot && r->n_etypes < ETYPE_SLOTS)
		slot = &r->etypes[r->n_etypes++];
	else if (!slot)
		slot = &r->etypes[r->oldest_etype++ % ETYPE_SLOTS];
	slot->n = h->event.n;
	memcpy(slot->name, h->event.p, slot->n);
	slot->has_weight = h->has_weight;
	slot->flat = flat;
	slot->generation = generation;
	slot->id = r->sample.etype;
	return 0;
}

static int define_task(struct reader *r, const struct cam_perf_head *h)
{
	uint32_t generation = r->sink->generation;
	uint64_t hash = cam_hash(h->who.p, h->who.n);
	uint32_t row = cam_line_cache_find(&r->tasks, h->who, hash);
	if (row && r->tasks.rows[row].generation == generation) {
		r->sample.task.v = r->tasks.rows[row].id;
		return 0;
	}
	struct cam_task k = {.pid = h->pid, .tid = h->tid, .uid = CAM_UID_NONE};
	int err = cam_frame_string(r->sink, h->comm, CAM_ESCAPE_CONTROL, &k.comm);
	if (!err)
		err = r->sink->task(r->sink, &k, &r->sample.task);
	if (err)
		return err;
	if (!row)
		row = cam_line_cache_add(&r->tasks, h->who, hash);
	if (row) {
		r->tasks.rows[row].id = r->sample.task.v;
		r->tasks.rows[row].generation = generation;
	}
	return 0;
}

static int begin(struct reader *r, uint64_t time_ns)
{
	int err = cam_sink_begin(r->sink, time_ns);
	if (err)
		return err;
	r->begun = true;
	if (!r->anchored && r->shape.timed) {
		struct cam_anchor anchor;
		r->anchored = true;
		if (cam_perf_meta_anchor(&r->meta, r->options, time_ns, &anchor))
			err = cam_sink_anchor(r->sink, &anchor);
	}
	if (!err)
		err = report_malformed(r, time_ns);
	r->last_ns = time_ns;
	return err;
}

/* "PERF_RECORD_LOST lost 12"; the others are of no use here. */
static int side_band(struct reader *r, const struct cam_perf_head *h)
{
	const char *lost = memmem(h->text.p, h->text.n, " lost ", 6);
	uint64_t n = 0;
	if (!cam_text_starts(h->text, CAM_TEXT("PERF_RECORD_LOST")) || !lost || !h->decimals) {
		r->st->other_records++;
		return 0;
	}
	for (const char *p = lost + 6; p < h->text.p + h->text.n && *p >= '0' && *p <= '9'; p++) {
		if (n > UINT32_MAX)
			break;
		n = n * 10 + (uint64_t)(*p - '0');
	}
	struct cam_ledger_row row = {
		.cause = CAM_CAUSE_LOST_RING,
		.cpu = h->cpu,
		.from_ns = h->time_ns,
		.to_ns = h->time_ns,
		.samples = n,
	};
	int err = begin(r, h->time_ns);
	if (!err)
		err = cam_sink_lost(r->sink, &row);
	r->st->lost_samples += n;
	return is_refusal(err) ? 0 : err;
}

static int open_flat(struct reader *r, const struct cam_perf_head *h)
{
	r->flat = true;
	r->flat_text_n = h->text.n < FLAT_TEXT_BYTES ? h->text.n : FLAT_TEXT_BYTES;
	memcpy(r->flat_text, h->text.p, r->flat_text_n);
	r->sample.n_frames = 1;
	return define_frame(r, &h->frame, &r->frames[0]);
}

static int open_sample(struct reader *r, const struct cam_perf_head *h)
{
	r->state = OPEN;
	r->row = 0;
	r->truncated = r->flat = false;
	r->sample = (struct cam_sink_sample){
		.time_ns = h->time_ns,
		.weight = h->weight,
		.cpu = h->cpu,
	};
	int err = begin(r, h->time_ns);
	if (!err)
		err = define_etype(r, h);
	if (!err)
		err = define_task(r, h);
	if (!err)
		err = h->flat ? open_flat(r, h) : define_detail(r, h->text);
	return err ? refuse(r, err) : 0;
}

/* "PERF_RECORD_LOST lost 12", "PERF_RECORD_COMM: sh:1/1": other records than samples. */
static bool is_side_band(const struct cam_perf_head *h)
{
	return cam_text_starts(h->event.n ? h->event : h->text, CAM_TEXT("PERF_RECORD_"));
}

static bool parse_head(const struct reader *r, struct cam_text line, struct cam_perf_head *h)
{
	return cam_perf_head_parse(line, r->shape.timed, h) &&
	       (h->event.n || !r->shape.with_event || is_side_band(h));
}

/* 1: it was a head, and taken; 0: it is none. */
static int try_head(struct reader *r, struct cam_text line)
{
	struct cam_perf_head h;
	if (!parse_head(r, line, &h))
		return 0;
	int err = finish_sample(r);
	if (err)
		return err;
	if (h.decimals > 6)
		r->st->time_unit_ns = 1;
	err = is_side_band(&h) ? side_band(r, &h) : open_sample(r, &h);
	return err ? err : 1;
}

/* A frame in a state that has no use for it. */
static void stray_frame(struct reader *r)
{
	if (r->state != CLOSED)
		return;
	malformed_sample(r);
	r->state = ORPHAN;
}

static bool has_address(struct cam_text line)
{
	struct cam_perf_frame f;
	return cam_perf_frame_parse(line, &f) && f.has_address && (f.module.n || f.inlined);
}

/* The row of a line (with its newline) in the cache, 0: none; and the hash to add it with. */
static uint32_t find_line(const struct reader *r, struct cam_text line, uint64_t *hash)
{
	size_t skip = forgotten(r, line.p, line.p + line.n);
	struct cam_text key = {line.p + skip, line.n - skip};
	*hash = cam_hash(key.p, key.n);
	return cam_line_cache_find(&r->lines, key, *hash);
}

/*
 * Starts with a blank: a frame; or a head, padded on the left or with an empty comm. perf's frames
 * start with a tab, its padding is spaces. Where frames are indented by spaces too, a line that
 * can be read both ways ("dd 26172 [000] …": dd is a number) is a head unless frames came before.
 */
static int indented_line(struct reader *r, struct cam_text line)
{
	struct cam_text with_end = {line.p, line.n + 1};
	bool open = r->state == OPEN, tab = line.p[0] == '\t';
	uint64_t hash = 0;
	if (open) {
		uint32_t row = find_line(r, with_end, &hash);
		if (row || tab || (r->row && has_address(line)))
			return take_frame(r, with_end, row, hash);
	} else if (tab && r->state != CLOSED) {
		return 0;
	}
	int taken = try_head(r, line);
	if (taken)
		return taken < 0 ? taken : 0;
	stray_frame(r);
	return open ? take_frame(r, with_end, 0, hash) : 0;
}

static int flush_line(struct reader *r, struct cam_text line)
{
	if (r->frames_flush_left && r->state == OPEN) {
		struct cam_text with_end = {line.p, line.n + 1};
		uint64_t hash;
		uint32_t row = find_line(r, with_end, &hash);
		if (row)
			return take_frame(r, with_end, row, hash);
	}
	int taken = try_head(r, line);
	if (taken)
		return taken < 0 ? taken : 0;
	if (has_address(line)) {
		struct cam_text with_end = {line.p, line.n + 1};
		uint64_t hash;
		uint32_t row = find_line(r, with_end, &hash);
		r->frames_flush_left = true;
		stray_frame(r);
		return take_frame(r, with_end, row, hash);
	}
	if (r->state == CLOSED || !cam_perf_is_source_line(line))
		malformed_line(r);
	return 0;
}

static bool is_comment(struct cam_text line)
{
	return line.p[0] == '#' && (line.n == 1 || line.p[1] == ' ' || line.p[1] == '\r');
}

static int take_line(struct reader *r, struct cam_text line)
{
	r->st->lines++;
	if (!line.n || (line.n == 1 && line.p[0] == '\r')) {
		r->ends_are_empty |= r->state != CLOSED;
		return finish_sample(r);
	}
	if (memchr(line.p, 0, line.n))
		r->st->zero_lines++;
	if (is_comment(line))
		return cam_perf_meta_line(&r->meta, line, r->sink);
	if (line.p[0] == ' ' || line.p[0] == '\t')
		return indented_line(r, line);
	return flush_line(r, line);
}

/*
 * Too long to be kept whole. As a frame its name is cut; as a head its text would be, but what
 * counts stands at the front.
 */
static int take_long_line(struct reader *r, struct cam_text line)
{
	r->st->lines++;
	if (memchr(line.p, 0, line.n))
		r->st->zero_lines++;
	if (line.p[0] != ' ' && line.p[0] != '\t') {
		int taken = try_head(r, line);
		if (taken == 0)
			malformed_line(r);
		return taken < 0 ? taken : 0;
	}
	stray_frame(r);
	if (r->state != OPEN)
		return 0;
	struct cam_loc_id id;
	int err = define_line(r, line, &id);
	if (err)
		return refuse(r, err);
	return id.v == CAM_NONE ? 0 : push_frame(r, id);
}

/* Takes frame lines for as long as each is the one that followed last time. */
static int take_expected(struct reader *r)
{
	const struct cam_line_cache *c = &r->lines;
	struct cam_input *in = r->in;
	while (r->state == OPEN) {
		uint32_t next = c->rows[r->row].next;
		const struct cam_line_row *row = &c->rows[next];
		if (!next || row->generation != r->sink->generation)
			return 0;
		const char *p = in->p + forgotten(r, in->p, in->end);
		if ((size_t)(in->end - p) < row->n || memcmp(p, c->bytes + row->at, row->n) != 0)
			return 0;
		in->p = p + row->n;
		r->row = next;
		r->st->lines++;
		if (row->id != CAM_NONE) {
			int err = push_frame(r, (struct cam_loc_id){row->id});
			if (err)
				return err;
		}
	}
	return 0;
}

static int read_lines(struct reader *r)
{
	for (;;) {
		struct cam_text line;
		int err = take_expected(r);
		if (err)
			return err;
		switch (cam_input_line(r->in, &line)) {
		case CAM_LINE_END:
			return 0;
		case CAM_LINE_WHOLE:
			err = take_line(r, line);
			break;
		case CAM_LINE_LONG:
			err = take_long_line(r, line);
			break;
		}
		if (err)
			return err;
	}
}

/* Without empty lines between samples, a head alone is all of a sample. */
static int finish_text(struct reader *r)
{
	struct cam_input *in = r->in;
	int err = 0;
	if (r->state == OPEN && (r->flat || !r->sample.n_frames) && !r->ends_are_empty) {
		err = finish_sample(r);
	} else if (r->state == OPEN) {
		r->st->unfinished_samples++;
		r->unreported++;
	}
	/* How many samples a cut file has lost it cannot say: at least one, for the ledger. */
	if (in->state != CAM_INPUT_WHOLE && !r->unreported)
		r->unreported = 1;
	if (!err)
		err = report_malformed(r, r->last_ns);
	if (err)
		return err;
	if (in->state == CAM_INPUT_BOMB)
		return -EFBIG;
	return in->state == CAM_INPUT_UNREADABLE ? in->error : 0;
}

struct cam_perf_shape cam_perf_script_probe(struct cam_text first)
{
	struct cam_perf_shape shape = {0}, untimed = {0}, side = {0};
	struct cam_perf_head h;
	bool after_untimed = false;
	const char *end = first.p + first.n;
	for (const char *p = first.p, *nl; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			break;
		struct cam_text line = {p, (size_t)(nl - p)};
		if (!line.n || is_comment(line) || line.n > CAM_INPUT_LINE_BYTES)
			continue;
		bool timed = cam_perf_head_parse(line, true, &h);
		if (timed && is_side_band(&h)) {
			side = (struct cam_perf_shape){true, true, true, h.decimals};
		} else if (timed) {
			if (!shape.found)
				shape = (struct cam_perf_shape){true, true, false, h.decimals};
			shape.with_event |= h.event.n > 0;
		} else if (after_untimed && has_address(line)) {
			untimed.found = true;
		}
		after_untimed = p[0] != ' ' && p[0] != '\t' && cam_perf_head_parse(line, false, &h);
		untimed.with_event |= after_untimed && h.event.n;
	}
	/* --show-mmap-events: what was there before the recording may fill the first bytes. */
	return shape.found ? shape : untimed.found ? untimed : side;
}

static void decide_shape(struct reader *r)
{
	struct cam_text first = cam_input_peek(r->in);
	r->shape = cam_perf_script_probe(first);
	/* A preamble longer than what can be looked at: what perf prints unless told otherwise. */
	if (!r->shape.found)
		r->shape = (struct cam_perf_shape){false, true, true, 6};
	r->st->clock = r->shape.timed ? CAM_CLOCK_FOREIGN : CAM_CLOCK_ABSENT;
	r->st->time_unit_ns = !r->shape.timed ? 0 : r->shape.decimals > 6 ? 1 : 1000;
}

static int read_all(struct reader *r)
{
	size_t cache_bytes = r->options->cache_bytes ? r->options->cache_bytes : CACHE_BYTES;
	int err = cam_line_cache_init(&r->lines, cache_bytes);
	if (!err)
		err = cam_line_cache_init(&r->tasks, TASK_CACHE_BYTES);
	if (err)
		return err;
	decide_shape(r);
	err = cam_sink_fact(r->sink, CAM_TEXT("format"), CAM_TEXT("perf script"));
	if (!err)
		err = read_lines(r);
	return err ? err : finish_text(r);
}

int cam_perf_script_read(struct cam_input *in, struct cam_sink *sink,
			 const struct cam_import_options *o, struct cam_import_stats *st)
{
	static const struct cam_import_options none;
	*st = (struct cam_import_stats){0};
	struct reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->in = in;
	r->sink = sink;
	r->options = o ? o : &none;
	r->st = st;
	int err = read_all(r);
	st->bytes = in->bytes;
	st->bytes_in = in->bytes_in;
	st->long_lines = in->long_lines;
	st->malformed_lines += in->cut_lines;
	st->end = in->state;
	cam_line_cache_free(&r->lines);
	cam_line_cache_free(&r->tasks);
	free(r);
	return err;
}
