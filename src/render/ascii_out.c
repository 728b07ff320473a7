// SPDX-License-Identifier: Apache-2.0
#include "render/ascii_out.h"

static unsigned length_of(unsigned char lead)
{
	return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

static int write_ascii(struct cam_out *out, const void *bytes, size_t n)
{
	static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	struct cam_ascii_out *a = out->self;
	const char *p = bytes;
	for (size_t i = 0; i < n; i++) {
		if (!a->n_rest && (unsigned char)p[i] < 0x80) {
			cam_out_bytes(a->to, p + i, 1);
			continue;
		}
		a->rest[a->n_rest++] = p[i];
		unsigned need = length_of((unsigned char)a->rest[0]);
		if (a->n_rest < need)
			continue;
		uint32_t c = (unsigned char)a->rest[0] & lead[need];
		for (unsigned k = 1; k < need; k++)
			c = c << 6 | ((unsigned char)a->rest[k] & 0x3f);
		cam_out_printf(a->to, "&#%u;", c);
		a->n_rest = 0;
	}
	return a->to->error;
}

struct cam_out *cam_ascii_out_init(struct cam_ascii_out *a, struct cam_out *to)
{
	a->to = to;
	a->n_rest = 0;
	cam_out_init(&a->out, write_ascii, a);
	return &a->out;
}
