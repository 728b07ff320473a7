// SPDX-License-Identifier: Apache-2.0
/*
 * Events after the fact: lines of a log that somebody saved, into the windows of a store that were recorded then. They
 * pass the same intake as live ones: bounded, without secrets, with the severity of what is known. A line whose time
 * lies in no window is left out, and so is one that is there already: importing twice adds nothing.
 *
 * Times as events/log_time.h reads them. Stamps of a dmesg are of one boot: the one named, else the newest of the store;
 * or, with began_ns, the wall clock at that boot's beginning is believed instead.
 */
#pragma once
#include "events/log_time.h"
#include "store/store.h"

#define CAM_BYGONE_MAX_BYTES ((size_t)64 << 20)

struct cam_bygone_request {
	struct cam_text text;	    /* the file */
	const char *name;	    /* of the file, for the source */
	struct cam_log_world world; /* as of now, or of when it was saved */
	struct cam_text boot;	    /* the first digits of a boot id; empty: the newest */
	int64_t began_ns;	    /* INT64_MIN: not said */
};

struct cam_bygone_counts {
	uint64_t lines, added, known;
	uint64_t untimed, outside; /* without a time; in no window */
	uint64_t suppressed;	   /* by the intake's limits */
};

/* -ENOENT: no such boot in the store; -ENOMEM; errors of the store: then some may have been added. */
int cam_bygone_import(struct cam_io *io, struct cam_store *store,
		      const struct cam_bygone_request *q, struct cam_bygone_counts *counts);
