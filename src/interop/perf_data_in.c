// SPDX-License-Identifier: Apache-2.0
/*
 * From bytes to records, and records to their turn.
 *
 *   files ──▶ cam_input ──▶ records ──(-z: unpacked, records again)──▶ order ──▶ batch ──▶ sink
 *
 * Records of perf's own (type 64 and up) are about the file and work at once; the kernel's wait in the
 * order. They have their turn when BATCH_BYTES have gathered and a round is over; a batch is what goes to the sink
 * then, or BATCH_SAMPLES of several turns.
 *
 * Damage. A record header that cannot be one (a size below 8, or not a multiple of 8; a type that nobody
 * has) costs bytes, 8 at a time, up to the next place where two headers that can be stand behind each
 * other. A record whose fields do not fit costs itself.
 *
 * Invariants
 *  1. Every byte of the records is in exactly one of: a record, damaged_bytes, missing_bytes.
 *  2. A stream's unread tail is less than a record (64 KiB) when more is asked for.
 */
#include "interop/perf_data_reader.h"
#include "interop/perf_data_unpack.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#define DETAIL_BYTES  65536u
#define BATCH_BYTES   (8u << 20)
#define BATCH_SAMPLES (1u << 19)
#define BARE_BYTES    (1u << 20) /* where no stacks are asked for: what a cache has room for */
#define TURN_BYTES    (1u << 20)
#define AHEAD	      8u  /* records: the slot of a chain is a miss in every cache … */
#define FAR_AHEAD     16u /* … and so is its hash, before that */
#define TRACING_DATA  1	  /* its number among the features */
#define MAX_TRACING   (64u << 20)
#define MAX_KERNEL    32u /* types of records the kernel may have one day */
#define LONG_RECORD   8192u
#define SUSPECT_BYTES 2048u

/* Types of records that perf itself writes. */
enum {
	HEADER_ATTR = 64,
	HEADER_TRACING_DATA = 66,
	HEADER_BUILD_ID = 67,
	FINISHED_ROUND = 68,
	AUXTRACE = 71,
	EVENT_UPDATE = 78,
	HEADER_FEATURE = 80,
	COMPRESSED = 81,
	COMPRESSED2 = 83,
	PERF_TYPES_END = 96,
};

struct stream {
	struct cam_perf_reader *r;
	size_t number;
	struct cam_input *in;
	const struct cam_perf_file *file;
	uint64_t at, end; /* of the records in the file */
	struct cam_perf_unpack *unpack;
	bool done;
};

static uint64_t time_of(const struct cam_perf_reader *r, const struct cam_perf_event *e,
			const uint8_t *p, size_t bytes, bool sample)
{
	size_t at = !e ? 0 : sample ? e->time_at : e->time_before_end;
	if (!at || at + 8 > bytes)
		return 0;
	return cam_perf_load_u64(sample ? p + at : p + bytes - at, r->swap);
}

static int take_ready(struct cam_perf_reader *r, enum cam_perf_order_which which)
{
	struct cam_perf_order *o = &r->order;
	int err = cam_perf_order_ready(o, which);
	for (size_t i = 0; i < o->n_ready && !err; i++) {
		const struct cam_perf_order_entry *e = &o->ready[i];
		size_t plain = e->what & CAM_PERF_ORDER_PLAIN
				       ? cam_perf_plain_deliver(r, e, o->n_ready - i)
				       : 0;
		if (plain) {
			i += plain - 1;
			continue;
		}
		if (i + FAR_AHEAD < o->n_ready && !(e[FAR_AHEAD].what & CAM_PERF_ORDER_PLAIN))
			__builtin_prefetch(cam_perf_order_record(o, e + FAR_AHEAD) - 16);
		if (i + AHEAD < o->n_ready && e[AHEAD].what & CAM_PERF_ORDER_HASHED)
			cam_perf_chains_prefetch(&r->chains, cam_perf_order_hash(o, e + AHEAD).low);
		err = cam_perf_reader_record(r, e);
	}
	/* Names are asked for by the batch: a large one asks less often. What points into the records cannot wait. */
	if (!err && (r->n_pending >= BATCH_SAMPLES ||
		     r->n_frames - r->old_frames > CAM_PERF_ENOUGH_FRAMES || r->has_bytes ||
		     r->n_copies || r->options->drop_stacks))
		err = cam_perf_reader_deliver(r);
	cam_perf_order_drop(o);
	return err;
}

/*
 * What a sample says beside its chain, where no stacks are asked for: a fifth of its bytes. False: it is to be kept as it
 * is (an idle CPU's, which is known by its stack, or not well made).
 */
static bool strip(const struct cam_perf_reader *r, const struct cam_perf_event *e, const uint8_t *p,
		  size_t bytes, struct cam_perf_bare *out)
{
	size_t at = e->last_chain_at;
	if (!at || at + 8 > bytes || cam_perf_load_u64(p + at, r->swap) > (bytes - at - 8) / 8)
		return false;
	*out = (struct cam_perf_bare){
		.pid = (int32_t)cam_perf_load_u32(p + e->pid_at, r->swap),
		.tid = (int32_t)cam_perf_load_u32(p + e->pid_at + 4, r->swap),
		.cpu = e->cpu_at ? cam_perf_load_u32(p + e->cpu_at, r->swap) : CAM_CPU_NONE,
		.period = e->period_at ? cam_perf_load_u64(p + e->period_at, r->swap)
				       : e->attr.period,
	};
	return out->pid != 0;
}

/* Of a sample whose chain is the last of its fields, and whole. */
static bool hash_chain(const struct cam_perf_reader *r, const struct cam_perf_event *e,
		       const uint8_t *p, size_t bytes, struct cam_hash_128 *out)
{
	size_t at = e->last_chain_at;
	if (!at || at + 8 > bytes)
		return false;
	uint64_t n = cam_perf_load_u64(p + at, r->swap);
	if (n > (bytes - at - 8) / 8)
		return false;
	*out = cam_perf_chain_hash(p + at + 8, n * 8,
				   (int32_t)cam_perf_load_u32(p + e->pid_at, r->swap));
	return true;
}

static int queue(struct stream *s, const uint8_t *p, size_t bytes, bool sample)
{
	struct cam_perf_reader *r = s->r;
	struct cam_perf_bare bare;
	struct cam_hash_128 hash;
	if (!sample)
		bytes = cam_perf_events_trim(&r->events, p, bytes, r->swap);
	const struct cam_perf_event *e = cam_perf_events_of(&r->events, p, bytes, sample, r->swap);
	struct cam_perf_order_entry entry = {.time_ns = time_of(r, e, p, bytes, sample)};
	if (!sample && cam_perf_plain_leaves_out(r, p, bytes)) {
		cam_perf_order_saw(&r->order, s->number, entry.time_ns);
		return 0;
	}
	if (sample && e)
		entry.what = (uint16_t)(e - r->events.rows + 1);
	if (sample && e && r->options->drop_stacks) {
		if (strip(r, e, p, bytes, &bare)) {
			entry.what |= CAM_PERF_ORDER_BARE;
			p = (const uint8_t *)&bare;
			bytes = sizeof(bare);
		}
	} else if (sample && e && hash_chain(r, e, p, bytes, &hash)) {
		entry.what |= CAM_PERF_ORDER_HASHED;
	}
	entry.n = (uint16_t)bytes;
	int err = cam_perf_order_add(&r->order, s->number, &entry, p, &hash);
	if (err != -E2BIG)
		return err;
	err = take_ready(r, CAM_PERF_ORDER_HALF);
	return err ? err : cam_perf_order_add(&r->order, s->number, &entry, p, &hash);
}

/* How much waits, in bytes; of plain samples there are only entries. */
static size_t waiting(const struct cam_perf_reader *r)
{
	const struct cam_perf_order *o = &r->order;
	return o->used + (r->options->drop_stacks ? o->n * sizeof(*o->entries) : 0);
}

/* Much is taken at once, so that it is sorted once; little where it all stays in a cache. */
static bool is_enough(const struct cam_perf_reader *r)
{
	return waiting(r) >= (r->options->drop_stacks ? BARE_BYTES : BATCH_BYTES);
}

static int on_attr(struct cam_perf_reader *r, const uint8_t *p, size_t bytes)
{
	struct cam_perf_attr a;
	uint32_t number;
	if (!cam_perf_attr_decode(p + 8, bytes - 8, r->swap, &a) || a.size < 48 ||
	    a.size > bytes - 8)
		return 0;
	int err = cam_perf_events_add(&r->events, &a, &number);
	for (size_t at = 8 + a.size; at + 8 <= bytes && !err; at += 8)
		err = cam_perf_events_add_id(&r->events, number,
					     cam_perf_load_u64(p + at, r->swap));
	return err == -E2BIG ? 0 : err;
}

/* What a pipe says of an event later: of these its name is of use. */
static void on_event_update(struct cam_perf_reader *r, const uint8_t *p, size_t bytes)
{
	struct cam_perf_bytes b = cam_perf_bytes_make(p + 8, bytes - 8, r->swap);
	uint64_t type = cam_perf_bytes_u64(&b), id = cam_perf_bytes_u64(&b);
	struct cam_perf_event *e = cam_perf_events_find(&r->events, id);
	struct cam_text name = cam_perf_bytes_text(&b);
	if (type == 2 && e && name.n)
		cam_perf_event_rename(e, name);
}

static struct cam_perf_features features_of(struct cam_perf_reader *r)
{
	return (struct cam_perf_features){&r->events, &r->stacks, r->sink, &r->meta, r->swap};
}

static int take_record(struct stream *s, const uint8_t *p, size_t bytes);

static int on_unpacked(void *arg, const uint8_t *p, size_t bytes)
{
	return take_record(arg, p, bytes);
}

static int on_compressed(struct stream *s, const uint8_t *p, size_t bytes, bool sized)
{
	struct cam_perf_reader *r = s->r;
	size_t skip = 8 + (sized ? 8u : 0u);
	if (bytes < skip)
		return 0;
	uint64_t n = sized ? cam_perf_load_u64(p + 8, r->swap) : bytes - skip;
	if (n > bytes - skip)
		n = bytes - skip;
	int err = s->unpack ? 0 : cam_perf_unpack_new(on_unpacked, s, r->swap, &s->unpack);
	if (!err)
		err = cam_perf_unpack_take(s->unpack, p + skip, n);
	if (err == -EFBIG)
		r->st->end = CAM_INPUT_BOMB;
	return err;
}

/* Takes the formats of tracepoints, which follow their record; padded to a multiple of 8. */
static int take_tracing_data(struct stream *s, uint64_t n)
{
	struct cam_input *in = s->in;
	const struct cam_perf_features to = features_of(s->r);
	struct cam_buf all = CAM_BUF(MAX_TRACING);
	while (all.len < n && !cam_buf_error(&all)) {
		uint64_t there = (uint64_t)(in->end - in->p), want = n - all.len;
		if (!there && !cam_input_more(in))
			break;
		there = (uint64_t)(in->end - in->p);
		there = there < want ? there : want;
		cam_buf_put(&all, in->p, there);
		in->p += there;
	}
	int err = cam_buf_error(&all);
	if (!err)
		err = cam_perf_features_take(&to, TRACING_DATA, all.data, all.len);
	s->r->st->missing_bytes += n - all.len;
	cam_buf_free(&all);
	return err;
}

/* Skips bytes that follow a record and are not counted in its size. */
static int skip_payload(struct stream *s, uint64_t n)
{
	struct cam_input *in = s->in;
	while (n) {
		uint64_t there = (uint64_t)(in->end - in->p);
		if (!there && !cam_input_more(in)) {
			s->r->st->missing_bytes += n;
			return 0;
		}
		there = (uint64_t)(in->end - in->p);
		there = there < n ? there : n;
		in->p += there;
		n -= there;
	}
	return 0;
}

static int on_own_record(struct stream *s, uint32_t type, const uint8_t *p, size_t bytes)
{
	struct cam_perf_reader *r = s->r;
	const struct cam_perf_features to = features_of(r);
	switch (type) {
	case FINISHED_ROUND:
		cam_perf_order_round(&r->order, s->number);
		return is_enough(r) ? take_ready(r, CAM_PERF_ORDER_PROMISED) : 0;
	case HEADER_ATTR:
		return on_attr(r, p, bytes);
	case EVENT_UPDATE:
		on_event_update(r, p, bytes);
		return 0;
	case HEADER_BUILD_ID:
		return cam_perf_features_build_id(&to, cam_perf_load_u16(p + 4, r->swap), p + 8,
						  bytes - 8);
	case HEADER_FEATURE:
		if (bytes < 16)
			return 0;
		return cam_perf_features_take(&to, cam_perf_load_u64(p + 8, r->swap), p + 16,
					      bytes - 16);
	case COMPRESSED:
	case COMPRESSED2:
		return on_compressed(s, p, bytes, type == COMPRESSED2);
	default:
		r->st->other_records++;
		return 0;
	}
}

static int take_record(struct stream *s, const uint8_t *p, size_t bytes)
{
	uint32_t type = cam_perf_load_u32(p, s->r->swap);
	if (type >= HEADER_ATTR)
		return on_own_record(s, type, p, bytes);
	return queue(s, p, bytes, type == PERF_RECORD_SAMPLE);
}

/* The kernel's records are multiples of 8; perf's own (compressed ones) need not be. */
bool cam_perf_is_header(const uint8_t *p, bool swap)
{
	uint32_t type = cam_perf_load_u32(p, swap);
	uint16_t size = cam_perf_load_u16(p + 6, swap);
	if (size < CAM_PERF_RECORD_HEADER)
		return false;
	if (type >= HEADER_ATTR)
		return type < PERF_TYPES_END;
	/* Only samples can be long: they hold stacks; the others at most the path of a file. */
	return type && type < MAX_KERNEL && size % 8 == 0 &&
	       (type == PERF_RECORD_SAMPLE || size <= LONG_RECORD);
}

/* Until n bytes are there; false: they never will be. */
static bool gather(struct cam_input *in, size_t n)
{
	while ((size_t)(in->end - in->p) < n) {
		if (!cam_input_more(in))
			return false;
	}
	return true;
}

/* Whether a record stands here that leads to another, or to the end. */
static bool is_place(struct cam_input *in, bool swap)
{
	if (!gather(in, CAM_PERF_RECORD_HEADER) ||
	    !cam_perf_is_header((const uint8_t *)in->p, swap))
		return false;
	size_t size = cam_perf_load_u16(in->p + 6, swap);
	if (!gather(in, size + CAM_PERF_RECORD_HEADER))
		return (size_t)(in->end - in->p) == size;
	return cam_perf_is_header((const uint8_t *)in->p + size, swap);
}

/*
 * A size that is not true would swallow the samples that follow. So one that does not lead to another
 * header, or is larger than most, is held against what the sample's fields take.
 */
static bool is_believed(struct stream *s, size_t bytes)
{
	struct cam_perf_reader *r = s->r;
	const uint8_t *p = (const uint8_t *)s->in->p;
	if (cam_perf_load_u32(p, r->swap) != PERF_RECORD_SAMPLE)
		return true;
	bool leads = (size_t)(s->in->end - s->in->p) < bytes + CAM_PERF_RECORD_HEADER ||
		     cam_perf_is_header(p + bytes, r->swap);
	if (leads && bytes < SUSPECT_BYTES)
		return true;
	struct cam_perf_sample sample;
	const struct cam_perf_event *e = cam_perf_events_of(&r->events, p, bytes, true, r->swap);
	return e && cam_perf_sample_parse(e, p, bytes, r->swap, &sample) && !sample.left;
}

static void resync(struct stream *s)
{
	struct cam_input *in = s->in;
	do {
		size_t left = (size_t)(in->end - in->p), step = left < 8 ? left : 8;
		in->p += step;
		s->r->st->damaged_bytes += step;
	} while (gather(in, CAM_PERF_RECORD_HEADER) && !is_place(in, s->r->swap));
	if ((size_t)(in->end - in->p) < CAM_PERF_RECORD_HEADER) {
		s->r->st->damaged_bytes += (size_t)(in->end - in->p);
		in->p = in->end;
	}
}

/* Bytes that follow some records of perf's own. */
static uint64_t payload_of(const uint8_t *p, size_t bytes, bool swap)
{
	uint32_t type = cam_perf_load_u32(p, swap);
	if (type == HEADER_TRACING_DATA && bytes >= 12)
		return (cam_perf_load_u32(p + 8, swap) + 7ull) & ~7ull;
	if (type == AUXTRACE && bytes >= 16)
		return cam_perf_load_u64(p + 8, swap);
	return 0;
}

/* One record; false at the end, or with *err set. */
static bool step(struct stream *s, int *err)
{
	struct cam_input *in = s->in;
	bool swap = s->r->swap;
	if (s->r->options->drop_tasks) {
		size_t plain = cam_perf_plain_queue(s->r, s->number, (const uint8_t *)in->p,
						    (size_t)(in->end - in->p));
		in->p += plain;
		in->useful = plain ? in->bytes : in->useful;
	}
	if (!gather(in, CAM_PERF_RECORD_HEADER)) {
		s->r->st->missing_bytes += (size_t)(in->end - in->p);
		in->p = in->end;
		return false;
	}
	if (!cam_perf_is_header((const uint8_t *)in->p, swap)) {
		resync(s);
		return true;
	}
	size_t bytes = cam_perf_load_u16(in->p + 6, swap);
	if (!gather(in, bytes)) {
		/* The last one: cut, or its size is not true. */
		s->r->st->missing_bytes += bytes - (size_t)(in->end - in->p);
		in->p = in->end;
		return false;
	}
	gather(in, bytes + CAM_PERF_RECORD_HEADER);
	if (!is_believed(s, bytes)) {
		resync(s);
		return true;
	}
	const uint8_t *p = (const uint8_t *)in->p;
	uint64_t payload = payload_of(p, bytes, swap);
	uint32_t type = cam_perf_load_u32(p, swap);
	in->p += bytes;
	*err = take_record(s, p, bytes);
	if (!*err && payload && type == HEADER_TRACING_DATA && payload <= MAX_TRACING)
		*err = take_tracing_data(s, payload);
	else if (!*err && payload)
		*err = skip_payload(s, payload);
	in->useful = in->bytes;
	return !*err;
}

static int end_stream(struct stream *s)
{
	struct cam_perf_reader *r = s->r;
	struct cam_import_stats *st = r->st;
	s->done = true;
	cam_perf_order_end(&r->order, s->number);
	if (s->unpack)
		st->damaged_bytes += cam_perf_unpack_damage(s->unpack);
	if (s->in->state != CAM_INPUT_WHOLE)
		st->end = s->in->state;
	st->bytes += s->in->bytes;
	st->bytes_in += s->in->bytes_in;
	if (s->in->state == CAM_INPUT_BOMB)
		return -EFBIG;
	return s->in->state == CAM_INPUT_UNREADABLE ? s->in->error : 0;
}

/* The stream that is farthest behind has the next turn. */
static struct stream *next_stream(struct stream *streams, size_t n)
{
	struct stream *found = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct cam_perf_order_stream *a = &streams[i].r->order.streams[i];
		if (!streams[i].done &&
		    (!found || a->newest < found->r->order.streams[found->number].newest))
			found = &streams[i];
	}
	return found;
}

static int read_streams(struct cam_perf_reader *r, struct stream *streams, size_t n)
{
	int err = 0;
	for (struct stream *s; !err && (s = next_stream(streams, n));) {
		bool more = true;
		size_t room = waiting(r) + TURN_BYTES;
		while (more && !err && (n == 1 || waiting(r) < room))
			more = step(s, &err);
		if (!err && !more)
			err = end_stream(s);
		/* Files of threads have no rounds: a turn is one. */
		if (!err && n > 1) {
			cam_perf_order_round(&r->order, s->number);
			if (is_enough(r))
				err = take_ready(r, CAM_PERF_ORDER_PROMISED);
		}
	}
	if (!err)
		err = take_ready(r, CAM_PERF_ORDER_ALL);
	return err ? err : cam_perf_reader_finish(r);
}

static int open_reader(struct cam_perf_reader *r, size_t n_streams)
{
	r->st->clock = CAM_CLOCK_FOREIGN;
	r->st->time_unit_ns = 1;
	int err = cam_perf_spaces_init(&r->spaces);
	if (!err)
		err = cam_perf_stacks_init(&r->stacks, &r->spaces, r->sink, r->options);
	if (!err)
		err = cam_perf_order_init(&r->order, n_streams);
	r->changes = 1;
	return err ? err : cam_sink_fact(r->sink, CAM_TEXT("format"), CAM_TEXT("perf.data"));
}

static void free_reader(struct cam_perf_reader *r)
{
	cam_perf_events_free(&r->events);
	cam_perf_stacks_free(&r->stacks);
	cam_perf_spaces_free(&r->spaces);
	cam_perf_order_free(&r->order);
	free(r->pending);
	free(r->losses);
	free(r->frames);
	free(r->more);
	cam_perf_chains_free(&r->chains);
	free(r->copies);
	free(r->tasks);
	cam_index_free(&r->task_index);
	free(r->cgroups);
	cam_buf_free(&r->detail);
	cam_trace_formats_free(&r->meta.formats);
	cam_index_free(&r->cgroup_index);
	free(r);
}

static struct cam_perf_reader *new_reader(struct cam_sink *sink, const struct cam_import_options *o,
					  struct cam_import_stats *st)
{
	static const struct cam_import_options none;
	struct cam_perf_reader *r = calloc(1, sizeof(*r));
	*st = (struct cam_import_stats){0};
	if (r)
		*r = (struct cam_perf_reader){
			.sink = sink,
			.options = o ? o : &none,
			.st = st,
			.detail = CAM_BUF(DETAIL_BYTES),
		};
	return r;
}

int cam_perf_data_read(struct cam_input *in, struct cam_sink *sink,
		       const struct cam_import_options *o, struct cam_import_stats *st)
{
	struct cam_perf_header h = cam_perf_header_parse(cam_input_peek(in));
	if (h.form == CAM_PERF_FORM_FILE)
		return -ESPIPE;
	struct cam_perf_reader *r = new_reader(sink, o, st);
	if (!r)
		return -ENOMEM;
	struct stream s = {.r = r, .in = in};
	r->swap = h.swap;
	int err = open_reader(r, 1);
	if (!err && h.form == CAM_PERF_FORM_NONE) {
		do
			in->p = in->end;
		while (cam_input_more(in));
		st->damaged_bytes = in->bytes;
		st->bytes_in = in->bytes_in;
		st->end = in->state;
	} else if (!err) {
		in->p += h.bytes;
		err = read_streams(r, &s, 1);
	}
	cam_perf_unpack_free(s.unpack);
	free_reader(r);
	return err;
}

static ssize_t read_stream(void *arg, void *room, size_t n)
{
	struct stream *s = arg;
	n = s->end - s->at < n ? (size_t)(s->end - s->at) : n;
	ssize_t got = n ? s->file->read_at(s->file->arg, room, n, s->at) : 0;
	if (got > 0)
		s->at += (uint64_t)got;
	return got;
}

/* Where the records of the file with the header are. */
static void find_records(struct cam_perf_reader *r, const struct cam_perf_header *h,
			 const struct cam_perf_file *f, struct stream *s)
{
	s->at = h->data_at < f->bytes ? h->data_at : f->bytes;
	s->end = f->bytes;
	r->st->no_size = !h->data_bytes;
	if (h->data_bytes && h->data_bytes <= s->end - s->at)
		s->end = s->at + h->data_bytes;
	else if (h->data_bytes)
		r->st->missing_bytes = h->data_bytes - (s->end - s->at);
}

static int read_all(struct cam_perf_reader *r, const struct cam_perf_file *files, size_t n,
		    struct stream *streams)
{
	char first[128];
	ssize_t got = files[0].read_at(files[0].arg, first, sizeof(first), 0);
	if (got < 0)
		return (int)got;
	struct cam_perf_header h = cam_perf_header_parse((struct cam_text){first, (size_t)got});
	if (h.form != CAM_PERF_FORM_FILE) {
		r->st->damaged_bytes = files[0].bytes;
		return 0;
	}
	r->swap = h.swap;
	int err = cam_perf_header_events(&h, &files[0], &r->events);
	const struct cam_perf_features to = features_of(r);
	if (!err)
		err = cam_perf_features_read(&to, &h, &files[0]);
	if (err == -EBADMSG) {
		r->st->damaged_bytes = files[0].bytes;
		return 0;
	}
	r->st->no_features = r->meta.missing;
	for (size_t i = 0; i < n && !err; i++) {
		struct stream *s = &streams[i];
		*s = (struct stream){.r = r, .number = i, .file = &files[i], .end = files[i].bytes};
		if (i == 0)
			find_records(r, &h, &files[0], s);
		err = cam_input_open_fn(&s->in, read_stream, s, NULL);
	}
	return err ? err : read_streams(r, streams, n);
}

int cam_perf_data_read_files(const struct cam_perf_file *files, size_t n_files,
			     struct cam_sink *sink, const struct cam_import_options *o,
			     struct cam_import_stats *st)
{
	if (!n_files || n_files > CAM_PERF_MAX_STREAMS)
		return -EINVAL;
	struct cam_perf_reader *r = new_reader(sink, o, st);
	struct stream *streams = calloc(n_files, sizeof(*streams));
	int err = r && streams ? open_reader(r, n_files) : -ENOMEM;
	if (!err)
		err = read_all(r, files, n_files, streams);
	st->bytes_in = 0;
	for (size_t i = 0; i < n_files && streams; i++) {
		st->bytes_in += files[i].bytes;
		cam_input_close(streams[i].in);
		cam_perf_unpack_free(streams[i].unpack);
	}
	free(streams);
	if (r)
		free_reader(r);
	return err;
}
