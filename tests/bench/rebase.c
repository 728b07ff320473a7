// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a long store of one window: copies of it, each beginning where the one before ends. For make bench, and
 * for whoever wants to see 12 hours of a large host at once.
 *
 *	rebase WINDOW COPIES STORE
 *
 * Samples are not decoded: in the format everything about time is relative to the seconds of spans, but for the
 * first row of each chunk of anchors, events, ledger and processes. These and the directory are written
 * anew, all other chunks are the same bytes. Counters are left out. About 10 ms and the window's size a copy.
 */
#include "base/crc32c.h"
#include "base/units.h"
#include "store/name.h"
#include "store/window_text.h"
#include "store/window_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct window {
	uint8_t *bytes;
	size_t n;
	struct cam_dir dir;
	struct cam_dir_span *spans; /* as they were */
	struct cam_window_info info;
	uint32_t *sizes[CAM_CHUNK_KINDS]; /* of chunks, as they were */
};

static void check(int err, const char *what)
{
	if (err) {
		fprintf(stderr, "rebase: %s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static void *must(void *p)
{
	check(p ? 0 : -ENOMEM, "memory");
	return p;
}

static void read_file(struct window *w, const char *path)
{
	FILE *f = fopen(path, "rb");
	check(f ? 0 : -errno, path);
	check(fseek(f, 0, SEEK_END) ? -errno : 0, path);
	w->n = (size_t)ftell(f);
	w->bytes = must(calloc(1, w->n + 64));
	rewind(f);
	check(fread(w->bytes, 1, w->n, f) == w->n ? 0 : -EIO, path);
	fclose(f);
}

static void open_window(struct window *w, const char *path)
{
	struct cam_block_in raw;
	read_file(w, path);
	check(w->n > CAM_HEADER_BYTES + CAM_DIRECTORY_HEAD_BYTES ? 0 : -EBADMSG, path);
	struct cam_rd r = cam_rd_make(w->bytes + CAM_HEADER_BYTES, w->n - CAM_HEADER_BYTES);
	check(cam_rd_u32(&r) == CAM_DIRECTORY_MAGIC ? 0 : -EBADMSG, path);
	uint32_t stored = cam_rd_u32(&r);
	cam_rd_u32(&r);
	cam_rd_u32(&r);
	check(cam_block_read(&raw, &r, CAM_DIRECTORY_BYTES_MAX), path);
	check(cam_dir_read(&w->dir, raw.bytes, raw.n, w->n), path);
	cam_block_free(&raw);
	check(cam_dir_place_chunks(&w->dir, CAM_HEADER_BYTES + CAM_DIRECTORY_HEAD_BYTES + stored),
	      path);
	w->info = w->dir.info;
	w->spans = must(calloc(w->dir.n_spans + 1, sizeof(*w->spans)));
	memcpy(w->spans, w->dir.spans, w->dir.n_spans * sizeof(*w->spans));
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		const struct cam_dir_section *s = &w->dir.sections[k];
		w->sizes[k] = must(calloc(s->n + 1, sizeof(uint32_t)));
		for (size_t i = 0; i < s->n; i++)
			w->sizes[k][i] = s->chunks[i].bytes;
	}
}

/* Copies n varints, adding to those whose bit is set. */
static void shift_varints(struct cam_rd *r, struct cam_buf *to, unsigned n, unsigned which,
			  uint64_t ns)
{
	for (unsigned i = 0; i < n; i++) {
		if (which >> i & 1)
			cam_buf_put_zigzag(to, (int64_t)((uint64_t)cam_rd_zigzag(r) + ns));
		else
			cam_buf_put_varint(to, cam_rd_varint(r));
	}
}

/* The first row of a block of rows; what follows are differences to it. */
static void shift_block(struct cam_rd *r, struct cam_buf *to, enum cam_chunk_kind kind, uint64_t ns)
{
	struct cam_block_in block;
	struct cam_buf rows = CAM_BUF(CAM_TEXT_RAW_MAX);
	check(cam_block_read(&block, r, CAM_TEXT_RAW_MAX), "block");
	struct cam_rd in = cam_block_rd(&block);
	if (in.p < in.end && kind == CAM_CHUNK_ANCHORS)
		shift_varints(&in, &rows, 5, 0x1f, ns);
	else if (in.p < in.end && kind == CAM_CHUNK_EVENTS)
		shift_varints(&in, &rows, 1, 1, ns);
	else if (in.p < in.end)
		shift_varints(&in, &rows, 3, 1 << 2, ns);
	cam_buf_put(&rows, in.p, (size_t)(in.end - in.p));
	check(rows.error ? rows.error : cam_block_write(to, rows.data, rows.len, 1), "block");
	cam_buf_free(&rows);
	cam_block_free(&block);
}

static void shift_chunk(const struct window *w, enum cam_chunk_kind kind, size_t i, uint64_t ns,
			struct cam_buf *to)
{
	const struct cam_dir_chunk *c = &w->dir.sections[kind].chunks[i];
	struct cam_rd r = cam_rd_make(w->bytes + c->offset + CAM_CHUNK_HEAD_BYTES,
				      w->sizes[kind][i] - CAM_CHUNK_HEAD_BYTES);
	if (kind == CAM_CHUNK_PROCESSES)
		cam_buf_put_varint(to, cam_rd_varint(&r) + ns / CAM_NS_PER_SEC);
	else
		shift_block(&r, to, kind, ns);
	cam_buf_put(to, r.p, (size_t)(r.end - r.p));
	check(r.error ? r.error : to->error, "chunk");
}

static bool has_times(unsigned kind)
{
	return kind == CAM_CHUNK_ANCHORS || kind == CAM_CHUNK_EVENTS || kind == CAM_CHUNK_LEDGER ||
	       kind == CAM_CHUNK_PROCESSES;
}

static void put_chunks(struct window *w, unsigned kind, uint64_t ns, struct cam_buf *to)
{
	struct cam_dir_section *s = &w->dir.sections[kind];
	if (kind == CAM_CHUNK_COUNTERS)
		s->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct cam_buf content = CAM_BUF(CAM_CHUNK_BYTES_MAX);
		if (!has_times(kind) || !w->sizes[kind][i]) {
			cam_buf_put(to, w->bytes + s->chunks[i].offset, w->sizes[kind][i]);
			continue;
		}
		shift_chunk(w, (enum cam_chunk_kind)kind, i, ns, &content);
		cam_buf_put_u32(to, cam_chunk_crc((enum cam_chunk_kind)kind, (uint32_t)i,
						  content.data, content.len));
		cam_buf_put(to, content.data, content.len);
		s->chunks[i].bytes = (uint32_t)content.len + CAM_CHUNK_HEAD_BYTES;
		cam_buf_free(&content);
	}
	check(to->error, "chunks");
}

static void write_copy(struct window *w, unsigned copy, const char *store)
{
	struct cam_buf chunks[CAM_CHUNK_KINDS];
	uint64_t length = w->info.end_ns - w->info.start_ns;
	/* Spans are of whole seconds, so copies are apart by such: never by less than they last. */
	uint64_t ns = (length + CAM_NS_PER_SEC / 2) / CAM_NS_PER_SEC * CAM_NS_PER_SEC * copy;
	w->dir.info = w->info;
	w->dir.info.start_ns += ns;
	w->dir.info.end_ns += ns;
	w->dir.info.sequence += copy;
	if (w->info.realtime_ns != INT64_MIN)
		w->dir.info.realtime_ns += (int64_t)ns;
	for (size_t i = 0; i < w->dir.n_spans; i++)
		w->dir.spans[i].second = w->spans[i].second + ns / CAM_NS_PER_SEC;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		chunks[k] = CAM_BUF(1u << 30);
		put_chunks(w, k, ns, &chunks[k]);
	}
	char path[4096];
	snprintf(path, sizeof(path), "%s/perfcam-rebased-%05u.pcw", store, copy);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	check(fd < 0 ? -errno : 0, path);
	struct cam_out out;
	cam_out_to_fd(&out, fd);
	check(cam_writer_put_file(&w->dir, chunks, &out), path);
	check(cam_out_finish(&out), path);
	check(close(fd) ? -errno : 0, path);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		cam_buf_free(&chunks[k]);
}

int main(int argc, char **argv)
{
	static struct window w;
	if (argc != 4) {
		fprintf(stderr, "rebase: WINDOW COPIES STORE: see its source\n");
		return 2;
	}
	open_window(&w, argv[1]);
	for (unsigned i = 0; i < (unsigned)atoi(argv[2]); i++)
		write_copy(&w, i, argv[3]);
	printf("{\"windows\": %s, \"samples\": %llu, \"bytes_each\": %zu}\n", argv[2],
	       (unsigned long long)w.info.samples * (unsigned long long)atoi(argv[2]), w.n);
	return 0;
}
