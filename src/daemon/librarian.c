// SPDX-License-Identifier: Apache-2.0
/*
 * Which file of this machine is which module.
 *
 * Invariants
 *  1. A book has a copy only if the copy's build-id is the module's, or (where the module has none) its key
 *     is: names of a file that is merely at the same path are never given.
 *  2. A copy is opened again for each call and must still have the key it had when it was looked at.
 *  3. What was not found is remembered, too: a module is looked for once.
 *
 * The kernel's symbols are another matter. A vmlinux has the build-id; a kallsyms has none. One that was given is believed,
 * one of perf's cache lies under the kernel's build-id, and /proc/kallsyms is taken only if this kernel's
 * build-id is the module's and a landmark says where it was. A boot has another base each time, by which
 * all of the kernel moves, but not its modules: their symbols count only where nothing moved.
 */
#include "daemon/librarian_parts.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "daemon/debuginfod.h"
#include "daemon/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JITDUMP_MAGIC	 0x4a695444u
#define KERNEL_NOTES	 "/sys/kernel/notes"
#define KERNEL_SYMBOLS	 "/proc/kallsyms"
#define MAX_LINE	 4096
#define MAX_SYMBOL_LINES 4000000u

int cam_book_open(const struct cam_book_copy *c)
{
	struct cam_file_key now;
	int fd = cam_shelf_open(c->path, &now);
	if (fd < 0)
		return fd;
	/* What /proc makes up on reading has no size, and a time of its own each time. */
	if (c->key.bytes && memcmp(&now, &c->key, sizeof(now))) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int add_copy(struct cam_book *b, const struct cam_shelf_place *p,
		    const struct cam_file_key *key, enum cam_file_format format)
{
	char *path = strdup(p->path);
	if (!path)
		return -ENOMEM;
	b->copies[b->n_copies++] = (struct cam_book_copy){
		.path = path, .key = *key, .origin = p->origin, .format = format};
	return 0;
}

static bool same_bytes(struct cam_text a, const void *b, size_t n)
{
	return a.n == n && (!n || !memcmp(a.p, b, n));
}

static bool is_module(const struct cam_namer_module *m, const struct cam_book_outline *o,
		      const struct cam_file_key *key, enum cam_namer_origin origin)
{
	if (m->build_id.n)
		return same_bytes(m->build_id, o->build_id, o->id_bytes);
	return origin == CAM_NAMER_ITSELF && cam_shelf_is_key(m->key, key);
}

static int keep_segments(struct cam_book *b, const struct cam_book_outline *o)
{
	size_t bytes = o->n_segments * sizeof(*b->segments);
	if (b->segments || !bytes)
		return 0;
	b->segments = malloc(bytes);
	if (!b->segments)
		return -ENOMEM;
	memcpy(b->segments, o->segments, bytes);
	b->n_segments = o->n_segments;
	return 0;
}

/* 1: the file behind fd is the module; *o is what it is. */
static int look_at(struct cam_librarian *l, const struct cam_namer_module *m, int fd,
		   const struct cam_file_key *key, enum cam_namer_origin origin,
		   struct cam_book_outline *o)
{
	int err = cam_librarian_outline(l, CAM_FILE_FIRST, fd, o);
	/* What a file's bytes cause is its own affair: it is not the module. */
	if (err)
		return err == -ENOMEM || err == -EAGAIN || err == -ENOBUFS ? err : 0;
	return is_module(m, o, key, origin);
}

/* Has somebody fetch it, and looks before it gets its place. 1: it is there now. */
static int fetch_to(struct cam_librarian *l, const struct cam_namer_module *m,
		    const struct cam_shelf_place *p, struct cam_book_outline *o)
{
	const struct cam_librarian_fetch *f = l->options.fetch;
	bool executable = p->fetched == CAM_SHELF_EXECUTABLE;
	const struct cam_file_key none = {0};
	int fd CAM_AUTOCLOSE = f->fetch(f->self, m->build_id, executable);
	if (fd < 0)
		return 0;
	int is = look_at(l, m, fd, &none, p->origin, o);
	if (!is)
		f->refuse(f->self);
	return is > 0 ? !f->keep(f->self, m->build_id, executable, fd) : is;
}

/* Whether a place that can be filled needs to be. */
static bool is_needed(const struct cam_book *b, const struct cam_shelf_place *p)
{
	return p->fetched == CAM_SHELF_EXECUTABLE  ? !b->n_segments
	       : p->fetched == CAM_SHELF_DEBUGINFO ? !b->has_symbols
						   : true;
}

/* Adds the file at one place, if it is the module. The very file tells what build-id others must have. */
static int try_place(struct cam_librarian *l, struct cam_book *b, struct cam_namer_module *m,
		     const struct cam_shelf_place *p, struct cam_book_outline *o)
{
	struct cam_file_key key;
	if (!p->path[0] || !is_needed(b, p))
		return 0;
	int fd CAM_AUTOCLOSE = cam_shelf_open(p->path, &key);
	if (fd < 0 && p->fetched && l->options.fetch) {
		int got = fetch_to(l, m, p, o);
		if (got <= 0)
			return got;
		fd = cam_shelf_open(p->path, &key);
	}
	if (fd < 0)
		return 0;
	int is = look_at(l, m, fd, &key, p->origin, o);
	if (is <= 0)
		return is;
	if (!m->build_id.n && o->id_bytes)
		m->build_id = (struct cam_text){(const char *)o->build_id, o->id_bytes};
	b->has_symbols |= o->has_symbols;
	int err = o->has_code ? keep_segments(b, o) : 0;
	return err ? err : add_copy(b, p, &key, o->has_code ? CAM_FORMAT_ELF : CAM_FORMAT_DEBUG);
}

static int find_file(struct cam_librarian *l, struct cam_book *b)
{
	struct cam_namer_module m = b->module;
	struct cam_book_outline first, more;
	struct cam_shelf_place p;
	int err = 0;
	for (unsigned i = 0;
	     !err && b->n_copies < CAM_BOOK_COPIES && cam_shelf_place(&l->options, &m, i, &p); i++)
		err = try_place(l, b, &m, &p, i ? &more : &first);
	return err;
}

/* Where a symbol is, by a kallsyms; 0: it is not there, or hidden. */
static uint64_t find_symbol(const char *path, struct cam_text name)
{
	char line[MAX_LINE];
	uint64_t address = 0;
	FILE *f = fopen(path, "re");
	for (unsigned n = 0; f && !address && n < MAX_SYMBOL_LINES && fgets(line, sizeof(line), f);
	     n++) {
		char *end;
		uint64_t at = strtoull(line, &end, 16);
		if (end - line < 8 || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		if (same_bytes(name, end + 3, strcspn(end + 3, "\t\n")))
			address = at;
	}
	if (f)
		fclose(f);
	return address;
}

/* By the notes that it shows of itself: how many bytes, 0 where they do not tell. */
static size_t running_kernel(uint8_t id[CAM_ERRAND_MAX_BUILD_ID])
{
	uint8_t notes[4096];
	int fd = open(KERNEL_NOTES, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, notes, sizeof(notes));
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; n - i >= 16;) {
		uint32_t head[3];
		memcpy(head, notes + i, sizeof(head));
		uint64_t id_at = (uint64_t)i + 12 + ((head[0] + 3ull) & ~3ull);
		if (id_at + head[1] > (uint64_t)n)
			return 0;
		if (head[2] == 3 && head[0] == 4 && !memcmp(notes + i + 12, "GNU", 4)) {
			size_t bytes = head[1] <= CAM_ERRAND_MAX_BUILD_ID ? head[1] : 0;
			memcpy(id, notes + id_at, bytes);
			return bytes;
		}
		i = (ssize_t)(id_at + ((head[1] + 3ull) & ~3ull));
	}
	return 0;
}

static bool is_running_kernel(struct cam_text build_id)
{
	uint8_t id[CAM_ERRAND_MAX_BUILD_ID];
	size_t n = running_kernel(id);
	return n && same_bytes(build_id, id, n);
}

size_t cam_librarian_this_kernel(struct cam_text symbol, uint64_t address,
				 uint8_t id[CAM_ERRAND_MAX_BUILD_ID])
{
	return address && find_symbol(KERNEL_SYMBOLS, symbol) == address ? running_kernel(id) : 0;
}

static bool has_landmark(struct cam_book *b, const char *path)
{
	const struct cam_namer_module *m = &b->module;
	if (!m->landmark.n)
		return true;
	uint64_t here = find_symbol(path, m->landmark);
	b->shift = m->landmark_address - here;
	return here != 0;
}

/*
 * A vmlinux: 1, and where it was is known. It is linked to run at its segments' addresses, and both landmarks stand
 * at the first: that is where the code begins (on x86-64).
 */
static int is_vmlinux(struct cam_librarian *l, struct cam_book *b, int fd)
{
	const struct cam_namer_module *m = &b->module;
	struct cam_book_outline o;
	bool known = same_bytes(m->landmark, "_stext", 6) || same_bytes(m->landmark, "_text", 5);
	if (!m->build_id.n || !known || cam_librarian_outline(l, CAM_FILE_FIRST, fd, &o))
		return 0;
	if (!o.n_segments || !same_bytes(m->build_id, o.build_id, o.id_bytes))
		return 0;
	b->shift = m->landmark_address - o.segments[0].address;
	return 1;
}

static int try_kernel(struct cam_librarian *l, struct cam_book *b, const struct cam_shelf_place *p)
{
	struct cam_file_key key;
	char magic[4] = "";
	int fd CAM_AUTOCLOSE = p->path[0] ? cam_shelf_open(p->path, &key) : -1;
	if (fd < 0)
		return 0;
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", 4))
		return is_vmlinux(l, b, fd) ? add_copy(b, p, &key, CAM_FORMAT_DEBUG) : 0;
	if (!has_landmark(b, p->path))
		return 0;
	b->no_modules = b->shift != 0;
	return add_copy(b, p, &key, CAM_FORMAT_ELF);
}

static int find_kernel(struct cam_librarian *l, struct cam_book *b)
{
	struct cam_shelf_place p;
	int err = 0;
	for (unsigned i = 0;
	     !err && !b->n_copies && cam_shelf_place(&l->options, &b->module, i, &p); i++)
		err = try_kernel(l, b, &p);
	if (err || b->n_copies)
		return err;
	if (!b->module.landmark.n || !is_running_kernel(b->module.build_id) ||
	    !has_landmark(b, KERNEL_SYMBOLS))
		return 0;
	b->no_modules = true;
	p = (struct cam_shelf_place){.path = KERNEL_SYMBOLS};
	return add_copy(b, &p, &(struct cam_file_key){0}, CAM_FORMAT_ELF);
}

/* Anybody can put a map into /tmp: one of another user than root or this one names nothing, nor one behind a link. */
static bool is_ours(const char *path, int fd)
{
	struct stat held, named;
	return !fstat(fd, &held) && !lstat(path, &named) && S_ISREG(named.st_mode) &&
	       named.st_ino == held.st_ino && named.st_dev == held.st_dev &&
	       (held.st_uid == 0 || held.st_uid == geteuid());
}

/* A map of code made at run time: whoever asks has decided which one it is. */
static int find_map(struct cam_book *b)
{
	struct cam_shelf_place p = {.origin = CAM_NAMER_GIVEN};
	struct cam_file_key key;
	uint32_t magic = 0;
	if (b->module.path.n >= sizeof(p.path))
		return 0;
	memcpy(p.path, b->module.path.p, b->module.path.n);
	int fd = cam_shelf_open(p.path, &key);
	if (fd < 0)
		return 0;
	bool ours = is_ours(p.path, fd);
	ssize_t n = pread(fd, &magic, sizeof(magic), 0);
	close(fd);
	if (!ours)
		return 0;
	bool dump = n == (ssize_t)sizeof(magic) && magic == JITDUMP_MAGIC;
	return add_copy(b, &p, &key, dump ? CAM_FORMAT_JITDUMP : CAM_FORMAT_PERF_MAP);
}

static int find_vdso(struct cam_librarian *l, struct cam_book *b)
{
	struct cam_book_outline o;
	struct cam_shelf_place p = {.path = "[vdso]"};
	/* Without a build-id: the caller knows that the kernel is this one. */
	bool known = !b->module.build_id.n && b->module.landmark.n;
	int err = cam_librarian_outline(l, CAM_FILE_VDSO, -1, &o);
	if (err || !o.id_bytes ||
	    (!known && !same_bytes(b->module.build_id, o.build_id, o.id_bytes)))
		return 0;
	return add_copy(b, &p, &(struct cam_file_key){0}, CAM_FORMAT_ELF);
}

static int find(struct cam_librarian *l, struct cam_book *b)
{
	switch (b->module.kind) {
	case CAM_MODULE_FILE:
		return find_file(l, b);
	case CAM_MODULE_KERNEL:
		return find_kernel(l, b);
	case CAM_MODULE_JIT:
		return find_map(b);
	case CAM_MODULE_VDSO:
		return find_vdso(l, b);
	default:
		return 0;
	}
}

static uint64_t hash_module(const struct cam_namer_module *m)
{
	uint64_t h = cam_hash(m->path.p, m->path.n);
	h = cam_hash_u64(h, cam_hash(m->build_id.p, m->build_id.n));
	h = cam_hash_u64(h, cam_hash(m->key.p, m->key.n));
	h = cam_hash_u64(h, cam_hash(m->landmark.p, m->landmark.n));
	return cam_hash_u64(h, m->landmark_address + (uint64_t)m->kind);
}

static bool same_text(struct cam_text a, struct cam_text b)
{
	return same_bytes(a, b.p, b.n);
}

static bool same_module(const void *rows, uint32_t id, const void *key)
{
	const struct cam_namer_module *a = &((const struct cam_book *)rows)[id].module, *b = key;
	return a->kind == b->kind && a->landmark_address == b->landmark_address &&
	       same_text(a->path, b->path) && same_text(a->build_id, b->build_id) &&
	       same_text(a->key, b->key) && same_text(a->landmark, b->landmark);
}

static void take_text(struct cam_text *t, char **room)
{
	if (t->n)
		memcpy(*room, t->p, t->n);
	t->p = *room;
	*room += t->n;
}

/* All its texts in one piece, which begins with the path. */
static int copy_module(const struct cam_namer_module *m, struct cam_namer_module *out)
{
	size_t bytes = m->path.n + m->build_id.n + m->key.n + m->landmark.n;
	char *room = malloc(bytes + 1);
	if (!room)
		return -ENOMEM;
	*out = *m;
	take_text(&out->path, &room);
	take_text(&out->build_id, &room);
	take_text(&out->key, &room);
	take_text(&out->landmark, &room);
	return 0;
}

static void drop_book(struct cam_book *b)
{
	for (size_t i = 0; i < b->n_copies; i++) {
		free(b->copies[i].path);
		free(b->copies[i].supplement);
	}
	free(b->segments);
	free((void *)b->module.path.p);
}

static int add_book(struct cam_librarian *l, const struct cam_namer_module *m, uint64_t hash)
{
	int err = cam_vec_reserve(&l->books, &l->cap_books, l->n_books + 1, sizeof(*l->books),
				  CAM_NAMER_MAX_MODULES);
	if (!err)
		err = cam_index_reserve(&l->index);
	if (err)
		return err;
	struct cam_book *b = &l->books[l->n_books];
	*b = (struct cam_book){0};
	err = copy_module(m, &b->module);
	if (err)
		return err;
	err = find(l, b);
	if (err < 0) {
		drop_book(b);
		return err;
	}
	bool useless = b->module.kind == CAM_MODULE_FILE && !b->n_segments;
	b->error = b->n_copies && !useless ? 0 : -ENOENT;
	cam_index_add(&l->index, hash, (uint32_t)l->n_books++);
	return 0;
}

static int librarian_module(struct cam_namer *n, const struct cam_namer_module *m, uint32_t *file)
{
	struct cam_librarian *l = n->self;
	uint64_t hash = hash_module(m);
	uint32_t at = cam_index_find(&l->index, hash, same_module, l->books, m);
	if (at == CAM_INDEX_NONE) {
		int err = add_book(l, m, hash);
		if (err)
			return err;
		at = (uint32_t)l->n_books - 1;
	}
	const struct cam_book *b = &l->books[at];
	*file = b->module.kind == CAM_MODULE_VDSO ? CAM_FILE_VDSO : CAM_FILE_FIRST + at;
	return b->error;
}

static enum cam_namer_origin librarian_origin(struct cam_namer *n, uint32_t file,
					      struct cam_text *path)
{
	const struct cam_librarian *l = n->self;
	*path = CAM_TEXT("[vdso]");
	if (file < CAM_FILE_FIRST || file - CAM_FILE_FIRST >= l->n_books ||
	    !l->books[file - CAM_FILE_FIRST].n_copies)
		return CAM_NAMER_ITSELF;
	const struct cam_book *b = &l->books[file - CAM_FILE_FIRST];
	const struct cam_book_copy *c = &b->copies[b->named_by];
	*path = cam_text_of(c->path);
	return c->origin;
}

/* Takes a copy of a text; `otherwise` where there is none. */
static int keep_option(const char **to, const char *given, const char *otherwise)
{
	const char *from = given ? given : otherwise;
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

static int keep_options(struct cam_librarian *l, const struct cam_librarian_options *o)
{
	char cache[PATH_MAX], client[PATH_MAX], found[PATH_MAX];
	const char *home = getenv("HOME"), *given = getenv("DEBUGINFOD_CACHE_PATH");
	struct cam_librarian_options *k = &l->options;
	bool has_home = home && strlen(home) < PATH_MAX - 64;
	snprintf(cache, sizeof(cache), "%s/.debug", has_home ? home : "");
	snprintf(client, sizeof(client), "%s/.cache/debuginfod_client", has_home ? home : "");
	bool has_found = !cam_debuginfod_cache_path(found, sizeof(found));
	k->fetch = o->fetch;
	int err = keep_option(&k->symfs, o->symfs, NULL);
	if (!err)
		err = keep_option(&k->debug_dir, o->debug_dir, "/usr/lib/debug");
	if (!err)
		err = keep_option(&k->perf_cache, o->perf_cache, has_home ? cache : NULL);
	if (!err)
		err = keep_option(&k->found_dir, o->found_dir, has_found ? found : NULL);
	if (!err)
		err = keep_option(&k->client_dir, o->client_dir ? o->client_dir : given,
				  has_home ? client : NULL);
	if (!err)
		err = keep_option(&k->kallsyms, o->kallsyms, NULL);
	return err ? err : keep_option(&k->vmlinux, o->vmlinux, NULL);
}

int cam_librarian_new(const struct cam_librarian_options *o, struct cam_librarian **out)
{
	struct cam_librarian *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->namer = (struct cam_namer){
		.self = l,
		.module = librarian_module,
		.names = cam_librarian_names,
		.unwind = cam_librarian_unwind,
		.origin = librarian_origin,
	};
	int err = cam_inquiry_new(&l->inquiry);
	if (!err)
		err = keep_options(l, o);
	if (err) {
		cam_librarian_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void cam_librarian_free(struct cam_librarian *l)
{
	if (!l)
		return;
	cam_inquiry_free(l->inquiry);
	for (size_t i = 0; i < l->n_books; i++)
		drop_book(&l->books[i]);
	free(l->books);
	cam_index_free(&l->index);
	free((void *)l->options.symfs);
	free((void *)l->options.debug_dir);
	free((void *)l->options.perf_cache);
	free((void *)l->options.found_dir);
	free((void *)l->options.client_dir);
	free((void *)l->options.kallsyms);
	free((void *)l->options.vmlinux);
	free(l);
}

struct cam_namer *cam_librarian_namer(struct cam_librarian *l)
{
	return &l->namer;
}
