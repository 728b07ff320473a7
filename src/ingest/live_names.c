// SPDX-License-Identifier: Apache-2.0
/*
 * Names of locations.
 *
 * A new location of a window is looked up in the book of names; if the book does not have it, it is
 * noted as wanted, asked for at the next tick (by file, at most CAM_ERRAND_MAX_OFFSETS at a time) and
 * named when the answer has come, in whichever of the two windows wants it. A file is asked about at once,
 * then at most every ASK_AGAIN_NS: an errand costs the same whether it carries one offset or a hundred,
 * and with one a tick for every busy file the errands cost more than all else. What has no name, or
 * whose name does not come while its window is open, stays unnamed. Unnamed code of a file whose function
 * is known by its start gets that function without a name, so that all samples of it are one.
 *
 * Kernel code that comes and goes (BPF programs and trampolines, by KSYMBOL records; modules, of which
 * there are none, by cam_live_kernel_changed()) has other names after each change. All addresses that ever
 * changed are one range, *dynamic*; each change, and each loss of records, begins another turn. In that range a location is (module,
 * turn, address), the book notes names under a number of that turn, and an answer to a question of an
 * earlier turn is not used. What a record itself says of a BPF program is taken before anybody is asked
 * (ksymbols.h), by the time of the sample.
 *
 * Invariants
 *  1. A name is taken only from an answer whose ticket is under way and was about the same file.
 *  2. A want is in the list of its window from the birth of its location until it is named, known to
 *     be nameless, given up after MAX_TRIES, or its window ends.
 *  3. Locations that are named at birth need no word to the journal; others are in `named`.
 *
 * Example: offset 0x1234 of file 7 is new in window 3. Not in the book: want. Tick: asked, ticket 90.
 * Answer 90 for file 7: 0x1234 → "main", from 0x1200. Tick: the location becomes main+0x34 and goes
 * into `named`. In window 4 the book has it at once.
 */
#include "ingest/live_parts.h"

#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_WANTS	 32768u
#define MAX_TRIES	 3u
#define MAX_JIT_TRIES	 12u
#define MAX_NAME_ERRORS	 3u
#define ASKS_A_TICK	 4096u
#define ASK_AGAIN_NS	 (900 * CAM_NS_PER_MS)
#define ANSWER_NS	 (15 * CAM_NS_PER_SEC)
#define KERNEL_PAUSE_NS	 (10 * CAM_NS_PER_SEC)
#define DYNAMIC_BOOK	 0x80000000u
#define DYNAMIC_BOOK_MAX 0x3fffffffu

bool cam_live_is_dynamic(const struct cam_live *l, const struct cam_files_row *f, uint64_t address)
{
	return f->number == CAM_FILE_KERNEL && address >= l->dynamic_from &&
	       address < l->dynamic_to;
}

static uint32_t book_of(const struct cam_live *l, const struct cam_files_row *f, uint64_t address)
{
	if (cam_live_is_dynamic(l, f, address))
		return DYNAMIC_BOOK + (l->turn & DYNAMIC_BOOK_MAX);
	return f->book;
}

/* Whether an answer says something: a name, or in which function without one. By itself each address
 * is a function of its own (cam_place_stack()). */
static bool says_something(const struct cam_live_window *w, struct cam_loc_id loc,
			   const struct cam_name *n)
{
	const struct cam_tables *t = &w->w.tables;
	const struct cam_location *at = &t->locations[loc.v];
	return n->source != CAM_NAME_NONE || (n->start && n->start < at->address &&
					      t->modules[at->module.v].kind == CAM_MODULE_FILE);
}

/* What is inlined at a location, below its function; and the line of the innermost. */
static int enter_inlined(struct cam_tables *t, struct cam_loc_id loc, const struct cam_name *n)
{
	uint32_t node = 0;
	int err = 0;
	for (uint32_t i = 0; i < n->n_inlined && !err; i++) {
		struct cam_function f = {
			.module = t->locations[loc.v].module,
			.kind = CAM_FUNC_INLINED,
			.source = CAM_NAME_DWARF,
		};
		struct cam_func_id func;
		err = cam_string_intern(t, n->inlined[i].name, &f.name);
		if (!err)
			err = cam_function_intern(t, &f, &func);
		if (!err)
			err = cam_tree_intern(t, &t->inlines, node, func.v, &node);
	}
	if (!err && node)
		cam_location_inline(t, loc, node);
	struct cam_text file = n->n_inlined ? n->inlined[n->n_inlined - 1].file : n->file;
	uint32_t line = n->n_inlined ? n->inlined[n->n_inlined - 1].line : n->line;
	struct cam_str_id source;
	if (!err && file.n && line && !cam_string_intern(t, file, &source))
		cam_location_source(t, loc, source, line);
	return err;
}

/* Gives a location its name; an error leaves it unnamed. */
static int enter(struct cam_live_window *w, struct cam_loc_id loc, const struct cam_name *n)
{
	struct cam_tables *t = &w->w.tables;
	struct cam_location at = t->locations[loc.v];
	enum cam_module_kind kind = t->modules[at.module.v].kind;
	struct cam_function f = {
		.module = at.module,
		.kind = kind == CAM_MODULE_KERNEL ? CAM_FUNC_KERNEL
			: kind == CAM_MODULE_JIT  ? CAM_FUNC_JIT
						  : CAM_FUNC_USER,
		.source = n->source,
		/* A better name may come for it. */
		.start = (n->source == CAM_NAME_DYNSYM || n->source == CAM_NAME_NONE) &&
					 kind == CAM_MODULE_FILE
				 ? n->start
				 : 0,
	};
	struct cam_module m = {.kind = kind};
	struct cam_func_id func;
	int err = cam_string_intern(t, n->name, &f.name);
	/* Functions made at run time are the same by their name, in whichever process and turn. */
	if (kind == CAM_MODULE_JIT)
		m.path = t->modules[at.module.v].path;
	if (!err && n->module.n)
		err = cam_string_intern(t, n->module, &m.path);
	if (!err && (n->module.n || kind == CAM_MODULE_JIT))
		err = cam_module_intern(t, &m, &f.module);
	if (!err)
		err = cam_function_intern(t, &f, &func);
	if (!err)
		err = enter_inlined(t, loc, n);
	if (!err)
		cam_location_name(t, loc, func,
				  n->start <= at.address ? at.address - n->start : CAM_OFFSET_NONE);
	return err;
}

static void want(struct cam_live *l, struct cam_live_window *w, const struct cam_files_row *f,
		 uint32_t book, struct cam_loc_id loc, uint64_t offset)
{
	struct cam_live_want new = {.loc = loc, .file = f->number, .book = book, .offset = offset};
	if (cam_vec_reserve(&w->wants, &w->cap_wants, w->n_wants + 1, sizeof(*w->wants),
			    MAX_WANTS)) {
		l->stats.unnamed++;
		return;
	}
	w->wants[w->n_wants++] = new;
}

/* Whether an error is of the file, not of the moment. */
static bool is_lasting(int error)
{
	return error == -EBADMSG || error == -EBADF || error == -ENOEXEC || error == -EINVAL ||
	       error == -E2BIG || error == -EFBIG || error == -EACCES || error == -EPERM;
}

static void note_error(struct cam_live *l, struct cam_files_row *f, int error)
{
	l->stats.errands_failed++;
	if (!is_lasting(error))
		return;
	if (f->name_errors < MAX_NAME_ERRORS)
		f->name_errors++;
	/* There is only one kernel: its symbols may come to be readable. */
	f->retry_ns = l->now_ns + KERNEL_PAUSE_NS;
}

/* Whether it is not too early after the last time. */
static bool is_rested(const struct cam_live *l, const struct cam_files_row *f)
{
	uint64_t since = l->now_ns - f->names_asked_ns;
	return !f->names_asked_ns || !since || since >= ASK_AGAIN_NS;
}

static bool may_ask(const struct cam_live *l, const struct cam_files_row *f)
{
	return f->state == CAM_FILES_HELD &&
	       (f->name_errors < MAX_NAME_ERRORS ||
		(f->number < CAM_FILE_FIRST && l->now_ns >= f->retry_ns));
}

void cam_live_names_find(struct cam_live *l, struct cam_live_window *w,
			 const struct cam_files_row *f, struct cam_loc_id loc, uint64_t address)
{
	struct cam_name name;
	if (f->state == CAM_FILES_NO_FILE)
		return;
	if (f->state == CAM_FILES_CHANGED ||
	    (f->name_errors >= MAX_NAME_ERRORS && !may_ask(l, f))) {
		l->stats.unnamed++;
		return;
	}
	const struct cam_ksymbol *s =
		cam_live_is_dynamic(l, f, address)
			? cam_ksymbols_find(&l->ksymbols, address, l->placing_ns)
			: NULL;
	if (s) {
		name = (struct cam_name){
			.start = s->start,
			.name = {s->name, s->name_bytes},
			.module = CAM_TEXT("[bpf]"),
			.source = CAM_NAME_KALLSYMS,
		};
		enter(w, loc, &name);
		return;
	}
	uint32_t book = book_of(l, f, address);
	if (!cam_namebook_find(l->names, book, address, &name))
		want(l, w, f, f->kind == CAM_MODULE_JIT ? f->source : book, loc, address);
	else if (says_something(w, loc, &name))
		enter(w, loc, &name);
}

static struct cam_live_ticket *find_ticket(struct cam_live *l, uint32_t ticket)
{
	for (size_t i = 0; ticket && i < CAM_LIVE_MAX_TICKETS; i++) {
		if (l->tickets[i].ticket == ticket)
			return &l->tickets[i];
	}
	return NULL;
}

void cam_live_names_answer(struct cam_live *l, const struct cam_tidings *t)
{
	struct cam_live_ticket *k = find_ticket(l, t->ticket);
	if (!k || k->file != t->file)
		return;
	struct cam_files_row *f = cam_files_find(l->files, t->file);
	l->names_came = true;
	/* The number may be another file's by now. */
	if (t->error || !f || f->source != k->book) {
		k->ticket = 0;
		if (f && f->source == k->book)
			note_error(l, f, t->error);
		return;
	}
	if (f->kind == CAM_MODULE_JIT) {
		f->behind = t->names.behind;
		if (f->turn != t->names.turn)
			cam_files_turn(l->files, f, t->names.turn);
	}
	for (uint32_t i = 0; i < t->names.n_names; i++) {
		const struct cam_name *n = &t->names.names[i];
		if (cam_live_is_dynamic(l, f, n->offset) && k->turn != l->turn)
			continue;
		/* A name that is not there yet may come. */
		if (f->kind == CAM_MODULE_JIT && n->source == CAM_NAME_NONE)
			continue;
		if ((unsigned)n->source < CAM_NAME_MAX)
			cam_namebook_put(l->names, book_of(l, f, n->offset), n);
	}
	if (!f->build_id && t->names.build_id.n)
		f->build_id = cam_words_take(&l->words, t->names.build_id);
	f->name_errors = 0;
	if (!t->names.more)
		k->ticket = 0;
}

static bool is_jit(const struct cam_files_row *f, const struct cam_live_want *q)
{
	return f && f->kind == CAM_MODULE_JIT && f->source == q->book;
}

/* Code made at run time: its name may be written later than the code is run. */
static bool settle_jit(struct cam_live *l, struct cam_files_row *f, struct cam_live_want *q)
{
	if (q->ticket && !find_ticket(l, q->ticket)) {
		q->ticket = 0;
		f->lacks_names = true;
		q->tries += !f->behind;
		q->not_before_ns =
			l->now_ns + (CAM_NS_PER_SEC / 2 << (q->tries < 5 ? q->tries : 5));
	}
	if (q->tries < MAX_JIT_TRIES && f->name_errors < MAX_NAME_ERRORS &&
	    (q->ticket || !q->last || f->behind))
		return false;
	l->stats.unnamed++;
	return true;
}

/* Whether a want is done with, one way or the other. */
static bool settle(struct cam_live *l, struct cam_live_window *w, struct cam_live_want *q)
{
	struct cam_name name;
	struct cam_files_row *f = cam_files_find(l->files, q->file);
	uint32_t book = is_jit(f, q) ? f->book : q->book;
	if (cam_namebook_find(l->names, book, q->offset, &name)) {
		l->stats.unnamed += name.source == CAM_NAME_NONE;
		if (!says_something(w, q->loc, &name))
			return true;
		/* The journal must hear of it; if it cannot now, a later tick will. */
		if (w->w.n_named >= w->w.options.max_rows) {
			l->stats.unnamed -= name.source == CAM_NAME_NONE;
			return false;
		}
		if (!enter(w, q->loc, &name))
			cam_open_window_named(&w->w, q->loc);
		return true;
	}
	if (is_jit(f, q))
		return settle_jit(l, f, q);
	if (q->ticket && !find_ticket(l, q->ticket)) {
		q->ticket = 0;
		q->tries++;
	}
	if (f && q->tries < MAX_TRIES && (f->name_errors < MAX_NAME_ERRORS || may_ask(l, f)) &&
	    f->state != CAM_FILES_CHANGED && q->book == book_of(l, f, q->offset))
		return false;
	l->stats.unnamed++;
	return true;
}

void cam_live_names_apply(struct cam_live *l)
{
	for (size_t i = 0; i < CAM_LIVE_MAX_TICKETS; i++) {
		if (l->tickets[i].ticket && l->now_ns - l->tickets[i].sent_ns > ANSWER_NS) {
			l->tickets[i].ticket = 0;
			l->names_came = true;
		}
	}
	if (!l->names_came)
		return;
	l->names_came = false;
	for (size_t i = 0; i < 2; i++) {
		struct cam_live_window *w = &l->windows[i];
		size_t kept = 0;
		for (size_t k = 0; w->number && k < w->n_wants; k++) {
			if (!settle(l, w, &w->wants[k]))
				w->wants[kept++] = w->wants[k];
		}
		if (w->number)
			w->n_wants = kept;
	}
}

static int by_file(const void *a, const void *b)
{
	const struct cam_live_want *const *x = a, *const *y = b;
	if ((*x)->file != (*y)->file)
		return (*x)->file < (*y)->file ? -1 : 1;
	return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

static bool is_due(const struct cam_live *l, const struct cam_files_row *f,
		   const struct cam_live_want *q)
{
	if (!is_jit(f, q))
		return is_rested(l, f);
	return f->behind || (f->last_call && !q->last) ||
	       (is_rested(l, f) && l->now_ns >= q->not_before_ns);
}

/* The wants that can be asked for now, sorted by file. */
static size_t gather(struct cam_live *l, struct cam_live_window *w, struct cam_live_want **out)
{
	size_t n = 0;
	for (size_t i = 0; i < w->n_wants && n < ASKS_A_TICK; i++) {
		const struct cam_files_row *f =
			w->wants[i].ticket ? NULL : cam_files_find(l->files, w->wants[i].file);
		if (f && may_ask(l, f) && is_due(l, f, &w->wants[i]))
			out[n++] = &w->wants[i];
	}
	qsort(out, n, sizeof(*out), by_file);
	return n;
}

/* The ticket of an errand about those offsets, or why it was not sent. */
static int send_offsets(struct cam_live *l, struct cam_files_row *f, const uint64_t *offsets,
			size_t n, uint32_t *ticket)
{
	struct cam_live_ticket *k = NULL;
	for (size_t i = 0; i < CAM_LIVE_MAX_TICKETS && !k; i++) {
		if (!l->tickets[i].ticket)
			k = &l->tickets[i];
	}
	struct cam_errand e = {
		.type = CAM_ERRAND_NAMES,
		.pid = f->pid,
		.file = f->number,
		.format = f->format,
		.offsets = offsets,
		.n_offsets = (uint32_t)n,
	};
	int err = k ? cam_live_send(l, &e) : -EAGAIN;
	if (err)
		return err;
	*k = (struct cam_live_ticket){e.ticket, e.file, f->source, l->turn, l->now_ns};
	/* A full errand was worth its cost, and there may be more. */
	if (n < CAM_ERRAND_MAX_OFFSETS)
		f->names_asked_ns = l->now_ns;
	*ticket = e.ticket;
	return 0;
}

void cam_live_names_refresh(struct cam_live *l, struct cam_files_row *f)
{
	uint32_t ticket;
	if (f->name_errors < MAX_NAME_ERRORS)
		send_offsets(l, f, NULL, 0, &ticket);
}

/* Sends one errand for the first of them; answers how many are done with, 0: none now. */
static size_t send_first(struct cam_live *l, struct cam_live_want **wants, size_t n)
{
	uint64_t offsets[CAM_ERRAND_MAX_OFFSETS];
	size_t covered = 0;
	for (; covered < n && covered < CAM_ERRAND_MAX_OFFSETS &&
	       wants[covered]->file == wants[0]->file;
	     covered++)
		offsets[covered] = wants[covered]->offset;
	struct cam_files_row *f = cam_files_find(l->files, wants[0]->file);
	uint32_t ticket;
	int err = send_offsets(l, f, offsets, covered, &ticket);
	if (err == -EAGAIN)
		return 0;
	if (err) {
		/* This file cannot be asked about; others can. */
		note_error(l, f, err);
		l->names_came = true;
		return covered;
	}
	for (size_t i = 0; i < covered; i++) {
		wants[i]->ticket = ticket;
		wants[i]->last = f->last_call;
	}
	return covered;
}

void cam_live_names_ask(struct cam_live *l)
{
	for (size_t i = 0; i < 2; i++) {
		struct cam_live_window *w = &l->windows[i];
		struct cam_live_want *wants[ASKS_A_TICK];
		if (!w->number || !w->n_wants)
			continue;
		size_t n = gather(l, w, wants), sent = 0, part;
		while (sent < n && (part = send_first(l, wants + sent, n - sent)))
			sent += part;
	}
}

void cam_live_kernel_changed(struct cam_live *l, uint64_t from, uint64_t to)
{
	if (to <= from)
		return;
	if (l->dynamic_to == 0 || from < l->dynamic_from)
		l->dynamic_from = from;
	if (to > l->dynamic_to)
		l->dynamic_to = to;
	l->turn++;
	/* What was asked about it before is not to be had any more. */
	l->names_came = true;
}

void cam_live_names_change(struct cam_live *l, const struct cam_raw_ksymbol *k, uint64_t time_ns)
{
	uint64_t to = k->address + k->bytes;
	if (to <= k->address)
		return;
	cam_live_kernel_changed(l, k->address, to);
	cam_ksymbols_note(&l->ksymbols, k, time_ns, l->turn);
}

void cam_live_names_lost(struct cam_live *l)
{
	cam_ksymbols_forget(&l->ksymbols);
	if (l->dynamic_to == 0)
		return;
	l->turn++;
	l->names_came = true;
}
