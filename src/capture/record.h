// SPDX-License-Identifier: Apache-2.0
/*
 * One record of a perf ring, as bytes, into a struct cam_raw.
 *
 * Sides: ring.c (and its fuzzer) calls. Handed over: a contiguous record, aligned to 8, of exactly
 * the length its header says. Ownership: what *out points at lies inside the record. Nothing is
 * believed: every field, count and text is checked against the length.
 *
 * Every event of perfcam is opened with the one sample_type below and sample_id_all, so that a
 * record's fields and the trailer of those that are not samples lie where this file says:
 *
 *	SAMPLE	{header, u32 pid, tid, u64 time, u32 cpu, res, u64 nr, u64 ips[nr]}
 *		and with CAM_RECORD_COPY_TYPE {…, u64 abi, u64 bp, sp, ip (not if abi is 0), u64 size,
 *		u8 stack[size], u64 used (not if size is 0)}
 *	others	{header, body…, u32 pid, tid, u64 time, u32 cpu, res}
 *	KSYMBOL	as others, but bytes without meaning may follow (record.c)
 */
#pragma once
#include "model/raw.h"

#include <linux/perf_event.h>

#define CAM_RECORD_SAMPLE_TYPE \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)
/* And for a copy of the user's half instead of frames of it: registers and stack. */
#define CAM_RECORD_COPY_TYPE (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define CAM_RECORD_COPY_REGS (7ull << 6) /* PERF_REG_X86_BP, SP, IP */
/* Without a stack: what an event is given that never samples. The trailer is the same. */
#define CAM_RECORD_SIDE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

enum cam_record_result {
	CAM_RECORD_OK,
	CAM_RECORD_UNWANTED,  /* a type that is known and not needed: a mapping without PROT_EXEC */
	CAM_RECORD_UNKNOWN,   /* a type that is not known: passed over */
	CAM_RECORD_MALFORMED, /* a known type that breaks its own lengths */
};

/*
 * `max_stack` is attr.sample_max_stack: a chain with that many frames gets CAM_RAW_TRUNCATED; 0: never.
 * `copies`: samples are of CAM_RECORD_COPY_TYPE too.
 * For PERF_RECORD_LOST and LOST_SAMPLES, from_ns and side_band are left 0: the ring knows them.
 */
enum cam_record_result cam_record_decode(const struct perf_event_header *h, uint32_t max_stack,
					 bool copies, struct cam_raw *out);
