// SPDX-License-Identifier: Apache-2.0
#include "render/heat_tracks.h"

#include "render/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST 0.001 /* of a share: below it a lane has nothing to show */

static const struct {
	const char *words;
	uint32_t light, dark;
} tracks[CAM_COUNTER_MAX] = {
	[CAM_COUNTER_USER] = {"user", 0x3b7dd8, 0x6ba4f0},
	[CAM_COUNTER_SYSTEM] = {"system", 0xd9632a, 0xf08a4b},
	[CAM_COUNTER_IRQ] = {"irq", 0x8d44ad, 0xb87fd6},
	[CAM_COUNTER_SOFTIRQ] = {"softirq", 0xc2407f, 0xe277a8},
	[CAM_COUNTER_STEAL] = {"stolen", 0x14181f, 0xe8ecf2},
	[CAM_COUNTER_IDLE] = {"idle", 0xe3e6eb, 0x272d36},
	[CAM_COUNTER_RUNNABLE] = {"run queue", 0x47515f, 0xaab3c0},
	[CAM_COUNTER_SWITCHES] = {"context switches", 0x47515f, 0xaab3c0},
	[CAM_COUNTER_PSI_CPU] = {"some task waited for a CPU", 0xc77700, 0xf0b03c},
	[CAM_COUNTER_PSI_MEMORY] = {"some task waited for memory", 0xb3261e, 0xf2776d},
	[CAM_COUNTER_PSI_MEMORY_FULL] = {"all tasks waited for memory", 0xb3261e, 0xf2776d},
	[CAM_COUNTER_PSI_IO] = {"some task waited for I/O", 0x1f8a70, 0x4fc3a5},
	[CAM_COUNTER_PSI_IO_FULL] = {"all tasks waited for I/O", 0x1f8a70, 0x4fc3a5},
	[CAM_COUNTER_SOFTNET_DROPPED] = {"packets dropped", 0xb3261e, 0xf2776d},
	[CAM_COUNTER_SOFTNET_SQUEEZED] = {"packet budget used up", 0xc77700, 0xf0b03c},
	[CAM_COUNTER_MEMORY_CGROUPS] = {"memory cgroups", 0x47515f, 0xaab3c0},
	[CAM_COUNTER_RUN_DELAY] = {"the busiest threads waited to run", 0xc77700, 0xf0b03c},
	[CAM_COUNTER_OWN_CPU] = {"perfcam itself", 0x47515f, 0xaab3c0},
};

const char *cam_heat_track_words(enum cam_counter_kind kind)
{
	return kind < CAM_COUNTER_MAX && tracks[kind].words ? tracks[kind].words : "";
}

struct cam_rgb cam_heat_track_colour(enum cam_counter_kind kind, bool dark)
{
	uint32_t v = dark ? tracks[kind].dark : tracks[kind].light;
	return (struct cam_rgb){(uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
}

/* The largest mean of any bin; 0: none is known. */
static double most_of(const struct cam_tracks *t, enum cam_counter_kind kind)
{
	const float *mean = t->by_kind[kind].mean;
	double most = 0;
	for (size_t i = 0; mean && i < t->n; i++)
		most = (double)mean[i] > most ? (double)mean[i] : most;
	return most;
}

size_t cam_heat_lanes(const struct cam_tracks *t, struct cam_heat_lane lanes[CAM_HEAT_LANES])
{
	static const struct cam_heat_lane all[CAM_HEAT_LANES] = {
		{"host",
		 {CAM_COUNTER_USER, CAM_COUNTER_SYSTEM, CAM_COUNTER_IRQ, CAM_COUNTER_SOFTIRQ,
		  CAM_COUNTER_STEAL},
		 5,
		 1},
		{"queue", {CAM_COUNTER_RUNNABLE}, 1, 0},
		{"waited", {CAM_COUNTER_RUN_DELAY}, 1, 0},
		{"psi cpu", {CAM_COUNTER_PSI_CPU}, 1, 1},
		{"psi mem", {CAM_COUNTER_PSI_MEMORY}, 1, 1},
		{"psi i/o", {CAM_COUNTER_PSI_IO}, 1, 1},
	};
	size_t n = 0;
	for (size_t i = 0; t && i < CAM_HEAT_LANES; i++) {
		double most = most_of(t, all[i].kinds[0]);
		bool there = i == 0 ? t->by_kind[CAM_COUNTER_IDLE].mean != NULL : most > LEAST;
		if (!there)
			continue;
		lanes[n] = all[i];
		if (!(lanes[n].full > 0))
			lanes[n].full = most;
		n++;
	}
	return n;
}

double cam_heat_lane_part(const struct cam_tracks *t, const struct cam_heat_lane *lane,
			  enum cam_counter_kind kind, size_t bin)
{
	const float *mean = t->by_kind[kind].mean;
	if (!mean || bin >= t->n || isnan(mean[bin]))
		return NAN;
	double part = (double)mean[bin] / lane->full;
	return part < 0 ? 0 : part > 1 ? 1 : part;
}

bool cam_heat_lane_known(const struct cam_tracks *t, const struct cam_heat_lane *lane, size_t bin)
{
	for (size_t i = 0; i < lane->n_kinds; i++) {
		if (!isnan(cam_heat_lane_part(t, lane, lane->kinds[i], bin)))
			return true;
	}
	return false;
}

static struct cam_figure amount_of(enum cam_counter_kind kind, double v)
{
	struct cam_figure f;
	switch (cam_track_unit(kind)) {
	case CAM_TRACK_MACHINE:
	case CAM_TRACK_TIME:
		return cam_figure_percent((uint64_t)(v * 1e6 + 0.5), 1000000);
	case CAM_TRACK_CPUS:
		snprintf(f.s, sizeof(f.s), "%.2f s a second", v);
		break;
	case CAM_TRACK_PER_SECOND:
		f = cam_figure_count((uint64_t)(v + 0.5));
		snprintf(f.s + strlen(f.s), sizeof(f.s) - strlen(f.s), " a second");
		break;
	default:
		snprintf(f.s, sizeof(f.s), "%.*f", v < 10 ? 1 : 0, v);
	}
	return f;
}

struct cam_figure cam_heat_lane_full(const struct cam_heat_lane *lane)
{
	return amount_of(lane->kinds[0], lane->full);
}

void cam_heat_bin_put(const struct cam_tracks *t, size_t bin, struct cam_out *out)
{
	for (unsigned k = 0; k < CAM_COUNTER_MAX; k++) {
		enum cam_counter_kind kind = (enum cam_counter_kind)k;
		const struct cam_track *track = &t->by_kind[k];
		if (!tracks[k].words || !track->mean || isnan(track->mean[bin]))
			continue;
		cam_out_printf(out, "\n%s: %s", tracks[k].words,
			       amount_of(kind, (double)track->mean[bin]).s);
		if (cam_track_unit(kind) == CAM_TRACK_MACHINE && track->peak[bin] > 0)
			cam_out_printf(out, ", at most %s of CPU %u",
				       amount_of(kind, (double)track->peak[bin]).s,
				       track->peak_who[bin]);
	}
}

bool cam_heat_waiters_put(const struct cam_tracks *t, size_t n, enum cam_label_form form,
			  struct cam_out *out)
{
	for (size_t i = 0; i < t->n_waiters && i < n; i++) {
		const struct cam_track_waiter *w = &t->waiters[i];
		cam_out_str(out, i ? ", " : "");
		cam_label_put(out, w->comm.n ? w->comm : CAM_TEXT("?"), 32, form);
		cam_out_printf(out, " (%d) %s", w->tid, cam_figure_duration(w->waited_ns).s);
	}
	return t->n_waiters > 0;
}
