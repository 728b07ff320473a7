// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → a perf.data file (its file form, little-endian), for perf script, perf report and whoever else
 * reads those.
 *
 * In it: a sample record for each sample (id, ip, pid, tid, time, CPU where known, period, call chain); a
 * comm record where a thread is new or its name changed; mmap2 records, with build-ids where known; event
 * names, host, kernel and CPUs; the wall clock of the window's clock (perf script -F +tod).
 *
 * Addresses. perf has no names in its files: it looks for them in the mapped files, by build-id. A window
 * has addresses as perf prints them: offsets in a file, or absolute ones of the kernel and of code made at
 * run time. So every module gets a made-up place in every process that uses it, such that perf prints those
 * same offsets; what is absolute stays where it was. What has a name and no address (functions of
 * perfcam's own windows) gets a made-up address in a part of its module where no file has any code: perf
 * prints the module and [unknown], never a wrong name, unless it is given the names beside the file. A kernel without a known build-id gets one that no
 * kernel has, for the same reason.
 *
 * Not in it: names (they are beside it), inlined functions and marks (they have no address), texts of tracepoints (the event is
 * there under its name), what was lost; and of a window that was imported the wall clock, which perf keeps
 * only for a clock that the kernel has a name for.
 *
 * Records are spooled in a temporary file, since the file begins with their size: memory follows the
 * modules and processes.
 */
#pragma once
#include "interop/exporter.h"
#include "interop/perf_names_out.h"

int cam_perf_data_out_new(struct cam_out *out, struct cam_exporter **made);
/*
 * Before the first window: names are wanted, too; salt: any number that no other file has. Modules and the kernel then have build-ids of the directory that
 * cam_perf_data_out_names() gives, behind the last window, file by file (perf_names_out.h).
 */
void cam_perf_data_out_named(struct cam_exporter *x, uint64_t salt);
int cam_perf_data_out_names(struct cam_exporter *x, cam_perf_names_fn *fn, void *arg);
/* Whether perf will find no name for functions that have one, because the names were not wanted. */
bool cam_perf_data_out_lacks_names(const struct cam_exporter *x);
