// SPDX-License-Identifier: Apache-2.0
#include "cli/picking.h"

#include "cli/say.h"

#include <errno.h>

int cam_picking_select(const struct cam_range_options *range,
		       const struct cam_filter_options *filters, struct cam_selection *s)
{
	return cam_picking_select_at(range, NULL, filters, s);
}

int cam_picking_select_at(const struct cam_range_options *range, const char *argument,
			  const struct cam_filter_options *filters, struct cam_selection *s)
{
	char why[CAM_WHEN_WHY_BYTES];
	cam_selection_init(s);
	s->world = cam_filters_world();
	s->when.world = s->world.time;
	int status = cam_filters_apply(filters, s);
	if (!status)
		status = cam_range_set(range, argument, &s->when);
	if (status)
		return status;
	if (!cam_when_is_empty(&s->when))
		s->clock = CAM_SELECT_WHEN;
	return cam_selection_check(s, why, sizeof(why)) ? cam_usage("%s", why) : CAM_EXIT_OK;
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
