// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a sealed window: gathers the samples, has each part make its chunks, then puts header,
 * directory, chunks, directory and trailer one behind the other. Everything is encoded before the
 * first byte goes out, so that the directory can stand at the front; that takes a few bytes a
 * sample.
 *
 * Pure: nothing but the input decides a byte. Ids are given by first use in the order of the
 * samples or of the tree, never by the order of a hash table.
 */
#include "base/crc32c.h"
#include "base/vec.h"
#include "store/window.h"
#include "store/window_text.h"
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

#define MAX_KIND_BYTES (1u << 30)
#define LEVEL	       9

int cam_writer_add_chunk(struct cam_writer *w, enum cam_chunk_kind kind,
			 const struct cam_buf *content, uint32_t rows)
{
	struct cam_buf *out = &w->chunks[kind];
	if (content->error)
		return content->error;
	if (content->len > CAM_CHUNK_BYTES_MAX - CAM_CHUNK_HEAD_BYTES)
		return -E2BIG;
	if (content->len) {
		uint32_t number = (uint32_t)w->dir.sections[kind].n;
		cam_buf_put_u32(out, cam_chunk_crc(kind, number, content->data, content->len));
		cam_buf_put(out, content->data, content->len);
	}
	if (out->error)
		return out->error;
	uint32_t bytes = content->len ? (uint32_t)content->len + CAM_CHUNK_HEAD_BYTES : 0;
	return cam_dir_add_chunk(&w->dir, kind, bytes, rows);
}

int cam_writer_cut(struct cam_writer *w, enum cam_chunk_kind kind, uint32_t n, cam_put_rows *put)
{
	struct cam_buf out = CAM_BUF(CAM_CHUNK_BYTES_MAX);
	uint32_t guess = 1u << 16, target = w->chunk_bytes / 4 * 3;
	int err = 0;
	for (uint32_t from = 0, to; from < n && !err; from = to) {
		for (;;) {
			to = n - from < guess ? n : from + guess;
			cam_buf_clear(&out);
			err = put(w, from, to, &out);
			bool fits = out.len <= w->chunk_bytes - CAM_CHUNK_HEAD_BYTES;
			if (to - from == 1 || (err ? err != -E2BIG : fits))
				break;
			guess = err ? (to - from) / 2
				    : (uint32_t)((uint64_t)(to - from) * target / out.len);
			guess += guess == 0;
		}
		if (!err)
			err = cam_writer_add_chunk(w, kind, &out, to - from);
	}
	cam_buf_free(&out);
	return err;
}

static void put_header(struct cam_buf *out, const struct cam_dir *d)
{
	cam_buf_put_u64(out, CAM_WINDOW_MAGIC);
	cam_buf_put_u32(out, d->compat);
	cam_buf_put_u32(out, d->ro_compat);
	cam_buf_put_u32(out, d->incompat);
	cam_buf_put_u32(out, out->data ? cam_crc32c(0, out->data, out->len) : 0);
}

/* Head and (compressed) bytes of a directory. */
static int put_directory(struct cam_buf *out, const struct cam_buf *raw)
{
	struct cam_buf block = CAM_BUF(CAM_DIRECTORY_BYTES_MAX);
	struct cam_buf head = CAM_BUF(CAM_DIRECTORY_HEAD_BYTES);
	int err = cam_block_write(&block, raw->data, raw->len, LEVEL);
	if (!err) {
		cam_buf_put_u32(&head, CAM_DIRECTORY_MAGIC);
		cam_buf_put_u32(&head, (uint32_t)block.len);
		cam_buf_put_u32(&head, (uint32_t)raw->len);
		uint32_t crc = cam_crc32c(0, head.data, head.len);
		cam_buf_put_u32(&head, cam_crc32c(crc, block.data, block.len));
		cam_buf_put(out, head.data, head.len);
		cam_buf_put(out, block.data, block.len);
		err = head.error ? head.error : out->error;
	}
	cam_buf_free(&block);
	cam_buf_free(&head);
	return err;
}

static void put_trailer(struct cam_buf *out, uint64_t offset, uint32_t bytes)
{
	size_t from = out->len;
	cam_buf_put_u64(out, CAM_TRAILER_MAGIC);
	cam_buf_put_u64(out, offset);
	cam_buf_put_u32(out, bytes);
	cam_buf_put_u32(out, out->data ? cam_crc32c(0, out->data + from, out->len - from) : 0);
}

int cam_writer_put_file(const struct cam_dir *dir,
			const struct cam_buf chunk_bytes[CAM_CHUNK_KINDS], struct cam_out *out)
{
	static const uint8_t zeros[CAM_PAGE_BYTES];
	struct cam_buf raw = CAM_BUF(CAM_DIRECTORY_BYTES_MAX), front = CAM_BUF(SIZE_MAX / 2);
	uint64_t chunks = 0;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		chunks += chunk_bytes[k].len;
	int err = cam_dir_write(dir, &raw);
	put_header(&front, dir);
	if (!err)
		err = put_directory(&front, &raw);
	size_t front_len = front.len;
	if (!err) {
		uint64_t pad = cam_dir_padding(dir, front_len, front_len + chunks);
		cam_out_bytes(out, front.data, front_len);
		for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
			cam_out_bytes(out, chunk_bytes[k].data, chunk_bytes[k].len);
		for (uint64_t done = 0; done < pad; done += sizeof(zeros))
			cam_out_bytes(out, zeros,
				      pad - done < sizeof(zeros) ? pad - done : sizeof(zeros));
		put_trailer(&front, front_len + chunks + pad,
			    (uint32_t)(front_len - CAM_HEADER_BYTES));
		cam_out_bytes(out, front.data + CAM_HEADER_BYTES, front.len - CAM_HEADER_BYTES);
		err = front.error ? front.error : out->error;
	}
	cam_buf_free(&raw);
	cam_buf_free(&front);
	return err;
}

static void fill_info(struct cam_writer *w)
{
	struct cam_window_info *info = &w->dir.info;
	uint32_t events = info->events;
	*info = w->in->info;
	info->events = events;
	info->samples = w->rows.n;
	info->time_unit_ns = w->rows.unit_ns;
	w->dir.compat = 0; /* what the parts add */
	w->dir.ro_compat = CAM_FEATURES_RO_COMPAT;
	w->dir.incompat = CAM_FEATURES_INCOMPAT;
}

static int write_parts(struct cam_writer *w)
{
	int (*const parts[])(struct cam_writer *) = {
		cam_write_trees,     cam_write_small,	cam_write_modules,  cam_write_groups,
		cam_write_functions, cam_write_leaves,	cam_write_places,   cam_write_tasks,
		cam_write_processes, cam_write_seconds, cam_write_slots,    cam_write_columns,
		cam_write_notes,     cam_write_strings, cam_write_counters, cam_write_lines,
	};
	int err = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !err; i++)
		err = parts[i](w);
	return err;
}

static void free_writer(struct cam_writer *w)
{
	uint32_t *const arrays[] = {w->string_number, w->strings,     w->pair_rank,
				    w->pair_tree,     w->func_id,     w->functions,
				    w->row_leaf,      w->leaf_sizes,  w->place_number,
				    w->place_index,   w->node_places, w->node_place_chunk,
				    w->task_process};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
	free(w->leaves);
	free(w->leaf_order);
	free(w->leaf_start);
	free(w->startless);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		cam_buf_free(&w->chunks[k]);
	w->dir.cpus = NULL; /* the rows' */
	cam_dir_free(&w->dir);
	cam_tree_writer_free(&w->tree);
	cam_shape_free(&w->shape);
	cam_rows_free(&w->rows);
}

int cam_window_write(struct cam_window *in, struct cam_out *out)
{
	return cam_window_write_chunks(in, out, CAM_CHUNK_BYTES);
}

int cam_window_write_chunks(struct cam_window *in, struct cam_out *out, uint32_t chunk_bytes)
{
	struct cam_writer w = {.in = in, .chunk_bytes = chunk_bytes};
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		w.chunks[k] = CAM_BUF(MAX_KIND_BYTES);
	int err = in->ops->tables(in, &w.t);
	if (!err)
		err = cam_rows_gather(&w.rows, in, w.t);
	if (!err)
		err = cam_shape_build(&w.shape, &w.rows, w.t);
	if (!err)
		err = cam_tree_writer_init(&w.tree, &w.shape.tree, chunk_bytes);
	if (!err) {
		fill_info(&w);
		w.dir.cpus = w.rows.cpus;
		w.dir.n_cpus = w.rows.n_cpus;
		w.string_number = calloc(w.t->strings.n + 1, sizeof(uint32_t));
		err = w.string_number ? write_parts(&w) : -ENOMEM;
	}
	w.dir.text_bytes = w.text_bytes;
	if (!err && w.text_bytes > CAM_MAX_STRING_BYTES)
		err = -E2BIG;
	if (!err)
		err = cam_writer_put_file(&w.dir, w.chunks, out);
	free_writer(&w);
	return err;
}
