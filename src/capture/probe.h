// SPDX-License-Identifier: Apache-2.0
/*
 * What this process may do on this host, and what each thing that is missing costs.
 *
 * Sides: daemon calls, once at start, and prints. Handed over: plain data, no pointers.
 * It only reads /proc and /sys: nothing is opened on trial, so a filter of system calls or a
 * security module may still refuse. Nothing fails: what cannot be read is unknown, and is then
 * taken for the kernel's default.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Effective, and in the initial user namespace where the kernel asks for that. */
enum cam_probe_capability {
	CAM_PROBE_PERFMON = 1 << 0, /* or SYS_ADMIN */
	CAM_PROBE_BPF = 1 << 1,	    /* or SYS_ADMIN */
	CAM_PROBE_PTRACE = 1 << 2,
	CAM_PROBE_CHECKPOINT_RESTORE = 1 << 3, /* or SYS_ADMIN */
	CAM_PROBE_SYSLOG = 1 << 4,
	CAM_PROBE_DAC_READ_SEARCH = 1 << 5, /* or DAC_OVERRIDE */
	CAM_PROBE_IPC_LOCK = 1 << 6,
};

enum cam_probe_lockdown {
	CAM_PROBE_UNLOCKED, /* or not to be read */
	CAM_PROBE_INTEGRITY,
	CAM_PROBE_CONFIDENTIALITY,
};

#define CAM_PROBE_FINDINGS 16u
#define CAM_PROBE_TEXT	   192u

/* Each a clear sentence. */
struct cam_probe_finding {
	char missing[CAM_PROBE_TEXT];
	char cost[CAM_PROBE_TEXT];
	char remedy[CAM_PROBE_TEXT];
};

struct cam_probe {
	/* As read; negative numbers of the kernel's own are kept (paranoid -1). */
	int64_t paranoid, kptr_restrict, max_sample_rate, cpu_time_max_percent, mlock_kb;
	uint32_t kernel_major, kernel_minor; /* 0.0: not to be read */
	uint32_t capabilities;		     /* enum cam_probe_capability */
	enum cam_probe_lockdown lockdown;
	bool initial_user_ns, initial_pid_ns;
	bool btf;
	bool cgroup_v1;		    /* hierarchies of version 1 are in use */
	uint64_t locked_max_bytes;  /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
	uint64_t locked_ring_bytes; /* what rings may lock in all; UINT64_MAX: any */
	uint32_t cpus;		    /* online */

	/* What follows from that. */
	bool may_sample_cpus; /* every CPU, whoever runs; else only threads of one's own */
	bool may_sample_own;
	bool may_sample_kernel; /* kernel stacks */
	bool may_use_bpf;
	bool may_name_kernel; /* addresses in kallsyms */

	uint32_t n_findings;
	struct cam_probe_finding findings[CAM_PROBE_FINDINGS];
};

struct cam_probe_options {
	const char *proc_root, *sys_root; /* "/proc", "/sys" */
	uint32_t hz;			  /* the rate that is wanted */
};

void cam_probe_host(const struct cam_probe_options *o, struct cam_probe *out);
