// SPDX-License-Identifier: Apache-2.0
/*
 * Everything is gathered first: rows become (stack, task, cpu, event) with two sums. Then it is written
 * in one go; protobuf allows any order of fields, ours is that of profile.proto.
 *
 * Ids in the file are rows here + 1 (0 means none in pprof), but for mappings: row 0 is "no module".
 */
#include "interop/pprof_out.h"

#include "base/escape.h"
#include "base/vec.h"
#include "interop/gather.h"
#include "interop/pprof.h"
#include "model/raw.h"

#include <errno.h>

#define MAX_SAMPLES    (1u << 24)
#define MESSAGE_BYTES  (16u << 20)
#define BUILD_ID_BYTES 64u

struct sample {
	uint32_t stack, task, cpu, etype;
	uint64_t samples, weight;
};

struct pprof {
	struct cam_exporter base;
	struct cam_gather g;
	struct sample *samples;
	size_t n_samples, cap_samples;
	struct cam_index index;
	int64_t realtime_ns; /* of the first sample; INT64_MIN: not known */
	uint64_t first_ns, last_ns;
	/* Of the file. */
	struct cam_strings_of {
		uint32_t samples, count, cpu, nanoseconds, pid, tid, uid, comm, exe, cgroup, event,
			comment;
	} word;
	uint32_t events[CAM_PPROF_EVENTS]; /* event types with counts of their own */
	size_t n_events;
	bool has_time;
	struct cam_buf message, inner;
};

static bool same_sample(const void *rows, uint32_t id, const void *key)
{
	const struct sample *a = (const struct sample *)rows + id, *b = key;
	return a->stack == b->stack && a->task == b->task && a->cpu == b->cpu &&
	       a->etype == b->etype;
}

static int add_sample(struct pprof *p, const struct sample *s)
{
	uint64_t hash =
		cam_hash_u64((uint64_t)s->stack << 32 | s->task, (uint64_t)s->cpu << 32 | s->etype);
	uint32_t at = cam_index_find(&p->index, hash, same_sample, p->samples, s);
	if (at == CAM_INDEX_NONE) {
		size_t bytes = p->cap_samples * sizeof(*p->samples) + p->g.t.bytes;
		int err = bytes > CAM_PPROF_BYTES
				  ? -E2BIG
				  : cam_vec_reserve(&p->samples, &p->cap_samples, p->n_samples + 1,
						    sizeof(*p->samples), MAX_SAMPLES);
		if (!err)
			err = cam_index_reserve(&p->index);
		if (err)
			return err;
		at = (uint32_t)p->n_samples++;
		p->samples[at] = *s;
		cam_index_add(&p->index, hash, at);
		return 0;
	}
	struct sample *had = &p->samples[at];
	had->samples += s->samples;
	if (__builtin_add_overflow(had->weight, s->weight, &had->weight))
		had->weight = UINT64_MAX;
	return 0;
}

static void note_time(struct pprof *p, const struct cam_export_row *r)
{
	if (r->time_ns == CAM_TIME_NONE)
		return;
	int64_t wall;
	if (p->realtime_ns == INT64_MIN && cam_exporter_wall(&p->base, r->time_ns, &wall))
		p->realtime_ns = wall;
	p->first_ns = r->time_ns < p->first_ns ? r->time_ns : p->first_ns;
	p->last_ns = r->time_ns > p->last_ns ? r->time_ns : p->last_ns;
}

static bool is_clock(struct cam_text name)
{
	return cam_text_starts(name, CAM_TEXT("cpu-clock")) ||
	       cam_text_starts(name, CAM_TEXT("task-clock"));
}

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	struct pprof *p = (struct pprof *)x;
	struct sample s = {.cpu = r->cpu, .samples = 1, .weight = cam_exporter_period(x, r)};
	/* Of sums of time nobody knows how many samples they were. */
	if (x->folded && !is_clock(cam_string(x->t, x->t->etypes[r->etype].name)))
		s.samples = r->weight;
	note_time(p, r);
	int err = cam_gather_stack(&p->g, x, r, &s.stack);
	if (!err)
		err = cam_gather_task(&p->g, x, r->task, &s.task);
	if (!err)
		err = cam_gather_etype(&p->g, x, r->etype, &s.etype);
	if (!err)
		err = add_sample(p, &s);
	return err == -E2BIG ? 0 : err ? err : 1;
}

static int begin_window(struct cam_exporter *x)
{
	return cam_gather_window(&((struct pprof *)x)->g, x);
}

static void put_number(struct cam_buf *b, unsigned field, uint64_t v)
{
	if (!v)
		return;
	cam_buf_put_varint(b, (uint64_t)field << 3 | CAM_PROTOBUF_VARINT);
	cam_buf_put_varint(b, v);
}

static void put_bytes(struct cam_buf *b, unsigned field, const void *bytes, size_t n)
{
	cam_buf_put_varint(b, (uint64_t)field << 3 | CAM_PROTOBUF_BYTES);
	cam_buf_put_string(b, bytes, n);
}

/* Appends inner to message as a field of it, and empties it. */
static void close_inner(struct pprof *p, unsigned field)
{
	put_bytes(&p->message, field, p->inner.data, p->inner.len);
	if (cam_buf_error(&p->inner))
		p->message.error = cam_buf_error(&p->inner);
	cam_buf_clear(&p->inner);
}

/* Writes message as a field of the profile. */
static int flush_message(struct pprof *p, unsigned field)
{
	struct cam_buf head = CAM_BUF(32);
	int err = cam_buf_error(&p->message);
	cam_buf_put_varint(&head, (uint64_t)field << 3 | CAM_PROTOBUF_BYTES);
	cam_buf_put_varint(&head, p->message.len);
	err = err ? err : cam_buf_error(&head);
	if (!err) {
		cam_out_bytes(p->base.out, head.data, head.len);
		cam_out_bytes(p->base.out, p->message.data, p->message.len);
	}
	cam_buf_free(&head);
	cam_buf_clear(&p->message);
	return err;
}

static int put_value_type(struct pprof *p, unsigned field, uint32_t type, uint32_t unit)
{
	put_number(&p->message, CAM_PPROF_TYPE, type);
	put_number(&p->message, CAM_PPROF_UNIT, unit);
	return flush_message(p, field);
}

/* What a sample of this type says in nanoseconds of CPU; false: nothing. */
static bool cpu_time(const struct pprof *p, const struct sample *s, uint64_t *ns)
{
	const struct cam_etype *e = &p->g.t.etypes[s->etype];
	bool clock = is_clock(cam_string(&p->g.t, e->name));
	if (clock || (e->period_ns && !e->has_weight))
		*ns = s->weight;
	else if (e->period_ns)
		*ns = s->samples * e->period_ns;
	return clock || e->period_ns;
}

static void find_values(struct pprof *p)
{
	struct cam_tables *t = &p->g.t;
	for (size_t i = 0; i < t->n_etypes; i++) {
		const struct cam_etype *e = &t->etypes[i];
		bool clock = is_clock(cam_string(t, e->name));
		p->has_time |= clock || e->period_ns;
		bool known = false;
		for (size_t k = 0; k < p->n_events; k++)
			known |= t->etypes[p->events[k]].name.v == e->name.v;
		if (e->has_weight && !clock && !known && p->n_events < CAM_PPROF_EVENTS)
			p->events[p->n_events++] = (uint32_t)i;
	}
}

static int put_types(struct pprof *p)
{
	const struct cam_tables *t = &p->g.t;
	int err = put_value_type(p, CAM_PPROF_SAMPLE_TYPE, p->word.samples, p->word.count);
	if (!err && p->has_time)
		err = put_value_type(p, CAM_PPROF_SAMPLE_TYPE, p->word.cpu, p->word.nanoseconds);
	for (size_t i = 0; i < p->n_events && !err; i++)
		err = put_value_type(p, CAM_PPROF_SAMPLE_TYPE, t->etypes[p->events[i]].name.v,
				     p->word.count);
	return err;
}

static void put_label(struct pprof *p, uint32_t key, unsigned field, uint64_t value)
{
	put_number(&p->inner, CAM_PPROF_KEY, key);
	put_number(&p->inner, field, value);
	close_inner(p, CAM_PPROF_LABEL);
}

static void put_labels(struct pprof *p, const struct sample *s)
{
	const struct cam_task *k = &p->g.t.tasks[s->task];
	const struct {
		uint32_t key, value;
	} texts[] = {
		{p->word.comm, k->comm.v},
		{p->word.exe, k->exe.v},
		{p->word.cgroup, k->cgroup.v},
		{p->word.event, p->g.t.etypes[s->etype].name.v},
	};
	if (k->pid != CAM_PID_NONE)
		put_label(p, p->word.pid, CAM_PPROF_NUM, (uint64_t)(int64_t)k->pid);
	if (k->tid != CAM_PID_NONE)
		put_label(p, p->word.tid, CAM_PPROF_NUM, (uint64_t)(int64_t)k->tid);
	if (s->cpu != CAM_CPU_NONE)
		put_label(p, p->word.cpu, CAM_PPROF_NUM, s->cpu);
	if (k->uid != CAM_UID_NONE)
		put_label(p, p->word.uid, CAM_PPROF_NUM, k->uid);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].value)
			put_label(p, texts[i].key, CAM_PPROF_STR, texts[i].value);
	}
}

static int put_sample(struct pprof *p, const struct sample *s)
{
	const struct cam_tables *t = &p->g.t;
	uint64_t ns = 0;
	for (uint32_t node = s->stack; node; node = t->places.parent[node])
		cam_buf_put_varint(&p->inner, t->places.item[node]);
	close_inner(p, CAM_PPROF_LOCATION_ID);
	cam_buf_put_varint(&p->inner, s->samples);
	if (p->has_time) {
		cpu_time(p, s, &ns);
		cam_buf_put_varint(&p->inner, ns);
	}
	for (size_t i = 0; i < p->n_events; i++) {
		bool same = t->etypes[s->etype].name.v == t->etypes[p->events[i]].name.v;
		cam_buf_put_varint(&p->inner,
				   same && t->etypes[s->etype].has_weight ? s->weight : 0);
	}
	close_inner(p, CAM_PPROF_VALUE);
	put_labels(p, s);
	return flush_message(p, CAM_PPROF_SAMPLE);
}

/* What the kernel calls a process that executed this file: the end of its path, cut. */
static size_t comm_of(struct cam_text path, char comm[CAM_COMM_BYTES])
{
	size_t from = path.n;
	while (from && path.p[from - 1] != '/')
		from--;
	size_t n = path.n - from < CAM_COMM_BYTES ? path.n - from : CAM_COMM_BYTES - 1;
	if (n)
		memcpy(comm, path.p + from, n);
	return n;
}

/* The module that is the program which most samples are of; 0: none is. Imported tasks often have no exe: then
 * it is the file that they are called like. */
static int find_program(struct pprof *p, size_t *module)
{
	struct cam_tables *t = &p->g.t;
	const uint32_t n = t->strings.n;
	uint64_t *samples = calloc(n + 1ul, sizeof(*samples)), most = 0;
	int err = samples ? 0 : -ENOMEM;
	for (size_t i = 0; i < p->n_samples && !err; i++) {
		const struct cam_task *k = &t->tasks[p->samples[i].task];
		samples[k->exe.v ? k->exe.v : k->comm.v] += p->samples[i].samples;
	}
	*module = 0;
	for (size_t i = 1; i < t->n_modules && !err; i++) {
		struct cam_str_id path = t->modules[i].path, comm;
		char text[CAM_COMM_BYTES];
		size_t bytes = comm_of(cam_string(t, path), text);
		err = cam_string_intern(t, (struct cam_text){text, bytes}, &comm);
		if (err || !path.v || !comm.v)
			continue;
		uint64_t own = samples[path.v] + (comm.v < n ? samples[comm.v] : 0);
		if (own > most) {
			most = own;
			*module = i;
		}
	}
	free(samples);
	return err;
}

static int put_mapping(struct pprof *p, size_t i, const uint32_t *build_ids)
{
	put_number(&p->message, CAM_PPROF_ID, i);
	put_number(&p->message, CAM_PPROF_FILENAME, p->g.t.modules[i].path.v);
	put_number(&p->message, CAM_PPROF_BUILD_ID, build_ids[i]);
	put_number(&p->message, CAM_PPROF_HAS_FUNCTIONS, 1);
	put_number(&p->message, CAM_PPROF_HAS_INLINE_FRAMES, 1);
	return flush_message(p, CAM_PPROF_MAPPING);
}

/* profile.proto: the first one is the main program's. Readers head the profile with its name. */
static int put_mappings(struct pprof *p, const uint32_t *build_ids)
{
	size_t program;
	int err = find_program(p, &program);
	if (!err && program)
		err = put_mapping(p, program, build_ids);
	for (size_t i = 1; i < p->g.t.n_modules && !err; i++) {
		if (i != program)
			err = put_mapping(p, i, build_ids);
	}
	return err;
}

/* A group of the gathered tree: its own id, and the frames from the innermost to the outermost. */
static int put_locations(struct pprof *p)
{
	const struct cam_tables *t = &p->g.t;
	int err = 0;
	for (uint32_t i = 1; i < t->stacks.n && !err; i++) {
		uint32_t outer = i;
		while (t->stacks.parent[outer])
			outer = t->stacks.parent[outer];
		const struct cam_location *loc = &t->locations[t->stacks.item[outer]];
		put_number(&p->message, CAM_PPROF_ID, i);
		put_number(&p->message, CAM_PPROF_MAPPING_ID, loc->module.v);
		put_number(&p->message, CAM_PPROF_ADDRESS, loc->address);
		for (uint32_t node = i; node; node = t->stacks.parent[node]) {
			const struct cam_location *line = &t->locations[t->stacks.item[node]];
			put_number(&p->inner, CAM_PPROF_FUNCTION_ID, line->func.v + 1ul);
			close_inner(p, CAM_PPROF_LINE);
		}
		err = flush_message(p, CAM_PPROF_LOCATION);
	}
	return err;
}

static int put_functions(struct pprof *p)
{
	const struct cam_tables *t = &p->g.t;
	int err = 0;
	for (size_t i = 0; i < t->n_functions && !err; i++) {
		const struct cam_function *f = &t->functions[i];
		put_number(&p->message, CAM_PPROF_ID, i + 1);
		put_number(&p->message, CAM_PPROF_NAME, f->name.v);
		put_number(&p->message, CAM_PPROF_SYSTEM_NAME, f->name.v);
		/* Not where it was written, but where its code lies: what perfcam knows. */
		put_number(&p->message, CAM_PPROF_SOURCE_FILE, t->modules[f->module.v].path.v);
		err = flush_message(p, CAM_PPROF_FUNCTION);
	}
	return err;
}

static int put_strings(struct pprof *p)
{
	const struct cam_tables *t = &p->g.t;
	int err = 0;
	for (uint32_t i = 0; i < t->strings.n && !err; i++) {
		cam_escape_put(&p->message, cam_string(t, (struct cam_str_id){i}),
			       CAM_ESCAPE_CONTROL | CAM_ESCAPE_TAB | CAM_ESCAPE_BYTES);
		err = flush_message(p, CAM_PPROF_STRING);
	}
	return err;
}

static int intern_words(struct pprof *p)
{
	const struct {
		uint32_t *id;
		const char *word;
	} words[] = {
		{&p->word.samples, "samples"}, {&p->word.count, "count"},
		{&p->word.cpu, "cpu"},	       {&p->word.nanoseconds, "nanoseconds"},
		{&p->word.pid, "pid"},	       {&p->word.tid, "tid"},
		{&p->word.uid, "uid"},	       {&p->word.comm, "comm"},
		{&p->word.exe, "exe"},	       {&p->word.cgroup, "cgroup"},
		{&p->word.event, "event"},     {&p->word.comment, "perfcam"},
	};
	int err = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !err; i++) {
		struct cam_str_id id;
		err = cam_string_intern(&p->g.t, cam_text_of(words[i].word), &id);
		if (!err)
			*words[i].id = id.v;
	}
	return err;
}

/* Build-ids are written in hex; as bytes they are strings that nothing else refers to. */
static int intern_build_ids(struct pprof *p, uint32_t **out)
{
	struct cam_tables *t = &p->g.t;
	uint32_t *ids = calloc(t->n_modules + 1, sizeof(*ids));
	int err = ids ? 0 : -ENOMEM;
	for (size_t i = 1; i < t->n_modules && !err; i++) {
		struct cam_text raw = cam_string(t, t->modules[i].build_id);
		char hex[2 * BUILD_ID_BYTES];
		size_t n = raw.n < BUILD_ID_BYTES ? raw.n : BUILD_ID_BYTES;
		for (size_t k = 0; k < n; k++) {
			hex[2 * k] = "0123456789abcdef"[(unsigned char)raw.p[k] >> 4];
			hex[2 * k + 1] = "0123456789abcdef"[(unsigned char)raw.p[k] & 15];
		}
		struct cam_str_id id = {0};
		err = n ? cam_string_intern(t, (struct cam_text){hex, 2 * n}, &id) : 0;
		ids[i] = id.v;
	}
	*out = ids;
	return err;
}

static int put_times(struct pprof *p)
{
	uint64_t period = 0;
	for (size_t i = 0; i < p->g.t.n_etypes && !period; i++)
		period = p->g.t.etypes[i].period_ns;
	cam_buf_clear(&p->message);
	put_number(&p->message, CAM_PPROF_TIME_NANOS,
		   p->realtime_ns == INT64_MIN ? 0 : (uint64_t)p->realtime_ns);
	if (p->last_ns > p->first_ns)
		put_number(&p->message, CAM_PPROF_DURATION_NANOS, p->last_ns - p->first_ns);
	put_number(&p->message, CAM_PPROF_PERIOD, period);
	put_number(&p->message, CAM_PPROF_COMMENT, p->word.comment);
	cam_out_bytes(p->base.out, p->message.data, p->message.len);
	int err = cam_buf_error(&p->message);
	cam_buf_clear(&p->message);
	return err || !period
		       ? err
		       : put_value_type(p, CAM_PPROF_PERIOD_TYPE, p->word.cpu, p->word.nanoseconds);
}

static int finish(struct cam_exporter *x)
{
	struct pprof *p = (struct pprof *)x;
	uint32_t *build_ids = NULL;
	/* Full tables must not keep what there is from being written. */
	p->g.t.max_bytes += MESSAGE_BYTES;
	int err = intern_words(p);
	if (!err)
		err = intern_build_ids(p, &build_ids);
	find_values(p);
	if (!err)
		err = put_types(p);
	for (size_t i = 0; i < p->n_samples && !err; i++)
		err = put_sample(p, &p->samples[i]);
	if (!err)
		err = put_mappings(p, build_ids);
	if (!err)
		err = put_locations(p);
	if (!err)
		err = put_functions(p);
	if (!err)
		err = put_strings(p);
	if (!err)
		err = put_times(p);
	free(build_ids);
	return err;
}

static void free_pprof(struct cam_exporter *x)
{
	struct pprof *p = (struct pprof *)x;
	cam_gather_free(&p->g);
	cam_index_free(&p->index);
	free(p->samples);
	cam_buf_free(&p->message);
	cam_buf_free(&p->inner);
}

int cam_pprof_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {.takes_counts = true,
						    .window = begin_window,
						    .row = put_row,
						    .finish = finish,
						    .free = free_pprof};
	struct pprof *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->base.ops = &ops;
	p->base.out = out;
	p->g.addresses = p->g.join_inlined = true;
	p->realtime_ns = INT64_MIN;
	p->first_ns = UINT64_MAX;
	p->message = CAM_BUF(MESSAGE_BYTES);
	p->inner = CAM_BUF(MESSAGE_BYTES);
	int err = cam_gather_init(&p->g, CAM_PPROF_BYTES);
	if (err) {
		free(p);
		return err;
	}
	*made = &p->base;
	return 0;
}
