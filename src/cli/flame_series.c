// SPDX-License-Identifier: Apache-2.0
#include "cli/flame_series.h"

#include "base/units.h"
#include "cli/place.h"
#include "cli/say.h"

#include <stdio.h>
#include <string.h>

#define MOST 10000

struct extent {
	int64_t from, to;
	bool any, known;
};

static void widen(struct extent *e, int64_t from, int64_t to, bool known)
{
	e->from = e->any && e->from < from ? e->from : from;
	e->to = e->any && e->to > to ? e->to : to;
	e->known = known && (e->known || !e->any);
	e->any = true;
}

/* What the windows hold by wall clock, and by their own. */
static void measure(struct cam_source *source, const struct cam_selection *s, struct extent *wall,
		    struct extent *clock)
{
	size_t n = source->ops->count(source);
	const struct cam_window_info *info, *next, *before = NULL;
	for (size_t i = 0; i < n; i++) {
		if (source->ops->info(source, i, &info))
			continue;
		if (i + 1 == n || source->ops->info(source, i + 1, &next))
			next = NULL;
		if (!cam_selection_may_touch(s, info, next) || info->clock == CAM_CLOCK_ABSENT)
			continue;
		bool same =
			!before || !memcmp(&before->boot_id, &info->boot_id, sizeof(info->boot_id));
		bool dated = info->realtime_ns != INT64_MIN;
		int64_t end = cam_time_add(info->realtime_ns, info->end_ns - info->start_ns);
		widen(wall, dated ? info->realtime_ns : 0, dated ? end : 0, dated);
		widen(clock, (int64_t)info->start_ns, (int64_t)info->end_ns, same);
		before = info;
	}
}

static int64_t floor_to(int64_t v, int64_t step)
{
	int64_t rest = v % step;
	return v - (rest < 0 ? rest + step : rest);
}

int cam_flame_series_find(const char *every, struct cam_source *source,
			  const struct cam_selection *s, struct cam_flame_series *out)
{
	uint64_t step;
	struct extent wall = {0}, clock = {0};
	if (cam_duration_parse(cam_text_of(every), &step) || !step || step > INT64_MAX / 4)
		return cam_usage("--every takes a length of time, like 5s or 500ms, not '%s'",
				 every);
	measure(source, s, &wall, &clock);
	bool by_wall = s->clock == CAM_SELECT_WALL ||
		       (s->clock == CAM_SELECT_ALWAYS && wall.any && wall.known);
	const struct extent *e = by_wall ? &wall : &clock;
	if (!e->any || !e->known)
		return cam_failed("--every: there are no times to cut at in what was selected");
	*out = (struct cam_flame_series){
		.wall = by_wall, .from_ns = e->from, .to_ns = e->to, .step_ns = (int64_t)step};
	if (s->clock != CAM_SELECT_ALWAYS) {
		out->from_ns = s->from_ns > e->from ? s->from_ns : e->from;
		out->to_ns = s->to_ns < e->to ? s->to_ns : e->to;
	}
	int64_t start = floor_to(out->from_ns, out->step_ns);
	if (out->to_ns <= out->from_ns)
		return cam_failed("--every: nothing was recorded in that time");
	uint64_t n = ((uint64_t)(out->to_ns - start) + step - 1) / step;
	if (n > MOST)
		return cam_usage("--every %s: that would be %llu pictures; at most %d are drawn",
				 every, (unsigned long long)n, MOST);
	out->n = (size_t)n;
	return CAM_EXIT_OK;
}

static int64_t start_of(const struct cam_flame_series *series, size_t i)
{
	return floor_to(series->from_ns, series->step_ns) + (int64_t)i * series->step_ns;
}

void cam_flame_series_select(const struct cam_flame_series *series, size_t i,
			     struct cam_selection *s)
{
	int64_t from = start_of(series, i), to = from + series->step_ns;
	s->clock = series->wall ? CAM_SELECT_WALL : CAM_SELECT_CLOCK;
	s->from_ns = from > series->from_ns ? from : series->from_ns;
	s->to_ns = to < series->to_ns ? to : series->to_ns;
	/* What is not cut at either end goes to the end, whatever the last moment counts as. */
	if (i + 1 == series->n && series->to_ns < INT64_MAX)
		s->to_ns = series->to_ns + 1;
}

void cam_flame_series_stamp(const struct cam_flame_series *series, size_t i, char *room,
			    size_t bytes)
{
	int64_t at = start_of(series, i);
	int ms = (int)(at / (int64_t)CAM_NS_PER_MS % 1000);
	bool fine = series->step_ns % (int64_t)CAM_NS_PER_SEC != 0;
	char text[40], part[8] = "";
	if (fine)
		snprintf(part, sizeof(part), ".%03d", ms < 0 ? -ms : ms);
	if (!series->wall) {
		snprintf(room, bytes, "%lld%ss", (long long)(at / (int64_t)CAM_NS_PER_SEC), part);
		return;
	}
	/* "2026-04-15 03:14:07+02:00" */
	cam_show_realtime(at, text, sizeof(text));
	if (strlen(text) < 19)
		text[0] = 0;
	snprintf(room, bytes, "%.4s%.2s%.2s-%.2s%.2s%.2s%s", text, text + 5, text + 8, text + 11,
		 text + 14, text + 17, part);
}

void cam_flame_series_path(const char *path, const char *stamp, char *room, size_t bytes)
{
	static const char *const packed[] = {".gz", ".zst"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct cam_text s = cam_text_of(name);
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		if (cam_text_ends(s, cam_text_of(packed[i])))
			s.n -= strlen(packed[i]);
	}
	const char *dot = s.n > 1 ? memrchr(s.p + 1, '.', s.n - 1) : NULL;
	int head = (int)((dot ? dot : s.p + s.n) - path);
	snprintf(room, bytes, "%.*s-%s%s", head, path, stamp, path + head);
}
