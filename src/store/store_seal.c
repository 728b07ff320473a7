// SPDX-License-Identifier: Apache-2.0
/* The store's part of sealing: which journal is next, and what becomes of the result. seal.c has
 * the steps, and why they come in this order. */
#include "store/seal.h"
#include "store/store_parts.h"

#include "store/journal_format.h"
#include "store/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How often sealing itself may fail at a journal. */
#define MAX_FAILURES 2

/* Step 6, under the first name that is free. */
static int take_name(struct cam_store *s, const struct cam_window_info *info, const char *temporary,
		     char name[CAM_NAME_BYTES])
{
	int err = -EEXIST;
	for (unsigned copy = 1; err == -EEXIST && copy <= CAM_NAME_MAX_COPIES; copy++) {
		cam_name_window(info, copy, name);
		err = s->io->ops->rename(s->io, temporary, name, false);
	}
	return err;
}

/* The sealed file that this journal has already become, or NULL. */
static struct cam_store_entry *find_window(struct cam_store *s, const struct cam_window_info *info)
{
	for (size_t i = 0; i < s->list.n_readable; i++) {
		struct cam_store_entry *e = &s->list.entries[i];
		if (!e->journal && cam_store_same_window(&e->info, info))
			return e;
	}
	return NULL;
}

/*
 * Whether there is anything that looks like a block after the header. Its checksum cannot be
 * judged without the header, so looks must do.
 */
int cam_journal_looks_used(struct cam_file *f, bool *used)
{
	uint8_t piece[8192];
	uint64_t at = 1;
	ssize_t n;
	*used = false;
	do {
		n = f->ops->pread(f, piece, sizeof(piece), at);
		for (ssize_t i = 0; i + (ssize_t)CAM_JOURNAL_HEAD <= n && !*used; i++) {
			struct cam_journal_head h;
			*used = cam_journal_get_head(piece + i, &h) && h.type != CAM_JOURNAL_HEADER;
		}
		at += sizeof(piece) - CAM_JOURNAL_HEAD + 1;
	} while (n == (ssize_t)sizeof(piece) && !*used);
	return n < 0 ? (int)n : 0;
}

/* A journal without a readable header. */
static int bury_journal(struct cam_store *s, struct cam_store_entry *e)
{
	char bad[CAM_NAME_BYTES];
	bool used;
	struct cam_file *f;
	s->list_stale = true;
	int err = s->io->ops->open(s->io, e->name, CAM_IO_READ, &f);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = cam_journal_looks_used(f, &used);
	f->ops->close(f);
	if (err)
		return err;
	snprintf(bad, sizeof(bad), "%s.bad", e->name);
	err = used ? s->io->ops->rename(s->io, e->name, bad, false)
		   : cam_store_remove(s->io, e->name);
	e->deleted = !err;
	s->counts.empty += !err && !used;
	s->counts.set_aside += !err && used;
	return err;
}

static bool is_waiting(const struct cam_store *s, const struct cam_store_entry *e)
{
	return cam_name_kind(e->name) == CAM_FILE_JOURNAL && e->state != CAM_ENTRY_NEWER &&
	       !e->deleted && !cam_store_is_open(s, e->name);
}

size_t cam_store_seal_waiting(const struct cam_store *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->list.n; i++)
		n += is_waiting(s, &s->list.entries[i]);
	return n;
}

/* The journal lost something on the way: what is missing is on the window's own record. */
static bool has_all_samples(const struct cam_store_entry *e, const struct cam_window_info *made)
{
	if (!e->written_exactly || made->samples == e->written)
		return true;
	return made->samples < e->written && made->lost >= e->written - made->samples;
}

/*
 * Both are there. 0: the window is good and has all that the journal has, which can go; 1: the
 * journal is to be sealed, over it. Where each has something that the other has not, both stay.
 */
static int settle(struct cam_store *s, struct cam_store_entry *e, const struct cam_store_entry *old)
{
	struct cam_window *w;
	int read_error;
	/* A second sync would not tell whether its name is durable: another rename will. */
	if (e->seal.unsynced)
		return 1;
	int err = cam_store_open_watched(s->io, old->name, &w, &read_error);
	if (err)
		return err == -EBADMSG ? 1 : err;
	bool good = cam_window_verify(w) == 0;
	bool more = w->info.samples > e->written;
	if (!good && read_error)
		err = read_error;
	else if (good && (more || has_all_samples(e, &w->info)))
		err = cam_store_sync_dir(s);
	else if (more && e->written_exactly)
		err = -EBADMSG;
	else
		err = 1;
	w->ops->close(w);
	return err;
}

/* Step 1. */
static int start_job(struct cam_store *s, struct cam_store_entry *e, struct cam_seal_job *job)
{
	char temporary[CAM_NAME_BYTES];
	*job = (struct cam_seal_job){0};
	snprintf(job->name, sizeof(job->name), "%s", e->name);
	int err = s->io->ops->open(s->io, e->name, CAM_IO_READ, &job->journal);
	if (err)
		return err;
	err = cam_store_create_temporary(s->io, e->name, temporary, &job->window);
	if (err) {
		job->journal->ops->close(job->journal);
		return err;
	}
	e->seal.busy = true;
	return 0;
}

/* Whether the disk, or whoever asked, is to blame, and another time may be better. */
static bool is_passing(int err)
{
	static const int passing[] = {ENOSPC, EDQUOT, EIO, EROFS, EMFILE, ENFILE, ECANCELED};
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		if (err == -passing[i])
			return true;
	}
	return false;
}

static int drop_journal(struct cam_store *s, struct cam_store_entry *e)
{
	s->list_stale = true;
	int err = cam_store_remove(s->io, e->name);
	e->deleted = !err;
	return err;
}

/* 1: there is a job; 0: it needs none (any more). */
static int try_journal(struct cam_store *s, struct cam_store_entry *e, struct cam_seal_job *job)
{
	if (e->state == CAM_ENTRY_BAD)
		return bury_journal(s, e);
	if (e->state == CAM_ENTRY_FAILED)
		return -EIO;
	const struct cam_store_entry *old = e->seal.done ? NULL : find_window(s, &e->info);
	if (!e->used && !e->seal.done && !old)
		s->counts.empty++;
	if (!e->used || e->seal.done)
		return drop_journal(s, e);
	int err = old ? settle(s, e, old) : 1;
	if (err == 0) {
		e->seal.done = true;
		return drop_journal(s, e);
	}
	if (err > 0)
		err = start_job(s, e, job);
	if (err == -ENOENT) {
		s->list_stale = e->deleted = true;
		return 0;
	}
	e->seal.failures += err && !is_passing(err);
	return err ? err : 1;
}

static void count_unsealed(struct cam_store *s)
{
	s->counts.unsealed = 0;
	for (size_t i = 0; i < s->list.n; i++) {
		const struct cam_store_entry *e = &s->list.entries[i];
		s->counts.unsealed += is_waiting(s, e) && !e->seal.busy && !e->seal.done;
	}
}

int cam_store_seal_next(struct cam_store *s, struct cam_seal_job *job)
{
	int got = s->list_stale ? cam_store_refresh(s) : 0;
	if (got)
		return got;
	for (size_t i = 0; i < s->list.n && got <= 0; i++) {
		struct cam_store_entry *e = &s->list.entries[i];
		if (!is_waiting(s, e) || e->seal.busy || e->seal.round == s->round ||
		    e->seal.failures >= MAX_FAILURES)
			continue;
		e->seal.round = s->round;
		got = try_journal(s, e, job);
		if (got < 0 && !s->seal_error)
			s->seal_error = got;
	}
	if (got > 0)
		return got;
	count_unsealed(s);
	got = s->seal_error;
	s->seal_error = 0;
	return got;
}

/* Step 4. */
static int check_made(const struct cam_store_entry *e, struct cam_window *made)
{
	const struct cam_window_info *want = &e->info, *info = &made->info;
	int err = cam_window_check(made);
	if (!err && (!cam_store_same_window(info, want) || info->clean_end != want->clean_end ||
		     (want->clean_end && want->end_ns != CAM_TIME_NONE &&
		      info->end_ns != want->end_ns && info->end_ns != info->start_ns) ||
		     !has_all_samples(e, info)))
		err = -EBADMSG;
	return err;
}

/* Steps 5 to 7. */
static int publish(struct cam_store *s, struct cam_seal_job *job, struct cam_store_entry *e,
		   const char *temporary, const struct cam_window_info *info)
{
	struct cam_store_entry *old = find_window(s, info);
	if (old && old->info.samples > info->samples)
		return -EBADMSG;
	int err = job->window->ops->fdatasync(job->window);
	s->counts.failed_syncs += err != 0;
	if (err)
		return err;
	if (old) {
		old->changes = true;
		snprintf(job->sealed, sizeof(job->sealed), "%s", old->name);
		err = s->io->ops->rename(s->io, temporary, old->name, true);
	} else {
		err = take_name(s, info, temporary, job->sealed);
	}
	if (err)
		return err;
	err = cam_store_sync_dir(s);
	e->seal.unsynced = err != 0;
	return err;
}

static int accept(struct cam_store *s, struct cam_seal_job *job, struct cam_store_entry *e,
		  const char *temporary)
{
	struct cam_window *made;
	int64_t size = job->window->ops->size(job->window);
	if (size < 0)
		return (int)size;
	if (size == 0) {
		/* Nothing to seal, says the child; and the blocks say so too. */
		if (e->written || !e->written_exactly || e->info.clean_end)
			return -EBADMSG;
		s->counts.empty++;
		return cam_store_remove(s->io, temporary);
	}
	int err = cam_seal_open(job->window, &made);
	if (err)
		return err;
	err = check_made(e, made);
	if (!err)
		err = publish(s, job, e, temporary, &made->info);
	made->ops->close(made);
	return err;
}

int cam_store_seal_done(struct cam_store *s, struct cam_seal_job *job, int result)
{
	char temporary[CAM_NAME_BYTES + 8];
	struct cam_store_entry *e = cam_store_find(s, job->name);
	int err = result > 0 ? -EFAULT : result;
	snprintf(temporary, sizeof(temporary), "%s.tmp", job->name);
	if (!err)
		err = e ? accept(s, job, e, temporary) : -ENOENT;
	job->journal->ops->close(job->journal);
	job->window->ops->close(job->window);
	s->list_stale = true;
	if (err)
		cam_store_remove(s->io, temporary);
	if (!e)
		return err;
	e->seal.busy = false;
	e->seal.failures += err && !is_passing(err);
	if (err)
		return err;
	/* If this fails both are there, which is no harm: it is tried again. */
	e->seal.done = true;
	e->deleted = cam_store_remove(s->io, e->name) == 0;
	s->counts.recovered += e->seal.found && job->sealed[0];
	return 0;
}

int cam_store_seal_pending(struct cam_store *s, unsigned *sealed)
{
	struct cam_seal_job job = {0};
	int got, err = 0;
	*sealed = 0;
	s->round++;
	s->list_stale = true;
	while ((got = cam_store_seal_next(s, &job)) > 0) {
		int one = cam_store_seal_done(s, &job, cam_seal_files(job.journal, job.window));
		*sealed += !one && job.sealed[0];
		if (!err)
			err = one;
	}
	return err ? err : got;
}
