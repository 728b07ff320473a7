// SPDX-License-Identifier: Apache-2.0
/* perf.data for the verbs: the file it is in, random access to it, and names for what it holds. */
#pragma once
#include "interop/import.h"

/*
 * Reads perf.data, as cam_perf_data_read() does, from `in`, whose descriptor is fd. A file that can only
 * be read in order (compressed, or through a pipe) is first copied to a nameless temporary one, unless
 * it is of the form that perf writes to pipes. Names come from this machine's files (daemon/librarian.h)
 * and from below symfs (NULL: nowhere else).
 */
int cam_perf_reading_import(int fd, struct cam_input *in, const char *symfs, struct cam_sink *sink,
			    struct cam_import_options *o, struct cam_import_stats *st);
