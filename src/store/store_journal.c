// SPDX-License-Identifier: Apache-2.0
/*
 * Door C into the store: one journal file for each window, synced every few seconds.
 *
 * After a failed fsync the kernel has thrown the dirty pages away, or not, and will report
 * success next time: nothing written since the last good sync can be trusted to be on the disk,
 * and no second sync can tell. So the file is abandoned: its content is written into a new file,
 * synced there and renamed over the old name. What was synced is read back (and compared with the
 * checksum of what was written); what was not is taken from memory.
 *
 * The journal's writer knows nothing of this. It writes to a `tee`, a file that keeps a copy of
 * what is not yet synced and passes everything on to the real file, whichever that is now.
 *
 * Invariants
 *  1. [0, synced) of the real file is durable, under the journal's name. begin() syncs header and
 *     directory: so a journal with blocks has a header, or has rotted.
 *  2. [synced, bytes) is in memory, unless the caller asked for no syncs and it is too much; then
 *     it is read back and must have the checksum of what was written.
 *  3. The name always leads to a file that holds at least [0, synced): the old one until the
 *     rename, the new one (synced before) after it.
 *  4. While somebody syncs beside (`syncing`) the file is neither abandoned nor closed.
 *  5. While the file is suspect no block is accepted before it has been rewritten; so memory
 *     holds at most MAX_TAIL and one block.
 *
 * Example: sync_ns 5 s, a block a second. Blocks 1..5 are synced, 6..10 written, the sync of 10
 * fails. open-00000007.pcj.tmp gets 1..5 from the file and 6..10 from memory, is synced and renamed
 * to open-00000007.pcj; block 11 goes there. Had the disk still been bad, block 10 would have been
 * accepted (it is in memory), and 11 refused until the rewrite works.
 */
#include "store/store_parts.h"

#include "base/crc32c.h"
#include "store/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TAIL ((size_t)8 << 20)
#define COPY	 ((size_t)64 << 10)

struct tee {
	struct cam_file file; /* what the writer writes to */
	struct cam_file *real;
	uint64_t bytes, synced;
	uint32_t crc, synced_crc; /* of [0, bytes), of [0, synced) */
	struct cam_buf tail;	  /* [synced, bytes), if it is kept */
	bool tail_lost;
	bool suspect;
};

struct cam_store_door {
	struct cam_journal journal;
	struct cam_store *store;
	struct cam_store_door *next;
	struct cam_journal_writer *writer; /* NULL: no window is open */
	struct tee tee;
	char name[CAM_NAME_BYTES];
	uint64_t sync_ns;
	uint64_t newest_ns, synced_ns; /* recorded time: of all blocks, of synced ones */
	uint64_t samples;
	/* How far a sync beside reaches, and whether one is under way. */
	uint64_t syncing_bytes, syncing_ns;
	uint32_t syncing_crc;
	bool syncing;
	bool ended;   /* the last block is written */
	bool stamped; /* newest_ns and synced_ns are set */
};

static struct tee *tee_of(struct cam_file *f)
{
	return (struct tee *)f;
}

/* A write that comes again after a failure starts where the failed one did. */
static int tee_cut(struct tee *t, uint64_t at)
{
	if (at == t->bytes)
		return 0;
	if (at > t->bytes || at < t->synced || t->tail_lost)
		return -EINVAL;
	t->tail.len = (size_t)(at - t->synced);
	t->bytes = at;
	t->crc = cam_crc32c(t->synced_crc, t->tail.data, t->tail.len);
	return 0;
}

static int tee_pwrite(struct cam_file *f, const void *bytes, size_t n, uint64_t at)
{
	struct tee *t = tee_of(f);
	int err = tee_cut(t, at);
	if (!err)
		err = t->real->ops->pwrite(t->real, bytes, n, at);
	if (err)
		return err;
	if (!t->tail_lost)
		cam_buf_put(&t->tail, bytes, n);
	if (cam_buf_error(&t->tail)) {
		cam_buf_clear(&t->tail);
		t->tail_lost = true;
	}
	t->crc = cam_crc32c(t->crc, bytes, n);
	t->bytes += n;
	return 0;
}

static ssize_t tee_pread(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	struct cam_file *real = tee_of(f)->real;
	return real->ops->pread(real, bytes, n, at);
}

static int64_t tee_size(struct cam_file *f)
{
	return (int64_t)tee_of(f)->bytes;
}

static const struct cam_io_ops tee_ops = {
	.pwrite = tee_pwrite,
	.pread = tee_pread,
	.size = tee_size,
};

static void tee_open(struct tee *t, struct cam_file *real)
{
	*t = (struct tee){.file = {&tee_ops}, .real = real, .tail = CAM_BUF(2 * MAX_TAIL)};
}

static void tee_close(struct tee *t)
{
	if (t->real)
		t->real->ops->close(t->real);
	cam_buf_free(&t->tail);
	*t = (struct tee){0};
}

static void tee_all_synced(struct tee *t)
{
	t->synced = t->bytes;
	t->synced_crc = t->crc;
	t->tail_lost = false;
	cam_buf_clear(&t->tail);
}

/* [0, bytes) is durable; what came since is kept as it was. */
static void tee_synced(struct tee *t, uint64_t bytes, uint32_t crc)
{
	if (!t->tail_lost) {
		size_t n = (size_t)(bytes - t->synced);
		t->tail.len -= n;
		memmove(t->tail.data, t->tail.data + n, t->tail.len);
	}
	t->synced = bytes;
	t->synced_crc = crc;
}

/* Copies [0, n) of the real file, which must have this checksum. */
static int copy_back(struct tee *t, struct cam_file *to, uint64_t n, uint32_t crc)
{
	uint32_t found = 0;
	uint8_t *bytes = malloc(COPY);
	int err = bytes ? 0 : -ENOMEM;
	for (uint64_t at = 0; at < n && !err;) {
		size_t part = n - at < COPY ? (size_t)(n - at) : COPY;
		err = cam_store_read_full(t->real, bytes, part, at);
		if (!err)
			err = to->ops->pwrite(to, bytes, part, at);
		if (!err)
			found = cam_crc32c(found, bytes, part);
		at += part;
	}
	free(bytes);
	if (err == -EBADMSG || (!err && found != crc))
		err = -EIO;
	return err;
}

static int write_copy(struct tee *t, struct cam_file *to)
{
	if (t->tail_lost)
		return copy_back(t, to, t->bytes, t->crc);
	int err = copy_back(t, to, t->synced, t->synced_crc);
	if (!err && t->tail.len)
		err = to->ops->pwrite(to, t->tail.data, t->tail.len, t->synced);
	return err;
}

/* Abandons the file for a new one of the same name and content. */
static int rewrite(struct cam_store_door *d)
{
	struct cam_store *s = d->store;
	struct cam_io *io = s->io;
	struct cam_file *f;
	char temporary[CAM_NAME_BYTES];
	int err = cam_store_create_temporary(io, d->name, temporary, &f);
	if (err)
		return err;
	err = write_copy(&d->tee, f);
	if (!err && (err = f->ops->fdatasync(f)))
		s->counts.failed_syncs++;
	if (!err)
		err = io->ops->rename(io, temporary, d->name, true);
	if (err) {
		f->ops->close(f);
		cam_store_remove(io, temporary);
		return err;
	}
	d->tee.real->ops->close(d->tee.real);
	d->tee.real = f;
	tee_all_synced(&d->tee);
	s->counts.rewritten++;
	/* Until the name is durable it may lead to the old file again: still suspect. */
	err = cam_store_sync_dir(s);
	d->tee.suspect = err != 0;
	return err;
}

/* What became of a sync beside; nothing, where it is still under way and nobody waits. */
static void settle_sync(struct cam_store_door *d, bool wait)
{
	const struct cam_syncer *by = d->store->syncer;
	int err;
	if (!d->syncing || !by->is_done(by->self, wait, &err))
		return;
	d->syncing = false;
	d->store->counts.failed_syncs += err != 0;
	if (err || d->tee.bytes < d->syncing_bytes) {
		d->tee.suspect = true;
	} else {
		tee_synced(&d->tee, d->syncing_bytes, d->syncing_crc);
		d->synced_ns = d->syncing_ns;
	}
}

/* False: there is nobody, or he is busy. */
static bool sync_beside(struct cam_store_door *d)
{
	const struct cam_syncer *by = d->store->syncer;
	if (!by || !by->start(by->self, d->tee.real))
		return false;
	d->syncing = true;
	d->syncing_bytes = d->tee.bytes;
	d->syncing_crc = d->tee.crc;
	d->syncing_ns = d->newest_ns;
	return true;
}

/* Makes all blocks so far durable, in a new file if need be. */
static int sync_journal(struct cam_store_door *d)
{
	struct tee *t = &d->tee;
	int err = 0;
	settle_sync(d, true);
	if (!t->suspect) {
		err = t->real->ops->fdatasync(t->real);
		d->store->counts.failed_syncs += err != 0;
		t->suspect = err != 0;
	}
	if (t->suspect)
		err = rewrite(d);
	else
		tee_all_synced(t);
	if (!err)
		d->synced_ns = d->newest_ns;
	return err;
}

static struct cam_store_door *door_of(struct cam_journal *j)
{
	return j->self;
}

static void leave(struct cam_store_door *d)
{
	settle_sync(d, true);
	struct cam_store_entry *e = cam_store_find(d->store, d->name);
	if (e)
		e->changes = true;
	d->store->list_stale = true;
	cam_journal_writer_free(d->writer);
	d->writer = NULL;
	tee_close(&d->tee);
}

static int create(struct cam_store_door *d)
{
	struct cam_io *io = d->store->io;
	struct cam_file *f = NULL;
	int err;
	do {
		cam_name_journal(++d->store->sequence, d->name);
		err = io->ops->open(io, d->name, CAM_IO_CREATE, &f);
	} while (err == -EEXIST);
	if (!err)
		tee_open(&d->tee, f);
	return err;
}

/* Nothing but the header is at stake: on failure the file just goes. */
static int sync_new(struct cam_store_door *d)
{
	int err = d->tee.real->ops->fdatasync(d->tee.real);
	d->store->counts.failed_syncs += err != 0;
	if (!err)
		err = cam_store_sync_dir(d->store);
	if (!err)
		tee_all_synced(&d->tee);
	return err;
}

static int door_begin(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_window_head *head)
{
	struct cam_store_door *d = door_of(j);
	struct cam_window_head numbered = *head;
	if (d->writer)
		leave(d);
	int err = create(d);
	if (err)
		return err;
	numbered.sequence = d->store->sequence;
	err = cam_journal_writer_new(&d->tee.file, true, &d->writer);
	if (!err)
		err = cam_journal_writer_begin(d->writer, t, &numbered);
	if (!err)
		err = sync_new(d);
	if (err) {
		leave(d);
		cam_store_remove(d->store->io, d->name);
		return err;
	}
	d->store->list_stale = true;
	d->newest_ns = d->synced_ns = head->start_ns == CAM_TIME_NONE ? 0 : head->start_ns;
	d->stamped = head->start_ns != CAM_TIME_NONE;
	d->samples = 0;
	d->ended = false;
	return 0;
}

static void note_time(struct cam_store_door *d, uint64_t time_ns)
{
	if (time_ns == CAM_TIME_NONE)
		return;
	if (!d->stamped)
		d->newest_ns = d->synced_ns = time_ns;
	d->stamped = true;
	if (time_ns > d->newest_ns)
		d->newest_ns = time_ns;
}

static int door_append(struct cam_journal *j, const struct cam_tables *t,
		       const struct cam_block *block)
{
	struct cam_store_door *d = door_of(j);
	if (!d->writer || d->ended)
		return -EINVAL;
	settle_sync(d, d->tee.tail.len >= MAX_TAIL);
	int err = d->tee.suspect ? sync_journal(d) : 0;
	if (!err)
		err = cam_journal_writer_append(d->writer, t, block);
	if (err)
		return err;
	for (size_t i = 0; i < block->n_samples; i++)
		note_time(d, block->samples[i].time_ns);
	for (size_t i = 0; i < block->n_anchors; i++)
		note_time(d, block->anchors[i].time_ns);
	for (size_t i = 0; i < block->n_ledger; i++)
		note_time(d, block->ledger[i].to_ns);
	for (size_t i = 0; i < block->n_counters; i++)
		note_time(d, block->counters[i].time_ns);
	d->samples += block->n_samples;
	/* Not refused if this fails: the block is in the file and in memory, and the next one
	 * waits for the rewrite. Where somebody syncs beside, one that is under way is not waited for, and one
	 * of another window neither: the next block asks again. */
	if (d->sync_ns && !d->syncing &&
	    (d->newest_ns - d->synced_ns >= d->sync_ns || d->tee.tail.len >= MAX_TAIL) &&
	    !sync_beside(d) && !d->store->syncer)
		sync_journal(d);
	return 0;
}

static int door_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	struct cam_store_door *d = door_of(j);
	int err = 0;
	if (!d->writer)
		return -EINVAL;
	if (!d->samples && !keep_empty) {
		err = cam_store_remove(d->store->io, d->name);
		if (!err)
			leave(d);
		return err;
	}
	if (!d->ended && d->tee.suspect)
		err = sync_journal(d);
	if (!err && !d->ended)
		err = cam_journal_writer_end(d->writer, end_ns);
	if (!err) {
		d->ended = true;
		err = sync_journal(d);
	}
	if (!err) {
		leave(d);
		/* What could not be sealed before is tried again with it. */
		d->store->round++;
	}
	return err;
}

struct cam_journal *cam_store_journal(struct cam_store *s, uint64_t sync_ns)
{
	struct cam_store_door *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->journal = (struct cam_journal){
		.self = d,
		.begin = door_begin,
		.append = door_append,
		.end = door_end,
	};
	d->store = s;
	d->sync_ns = sync_ns;
	d->next = s->doors;
	s->doors = d;
	return &d->journal;
}

void cam_store_set_syncer(struct cam_store *s, const struct cam_syncer *by)
{
	s->syncer = by;
}

const char *cam_store_journal_name(const struct cam_journal *door)
{
	const struct cam_store_door *d = door->self;
	return d->name;
}

bool cam_store_is_open(const struct cam_store *s, const char *name)
{
	for (const struct cam_store_door *d = s->doors; d; d = d->next) {
		if (d->writer && strcmp(d->name, name) == 0)
			return true;
	}
	return false;
}

void cam_store_doors_note(struct cam_store *s)
{
	for (const struct cam_store_door *d = s->doors; d; d = d->next) {
		struct cam_store_entry *e = d->writer ? cam_store_find(s, d->name) : NULL;
		if (!e)
			continue;
		e->bytes = d->tee.bytes;
		if (d->stamped && d->newest_ns > e->info.end_ns)
			e->info.end_ns = d->newest_ns;
	}
}

void cam_store_doors_free(struct cam_store *s)
{
	while (s->doors) {
		struct cam_store_door *d = s->doors;
		s->doors = d->next;
		leave(d);
		free(d);
	}
}
