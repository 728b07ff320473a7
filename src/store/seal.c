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
 *	It also makes no difference which process does the work. It takes the time and the memory of
 *	a window, which a recorder has not: so the work (2, 3) is a function of two descriptors,
 *	cam_seal_files(), that a child can run at low priority without knowing a name; the store
 *	keeps the rest, which is cheap. cam_store_seal_pending() does both in one process.
 *
 *	The steps, in this order, each one done before the next is begun:
 *
 *	  1. open      open-00000007.pcj to read, open-00000007.pcj.tmp to write
 *	  2. write     read the journal as a window, write that
 *	  3. verify    read the file again, every byte; it must be the journal's window, all samples
 *	  4. check     header, trailer, both directories; that it is this window, and has the samples
 *	               that were appended, or says which it lacks: the store does not take the word of
 *	               a child
 *	  5. fdatasync the temporary file: its content is durable, its name is not yet anything
 *	  6. rename    to perfcam-…-120s.pcw, never over an existing file (then .2, .3, …)
 *	  7. sync_dir  the new name is durable
 *	  8. unlink    open-00000007.pcj
 *
 *	A crash before 6 leaves the journal (and a temporary file, which the next writer removes):
 *	it is sealed again. A crash between 6 and 8 leaves both, or after a power cut the journal
 *	alone: if the window is there and verifies it wins and the journal goes, else step 1. A
 *	power cut after 8 may bring the journal back, perhaps shorter than it was: the same case. No
 *	order of unsynced writes matters, because 5 and 7 come before what depends on them.
 *
 *	Nothing here ever needs a human. A journal that cannot be sealed now (disk full, disk
 *	failing) stays: it is listed, read and retained like a window, and is tried again when the
 *	next window has ended. One at which sealing itself fails (the child died, the file is not
 *	what it should be) is tried once more, and then left to the next writer. One without a good
 *	header and without blocks was torn at birth, nothing was ever in it: it is removed. One with
 *	blocks behind a header that cannot be read has rotted (the header is synced before the first
 *	block is written); it is set aside as *.bad.
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
 *	process was killed while it wrote. The next writer takes the lock and gives out a job:
 *	118 blocks are read, the torn one is cut, open-00000007.pcj.tmp is written (not marked as
 *	ended on purpose: readers show what follows as a gap) and verified. Block 118 says that
 *	there are 22,836 samples, and so does the file: it is synced and gets its name,
 *	perfcam-db1-20260415-03-14-07-118s.pcw; the directory is synced, the journal unlinked. Had
 *	the writer been killed after the rename, the third would find the journal and the window,
 *	read the same sequence number, boot id and host in both, verify the window, and unlink the
 *	journal.
 */
#include "store/seal.h"
#include "store/store_parts.h"

#include "base/out.h"
#include "store/borrowed.h"
#include "store/journal.h"
#include "store/window.h"

#include <errno.h>

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

int cam_seal_write(struct cam_window *in, struct cam_file *f)
{
	struct file_out to = {.file = f};
	struct cam_out out;
	cam_out_init(&out, write_to_file, &to);
	int err = cam_window_write(in, &out);
	int late = cam_out_finish(&out);
	return err ? err : late;
}

int cam_seal_open(struct cam_file *f, struct cam_window **out)
{
	struct cam_file *again;
	int err = cam_file_borrow(f, &again);
	return err ? err : cam_window_open(again, out);
}

int cam_seal_verify(struct cam_file *f, const struct cam_window_info *expected)
{
	struct cam_window *w;
	int err = cam_seal_open(f, &w);
	if (err)
		return err;
	err = cam_window_verify(w);
	if (!err && (!cam_store_same_window(&w->info, expected) ||
		     w->info.end_ns != expected->end_ns || w->info.samples != expected->samples))
		err = -EBADMSG;
	w->ops->close(w);
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

int cam_seal_files(struct cam_file *journal, struct cam_file *window)
{
	struct cam_file *in;
	struct cam_window *w;
	int read_error;
	int err = cam_file_borrow(journal, &in);
	if (!err)
		err = cam_store_watch(&in, &read_error);
	if (err)
		return err;
	err = cam_journal_open(in, CAM_STORE_TABLE_BYTES, &w);
	if (err)
		return err == -EBADMSG && read_error ? read_error : err;
	bool empty = is_empty(w);
	if (!empty && !read_error)
		err = cam_seal_write(w, window);
	if (!err)
		err = read_error;
	if (!err && !empty)
		err = cam_seal_verify(window, &w->info);
	w->ops->close(w);
	return err;
}

int cam_seal_fds(int journal_fd, int window_fd)
{
	struct cam_file *journal = NULL, *window = NULL;
	int err = cam_file_from_fd(journal_fd, &journal);
	if (!err)
		err = cam_file_from_fd(window_fd, &window);
	if (!err)
		err = cam_seal_files(journal, window);
	if (journal)
		journal->ops->close(journal);
	if (window)
		window->ops->close(window);
	return err;
}
