// SPDX-License-Identifier: Apache-2.0
#include "capture/probe.h"

#include "base/cleanup.h"
#include "capture/cpus.h"
#include "capture/probe_findings.h"
#include "capture/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

/* /proc/PID/status is the longest of what is read here. */
#define FILE_BYTES 16384u

/* The kernel gives its first pid namespace this number, always (PROC_PID_INIT_INO). */
#define INITIAL_PID_NS "pid:[4026531836]"

/* Newer than the headers of some hosts. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* The whole file as a string; false: not to be read. */
static bool read_file(const char *root, const char *name, char text[FILE_BYTES])
{
	char path[512];
	size_t n = 0;

	if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
		return false;
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n < FILE_BYTES - 1) {
		ssize_t got = read(fd, text + n, FILE_BYTES - 1 - n);
		if (got < 0)
			return false;
		if (!got)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	return true;
}

static int64_t sysctl_or(const char *proc_root, const char *name, int64_t otherwise)
{
	int64_t v;
	return cam_sysctl_read(proc_root, name, &v) < 0 ? otherwise : v;
}

static void read_sysctls(const char *proc_root, struct cam_probe *p)
{
	char text[FILE_BYTES];

	p->paranoid = sysctl_or(proc_root, "kernel/perf_event_paranoid", 2);
	p->kptr_restrict = sysctl_or(proc_root, "kernel/kptr_restrict", 0);
	p->max_sample_rate = sysctl_or(proc_root, "kernel/perf_event_max_sample_rate", 100000);
	p->cpu_time_max_percent = sysctl_or(proc_root, "kernel/perf_cpu_time_max_percent", 25);
	p->mlock_kb = sysctl_or(proc_root, "kernel/perf_event_mlock_kb", 516);
	if (read_file(proc_root, "sys/kernel/osrelease", text) &&
	    sscanf(text, "%u.%u", &p->kernel_major, &p->kernel_minor) != 2)
		p->kernel_major = p->kernel_minor = 0;
}

static uint64_t effective(const char *proc_root)
{
	char text[FILE_BYTES];
	unsigned long long set;

	if (!read_file(proc_root, "self/status", text))
		return 0;
	const char *line = strstr(text, "\nCapEff:");
	return line && sscanf(line, "\nCapEff: %llx", &set) == 1 ? set : 0;
}

/*
 * A capability that a user namespace gave is worth something only for what belongs to that
 * namespace: other processes of it, but neither perf nor bpf(2) nor the kernel's addresses.
 */
static void read_capabilities(const char *proc_root, struct cam_probe *p)
{
	static const struct {
		uint32_t flag;
		unsigned capability, or_else;
		bool initial_only;
	} table[] = {
		{CAM_PROBE_PERFMON, CAP_PERFMON, CAP_SYS_ADMIN, true},
		{CAM_PROBE_BPF, CAP_BPF, CAP_SYS_ADMIN, true},
		{CAM_PROBE_PTRACE, CAP_SYS_PTRACE, CAP_SYS_PTRACE, false},
		{CAM_PROBE_CHECKPOINT_RESTORE, CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, true},
		{CAM_PROBE_SYSLOG, CAP_SYSLOG, CAP_SYSLOG, true},
		{CAM_PROBE_DAC_READ_SEARCH, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, false},
		{CAM_PROBE_IPC_LOCK, CAP_IPC_LOCK, CAP_IPC_LOCK, true},
	};
	uint64_t set = effective(proc_root);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool has = (set >> table[i].capability | set >> table[i].or_else) & 1;
		if (has && (p->initial_user_ns || !table[i].initial_only))
			p->capabilities |= table[i].flag;
	}
}

/* The initial one maps every id to itself, and nothing else can. */
static void read_namespaces(const char *proc_root, struct cam_probe *p)
{
	char text[FILE_BYTES], path[512], link[64] = "";
	unsigned long inside, outside, count;

	p->initial_user_ns = !read_file(proc_root, "self/uid_map", text) ||
			     (sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
			      inside == 0 && outside == 0 && count == UINT32_MAX);
	snprintf(path, sizeof(path), "%s/self/ns/pid", proc_root);
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	p->initial_pid_ns = n < 0 || !strcmp(link, INITIAL_PID_NS);
}

static void read_limits(const char *proc_root, struct cam_probe *p)
{
	char text[FILE_BYTES];
	unsigned long long soft;

	p->locked_max_bytes = UINT64_MAX;
	if (!read_file(proc_root, "self/limits", text))
		return;
	const char *line = strstr(text, "Max locked memory");
	if (line && sscanf(line, "Max locked memory %llu", &soft) == 1)
		p->locked_max_bytes = soft;
}

static void read_lockdown(const char *sys_root, struct cam_probe *p)
{
	char text[FILE_BYTES];

	if (!read_file(sys_root, "kernel/security/lockdown", text))
		return;
	if (strstr(text, "[integrity]"))
		p->lockdown = CAM_PROBE_INTEGRITY;
	else if (strstr(text, "[confidentiality]"))
		p->lockdown = CAM_PROBE_CONFIDENTIALITY;
}

/* "0::PATH" is version 2; every other line is a hierarchy of version 1. */
static bool has_cgroup_v1(const char *proc_root)
{
	char text[FILE_BYTES];

	if (!read_file(proc_root, "self/cgroup", text))
		return false;
	for (const char *line = text; line && *line;) {
		if (strncmp(line, "0::", 3))
			return true;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

void cam_probe_host(const struct cam_probe_options *o, struct cam_probe *out)
{
	struct cam_cpus online;
	char path[512];

	memset(out, 0, sizeof(*out));
	read_sysctls(o->proc_root, out);
	read_namespaces(o->proc_root, out);
	read_capabilities(o->proc_root, out);
	read_limits(o->proc_root, out);
	read_lockdown(o->sys_root, out);
	out->cgroup_v1 = has_cgroup_v1(o->proc_root);
	snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", o->sys_root);
	out->btf = access(path, R_OK) == 0;
	out->cpus =
		cam_cpus_read(o->sys_root, "online", &online) == 0 ? cam_cpus_count(&online) : 1;
	cam_probe_judge(out, o->hz);
}
