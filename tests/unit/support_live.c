// SPDX-License-Identifier: Apache-2.0
#include "support_live.h"

#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int door_begin(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_window_head *head)
{
	struct stage_door *d = j->self;
	struct stage *s = d->stage;
	(void)t;
	if (s->refuse)
		return s->refuse;
	assert_true(s->n_windows < STAGE_WINDOWS);
	d->window = s->n_windows++;
	s->windows[d->window] = (struct stage_window){.head = *head};
	return 0;
}

static void check_block(const struct cam_tables *t, const struct cam_block *b)
{
	for (size_t i = 0; i < b->n_samples; i++) {
		assert_true(b->samples[i].place.v < t->places.n);
		assert_true(b->samples[i].task.v < t->n_tasks);
		assert_true(b->samples[i].etype.v < t->n_etypes);
		assert_int_equal(b->samples[i].time_ns % 10000, 0);
	}
	for (size_t i = 0; i < b->n_named; i++) {
		assert_true(b->named[i].v < t->n_locations);
		assert_true(t->locations[b->named[i].v].func.v < t->n_functions);
	}
	for (size_t i = 0; i < b->n_ledger; i++)
		assert_true(b->ledger[i].cause < CAM_CAUSE_MAX);
}

static void keep_rows(struct stage_window *w, const struct cam_block *b)
{
	assert_int_equal(cam_vec_reserve(&w->samples, &w->cap_samples, w->n_samples + b->n_samples,
					 sizeof(*w->samples), SIZE_MAX / 64),
			 0);
	if (b->n_samples)
		memcpy(w->samples + w->n_samples, b->samples, b->n_samples * sizeof(*w->samples));
	w->n_samples += b->n_samples;
	assert_int_equal(cam_vec_reserve(&w->ledger, &w->cap_ledger, w->n_ledger + b->n_ledger,
					 sizeof(*w->ledger), SIZE_MAX / 64),
			 0);
	if (b->n_ledger)
		memcpy(w->ledger + w->n_ledger, b->ledger, b->n_ledger * sizeof(*w->ledger));
	w->n_ledger += b->n_ledger;
}

static int door_append(struct cam_journal *j, const struct cam_tables *t, const struct cam_block *b)
{
	struct stage_door *d = j->self;
	struct stage *s = d->stage;
	struct stage_window *w = &s->windows[d->window];
	if (s->refuse)
		return s->refuse;
	/* As the store: behind an end there is nothing. */
	if (w->end_asked)
		return -EINVAL;
	check_block(t, b);
	s->appended += b->n_samples;
	w->blocks++;
	if (!w->anchors && b->n_anchors)
		w->first_anchor_ns = b->anchors[0].time_ns;
	w->anchors += b->n_anchors;
	w->counters += b->n_counters;
	w->events += b->n_events;
	w->named += b->n_named;
	for (size_t i = 0; i < b->n_facts; i++) {
		size_t n = strlen(w->facts);
		struct cam_text k = cam_string(t, b->facts[i].key),
				v = cam_string(t, b->facts[i].value);
		snprintf(w->facts + n, sizeof(w->facts) - n, "%.*s=%.*s ", (int)k.n, k.p, (int)v.n,
			 v.p);
	}
	if (!s->forget_rows)
		keep_rows(w, b);
	return 0;
}

static int door_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	struct stage_door *d = j->self;
	assert_true(keep_empty);
	if (d->stage->refuse)
		return d->stage->refuse;
	if (d->stage->refuse_end) {
		d->stage->windows[d->window].end_asked = true;
		return d->stage->refuse_end;
	}
	d->stage->windows[d->window].end_ns = end_ns;
	d->stage->windows[d->window].ended = true;
	return 0;
}

static void door_keep(struct cam_journal *j, struct cam_tables *t)
{
	struct stage_door *d = j->self;
	if (d->stage->forget_rows) {
		if (d->stage->n_windows == STAGE_WINDOWS)
			d->stage->n_windows = 1;
		return;
	}
	d->stage->windows[d->window].t = *t;
	*t = (struct cam_tables){0};
}

static struct cam_journal *next_door(void *self)
{
	struct stage *s = self;
	assert_true(s->n_doors < 2);
	struct stage_door *d = &s->doors[s->n_doors++];
	d->stage = s;
	d->journal = (struct cam_journal){
		.self = d,
		.begin = door_begin,
		.append = door_append,
		.end = door_end,
		.keep = door_keep,
	};
	return &d->journal;
}

static int note_errand(struct cam_errands *es, const struct cam_errand *e)
{
	struct stage *s = es->self;
	if (s->full && e->type != CAM_ERRAND_FORGET)
		return -EAGAIN;
	s->asked[e->type]++;
	s->wakes += e->wake;
	if (e->type == CAM_ERRAND_JIT && e->pid == 77)
		s->jit_file_of_77 = e->file;
	if (e->type == CAM_ERRAND_FORGET) {
		s->forgotten = e->file;
		s->refuse_file = 0;
		return 0;
	}
	if (e->type == CAM_ERRAND_FILE && s->refuse_file)
		return s->refuse_file;
	if (e->type == CAM_ERRAND_NAMES && s->refuse_names && s->n_files &&
	    e->file == s->files[0].number)
		return s->refuse_names;
	assert_true(e->ticket != 0);
	if (s->n_sent == STAGE_ERRANDS)
		return -EAGAIN;
	struct stage_errand *to = &s->sent[s->n_sent++];
	to->e = *e;
	if (e->type == CAM_ERRAND_FILE) {
		snprintf(to->path, sizeof(to->path), "%.*s", (int)e->mapping.path.n,
			 e->mapping.path.p);
		to->e.mapping.path = cam_text_of(to->path);
	}
	if (e->type == CAM_ERRAND_UNWIND) {
		assert_true(e->copy.stack_bytes && e->n_maps);
		to->first = e->copy.stack[0];
	}
	assert_true(e->n_offsets <= CAM_ERRAND_MAX_OFFSETS);
	if (e->n_offsets)
		memcpy(to->offsets, e->offsets, e->n_offsets * sizeof(*e->offsets));
	to->e.offsets = to->offsets;
	return 0;
}

void stage_options(struct cam_live_options *o)
{
	*o = (struct cam_live_options){
		.window_ns = 10 * SEC,
		.hz = 97,
		.event = CAM_TEXT("cpu-clock"),
		.host = CAM_TEXT("host"),
		.scope = {.uid = CAM_UID_NONE},
		.due_known = true,
		.max_table_bytes = 12u << 20,
		.max_process_bytes = 6u << 20,
		.max_name_bytes = 6u << 20,
	};
}

void stage_open(struct stage *s, const struct cam_live_options *o)
{
	stage_open_with(s, o, NULL);
}

void stage_open_with(struct stage *s, const struct cam_live_options *o, struct cam_unwinder *u)
{
	struct cam_live_options standard;
	*s = (struct stage){.errands = {s, note_errand}};
	s->sent = calloc(STAGE_ERRANDS, sizeof(*s->sent));
	s->spare = calloc(STAGE_ERRANDS, sizeof(*s->sent));
	assert_true(s->sent && s->spare);
	stage_options(&standard);
	struct cam_live_doors doors = {s, next_door, &s->errands, u};
	s->unwinder = u;
	assert_int_equal(cam_live_new(o ? o : &standard, &doors, &s->live), 0);
}

void stage_close(struct stage *s)
{
	assert_int_equal(cam_live_cut(s->live, s->now_ns), 0);
	cam_live_free(s->live);
	s->live = NULL;
}

void stage_free(struct stage *s)
{
	cam_live_free(s->live);
	for (size_t i = 0; i < STAGE_WINDOWS; i++) {
		free(s->windows[i].samples);
		free(s->windows[i].ledger);
		cam_tables_free(&s->windows[i].t);
	}
	free(s->sent);
	free(s->spare);
}

static struct world_process *find_process(struct stage *s, int32_t pid)
{
	for (size_t i = 0; i < s->n_processes; i++) {
		if (s->processes[i].pid == pid)
			return &s->processes[i];
	}
	return NULL;
}

struct world_process *world_process(struct stage *s, int32_t pid, const char *comm, const char *exe)
{
	struct world_process *p = find_process(s, pid);
	assert_true(p || s->n_processes < STAGE_PROCESSES);
	if (!p)
		p = &s->processes[s->n_processes++];
	*p = (struct world_process){.pid = pid, .start_ns = (uint64_t)pid * 10 * MS, .uid = 1000};
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
	snprintf(p->exe, sizeof(p->exe), "%s", exe);
	snprintf(p->cgroup, sizeof(p->cgroup), "/user/%s", comm);
	return p;
}

static struct cam_mapping mapping(uint64_t start, uint64_t end, uint64_t inode, const char *path)
{
	return (struct cam_mapping){
		.start = start,
		.end = end,
		.inode = inode,
		.major = 8,
		.minor = 1,
		.path = cam_text_of(path),
	};
}

void world_map(struct stage *s, int32_t pid, uint64_t start, uint64_t end, uint64_t inode,
	       const char *path)
{
	struct world_process *p = find_process(s, pid);
	assert_true(p && p->n_maps < STAGE_MAPS);
	p->maps[p->n_maps++] = mapping(start, end, inode, path);
}

void stage_sample_flags(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid,
			const uint64_t *user, const uint64_t *kernel, uint32_t flags)
{
	stage_sample_walked(s, time_ns, pid, tid, user, kernel,
			    (struct stage_walk){.flags = flags});
}

void stage_sample_walked(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid,
			 const uint64_t *user, const uint64_t *kernel, struct stage_walk walk)
{
	static uint8_t stack[CAM_RAW_MAX_STACK];
	stack[0] = (uint8_t)pid;
	struct cam_raw r = {
		.type = CAM_RAW_SAMPLE, .cpu = s->cpu, .time_ns = time_ns, .pid = pid, .tid = tid};
	r.sample = (struct cam_raw_sample){
		.kernel = kernel,
		.user = user,
		.flags = walk.flags,
		.end = walk.end,
		.image = walk.image,
		.weight = 1,
	};
	if (walk.copy_bytes)
		r.sample.copy = (struct cam_raw_copy){.ip = user[0],
						      .sp = 0x7000,
						      .stack = stack,
						      .stack_bytes = (uint32_t)walk.copy_bytes};
	while (user && user[r.sample.n_user])
		r.sample.n_user++;
	while (kernel && kernel[r.sample.n_kernel])
		r.sample.n_kernel++;
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

void stage_sample(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid, const uint64_t *user,
		  const uint64_t *kernel)
{
	stage_sample_flags(s, time_ns, pid, tid, user, kernel, CAM_RAW_USER_MODE);
}

void stage_fork(struct stage *s, uint64_t time_ns, int32_t parent, int32_t pid, int32_t tid)
{
	struct cam_raw r = {.type = CAM_RAW_FORK, .time_ns = time_ns, .pid = pid, .tid = tid};
	r.fork = (struct cam_raw_fork){parent, parent};
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

void stage_comm(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid, const char *comm)
{
	struct cam_raw r = {.type = CAM_RAW_COMM, .time_ns = time_ns, .pid = pid, .tid = tid};
	r.comm = (struct cam_raw_comm){.comm = cam_text_of(comm)};
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

void stage_exec(struct stage *s, uint64_t time_ns, int32_t pid, const char *comm)
{
	struct cam_raw r = {.type = CAM_RAW_COMM, .time_ns = time_ns, .pid = pid, .tid = pid};
	r.comm = (struct cam_raw_comm){.comm = cam_text_of(comm), .exec = true};
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

void stage_map(struct stage *s, uint64_t time_ns, int32_t pid, uint64_t start, uint64_t end,
	       uint64_t inode, const char *path)
{
	struct cam_raw r = {.type = CAM_RAW_MMAP, .time_ns = time_ns, .pid = pid, .tid = pid};
	r.mmap = mapping(start, end, inode, path);
	r.mmap.generation = inode ? 77 : 0;
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

void stage_exit(struct stage *s, uint64_t time_ns, int32_t pid, int32_t tid)
{
	struct cam_raw r = {.type = CAM_RAW_EXIT, .time_ns = time_ns, .pid = pid, .tid = tid};
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

void stage_lost(struct stage *s, uint64_t from_ns, uint64_t to_ns)
{
	struct cam_raw r = {.type = CAM_RAW_LOST, .time_ns = to_ns};
	r.lost = (struct cam_raw_lost){.records = 10, .from_ns = from_ns, .side_band = true};
	assert_int_equal(cam_live_raw(s->live, &r), 0);
}

static void answer_process(struct stage *s, const struct cam_errand *e, struct cam_tidings *t)
{
	const struct world_process *p = find_process(s, e->pid);
	if (!p || p->gone) {
		t->error = -ENOENT;
		return;
	}
	if (e->type == CAM_ERRAND_THREAD) {
		t->comm = cam_text_of(p->comm);
		return;
	}
	t->process = (struct cam_process_tidings){
		.start_ns = p->start_ns,
		.maps_read_ns = s->maps_read_ns ? s->maps_read_ns : s->now_ns,
		.uid = p->uid,
		.comm = cam_text_of(p->comm),
		.exe = cam_text_of(p->exe),
		.cgroup = cam_text_of(p->cgroup),
		.mappings = p->maps,
		.n_mappings = p->n_maps,
	};
}

static void answer_file(struct stage *s, const struct stage_errand *q, struct cam_tidings *t)
{
	t->error = s->file_error;
	t->held.key = (struct cam_file_key){
		.major = 8,
		.minor = 1,
		.inode = q->e.mapping.inode,
		.generation = q->e.mapping.generation,
		.ctime_ns = (int64_t)s->version,
		.bytes = 4096,
	};
	t->held.written_ns = s->written_ns;
	if (t->error)
		return;
	assert_true(s->n_files < STAGE_FILES);
	struct stage_file *f = &s->files[s->n_files++];
	*f = (struct stage_file){q->e.file, "", q->e.mapping.inode, s->version};
	snprintf(f->path, sizeof(f->path), "%s", q->path);
}

static void make_name(struct stage *s, uint32_t file, uint64_t offset, char out[64])
{
	const char *base = file == CAM_FILE_KERNEL ? "k"
			   : file == CAM_FILE_VDSO ? "vdso"
						   : "nobody";
	unsigned version = file == CAM_FILE_KERNEL ? s->version : 0;
	for (size_t i = 0; i < s->n_files; i++) {
		const char *slash = strrchr(s->files[i].path, '/');
		if (s->files[i].number != file)
			continue;
		base = slash ? slash + 1 : s->files[i].path;
		version = s->files[i].version;
	}
	if (version)
		snprintf(out, 64, "%.30s.%u_%llx", base, version, (unsigned long long)offset >> 8);
	else
		snprintf(out, 64, "%.30s_%llx", base, (unsigned long long)offset >> 8);
}

static void answer_jit(struct stage *s, const struct cam_errand *e, struct cam_tidings *t)
{
	const struct world_process *p = find_process(s, e->pid);
	t->error = !p || p->gone ? -ESRCH : p->jit[0] ? 0 : -ENOENT;
	t->held.key = (struct cam_file_key){.inode = (uint64_t)e->pid, .bytes = 1};
}

static void answer_jit_names(struct stage *s, const struct stage_errand *q, struct cam_tidings *t,
			     struct cam_name *names, char texts[][64])
{
	const struct world_process *p = find_process(s, q->e.pid);
	assert_non_null(p);
	t->names.turn = p->jit_turn;
	for (uint32_t i = 0; i < q->e.n_offsets; i++) {
		snprintf(texts[i], 64, "%s_%llx", p->jit, (unsigned long long)q->offsets[i] >> 8);
		names[i].source = p->jit_is_late ? CAM_NAME_NONE : CAM_NAME_PERF_MAP;
		names[i].name = cam_text_of(p->jit_is_late ? "" : texts[i]);
	}
}

static void answer_names(struct stage *s, const struct stage_errand *q, struct cam_tidings *t)
{
	static struct cam_name names[CAM_ERRAND_MAX_OFFSETS];
	static char texts[CAM_ERRAND_MAX_OFFSETS][64];
	t->error = s->names_error;
	for (uint32_t i = 0; i < q->e.n_offsets; i++) {
		uint64_t offset = q->offsets[i];
		make_name(s, q->e.file, offset, texts[i]);
		names[i] = (struct cam_name){
			.offset = offset,
			.start = offset & ~UINT64_C(255),
			.source =
				q->e.file == CAM_FILE_KERNEL ? CAM_NAME_KALLSYMS : CAM_NAME_SYMTAB,
			.name = cam_text_of(texts[i]),
		};
		if (s->one_name)
			names[i].end = names[i].start + 256;
		if (s->inlines && q->e.file != CAM_FILE_KERNEL) {
			static const struct cam_inlined chain[] = {
				{CAM_TEXT("in1"), CAM_TEXT("a.c"), 3},
				{CAM_TEXT("in2"), CAM_TEXT("b.h"), 4}};
			names[i].inlined = chain;
			names[i].n_inlined = 2;
		}
		if (s->nameless && q->e.file != CAM_FILE_KERNEL) {
			names[i].source = CAM_NAME_NONE;
			names[i].name = CAM_TEXT("");
			names[i].n_inlined = 0;
		}
	}
	t->names = (struct cam_names_tidings){.names = names, .n_names = q->e.n_offsets};
	if (q->e.format != CAM_FORMAT_ELF)
		answer_jit_names(s, q, t, names, texts);
}

static void answer_table(struct stage *s, const struct stage_errand *q, struct cam_tidings *t)
{
	static const struct cam_unwind_rule rule = {.cfa = CAM_CFA_RSP, .cfa_offset = 8};
	uint32_t packets = s->table_packets ? s->table_packets : 1;
	t->error = s->table_error;
	for (uint32_t i = 0; i + 1 < packets && !t->error; i++) {
		const struct cam_unwind_row rows[2] = {{i * 16, 0}, {i * 16 + 8, 0}};
		t->table = (struct cam_table_tidings){&rule, rows, i == 0, 2, true};
		assert_int_equal(cam_live_tidings(s->live, t), 0);
	}
	static struct cam_unwind_row last;
	last = (struct cam_unwind_row){packets * 16, 0};
	if (!t->error)
		t->table = (struct cam_table_tidings){&rule, &last, packets == 1, 1, false};
	if (!t->error && q->e.file < STAGE_FILES)
		s->has_table[q->e.file] = true;
}

static void answer_unwind(struct stage *s, struct cam_tidings *t)
{
	t->error = s->unwind_error;
	if (t->error)
		return;
	t->unwound = (struct cam_unwind_tidings){.frames = s->walked, .lacking = CAM_NONE};
	while (s->walked && s->walked[t->unwound.n_frames])
		t->unwound.n_frames++;
	t->unwound.end = s->walked_end ? s->walked_end : CAM_STACK_COMPLETE;
	for (size_t i = 0; s->needs && i < s->n_files; i++) {
		const char *slash = strrchr(s->files[i].path, '/');
		if (strcmp(slash + 1, s->needs) != 0 || s->has_table[s->files[i].number])
			continue;
		t->unwound.n_frames = 1;
		t->unwound.end = CAM_STACK_PENDING;
		t->unwound.lacking = s->files[i].number;
	}
}

/* An answer in several packets. */
static void send_parts(struct stage *s, const struct cam_tidings *whole)
{
	struct cam_tidings t = *whole;
	for (uint32_t at = 0; at < whole->process.n_mappings; at += s->packet) {
		uint32_t left = whole->process.n_mappings - at;
		t.process.mappings = whole->process.mappings + at;
		t.process.n_mappings = left < s->packet ? left : s->packet;
		t.process.more = left > s->packet;
		assert_int_equal(cam_live_tidings(s->live, &t), 0);
	}
}

void stage_answer(struct stage *s)
{
	size_t n = s->n_sent;
	struct stage_errand *sent = s->sent;
	/* Answers may lead to new questions: those are for the next time. */
	s->sent = s->spare;
	s->n_sent = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_errand *e = &sent[i].e;
		struct cam_tidings t = {
			.type = e->type,
			.ticket = e->ticket,
			.pid = e->pid,
			.tid = e->tid,
			.file = e->file,
		};
		if (e->type == CAM_ERRAND_FILE)
			answer_file(s, &sent[i], &t);
		else if (e->type == CAM_ERRAND_JIT)
			answer_jit(s, e, &t);
		else if (e->type == CAM_ERRAND_NAMES)
			answer_names(s, &sent[i], &t);
		else if (e->type == CAM_ERRAND_TABLE)
			answer_table(s, &sent[i], &t);
		else if (e->type == CAM_ERRAND_UNWIND)
			answer_unwind(s, &t);
		else
			answer_process(s, e, &t);
		if (e->type == CAM_ERRAND_PROCESS && !t.error && s->packet)
			send_parts(s, &t);
		else
			assert_int_equal(cam_live_tidings(s->live, &t), 0);
	}
	s->spare = sent;
}

int stage_tick(struct stage *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
	return cam_live_tick(s->live, now_ns, now_ns > s->lag_ns ? now_ns - s->lag_ns : 0);
}

void stage_run(struct stage *s, uint64_t until_ns)
{
	uint64_t step = 200 * MS;
	for (uint64_t t = (s->now_ns / step + 1) * step; t <= until_ns; t += step) {
		s->now_ns = t;
		if (!s->silent)
			stage_answer(s);
		stage_tick(s, t);
	}
}

const char *stage_stack(struct stage *s, size_t window, size_t sample)
{
	static char text[65536];
	struct stage_window *w = &s->windows[window];
	assert_true(w->ended && sample < w->n_samples);
	struct cam_stack_id stack;
	assert_int_equal(cam_place_stack(&w->t, w->samples[sample].place, &stack), 0);
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t depth = 0, n = 0;
	for (uint32_t node = stack.v; node; node = w->t.stacks.parent[node])
		path[depth++] = w->t.stacks.item[node];
	text[0] = '\0';
	while (depth--) {
		char room[128];
		struct cam_text f = cam_function_label(&w->t, (struct cam_func_id){path[depth]},
						       room, sizeof(room));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", n ? ";" : "", (int)f.n,
				      f.p);
	}
	return text;
}

enum cam_stack_end stage_end(struct stage *s, size_t window, size_t sample)
{
	struct stage_window *w = &s->windows[window];
	struct cam_stack_id stack;
	uint32_t root = 0;
	assert_true(w->ended && sample < w->n_samples);
	assert_int_equal(cam_place_stack(&w->t, w->samples[sample].place, &stack), 0);
	for (uint32_t node = stack.v; node; node = w->t.stacks.parent[node])
		root = w->t.stacks.item[node];
	const struct cam_function *f = &w->t.functions[root];
	return stack.v && f->kind == CAM_FUNC_MARK ? (enum cam_stack_end)f->start
						   : CAM_STACK_COMPLETE;
}

const char *stage_who(struct stage *s, size_t window, size_t sample)
{
	static char text[512];
	struct stage_window *w = &s->windows[window];
	assert_true(w->ended && sample < w->n_samples);
	const struct cam_task *k = &w->t.tasks[w->samples[sample].task.v];
	struct cam_text comm = cam_string(&w->t, k->comm), exe = cam_string(&w->t, k->exe),
			cgroup = cam_string(&w->t, k->cgroup);
	snprintf(text, sizeof(text), "%.*s|%.*s|%.*s", (int)comm.n, comm.p, (int)exe.n, exe.p,
		 (int)cgroup.n, cgroup.p);
	return text;
}

uint64_t stage_lost_samples(const struct stage *s, enum cam_cause cause)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s->n_windows; i++) {
		for (size_t k = 0; k < s->windows[i].n_ledger; k++) {
			if (s->windows[i].ledger[k].cause == cause)
				n += s->windows[i].ledger[k].samples;
		}
	}
	return n;
}

size_t stage_samples(const struct stage *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_windows; i++)
		n += s->windows[i].n_samples;
	return n;
}

void stage_open_shell(struct stage *s)
{
	stage_open(s, NULL);
	world_process(s, 10, "sh", "/bin/sh");
	world_map(s, 10, 0x1000, 0x3000, 5, "/bin/sh");
	stage_tick(s, 1 * SEC);
}

void stage_open_known_shell(struct stage *s)
{
	stage_open_shell(s);
	stage_sample(s, 1 * SEC + 1, 10, 10, USER(0x1010));
	stage_run(s, 3 * SEC);
}
