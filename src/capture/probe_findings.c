// SPDX-License-Identifier: Apache-2.0
/*
 * What follows from what was read: the kernel's own rules.
 *
 *	perf_event_paranoid (kernel/events/core.c; without CAP_PERFMON)
 *		> 2	nothing (some distributions), > 1 no kernel, > 0 no CPU-wide events
 *	kptr_restrict (kernel/ksyms_common.c): addresses in kallsyms are shown
 *		0	to all if paranoid <= 1, else as 1
 *		1	to CAP_SYSLOG
 *		2	to nobody
 *	perf_event_mlock_kb (perf_mmap()): each user may lock that a CPU, and RLIMIT_MEMLOCK
 *		beyond; CAP_IPC_LOCK, or paranoid -1: any
 *	lockdown=confidentiality (security/lockdown): BPF programs may not read kernel memory
 */
#include "capture/probe_findings.h"

#include "capture/ring_size.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool has(const struct cam_probe *p, uint32_t capability)
{
	return p->capabilities & capability;
}

static struct cam_probe_finding *add(struct cam_probe *p, const char *cost, const char *remedy)
{
	/* There are fewer findings than room; the last place would be overwritten, not passed. */
	if (p->n_findings < CAM_PROBE_FINDINGS)
		p->n_findings++;
	struct cam_probe_finding *f = &p->findings[p->n_findings - 1];
	snprintf(f->cost, sizeof(f->cost), "%s", cost);
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
	return f;
}

__attribute__((format(printf, 4, 5))) static void find(struct cam_probe *p, const char *cost,
						       const char *remedy, const char *missing, ...)
{
	struct cam_probe_finding *f = add(p, cost, remedy);
	va_list args;

	va_start(args, missing);
	vsnprintf(f->missing, sizeof(f->missing), missing, args);
	va_end(args);
}

static void judge_sampling(struct cam_probe *p)
{
	bool perfmon = has(p, CAM_PROBE_PERFMON);

	p->may_sample_cpus = perfmon || p->paranoid <= 0;
	p->may_sample_kernel = perfmon || p->paranoid <= 1;
	p->may_sample_own = perfmon || p->paranoid <= 2;
	if (!p->initial_user_ns)
		find(p,
		     "Whatever root is here, the kernel gives perf, BPF and its addresses only to "
		     "the host's root.",
		     "Run perfcam on the host, or in a container without a user namespace of its "
		     "own.",
		     "This is a user namespace.");
	if (!p->may_sample_own)
		find(p, "Nothing can be sampled.",
		     "Run as root, or with CAP_PERFMON, or set kernel.perf_event_paranoid to 2.",
		     "CAP_PERFMON is missing and kernel.perf_event_paranoid is %lld.",
		     (long long)p->paranoid);
	else if (!p->may_sample_cpus)
		find(p,
		     p->may_sample_kernel
			     ? "Only your own processes can be sampled (-p PID, -- CMD)."
			     : "Only your own processes can be sampled (-p PID, -- CMD), without "
			       "kernel stacks.",
		     "Run as root, or with CAP_PERFMON, or set kernel.perf_event_paranoid to 0 or "
		     "less.",
		     "CAP_PERFMON is missing and kernel.perf_event_paranoid is %lld.",
		     (long long)p->paranoid);
	if (!p->initial_pid_ns)
		find(p,
		     "Processes outside of it have no pid here: their samples are counted as filtered.",
		     "Run perfcam in the host's pid namespace (docker: --pid=host).",
		     "This is not the host's pid namespace.");
}

static void judge_rate(struct cam_probe *p, uint32_t hz)
{
	if (p->max_sample_rate <= 0 || p->max_sample_rate >= hz)
		return;
	char cost[CAM_PROBE_TEXT], remedy[CAM_PROBE_TEXT];
	snprintf(cost, sizeof(cost), "%lld samples a second are taken of each CPU, not %u.",
		 (long long)p->max_sample_rate, hz);
	/* The kernel lowers it by itself when samples take too long. */
	if (p->cpu_time_max_percent > 0 && p->cpu_time_max_percent < 100)
		snprintf(remedy, sizeof(remedy),
			 "Raise kernel.perf_event_max_sample_rate; the kernel may have lowered it "
			 "to keep perf below %lld %% of a CPU (kernel.perf_cpu_time_max_percent).",
			 (long long)p->cpu_time_max_percent);
	else
		snprintf(remedy, sizeof(remedy), "Raise kernel.perf_event_max_sample_rate.");
	find(p, cost, remedy, "kernel.perf_event_max_sample_rate is %lld.",
	     (long long)p->max_sample_rate);
}

static void judge_bpf(struct cam_probe *p)
{
	static const char cost[] =
		"Samples come from plain perf rings: without the user and the start time of their "
		"process, and a scope is filtered only after the kernel wrote them.";
	/* bpf_task_pt_regs(), without which no stack can be walked, came with 5.15. */
	bool new_enough = !p->kernel_major || p->kernel_major > 5 ||
			  (p->kernel_major == 5 && p->kernel_minor >= 15);
	bool readable = p->lockdown != CAM_PROBE_CONFIDENTIALITY;

	p->may_use_bpf = p->may_sample_cpus && has(p, CAM_PROBE_PERFMON) && has(p, CAM_PROBE_BPF) &&
			 p->btf && readable && new_enough;
	if (!p->may_sample_cpus)
		return; /* said already */
	if (!has(p, CAM_PROBE_BPF) || !has(p, CAM_PROBE_PERFMON))
		find(p, cost, "Run as root, or with CAP_BPF and CAP_PERFMON.", "%s is missing.",
		     has(p, CAM_PROBE_BPF) ? "CAP_PERFMON" : "CAP_BPF");
	if (!p->btf)
		find(p, cost, "Use a kernel built with CONFIG_DEBUG_INFO_BTF=y.",
		     "The kernel has no BTF (/sys/kernel/btf/vmlinux).");
	if (!readable)
		find(p, cost,
		     "Boot without lockdown=confidentiality; lockdown=integrity is no hindrance.",
		     "Lockdown forbids BPF programs to read kernel memory.");
	if (!new_enough)
		find(p, cost, "Use Linux 5.15 or newer.",
		     "Linux %u.%u is too old for the BPF source.", p->kernel_major,
		     p->kernel_minor);
	if (p->kernel_major && p->kernel_major < 6)
		find(p,
		     "Lost samples are known only from the next record that found room, not "
		     "exactly by their round.",
		     "Use Linux 6.0 or newer.", "Linux %u.%u does not count lost samples by event.",
		     p->kernel_major, p->kernel_minor);
}

static void judge_names(struct cam_probe *p)
{
	bool syslog = has(p, CAM_PROBE_SYSLOG);

	p->may_name_kernel = p->kptr_restrict <= 0 ? syslog || p->paranoid <= 1
						   : syslog && p->kptr_restrict == 1;
	if (!p->may_name_kernel && p->kptr_restrict >= 2)
		find(p, "Functions of the kernel have no names.", "Set kernel.kptr_restrict to 1.",
		     "kernel.kptr_restrict is %lld: kernel addresses are shown to nobody.",
		     (long long)p->kptr_restrict);
	if (!syslog)
		find(p,
		     p->may_name_kernel
			     ? "The kernel log cannot be read."
			     : "Functions of the kernel have no names, and the kernel log cannot "
			       "be read.",
		     "Run as root, or with CAP_SYSLOG.", "CAP_SYSLOG is missing.");
	if (!has(p, CAM_PROBE_PTRACE))
		find(p,
		     "What other users' processes have mapped cannot be read, nor files and perf "
		     "maps in other mount namespaces (containers): they stay unnamed.",
		     "Run as root, or with CAP_SYS_PTRACE.", "CAP_SYS_PTRACE is missing.");
	if (!has(p, CAM_PROBE_CHECKPOINT_RESTORE))
		find(p,
		     "Files that were deleted or replaced while mapped cannot be opened: their "
		     "functions have no names.",
		     "Run as root, or with CAP_CHECKPOINT_RESTORE.",
		     "CAP_CHECKPOINT_RESTORE is missing.");
	if (!has(p, CAM_PROBE_DAC_READ_SEARCH))
		find(p,
		     "Files that others may not read, as in many containers, and other users' files that "
		     "were deleted or replaced while mapped cannot be opened: their functions have no "
		     "names.",
		     "Run as root, or with CAP_DAC_READ_SEARCH.",
		     "CAP_DAC_READ_SEARCH is missing.");
}

/* What all rings may lock, against what they would like to. */
static void judge_memory(struct cam_probe *p)
{
	struct cam_ring_size want;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t allowed = (uint64_t)(p->mlock_kb > 0 ? p->mlock_kb : 0) * 1024 * p->cpus;

	p->locked_ring_bytes = UINT64_MAX;
	if (has(p, CAM_PROBE_IPC_LOCK) || p->paranoid < 0 ||
	    p->locked_max_bytes > UINT64_MAX - allowed)
		return;
	p->locked_ring_bytes = allowed + p->locked_max_bytes;
	if (cam_ring_size_choose(CAM_RING_DEFAULT_BYTES_ALL, page, p->cpus, p->cpus, &want) < 0)
		return;
	uint64_t wanted = cam_ring_size_total(&want, page, p->cpus, p->cpus);
	if (wanted > p->locked_ring_bytes)
		find(p, "Rings are smaller, and bursts of forks or of samples are lost sooner.",
		     "Raise the limit of locked memory (ulimit -l, LimitMEMLOCK=infinity), or add "
		     "CAP_IPC_LOCK.",
		     "Rings may lock %llu KiB of the %llu that they would use.",
		     (unsigned long long)p->locked_ring_bytes / 1024,
		     (unsigned long long)wanted / 1024);
}

void cam_probe_judge(struct cam_probe *p, uint32_t hz)
{
	judge_sampling(p);
	judge_rate(p, hz);
	judge_bpf(p);
	judge_names(p);
	judge_memory(p);
	if (p->cgroup_v1)
		find(p,
		     "A process is in several cgroups at once: the one of its memory or CPU "
		     "limits is recorded.",
		     "Boot with systemd.unified_cgroup_hierarchy=1.",
		     "cgroups of version 1 are in use.");
}
