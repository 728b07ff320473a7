// SPDX-License-Identifier: Apache-2.0
#include "interop/line_cache.h"

#include "base/vec.h"

int cam_line_cache_init(struct cam_line_cache *c, size_t max_bytes)
{
	*c = (struct cam_line_cache){.max_bytes = max_bytes, .n = 1};
	int err = cam_vec_reserve(&c->rows, &c->cap, 256, sizeof(*c->rows), UINT32_MAX);
	if (!err)
		c->rows[0] = (struct cam_line_row){0};
	return err;
}

void cam_line_cache_free(struct cam_line_cache *c)
{
	free(c->rows);
	free(c->bytes);
	cam_index_free(&c->index);
	*c = (struct cam_line_cache){0};
}

static bool same_line(const void *rows, uint32_t id, const void *key)
{
	const struct cam_line_cache *c = rows;
	const struct cam_text *text = key;
	const struct cam_line_row *r = &c->rows[id];
	return r->n == text->n && memcmp(c->bytes + r->at, text->p, text->n) == 0;
}

uint32_t cam_line_cache_find(const struct cam_line_cache *c, struct cam_text text, uint64_t hash)
{
	uint32_t row = cam_index_find(&c->index, hash, same_line, c, &text);
	return row == CAM_INDEX_NONE ? 0 : row;
}

/* What it will occupy after one more line, were nothing to grow. */
static size_t bytes_with(const struct cam_line_cache *c, size_t more)
{
	return c->used + more + (c->n + 1) * sizeof(*c->rows) + cam_index_bytes(&c->index);
}

uint32_t cam_line_cache_add(struct cam_line_cache *c, struct cam_text text, uint64_t hash)
{
	if (text.n == 0 || text.n > CAM_LINE_CACHE_LONGEST)
		return 0;
	/* Arrays double when they grow, so half of the bound is what rows may use. */
	if (bytes_with(c, text.n) > c->max_bytes / 2) {
		c->n = 1;
		c->used = 0;
		cam_index_free(&c->index);
		c->resets++;
	}
	if (cam_vec_reserve(&c->rows, &c->cap, c->n + 1, sizeof(*c->rows), UINT32_MAX) ||
	    cam_vec_reserve(&c->bytes, &c->bytes_cap, c->used + text.n, 1, UINT32_MAX) ||
	    cam_index_reserve(&c->index))
		return 0;
	uint32_t row = (uint32_t)c->n++;
	memcpy(c->bytes + c->used, text.p, text.n);
	c->rows[row] = (struct cam_line_row){.at = (uint32_t)c->used, .n = (uint32_t)text.n};
	c->used += text.n;
	cam_index_add(&c->index, hash, row);
	return row;
}
