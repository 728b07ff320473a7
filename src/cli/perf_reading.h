// SPDX-License-Identifier: Apache-2.0
/* perf.data for the verbs: the file it is in, random access to it, and names for what it holds. */
#pragma once
#include "cli/progress_bar.h"
#include "cli/reading.h"
#include "interop/import.h"

/* A file as it is read. Nothing here is its owner. */
struct cam_opened {
	const char *path;
	int fd;
	struct cam_input *in;
	struct cam_progress_bar *bar;
};

/* Whether it is a directory that perf record --threads made: the file "data" has the header. */
bool cam_perf_reading_is_directory(int fd);

/*
 * Reads perf.data, as cam_perf_data_read() does, of from->in, whose descriptor is fd (of a directory: its
 * file "data"; `path` is the directory). A file that can only be read in order (compressed, or through a pipe) is
 * first copied to a nameless temporary one, unless it is of the form that perf writes to pipes. Names come
 * from this machine's files (daemon/librarian.h); wall time, where the file has none, from what was told, from
 * its name, or from when it was written.
 */
int cam_perf_reading_import(const struct cam_opened *from, const struct cam_told *told,
			    struct cam_sink *sink, struct cam_import_options *o,
			    struct cam_import_stats *st);
