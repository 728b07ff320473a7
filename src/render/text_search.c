// SPDX-License-Identifier: Apache-2.0
#include "render/text_search.h"

#include "base/units.h"
#include "render/figure.h"
#include "render/label.h"

#include <stdio.h>

static void put_time(const struct cam_text_table_options *o, const struct cam_search_moment *m,
		     struct cam_out *out)
{
	if (m->wall_ns == INT64_MIN) {
		cam_out_printf(out, "%-23s", cam_figure_stamp(m->clock_ns).s);
		return;
	}
	int64_t ns = (int64_t)CAM_NS_PER_SEC, sec = m->wall_ns / ns - (m->wall_ns % ns < 0);
	int32_t east = o->zone ? o->zone(o->zone_arg, sec) : 0;
	cam_out_printf(out, "%-23s", cam_figure_utc(m->wall_ns + east * ns, true).s);
}

int cam_text_search_write(const struct cam_search *s, const struct cam_text_table_options *o,
			  struct cam_out *out)
{
	cam_out_printf(out, "%-23s%10s%9s%9s%10s  %-12s  %s\n", "time", "length", "share", "peak",
		       "samples", "core", "process");
	for (size_t i = 0; i < s->n_moments; i++) {
		const struct cam_search_moment *m = &s->moments[i];
		char core[64] = "?";
		put_time(o, m, out);
		cam_label_put_right(out, cam_figure_duration(m->length_ns).s, 10);
		cam_label_put_right(out, cam_figure_percent(m->samples, m->all).s, 9);
		cam_label_put_right(out, cam_figure_percent(m->peak_samples, m->peak_all).s, 9);
		cam_label_put_right(out, cam_figure_count(m->samples).s, 10);
		if (m->cpu != CAM_CPU_NONE)
			snprintf(core, sizeof(core), "%u (%s)", m->cpu,
				 cam_figure_percent(m->cpu_samples, m->samples).s);
		cam_out_printf(out, "  %s%*s  ", core,
			       (int)(cam_label_columns(cam_text_of(core)) < 12
					     ? 12 - cam_label_columns(cam_text_of(core))
					     : 0),
			       "");
		cam_label_put(out, m->comm.n ? m->comm : CAM_TEXT("?"), 32, CAM_LABEL_PLAIN);
		cam_out_printf(out, " (%d, %s)\n", m->pid,
			       cam_figure_percent(m->process_samples, m->samples).s);
	}
	return out->error;
}
