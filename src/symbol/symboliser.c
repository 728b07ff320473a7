// SPDX-License-Identifier: Apache-2.0
#include "symbol/symboliser.h"

#include "base/bundle.h"
#include "base/cleanup.h"
#include "symbol/companion.h"
#include "symbol/dwarf_cache.h"
#include "symbol/elf_cache.h"
#include "symbol/frame_index.h"
#include "symbol/identity.h"
#include "symbol/jit_cache.h"
#include "symbol/kallsyms.h"
#include "symbol/stack_walk.h"
#include "symbol/table_cache.h"
#include "symbol/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define WORK_BYTES   (64u << 20)  /* of tables and names, an errand */
#define DWARF_BYTES  (256u << 20) /* …of DWARF */
#define TEXT_BYTES   (CAM_ERRAND_MAX_OFFSETS * CAM_ELF_MAX_NAME)
#define CHAIN_BYTES  (2u << 20) /* texts of what is inlined; more is left out */
#define MAX_INLINED  16384u	/* as well */
#define SEND_WAIT_MS 10000
#define CPU_SECONDS \
	20 /* then it ends, when there is nothing to do: at 60 it would be killed (helper.h) */

struct cam_symboliser {
	struct cam_elf_cache *files;
	struct cam_dwarf_cache *dwarfs;
	struct cam_companions *companions;
	struct cam_jit_cache *jits;
	struct cam_kallsyms *kernel; /* NULL: not given, or it could not be read */
	int kernel_error;
	struct cam_bytes vdso;
	struct cam_elf *vdso_elf;
	struct cam_table_cache *tables;
	struct cam_stack_walk *walk;
	struct cam_blocks blocks; /* of the files of the errand under way … */
	struct cam_identity files_read[CAM_PACKET_FDS]; /* … which are these, by … */
	int fds_read[CAM_PACKET_FDS];			/* … these numbers */
	struct cam_name names[CAM_ERRAND_MAX_OFFSETS];
	struct cam_elf_hit hit;
	struct cam_dwarf_hit dwarf_hit;
	struct cam_inlined inlined[MAX_INLINED]; /* of the names under way */
	size_t n_inlined;
	size_t text_used, chain_used;
	char text[TEXT_BYTES]; /* of the names under way */
	char chain[CHAIN_BYTES];
	uint64_t scratch[CAM_ERRAND_MAX_BYTES * 2 / sizeof(uint64_t)];
	uint8_t received[CAM_ERRAND_MAX_BYTES];
	uint8_t packet[CAM_ERRAND_MAX_BYTES]; /* to be sent */
	struct cam_bundle bundle;	      /* the same: answers to a bundle */
};

struct answer {
	struct cam_symboliser *s;
	const struct cam_errand *errand;
	struct cam_text build_id;
	uint64_t turn;
	bool behind;
	bool left_out; /* DWARF was too large */
	bool elsewhere;
	bool out_of_memory;
	bool wants_debug, wants_supplement;
	struct cam_companion_link link;
	struct cam_companion_supplement supplement;
	int debug_fd, supplement_fd; /* -1 */
	bool sent;		     /* a packet went out */
	cam_symboliser_send_fn *send;
	void *arg;
};

/* Where names are looked up: the file, its debug file or what it carries along (by addresses), DWARF. */
struct naming {
	const struct cam_elf *own, *debug; /* debug: NULL: there is none */
	const struct cam_elf_file *f;	   /* outline of own */
	struct cam_bytes own_bytes, debug_bytes, dwarf_bytes, supplement_bytes;
	struct cam_dwarf *dwarf; /* NULL: there is none */
	bool plain;		 /* nothing but its own symbols could be known of it */
	uint64_t work, dwarf_work;
};

struct cam_symboliser *cam_symboliser_new(void)
{
	struct cam_symboliser *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->kernel_error = -ENODATA;
	s->files = cam_elf_cache_new(CAM_SYMBOLISER_CACHE_BYTES, &s->blocks);
	s->dwarfs = cam_dwarf_cache_new(CAM_SYMBOLISER_DWARF_BYTES);
	s->companions = cam_companions_new();
	s->jits = cam_jit_cache_new(CAM_JIT_CACHE_BYTES);
	s->tables = cam_table_cache_new(CAM_SYMBOLISER_TABLE_BYTES);
	s->walk = cam_stack_walk_new();
	if (!s->files || !s->dwarfs || !s->companions || !s->jits || !s->tables || !s->walk) {
		cam_symboliser_free(s);
		return NULL;
	}
	/* Without a vdso its addresses stay unnamed. */
	if (!cam_vdso_copy(&s->vdso))
		(void)cam_elf_load(&s->vdso, &s->vdso_elf);
	return s;
}

void cam_symboliser_free(struct cam_symboliser *s)
{
	if (!s)
		return;
	cam_elf_cache_free(s->files);
	cam_dwarf_cache_free(s->dwarfs);
	cam_companions_free(s->companions);
	cam_jit_cache_free(s->jits);
	cam_kallsyms_free(s->kernel);
	cam_elf_free(s->vdso_elf);
	cam_table_cache_free(s->tables);
	cam_stack_walk_free(s->walk);
	free((void *)s->vdso.memory);
	free(s);
}

/* What can be read again, for what is wanted now. */
static void shed(struct cam_symboliser *s)
{
	cam_elf_cache_empty(s->files);
	cam_dwarf_cache_empty(s->dwarfs);
}

static struct cam_text keep_text(struct cam_symboliser *s, struct cam_text t)
{
	if (t.n > CAM_ELF_MAX_NAME)
		t.n = CAM_ELF_MAX_NAME;
	memcpy(s->text + s->text_used, t.p, t.n);
	s->text_used += t.n;
	return (struct cam_text){s->text + s->text_used - t.n, t.n};
}

/* False: no room is left. */
static bool keep_chain_text(struct cam_symboliser *s, struct cam_text *t)
{
	size_t n = t->n < CAM_RAW_MAX_TEXT ? t->n : CAM_RAW_MAX_TEXT;
	if (n > sizeof(s->chain) - s->chain_used)
		return false;
	if (n)
		memcpy(s->chain + s->chain_used, t->p, n);
	*t = (struct cam_text){s->chain + s->chain_used, n};
	s->chain_used += n;
	return true;
}

/* The function's own level to the name, the others below it; all of a chain, or nothing. */
static void keep_levels(struct cam_symboliser *s, struct cam_dwarf_hit *hit, struct cam_name *n)
{
	uint32_t levels = hit->n_levels;
	if (!n->name.n || levels - 1 > MAX_INLINED - s->n_inlined)
		return;
	for (uint32_t i = 0; i < levels; i++) {
		if ((i && !keep_chain_text(s, &hit->levels[i].name)) ||
		    !keep_chain_text(s, &hit->levels[i].file))
			return;
	}
	n->file = hit->levels[0].file;
	n->line = hit->levels[0].line;
	n->inlined = s->inlined + s->n_inlined;
	n->n_inlined = levels - 1;
	memcpy(s->inlined + s->n_inlined, hit->levels + 1, (levels - 1) * sizeof(hit->levels[0]));
	s->n_inlined += levels - 1;
}

/* Lines, what is inlined, and the name where the symbols had none. */
static void ask_dwarf(struct answer *a, struct naming *from, struct cam_name *n)
{
	struct cam_symboliser *s = a->s;
	struct cam_dwarf_hit *hit = &s->dwarf_hit;
	uint64_t address, start, follow;
	if (!from->dwarf || !cam_elf_file_address(from->f, n->offset, &address))
		return;
	int found =
		cam_dwarf_find(from->dwarf, &from->dwarf_bytes, address, &from->dwarf_work, hit);
	a->left_out |= found == -E2BIG || found == -EBUSY;
	a->elsewhere |= cam_dwarf_is_elsewhere(from->dwarf);
	a->out_of_memory |= found == -ENOMEM;
	if (found <= 0)
		return;
	if (!n->name.n && hit->levels[0].name.n) {
		n->name = keep_text(s, hit->levels[0].name);
		n->source = CAM_NAME_DWARF;
		if (cam_elf_file_offset(from->f, hit->low, &start, &follow) && start <= n->offset)
			n->start = start;
	}
	keep_levels(s, hit, n);
}

/* 1: s->hit is of the debug file, in the terms of the file itself. */
static int ask_debug_file(struct cam_symboliser *s, struct naming *from, uint64_t offset)
{
	uint64_t address, start, follow;
	if (!from->debug || !cam_elf_file_address(from->f, offset, &address) ||
	    cam_elf_find(from->debug, &from->debug_bytes, address, &from->work, &s->hit) <= 0 ||
	    !cam_elf_file_offset(from->f, s->hit.start, &start, &follow) || start > offset)
		return 0;
	s->hit.start = start;
	return 1;
}

/* The file's own .symtab knows best; its .dynsym knows a part. */
static int ask_symbols(struct cam_symboliser *s, struct naming *from, uint64_t offset)
{
	int found = cam_elf_find(from->own, &from->own_bytes, offset, &from->work, &s->hit);
	if (found == 1 && s->hit.source == CAM_NAME_SYMTAB)
		return 1;
	if (ask_debug_file(s, from, offset))
		return 1;
	/* What was found before is overwritten. */
	return from->debug ? cam_elf_find(from->own, &from->own_bytes, offset, &from->work, &s->hit)
			   : found;
}

/*
 * Where a signal's handler returns to nobody has called: the return address is its first byte, and what is looked up, as
 * for every caller, is the byte before, which belongs to no symbol. So whether it is that code is looked at: it consists of
 * one system call, and debuggers know it by that, too.
 */
static bool ask_returned_to(struct cam_symboliser *s, struct naming *from, uint64_t offset)
{
	/* mov $15,%rax; syscall: rt_sigreturn of x86-64 */
	static const uint8_t wanted[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t code[sizeof(wanted)];
	/* Its code last: of a file that has few symbols that would be read nearly whole. */
	return ask_symbols(s, from, offset + 1) > 0 && s->hit.start == offset + 1 &&
	       !cam_bytes_read(&from->own_bytes, offset + 1, code, sizeof(code)) &&
	       !memcmp(code, wanted, sizeof(code));
}

static void name_one(struct answer *a, struct naming *from, struct cam_name *n)
{
	struct cam_symboliser *s = a->s;
	/* A name that cannot be read is one name missing, not the file's others. */
	bool found = ask_symbols(s, from, n->offset) > 0;
	if (found) {
		n->start = s->hit.start;
		n->end = from->plain ? s->hit.end : 0;
	} else if (ask_returned_to(s, from, n->offset)) {
		found = true; /* n->start is its own offset */
	} else if (!a->errand->names_only) {
		uint64_t end;
		n->start = cam_frame_index_start(from->f, &from->own_bytes, n->offset, &end);
		/* Of the last byte the next function may be who is returned to. */
		if (end > n->offset + 1 && from->plain && cam_elf_is_bare(from->own, n->start, end))
			n->end = end - 1;
	}
	if (found) {
		n->source = s->hit.source;
		n->name = keep_text(s, s->hit.name);
	}
	ask_dwarf(a, from, n);
}

static int name_from_elf(struct answer *a, struct naming *from)
{
	for (uint32_t i = 0; i < a->errand->n_offsets; i++)
		name_one(a, from, &a->s->names[i]);
	return 0;
}

/* Takes the debug file, if it is the file's own. */
static bool take_debug_file(struct answer *a, struct naming *from, int fd)
{
	struct cam_symboliser *s = a->s;
	const struct cam_elf *debug;
	struct cam_bytes b;
	cam_elf_cache_pin(s->files, from->own);
	bool good = fd >= 0 && !cam_elf_cache_get_debug(s->files, fd, &b, &debug) &&
		    cam_companion_is(s->companions, from->f, &a->link, cam_elf_outline(debug), &b);
	cam_elf_cache_pin(s->files, NULL);
	if (good) {
		from->debug = debug;
		from->debug_bytes = b;
	}
	return good;
}

/* The supplement, where the DWARF has one; true: it has to be looked for first. */
static bool open_supplement(struct answer *a, struct naming *from, const struct cam_elf_file *f)
{
	struct cam_symboliser *s = a->s;
	struct cam_elf_file outline;
	struct cam_dwarf *supplement;
	cam_companion_supplement(f, &from->dwarf_bytes, &a->supplement);
	if (!a->supplement.id.n)
		return false;
	bool good = a->supplement_fd >= 0 &&
		    !cam_bytes_of_file(&from->supplement_bytes, a->supplement_fd) &&
		    !cam_elf_file_read_debug(&outline, &from->supplement_bytes) &&
		    cam_companion_is_supplement(&a->supplement, &outline, &from->supplement_bytes);
	if (!good)
		return a->errand->search_supplement;
	from->supplement_bytes.blocks = &s->blocks;
	int error = cam_dwarf_cache_get(s->dwarfs, &from->supplement_bytes, &outline, from->dwarf,
					&from->dwarf_work, &supplement);
	a->left_out |= error == -E2BIG || error == -EBUSY;
	a->out_of_memory |= error == -ENOMEM;
	if (!error)
		cam_dwarf_lean(from->dwarf, supplement, &from->supplement_bytes);
	return false;
}

/* The DWARF of the file itself, or of its debug file. */
static void open_dwarf(struct answer *a, struct naming *from, bool own)
{
	struct cam_symboliser *s = a->s;
	const struct cam_elf *e = own ? from->own : from->debug;
	from->dwarf_bytes = own ? from->own_bytes : from->debug_bytes;
	if (!e || a->errand->symbols_only || a->errand->names_only)
		return;
	int error = cam_dwarf_cache_get(s->dwarfs, &from->dwarf_bytes, cam_elf_outline(e), NULL,
					&from->dwarf_work, &from->dwarf);
	if (!error)
		a->wants_supplement = open_supplement(a, from, cam_elf_outline(e));
	a->left_out |= error == -E2BIG || error == -EBUSY;
	a->out_of_memory |= error == -ENOMEM;
}

static int name_file(struct answer *a, struct naming *from)
{
	bool own = from->f->debug[CAM_ELF_DEBUG_INFO].bytes != 0;
	cam_companion_link(from->f, &from->own_bytes, &a->link);
	bool may_have = !own && (from->f->build_id_bytes >= 2 || a->link.name.n);
	if (!take_debug_file(a, from, may_have ? a->debug_fd : -1) && may_have &&
	    a->errand->search) {
		a->wants_debug = true;
		return 0;
	}
	if (!from->debug)
		from->debug = cam_elf_mini(from->own, &from->debug_bytes);
	from->plain = !own && !from->debug;
	open_dwarf(a, from, own);
	return a->wants_supplement ? 0 : name_from_elf(a, from);
}

static int name_from_kallsyms(struct cam_symboliser *s, const struct cam_errand *errand, int fd)
{
	if (fd >= 0) {
		/* The old table goes even where the new one fails: its modules may be gone. */
		cam_kallsyms_free(s->kernel);
		s->kernel = NULL;
		s->kernel_error = cam_kallsyms_load(fd, &s->kernel);
	}
	if (!s->kernel)
		return s->kernel_error;
	for (uint32_t i = 0; i < errand->n_offsets; i++) {
		struct cam_kallsyms_hit hit;
		struct cam_name *n = &s->names[i];
		if (!cam_kallsyms_find(s->kernel, errand->offsets[i], &hit))
			continue;
		n->start = hit.start;
		n->end = hit.end;
		n->source = CAM_NAME_KALLSYMS;
		n->name = hit.name;
		n->module = hit.module;
	}
	return 0;
}

static int name_from_jit(struct answer *a, int fd)
{
	const struct cam_errand *errand = a->errand;
	struct cam_symboliser *s = a->s;
	struct cam_jitcode *code;
	int error = fd < 0 ? -EBADF
			   : cam_jit_cache_get(s->jits, fd, errand->pid, errand->format, &code,
					       &a->behind);
	if (error)
		return error;
	for (uint32_t i = 0; i < errand->n_offsets; i++) {
		struct cam_jitcode_hit hit;
		struct cam_name *n = &s->names[i];
		if (!cam_jitcode_tell(code, errand->offsets[i], &hit))
			continue;
		n->start = hit.start;
		n->source =
			errand->format == CAM_FORMAT_JITDUMP ? CAM_NAME_JITDUMP : CAM_NAME_PERF_MAP;
		n->name = keep_text(s, hit.name);
	}
	a->turn = cam_jitcode_turn(code);
	return 0;
}

static int find_names(struct answer *a, int fd)
{
	struct cam_symboliser *s = a->s;
	const struct cam_errand *errand = a->errand;
	struct naming from = {.own = s->vdso_elf, .work = WORK_BYTES, .dwarf_work = DWARF_BYTES};
	if (errand->file == CAM_FILE_KERNEL)
		return name_from_kallsyms(s, errand, fd);
	if (errand->format == CAM_FORMAT_PERF_MAP || errand->format == CAM_FORMAT_JITDUMP)
		return name_from_jit(a, fd);
	if (errand->file == CAM_FILE_VDSO) {
		if (!from.own)
			return -ENOENT;
		from.own_bytes = s->vdso;
	} else {
		if (fd < 0)
			return -EBADF;
		int error =
			errand->format == CAM_FORMAT_DEBUG
				? cam_elf_cache_get_debug(s->files, fd, &from.own_bytes, &from.own)
				: cam_elf_cache_get(s->files, fd, &from.own_bytes, &from.own);
		if (error)
			return error;
	}
	a->build_id = cam_elf_build_id(from.own);
	from.f = cam_elf_outline(from.own);
	return name_file(a, &from);
}

static int send_tidings(const struct answer *a, struct cam_tidings *t)
{
	const struct cam_errand *errand = a->errand;
	t->type = errand->type;
	t->ticket = errand->ticket;
	t->pid = errand->pid;
	t->tid = errand->tid;
	t->file = errand->file;
	int bytes = cam_tidings_pack(t, a->s->packet, sizeof(a->s->packet));
	return bytes < 0 ? bytes : a->send(a->arg, a->s->packet, (size_t)bytes);
}

static int send_packet(const struct answer *a, int error, uint32_t first, uint32_t n)
{
	struct cam_tidings t = {.error = error};
	if (!error)
		t.names = (struct cam_names_tidings){
			.names = a->s->names + first,
			.n_names = n,
			.more = first + n < a->errand->n_offsets,
			.build_id = a->build_id,
			.turn = a->turn,
			.behind = a->behind,
			.left_out = a->left_out,
			.elsewhere = a->elsewhere,
			.wants_debug = a->wants_debug,
			.link = a->link.name,
		};
	return send_tidings(a, &t);
}

/* Half as many at a time, until they fit: names of a few KiB each are rare. */
static int send_names(const struct answer *a)
{
	uint32_t left = a->errand->n_offsets, at_once = left;
	int error;
	do {
		uint32_t n = left < at_once ? left : at_once;
		error = send_packet(a, 0, a->errand->n_offsets - left, n);
		if (error == -E2BIG && at_once > 1) {
			at_once /= 2;
			error = 0;
		} else if (error == -E2BIG && a->s->names[a->errand->n_offsets - left].n_inlined) {
			a->s->names[a->errand->n_offsets - left].n_inlined = 0;
			error = 0;
		} else if (!error) {
			left -= n;
		}
	} while (left && !error);
	return error;
}

static void start_names(struct answer *a)
{
	for (uint32_t i = 0; i < a->errand->n_offsets; i++) {
		uint64_t offset = a->errand->offsets[i];
		a->s->names[i] = (struct cam_name){.offset = offset, .start = offset};
	}
	a->s->text_used = a->s->chain_used = a->s->n_inlined = 0;
	a->out_of_memory = a->wants_supplement = false;
}

/* A supplement is the last descriptor, whether there is a debug file or not. */
static void take_descriptors(struct answer *a, const int fds[CAM_PACKET_FDS])
{
	size_t n = 0;
	while (n < CAM_PACKET_FDS && fds[n] >= 0)
		n++;
	bool has = a->errand->supplement && n > 1;
	a->supplement_fd = has ? fds[n - 1] : -1;
	a->debug_fd = n - has > 1 ? fds[1] : -1;
}

static int answer_names(struct answer *a, const int fds[CAM_PACKET_FDS])
{
	take_descriptors(a, fds);
	start_names(a);
	int error = find_names(a, fds[0]);
	if (error == -ENOMEM || a->out_of_memory) {
		shed(a->s);
		start_names(a);
		error = find_names(a, fds[0]);
	}
	a->left_out |= a->out_of_memory;
	if (!error && a->wants_supplement) {
		struct cam_tidings t = {.names = {.build_id = a->supplement.id,
						  .wants_supplement = true,
						  .link = a->supplement.path}};
		return send_tidings(a, &t);
	}
	if (!error && a->wants_debug) {
		struct cam_tidings t = {.names = {.build_id = a->build_id,
						  .wants_debug = true,
						  .link = a->link.name}};
		return send_tidings(a, &t);
	}
	return error ? send_packet(a, error, 0, 0) : send_names(a);
}

/* A piece has 82 KiB at most: it fits one packet. */
static int send_piece(void *arg, const struct cam_ehframe_piece *p)
{
	struct answer *a = arg;
	struct cam_tidings t = {
		.table = {p->rules, p->rows, p->n_rules, p->n_rows, p->more},
	};
	a->sent = true;
	return send_tidings(a, &t);
}

static int answer_table(struct answer *a, int fd)
{
	struct cam_symboliser *s = a->s;
	struct cam_bytes b = s->vdso;
	int error = 0;
	if (a->errand->file == CAM_FILE_VDSO)
		error = b.memory ? 0 : -ENOENT;
	else
		error = fd < 0 ? -EBADF : cam_bytes_of_file(&b, fd);
	if (!error)
		error = cam_table_cache_read(s->tables, a->errand->file, &b, send_piece, a);
	if (error == -ENOMEM && !a->sent) {
		shed(s);
		error = cam_table_cache_read(s->tables, a->errand->file, &b, send_piece, a);
	}
	/* Once a piece is out only sending can have failed. */
	return error && !a->sent ? send_packet(a, error, 0, 0) : error;
}

static int answer_unwind(struct answer *a)
{
	struct cam_tidings t = {0};
	const struct cam_errand *e = a->errand;
	t.error =
		cam_stack_walk(a->s->walk, a->s->tables, &e->copy, e->maps, e->n_maps, &t.unwound);
	return send_tidings(a, &t);
}

/* A file whose segments do not lie in it may still have debug information. */
static int read_outline(struct cam_symboliser *s, const struct cam_errand *errand, int fd,
			struct cam_elf_file *f)
{
	struct cam_bytes b = s->vdso;
	int error = 0;
	if (errand->file == CAM_FILE_VDSO)
		error = b.memory ? 0 : -ENOENT;
	else
		error = fd < 0 ? -EBADF : cam_bytes_of_file(&b, fd);
	if (error)
		return error;
	b.blocks = &s->blocks;
	error = cam_elf_file_read(f, &b);
	if (error == -EBADMSG || (!error && !f->has_code)) {
		error = cam_elf_file_read_debug(f, &b);
		f->has_code = false;
	}
	return error;
}

static int answer_outline(struct answer *a, int fd)
{
	struct cam_file_segment segments[CAM_ELF_MAX_SEGMENTS];
	struct cam_elf_file f;
	struct cam_tidings t = {.error = read_outline(a->s, a->errand, fd, &f)};
	if (t.error)
		return send_tidings(a, &t);
	uint32_t n = f.has_code ? f.n_segments : 0;
	for (uint32_t i = 0; i < n; i++)
		segments[i] = (struct cam_file_segment){f.segments[i].address, f.segments[i].offset,
							f.segments[i].bytes};
	t.outline = (struct cam_outline_tidings){
		.build_id = {(const char *)f.build_id, f.build_id_bytes},
		.has_code = f.has_code,
		.has_symbols = f.symbols[CAM_ELF_SYMTAB].rows != 0,
		.segments = segments,
		.n_segments = n,
	};
	return send_tidings(a, &t);
}

int cam_symboliser_answer(struct cam_symboliser *s, const void *packet, size_t bytes, int fd,
			  cam_symboliser_send_fn *send, void *arg)
{
	const int fds[CAM_PACKET_FDS] = {fd, -1, -1};
	return cam_symboliser_answer_with(s, packet, bytes, fds, send, arg);
}

/* A file with many addresses comes with many errands: whether these are the ones that the one before came with. */
static bool come_again(struct cam_symboliser *s, const int fds[CAM_PACKET_FDS])
{
	bool again = true;
	for (size_t i = 0; i < CAM_PACKET_FDS; i++) {
		struct cam_identity file = {0};
		again &= fds[i] < 0 || !cam_identity_of(fds[i], &file);
		again &= fds[i] == s->fds_read[i] && cam_identity_equal(&file, &s->files_read[i]);
		s->fds_read[i] = fds[i];
		s->files_read[i] = file;
	}
	return again;
}

static int answer_one(struct cam_symboliser *s, const void *packet, size_t bytes,
		      const int fds[CAM_PACKET_FDS], cam_symboliser_send_fn *send, void *arg)
{
	int fd = fds[0];
	struct cam_errand errand;
	int error = cam_errand_unpack(packet, bytes, s->scratch, sizeof(s->scratch), &errand);
	if (error)
		return error;
	struct answer a = {.s = s, .errand = &errand, .send = send, .arg = arg};
	if (!come_again(s, fds))
		cam_blocks_forget(&s->blocks);
	switch (errand.type) {
	case CAM_ERRAND_NAMES:
		return answer_names(&a, fds);
	case CAM_ERRAND_TABLE:
		return answer_table(&a, fd);
	case CAM_ERRAND_UNWIND:
		return answer_unwind(&a);
	case CAM_ERRAND_OUTLINE:
		return answer_outline(&a, fd);
	case CAM_ERRAND_FORGET:
		cam_table_cache_forget(s->tables, errand.file);
		return 0;
	default:
		return send_packet(&a, -EINVAL, 0, 0);
	}
}

/* Answers to a bundle, on their way into another. */
struct gathering {
	struct cam_bundle *to;
	cam_symboliser_send_fn *send;
	void *arg;
};

static int send_gathered(struct gathering *g)
{
	int error = g->to->bytes ? g->send(g->arg, g->to->room, g->to->bytes) : 0;
	g->to->bytes = 0;
	return error;
}

static int gather(void *arg, const void *packet, size_t bytes)
{
	struct gathering *g = arg;
	size_t left;
	void *place = cam_bundle_place(g->to, &left);
	if (bytes > left) {
		int error = send_gathered(g);
		if (error)
			return error;
		place = cam_bundle_place(g->to, &left);
	}
	/* As large as a packet may be: it goes alone. */
	if (bytes > left)
		return g->send(g->arg, packet, bytes);
	memcpy(place, packet, bytes);
	cam_bundle_add(g->to, bytes);
	return 0;
}

static int answer_bundle(struct cam_symboliser *s, struct cam_text all,
			 cam_symboliser_send_fn *send, void *arg)
{
	static const int none[CAM_PACKET_FDS] = {-1, -1, -1};
	struct gathering g = {.to = &s->bundle, .send = send, .arg = arg};
	struct cam_text packet;
	int error = 0;
	s->bundle.bytes = 0;
	while (!error && cam_bundle_next(&all, &packet))
		error = answer_one(s, packet.p, packet.n, none, gather, &g);
	int sent = error && error != -EBADMSG ? error : send_gathered(&g);
	if (sent)
		return sent;
	return error ? error : all.n ? -EBADMSG : 0;
}

int cam_symboliser_answer_with(struct cam_symboliser *s, const void *packet, size_t bytes,
			       const int fds[CAM_PACKET_FDS], cam_symboliser_send_fn *send,
			       void *arg)
{
	struct cam_text all = {packet, bytes};
	return cam_bundle_is(all) ? answer_bundle(s, all, send, arg)
				  : answer_one(s, packet, bytes, fds, send, arg);
}

/* 1: ready; 0: not in time. */
static int wait_for(int socket, short events, int ms)
{
	struct pollfd p = {.fd = socket, .events = events};
	int n;
	do
		n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int send_to_socket(void *arg, const void *packet, size_t bytes)
{
	int socket = *(int *)arg, error;
	while ((error = cam_packet_send(socket, packet, bytes, -1)) == -EAGAIN) {
		int ready = wait_for(socket, POLLOUT, SEND_WAIT_MS);
		if (ready <= 0)
			return ready ? ready : -ETIMEDOUT;
	}
	return error;
}

/* The limit on CPU time counts from the start: it is there for one that does not come back. */
static bool has_worked_long(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 && t.tv_sec >= CPU_SECONDS;
}

/* Whether receiving waits by itself, so long: a call less for each packet. */
static bool waits_itself(int socket, int idle_ms)
{
	const struct timeval most = {.tv_sec = idle_ms / 1000, .tv_usec = idle_ms % 1000 * 1000};
	int flags = fcntl(socket, F_GETFL);
	return idle_ms > 0 && flags >= 0 && !(flags & O_NONBLOCK) &&
	       !setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
}

static int serve(struct cam_symboliser *s, int socket, int idle_ms, bool waits)
{
	for (;;) {
		int fds[CAM_PACKET_FDS];
		bool last = has_worked_long();
		int ready = waits && !last ? 1 : wait_for(socket, POLLIN, last ? 0 : idle_ms);
		if (ready <= 0)
			return ready;
		ssize_t got = cam_packet_receive_all(socket, s->received, sizeof(s->received), fds);
		int first CAM_AUTOCLOSE = fds[0], second CAM_AUTOCLOSE = fds[1],
			  third CAM_AUTOCLOSE = fds[2];
		if (got == -EAGAIN && waits)
			return 0;
		if (got == -EAGAIN || got == -EMSGSIZE)
			continue;
		if (got <= 0)
			return (int)got;
		(void)first;
		(void)second;
		(void)third;
		int error = cam_symboliser_answer_with(s, s->received, (size_t)got, fds,
						       send_to_socket, &socket);
		if (error == -EPIPE)
			return 0;
		if (error && error != -EBADMSG)
			return error;
	}
}

int cam_symboliser_run(int socket, int idle_ms, int (*confine)(void))
{
	/* What is freed is given back: else the allocator would keep blocks of up to 32 MiB for itself. */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	struct cam_symboliser *s = cam_symboliser_new();
	if (!s)
		return -ENOMEM;
	bool waits = waits_itself(socket, idle_ms);
	int error = confine ? confine() : 0;
	if (!error)
		error = serve(s, socket, idle_ms, waits);
	cam_symboliser_free(s);
	return error;
}
