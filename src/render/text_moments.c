// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "render/figure.h"
#include "render/label.h"
#include "render/text_why.h"

#include <inttypes.h>
#include <stdio.h>

static void put_what(const struct cam_why_finding *f, struct cam_out *out)
{
	if (f->kind == CAM_WHY_STOPPED)
		cam_out_str(out, "stopped: ");
	if (f->kind == CAM_WHY_MORE_CGROUP)
		cam_label_put(out, f->cgroup, 60, CAM_LABEL_PLAIN);
	else if (f->kind == CAM_WHY_MORE_FUNCTION || f->kind == CAM_WHY_MORE_CORE ||
		 (f->kind == CAM_WHY_MORE_PATH && !f->process.n))
		cam_out_str(out, "many processes");
	else
		cam_label_put(out, f->process.n ? f->process : CAM_TEXT("[unknown]"), 40,
			      CAM_LABEL_PLAIN);
	if (f->pid != CAM_PID_NONE)
		cam_out_printf(out, " (%d)", f->pid);
	if (f->n_path) {
		cam_out_str(out, " in ");
		cam_label_put(out, f->path[0], 60, CAM_LABEL_PLAIN);
	}
	if (f->entry.n) {
		cam_out_str(out, " ← … ← ");
		cam_label_put(out, f->entry, 40, CAM_LABEL_PLAIN);
	}
}

static void put_moment(const struct cam_why_finding *f, const struct cam_text_why_options *o,
		       struct cam_out *out)
{
	char core[16] = "";
	if (f->wall_ns == INT64_MIN) {
		cam_out_printf(out, "%-23s", cam_figure_stamp(f->clock_ns).s);
	} else {
		int64_t ns = (int64_t)CAM_NS_PER_SEC;
		int64_t sec = f->wall_ns / ns - (f->wall_ns % ns < 0);
		int32_t east = o->table.zone ? o->table.zone(o->table.zone_arg, sec) : 0;
		cam_out_printf(out, "%-23s", cam_figure_utc(f->wall_ns + east * ns, true).s);
	}
	if (f->cpu != CAM_CPU_NONE && f->cpu_samples * 10 >= f->explained * 6)
		snprintf(core, sizeof(core), "CPU %u", f->cpu);
	cam_label_put_right(out, cam_figure_duration(f->span_ns).s, 9);
	cam_out_printf(out, "%8.1f%9" PRIu64 "%10.1f%7u  %-8s  ", f->score, f->samples, f->expected,
		       f->episodes, core);
	put_what(f, out);
	cam_out_str(out, "\n");
}

int cam_text_moments_write(const struct cam_why *w, const struct cam_text_why_options *o,
			   struct cam_out *out)
{
	if (w->n_findings)
		cam_out_printf(out, "%-23s%9s%8s%9s%10s%7s  %-8s  %s\n", "time", "length", "score",
			       "samples", "expected", "others", "core", "what");
	else
		cam_out_str(out, "No moment stands out.\n");
	for (size_t i = 0; i < w->n_findings; i++)
		put_moment(&w->findings[i], o, out);
	cam_out_str(out, "\n");
	cam_text_why_evidence(w, out);
	if (w->n_findings)
		cam_out_str(out, "\nperfcam why TIME says more of one");
	cam_out_str(out, "\n");
	return out->error;
}
