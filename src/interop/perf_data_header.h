// SPDX-License-Identifier: Apache-2.0
/*
 * What stands around the records of a perf.data file: its header, the events, and the features that
 * perf puts behind the records (or between them, where it writes to a pipe): host, clock, names of
 * events, build-ids, formats of tracepoints.
 *
 *   file:	PERFILE2, 104 bytes of header → attrs with their ids, records, then the features
 *   pipe:	PERFILE2, 16, then only records, some of which hold attrs and features
 */
#pragma once
#include "interop/perf_data_attr.h"
#include "interop/perf_data_stacks.h"
#include "interop/trace_format.h"
#include "model/sink.h"

#include <sys/types.h>

/* Random access to the bytes of a file: their number, 0 at the end, negative errno. */
typedef ssize_t cam_perf_read_at_fn(void *arg, void *room, size_t n, uint64_t at);

struct cam_perf_file {
	void *arg;
	cam_perf_read_at_fn *read_at;
	uint64_t bytes; /* of the file */
};

enum cam_perf_form {
	CAM_PERF_FORM_NONE, /* not a perf.data file */
	CAM_PERF_FORM_FILE,
	CAM_PERF_FORM_PIPE,
};

struct cam_perf_header {
	enum cam_perf_form form;
	bool swap;
	uint64_t bytes; /* of the header */
	uint64_t attr_bytes, attrs_at, attrs_bytes;
	uint64_t data_at, data_bytes; /* data_bytes 0: perf did not live to write it */
	uint64_t features[4];
};

/* What features say that concerns the whole file. */
struct cam_perf_meta_data {
	bool has_clock; /* perf record -k: one instant on both clocks */
	uint64_t clock_ns, wall_ns;
	uint64_t first_ns, last_ns; /* of the samples; 0: not said */
	bool foreign_arch;	    /* recorded on another than x86-64 */
	bool missing;		    /* features that should be there are not */
	uint32_t compressed;	    /* by: 1 is zstd */
	uint32_t cpus;		    /* that the host could have; 0: not said */
	struct cam_trace_formats formats;
};

/* `first`: the first bytes of the file, at least 104 where it has them. */
struct cam_perf_header cam_perf_header_parse(struct cam_text first);

/* Events and ids from the file's table. -EBADMSG: there is none to be read; -EIO, -ENOMEM. */
int cam_perf_header_events(const struct cam_perf_header *h, const struct cam_perf_file *f,
			   struct cam_perf_events *events);

/* Where features are put. Errors of these are the sink's, or -ENOMEM: what is malformed is left out. */
struct cam_perf_features {
	struct cam_perf_events *events;
	struct cam_perf_stacks *stacks;
	struct cam_sink *sink;
	struct cam_perf_meta_data *meta;
	bool swap;
};
/* All of a file. */
int cam_perf_features_read(const struct cam_perf_features *to, const struct cam_perf_header *h,
			   const struct cam_perf_file *f);
/* One, by its number. */
int cam_perf_features_take(const struct cam_perf_features *to, uint64_t number, const void *p,
			   size_t bytes);
/* One PERF_RECORD_HEADER_BUILD_ID: what follows its header, and the header's misc. */
int cam_perf_features_build_id(const struct cam_perf_features *to, uint16_t misc, const void *p,
			       size_t bytes);
