// SPDX-License-Identifier: Apache-2.0
/* One PERF_RECORD_SAMPLE taken apart, by the sample_type of its event. */
#pragma once
#include "interop/perf_data_attr.h"

struct cam_perf_sample {
	uint64_t ip, time_ns, period, cgroup;
	int32_t pid, tid;
	uint32_t cpu;
	uint16_t misc; /* of its header */
	size_t left;   /* bytes behind all fields: none, unless its size is not true */
	/* What the events of its group had counted (-e '{a,b}:S'): n_values times `value_words` words, the count first, an id
	 * behind it. */
	const uint8_t *values;
	uint64_t n_values;
	unsigned value_words;
	bool has_chain;
	const uint8_t *chain; /* n_chain words of the file's byte order */
	uint64_t n_chain;
	const uint8_t *raw; /* a tracepoint's fields */
	size_t raw_bytes;
	/* A copy of the user's registers and stack, --call-graph dwarf. */
	uint64_t regs_abi;   /* 0: none */
	const uint8_t *regs; /* one word for each bit of regs_mask */
	uint64_t regs_mask;
	unsigned n_regs;
	const uint8_t *stack;
	size_t stack_bytes;
};

/*
 * Takes apart a record of `bytes` bytes, header and all. What the event does not have is
 * CAM_TIME_NONE, CAM_CPU_NONE, -1 for pid and tid, the attr's own period, 0 elsewhere. False: its
 * fields do not fit into it. All pointers are into the record.
 */
bool cam_perf_sample_parse(const struct cam_perf_event *e, const uint8_t *record, size_t bytes,
			   bool swap, struct cam_perf_sample *out);
