// SPDX-License-Identifier: Apache-2.0
#include "cli/picking.h"

#include "base/units.h"
#include "cli/place.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENT 4096u

/* Where the words of an argument go. */
struct argument {
	struct cam_range_options *range;
	const struct cam_option *options;
	const char *whole;
	size_t used;
};

/* What words say lives as long as what options say: as long as the program. */
static char word_room[MAX_ARGUMENT];

static int take_word(void *arg, struct cam_text key, struct cam_text value, char *why,
		     size_t why_bytes)
{
	(void)why, (void)why_bytes;
	struct argument *a = arg;
	char name[32], *copy = word_room + a->used;
	a->used += value.n + 1;
	memcpy(copy, value.p, value.n);
	copy[value.n] = 0;
	if (strlen(copy) != value.n)
		return cam_usage("'%s' holds a zero byte", a->whole);
	if (key.n && !cam_text_equal(key, CAM_TEXT("window"))) {
		snprintf(name, sizeof(name), "%.*s", (int)(key.n < 31 ? key.n : 31), key.p);
		return cam_options_set(a->options, a->whole, name, copy);
	}
	if (a->range->bare)
		return cam_usage("'%s': '%s' and '%s' are two; one says when", a->whole,
				 a->range->bare, copy);
	a->range->bare = copy;
	return CAM_EXIT_OK;
}

int cam_picking_argument(const char *words, struct cam_range_options *range,
			 struct cam_filter_options *filters)
{
	char why[CAM_WHEN_WHY_BYTES];
	struct cam_filter_options none;
	struct cam_filter_options *to = filters ? filters : &none;
	const struct cam_option all[] = {
		CAM_RANGE_OPTIONS(*range),
		CAM_FILTER_OPTIONS(*to, "", "", ""),
		{0},
	};
	const struct cam_option times[] = {CAM_RANGE_OPTIONS(*range), {0}};
	if (!words)
		return CAM_EXIT_OK;
	if (!cam_text_ends(cam_text_of(words), CAM_TEXT(".pcw")) && access(words, F_OK) == 0)
		return cam_usage("'%s' is a file, not a time: say -i %s", words, words);
	if (strlen(words) >= sizeof(word_room))
		return cam_usage("a selection has less than %u bytes", MAX_ARGUMENT);
	struct argument a = {range, filters ? all : times, words, 0};
	int status = cam_selection_words(cam_text_of(words), take_word, &a, why, sizeof(why));
	return status < 0 ? cam_refused(status, "'%s': %s", words, why) : status;
}

int cam_picking_select(const struct cam_range_options *range,
		       const struct cam_filter_options *filters, struct cam_selection *s)
{
	char why[CAM_WHEN_WHY_BYTES];
	cam_selection_init(s);
	s->world = cam_filters_world();
	s->when.world = s->world.time;
	int status = cam_filters_apply(filters, s);
	if (!status)
		status = cam_range_set(range, &s->when);
	if (status)
		return status;
	if (!cam_when_is_empty(&s->when))
		s->clock = CAM_SELECT_WHEN;
	int err = cam_selection_check(s, why, sizeof(why));
	return err ? cam_refused(err, "%s", why) : CAM_EXIT_OK;
}

int cam_picking_settle(struct cam_selection *s, const struct cam_reading *in)
{
	char why[CAM_WHEN_WHY_BYTES];
	s->when.of_files = !in->stored;
	int err = cam_selection_settle(s, in->source, why, sizeof(why));
	if (err == -EINVAL)
		return cam_usage("%s", why);
	return err ? cam_failed("%s: %s", in->name, why) : CAM_EXIT_OK;
}

/* When the first window begins and the last one ends; false: none knows wall time. */
static bool span_of(struct cam_source *s, char *from, char *to, size_t room)
{
	const struct cam_window_info *w;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	for (size_t i = 0, n = s->ops->count(s); i < n; i++) {
		if (s->ops->info(s, i, &w) || w->realtime_ns == INT64_MIN)
			continue;
		int64_t end_ns = cam_time_add(w->realtime_ns, w->end_ns - w->start_ns);
		first_ns = w->realtime_ns < first_ns ? w->realtime_ns : first_ns;
		last_ns = end_ns > last_ns ? end_ns : last_ns;
	}
	if (first_ns > last_ns)
		return false;
	cam_show_realtime(first_ns, from, room);
	cam_show_realtime(last_ns, to, room);
	return true;
}

int cam_picking_nothing(const struct cam_reading *in, const struct cam_seen *seen)
{
	char from[48], to[48];
	if (seen->idle)
		return cam_failed("%s: nothing but %llu idle samples: --idle shows them", in->name,
				  (unsigned long long)seen->idle);
	bool placed = span_of(in->source, from, to, sizeof(from));
	if (seen->unplaced && !placed)
		return cam_failed(
			"%s: it has no wall times: perfcam import --at T gives it some; else boot+… may help",
			in->name);
	if (seen->windows || !placed)
		return cam_failed("%s: no samples in the selection", in->name);
	return cam_failed("%s: nothing was recorded then; there is %s to %s, see perfcam ls",
			  in->name, from, to);
}
