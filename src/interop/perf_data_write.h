// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of a perf.data file, for perf_data_out.c: records into a stream, and the frame around them
 * once they are all there. See perf's own description of the format (perf.data-file-format.txt) and the
 * kernel's linux/perf_event.h for the records.
 */
#pragma once
#include "base/out.h"
#include "base/spool.h"
#include "model/tables.h"

/* With each record: who, when and where, as sample_id_all asks for. */
struct cam_perf_stamp {
	int32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t event; /* its number in the file, from 0: the id is one more */
	bool has_cpu;	/* the same for all records of a file */
	bool flat;	/* its event is sampled without chains */
};

#define CAM_PERF_BUILD_ID_BYTES 20u

struct cam_perf_mapping {
	int32_t pid; /* -1: the kernel's */
	uint64_t start, bytes, offset;
	struct cam_text path;
	struct cam_text build_id; /* empty: not known */
};

/* Errors stick to the buffer and come out of cam_perf_write_flush(). */
void cam_perf_write_comm(struct cam_buf *b, const struct cam_perf_stamp *s, struct cam_text comm);
void cam_perf_write_mapping(struct cam_buf *b, const struct cam_perf_stamp *s,
			    const struct cam_perf_mapping *m);
/* ips: as the kernel gives a call chain, with its context marks; at most 4096. */
void cam_perf_write_sample(struct cam_buf *b, const struct cam_perf_stamp *s, bool kernel,
			   uint64_t ip, uint64_t period, const uint64_t *ips, size_t n);

/* What the frame says. */
struct cam_perf_frame_facts {
	bool has_cpu;
	uint64_t first_ns, last_ns;
	/* The clock: CLOCK_MONOTONIC or nothing said; and one instant on it and on the wall. */
	bool monotonic, has_wall;
	uint64_t clock_ns, wall_ns;
	struct cam_text host, kernel, machine, model;
	uint32_t cpus;
	struct cam_text kernel_build_id; /* empty: none is in use */
};

/* The whole file: header, records, events (of t->etypes, in this order), features. */
int cam_perf_write_file(struct cam_out *out, struct cam_spool *records, const struct cam_tables *t,
			const struct cam_perf_frame_facts *facts);
