// SPDX-License-Identifier: Apache-2.0
/*
 * Rows to records. A frame becomes an address once a window (frame_of()), and before the sample that uses
 * it stand the mappings that its process does not have yet (map()).
 *
 * Where a module of user space lies, by its number m in the gathered tables:
 *
 *	BASE + m * SLOT              its offsets, 4 GiB of them: mapped from offset 0
 *	BASE + m * SLOT + SLOT / 2   functions without an address: mapped from offset FAR, where no file
 *	                             has code; function f of the gathered tables is at f * 4096, what has
 *	                             neither address nor name at 0
 *
 * Larger addresses are absolute and stay what they are; where the window names a module for one (code made
 * at run time), its page is mapped from an offset equal to its address, so that perf prints it unchanged.
 * Kernel addresses stay as they are; kernel functions without one are at FAR_KERNEL + f * 4096.
 */
#include "interop/perf_data_out.h"

#include "base/units.h"
#include "base/vec.h"
#include "interop/gather.h"
#include "interop/perf_data_write.h"
#include "interop/perf_names_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES      (256u << 20)
#define MAX_KNOWN      (1u << 24)
#define PAGE	       4096ull
#define BASE	       (1ull << 40)
#define SLOT	       (1ull << 33)
#define MAX_SLOTS      (1u << 13)
#define FAR	       (1ull << 44)
#define MAX_FUNCS      (SLOT / 2 / PAGE)
#define KERNEL_START   0xffff800000000000ull
#define FAR_KERNEL     0xfffff00000000000ull
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER   ((uint64_t)-512)
#define CONTEXT_NONE   ((uint64_t)-1) /* which perf knows as none: it prints no frame then */
#define RECORD_BYTES   (4u << 20)

enum frame_kind { FRAME_UNSEEN, FRAME_LEFT_OUT, FRAME_KERNEL, FRAME_USER };

/* A frame as perf will see it. */
struct frame {
	uint64_t ip;
	uint64_t start, bytes, offset; /* its mapping; bytes 0: none */
	uint32_t module;	       /* of the gathered tables */
	enum frame_kind kind;
	bool inlined;
	bool stray; /* of the kernel by its address alone: below user code it is user data */
};

/* (pid, start of a mapping) or (pid and tid, comm): what perf knows already. */
struct known {
	uint64_t a, b;
};

struct data {
	struct cam_exporter base;
	struct cam_gather g;
	struct cam_spool spool;
	struct cam_buf records;
	struct frame *frames; /* by item of the window */
	size_t n_frames;
	struct known *mapped;
	size_t n_mapped, cap_mapped;
	struct cam_index mapped_index;
	struct known *comms; /* b changes with the comm */
	size_t n_comms, cap_comms;
	struct cam_index comm_index;
	bool begun, kernel_mapped;
	bool named;   /* the names are wanted, too */
	bool made_up; /* a function has a made-up address */
	struct cam_perf_names names;
	struct cam_perf_frame_facts facts;
	char host[256], kernel[256], machine[64], model[128],
		kernel_build_id[CAM_PERF_BUILD_ID_BYTES];
};

static bool same_known(const void *rows, uint32_t id, const void *key)
{
	const struct known *a = (const struct known *)rows + id, *b = key;
	return a->a == b->a && a->b == b->b;
}

static bool same_first(const void *rows, uint32_t id, const void *key)
{
	return ((const struct known *)rows)[id].a == ((const struct known *)key)->a;
}

/* A module of user space goes by path and build-id, a function by module and name. */
static int number_of(struct data *d, const struct cam_export_frame *f, uint32_t *module,
		     uint32_t *func, uint32_t *name)
{
	struct cam_module m = {.kind = f->module_kind};
	struct cam_function fn = {.kind = f->kind};
	struct cam_func_id id = {0};
	int err = cam_string_intern(&d->g.t, f->module, &m.path);
	if (!err)
		err = cam_string_intern(&d->g.t, f->build_id, &m.build_id);
	if (!err)
		err = cam_module_intern(&d->g.t, &m, &fn.module);
	if (!err && f->name.n && (!f->address || d->named))
		err = cam_string_intern(&d->g.t, f->name, &fn.name);
	if (!err && !f->address && f->name.n) {
		d->made_up = true;
		err = cam_function_intern(&d->g.t, &fn, &id);
	}
	*module = fn.module.v;
	*func = id.v;
	*name = fn.name.v;
	return err;
}

static bool is_kernel(const struct cam_export_frame *f)
{
	return f->kind == CAM_FUNC_KERNEL || f->address >= KERNEL_START;
}

static void place_kernel(const struct cam_export_frame *f, uint32_t func, struct frame *out)
{
	out->kind = f->address || f->name.n ? FRAME_KERNEL : FRAME_LEFT_OUT;
	out->stray = f->module_kind != CAM_MODULE_KERNEL;
	out->ip = f->address ? f->address : FAR_KERNEL + func * PAGE;
}

/*
 * Of an event without chains the address is the process's own. Its function may tell where in the file that
 * lies; else there is no name rather than another function's.
 */
static void place_own(const struct cam_export_frame *f, struct frame *out)
{
	uint64_t at = f->start + f->offset;
	bool known = f->start && f->offset != CAM_OFFSET_NONE && (f->address - at) % PAGE == 0;
	out->kind = FRAME_USER;
	out->ip = f->address;
	out->start = f->address & ~(PAGE - 1);
	out->offset = known ? at & ~(PAGE - 1) : FAR + out->start;
	out->bytes = PAGE;
}

/* With `exact` an address of 0 is one: stacks without frame pointers have such. */
static void place_user(const struct cam_export_frame *f, uint32_t func, bool exact,
		       struct frame *out)
{
	uint64_t slot = BASE + out->module * SLOT;
	bool has_slot = out->module && out->module < MAX_SLOTS && f->module.n;
	out->kind = FRAME_USER;
	if (!f->address && (f->name.n || !exact) && has_slot && func < MAX_FUNCS) {
		out->start = slot + SLOT / 2;
		out->bytes = SLOT / 2;
		out->offset = FAR;
		out->ip = out->start + func * PAGE;
	} else if (!f->address) {
		out->kind = exact ? FRAME_USER : FRAME_LEFT_OUT;
	} else if (has_slot && f->address < SLOT / 2 && f->module_kind != CAM_MODULE_JIT) {
		out->start = slot;
		out->bytes = SLOT / 2;
		out->ip = slot + f->address;
	} else {
		out->ip = f->address;
		if (has_slot && !cam_text_equal(f->module, CAM_TEXT("[unknown]"))) {
			out->start = out->offset = f->address & ~(PAGE - 1);
			out->bytes = PAGE;
		}
	}
}

/* Where perf will look for the name: in a module by what it takes for the offset in its file. */
static int name_frame(struct data *d, const struct cam_export_frame *e, const struct frame *f,
		      uint32_t name)
{
	bool inside = e->address && e->offset != CAM_OFFSET_NONE && e->offset <= e->address;
	struct cam_perf_symbol s = {.name = name, .bytes = PAGE};
	if (f->kind == FRAME_LEFT_OUT || (f->kind == FRAME_USER && !f->bytes))
		return 0;
	s.module = f->kind == FRAME_USER ? f->module : 0;
	s.start = f->kind == FRAME_USER ? f->ip - f->start + f->offset : f->ip;
	/* perf knows no offset of that one's. */
	if (f->kind == FRAME_USER && cam_text_equal(e->module, CAM_TEXT("[vdso]")))
		s.start -= f->offset;
	if (e->address) {
		s.start -= inside ? e->offset : 0;
		s.bytes = inside ? e->offset + 1 : 1;
	}
	int err = cam_perf_names_add(&d->names, &s);
	return err == -E2BIG ? 0 : err;
}

/* What was inlined has no code of its own: with names it is a function beside the others, called as perf calls it. */
static void become_function(struct cam_export_frame *e, char *room, size_t bytes)
{
	int n = snprintf(room, bytes, "%.*s (inlined)", (int)(e->name.n < 400 ? e->name.n : 400),
			 e->name.p);
	e->name = (struct cam_text){room, n > 0 && e->name.n ? (size_t)n : 0};
	e->kind = CAM_FUNC_USER;
	e->address = 0;
	if (!e->module.n)
		e->module = CAM_TEXT("[inlined]");
}

static int frame_of(struct data *d, uint32_t item, bool flat, struct frame **out)
{
	struct cam_exporter *x = &d->base;
	if (item >= d->n_frames)
		return -EBADMSG;
	struct frame *f = &d->frames[item];
	*out = f;
	if (f->kind != FRAME_UNSEEN)
		return 0;
	struct cam_export_frame e = cam_exporter_frame(x, item);
	uint32_t func = 0, name = 0;
	char inlined[512];
	if (e.kind == CAM_FUNC_MARK || (e.kind == CAM_FUNC_INLINED && !d->named)) {
		f->kind = FRAME_LEFT_OUT;
		return 0;
	}
	f->inlined = e.kind == CAM_FUNC_INLINED;
	if (f->inlined)
		become_function(&e, inlined, sizeof(inlined));
	int err = number_of(d, &e, &f->module, &func, &name);
	if (err)
		return err;
	if (is_kernel(&e))
		place_kernel(&e, func, f);
	else if (flat && e.address && e.module_kind == CAM_MODULE_FILE && f->module &&
		 f->module < MAX_SLOTS)
		place_own(&e, f);
	else
		place_user(&e, func, x->places, f);
	return d->named && name ? name_frame(d, &e, f, name) : 0;
}

/* Adds what is not there yet; *fresh: it was not. `same` finds the row whose b is then set anew. */
static int learn(struct known **rows, size_t *n, size_t *cap, struct cam_index *ix,
		 cam_index_same *same, uint64_t hash, const struct known *k, bool *fresh)
{
	uint32_t at = cam_index_find(ix, hash, same, *rows, k);
	*fresh = at == CAM_INDEX_NONE || (*rows)[at].b != k->b;
	if (at != CAM_INDEX_NONE) {
		(*rows)[at].b = k->b;
		return 0;
	}
	int err = cam_vec_reserve(rows, cap, *n + 1, sizeof(**rows), MAX_KNOWN);
	if (!err)
		err = cam_index_reserve(ix);
	if (err)
		return err;
	(*rows)[*n] = *k;
	cam_index_add(ix, hash, (uint32_t)(*n)++);
	return 0;
}

static int map(struct data *d, const struct cam_perf_stamp *s, const struct frame *f)
{
	const struct cam_tables *t = &d->g.t;
	if (!f->bytes)
		return 0;
	struct known k = {(uint64_t)(uint32_t)s->pid << 32 | f->module, f->start};
	bool fresh;
	int err = learn(&d->mapped, &d->n_mapped, &d->cap_mapped, &d->mapped_index, same_known,
			cam_hash_u64(k.a, k.b), &k, &fresh);
	if (err || !fresh)
		return err;
	char room[CAM_PERF_BUILD_ID_BYTES];
	struct cam_perf_mapping m = {
		.pid = s->pid,
		.start = f->start,
		.bytes = f->bytes,
		.offset = f->offset,
		.path = cam_string(t, t->modules[f->module].path),
		.build_id = cam_string(t, t->modules[f->module].build_id),
	};
	if (d->named) {
		m.path = cam_perf_names_path(m.path);
		m.build_id = cam_perf_names_id(&d->names, t, f->module, room);
	}
	cam_perf_write_mapping(&d->records, s, &m);
	return 0;
}

static int name_thread(struct data *d, const struct cam_perf_stamp *s, uint32_t task)
{
	struct cam_text comm = cam_string(d->base.t, d->base.t->tasks[task].comm);
	struct known k = {(uint64_t)(uint32_t)s->pid << 32 | (uint32_t)s->tid,
			  cam_hash(comm.p, comm.n)};
	bool fresh;
	int err = learn(&d->comms, &d->n_comms, &d->cap_comms, &d->comm_index, same_first,
			cam_hash_u64(k.a, 0), &k, &fresh);
	if (!err && fresh)
		cam_perf_write_comm(&d->records, s, comm);
	return err;
}

/* The kernel's own mapping, before anything else; a function of it whose address is known tells perf
 * where this boot had put it. */
static void map_kernel(struct data *d)
{
	const struct cam_tables *t = d->base.t;
	struct cam_perf_stamp s = {.pid = -1, .has_cpu = d->facts.has_cpu};
	char name[300] = "[kernel.kallsyms]_text";
	struct cam_perf_mapping m = {
		.pid = -1, .start = KERNEL_START, .bytes = UINT64_MAX - KERNEL_START - PAGE};
	struct cam_text id = {0};
	for (size_t i = 0; d->base.places && !d->named && i < t->n_locations && !m.offset; i++) {
		struct cam_export_frame f = cam_exporter_frame(&d->base, (uint32_t)i);
		if (f.kind != CAM_FUNC_KERNEL || f.address < KERNEL_START || !f.name.n ||
		    f.offset >= PAGE || !cam_text_starts(f.module, CAM_TEXT("[kernel")) ||
		    f.name.n > 200)
			continue;
		snprintf(name, sizeof(name), "[kernel.kallsyms]%.*s", (int)f.name.n, f.name.p);
		m.offset = f.address - f.offset;
		id = f.build_id;
	}
	/* Without that, or without its build-id, no kernel's names can be trusted. */
	struct cam_text unknown = CAM_TEXT("perfcam: not known!!");
	if (!id.n || id.n > sizeof(d->kernel_build_id) || !m.offset)
		id = unknown;
	char room[CAM_PERF_NAMES_ID];
	if (d->named)
		id = cam_perf_names_id(&d->names, &d->g.t, 0, room);
	memcpy(d->kernel_build_id, id.p, id.n);
	d->facts.kernel_build_id = (struct cam_text){d->kernel_build_id, id.n};
	m.path = cam_text_of(name);
	cam_perf_write_mapping(&d->records, &s, &m);
	d->kernel_mapped = true;
}

static int put_chain(struct data *d, const struct cam_perf_stamp *s, const struct cam_export_row *r,
		     uint64_t period)
{
	const struct cam_tree *tree = d->base.tree;
	uint64_t ips[2 * CAM_MAX_STACK_FRAMES + 3];
	size_t n = 0;
	enum frame_kind context = FRAME_UNSEEN, first = FRAME_USER;
	uint64_t ip = 0;
	bool flat = d->base.t->etypes[r->etype].flat;
	int err = 0;
	for (uint32_t node = r->stack; node && !err && n + 3 <= sizeof(ips) / sizeof(ips[0]);
	     node = tree->parent[node]) {
		struct frame *f;
		err = frame_of(d, tree->item[node], flat, &f);
		if (err || f->kind == FRAME_LEFT_OUT)
			continue;
		uint64_t at = f->ip;
		/* Of what is inlined the offset is its caller's. */
		if (node == r->stack && !f->inlined && r->leaf_offset != CAM_OFFSET_NONE &&
		    r->leaf_offset < PAGE)
			at += r->leaf_offset;
		enum frame_kind kind = f->stray && context == FRAME_USER ? FRAME_USER : f->kind;
		if (kind != context)
			ips[n++] = kind == FRAME_KERNEL ? CONTEXT_KERNEL : CONTEXT_USER;
		if (context == FRAME_UNSEEN) {
			ip = at;
			first = kind;
		}
		context = kind;
		ips[n++] = at;
		err = map(d, s, f);
	}
	if (cam_exporter_is_broken(&d->base, r->stack))
		ips[n++] = CONTEXT_NONE;
	if (!err)
		cam_perf_write_sample(&d->records, s, first == FRAME_KERNEL, ip, period, ips, n);
	return err;
}

static void note_time(struct data *d, uint64_t time_ns)
{
	struct cam_perf_frame_facts *f = &d->facts;
	int64_t wall;
	if (time_ns < f->first_ns)
		f->first_ns = time_ns;
	if (time_ns > f->last_ns)
		f->last_ns = time_ns;
	if (!f->has_wall && cam_exporter_wall(&d->base, time_ns, &wall) && wall > 0) {
		f->has_wall = true;
		f->clock_ns = time_ns;
		f->wall_ns = (uint64_t)wall;
	}
}

static int put_row(struct cam_exporter *x, const struct cam_export_row *r)
{
	struct data *d = (struct data *)x;
	const struct cam_task *k = &x->t->tasks[r->task];
	struct cam_perf_stamp s = {
		.pid = k->pid != CAM_PID_NONE ? k->pid : k->tid,
		.tid = k->tid,
		.time_ns = r->time_ns,
		.cpu = r->cpu,
		.flat = x->t->etypes[r->etype].flat,
	};
	if (!d->begun)
		d->facts.has_cpu = r->cpu != CAM_CPU_NONE;
	d->begun = true;
	s.has_cpu = d->facts.has_cpu;
	cam_buf_clear(&d->records);
	if (!d->kernel_mapped)
		map_kernel(d);
	note_time(d, r->time_ns);
	int err = cam_gather_etype(&d->g, x, r->etype, &s.event);
	if (!err)
		err = name_thread(d, &s, r->task);
	if (!err)
		err = put_chain(d, &s, r, cam_exporter_period(x, r));
	err = err ? err : cam_buf_error(&d->records);
	if (!err)
		cam_out_bytes(&d->spool.out, d->records.data, d->records.len);
	err = err ? err : d->spool.out.error;
	return err == -E2BIG ? 0 : err ? err : 1;
}

static struct cam_text keep(char *room, size_t bytes, struct cam_text s)
{
	size_t n = s.n < bytes ? s.n : bytes;
	memcpy(room, s.p, n);
	return (struct cam_text){room, n};
}

/* perf's words, where the window came from perf; our own for our own. */
static int on_fact(void *arg, const struct cam_fact *fact)
{
	struct data *d = arg;
	struct cam_text key = cam_string(d->base.t, fact->key);
	struct cam_text value = cam_string(d->base.t, fact->value);
	if (cam_text_equal(key, CAM_TEXT("kernel")) || cam_text_equal(key, CAM_TEXT("os release")))
		d->facts.kernel = keep(d->kernel, sizeof(d->kernel), value);
	else if (cam_text_equal(key, CAM_TEXT("machine")) || cam_text_equal(key, CAM_TEXT("arch")))
		d->facts.machine = keep(d->machine, sizeof(d->machine), value);
	else if (cam_text_equal(key, CAM_TEXT("cpudesc")))
		d->facts.model = keep(d->model, sizeof(d->model), value);
	return 0;
}

static int begin_window(struct cam_exporter *x)
{
	struct data *d = (struct data *)x;
	free(d->frames);
	d->n_frames = x->places ? x->t->n_locations : x->t->n_functions;
	d->frames = calloc(d->n_frames + 1, sizeof(*d->frames));
	if (!d->frames)
		return -ENOMEM;
	if (!d->begun) {
		d->facts.host = keep(d->host, sizeof(d->host), x->w->info.host);
		d->facts.cpus = x->w->info.cpus;
		d->facts.monotonic = x->w->info.clock == CAM_CLOCK_MONOTONIC;
		x->w->ops->facts(x->w, on_fact, d);
	}
	return cam_gather_window(&d->g, x);
}

static int finish(struct cam_exporter *x)
{
	struct data *d = (struct data *)x;
	int err = cam_spool_rewind(&d->spool);
	return err ? err : cam_perf_write_file(x->out, &d->spool, &d->g.t, &d->facts);
}

static void free_data(struct cam_exporter *x)
{
	struct data *d = (struct data *)x;
	cam_gather_free(&d->g);
	cam_spool_close(&d->spool);
	cam_buf_free(&d->records);
	cam_index_free(&d->mapped_index);
	cam_index_free(&d->comm_index);
	cam_perf_names_free(&d->names);
	free(d->frames);
	free(d->mapped);
	free(d->comms);
}

void cam_perf_data_out_named(struct cam_exporter *x, uint64_t salt)
{
	struct data *d = (struct data *)x;
	d->named = true;
	d->names.salt = salt;
}

bool cam_perf_data_out_lacks_names(const struct cam_exporter *x)
{
	const struct data *d = (const struct data *)x;
	return d->made_up && !d->named;
}

int cam_perf_data_out_names(struct cam_exporter *x, cam_perf_names_fn *fn, void *arg)
{
	struct data *d = (struct data *)x;
	return cam_perf_names_write(&d->names, &d->g.t, fn, arg);
}

int cam_perf_data_out_new(struct cam_out *out, struct cam_exporter **made)
{
	static const struct cam_exporter_ops ops = {
		.window = begin_window, .row = put_row, .finish = finish, .free = free_data};
	struct data *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->base.ops = &ops;
	d->base.out = out;
	d->records = CAM_BUF(RECORD_BYTES);
	d->facts.first_ns = UINT64_MAX;
	int err = cam_gather_init(&d->g, MAX_BYTES);
	if (!err)
		err = cam_spool_open(&d->spool);
	if (err) {
		cam_gather_free(&d->g);
		free(d);
		return err;
	}
	*made = &d->base;
	return 0;
}
