// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF programs in the kernel: loaded, their counters read, their scope set.
 *
 * Sides: bpf_source.c calls; libbpf loads what capture/bpf/ was compiled to.
 * Ownership: everything goes with cam_bpf_unload(); a failed load leaves nothing behind.
 * Thread: the drain thread after cam_bpf_load(), which any thread may call. In steady state no call
 * here enters the kernel: the counters are mapped.
 * Refusals: -EPERM, -EACCES (CAP_BPF or CAP_PERFMON is missing), -EOPNOTSUPP (no BTF, a kernel
 * without what the programs use, a pid namespace whose pids are not the kernel's), -ENOMEM, -EMFILE.
 */
#pragma once
#include "capture/bpf_source.h"
#include "capture/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;

/* How the program walks user stacks, the worst first. */
enum cam_bpf_form {
	CAM_BPF_FRAME_POINTERS,
	CAM_BPF_PLAIN_LOOP, /* by tables */
	CAM_BPF_LOOP,	    /* by tables, with the helper bpf_loop (5.17) */
	CAM_BPF_FORMS,
};

struct cam_bpf_options {
	uint32_t max_cpus; /* that may ever come */
	struct cam_wire_config config;
	/* The best that the kernel takes of these is loaded. */
	enum cam_bpf_form best, worst;
};

struct cam_bpf {
	struct bpf_object *object;
	enum cam_bpf_form form;
	int sample_fd;		       /* the program of the sampling events */
	int fork_fd, exec_fd, free_fd; /* attached while there is a scope, or tables; else -1 */
	uint32_t max_cpus;
	const struct cam_wire_counts *counts; /* mapped */
	const struct cam_wire_ends *ends;     /* mapped */
	struct cam_wire_state *state;	      /* mapped */
};

/* Not loaded. */
#define CAM_BPF_NONE \
	((struct cam_bpf){.sample_fd = -1, .fork_fd = -1, .exec_fd = -1, .free_fd = -1})

/*
 * A form that the verifier refuses gives way to the next worse one; its last line stays in *why, also
 * when a worse form was loaded (step and error are 0 then).
 */
int cam_bpf_load(const struct cam_bpf_options *o, struct cam_bpf *out, struct cam_bpf_refusal *why);
/* Harmless on what was not loaded. */
void cam_bpf_unload(struct cam_bpf *b);
/* Of one of its maps; negative: there is none. Stays b's. */
int cam_bpf_map_fd(const struct cam_bpf *b, const char *name);

/* Samples of 16 CPUs from 16 * index on go to that ring from now on. */
int cam_bpf_set_rings(struct cam_bpf *b, const uint32_t *indices, const int *fds, uint32_t n);

/*
 * One CPU's counters at one moment: fired == emitted + ring_full + filtered. false: a program was
 * running there each time we looked.
 */
bool cam_bpf_counts(const struct cam_bpf *b, uint32_t cpu, struct cam_wire_counts *out);

/*
 * A scope is to be set, when it is known whom it has: from now on whoever is forked is in it. Who lists processes after
 * this misses none of their children, whether they are forked before the list is read, while, or after.
 */
int cam_bpf_gather(struct cam_bpf *b);
/* As filter_pids() of capture.h. Enters the kernel. */
int cam_bpf_scope(struct cam_bpf *b, const int32_t *pids, size_t n);
