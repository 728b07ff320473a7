// SPDX-License-Identifier: Apache-2.0
#include "support_store.h"

#include "base/index.h"
#include "store/name.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TABLE_BYTES ((size_t)16 << 20)
#define LEAVES	    5u
#define COMMS	    3u
#define CPUS	    4u

void numbered_init(struct numbered *n, struct cam_journal *to)
{
	assert_non_null(to);
	*n = (struct numbered){.to = to};
}

static struct cam_str_id str(struct cam_tables *t, const char *s)
{
	struct cam_str_id id;
	assert_int_equal(cam_string_intern(t, cam_text_of(s), &id), 0);
	return id;
}

int numbered_begin(struct numbered *n, const struct numbered_window *w)
{
	assert_false(n->open);
	assert_int_equal(cam_tables_init(&n->t, TABLE_BYTES), 0);
	struct cam_window_head head = {
		.host = str(&n->t, w->host ? w->host : "h"),
		.boot_id = {{w->boot}},
		.clock = w->imported ? CAM_CLOCK_FOREIGN : CAM_CLOCK_MONOTONIC,
		.start_ns = w->start_ns,
		.time_unit_ns = 10000,
		.imported = w->imported,
	};
	int err = n->to->begin(n->to, &n->t, &head);
	if (err) {
		cam_tables_free(&n->t);
		return err;
	}
	n->w = *w;
	n->next_ns = w->start_ns;
	n->open = true;
	return 0;
}

static struct cam_loc_id frame(struct cam_tables *t, const char *name, uint64_t address)
{
	struct cam_func_id func;
	struct cam_loc_id loc;
	struct cam_function f = {.name = str(t, name), .source = CAM_NAME_SYMTAB};
	assert_int_equal(cam_function_intern(t, &f, &func), 0);
	struct cam_location l = {.address = address, .func = func, .func_offset = address & 15};
	assert_int_equal(cam_location_intern(t, &l, &loc), 0);
	return loc;
}

static struct cam_sample sample_of(struct cam_tables *t, unsigned k, uint64_t time_ns)
{
	char name[32];
	struct cam_sample s = {.time_ns = time_ns, .weight = k + 1, .cpu = k % CPUS};
	struct cam_etype e = {
		.name = str(t, "cpu-clock"), .period_ns = STEP_NS, .has_weight = true};
	assert_int_equal(cam_etype_intern(t, &e, &s.etype), 0);
	snprintf(name, sizeof(name), "t%u", k % COMMS);
	struct cam_task task = {
		.pid = (int32_t)(100 + k % COMMS),
		.tid = (int32_t)(100 + k % COMMS),
		.uid = 7,
		.comm = str(t, name),
	};
	assert_int_equal(cam_task_intern(t, &task, &s.task), 0);
	snprintf(name, sizeof(name), "f%u", k % LEAVES);
	struct cam_loc_id frames[2] = {frame(t, name, 0x2000 + 16 * (k % LEAVES) + 3),
				       frame(t, "main", 0x1001)};
	assert_int_equal(cam_place_intern(t, frames, 2, &s.place), 0);
	return s;
}

int numbered_append(struct numbered *n, unsigned first, unsigned count)
{
	struct cam_sample samples[64];
	uint64_t time_ns = n->next_ns;
	assert_true(n->open && count <= 64 && first + count <= MAX_NUMBERS);
	for (unsigned i = 0; i < count; i++, time_ns += STEP_NS)
		samples[i] = sample_of(&n->t, first + i, time_ns);
	struct cam_anchor anchor = {
		.time_ns = n->w.start_ns,
		.raw_ns = CAM_TIME_NONE,
		.boottime_ns = n->w.start_ns,
		.sched_ns = CAM_TIME_NONE,
		.realtime_ns = n->w.realtime_ns,
	};
	struct cam_block block = {
		.samples = samples,
		.n_samples = count,
		.anchors = &anchor,
		.n_anchors = n->w.realtime_ns && n->next_ns == n->w.start_ns,
	};
	int err = n->to->append(n->to, &n->t, &block);
	if (!err)
		n->next_ns = time_ns;
	return err;
}

int numbered_mark(struct numbered *n, uint64_t time_ns, unsigned k)
{
	char text[32];
	snprintf(text, sizeof(text), "mark %u", k);
	struct cam_event e = {
		.time_ns = time_ns,
		.uncertainty_ns = k,
		.severity = CAM_SEVERITY_NOTICE,
		.source = str(&n->t, "mark"),
		.text = str(&n->t, text),
	};
	return n->to->append(n->to, &n->t, &(struct cam_block){.events = &e, .n_events = 1});
}

int numbered_end(struct numbered *n)
{
	int err = n->to->end(n->to, n->next_ns, false);
	if (!err)
		numbered_drop(n);
	return err;
}

void numbered_drop(struct numbered *n)
{
	if (n->open)
		cam_tables_free(&n->t);
	n->open = false;
}

void numbered_window(struct cam_store *s, const struct numbered_window *w, unsigned first,
		     unsigned count, bool seal)
{
	struct numbered n;
	unsigned sealed;
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, w), 0);
	assert_int_equal(numbered_append(&n, first, count), 0);
	assert_int_equal(numbered_end(&n), 0);
	if (seal) {
		assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
		assert_int_equal(sealed, 1);
	}
}

struct reading {
	const struct cam_tables *t;
	struct cam_window *w;
	struct numbers *out;
};

/* Which names: "f3" of generation 0, "g3" of generation 1. */
static unsigned generation_of(struct cam_text leaf, unsigned k)
{
	char expected[32];
	for (unsigned g = 0; g < 2; g++) {
		snprintf(expected, sizeof(expected), "%c%u", g ? 'g' : 'f', k % LEAVES);
		if (cam_text_equal(leaf, cam_text_of(expected)))
			return g;
	}
	fail_msg("sample %u has a wrong name", k);
	return 0;
}

/* Whether names of it were in a part that is lost. */
static bool is_nameless(const struct cam_tables *t, const struct cam_task *task, uint32_t stack)
{
	bool lost = task->pid == CAM_PID_NONE ||
		    cam_text_equal(cam_string(t, task->comm), CAM_TEXT("[damaged]"));
	for (; stack && !lost; stack = t->stacks.parent[stack]) {
		struct cam_text name = cam_string(t, t->functions[t->stacks.item[stack]].name);
		lost = cam_text_equal(name, CAM_TEXT("[damaged]"));
	}
	return lost;
}

static void read_sample(struct reading *r, const struct cam_batch *b, size_t i)
{
	const struct cam_tables *t = r->t;
	char comm[32];
	unsigned k = (unsigned)b->weight[i] - 1;
	uint32_t stack = b->stack[i];
	r->out->total++;
	assert_true(b->task[i] < t->n_tasks && stack < t->stacks.n);
	const struct cam_task *task = &t->tasks[b->task[i]];
	if (is_nameless(t, task, stack) ||
	    (r->w->damage.chunks && b->leaf_offset[i] == CAM_OFFSET_NONE)) {
		r->out->nameless++;
		return;
	}
	assert_true(b->weight[i] >= 1 && b->weight[i] <= MAX_NUMBERS);
	assert_int_equal(b->cpu[i], k % CPUS);
	assert_in_range(b->time_ns[i], r->w->info.start_ns, r->w->info.end_ns - 1);
	assert_int_equal((b->time_ns[i] - r->w->info.start_ns) % STEP_NS, 0);
	assert_int_equal(task->pid, 100 + k % COMMS);
	snprintf(comm, sizeof(comm), "t%u", k % COMMS);
	assert_true(cam_text_equal(cam_string(t, task->comm), cam_text_of(comm)));
	struct cam_text leaf = cam_string(t, t->functions[t->stacks.item[stack]].name);
	struct cam_text root =
		cam_string(t, t->functions[t->stacks.item[t->stacks.parent[stack]]].name);
	assert_true(cam_text_equal(root, CAM_TEXT("main")));
	assert_int_equal(b->leaf_offset[i], (16 * (k % LEAVES) + 3) & 15);
	r->out->generation[k] = (uint8_t)generation_of(leaf, k);
	r->out->times[k]++;
}

static int read_batch(void *arg, const struct cam_batch *b)
{
	struct reading *r = arg;
	assert_int_equal(r->w->ops->tables(r->w, &r->t), 0);
	for (size_t i = 0; i < b->n; i++)
		read_sample(r, b, i);
	return 0;
}

static int read_event(void *arg, const struct cam_event *e)
{
	struct reading *r = arg;
	assert_int_equal(r->w->ops->tables(r->w, &r->t), 0);
	struct cam_text text = cam_string(r->t, e->text);
	char line[64];
	unsigned k;
	assert_true(text.n < sizeof(line));
	memcpy(line, text.p, text.n);
	line[text.n] = '\0';
	assert_int_equal(sscanf(line, "mark %u", &k), 1);
	assert_true(k < MAX_MARKS);
	assert_true(cam_text_equal(cam_string(r->t, e->source), CAM_TEXT("mark")));
	assert_in_range(e->time_ns, r->w->info.start_ns, r->w->info.end_ns - 1);
	assert_int_equal(e->uncertainty_ns, k);
	assert_int_equal(e->severity, CAM_SEVERITY_NOTICE);
	r->out->marks[k]++;
	return 0;
}

void window_read(struct cam_window *w, struct numbers *out)
{
	struct reading r = {.w = w, .out = out};
	unsigned columns = CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_STACK |
			   CAM_COL_WEIGHT | CAM_COL_LEAF;
	unsigned before = out->total;
	assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, columns, read_batch, &r), 0);
	assert_int_equal(w->ops->events(w, read_event, &r), 0);
	if (!w->damage.chunks)
		assert_int_equal(out->total - before, w->info.samples);
	out->damaged += w->damage.chunks;
}

void store_read(struct cam_io *io, struct numbers *out)
{
	struct cam_source *source;
	*out = (struct numbers){0};
	assert_int_equal(cam_store_open_read(io, &source), 0);
	for (size_t i = 0; i < source->ops->count(source); i++) {
		const struct cam_window_info *info;
		struct cam_window *w;
		/* What cannot be read stays in the list, and says why. */
		int err = source->ops->info(source, i, &info);
		if (err) {
			assert_int_equal(source->ops->open(source, i, &w), err);
			out->unreadable++;
			continue;
		}
		assert_int_equal(source->ops->open(source, i, &w), 0);
		assert_int_equal(w->info.samples, info->samples);
		assert_int_equal(w->info.events, info->events);
		out->windows += info->sealed;
		out->journals += !info->sealed;
		window_read(w, out);
		w->ops->close(w);
	}
	source->ops->close(source);
}

bool numbers_equal(const struct numbers *a, const struct numbers *b)
{
	return memcmp(a->times, b->times, sizeof(a->times)) == 0 &&
	       memcmp(a->generation, b->generation, sizeof(a->generation)) == 0 &&
	       memcmp(a->marks, b->marks, sizeof(a->marks)) == 0;
}

void numbered_better(struct cam_window *w)
{
	const struct cam_tables *tables;
	if (w->ops->tables(w, &tables))
		return;
	struct cam_tables *t = (struct cam_tables *)tables;
	for (size_t i = 0; i < t->n_functions; i++) {
		struct cam_text name = cam_string(t, t->functions[i].name);
		char better[3] = "g?";
		if (name.n != 2 || name.p[0] != 'f')
			continue;
		better[1] = name.p[1];
		t->functions[i].name = str(t, better);
	}
}

int add_mark(struct cam_store *s, uint8_t boot, uint64_t time_ns, unsigned k)
{
	char text[32];
	snprintf(text, sizeof(text), "mark %u", k);
	return cam_store_add_event(s, &(struct cam_boot_id){{boot}}, time_ns, k,
				   CAM_SEVERITY_NOTICE, CAM_TEXT("mark"), cam_text_of(text));
}

static void memo_grow(struct memo *m)
{
	struct memo old = *m;
	*m = (struct memo){.cap = old.cap ? old.cap * 2 : 1024};
	m->keys = calloc(m->cap, sizeof(*m->keys));
	m->states = calloc(m->cap, sizeof(*m->states));
	assert_true(m->keys && m->states);
	for (size_t i = 0; i < old.cap; i++) {
		if (old.keys[i])
			*memo_find(m, old.keys[i]) = old.states[i];
	}
	memo_free(&old);
}

uint32_t *memo_find(struct memo *m, uint64_t key)
{
	key += key == 0; /* 0: a free place */
	if (m->n * 2 >= m->cap)
		memo_grow(m);
	size_t i = key & (m->cap - 1);
	while (m->keys[i] && m->keys[i] != key)
		i = (i + 1) & (m->cap - 1);
	m->n += !m->keys[i];
	m->keys[i] = key;
	return &m->states[i];
}

void memo_free(struct memo *m)
{
	free(m->keys);
	free(m->states);
	*m = (struct memo){0};
}

struct name_list {
	char names[64][CAM_NAME_BYTES];
	size_t n;
};

static int note_name(void *arg, const char *name)
{
	struct name_list *l = arg;
	assert_true(l->n < 64);
	size_t at = l->n++;
	/* Sorted: the order of a directory means nothing. */
	for (; at > 0 && strcmp(l->names[at - 1], name) > 0; at--)
		memcpy(l->names[at], l->names[at - 1], CAM_NAME_BYTES);
	strcpy(l->names[at], name);
	return 0;
}

uint64_t hash_disk(struct sim_disk *d, bool all)
{
	struct name_list l = {.n = 0};
	struct cam_io *io = sim_io(d);
	uint64_t hash = 1;
	assert_int_equal(io->ops->list(io, note_name, &l), 0);
	for (size_t i = 0; i < l.n; i++) {
		size_t n;
		const uint8_t *bytes = sim_get(d, l.names[i], &n);
		hash = cam_hash_u64(hash, cam_hash(l.names[i], strlen(l.names[i]) + 1));
		if (all || cam_name_kind(l.names[i]) != CAM_FILE_TEMPORARY)
			hash = cam_hash_u64(hash, cam_hash(bytes, n));
	}
	return hash;
}

static struct cam_io *real_of(struct cam_io *io)
{
	return ((struct relay *)io)->real;
}

static int relay_open(struct cam_io *io, const char *name, enum cam_io_mode mode,
		      struct cam_file **out)
{
	return real_of(io)->ops->open(real_of(io), name, mode, out);
}

static int relay_rename(struct cam_io *io, const char *from, const char *to, bool replace)
{
	return real_of(io)->ops->rename(real_of(io), from, to, replace);
}

static int relay_unlink(struct cam_io *io, const char *name)
{
	return real_of(io)->ops->unlink(real_of(io), name);
}

static int relay_sync_dir(struct cam_io *io)
{
	return real_of(io)->ops->sync_dir(real_of(io));
}

static int relay_list(struct cam_io *io, cam_io_list_fn *fn, void *arg)
{
	return real_of(io)->ops->list(real_of(io), fn, arg);
}

static int relay_lock(struct cam_io *io, const char *name, struct cam_file **out, int *holder)
{
	return real_of(io)->ops->lock(real_of(io), name, out, holder);
}

static int relay_space(struct cam_io *io, uint64_t *total_bytes, uint64_t *free_bytes)
{
	return real_of(io)->ops->space(real_of(io), total_bytes, free_bytes);
}

/* Files are those of the real disk, with its own functions. */
const struct cam_io_ops relay_ops = {
	.open = relay_open,
	.rename = relay_rename,
	.unlink = relay_unlink,
	.sync_dir = relay_sync_dir,
	.list = relay_list,
	.lock = relay_lock,
	.space = relay_space,
};

void sim_cut(struct sim_disk *d, const char *name, size_t bytes)
{
	size_t n;
	const uint8_t *all = sim_get(d, name, &n);
	assert_non_null(all);
	assert_true(bytes <= n);
	uint8_t *some = malloc(bytes + 1);
	assert_non_null(some);
	memcpy(some, all, bytes);
	sim_put(d, name, some, bytes);
	free(some);
}

struct looking {
	const char *name;
	struct cam_verify_report *r;
	bool found;
};

static int look(void *arg, const struct cam_verify_report *r)
{
	struct looking *l = arg;
	if (strcmp(r->name, l->name) == 0) {
		*l->r = *r;
		l->r->name = l->name;
		l->found = true;
	}
	return 0;
}

const char *verdict_of(struct cam_io *io, const char *name, struct cam_verify_report *r)
{
	struct looking l = {name, r, false};
	assert_int_equal(cam_store_verify(io, look, &l), 0);
	return l.found ? r->verdict : NULL;
}

void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

struct cam_store *store_open(struct cam_io *io)
{
	struct cam_store *s = NULL;
	int holder;
	assert_int_equal(cam_store_open_write(io, &s, &holder), 0);
	assert_non_null(s);
	return s;
}
