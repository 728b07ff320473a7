// SPDX-License-Identifier: Apache-2.0
/*
 * perf.data in: what `perf record` wrote, read without perf, from files and pipes to a cam_sink.
 *
 * Taken: both forms (file, and `perf record -o -`), both byte orders, `-z`, several events, files of
 * `--threads`. Damage costs what it hits: a record that cannot be is skipped, and the next one that
 * can is searched for; a file that was cut or never finished gives what is there.
 *
 * How records become nouns
 *  - task: pid, tid and the name the thread has at that time; its cgroup where that was recorded.
 *  - event type: the name that perf prints; weight: the period, but for tracepoints (perf prints none).
 *  - location: the address, in the object that was mapped there then, named by options.namer; an address in
 *    nothing that is known is in "[unknown]". Order and rules of perf: see perf_data_space.h.
 *  - lost and throttled stretches go to the ledger.
 *  - anchor: perf record -k's own; else see options.began_ns and written_ns.
 *
 * Memory does not follow the file: records wait for their turn (perf_data_order.h), spaces and
 * locations are bounded (perf_data_space.h, perf_data_stacks.h).
 */
#pragma once
#include "interop/import.h"
#include "interop/perf_data_header.h"

/*
 * The pipe form, from its first byte. -ESPIPE: it is the file form, of which nothing was taken yet: that
 * needs cam_perf_data_read_files(). See import.h for the rest.
 */
int cam_perf_data_read(struct cam_input *in, struct cam_sink *sink,
		       const struct cam_import_options *o, struct cam_import_stats *st);

/*
 * The file form: files[0] has the header; the others, if any, hold records alone (perf record
 * --threads). At most CAM_PERF_MAX_STREAMS.
 */
int cam_perf_data_read_files(const struct cam_perf_file *files, size_t n_files,
			     struct cam_sink *sink, const struct cam_import_options *o,
			     struct cam_import_stats *st);
