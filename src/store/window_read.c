// SPDX-License-Identifier: Apache-2.0
/*
 * Opens a sealed window and answers door D from it.
 *
 * Invariants
 * 1. Files are read by pread into memory of our own, never mapped: what was checked is what is
 *    decoded.
 * 2. After its checksum a chunk is decoded as if it had none.
 * 3. A chunk that is bad is counted once, and takes only what it holds: the rows it defines become
 *    [damaged], its samples are missing.
 * 4. Strings given out do not move: room for all that the directory announces is reserved first.
 */
#include "base/crc32c.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/window.h"
#include "store/window_reader.h"
#include "store/window_text.h"

#include <errno.h>
#include <string.h>

#define MOST_AHEAD (256u << 10)

/* No error where it cannot be: each part is then read by itself, and says why. */
static void read_ahead(struct cam_reader *r, uint64_t at, uint64_t n)
{
	free(r->ahead);
	r->ahead = NULL;
	r->ahead_n = 0;
	if (at > r->file_bytes)
		return;
	n = n > r->file_bytes - at ? r->file_bytes - at : n;
	r->ahead = n && n <= MOST_AHEAD ? malloc(n) : NULL;
	if (!r->ahead)
		return;
	r->preads++;
	r->pread_bytes += n;
	ssize_t got = r->file->ops->pread(r->file, r->ahead, n, at);
	r->ahead_n = got > 0 ? (size_t)got : 0;
	r->ahead_at = at;
}

void cam_reader_ahead(struct cam_reader *r, enum cam_chunk_kind kind)
{
	const struct cam_dir_section *s = &r->dir.sections[kind];
	if (s->n < 2)
		return;
	const struct cam_dir_chunk *first = &s->chunks[0], *last = &s->chunks[s->n - 1];
	if (last->offset >= first->offset)
		read_ahead(r, first->offset, last->offset - first->offset + last->bytes);
}

int cam_reader_pread(struct cam_reader *r, void *bytes, size_t n, uint64_t at)
{
	if (at > r->file_bytes || n > r->file_bytes - at)
		return -EBADMSG;
	if (r->ahead && at >= r->ahead_at && at - r->ahead_at <= r->ahead_n &&
	    n <= r->ahead_n - (at - r->ahead_at)) {
		memcpy(bytes, r->ahead + (at - r->ahead_at), n);
		return 0;
	}
	r->preads++;
	r->pread_bytes += n;
	ssize_t got = r->file->ops->pread(r->file, bytes, n, at);
	if (got < 0)
		r->io_error = (int)got;
	return got >= 0 && (size_t)got == n ? 0 : -EBADMSG;
}

int cam_reader_mark_bad(struct cam_reader *r, enum cam_chunk_kind kind, size_t i)
{
	if (!r->bad[kind][i]) {
		r->bad[kind][i] = 1;
		r->w.damage.chunks++;
		r->w.damage.bytes += r->dir.sections[kind].chunks[i].bytes;
	}
	return -EBADMSG;
}

void cam_reader_lose_span(struct cam_reader *r, size_t span)
{
	if (r->span_lost[span])
		return;
	r->span_lost[span] = 1;
	r->w.damage.samples += r->dir.spans[span].samples;
	r->w.info.lost += r->dir.spans[span].samples;
}

void cam_reader_lost_row(const struct cam_reader *r, size_t span, struct cam_ledger_row *out)
{
	const struct cam_dir_span *s = &r->dir.spans[span];
	uint64_t end = s->second + s->seconds;
	*out = (struct cam_ledger_row){
		.cause = CAM_CAUSE_DAMAGED,
		.cpu = CAM_CPU_NONE,
		.from_ns = s->second * CAM_NS_PER_SEC,
		.to_ns = end > UINT64_MAX / CAM_NS_PER_SEC ? UINT64_MAX : end * CAM_NS_PER_SEC,
		.samples = s->samples,
	};
}

int cam_reader_chunk(struct cam_reader *r, enum cam_chunk_kind kind, size_t i,
		     struct cam_chunk_in *c)
{
	const struct cam_dir_chunk *d = &r->dir.sections[kind].chunks[i];
	c->n = 0;
	/* Before memory is taken for it. */
	if (r->bad[kind][i] || d->offset > r->file_bytes || d->bytes > r->file_bytes - d->offset)
		return cam_reader_mark_bad(r, kind, i);
	int err = cam_vec_reserve(&c->data, &c->cap, d->bytes + CAM_STREAM_SLACK, 1, SIZE_MAX / 2);
	if (err || d->bytes == 0)
		return err;
	if (cam_reader_pread(r, c->data, d->bytes, d->offset))
		return cam_reader_mark_bad(r, kind, i);
	struct cam_rd rd = cam_rd_make(c->data, d->bytes);
	uint32_t crc = cam_rd_u32(&rd);
	c->n = d->bytes - CAM_CHUNK_HEAD_BYTES;
	if (crc != cam_chunk_crc(kind, (uint32_t)i, rd.p, c->n))
		return cam_reader_mark_bad(r, kind, i);
	memmove(c->data, rd.p, c->n);
	memset(c->data + c->n, 0, CAM_STREAM_SLACK);
	return 0;
}

int cam_reader_each_chunk(struct cam_reader *r, enum cam_chunk_kind kind, cam_load_rows *load,
			  cam_damage_rows *damage)
{
	struct cam_chunk_in chunk = {0};
	const struct cam_dir_section *s = &r->dir.sections[kind];
	int err = 0;
	for (size_t i = 0; i < s->n && !err; i++) {
		err = cam_reader_chunk(r, kind, i, &chunk);
		if (!err) {
			struct cam_rd rd = cam_rd_make(chunk.data, chunk.n);
			err = load(r, &rd, &s->chunks[i]);
			if (!err && cam_rd_left(&rd))
				err = -EBADMSG;
			if (err == -EBADMSG)
				cam_reader_mark_bad(r, kind, i);
		}
		if (err == -EBADMSG)
			err = damage(r, &s->chunks[i]);
	}
	free(chunk.data);
	return err;
}

int cam_streams_open(struct cam_stream_in *s, struct cam_rd *rd, unsigned n,
		     const uint8_t *contexts, const uint8_t *splits)
{
	int err = 0;
	memset(s, 0, n * sizeof(*s));
	for (unsigned i = 0; i < n && !err; i++)
		err = cam_stream_open(&s[i], rd, contexts ? contexts[i] : 1, splits[i]);
	if (err)
		for (unsigned i = 0; i < n; i++)
			cam_stream_in_free(&s[i]);
	return err;
}

int cam_streams_close(struct cam_stream_in *s, unsigned n)
{
	int err = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!cam_stream_done(&s[i]))
			err = -EBADMSG;
		cam_stream_in_free(&s[i]);
	}
	return err;
}

int cam_reader_intern(struct cam_reader *r, struct cam_text s, struct cam_str_id *out)
{
	const struct cam_strings *st = &r->t.strings;
	if (s.n >= st->bytes_cap - st->ends[st->n - 1])
		return -EBADMSG;
	return cam_string_intern(&r->t, s, out);
}

int cam_reader_damaged_string(struct cam_reader *r, uint32_t *out)
{
	struct cam_str_id id = {r->damaged_string};
	int err = 0;
	if (id.v == CAM_NONE)
		err = cam_reader_intern(r, CAM_TEXT("[damaged]"), &id);
	*out = r->damaged_string = id.v;
	return err;
}

/* An error here is no damage, which the sum would have shown: somebody made the file so. */
static int load_classes(struct cam_reader *r)
{
	int err = cam_dir_read_stacks(&r->dir, r->dir_bytes.bytes, r->dir_bytes.n);
	if (!err)
		cam_block_free(&r->dir_bytes);
	return err;
}

int cam_reader_load(struct cam_reader *r, unsigned parts)
{
	static const struct {
		unsigned part;
		int (*load)(struct cam_reader *r);
	} all[] = {
		{CAM_PART_CLASSES, load_classes},   {CAM_PART_STRINGS, cam_load_strings},
		{CAM_PART_NAMES, cam_load_names},   {CAM_PART_TASKS, cam_load_tasks},
		{CAM_PART_RANKS, cam_load_ranks},   {CAM_PART_TREE, cam_load_tree},
		{CAM_PART_LEAVES, cam_load_leaves}, {CAM_PART_LOCATIONS, cam_load_locations},
		{CAM_PART_PLACES, cam_load_places},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!(parts & ~r->parts & all[i].part))
			continue;
		int err = all[i].load(r);
		if (err)
			return err;
		r->parts |= all[i].part;
	}
	return 0;
}

static int read_names(struct cam_window *w, const struct cam_tables **out)
{
	struct cam_reader *r = cam_reader_of(w);
	*out = &r->t;
	int err = cam_reader_load(r, CAM_PART_STRINGS | CAM_PART_NAMES);
	return err ? err : cam_reader_reserve_nodes(r);
}

static int read_words(struct cam_window *w, const struct cam_tables **out)
{
	struct cam_reader *r = cam_reader_of(w);
	*out = &r->t;
	return cam_reader_load(r, CAM_PART_STRINGS);
}

static int read_tables(struct cam_window *w, const struct cam_tables **out)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = read_names(w, out);
	return err ? err : cam_reader_load(r, CAM_PART_TASKS | CAM_PART_LOCATIONS);
}

static void close_reader(struct cam_window *w)
{
	struct cam_reader *r = cam_reader_of(w);
	void *const arrays[] = {r->span_lost,	r->strings,	     r->process_pid,
				r->rank_group,	r->rank_tree,	     r->rank_node,
				r->rank_slots,	r->small_of,	     r->leaf_offsets,
				r->place_lost,	r->small_rows,	     r->leaf_start,
				r->node_places, r->node_first_place, r->place_chunk_of,
				r->ahead};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		free(r->bad[k]);
	for (unsigned t = 0; t < CAM_COLUMN_TABLES; t++)
		free(r->tables[t]);
	cam_span_in_free(r->span);
	cam_tables_free(&r->t);
	cam_dir_free(&r->dir);
	cam_block_free(&r->dir_bytes);
	if (r->file)
		r->file->ops->close(r->file);
	free(r);
}

static const struct cam_window_ops reader_ops = {
	.tables = read_tables,
	.names = read_names,
	.words = read_words,
	.comms = cam_read_comms,
	.task = cam_read_task,
	.samples = cam_read_samples,
	.totals = cam_read_totals,
	.totals_in = cam_read_totals_in,
	.small_totals = cam_read_small_totals,
	.cells = cam_read_cells,
	.seconds = cam_read_seconds,
	.process_cells = cam_read_process_cells,
	.name_cells = cam_read_name_cells,
	.slots = cam_read_slots,
	.events = cam_read_events,
	.ledger = cam_read_ledger,
	.anchors = cam_read_anchors,
	.facts = cam_read_facts,
	.counters = cam_read_counters,
	.lines = cam_read_lines,
	.close = close_reader,
};

/* 0: a good header; -EPROTONOSUPPORT; -EBADMSG: none. */
static int check_header(struct cam_reader *r)
{
	uint8_t bytes[CAM_HEADER_BYTES];
	int err = cam_reader_pread(r, bytes, sizeof(bytes), 0);
	struct cam_rd rd = cam_rd_make(bytes, sizeof(bytes));
	if (err)
		return err;
	bool magic = cam_rd_u64(&rd) == CAM_WINDOW_MAGIC;
	cam_rd_u32(&rd);
	cam_rd_u32(&rd);
	uint32_t incompat = cam_rd_u32(&rd);
	if (!magic || cam_rd_u32(&rd) != cam_crc32c(0, bytes, sizeof(bytes) - 4))
		return -EBADMSG;
	return incompat & ~CAM_FEATURES_INCOMPAT ? -EPROTONOSUPPORT : 0;
}

/* The directory that begins at `at`. */
static int read_directory(struct cam_reader *r, uint64_t at)
{
	uint8_t head[CAM_DIRECTORY_HEAD_BYTES];
	int err = cam_reader_pread(r, head, sizeof(head), at);
	struct cam_rd rd = cam_rd_make(head, sizeof(head));
	if (err)
		return err;
	uint32_t magic = cam_rd_u32(&rd), stored = cam_rd_u32(&rd), raw = cam_rd_u32(&rd);
	uint32_t crc = cam_rd_u32(&rd);
	if (magic != CAM_DIRECTORY_MAGIC || stored > r->file_bytes || raw > CAM_DIRECTORY_BYTES_MAX)
		return -EBADMSG;
	uint8_t *bytes = malloc((size_t)stored + 1);
	struct cam_block_in block = {0};
	int (*const read)(struct cam_dir *, const uint8_t *, size_t, uint64_t) =
		r->head_only ? cam_dir_read_head : cam_dir_read_plain;
	err = bytes ? cam_reader_pread(r, bytes, stored, at + sizeof(head)) : -ENOMEM;
	if (!err && crc != cam_crc32c(cam_crc32c(0, head, sizeof(head) - 4), bytes, stored))
		err = -EBADMSG;
	if (!err) {
		rd = cam_rd_make(bytes, stored);
		err = cam_block_read(&block, &rd, raw);
	}
	if (!err && (block.n != raw || cam_rd_left(&rd)))
		err = -EBADMSG;
	if (!err) {
		err = read(&r->dir, block.bytes, block.n, r->file_bytes);
		if (err)
			cam_dir_free(&r->dir);
	}
	r->directory_bytes = sizeof(head) + stored;
	if (err || r->head_only)
		cam_block_free(&block);
	else
		r->dir_bytes = block;
	free(bytes);
	return err;
}

int cam_reader_trailer(struct cam_reader *r, uint64_t *at, uint32_t *n)
{
	uint8_t bytes[CAM_TRAILER_BYTES];
	struct cam_rd rd = cam_rd_make(bytes, sizeof(bytes));
	if (r->file_bytes < sizeof(bytes))
		return -EBADMSG;
	int err = cam_reader_pread(r, bytes, sizeof(bytes), r->file_bytes - sizeof(bytes));
	if (err)
		return err;
	uint64_t magic = cam_rd_u64(&rd);
	*at = cam_rd_u64(&rd);
	*n = cam_rd_u32(&rd);
	bool good = cam_rd_u32(&rd) == cam_crc32c(0, bytes, sizeof(bytes) - 4);
	return good && magic == CAM_TRAILER_MAGIC ? 0 : -EBADMSG;
}

static int read_second_directory(struct cam_reader *r)
{
	uint64_t at;
	uint32_t n;
	int err = cam_reader_trailer(r, &at, &n);
	if (!err)
		err = read_directory(r, at);
	return !err && r->directory_bytes != n ? -EBADMSG : err;
}

static int open_directory(struct cam_reader *r)
{
	int header = check_header(r);
	if (header == -EPROTONOSUPPORT)
		return header;
	int err = read_directory(r, CAM_HEADER_BYTES);
	if (header) {
		r->w.damage.chunks++;
		r->w.damage.bytes += CAM_HEADER_BYTES;
	}
	if (err != -EBADMSG)
		return err;
	err = read_second_directory(r);
	r->second_used = true;
	r->w.damage.chunks++;
	r->w.damage.bytes += r->directory_bytes;
	return err;
}

static int prepare(struct cam_reader *r)
{
	size_t text = (size_t)r->dir.text_bytes + 256;
	int err = cam_dir_place_chunks(&r->dir, CAM_HEADER_BYTES + r->directory_bytes);
	if (!err)
		err = cam_tables_init(&r->t, SIZE_MAX);
	if (!err)
		err = cam_vec_reserve(&r->t.strings.bytes, &r->t.strings.bytes_cap, text, 1,
				      CAM_MAX_STRING_BYTES + 256u);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS && !err; k++) {
		r->bad[k] = calloc(r->dir.sections[k].n + 1, 1);
		err = r->bad[k] ? 0 : -ENOMEM;
	}
	r->span_lost = calloc(r->dir.n_spans + 1, 1);
	if (!err && !r->span_lost)
		err = -ENOMEM;
	r->w.info = r->dir.info;
	return err;
}

/* Takes the file over; *out is to be closed also after an error, unless it is NULL. */
static int open_reader(struct cam_file *file, bool head_only, struct cam_reader **out)
{
	struct cam_reader *r = *out = calloc(1, sizeof(*r));
	if (!r) {
		file->ops->close(file);
		return -ENOMEM;
	}
	r->file = file;
	r->w.ops = &reader_ops;
	r->head_only = head_only;
	r->damaged_string = r->damaged_node = r->damaged_place = CAM_NONE;
	int64_t size = file->ops->size(file);
	r->file_bytes = size < 0 ? 0 : (uint64_t)size;
	int err = size < 0 ? (int)size : open_directory(r);
	/* What could not even be read is not known to be bad. */
	return err == -EBADMSG && r->io_error ? r->io_error : err;
}

int cam_window_glance(struct cam_file *file, struct cam_window_info *out, char **host)
{
	struct cam_reader *r;
	int err = open_reader(file, true, &r);
	if (!err) {
		*out = r->dir.info;
		*host = r->dir.host;
		r->dir.host = NULL;
	}
	if (r)
		close_reader(&r->w);
	return err;
}

int cam_window_open(struct cam_file *file, struct cam_window **out)
{
	struct cam_reader *r;
	int err = open_reader(file, false, &r);
	if (!err)
		err = prepare(r);
	if (!err)
		*out = &r->w;
	else if (r)
		close_reader(&r->w);
	return err;
}
