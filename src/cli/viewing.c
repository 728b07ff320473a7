// SPDX-License-Identifier: Apache-2.0
#include "cli/viewing.h"

#include "cli/heading.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool cam_viewing_parse(struct cam_viewing *v, const struct cam_verb *verb,
		       const struct cam_option *options, int argc, char **argv, int *status)
{
	int n_rest;
	bool done;
	*status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return false;
	if (n_rest > 1)
		*status = cam_usage("%s takes one time, window or quoted selection, not also '%s'; "
				    "for a file use -i",
				    verb->name, argv[1]);
	else
		*status = cam_picking_argument(n_rest ? argv[0] : NULL, &v->range, &v->filters);
	return *status == CAM_EXIT_OK;
}

int cam_viewing_open(struct cam_viewing *v)
{
	v->json |= v->out && cam_text_ends(cam_text_of(v->out), CAM_TEXT(".json"));
	if (v->weight && strcmp(v->weight, "samples") != 0 && strcmp(v->weight, "period") != 0)
		return cam_usage("--weight takes samples or period, not '%s'", v->weight);
	int status = cam_picking_select(&v->range, &v->filters, &v->selection);
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

void cam_viewing_where(const struct cam_viewing *v, char room[CAM_VIEWING_WHERE_BYTES])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._-+:@%=,";
	const char *path = v->from.file ? v->from.file : v->from.store;
	const char *quote = path && strspn(path, plain) == strlen(path) ? "" : "'";
	room[0] = 0;
	for (const char *p = path; p && *p; p++) {
		if (*p < ' ' || *p > '~' || *p == '\'')
			return;
	}
	if (path && strlen(path) + sizeof("--store ''") < CAM_VIEWING_WHERE_BYTES)
		snprintf(room, CAM_VIEWING_WHERE_BYTES, "%s %s%s%s",
			 v->from.file ? "-i" : "--store", quote, path, quote);
}

int cam_viewing_nothing(const struct cam_viewing *v, const struct cam_seen *seen)
{
	return cam_picking_nothing(&v->in, seen);
}

int cam_viewing_write(const struct cam_viewing *v, cam_viewing_put_fn *put, const void *view,
		      const struct cam_seen *seen)
{
	struct cam_output *output = cam_output_open(v->out);
	if (!output)
		return CAM_EXIT_FAILED;
	put(v, view, cam_output_stream(output));
	int status = cam_output_commit(output);
	return status ? status : cam_heading_judge(seen);
}

int cam_viewing_failed(const struct cam_viewing *v, int err)
{
	if (err == -EDOM)
		return cam_failed(
			"%s: its samples have no times: folded stacks have none; flame, top and report show them",
			v->in.name);
	return cam_failed("%s: %s", v->in.name, cam_errno_words(err));
}
