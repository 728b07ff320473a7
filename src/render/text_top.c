// SPDX-License-Identifier: Apache-2.0
#include "render/text_top.h"

#include "render/figure.h"
#include "render/label.h"

#define NUMBERS 34 /* columns taken by self, total and their shares */

static void put_value(struct cam_out *out, const struct cam_flame *f, uint64_t v)
{
	cam_label_put_right(out, f->unit_is_ns ? cam_figure_duration(v).s : cam_figure_count(v).s,
			    9);
	cam_label_put_right(out, cam_figure_percent(v, f->nodes[0].total).s, 9);
}

int cam_text_top_write(const struct cam_top *top, unsigned columns, struct cam_out *out)
{
	const struct cam_flame *f = top->flame;
	size_t width = columns < 40 ? (columns ? 40 : 100) : columns;
	cam_out_printf(out, "%18s%18s  function\n", "self", "total");
	for (size_t i = 0; i < top->n_rows; i++) {
		const struct cam_top_row *row = &top->rows[i];
		const struct cam_flame_frame *frame = &f->frames[row->frame];
		struct cam_text name = {f->text + frame->name_at, frame->name_n};
		struct cam_text module = cam_label_file(cam_flame_module_path(f, row->module));
		put_value(out, f, row->self);
		put_value(out, f, row->total);
		cam_out_str(out, "  ");
		size_t room = width - NUMBERS - 4;
		size_t used = cam_label_put(out, name, room, CAM_LABEL_PLAIN);
		if (module.n && used + 6 < room) {
			cam_out_str(out, "  ");
			cam_label_put(out, module, room - used - 2, CAM_LABEL_PLAIN);
		}
		cam_out_str(out, "\n");
	}
	cam_out_printf(out, "%zu of %zu functions; of ", top->n_rows, top->n_functions);
	if (f->unit_is_ns)
		cam_out_printf(out, "%s of ", cam_figure_duration(f->nodes[0].total).s);
	else
		cam_out_printf(out, "%s ", cam_figure_count(f->nodes[0].total).s);
	cam_label_put(out, f->unit, 40, CAM_LABEL_PLAIN);
	cam_out_str(out, "\n");
	cam_label_notes(out, "", top->notes);
	return out->error;
}
