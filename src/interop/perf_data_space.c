// SPDX-License-Identifier: Apache-2.0
/*
 * Invariants
 *  1. The maps of a space ascend by start and do not overlap.
 *  2. A space with refs > 1 is not changed, but copied first. `number` is new after every change.
 *  3. map_bytes is what all spaces have allocated for maps.
 *
 * Example: [10,50) a, then a mapping [20,30) b: [10,20) a, [20,30) b, [30,50) a with its offset moved.
 */
#include "interop/perf_data_space.h"

#include "base/vec.h"
#include "interop/frame.h"

#include <stdio.h>

#define KERNEL_IMAGE_BYTES (64ull << 20)

static bool same_thread(const void *rows, uint32_t row, const void *key)
{
	return ((const struct cam_perf_thread *)rows)[row].tid == *(const int32_t *)key;
}

static uint64_t thread_hash(int32_t tid)
{
	return cam_hash_u64((uint32_t)tid, 2);
}

static void release(struct cam_perf_spaces *s, struct cam_perf_space *space)
{
	if (!space || --space->refs)
		return;
	s->map_bytes -= space->cap * sizeof(*space->maps);
	free(space->maps);
	free(space);
}

int cam_perf_spaces_init(struct cam_perf_spaces *s)
{
	*s = (struct cam_perf_spaces){.next_number = 1};
	s->kernel.refs = 1;
	return cam_tables_init(&s->texts, CAM_PERF_TEXT_BYTES);
}

void cam_perf_spaces_free(struct cam_perf_spaces *s)
{
	for (size_t i = 0; i < s->n_threads; i++)
		release(s, s->threads[i].space);
	free(s->kernel.maps);
	free(s->threads);
	free(s->objects);
	free(s->known);
	free(s->exited);
	cam_index_free(&s->thread_index);
	cam_index_free(&s->object_index);
	cam_index_free(&s->known_index);
	cam_tables_free(&s->texts);
	*s = (struct cam_perf_spaces){0};
}

/* -E2BIG is no error of the import: the thing goes without. */
static int count_refusal(struct cam_perf_spaces *s, int err)
{
	if (err != -E2BIG)
		return err;
	s->refused++;
	return 0;
}

uint32_t cam_perf_spaces_row(const struct cam_perf_spaces *s, int32_t pid)
{
	return cam_index_find(&s->thread_index, thread_hash(pid), same_thread, s->threads, &pid);
}

static struct cam_perf_thread *find_thread(struct cam_perf_spaces *s, int32_t tid)
{
	uint32_t row = cam_perf_spaces_row(s, tid);
	return row == CAM_INDEX_NONE ? NULL : &s->threads[row];
}

/* The name that perf gives to a thread of which it knows none. */
static void forget_comm(struct cam_perf_spaces *s, struct cam_perf_thread *t)
{
	char text[16];
	int n = snprintf(text, sizeof(text), ":%d", t->tid);
	struct cam_text comm = {text, (size_t)n};
	if (t->tid == 0)
		comm = CAM_TEXT("swapper");
	t->comm.v = 0;
	t->named = t->tid == 0;
	cam_string_intern(&s->texts, comm, &t->comm);
}

struct cam_perf_thread *cam_perf_spaces_thread(struct cam_perf_spaces *s, int32_t pid, int32_t tid)
{
	struct cam_perf_thread *t = find_thread(s, tid);
	if (t) {
		if (t->pid == -1)
			t->pid = pid;
		return t;
	}
	if (cam_vec_reserve(&s->threads, &s->cap_threads, s->n_threads + 1, sizeof(*s->threads),
			    CAM_PERF_MAX_THREADS) ||
	    cam_index_reserve(&s->thread_index)) {
		s->refused++;
		return NULL;
	}
	t = &s->threads[s->n_threads];
	*t = (struct cam_perf_thread){.tid = tid, .pid = pid};
	forget_comm(s, t);
	cam_index_add(&s->thread_index, thread_hash(tid), (uint32_t)s->n_threads++);
	return t;
}

const struct cam_perf_space *cam_perf_spaces_of(struct cam_perf_spaces *s, int32_t pid)
{
	const struct cam_perf_thread *leader = find_thread(s, pid);
	return leader ? leader->space : NULL;
}

struct cam_perf_space *cam_perf_spaces_hold(struct cam_perf_spaces *s, int32_t pid)
{
	struct cam_perf_thread *leader = find_thread(s, pid);
	if (!leader || !leader->space)
		return NULL;
	leader->space->refs++;
	return leader->space;
}

void cam_perf_spaces_let_go(struct cam_perf_spaces *s, struct cam_perf_space *space)
{
	release(s, space);
}

const struct cam_perf_map *cam_perf_space_find(const struct cam_perf_space *space, uint64_t address)
{
	size_t low = 0, high = space ? space->n : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (space->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!space || low == space->n || space->maps[low].start > address)
		return NULL;
	return &space->maps[low];
}

/* One space of a process that has exited goes; false: there is none. */
static bool forget_exited(struct cam_perf_spaces *s)
{
	while (s->first_exited < s->n_exited) {
		struct cam_perf_thread *t = &s->threads[s->exited[s->first_exited++]];
		t->listed = false;
		if (t->exited && t->space) {
			release(s, t->space);
			t->space = NULL;
			return true;
		}
	}
	s->first_exited = s->n_exited = 0;
	return false;
}

/* Where there is no room its space stays to the end. */
static void list_exited(struct cam_perf_spaces *s, struct cam_perf_thread *t)
{
	if (t->listed || !t->space)
		return;
	if (s->first_exited && s->n_exited == s->cap_exited &&
	    s->first_exited >= s->cap_exited / 2) {
		s->n_exited -= s->first_exited;
		memmove(s->exited, s->exited + s->first_exited, s->n_exited * sizeof(*s->exited));
		s->first_exited = 0;
	}
	/* Each thread is in it once; as many may be gone at its front. */
	if (cam_vec_reserve(&s->exited, &s->cap_exited, s->n_exited + 1, sizeof(*s->exited),
			    2 * CAM_PERF_MAX_THREADS))
		return;
	s->exited[s->n_exited++] = (uint32_t)(t - s->threads);
	t->listed = true;
}

static int reserve_maps(struct cam_perf_spaces *s, struct cam_perf_space *space, size_t need)
{
	if (need <= space->cap)
		return 0;
	if (need > CAM_PERF_MAX_MAPS)
		return -E2BIG;
	size_t cap = space->cap ? space->cap * 2 : 16;
	cap = cap < need ? need : cap;
	size_t more = (cap - space->cap) * sizeof(*space->maps);
	while (s->map_bytes + more > CAM_PERF_SPACE_BYTES) {
		if (!forget_exited(s))
			return -E2BIG;
	}
	struct cam_perf_map *grown = reallocarray(space->maps, cap, sizeof(*space->maps));
	if (!grown)
		return -ENOMEM;
	space->maps = grown;
	space->cap = cap;
	s->map_bytes += more;
	return 0;
}

static struct cam_perf_space *new_space(void)
{
	struct cam_perf_space *space = calloc(1, sizeof(*space));
	if (space)
		space->refs = 1;
	return space;
}

/* Invariant 2: the leader's own space, to be changed. */
static int own_space(struct cam_perf_spaces *s, struct cam_perf_thread *leader,
		     struct cam_perf_space **out)
{
	if (leader->space && leader->space->refs == 1) {
		*out = leader->space;
		return 0;
	}
	struct cam_perf_space *shared = leader->space, *own = new_space();
	if (!own)
		return -ENOMEM;
	int err = shared ? reserve_maps(s, own, shared->n + 1) : 0;
	/* The reservation may have forgotten the leader's own, if it had exited. */
	shared = leader->space;
	if (!err && shared && shared->n < own->cap) {
		memcpy(own->maps, shared->maps, shared->n * sizeof(*own->maps));
		own->n = shared->n;
	}
	if (err) {
		free(own);
		return err;
	}
	release(s, shared);
	leader->space = own;
	if (leader->exited)
		list_exited(s, leader);
	*out = own;
	return 0;
}

/* Invariant 1. */
static int insert(struct cam_perf_spaces *s, struct cam_perf_space *space, struct cam_perf_map map)
{
	/* Of one that has exited, making room may take this very space. */
	space->refs++;
	int err = reserve_maps(s, space, space->n + 2);
	if (space->refs == 1) {
		release(s, space);
		return err ? err : -E2BIG;
	}
	space->refs--;
	if (err)
		return err;
	struct cam_perf_map *maps = space->maps;
	size_t first = 0, n = space->n;
	/* Nearly always at the end: mappings come in ascending order. */
	if (n && maps[n - 1].end <= map.start)
		first = n;
	while (first < n && maps[first].end <= map.start)
		first++;
	size_t past = first;
	while (past < n && maps[past].start < map.end)
		past++;
	struct cam_perf_map kept[3];
	size_t n_kept = 0;
	if (past > first && maps[first].start < map.start) {
		kept[n_kept] = maps[first];
		kept[n_kept++].end = map.start;
	}
	kept[n_kept++] = map;
	if (past > first && maps[past - 1].end > map.end) {
		kept[n_kept] = maps[past - 1];
		kept[n_kept].offset += map.end - kept[n_kept].start;
		kept[n_kept++].start = map.end;
	}
	memmove(maps + first + n_kept, maps + past, (n - past) * sizeof(*maps));
	memcpy(maps + first, kept, n_kept * sizeof(*maps));
	space->n = n - (past - first) + n_kept;
	space->number = s->next_number++;
	return 0;
}

static bool same_known(const void *rows, uint32_t row, const void *key)
{
	return ((const struct cam_perf_known *)rows)[row].path.v == *(const uint32_t *)key;
}

int cam_perf_spaces_build_id(struct cam_perf_spaces *s, struct cam_text path, struct cam_text id)
{
	struct cam_perf_known k = {.id_n = (uint8_t)(id.n < 20 ? id.n : 20)};
	int err = cam_string_intern(&s->texts, path, &k.path);
	if (err)
		return count_refusal(s, err);
	memcpy(k.id, id.p, k.id_n);
	uint64_t hash = cam_hash_u64(k.path.v, 3);
	if (cam_index_find(&s->known_index, hash, same_known, s->known, &k.path.v) !=
	    CAM_INDEX_NONE)
		return 0;
	err = cam_vec_reserve(&s->known, &s->cap_known, s->n_known + 1, sizeof(*s->known),
			      CAM_PERF_MAX_OBJECTS);
	if (!err)
		err = cam_index_reserve(&s->known_index);
	if (err)
		return count_refusal(s, err);
	s->known[s->n_known] = k;
	cam_index_add(&s->known_index, hash, (uint32_t)s->n_known++);
	return 0;
}

static void learn_build_id(const struct cam_perf_spaces *s, struct cam_str_id path,
			   struct cam_perf_object *o)
{
	uint32_t row = cam_index_find(&s->known_index, cam_hash_u64(path.v, 3), same_known,
				      s->known, &path.v);
	if (o->build_id_n || row == CAM_INDEX_NONE)
		return;
	o->build_id_n = s->known[row].id_n;
	memcpy(o->build_id, s->known[row].id, o->build_id_n);
}

static bool same_object(const void *rows, uint32_t row, const void *key)
{
	const struct cam_perf_object *a = (const struct cam_perf_object *)rows + row, *b = key;
	return a->path.v == b->path.v && a->name.v == b->name.v && a->kind == b->kind &&
	       a->landmark_address == b->landmark_address && a->inode == b->inode &&
	       a->major == b->major && a->minor == b->minor && a->build_id_n == b->build_id_n &&
	       memcmp(a->build_id, b->build_id, a->build_id_n) == 0;
}

static int intern_object(struct cam_perf_spaces *s, const struct cam_perf_object *o, uint32_t *out)
{
	uint64_t hash = cam_hash_u64((uint64_t)o->path.v << 32 | o->name.v, o->landmark_address);
	*out = cam_index_find(&s->object_index, hash, same_object, s->objects, o);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&s->objects, &s->cap_objects, s->n_objects + 1,
				  sizeof(*s->objects), CAM_PERF_MAX_OBJECTS);
	if (!err)
		err = cam_index_reserve(&s->object_index);
	if (err)
		return err;
	s->objects[s->n_objects] = *o;
	*out = (uint32_t)s->n_objects++;
	cam_index_add(&s->object_index, hash, *out);
	return 0;
}

/* "/lib/modules/6.1/kernel/fs/nls-utf8.ko.xz" is "[nls_utf8]" to perf. */
static struct cam_text module_name(struct cam_text path, char *room, size_t bytes)
{
	const char *slash = memrchr(path.p, '/', path.n);
	const char *from = slash ? slash + 1 : path.p;
	size_t n = path.n - (size_t)(from - path.p);
	const char *ko = memmem(from, n, ".ko", 3);
	if (path.p[0] == '[' || !ko || (size_t)(ko - from) + 3 > bytes)
		return path;
	n = (size_t)(ko - from);
	room[0] = '[';
	for (size_t i = 0; i < n; i++)
		room[i + 1] = from[i] == '-' ? '_' : from[i];
	room[n + 1] = ']';
	return (struct cam_text){room, n + 2};
}

/* "[kernel.kallsyms]_text": the kernel, and the symbol that lies at the record's offset. */
static int describe_kernel(struct cam_perf_spaces *s, const struct cam_perf_mapping *m,
			   struct cam_perf_object *o)
{
	char room[256];
	struct cam_text path = m->path, landmark = {m->path.p, 0};
	const char *close = path.n ? memchr(path.p, ']', path.n) : NULL;
	*o = (struct cam_perf_object){.kind = CAM_MODULE_KERNEL, .identity = true};
	if (close && (cam_text_starts(path, CAM_TEXT("[kernel.kallsyms]")) ||
		      cam_text_starts(path, CAM_TEXT("[guest.kernel.kallsyms")))) {
		size_t n = (size_t)(close + 1 - path.p);
		landmark = (struct cam_text){path.p + n, path.n - n};
		path.n = n;
		o->landmark_address = m->offset;
	} else if (path.n) {
		path = module_name(path, room, sizeof(room));
	}
	int err = cam_string_intern(&s->texts, path, &o->path);
	if (!err)
		err = cam_string_intern(&s->texts, landmark, &o->landmark);
	struct cam_str_id file = o->path;
	if (!err && landmark.n == 0)
		err = cam_string_intern(&s->texts, m->path, &file);
	if (!err)
		learn_build_id(s, file, o);
	return err;
}

/* Memory of no file, in which code may have been made: perf looks into the process' map for it. */
static bool is_anonymous(struct cam_text path)
{
	static const char *const starts[] = {"//anon", "/dev/zero", "/anon_hugepage",
					     "[stack", "/SYSV",	    "[heap]"};
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (cam_text_starts(path, cam_text_of(starts[i])))
			return true;
	}
	return false;
}

static uint64_t map_end(const struct cam_perf_mapping *m)
{
	uint64_t end;
	if (m->bytes && __builtin_add_overflow(m->start, m->bytes, &end))
		return UINT64_MAX;
	return m->bytes ? end : m->start;
}

static int describe_user(struct cam_perf_spaces *s, const struct cam_perf_mapping *m,
			 struct cam_perf_object *o)
{
	char room[40];
	struct cam_text path = m->path;
	*o = (struct cam_perf_object){0};
	if (is_anonymous(path)) {
		o->identity = true;
		if (m->executable) {
			int n = snprintf(room, sizeof(room), "/tmp/perf-%d.map", m->pid);
			path = (struct cam_text){room, (size_t)n};
		}
	}
	o->kind = cam_frame_module_kind(path);
	o->build_id_n = (uint8_t)(m->build_id.n < 20 ? m->build_id.n : 20);
	memcpy(o->build_id, m->build_id.p, o->build_id_n);
	int err = cam_string_intern(&s->texts, path, &o->path);
	if (!err)
		learn_build_id(s, o->path, o);
	/* Only of use where there is no build-id: the same file is one object, whatever its inode. */
	if (!o->build_id_n && !o->identity) {
		o->major = m->major;
		o->minor = m->minor;
		o->inode = m->inode;
		/* The vdso is of no file, and a 32-bit program's is another one. */
		if (o->kind == CAM_MODULE_VDSO)
			o->inode = map_end(m) <= UINT32_MAX;
	}
	return err;
}

int cam_perf_spaces_map(struct cam_perf_spaces *s, const struct cam_perf_mapping *m)
{
	struct cam_perf_map map = {.start = m->start, .end = map_end(m), .offset = m->offset};
	struct cam_perf_object o;
	struct cam_perf_space *space = &s->kernel;
	if (map.end <= map.start)
		return 0;
	int err = m->kernel ? describe_kernel(s, m, &o) : describe_user(s, m, &o);
	if (!err)
		err = intern_object(s, &o, &map.object);
	if (!err && o.identity)
		map.offset = map.start;
	/* The record has the kernel's text alone; behind it lies what ran while it started, and still is
	 * on the stack of each CPU's idle task. perf finds it by the symbols. */
	if (!err && o.landmark.v && map.end - map.start < KERNEL_IMAGE_BYTES &&
	    map.start < UINT64_MAX - KERNEL_IMAGE_BYTES)
		map.end = map.start + KERNEL_IMAGE_BYTES;
	if (!err && !m->kernel) {
		struct cam_perf_thread *leader = cam_perf_spaces_thread(s, m->pid, m->pid);
		err = leader ? own_space(s, leader, &space) : -E2BIG;
	}
	if (!err)
		err = insert(s, space, map);
	return count_refusal(s, err);
}

int cam_perf_spaces_symbol(struct cam_perf_spaces *s, uint64_t start, uint64_t bytes,
			   struct cam_text name, bool gone)
{
	struct cam_perf_space *k = &s->kernel;
	struct cam_perf_map map = {.start = start, .offset = start};
	if (!bytes || __builtin_add_overflow(start, bytes, &map.end))
		return 0;
	const struct cam_perf_map *there = cam_perf_space_find(k, start);
	if (gone) {
		if (!there || there->start != start || !s->objects[there->object].name.v)
			return 0;
		size_t i = (size_t)(there - k->maps);
		memmove(k->maps + i, k->maps + i + 1, (k->n - i - 1) * sizeof(*k->maps));
		k->n--;
		k->number = s->next_number++;
		return 0;
	}
	struct cam_perf_object o = {.kind = CAM_MODULE_KERNEL, .identity = true};
	int err = cam_string_intern(&s->texts, name, &o.name);
	if (err)
		return count_refusal(s, err);
	/* Inside of something known it is one function of that; else it is an object by itself. */
	o.path = there ? s->objects[there->object].path : o.name;
	err = intern_object(s, &o, &map.object);
	if (!err)
		err = insert(s, k, map);
	/* The kernel's space has no last owner. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return count_refusal(s, err);
}

int cam_perf_spaces_comm(struct cam_perf_spaces *s, int32_t pid, int32_t tid, struct cam_text comm)
{
	struct cam_perf_thread *t = cam_perf_spaces_thread(s, pid, tid);
	if (!t)
		return 0;
	t->named = true;
	t->exited = false;
	return count_refusal(s, cam_string_intern(&s->texts, comm, &t->comm));
}

/* A row as if the thread were new: a number that is used again is another thread. */
static struct cam_perf_thread *renew(struct cam_perf_spaces *s, int32_t pid, int32_t tid)
{
	struct cam_perf_thread *t = cam_perf_spaces_thread(s, pid, tid);
	if (!t)
		return NULL;
	release(s, t->space);
	*t = (struct cam_perf_thread){.tid = tid, .pid = pid, .listed = t->listed};
	forget_comm(s, t);
	return t;
}

int cam_perf_spaces_fork(struct cam_perf_spaces *s, int32_t pid, int32_t tid, int32_t ppid,
			 int32_t ptid, bool made_up)
{
	const struct cam_perf_thread *parent = cam_perf_spaces_thread(s, ppid, ptid);
	if (parent && parent->pid != ppid)
		parent = renew(s, ppid, ptid);
	if (!parent)
		return 0;
	struct cam_perf_thread was = *parent;
	struct cam_perf_space *space = NULL;
	if (pid != ppid && !made_up) {
		space = cam_perf_spaces_hold(s, ppid);
	}
	/* Its parent's number may be its own, in a hostile file: the copy is what counts. */
	struct cam_perf_thread *t = renew(s, pid, tid);
	if (!t) {
		release(s, space);
		return 0;
	}
	if (was.named) {
		t->comm = was.comm;
		t->named = true;
	}
	if (pid == tid)
		t->space = space;
	else
		release(s, space);
	return 0;
}

void cam_perf_spaces_exit(struct cam_perf_spaces *s, int32_t pid, int32_t tid)
{
	struct cam_perf_thread *t = find_thread(s, tid);
	if (!t || pid != tid)
		return;
	t->exited = true;
	list_exited(s, t);
}
