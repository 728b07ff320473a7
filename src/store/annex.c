// SPDX-License-Identifier: Apache-2.0
/*
 * The annex: late events and past marks, for windows whose files no longer change.
 *
 * events.pcj is a sequence of the same blocks as a journal (length, type, sequence, crc32c,
 * payload): one that says what the file is, then one for each event. It is only ever appended to,
 * and each event is synced before it is acknowledged. What cannot be done by appending (the first
 * event, cutting a torn tail, going on after a failed write, dropping events of windows long
 * deleted) makes a whole new file, synced and renamed over the old one.
 *
 * Invariants
 *  1. [0, bytes) of the file holds every acknowledged event, durably.
 *  2. Behind it there is nothing, or what a crash or a failed write left: readers stop before it,
 *     the next writer cuts it, and no event is ever appended behind it.
 *  3. A bad block costs its event; the good ones around it are read.
 *  4. After a failed write or sync the file is not written again: the acknowledged part goes into a
 *     new one.
 *
 * Payload of the first block: features (compatible, read-only compatible, incompatible, u32 each,
 * as in a journal), "perfcam annex". Payload of an event: boot id (16 bytes), time u64, uncertainty
 * u64 (ns, on the clock of its window), severity u8, source, text (each a varint length and bytes).
 *
 * Example: three events, then a crash in the middle of the fourth. Readers see three. The next
 * writer copies header and three events to events.pcj.tmp, syncs, renames; the fourth, offered
 * again, is block 4 of the new file.
 */
#include "store/store_parts.h"

#include "base/vec.h"
#include "store/journal_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES	 ((size_t)64 << 20)
#define MAX_SOURCE_BYTES 255u
#define MAX_TEXT_BYTES	 8192u
#define MAX_EVENTS	 (1u << 20)
#define MAGIC		 "perfcam annex"
#define BAD_NAME	 CAM_NAME_ANNEX ".bad"

/* A head in front of the payload that starts at `from`; answers the crc. */
static uint32_t put_head(struct cam_buf *out, size_t from, uint8_t type, uint32_t sequence,
			 uint32_t seed)
{
	if (cam_buf_error(out))
		return 0;
	uint32_t bytes = (uint32_t)(out->len - from - CAM_JOURNAL_HEAD);
	struct cam_journal_head h = {
		.bytes = bytes,
		.plain_bytes = bytes,
		.sequence = sequence,
		.type = type,
	};
	return cam_journal_put_head(out->data + from, &h, seed);
}

static uint32_t put_header(struct cam_buf *out)
{
	size_t from = out->len;
	uint8_t head[CAM_JOURNAL_HEAD] = {0};
	cam_buf_put(out, head, sizeof(head));
	cam_buf_put_u32(out, 0); /* features: compatible, … */
	cam_buf_put_u32(out, 0); /* … read-only compatible, … */
	cam_buf_put_u32(out, 0); /* … incompatible */
	cam_buf_put_string(out, MAGIC, strlen(MAGIC));
	return put_head(out, from, CAM_JOURNAL_HEADER, 0, 0);
}

static void put_event(struct cam_buf *out, const struct cam_annex_event *e, uint32_t sequence,
		      uint32_t seed)
{
	size_t from = out->len;
	uint8_t head[CAM_JOURNAL_HEAD] = {0};
	cam_buf_put(out, head, sizeof(head));
	cam_buf_put(out, e->boot_id.bytes, sizeof(e->boot_id.bytes));
	cam_buf_put_u64(out, e->time_ns);
	cam_buf_put_u64(out, e->uncertainty_ns);
	cam_buf_put_u8(out, (uint8_t)e->severity);
	cam_buf_put_string(out, e->source.p, e->source.n);
	cam_buf_put_string(out, e->text.p, e->text.n);
	put_head(out, from, CAM_JOURNAL_DATA, sequence, seed);
}

static int get_header(const uint8_t *payload, size_t n)
{
	struct cam_rd r = cam_rd_make(payload, n);
	size_t magic_bytes;
	cam_rd_u32(&r);
	cam_rd_u32(&r);
	uint32_t incompatible = cam_rd_u32(&r);
	const uint8_t *magic = cam_rd_string(&r, &magic_bytes);
	if (cam_rd_error(&r) || magic_bytes != strlen(MAGIC) ||
	    memcmp(magic, MAGIC, magic_bytes) != 0)
		return -EBADMSG;
	return incompatible ? -EPROTONOSUPPORT : 0;
}

static int get_event(const uint8_t *payload, size_t n, struct cam_annex *a)
{
	struct cam_rd r = cam_rd_make(payload, n);
	struct cam_annex_event e = {.arrival = (uint32_t)a->n};
	const uint8_t *boot = cam_rd_bytes(&r, sizeof(e.boot_id.bytes));
	e.time_ns = cam_rd_u64(&r);
	e.uncertainty_ns = cam_rd_u64(&r);
	uint8_t severity = cam_rd_u8(&r);
	e.source.p = (const char *)cam_rd_string(&r, &e.source.n);
	e.text.p = (const char *)cam_rd_string(&r, &e.text.n);
	if (cam_rd_error(&r) || cam_rd_left(&r) || severity >= CAM_SEVERITY_MAX)
		return -EBADMSG;
	memcpy(e.boot_id.bytes, boot, sizeof(e.boot_id.bytes));
	e.severity = (enum cam_severity)severity;
	int err = cam_vec_reserve(&a->events, &a->cap, a->n + 1, sizeof(*a->events), MAX_EVENTS);
	if (!err)
		a->events[a->n++] = e;
	return err;
}

/* One block at p: its size, 0 if there is none, or an error. */
static int64_t get_block(const uint8_t *p, size_t left, struct cam_annex *a)
{
	struct cam_journal_head h;
	if (left < CAM_JOURNAL_HEAD || !cam_journal_get_head(p, &h) ||
	    h.bytes > left - CAM_JOURNAL_HEAD)
		return 0;
	bool first = h.type == CAM_JOURNAL_HEADER;
	uint32_t crc = cam_journal_crc(p, h.bytes, first ? 0 : a->seed);
	if (crc != h.crc || h.flags || (!first && h.sequence < a->next_sequence))
		return 0;
	int err = first ? get_header(p + CAM_JOURNAL_HEAD, h.bytes)
			: get_event(p + CAM_JOURNAL_HEAD, h.bytes, a);
	if (err)
		return err == -EBADMSG ? 0 : err;
	a->next_sequence = h.sequence + 1;
	return CAM_JOURNAL_HEAD + (int64_t)h.bytes;
}

/* Good blocks, over what is bad between them. */
static int scan(struct cam_annex *a)
{
	static const uint8_t magic[4] = {'P', 'C', 'J', 'B'};
	if (!a->bytes) /* an empty file */
		return 0;
	const uint8_t *p = a->bytes, *end = a->bytes + a->file_bytes;
	while (p && p < end) {
		int64_t n = get_block(p, (size_t)(end - p), a);
		if (n < 0)
			return (int)n;
		if (n == 0) {
			p = memmem(p + 1, (size_t)(end - p - 1), magic, sizeof(magic));
			continue;
		}
		uint64_t at = (uint64_t)(p - a->bytes);
		a->bad_blocks += at > a->good_bytes;
		a->bad_bytes += at - a->good_bytes;
		p += n;
		a->good_bytes = (uint64_t)(p - a->bytes);
	}
	return 0;
}

static int by_time(const void *x, const void *y)
{
	const struct cam_annex_event *a = x, *b = y;
	int order = memcmp(&a->boot_id, &b->boot_id, sizeof(a->boot_id));
	if (!order && a->time_ns != b->time_ns)
		order = a->time_ns < b->time_ns ? -1 : 1;
	return order ? order : (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

/* The crc of blocks starts from that of the header: known, for the header never changes. */
static int header_seed(uint32_t *seed)
{
	struct cam_buf b = CAM_BUF(256);
	*seed = put_header(&b);
	int err = cam_buf_error(&b);
	cam_buf_free(&b);
	return err;
}

int cam_annex_read(struct cam_io *io, struct cam_annex *a)
{
	struct cam_buf bytes = CAM_BUF(MAX_FILE_BYTES);
	*a = (struct cam_annex){0};
	int err = header_seed(&a->seed);
	if (!err)
		err = cam_store_read_file(io, CAM_NAME_ANNEX, MAX_FILE_BYTES, &bytes);
	a->bytes = bytes.data;
	a->file_bytes = bytes.len;
	if (!err)
		err = scan(a);
	if (err) {
		cam_annex_free(a);
		return err == -ENOENT ? 0 : err;
	}
	if (a->n)
		qsort(a->events, a->n, sizeof(*a->events), by_time);
	return 0;
}

void cam_annex_free(struct cam_annex *a)
{
	free(a->events);
	free(a->bytes);
	*a = (struct cam_annex){0};
}

/* The first event of this boot that is not before `time_ns`. */
static size_t lower_bound(const struct cam_annex *a, const struct cam_boot_id *boot,
			  uint64_t time_ns)
{
	struct cam_annex_event key = {.boot_id = *boot, .time_ns = time_ns};
	size_t low = 0, high = a->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (by_time(&a->events[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t cam_annex_find(const struct cam_annex *a, const struct cam_window_info *info,
		      const struct cam_annex_event **first)
{
	size_t from = lower_bound(a, &info->boot_id, info->start_ns);
	size_t to = lower_bound(a, &info->boot_id, info->end_ns);
	*first = a->n ? &a->events[from] : NULL;
	return to > from ? to - from : 0;
}

void cam_annex_writer_close(struct cam_annex_writer *w)
{
	if (w->file)
		w->file->ops->close(w->file);
	*w = (struct cam_annex_writer){0};
}

/* A whole new file with this content becomes the annex. */
static int replace(struct cam_io *io, struct cam_annex_writer *w, const struct cam_buf *content,
		   uint32_t next_sequence)
{
	struct cam_file *f;
	int err = cam_store_replace_file(io, CAM_NAME_ANNEX, content->data, content->len);
	if (!err)
		err = io->ops->open(io, CAM_NAME_ANNEX, CAM_IO_WRITE, &f);
	if (err) {
		/* The name may lead to the new file already: what is added to the old one would be lost. */
		w->suspect = true;
		return err;
	}
	bool lazy = w->lazy;
	cam_annex_writer_close(w);
	*w = (struct cam_annex_writer){
		.file = f,
		.bytes = content->len,
		.next_sequence = next_sequence,
		.ready = true,
		.lazy = lazy,
	};
	return 0;
}

static int recover(struct cam_io *io, struct cam_annex_writer *w, const struct cam_annex *a)
{
	if (!a->file_bytes) {
		w->ready = true;
		return 0;
	}
	/* Nothing of it can be read, and new events must not wait for a human. */
	if (!a->good_bytes) {
		int err = io->ops->rename(io, CAM_NAME_ANNEX, BAD_NAME, true);
		w->ready = !err;
		return err;
	}
	if (a->good_bytes < a->file_bytes) {
		struct cam_buf good = CAM_BUF(MAX_FILE_BYTES);
		cam_buf_put(&good, a->bytes, a->good_bytes);
		int err = cam_buf_error(&good);
		if (!err)
			err = replace(io, w, &good, a->next_sequence);
		cam_buf_free(&good);
		return err;
	}
	int err = io->ops->open(io, CAM_NAME_ANNEX, CAM_IO_WRITE, &w->file);
	w->bytes = a->good_bytes;
	w->next_sequence = a->next_sequence;
	w->ready = !err;
	return err;
}

int cam_annex_recover(struct cam_io *io, struct cam_annex_writer *w)
{
	struct cam_annex a;
	cam_annex_writer_close(w);
	int err = cam_annex_read(io, &a);
	if (err)
		return err;
	err = recover(io, w, &a);
	cam_annex_free(&a);
	return err;
}

/* The acknowledged part, or the beginning of a new annex. */
static int old_content(struct cam_annex_writer *w, struct cam_buf *out)
{
	if (!w->file) {
		put_header(out);
		w->next_sequence = 1;
		return cam_buf_error(out);
	}
	uint8_t *bytes = cam_buf_reserve(out, w->bytes);
	int err = bytes ? cam_store_read_full(w->file, bytes, w->bytes, 0) : cam_buf_error(out);
	if (!err)
		out->len += w->bytes;
	return err;
}

static int append(struct cam_annex_writer *w, const struct cam_buf *block)
{
	int err = w->file->ops->pwrite(w->file, block->data, block->len, w->bytes);
	if (!err && !w->lazy)
		err = w->file->ops->fdatasync(w->file);
	w->suspect = err != 0;
	if (!err) {
		w->bytes += block->len;
		w->next_sequence++;
	}
	return err;
}

static int add_event(struct cam_io *io, struct cam_annex_writer *w, const struct cam_annex_event *e)
{
	struct cam_buf bytes = CAM_BUF(MAX_FILE_BYTES);
	uint32_t seed;
	int err = w->ready ? 0 : cam_annex_recover(io, w);
	if (!err)
		err = header_seed(&seed);
	bool anew = !w->file || w->suspect;
	if (!err && anew)
		err = old_content(w, &bytes);
	if (!err) {
		put_event(&bytes, e, w->next_sequence, seed);
		err = cam_buf_error(&bytes);
	}
	if (!err && w->bytes + bytes.len > MAX_FILE_BYTES)
		err = -E2BIG;
	if (!err)
		err = anew ? replace(io, w, &bytes, w->next_sequence + 1) : append(w, &bytes);
	cam_buf_free(&bytes);
	return err;
}

int cam_store_add_event(struct cam_store *s, const struct cam_boot_id *boot, uint64_t time_ns,
			uint64_t uncertainty_ns, enum cam_severity severity, struct cam_text source,
			struct cam_text text)
{
	struct cam_annex_event e = {
		.boot_id = *boot,
		.time_ns = time_ns,
		.uncertainty_ns = uncertainty_ns,
		.severity = severity,
		.source = source,
		.text = text,
	};
	if (severity >= CAM_SEVERITY_MAX || time_ns == CAM_TIME_NONE)
		return -EINVAL;
	if (source.n > MAX_SOURCE_BYTES || text.n > MAX_TEXT_BYTES)
		return -E2BIG;
	return add_event(s->io, &s->annex, &e);
}

void cam_store_add_many(struct cam_store *s)
{
	s->annex.lazy = true;
}

int cam_store_added_many(struct cam_store *s)
{
	struct cam_annex_writer *w = &s->annex;
	int err = w->file && !w->suspect ? w->file->ops->fdatasync(w->file) : 0;
	w->lazy = false;
	w->suspect = w->suspect || err;
	return err;
}

/* Whether a window that is left could show it: of its boot, from its time on. */
static bool is_of_use(const struct cam_annex_event *e, const struct cam_store_list *list)
{
	for (size_t i = 0; i < list->n_readable; i++) {
		const struct cam_store_entry *w = &list->entries[i];
		if (!w->deleted && w->info.start_ns <= e->time_ns &&
		    memcmp(&w->info.boot_id, &e->boot_id, sizeof(e->boot_id)) == 0)
			return true;
	}
	return false;
}

int cam_annex_trim(struct cam_io *io, struct cam_annex_writer *w, const struct cam_store_list *list,
		   uint64_t min_bytes)
{
	struct cam_annex a;
	struct cam_buf kept = CAM_BUF(MAX_FILE_BYTES);
	uint32_t sequence = 1;
	if (!w->ready || w->bytes < min_bytes || !w->file)
		return 0;
	int err = cam_annex_read(io, &a);
	if (err)
		return err;
	uint32_t seed = put_header(&kept);
	for (size_t i = 0; i < a.n; i++) {
		if (is_of_use(&a.events[i], list))
			put_event(&kept, &a.events[i], sequence++, seed);
	}
	err = cam_buf_error(&kept);
	if (!err && kept.len <= a.good_bytes / 2)
		err = replace(io, w, &kept, sequence);
	cam_buf_free(&kept);
	cam_annex_free(&a);
	return err;
}
