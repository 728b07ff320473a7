// SPDX-License-Identifier: Apache-2.0
#include "store/dump.h"

#include "base/crc32c.h"
#include "store/journal_scan.h"
#include "store/window.h"
#include "store/window_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECE 4096u

struct dump {
	cam_dump_fn *fn;
	void *arg;
};

static const char *const kinds[CAM_CHUNK_KINDS] = {
	[CAM_CHUNK_STRINGS] = "strings",     [CAM_CHUNK_MODULES] = "modules",
	[CAM_CHUNK_FUNCTIONS] = "functions", [CAM_CHUNK_TASKS] = "tasks",
	[CAM_CHUNK_TREE] = "tree",	     [CAM_CHUNK_LEAVES] = "leaves",
	[CAM_CHUNK_LOCATIONS] = "locations", [CAM_CHUNK_PLACES] = "places",
	[CAM_CHUNK_ANCHORS] = "anchors",     [CAM_CHUNK_EVENTS] = "events",
	[CAM_CHUNK_LEDGER] = "ledger",	     [CAM_CHUNK_FACTS] = "facts",
	[CAM_CHUNK_PROCESSES] = "processes", [CAM_CHUNK_SMALL] = "small",
	[CAM_CHUNK_COUNTS] = "counts",	     [CAM_CHUNK_RANK] = "rank",
	[CAM_CHUNK_TIME] = "time",	     [CAM_CHUNK_TASK] = "task",
	[CAM_CHUNK_WEIGHT] = "weight",	     [CAM_CHUNK_LEAF] = "leaf",
	[CAM_CHUNK_PLACE] = "place",	     [CAM_CHUNK_DETAIL] = "detail",
	[CAM_CHUNK_COUNTERS] = "counters",   [CAM_CHUNK_LINES] = "lines",
	[CAM_CHUNK_SECONDS] = "seconds",     [CAM_CHUNK_SLOTS] = "slots",
};

static int say(const struct dump *d, struct cam_dump_row row)
{
	return d->fn(d->arg, &row);
}

static bool are_zeros(struct cam_reader *r, uint64_t at, uint64_t n)
{
	uint8_t bytes[PIECE];
	for (uint64_t done = 0; done < n; done += PIECE) {
		size_t part = n - done < PIECE ? (size_t)(n - done) : PIECE;
		if (cam_reader_pread(r, bytes, part, at + done))
			return false;
		for (size_t i = 0; i < part; i++) {
			if (bytes[i])
				return false;
		}
	}
	return true;
}

static bool is_header(struct cam_reader *r)
{
	uint8_t bytes[CAM_HEADER_BYTES];
	if (cam_reader_pread(r, bytes, sizeof(bytes), 0))
		return false;
	return cam_crc32c(0, bytes, CAM_HEADER_BYTES - 4) ==
	       cam_journal_get_u32(bytes + CAM_HEADER_BYTES - 4);
}

/* Whether the other directory is the same as the one that was read. */
static bool same_directory(struct cam_reader *r, uint64_t second)
{
	uint8_t a[PIECE], b[PIECE];
	for (uint64_t done = 0; done < r->directory_bytes; done += PIECE) {
		uint64_t left = r->directory_bytes - done;
		size_t part = left < PIECE ? (size_t)left : PIECE;
		if (cam_reader_pread(r, a, part, CAM_HEADER_BYTES + done) ||
		    cam_reader_pread(r, b, part, second + done) || memcmp(a, b, part) != 0)
			return false;
	}
	return true;
}

static int say_chunk(const struct dump *d, struct cam_reader *r, enum cam_chunk_kind kind, size_t i)
{
	const struct cam_dir_chunk *c = &r->dir.sections[kind].chunks[i];
	struct cam_chunk_in content = {0};
	int err = cam_reader_chunk(r, kind, i, &content);
	free(content.data);
	if (err && err != -EBADMSG)
		return err;
	struct cam_dump_row row = {.at = c->offset,
				   .bytes = c->bytes,
				   .part = kinds[kind],
				   .number = (uint32_t)i,
				   .good = !err};
	const struct cam_dir_span *s = r->dir.spans;
	if (kind < CAM_CHUNK_FIRST_COLUMN)
		snprintf(row.words, sizeof(row.words), "%u rows from %u", c->rows, c->first);
	else if (kind <= CAM_CHUNK_WEIGHT && i < r->dir.n_spans)
		snprintf(row.words, sizeof(row.words), "%u samples of %u s from second %llu",
			 s[i].samples, s[i].seconds, (unsigned long long)s[i].second);
	else if (kind == CAM_CHUNK_DETAIL)
		snprintf(row.words, sizeof(row.words), "%u rows", c->rows);
	return say(d, row);
}

static int say_head(const struct dump *d, struct cam_reader *r)
{
	const struct cam_dir *dir = &r->dir;
	struct cam_dump_row header = {.part = "header", .bytes = CAM_HEADER_BYTES};
	header.good = is_header(r);
	snprintf(header.words, sizeof(header.words), "features %x %x %x", dir->compat,
		 dir->ro_compat, dir->incompat);
	int err = say(d, header);
	struct cam_dump_row first = {
		.part = "directory", .at = CAM_HEADER_BYTES, .bytes = r->directory_bytes};
	first.good = !r->second_used;
	snprintf(first.words, sizeof(first.words),
		 "%llu samples, %u strings, %u functions, %u nodes",
		 (unsigned long long)dir->info.samples, dir->n_strings, dir->n_functions,
		 dir->n_nodes);
	return err ? err : say(d, first);
}

/* What lies behind the chunks. */
static int say_tail(const struct dump *d, struct cam_reader *r, uint64_t at)
{
	uint64_t front = CAM_HEADER_BYTES + r->directory_bytes, second = 0;
	uint32_t second_bytes = 0;
	int err = 0;
	if (r->dir.unknown_bytes) {
		err = say(d, (struct cam_dump_row){.part = "other kinds",
						   .at = at,
						   .bytes = r->dir.unknown_bytes,
						   .good = true,
						   .words = "of a newer perfcam; not checked"});
		at += r->dir.unknown_bytes;
	}
	uint64_t pad = cam_dir_padding(&r->dir, front, at);
	if (!err && pad)
		err = say(d, (struct cam_dump_row){.part = "zeros",
						   .at = at,
						   .bytes = pad,
						   .good = are_zeros(r, at, pad)});
	at += pad;
	bool trailer = !cam_reader_trailer(r, &second, &second_bytes) && second == at &&
		       second_bytes == r->directory_bytes;
	if (!err)
		err = say(d, (struct cam_dump_row){.part = "directory",
						   .at = at,
						   .bytes = r->directory_bytes,
						   .number = 1,
						   .good = r->second_used || same_directory(r, at),
						   .words = "the same again"});
	at += r->directory_bytes;
	if (!err)
		err = say(d, (struct cam_dump_row){.part = "trailer",
						   .at = at,
						   .bytes = CAM_TRAILER_BYTES,
						   .good = trailer});
	at += CAM_TRAILER_BYTES;
	if (!err && r->file_bytes > at)
		err = say(d, (struct cam_dump_row){.part = "unknown bytes",
						   .at = at,
						   .bytes = r->file_bytes - at});
	return err;
}

static int dump_window(const struct dump *d, struct cam_file *file)
{
	struct cam_window *w;
	int err = cam_window_open(file, &w);
	if (err)
		return err;
	struct cam_reader *r = cam_reader_of(w);
	uint64_t at = CAM_HEADER_BYTES + r->directory_bytes;
	err = say_head(d, r);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS && !err; k++) {
		for (size_t i = 0; i < r->dir.sections[k].n && !err; i++) {
			err = say_chunk(d, r, (enum cam_chunk_kind)k, i);
			at += r->dir.sections[k].chunks[i].bytes;
		}
	}
	if (!err)
		err = say_tail(d, r, at);
	w->ops->close(w);
	return err;
}

static int say_block(const struct dump *d, const struct cam_journal_span *s)
{
	static const char *const types[] = {"?", "header", "data", "end"};
	struct cam_dump_row row = {.part = types[s->head.type],
				   .at = s->at,
				   .bytes = CAM_JOURNAL_HEAD + s->head.bytes,
				   .number = s->head.sequence,
				   .good = true};
	snprintf(row.words, sizeof(row.words), "%u bytes, %s", s->head.plain_bytes,
		 s->head.flags & CAM_JOURNAL_ZSTD ? "zstd" : "plain");
	return say(d, row);
}

static int say_skipped(const struct dump *d, uint64_t at, uint64_t bytes, uint32_t missing)
{
	struct cam_dump_row row = {.part = "unreadable", .at = at, .bytes = bytes};
	if (missing)
		snprintf(row.words, sizeof(row.words), "%u blocks, by their numbers", missing);
	return say(d, row);
}

static int dump_journal(const struct dump *d, struct cam_file *file)
{
	struct cam_journal_scan scan;
	int err = cam_journal_scan_open(&scan, file), got = 0;
	if (err)
		return err;
	struct cam_journal_span s = {0};
	cam_journal_get_head(scan.block.data, &s.head);
	err = say_block(d, &s);
	while (!err && (got = cam_journal_scan_next(&scan, &s)) > 0) {
		if (s.skipped)
			err = say_skipped(d, s.at - s.skipped, s.skipped, s.missing);
		if (!err)
			err = say_block(d, &s);
	}
	err = err ? err : got;
	if (!err && scan.good_end < scan.size)
		err = say_skipped(d, scan.good_end, scan.size - scan.good_end, 0);
	cam_journal_scan_close(&scan);
	return err;
}

int cam_dump(struct cam_file *file, cam_dump_fn *fn, void *arg)
{
	const struct dump d = {fn, arg};
	uint8_t magic[8] = {0}, window[8], journal[4];
	ssize_t n = file->ops->pread(file, magic, sizeof(magic), 0);
	for (int i = 0; i < 8; i++)
		window[i] = (uint8_t)(CAM_WINDOW_MAGIC >> (8 * i));
	cam_journal_put_u32(journal, CAM_JOURNAL_MAGIC);
	if (n >= 8 && memcmp(magic, window, sizeof(window)) == 0)
		return dump_window(&d, file);
	int err = n < 0					 ? (int)n
		  : n >= 4 && !memcmp(magic, journal, 4) ? dump_journal(&d, file)
							 : -EPROTOTYPE;
	file->ops->close(file);
	return err;
}
