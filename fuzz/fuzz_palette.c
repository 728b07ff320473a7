// SPDX-License-Identifier: Apache-2.0
/* Any bytes as palette.map and as a file of attributes of names; each name is then looked up. */
#include "render/frame_attributes.h"
#include "render/palette.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_text file = {(const char *)data, size};
	struct cam_palette p = {.theme = CAM_THEME_JAVA, .shade = CAM_SHADE_BY_HASH, .keep = true};
	struct cam_frame_attributes a;
	struct cam_buf buf = CAM_BUF(1u << 24);
	struct cam_out out;
	struct cam_rgb c;
	size_t line = 0;
	int strange =
		cam_palette_read(&p, file); /* what is then written is read again, all of it */
	cam_out_to_buf(&out, &buf);
	if (strange < 0 || cam_palette_write(&p, &out) || cam_out_finish(&out))
		abort();
	if (cam_palette_read(&p, (struct cam_text){(const char *)buf.data, buf.len}) != 0)
		abort();
	for (size_t i = 0; i <= size; i++) {
		if (i < size && data[i] != '\n')
			continue;
		cam_palette_colour(&p, (struct cam_text){file.p + line, i - line}, &c);
		line = i + 1;
	}
	if (!cam_frame_attributes_read(file, &a))
		for (size_t i = 0; i < a.n; i++)
			if (cam_frame_attributes_find(&a, a.v[i].name) != &a.v[i])
				abort();
	cam_frame_attributes_free(&a);
	cam_palette_free(&p);
	cam_buf_free(&buf);
	return 0;
}
