// SPDX-License-Identifier: Apache-2.0
/*
 * Reads every file of a store and says what it is worth. Changes nothing, needs no lock: what a
 * writer is about to finish is reported as it is found ("torn tail", "temporary").
 */
#include "store/store_parts.h"

#include "base/vec.h"
#include "store/journal.h"
#include "store/window.h"

#include <stdlib.h>
#include <string.h>

struct files {
	char **names;
	size_t n, cap;
};

static int add_file(void *arg, const char *name)
{
	struct files *files = arg;
	if (cam_name_kind(name) == CAM_FILE_LOCK)
		return 0;
	int err = cam_vec_reserve(&files->names, &files->cap, files->n + 1, sizeof(*files->names),
				  CAM_STORE_MAX_FILES);
	if (err)
		return err;
	files->names[files->n] = strdup(name);
	if (!files->names[files->n])
		return -ENOMEM;
	files->n++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void widen(struct cam_verify_report *r, uint64_t from_ns, uint64_t to_ns)
{
	bool first = !r->from_ns && !r->to_ns;
	if (first || from_ns < r->from_ns)
		r->from_ns = from_ns;
	if (first || to_ns > r->to_ns)
		r->to_ns = to_ns;
}

/* Where in time the damage of a sealed window lies: names that are lost are lost all over it. */
static void find_damage(struct cam_window *w, struct cam_verify_report *r)
{
	struct cam_range lost;
	if (w->damage.samples && !w->damage.stacks && cam_window_lost_time(w, &lost))
		widen(r, lost.from_ns, lost.to_ns);
	else
		widen(r, w->info.start_ns, w->info.end_ns);
}

/* A journal says itself where blocks are missing. */
static int find_gap(void *arg, const struct cam_ledger_row *row)
{
	if (row->cause == CAM_CAUSE_DAMAGED)
		widen(arg, row->from_ns, row->to_ns);
	return 0;
}

static int find_gaps(struct cam_window *w, struct cam_verify_report *r)
{
	int err = w->ops->ledger(w, find_gap, r);
	if (r->from_ns < w->info.start_ns)
		r->from_ns = w->info.start_ns;
	/* Later samples may have had their names in the blocks that are missing. */
	if (w->damage.stacks || r->to_ns < r->from_ns)
		r->to_ns = w->info.end_ns;
	return err;
}

static int judge_damage(struct cam_window *w, bool journal, struct cam_verify_report *r)
{
	const struct cam_damage *d = &w->damage;
	if (!d->chunks && !d->bytes && !d->samples && !d->stacks)
		return 0;
	r->verdict = "damaged";
	r->damaged_chunks = d->chunks;
	r->damaged_bytes = d->bytes;
	r->damaged_samples = d->samples;
	if (journal)
		return find_gaps(w, r);
	find_damage(w, r);
	return 0;
}

/* What an open that failed says about the file; other errors are errors. */
static int judge_error(int err, struct cam_verify_report *r)
{
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	r->verdict = err == -EPROTONOSUPPORT ? "newer" : "unreadable";
	return 0;
}

static int verify_window(struct cam_file *f, struct cam_verify_report *r)
{
	struct cam_window *w;
	int err = cam_window_open(f, &w);
	if (err)
		return judge_error(err, r);
	r->samples = w->info.samples;
	err = cam_window_verify(w);
	if (err == -EBADMSG) {
		r->verdict = "damaged";
		err = 0;
	}
	if (!err)
		err = judge_damage(w, false, r);
	w->ops->close(w);
	return err;
}

static int verify_journal(struct cam_file *f, struct cam_verify_report *r)
{
	struct cam_window *w;
	bool used;
	int err = cam_journal_looks_used(f, &used);
	if (err) {
		f->ops->close(f);
		return judge_error(err, r);
	}
	err = cam_journal_open(f, CAM_STORE_TABLE_BYTES, &w);
	/* Its writer died before the first block was whole: nothing was in it. */
	if (err == -EBADMSG && !used) {
		r->torn_bytes = r->bytes;
		r->verdict = "torn tail";
		return 0;
	}
	if (err)
		return judge_error(err, r);
	r->samples = w->info.samples;
	r->torn_bytes = cam_journal_torn_bytes(w);
	if (r->torn_bytes)
		r->verdict = "torn tail";
	err = judge_damage(w, true, r);
	w->ops->close(w);
	return err;
}

static int verify_annex(struct cam_io *io, struct cam_verify_report *r)
{
	struct cam_annex a;
	int err = cam_annex_read(io, &a);
	if (err)
		return judge_error(err, r);
	r->torn_bytes = a.file_bytes - a.good_bytes;
	r->damaged_chunks = a.bad_blocks;
	r->damaged_bytes = a.bad_bytes;
	if (a.file_bytes && !a.good_bytes)
		r->verdict = "unreadable";
	else if (a.bad_blocks)
		r->verdict = "damaged";
	else if (r->torn_bytes)
		r->verdict = "torn tail";
	cam_annex_free(&a);
	return 0;
}

static int verify_pins(struct cam_io *io, struct cam_verify_report *r)
{
	struct cam_pins pins;
	int err = cam_pins_read(io, &pins);
	free(pins.rows);
	if (err == -EBADMSG)
		r->verdict = pins.n ? "damaged" : "unreadable";
	else if (err)
		return judge_error(err, r);
	return 0;
}

static int verify_file(struct cam_io *io, const char *name, struct cam_verify_report *r)
{
	static const char *const kinds[] = {
		[CAM_FILE_FOREIGN] = "foreign",	    [CAM_FILE_WINDOW] = "window",
		[CAM_FILE_JOURNAL] = "journal",	    [CAM_FILE_BAD_JOURNAL] = "journal",
		[CAM_FILE_ANNEX] = "annex",	    [CAM_FILE_PINS] = "pins",
		[CAM_FILE_TEMPORARY] = "temporary",
	};
	enum cam_file_kind kind = cam_name_kind(name);
	struct cam_file *f;
	*r = (struct cam_verify_report){.name = name, .kind = kinds[kind], .verdict = "ok"};
	int err = io->ops->open(io, name, CAM_IO_READ, &f);
	if (err == -ENOENT)
		return err;
	/* What is not ours need not be a file. */
	if (err)
		return kind == CAM_FILE_FOREIGN ? 0 : judge_error(err, r);
	int64_t size = f->ops->size(f);
	r->bytes = size > 0 ? (uint64_t)size : 0;
	if (kind == CAM_FILE_WINDOW)
		return verify_window(f, r);
	if (kind == CAM_FILE_JOURNAL)
		return verify_journal(f, r);
	f->ops->close(f);
	if (kind == CAM_FILE_BAD_JOURNAL)
		r->verdict = "unreadable";
	if (kind == CAM_FILE_ANNEX)
		return verify_annex(io, r);
	return kind == CAM_FILE_PINS ? verify_pins(io, r) : 0;
}

int cam_store_verify(struct cam_io *io, cam_verify_fn *fn, void *arg)
{
	struct files files = {0};
	int err = io->ops->list(io, add_file, &files);
	if (files.n)
		qsort(files.names, files.n, sizeof(*files.names), by_name);
	for (size_t i = 0; i < files.n && !err; i++) {
		struct cam_verify_report r;
		err = verify_file(io, files.names[i], &r);
		if (!err)
			err = fn(arg, &r);
		else if (err == -ENOENT)
			err = 0;
	}
	for (size_t i = 0; i < files.n; i++)
		free(files.names[i]);
	free(files.names);
	return err;
}
