// SPDX-License-Identifier: Apache-2.0
#include "model/source_lines.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool same_place(const void *rows, uint32_t id, const void *key)
{
	const struct cam_source_line *a = &((const struct cam_source_lines *)rows)->rows[id],
				     *b = key;
	return a->func == b->func && a->offset == b->offset;
}

static uint32_t find(const struct cam_source_lines *l, const struct cam_source_line *want)
{
	return cam_index_find(&l->index, cam_hash_u64(want->func, want->offset), same_place, l,
			      want);
}

static struct cam_text file_of(const struct cam_source_lines *l, const struct cam_source_line *row)
{
	return (struct cam_text){(const char *)l->text.data + row->file_at, row->file_bytes};
}

/* The same path as the row before has it is not kept again. */
static int put_file(struct cam_source_lines *l, struct cam_text file, struct cam_source_line *row)
{
	if (l->n && cam_text_equal(file_of(l, &l->rows[l->n - 1]), file)) {
		row->file_at = l->rows[l->n - 1].file_at;
	} else {
		row->file_at = (uint32_t)l->text.len;
		cam_buf_put(&l->text, file.p, file.n);
	}
	row->file_bytes = (uint32_t)file.n;
	return cam_buf_error(&l->text);
}

static int add(void *arg, const struct cam_line *from)
{
	struct cam_source_lines *l = arg;
	struct cam_source_line row = {
		.func = from->func.v, .offset = from->leaf_offset, .line = from->line};
	uint32_t at = find(l, &row);
	if (at != CAM_INDEX_NONE) {
		struct cam_source_line *old = &l->rows[at];
		if (old->line != row.line || !cam_text_equal(file_of(l, old), from->file))
			old->line = 0;
		return 0;
	}
	int err = put_file(l, from->file, &row);
	if (!err)
		err = cam_vec_reserve(&l->rows, &l->cap, l->n + 1, sizeof(*l->rows),
				      CAM_SOURCE_LINES_MAX);
	if (!err)
		err = cam_index_reserve(&l->index);
	if (err)
		return err;
	l->rows[l->n] = row;
	cam_index_add(&l->index, cam_hash_u64(row.func, row.offset), (uint32_t)l->n++);
	return 0;
}

int cam_source_lines_load(struct cam_source_lines *l, struct cam_window *w)
{
	cam_source_lines_free(l);
	l->text = CAM_BUF(CAM_SOURCE_LINES_TEXT_MAX);
	int err = w->ops->lines ? w->ops->lines(w, add, l) : 0;
	return err == -E2BIG ? 0 : err;
}

void cam_source_lines_free(struct cam_source_lines *l)
{
	free(l->rows);
	cam_index_free(&l->index);
	cam_buf_free(&l->text);
	*l = (struct cam_source_lines){0};
}

uint32_t cam_source_lines_row(const struct cam_source_lines *l, uint32_t func, uint64_t offset)
{
	const struct cam_source_line want = {.func = func, .offset = offset};
	uint32_t at = find(l, &want);
	return at == CAM_INDEX_NONE || !l->rows[at].line ? 0 : at + 1;
}

void cam_source_lines_at(const struct cam_source_lines *l, uint32_t row, struct cam_text *file,
			 uint32_t *line)
{
	*file = file_of(l, &l->rows[row - 1]);
	*line = l->rows[row - 1].line;
}
