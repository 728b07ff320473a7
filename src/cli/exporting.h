// SPDX-License-Identifier: Apache-2.0
/*
 * What verbs that write samples share: a source, a selection and a stream, opened together; windows one
 * after the other into a format; what was lost, damaged or left out, said once at the end.
 */
#pragma once
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/reading.h"
#include "interop/exporter.h"
#include "query/row_pick.h"

struct cam_exporting_options {
	struct cam_reading_options from;
	struct cam_range_options range;
	struct cam_filter_options filters;
	const char *out;
	bool gzip; /* whatever the name of `out` */
};

struct cam_exporting {
	struct cam_reading in;
	struct cam_selection selection;
	struct cam_output *output;
	const char *out_name;
	int read_status;
};

/*
 * Everything that can be wrong before the first byte. `events`: a pattern of event types instead of
 * --event-type, or NULL. OK: cam_exporting_close() ends it. Otherwise nothing is open.
 */
int cam_exporting_open(const struct cam_exporting_options *o, const char *events,
		       const struct cam_wanted *want, struct cam_exporting *x);

/* One window into the format that is being written. */
typedef int cam_exporting_add(void *to, struct cam_window *w, const struct cam_row_filter *rows);
/* Every window of the selection. Exit status, after saying what is missing. */
int cam_exporting_each(struct cam_exporting *x, cam_exporting_add *add, void *to);

/*
 * The same into an exporter, and its end, with what its counts say. `what`: "perf script text is one
 * sample after the other", for those who gave counts. *error (may be NULL): the exporter's own errno,
 * not said yet where it is -ENODATA.
 */
int cam_exporting_write(struct cam_exporting *x, struct cam_exporter *e, const char *what,
			int *error);

/* Says that chunks were damaged. */
int cam_exporting_damage(const struct cam_damage *d);

/* `worst` so far; gives the file its name, or leaves nothing behind. Exit status. */
int cam_exporting_close(struct cam_exporting *x, int worst);
