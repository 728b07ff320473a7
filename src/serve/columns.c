// SPDX-License-Identifier: Apache-2.0
#include "serve/columns.h"

#include <assert.h>
#include <string.h>

#define TEXT_BYTES (1u << 20)

static const struct {
	const char *name;
	size_t bytes;
} types[] = {
	[CAM_COLUMN_U8] = {"u8", 1},
	[CAM_COLUMN_U32] = {"u32", 4},
	[CAM_COLUMN_F32] = {"f32", 4},
	[CAM_COLUMN_F64] = {"f64", 8},
};

static size_t round_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

void cam_columns_begin(struct cam_columns *c)
{
	c->n = 0;
	c->text = CAM_BUF(TEXT_BYTES);
	cam_out_to_buf(&c->out, &c->text);
	c->json = (struct cam_json){&c->out, false};
	cam_json_open(&c->json, NULL, '{');
}

void cam_columns_add(struct cam_columns *c, const char *name, enum cam_column_type type,
		     const void *data, size_t n)
{
	assert(c->n < CAM_COLUMNS_MAX);
	c->columns[c->n].name = name;
	c->columns[c->n].type = type;
	c->columns[c->n].data = data;
	c->columns[c->n].n = n;
	c->n++;
}

static void put_zeros(struct cam_buf *to, size_t n)
{
	static const uint8_t zeros[8];
	cam_buf_put(to, zeros, n);
}

static void put_numbers(struct cam_buf *to, const void *data, size_t n, size_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (n)
		cam_buf_put(to, data, n * bytes);
#else
	const uint8_t *p = data;
	for (size_t i = 0; i < n * bytes; i += bytes)
		for (size_t k = bytes; k-- > 0;)
			cam_buf_put_u8(to, p[i + k]);
#endif
	put_zeros(to, round_up(n * bytes) - n * bytes);
}

int cam_columns_finish(struct cam_columns *c, struct cam_buf *to)
{
	size_t offset = 0;
	cam_json_open(&c->json, "columns", '{');
	for (size_t i = 0; i < c->n; i++) {
		cam_json_open(&c->json, c->columns[i].name, '[');
		cam_json_text(&c->json, NULL, cam_text_of(types[c->columns[i].type].name));
		cam_json_u64(&c->json, NULL, offset);
		cam_json_u64(&c->json, NULL, c->columns[i].n);
		cam_json_close(&c->json, ']');
		offset += round_up(c->columns[i].n * types[c->columns[i].type].bytes);
	}
	cam_json_close(&c->json, '}');
	cam_json_close(&c->json, '}');
	int err = cam_out_finish(&c->out);
	if (!err) {
		cam_buf_put(to, "PCC1", 4);
		cam_buf_put_u32(to, (uint32_t)c->text.len);
		cam_buf_put(to, c->text.data, c->text.len);
		put_zeros(to, round_up(8 + c->text.len) - (8 + c->text.len));
		for (size_t i = 0; i < c->n; i++)
			put_numbers(to, c->columns[i].data, c->columns[i].n,
				    types[c->columns[i].type].bytes);
		err = cam_buf_error(to);
	}
	cam_buf_free(&c->text);
	return err;
}
