// SPDX-License-Identifier: Apache-2.0
/*
 * One CPU of the BPF source: its sampling event with the program, its control, and the stream of the
 * records made beside the ring: CAM_RAW_CPU, CAM_RAW_LOST, CAM_RAW_COUNTS. Private to bpf_source.c
 * and its tests.
 */
#pragma once
#include "capture/bpf_load.h"
#include "capture/kernel.h"
#include "capture/pulse.h"
#include "capture/rings.h"
#include "capture/synth.h"
#include "capture/witness.h"

struct cam_bpf_cpu {
	struct cam_synth synth; /* first: its stream is this CPU's */
	uint32_t cpu;
	uint32_t hz; /* for COUNTS; 0: as asked */
	const struct cam_bpf *bpf;
	const struct cam_kernel *kernel;
	int fd;
	struct cam_witness control;

	struct cam_wire_counts base; /* when it was opened: counts begin anew */
	struct cam_wire_counts now;  /* as last seen, without base */
	uint64_t malformed;	     /* records of this ring that the reader could not use */
	uint64_t told;		     /* losses that LOST records have told */
	uint64_t told_fired;	     /* of the last COUNTS */
	uint64_t opened_ns, counts_ns;
	uint64_t seen_ns; /* the last round that saw the counters in one piece */
	struct cam_pulse pulse;
	uint64_t fired_ns; /* the last round that found it to have fired */
	bool gone;	   /* no events any more: what is left is read */
	bool dead;	   /* the kernel has killed the event */
	bool asked;	   /* COUNTS are due in the next round, whatever the time */
};

struct cam_bpf_cpu_options {
	const struct cam_kernel *kernel;
	const struct cam_bpf *bpf;
	const struct perf_event_attr *attr; /* of the sampling event, disabled */
	bool control;
	struct cam_ring_budget *budget;
};

/* Samples from then on. Errors: what perf_event_open says, -ENOBUFS (locked memory), -ENOMEM. */
int cam_bpf_cpu_open(const struct cam_bpf_cpu_options *o, uint32_t cpu, struct cam_bpf_cpu **out);
void cam_bpf_cpu_begin(struct cam_bpf_cpu *c, uint64_t round_ns);
/* The last counts; no events any more. */
void cam_bpf_cpu_retire(struct cam_bpf_cpu *c, struct cam_ring_budget *budget);
void cam_bpf_cpu_close(struct cam_bpf_cpu *c, struct cam_ring_budget *budget);
