// SPDX-License-Identifier: Apache-2.0
#include "cli/range.h"

#include "base/units.h"
#include "cli/say.h"
#include "store/store.h"

#include <errno.h>
#include <time.h>

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

int32_t cam_range_zone(void *arg, int64_t sec)
{
	const struct cam_time_world *w = arg;
	return w->zone(w->zone_arg, sec);
}

int cam_range_moment(const char *option, const char *text, int64_t *realtime_ns)
{
	const struct cam_time_world world = cam_range_world();
	char why[CAM_WHEN_WHY_BYTES];
	if (cam_time_parse(cam_text_of(text), &world, realtime_ns, why, sizeof(why)))
		return cam_usage("%s%s%s", option, *option ? ": " : "", why);
	return CAM_EXIT_OK;
}

bool cam_range_is_empty(const struct cam_range_options *o)
{
	return !o->bare && !o->at && !o->around && !o->from && !o->to && !o->last && !o->event &&
	       !o->time;
}

int cam_range_set(const struct cam_range_options *o, struct cam_when *when)
{
	const struct {
		const char *text;
		enum cam_when_key key;
	} given[] = {
		{o->bare, cam_selection_bare(cam_text_of(o->bare ? o->bare : ""))},
		{o->at, CAM_WHEN_AT},
		{o->around, CAM_WHEN_AROUND},
		{o->from, CAM_WHEN_FROM},
		{o->to, CAM_WHEN_TO},
		{o->last, CAM_WHEN_LAST},
		{o->event, CAM_WHEN_EVENT},
		{o->time, CAM_WHEN_TIME},
	};
	char why[CAM_WHEN_WHY_BYTES];
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		int err = given[i].text ? cam_when_set(when, given[i].key,
						       cam_text_of(given[i].text), why, sizeof(why))
					: 0;
		if (err)
			return given[i].text == o->bare
				       ? cam_refused(err, "%s", why)
				       : cam_refused(err, "--%s: %s", cam_when_name(given[i].key),
						     why);
	}
	return cam_when_check(when, why, sizeof(why)) ? cam_usage("%s", why) : CAM_EXIT_OK;
}

static int settle(const struct cam_when *when, struct cam_io *io, int64_t *from_ns, int64_t *to_ns)
{
	struct cam_source *source = NULL;
	char why[CAM_WHEN_WHY_BYTES];
	int err = io && cam_when_needs_windows(when) ? cam_store_open_read(io, &source) : 0;
	if (err)
		return cam_failed("the store: %s", cam_errno_words(err));
	err = cam_when_settle_wall(when, source, from_ns, to_ns, why, sizeof(why));
	if (source)
		source->ops->close(source);
	if (err == -EINVAL)
		return cam_usage("%s", why);
	return err ? cam_failed("%s", why) : CAM_EXIT_OK;
}

int cam_range_resolve(const struct cam_range_options *o, struct cam_io *io, int64_t *from_ns,
		      int64_t *to_ns)
{
	if (cam_range_is_empty(o))
		return cam_usage("which time? try --last 10m, --at 03:14:07 or a window's name");
	struct cam_when when = {.world = cam_range_world()};
	int status = cam_range_set(o, &when);
	if (!status)
		status = settle(&when, io, from_ns, to_ns);
	cam_when_free(&when);
	return status;
}
