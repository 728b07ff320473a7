// SPDX-License-Identifier: Apache-2.0
#include "capture/probe.h"
#include "cli/doctor.h"
#include "daemon/usual_cost.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The first line of a small file, or "unknown". */
static void first_line(const char *path, char *room, size_t bytes)
{
	FILE *in = fopen(path, "re");
	if (!in || !fgets(room, (int)bytes, in))
		snprintf(room, bytes, "unknown");
	room[strcspn(room, "\n")] = '\0';
	if (in)
		fclose(in);
}

static void fact(struct cam_doctor *d, const char *key, const char *words, const char *value)
{
	if (d->json)
		cam_json_text(d->json, key, cam_text_of(value));
	else
		cam_out_printf(d->out, "  %-22s %s\n", words, value);
}

static void show_capabilities(struct cam_doctor *d, const struct cam_probe *p)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} six[] = {
		{CAM_PROBE_PERFMON, "PERFMON"},
		{CAM_PROBE_BPF, "BPF"},
		{CAM_PROBE_PTRACE, "SYS_PTRACE"},
		{CAM_PROBE_CHECKPOINT_RESTORE, "CHECKPOINT_RESTORE"},
		{CAM_PROBE_SYSLOG, "SYSLOG"},
		{CAM_PROBE_DAC_READ_SEARCH, "DAC_READ_SEARCH"},
	};
	char text[256] = "";
	for (size_t i = 0; i < sizeof(six) / sizeof(six[0]); i++) {
		size_t n = strlen(text);
		if (p->capabilities & six[i].bit)
			snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", six[i].name);
	}
	fact(d, "capabilities", "capabilities", text[0] ? text : "none of the six");
}

static void show_disk(struct cam_doctor *d, const char *store)
{
	struct statvfs v;
	char text[128];
	if (statvfs(store, &v) != 0) {
		fact(d, "disk", "disk", "the store is not there");
		return;
	}
	double unit = (double)v.f_frsize / (1 << 30);
	snprintf(text, sizeof(text), "%.1f GiB free of %.1f", (double)v.f_bavail * unit,
		 (double)v.f_blocks * unit);
	fact(d, "disk", "disk of the store", text);
}

static bool has_pmu(void)
{
	return access("/sys/bus/event_source/devices/cpu/type", F_OK) == 0 ||
	       access("/sys/bus/event_source/devices/cpu_core/type", F_OK) == 0;
}

static void add(struct cam_doctor *d, const char *missing, const char *cost, const char *remedy)
{
	struct cam_finding *f = cam_findings_add(&d->found);
	snprintf(f->missing, sizeof(f->missing), "%s", missing);
	snprintf(f->cost, sizeof(f->cost), "%s", cost);
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

/* What the recorder does not say at its start: nothing is missing, but it is good to know. */
static void judge_host(struct cam_doctor *d, const struct cam_settings *s)
{
	char missing[128], cost[256];
	double share = (CAM_USUAL_SAMPLE_NS + CAM_USUAL_UNWIND_NS + CAM_USUAL_OWN_NS) / 1e7 * s->hz;
	if (!has_pmu())
		add(d, "This machine has no PMU, as most virtual ones.",
		    "Samples are taken by a timer: what runs with interrupts off is charged to the "
		    "place where they come on again, and the instruction may be a later one.",
		    "Give the VM a virtual PMU (KVM: -cpu host,pmu=on), or take a host of metal: "
		    "then cycles are sampled (--event auto).");
	if (share <= 1)
		return;
	snprintf(missing, sizeof(missing), "%u samples a second of each CPU are wanted.", s->hz);
	snprintf(cost, sizeof(cost),
		 "About %.1f %% of each busy CPU, as measured elsewhere; the recorder says at its "
		 "start what it is here, and lowers the rate above --max-cpu.",
		 share);
	add(d, missing, cost,
	    "97 a second for what runs always; more for a while: perfcam record -F 999 -d 60s "
	    "-o out/");
}

static void show_facts(struct cam_doctor *d, const struct cam_probe *p, const char *store)
{
	char text[128];
	snprintf(text, sizeof(text), "%u.%u, %u CPUs", p->kernel_major, p->kernel_minor, p->cpus);
	fact(d, "kernel", "kernel", text);
	snprintf(text, sizeof(text), "%lld", (long long)p->paranoid);
	fact(d, "perf_event_paranoid", "perf_event_paranoid", text);
	snprintf(text, sizeof(text), "%lld", (long long)p->kptr_restrict);
	fact(d, "kptr_restrict", "kptr_restrict", text);
	fact(d, "btf", "BTF", p->btf ? "yes" : "no");
	fact(d, "bpf", "BPF", p->may_use_bpf ? "allowed" : "not allowed");
	fact(d, "pmu", "PMU",
	     has_pmu() ? "yes" : "none: cpu-clock, which cannot see inside interrupts-off regions");
	fact(d, "cgroups", "cgroups", p->cgroup_v1 ? "version 1" : "version 2");
	show_capabilities(d, p);
	show_disk(d, store);
	first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
		   sizeof(text));
	fact(d, "clock", "clock source", text);
}

void cam_doctor_host(struct cam_doctor *d, const struct cam_settings *s)
{
	struct cam_probe probe;
	cam_probe_host(&(struct cam_probe_options){"/proc", "/sys", s->hz}, &probe);
	if (d->json)
		cam_json_open(d->json, "host", '{');
	else
		cam_out_str(d->out, "Host\n");
	show_facts(d, &probe, s->store);
	if (d->json)
		cam_json_close(d->json, '}');
	for (uint32_t i = 0; i < probe.n_findings; i++) {
		const struct cam_probe_finding *p = &probe.findings[i];
		add(d, p->missing, p->cost, p->remedy);
	}
	judge_host(d, s);
}
