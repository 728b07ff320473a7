// SPDX-License-Identifier: Apache-2.0
#include "cli/viewing.h"

#include "cli/say.h"

#include <string.h>

int cam_viewing_open(struct cam_viewing *v, const char *argument)
{
	if (v->weight && strcmp(v->weight, "samples") != 0 && strcmp(v->weight, "period") != 0)
		return cam_usage("--weight takes samples or period, not '%s'", v->weight);
	int status = cam_picking_select_at(&v->range, argument, &v->filters, &v->selection);
	if (!status)
		status = v->read_status = cam_reading_open(&v->from, &v->in);
	if (status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE) {
		cam_selection_free(&v->selection);
		return status;
	}
	status = cam_picking_settle(&v->selection, &v->in);
	if (status)
		return cam_viewing_close(v, status);
	bool period = v->weight ? v->weight[0] == 'p' : v->in.foreign;
	v->weigh = period ? CAM_WEIGHT_PERIOD : CAM_WEIGHT_SAMPLES;
	cam_progress_bar_init(&v->bar);
	return CAM_EXIT_OK;
}

int cam_viewing_close(struct cam_viewing *v, int status)
{
	cam_progress_bar_end(&v->bar);
	cam_reading_close(&v->in);
	cam_selection_free(&v->selection);
	return status ? status : v->read_status;
}

int cam_viewing_nothing(const struct cam_viewing *v, const struct cam_seen *seen)
{
	return cam_picking_nothing(&v->in, seen);
}

int cam_viewing_failed(const struct cam_viewing *v, int err)
{
	return cam_failed("%s: %s", v->in.name, cam_errno_words(err));
}
