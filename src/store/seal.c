// SPDX-License-Identifier: Apache-2.0
/*
 * Sealing: from the journal of a window to its sealed file. Recovery after a crash is the same
 * call.
 *
 * What
 *	A window is written twice. While it is open it is a journal: blocks appended to a file,
 *	cheap to write and hard to lose. When it has ended (or the process died) the journal is
 *	*sealed*: read as a window, written as columns into a file a tenth the size, and removed.
 *
 * Why this way
 *	The sealed file is a function of the journal file and of nothing else: no table in memory,
 *	no clock, no running system is asked. So it makes no difference whether the writer that
 *	wrote the journal seals it, or the one that starts after a crash, or a third one after the
 *	second crashed too. There is no recovery code that only a crash would run, and whatever
 *	tests sealing tests recovery.
 *
 *	The steps, in this order, each one done before the next is begun:
 *
 *	  1. read      open-00000007.pcj as a window
 *	  2. write     perfcam-…-120s.pcw.tmp
 *	  3. fdatasync the temporary file: its content is durable, its name is not yet anything
 *	  4. verify    read it again, every byte; it must be the journal's window, all samples
 *	  5. rename    to perfcam-…-120s.pcw, never over an existing file (then .2, .3, …)
 *	  6. sync_dir  the new name is durable
 *	  7. unlink    open-00000007.pcj
 *
 *	A crash before 5 leaves the journal (and a temporary file, which the next writer removes):
 *	it is sealed again. A crash between 5 and 7 leaves both, or after a power cut the journal
 *	alone: if the window is there and verifies it wins and the journal goes, else step 1. A
 *	power cut after 7 may bring the journal back: the same case. No order of unsynced writes
 *	matters, because 3 and 6 come before what depends on them.
 *
 *	Nothing here ever needs a human. A journal that cannot be sealed now (disk full, disk
 *	failing) stays: it is listed, read and retained like a window, and is tried again by the
 *	next call. One without a good header and without blocks was torn at birth, nothing was ever
 *	in it: it is removed. One with blocks behind a header that cannot be read has rotted (the
 *	header is synced before the first block is written); it is set aside as *.bad.
 *
 * Invariants
 *	1. At every moment, after a crash at any moment, and after a power cut that loses any
 *	   unsynced writes: a window whose journal was synced is there as a good journal or as a
 *	   good sealed file.
 *	2. A sealed file has all bytes in place before it has its name; under its name it never
 *	   changes. It can be replaced by a whole next generation (better names), or deleted.
 *	3. A name that is taken is never taken over: a clock that was stepped back cannot cost an
 *	   older window.
 *	4. A journal is removed only after its window was verified *and* the directory synced.
 *	   A sync that failed is not repeated: the journal is sealed again into a new file, which
 *	   replaces the one whose name may or may not be durable.
 *	5. Sealing twice changes nothing.
 *	6. A read that fails is not damage: the journal then stays as it is, for a better day.
 *	7. What a newer perfcam wrote is not opened for writing, renamed or removed.
 *
 * Example
 *	open-00000007.pcj: header, blocks 1..118 (a second each), and 300 bytes of block 119: the
 *	process was killed while it wrote. The next writer takes the lock, reads 118 blocks, cuts
 *	the torn one, writes perfcam-db1-20260415-03-14-07-118s.pcw.tmp (not marked as ended on
 *	purpose: readers show what follows as a gap), verifies, renames, syncs and unlinks. Had it
 *	been killed too, after the rename, the third would find the journal and the window, read
 *	the same sequence number, boot id and start in both, verify the window, and unlink the
 *	journal.
 */
#include "store/store_parts.h"

#include "base/out.h"
#include "store/journal_format.h"
#include "store/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct file_out {
	struct cam_file *file;
	uint64_t at;
};

static int write_to_file(struct cam_out *out, const void *bytes, size_t n)
{
	struct file_out *to = out->self;
	int err = to->file->ops->pwrite(to->file, bytes, n, to->at);
	to->at += n;
	return err;
}

/* Steps 2 and 3. */
static int write_window(struct cam_store *s, struct cam_window *in, struct cam_file *f)
{
	struct file_out to = {.file = f};
	struct cam_out out;
	cam_out_init(&out, write_to_file, &to);
	int err = cam_window_write(in, &out);
	int late = cam_out_finish(&out);
	if (!err)
		err = late;
	if (!err && (err = f->ops->fdatasync(f)))
		s->counts.failed_syncs++;
	return err;
}

/* Step 4: -EBADMSG if the file is not, wholly, that window. */
static int check_file(struct cam_io *io, const char *name, const struct cam_window_info *expected)
{
	struct cam_window *w;
	struct cam_file *f;
	int err = io->ops->open(io, name, CAM_IO_READ, &f);
	if (!err)
		err = cam_window_open(f, &w);
	if (err)
		return err;
	err = cam_window_verify(w);
	if (!err && (!cam_store_same_window(&w->info, expected) ||
		     w->info.end_ns != expected->end_ns || w->info.samples != expected->samples))
		err = -EBADMSG;
	w->ops->close(w);
	return err;
}

/*
 * Steps 2 to 4; the temporary file is there only if this succeeds. *read_error is set when the
 * input could not be read: what is missing then is not known to be lost.
 */
static int make_file(struct cam_store *s, struct cam_window *in, const int *read_error,
		     char temporary[CAM_NAME_BYTES])
{
	struct cam_file *f;
	/* Not after the file it replaces, which people may have renamed: the next writer must know
	 * it as ours. */
	char name[CAM_NAME_BYTES];
	cam_name_window(&in->info, 1, name);
	int err = cam_store_create_temporary(s->io, name, temporary, &f);
	if (err)
		return err;
	err = write_window(s, in, f);
	f->ops->close(f);
	if (!err)
		err = *read_error;
	if (!err)
		err = check_file(s->io, temporary, &in->info);
	if (err)
		cam_store_remove(s->io, temporary);
	return err;
}

/* Step 5, under the first name that is free. */
static int take_name(struct cam_store *s, const struct cam_window_info *info, const char *temporary)
{
	int err = -EEXIST;
	for (unsigned copy = 1; err == -EEXIST && copy <= CAM_NAME_MAX_COPIES; copy++) {
		char name[CAM_NAME_BYTES];
		cam_name_window(info, copy, name);
		err = s->io->ops->rename(s->io, temporary, name, false);
	}
	return err;
}

/* The sealed file that this journal has already become, or NULL. */
static const struct cam_store_entry *find_window(const struct cam_store_list *list,
						 const struct cam_window_info *info)
{
	for (size_t i = 0; i < list->n_readable; i++) {
		const struct cam_store_entry *e = &list->entries[i];
		if (!e->journal && cam_store_same_window(&e->info, info))
			return e;
	}
	return NULL;
}

/* Steps 2 to 6, over a file that is there already or under a name of its own. */
static int seal_window(struct cam_store *s, const char *old, struct cam_window *in,
		       const int *read_error)
{
	char temporary[CAM_NAME_BYTES];
	int err = make_file(s, in, read_error, temporary);
	if (err)
		return err;
	err = old ? s->io->ops->rename(s->io, temporary, old, true)
		  : take_name(s, &in->info, temporary);
	if (err) {
		cam_store_remove(s->io, temporary);
		return err;
	}
	return cam_store_sync_dir(s);
}

/*
 * Both are there: the better one becomes, or stays, the window. A good sealed file may have more
 * than the journal: sealed from what the page cache held, while a power cut brought the journal
 * back as the disk had it. Where each has something that the other has not, both stay.
 */
static int settle(struct cam_store *s, const char *name, struct cam_window *journal,
		  const int *journal_error)
{
	struct cam_window *sealed;
	int sealed_error;
	int err = cam_store_open_watched(s->io, name, &sealed, &sealed_error);
	if (err)
		return err;
	bool good = cam_window_verify(sealed) == 0;
	if (!good || sealed->info.samples < journal->info.samples)
		err = journal->info.samples >= sealed->info.samples
			      ? seal_window(s, name, journal, journal_error)
			      : -EBADMSG;
	else if (s->directory_suspect)
		err = seal_window(s, name, sealed, &sealed_error);
	else
		err = cam_store_sync_dir(s);
	sealed->ops->close(sealed);
	return err;
}

static int note_ledger(void *arg, const struct cam_ledger_row *row)
{
	(void)arg;
	(void)row;
	return 1;
}

/* Whether a journal says nothing at all: its writer died right after it made the file. */
static bool is_empty(struct cam_window *w)
{
	return !w->info.samples && !w->info.events && !w->info.clean_end && !w->damage.bytes &&
	       w->ops->ledger(w, note_ledger, NULL) == 0;
}

static int seal_journal(struct cam_store *s, const struct cam_store_list *list,
			const struct cam_store_entry *e, unsigned *sealed)
{
	struct cam_window *w;
	int read_error;
	int err = cam_store_open_watched(s->io, e->name, &w, &read_error);
	if (err)
		return err == -ENOENT ? 0 : err;
	const struct cam_store_entry *old = find_window(list, &w->info);
	bool empty = is_empty(w);
	if (read_error)
		err = read_error;
	else if (old)
		err = settle(s, old->name, w, &read_error);
	else if (!empty)
		err = seal_window(s, NULL, w, &read_error);
	w->ops->close(w);
	if (err)
		return err;
	if (empty && !old)
		s->counts.empty++;
	else
		(*sealed)++;
	/* If this fails both are there, which is no harm: the next call tries again. */
	cam_store_remove(s->io, e->name);
	return 0;
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
static int bury_journal(struct cam_store *s, const struct cam_store_entry *e)
{
	char bad[CAM_NAME_BYTES];
	bool used;
	struct cam_file *f;
	int err = s->io->ops->open(s->io, e->name, CAM_IO_READ, &f);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = cam_journal_looks_used(f, &used);
	f->ops->close(f);
	if (err)
		return err;
	if (!used) {
		s->counts.empty++;
		return cam_store_remove(s->io, e->name);
	}
	s->counts.set_aside++;
	snprintf(bad, sizeof(bad), "%s.bad", e->name);
	return s->io->ops->rename(s->io, e->name, bad, false);
}

int cam_store_seal_list(struct cam_store *s, const struct cam_store_list *list, unsigned *sealed)
{
	int err = 0;
	s->counts.unsealed = 0;
	for (size_t i = 0; i < list->n; i++) {
		const struct cam_store_entry *e = &list->entries[i];
		int one = 0;
		if (cam_name_kind(e->name) != CAM_FILE_JOURNAL || cam_store_is_open(s, e->name))
			continue;
		if (e->state == CAM_ENTRY_OK)
			one = seal_journal(s, list, e, sealed);
		else if (e->state == CAM_ENTRY_BAD)
			one = bury_journal(s, e);
		else if (e->state == CAM_ENTRY_FAILED)
			one = -EIO;
		s->counts.unsealed += one != 0;
		if (!err)
			err = one;
	}
	/* Every journal there was has been sealed anew since the directory failed to sync. */
	if (!err)
		s->directory_suspect = false;
	return err;
}

int cam_store_seal_pending(struct cam_store *s, unsigned *sealed)
{
	struct cam_store_list list;
	*sealed = 0;
	int err = cam_store_list_read(s->io, &list);
	if (err)
		return err;
	err = cam_store_seal_list(s, &list, sealed);
	cam_store_list_free(&list);
	return err;
}

int cam_store_replace(struct cam_store *s, const char *name, struct cam_window *better)
{
	char temporary[CAM_NAME_BYTES];
	const int no_error = 0;
	struct cam_window *old;
	if (cam_name_kind(name) != CAM_FILE_WINDOW)
		return -EINVAL;
	int err = cam_store_open_file(s->io, name, &old);
	if (err)
		return err;
	if (!cam_store_same_window(&old->info, &better->info) ||
	    old->info.end_ns != better->info.end_ns || old->info.samples != better->info.samples)
		err = -EINVAL;
	old->ops->close(old);
	if (!err)
		err = make_file(s, better, &no_error, temporary);
	if (err)
		return err;
	if (better->damage.chunks || better->damage.samples || better->damage.stacks) {
		cam_store_remove(s->io, temporary);
		return -EBADMSG;
	}
	err = s->io->ops->rename(s->io, temporary, name, true);
	if (err)
		cam_store_remove(s->io, temporary);
	return err ? err : cam_store_sync_dir(s);
}
