// SPDX-License-Identifier: Apache-2.0
#include "cli/range.h"

#include "base/units.h"
#include "cli/say.h"
#include "store/store.h"

#include <time.h>

#define AROUND_NS (5 * CAM_NS_PER_SEC)

static int32_t local_zone(void *arg, int64_t sec)
{
	(void)arg;
	time_t t = (time_t)sec;
	struct tm tm;
	return localtime_r(&t, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

struct cam_time_world cam_range_world(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (struct cam_time_world){
		.now_ns = (int64_t)t.tv_sec * (int64_t)CAM_NS_PER_SEC + t.tv_nsec,
		.zone = local_zone,
	};
}

static int moment_in(const struct cam_time_world *world, const char *option, const char *text,
		     int64_t *realtime_ns)
{
	char why[256];
	if (cam_time_parse(cam_text_of(text), world, realtime_ns, why, sizeof(why)))
		return cam_usage("%s%s%s", option, *option ? ": " : "", why);
	return CAM_EXIT_OK;
}

int cam_range_moment(const char *option, const char *text, int64_t *realtime_ns)
{
	const struct cam_time_world world = cam_range_world();
	return moment_in(&world, option, text, realtime_ns);
}

bool cam_range_is_empty(const struct cam_range_options *o, const char *argument)
{
	return !argument && !o->at && !o->around && !o->from && !o->to && !o->last;
}

static int duration(const char *option, const char *text, uint64_t *ns)
{
	if (cam_duration_parse(cam_text_of(text), ns) || *ns == 0 || *ns > INT64_MAX / 4)
		return cam_usage("%s: '%s' is not a duration; try 90s, 10m or 2h", option, text);
	return CAM_EXIT_OK;
}

static int of_window(const char *name, struct cam_io *io, int64_t *from_ns, int64_t *to_ns)
{
	struct cam_source *source;
	int err = cam_store_open_read(io, &source);
	if (err)
		return cam_failed("the store: %s", cam_errno_words(err));
	int status = CAM_EXIT_FAILED;
	bool known = false;
	for (size_t i = source->ops->count(source); i > 0 && !known; i--) {
		const struct cam_window_info *w;
		if (source->ops->info(source, i - 1, &w) ||
		    !cam_text_equal(w->name, cam_text_of(name)))
			continue;
		known = true;
		if (w->realtime_ns == INT64_MIN || w->end_ns < w->start_ns) {
			cam_failed("%s: its place in time is not known", name);
			continue;
		}
		*from_ns = w->realtime_ns;
		*to_ns = w->realtime_ns + (int64_t)(w->end_ns - w->start_ns) + 1;
		status = CAM_EXIT_OK;
	}
	source->ops->close(source);
	return known ? status : cam_failed("%s: no such window in the store; see perfcam ls", name);
}

static int around(const struct cam_time_world *world, const struct cam_range_options *o,
		  const char *at, int64_t *from_ns, int64_t *to_ns)
{
	uint64_t half = AROUND_NS;
	int64_t middle;
	int status = o->around ? duration("--around", o->around, &half) : CAM_EXIT_OK;
	if (!status)
		status = moment_in(world, o->at ? "--at" : "", at, &middle);
	if (status)
		return status;
	*from_ns = middle - (int64_t)half;
	*to_ns = middle + (int64_t)half;
	return CAM_EXIT_OK;
}

static int from_to(const struct cam_time_world *world, const struct cam_range_options *o,
		   int64_t *from_ns, int64_t *to_ns)
{
	*to_ns = world->now_ns;
	int status = moment_in(world, "--from", o->from, from_ns);
	if (!status && o->to)
		status = moment_in(world, "--to", o->to, to_ns);
	if (!status && *from_ns >= *to_ns)
		status = cam_usage("--from %s is not before --to %s", o->from,
				   o->to ? o->to : "now");
	return status;
}

int cam_range_resolve(const struct cam_range_options *o, const char *argument, struct cam_io *io,
		      int64_t *from_ns, int64_t *to_ns)
{
	const struct cam_time_world world = cam_range_world();
	int ways = (argument != NULL) + (o->at != NULL) + (o->from != NULL) + (o->last != NULL);
	if (ways > 1)
		return cam_usage("one of a window's name, a time, --at, --from and --last says it; "
				 "here are %d",
				 ways);
	if (o->to && !o->from)
		return cam_usage("--to needs --from");
	bool window = argument && cam_text_ends(cam_text_of(argument), CAM_TEXT(".pcw"));
	if (o->around && (window || !(o->at || argument)))
		return cam_usage("--around needs --at");
	if (window)
		return of_window(argument, io, from_ns, to_ns);
	if (o->from)
		return from_to(&world, o, from_ns, to_ns);
	if (o->last) {
		uint64_t ns = 0;
		int status = duration("--last", o->last, &ns);
		*to_ns = world.now_ns;
		*from_ns = world.now_ns - (int64_t)ns;
		return status;
	}
	const char *at = o->at ? o->at : argument;
	return at ? around(&world, o, at, from_ns, to_ns)
		  : cam_usage("which time? try --last 10m, --at 03:14:07 or a window's name");
}
