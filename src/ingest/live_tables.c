// SPDX-License-Identifier: Apache-2.0
/*
 * Unwind tables of files: asked of the symboliser, streamed to whoever unwinds in the kernel.
 *
 * A table is asked for once a held file: first those that a sample has stopped at for want of one, then
 * the other files of processes that are sampled. At most CAM_LIVE_TABLES are under way, since names
 * wait behind them in the symboliser's line; the next goes out when one is answered. Answers come in
 * packets, each is passed on as it comes and kept nowhere here.
 *
 * What cannot be had (not an ELF file, a bound, a file that was overwritten, one that nobody can open)
 * becomes a table of one row, "nothing is known": so that the walk goes on by frame pointers, and
 * the sample says "no CFI", not "pending" for ever. Whoever unwinds may evict a table; a sample that
 * stops there again has it asked for again. The symboliser keeps tables, too, for copies of stacks: it may
 * lack one that the kernel has, if it was started anew.
 *
 * Invariants
 *  1. A row stands in a line exactly while its state is WANTED; it is held then.
 *  2. Packets are passed on only while the ticket's file is still the file of that number (book), and
 *     its state ASKED; a file whose number is forgotten has its table forgotten first.
 *  3. Errors of the moment are tried again, at most MAX_TRIES times.
 *
 * Example: a sample stops in libfoo (file 9, held). want(9, first): WANTED. Tick: TABLE 9, ticket 5:
 * ASKED. Packets of 5: table_begin(9), table_rows ×3, and with the last table_end: THERE; in use
 * from the next flush on.
 */
#include "ingest/live_parts.h"

#include "base/units.h"

#include <errno.h>

#define MAX_TRIES  3u
#define ANSWER_NS  (30 * CAM_NS_PER_SEC)
#define PAUSE_NS   CAM_NS_PER_SEC
#define REFUSED_NS (10 * CAM_NS_PER_SEC)

static void hand_over_nothing(struct cam_live *l, struct cam_files_row *f)
{
	static const struct cam_unwind_rule nothing = {.cfa = CAM_CFA_NONE};
	static const struct cam_unwind_row from_start = {0, 0};
	struct cam_unwinder *u = l->doors.unwinder;
	f->table.state = CAM_TABLE_NO_CFI;
	l->stats.tables_empty++;
	if (!u)
		return;
	int err = u->table_begin(u, f->number);
	if (!err)
		err = u->table_rows(u, f->number, &nothing, 1, &from_start, 1);
	if (!err)
		err = u->table_end(u, f->number);
	if (err)
		u->table_forget(u, f->number);
}

/* Whether somebody lacks it. */
static bool is_needed(const struct cam_live *l, const struct cam_files_row *f)
{
	struct cam_unwinder *u = l->doors.unwinder;
	switch (f->table.state) {
	case CAM_TABLE_NONE:
		return l->now_ns >= f->table.retry_ns;
	case CAM_TABLE_THERE:
	case CAM_TABLE_NO_CFI:
		return u && !u->table_has(u, f->number);
	case CAM_TABLE_WANTED:
	case CAM_TABLE_ASKED:
		break;
	}
	return false;
}

static bool is_hopeless(const struct cam_files_row *f)
{
	return f->state == CAM_FILES_CHANGED || f->table.state == CAM_TABLE_NO_CFI ||
	       (f->state == CAM_FILES_FAILED && f->tries >= MAX_TRIES);
}

void cam_live_table_want(struct cam_live *l, struct cam_files_row *f, bool first)
{
	if (f->kind != CAM_MODULE_FILE && f->kind != CAM_MODULE_VDSO)
		return;
	if (f->table.state == CAM_TABLE_WANTED && first) {
		cam_link_leave(&f->table.line);
		cam_link_join(&l->tables_first, &f->table.line);
	}
	if (!is_needed(l, f))
		return;
	if (is_hopeless(f)) {
		hand_over_nothing(l, f);
	} else if (f->state != CAM_FILES_HELD) {
		f->table.when_held = true;
	} else {
		f->table.state = CAM_TABLE_WANTED;
		cam_link_join(first ? &l->tables_first : &l->tables_later, &f->table.line);
	}
}

void cam_live_table_held(struct cam_live *l, uint32_t file)
{
	struct cam_files_row *f = cam_files_find(l->files, file);
	if (!f || !f->table.when_held || (f->state != CAM_FILES_HELD && !is_hopeless(f)))
		return;
	f->table.when_held = false;
	cam_live_table_want(l, f, true);
}

void cam_live_table_forget(struct cam_live *l, uint32_t file)
{
	struct cam_files_row *f = cam_files_find(l->files, file);
	if (l->doors.unwinder)
		l->doors.unwinder->table_forget(l->doors.unwinder, file);
	/* Still there: it was overwritten. */
	if (f) {
		cam_link_leave(&f->table.line);
		f->table = (struct cam_files_table){.line = f->table.line};
		cam_link_init(&f->table.line);
	}
}

static void fail(struct cam_live *l, struct cam_files_row *f, int error)
{
	bool is_lasting = error == -EBADMSG || error == -EBADF || error == -ENOEXEC ||
			  error == -EINVAL || error == -E2BIG || error == -EFBIG ||
			  error == -EACCES || error == -EPERM || error == -ENODATA ||
			  error == -EOPNOTSUPP || error == -ENOENT;
	f->table.state = CAM_TABLE_NONE;
	if (f->table.tries < UINT8_MAX)
		f->table.tries++;
	if (is_lasting || f->table.tries >= MAX_TRIES)
		hand_over_nothing(l, f);
	else
		f->table.retry_ns = l->now_ns + PAUSE_NS;
}

/* The file that was asked about, if it still is that one, and waits. */
static struct cam_files_row *file_of(const struct cam_live *l, const struct cam_live_table *k)
{
	struct cam_files_row *f = cam_files_find(l->files, k->file);
	return f && f->book == k->book && f->table.state == CAM_TABLE_ASKED ? f : NULL;
}

static void give_up(struct cam_live *l, struct cam_live_table *k, int error)
{
	struct cam_files_row *f = file_of(l, k);
	k->ticket = 0;
	if (f && k->begun && l->doors.unwinder)
		l->doors.unwinder->table_forget(l->doors.unwinder, k->file);
	if (f)
		fail(l, f, error);
}

static struct cam_live_table *free_ticket(struct cam_live *l)
{
	for (size_t i = 0; i < CAM_LIVE_TABLES; i++) {
		struct cam_live_table *k = &l->tables[i];
		if (k->ticket && l->now_ns - k->heard_ns > ANSWER_NS)
			give_up(l, k, -ETIMEDOUT);
		if (!k->ticket)
			return k;
	}
	return NULL;
}

/* false: not now, and no other either. */
static bool ask(struct cam_live *l, struct cam_files_row *f, struct cam_live_table *k)
{
	struct cam_errand e = {.type = CAM_ERRAND_TABLE, .file = f->number};
	int err = cam_live_send(l, &e);
	if (err == -EAGAIN)
		return false;
	cam_link_leave(&f->table.line);
	if (err) {
		fail(l, f, err);
		return true;
	}
	f->table.state = CAM_TABLE_ASKED;
	*k = (struct cam_live_table){e.ticket, e.file, f->book, .heard_ns = l->now_ns};
	return true;
}

void cam_live_tables_tick(struct cam_live *l)
{
	struct cam_link *lines[] = {&l->tables_first, &l->tables_later};
	for (size_t i = 0; i < 2; i++) {
		struct cam_live_table *k;
		while (!cam_link_is_alone(lines[i]) && (k = free_ticket(l))) {
			struct cam_files_row *f =
				CAM_LINK_OWNER(lines[i]->next, struct cam_files_row, table.line);
			if (!ask(l, f, k))
				return;
		}
	}
}

bool cam_live_table_lack(struct cam_live *l, struct cam_files_row *f)
{
	if (f->table.state == CAM_TABLE_ASKED)
		return true;
	if (f->state != CAM_FILES_HELD || l->now_ns < f->table.retry_ns) {
		f->table.when_held |= f->state != CAM_FILES_HELD;
		return false;
	}
	struct cam_live_table *k = free_ticket(l);
	/* What is known to have no table is not asked for again, unless the other end was told anew. */
	return k && f->table.state != CAM_TABLE_NO_CFI && ask(l, f, k) &&
	       f->table.state == CAM_TABLE_ASKED;
}

/* A packet, to whoever unwinds; one that has the table already needs none of it. */
static void pass_on(struct cam_live *l, struct cam_live_table *k, const struct cam_table_tidings *t)
{
	struct cam_unwinder *u = l->doors.unwinder;
	if (!u || k->error || (!k->begun && u->table_has(u, k->file)))
		return;
	if (!k->begun)
		k->error = u->table_begin(u, k->file);
	k->begun = !k->error;
	if (!k->error)
		k->error = u->table_rows(u, k->file, t->rules, t->n_rules, t->rows, t->n_rows);
	if (!k->error && !t->more)
		k->error = u->table_end(u, k->file);
	if (k->error)
		u->table_forget(u, k->file);
}

static void finish(struct cam_live *l, struct cam_live_table *k, struct cam_files_row *f)
{
	int error = k->error;
	k->ticket = 0;
	if (error == -EAGAIN || error == -ENOSPC || error == -ENOMEM) {
		f->table.state = CAM_TABLE_NONE;
		f->table.retry_ns = l->now_ns + (error == -EAGAIN ? 0 : REFUSED_NS);
		l->stats.tables_refused++;
	} else if (error) {
		fail(l, f, -EBADMSG);
	} else {
		f->table.state = CAM_TABLE_THERE;
		f->table.tries = 0;
		l->stats.tables++;
	}
}

void cam_live_table_answer(struct cam_live *l, const struct cam_tidings *t)
{
	struct cam_live_table *k = NULL;
	for (size_t i = 0; i < CAM_LIVE_TABLES && !k; i++) {
		if (l->tables[i].ticket && l->tables[i].ticket == t->ticket)
			k = &l->tables[i];
	}
	if (!k || k->file != t->file)
		return;
	struct cam_files_row *f = file_of(l, k);
	k->heard_ns = l->now_ns;
	l->stats.errands_failed += t->error != 0;
	if (f && !t->error)
		pass_on(l, k, &t->table);
	if (t->error)
		give_up(l, k, t->error);
	else if (!t->table.more && f)
		finish(l, k, f);
	else if (!t->table.more)
		k->ticket = 0;
	if (!k->ticket)
		cam_live_tables_tick(l);
}
