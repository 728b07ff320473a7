// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel.h"
#include "capture/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ALL  "000001ffffffffff"
#define NONE "0000000000000000"

struct host {
	char root[64], proc[80], sys[80];
};

/* All that a test may write below the root, files before their directories. */
static const char *const files[] = {
	"proc/sys/kernel/perf_event_paranoid",
	"proc/sys/kernel/kptr_restrict",
	"proc/sys/kernel/perf_event_max_sample_rate",
	"proc/sys/kernel/perf_cpu_time_max_percent",
	"proc/sys/kernel/perf_event_mlock_kb",
	"proc/sys/kernel/osrelease",
	"proc/self/status",
	"proc/self/uid_map",
	"proc/self/limits",
	"proc/self/cgroup",
	"proc/self/ns/pid",
	"sys/kernel/security/lockdown",
	"sys/kernel/btf/vmlinux",
	"sys/devices/system/cpu/online",
	"proc/sys/kernel",
	"proc/sys",
	"proc/self/ns",
	"proc/self",
	"proc",
	"sys/kernel/security",
	"sys/kernel/btf",
	"sys/kernel",
	"sys/devices/system/cpu",
	"sys/devices/system",
	"sys/devices",
	"sys",
	"",
};

static void path_of(const struct host *h, const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", h->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

/* NULL: the file is not there. */
static void put(const struct host *h, const char *name, const char *text)
{
	char path[256];
	path_of(h, name, path);
	unlink(path);
	if (!text)
		return;
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_capabilities(const struct host *h, const char *set)
{
	char text[200];
	snprintf(text, sizeof(text), "Name:\tx\nCapPrm:\t" ALL "\nCapEff:\t%s\nCapBnd:\t" ALL "\n",
		 set);
	put(h, "proc/self/status", text);
}

static void put_pid_ns(const struct host *h, const char *link)
{
	char path[256];
	put(h, "proc/self/ns/pid", NULL);
	path_of(h, "proc/self/ns/pid", path);
	assert_int_equal(symlink(link, path), 0);
}

/* A host on which root lacks nothing. */
static int setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));
	assert_non_null(h);
	strcpy(h->root, "/tmp/perfcam-test-XXXXXX");
	assert_non_null(mkdtemp(h->root));
	snprintf(h->proc, sizeof(h->proc), "%s/proc", h->root);
	snprintf(h->sys, sizeof(h->sys), "%s/sys", h->root);
	put(h, "proc/sys/kernel/perf_event_paranoid", "2\n");
	put(h, "proc/sys/kernel/kptr_restrict", "1\n");
	put(h, "proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	put(h, "proc/sys/kernel/perf_cpu_time_max_percent", "25\n");
	put(h, "proc/sys/kernel/perf_event_mlock_kb", "516\n");
	put(h, "proc/sys/kernel/osrelease", "6.18.44-generic\n");
	put(h, "proc/self/uid_map", "         0          0 4294967295\n");
	put(h, "proc/self/cgroup", "0::/user.slice\n");
	put(h, "proc/self/limits",
	    "Limit                     Soft Limit           Hard Limit           Units     \n"
	    "Max locked memory         8388608              8388608              bytes     \n");
	put(h, "sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	put(h, "sys/kernel/btf/vmlinux", "x");
	put(h, "sys/devices/system/cpu/online", "0-3\n");
	put_capabilities(h, ALL);
	put_pid_ns(h, "pid:[4026531836]");
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;
	char path[256];
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", h->root, files[i]);
		assert_true(remove(path) == 0 || errno == ENOENT);
	}
	free(h);
	return 0;
}

static struct cam_probe probe(const struct host *h)
{
	struct cam_probe p;
	cam_probe_host(&(struct cam_probe_options){h->proc, h->sys, 97}, &p);
	for (uint32_t i = 0; i < p.n_findings; i++) {
		const struct cam_probe_finding *f = &p.findings[i];
		const char *texts[] = {f->missing, f->cost, f->remedy};
		for (int k = 0; k < 3; k++) {
			/* A whole sentence, not cut. */
			assert_true(strlen(texts[k]) > 10);
			assert_true(strlen(texts[k]) < CAM_PROBE_TEXT - 1);
			assert_int_equal(texts[k][strlen(texts[k]) - 1], '.');
		}
	}
	return p;
}

/* The finding that speaks of this; NULL: none does. */
static const struct cam_probe_finding *about(const struct cam_probe *p, const char *what)
{
	for (uint32_t i = 0; i < p->n_findings; i++)
		if (strstr(p->findings[i].missing, what))
			return &p->findings[i];
	return NULL;
}

static void nothing_missing(void **state)
{
	struct cam_probe p = probe(*state);
	assert_int_equal(p.n_findings, 0);
	assert_true(p.may_sample_cpus && p.may_sample_own && p.may_sample_kernel && p.may_use_bpf &&
		    p.may_name_kernel);
	assert_int_equal(p.paranoid, 2);
	assert_int_equal(p.kptr_restrict, 1);
	assert_int_equal(p.kernel_major, 6);
	assert_int_equal(p.kernel_minor, 18);
	assert_int_equal(p.cpus, 4);
	assert_int_equal(p.capabilities, 0x7f);
	assert_int_equal(p.locked_max_bytes, 8388608);
	assert_int_equal(p.locked_ring_bytes, UINT64_MAX);
	assert_true(p.initial_pid_ns && p.initial_user_ns && p.btf && !p.cgroup_v1);
}

static void paranoia(void **state)
{
	static const struct {
		const char *paranoid;
		bool cpus, kernel, own;
	} cases[] = {
		{"-1", true, true, true},  {"0", true, true, true},    {"1", false, true, true},
		{"2", false, false, true}, {"3", false, false, false}, {"4", false, false, false},
	};
	put_capabilities(*state, NONE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(*state, "proc/sys/kernel/perf_event_paranoid", cases[i].paranoid);
		struct cam_probe p = probe(*state);
		assert_int_equal(p.may_sample_cpus, cases[i].cpus);
		assert_int_equal(p.may_sample_kernel, cases[i].kernel);
		assert_int_equal(p.may_sample_own, cases[i].own);
		assert_false(p.may_use_bpf);
		const struct cam_probe_finding *f = about(&p, "perf_event_paranoid is");
		assert_int_equal(f != NULL, !cases[i].cpus);
		if (f)
			assert_int_equal(!!strstr(f->cost, "without kernel stacks"),
					 cases[i].own && !cases[i].kernel);
	}
}

/* Each capability alone missing gives its own finding, and only that. */
static void capabilities(void **state)
{
	static const struct {
		int bit, also;
		const char *name;
	} cases[] = {
		{38, 21, "CAP_PERFMON"},    {39, 21, "CAP_BPF"},
		{19, 19, "CAP_SYS_PTRACE"}, {40, 21, "CAP_CHECKPOINT_RESTORE"},
		{34, 34, "CAP_SYSLOG"},	    {2, 1, "CAP_DAC_READ_SEARCH"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int spare = 0; spare < 2; spare++) {
			uint64_t set = 0x1ffffffffff & ~(1ull << cases[i].bit);
			char text[32];
			/* Another capability stands in for some. */
			if (!spare)
				set &= ~(1ull << cases[i].also);
			snprintf(text, sizeof(text), "%016llx", (unsigned long long)set);
			put_capabilities(*state, text);
			struct cam_probe p = probe(*state);
			bool missing = !spare || cases[i].also == cases[i].bit;
			assert_int_equal(p.n_findings, missing);
			if (missing)
				assert_non_null(about(&p, cases[i].name));
		}
}

static void kernel_names(void **state)
{
	static const struct {
		const char *kptr, *paranoid, *capabilities;
		bool names;
	} cases[] = {
		{"0", "1", NONE, true},	 {"0", "2", NONE, false}, {"0", "2", ALL, true},
		{"1", "1", NONE, false}, {"1", "2", ALL, true},	  {"2", "2", ALL, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(*state, "proc/sys/kernel/kptr_restrict", cases[i].kptr);
		put(*state, "proc/sys/kernel/perf_event_paranoid", cases[i].paranoid);
		put_capabilities(*state, cases[i].capabilities);
		struct cam_probe p = probe(*state);
		assert_int_equal(p.may_name_kernel, cases[i].names);
		assert_int_equal(about(&p, "kptr_restrict") != NULL, cases[i].kptr[0] == '2');
	}
}

static void rates(void **state)
{
	put(*state, "proc/sys/kernel/perf_event_max_sample_rate", "97\n");
	assert_int_equal(probe(*state).n_findings, 0);
	put(*state, "proc/sys/kernel/perf_event_max_sample_rate", "50\n");
	struct cam_probe p = probe(*state);
	assert_int_equal(p.n_findings, 1);
	assert_string_equal(p.findings[0].cost,
			    "50 samples a second are taken of each CPU, not 97.");
	assert_non_null(strstr(p.findings[0].remedy, "25 %"));
	put(*state, "proc/sys/kernel/perf_cpu_time_max_percent", "100\n");
	p = probe(*state);
	assert_null(strstr(p.findings[0].remedy, "%"));
}

static void kernels(void **state)
{
	static const struct {
		const char *release;
		bool bpf;
		uint32_t findings;
	} cases[] = {
		{"5.4.0-42-generic\n", false, 2},
		{"5.10.0-28-amd64\n", false, 2},
		{"5.15.0\n", true, 1},
		{"6.0\n", true, 0},
		{"nonsense\n", true, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(*state, "proc/sys/kernel/osrelease", cases[i].release);
		struct cam_probe p = probe(*state);
		assert_int_equal(p.may_use_bpf, cases[i].bpf);
		assert_int_equal(p.n_findings, cases[i].findings);
	}
}

static void others(void **state)
{
	put(*state, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	struct cam_probe p = probe(*state);
	assert_int_equal(p.lockdown, CAM_PROBE_INTEGRITY);
	assert_int_equal(p.n_findings, 0);
	put(*state, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	p = probe(*state);
	assert_int_equal(p.lockdown, CAM_PROBE_CONFIDENTIALITY);
	assert_false(p.may_use_bpf);
	assert_int_equal(p.n_findings, 1);
	put(*state, "sys/kernel/security/lockdown", NULL);

	put(*state, "sys/kernel/btf/vmlinux", NULL);
	p = probe(*state);
	assert_false(p.may_use_bpf || p.btf);
	assert_non_null(about(&p, "BTF"));
	put(*state, "sys/kernel/btf/vmlinux", "x");

	put(*state, "proc/self/cgroup", "3:memory:/a\n1:name=systemd:/b\n0::/c\n");
	p = probe(*state);
	assert_true(p.cgroup_v1);
	assert_non_null(about(&p, "cgroups of version 1"));
	put(*state, "proc/self/cgroup", "0::/c\n");

	put_pid_ns(*state, "pid:[4026532001]");
	p = probe(*state);
	assert_false(p.initial_pid_ns);
	const struct cam_probe_finding *outside = about(&p, "pid namespace");
	assert_non_null(outside);
	assert_null(strstr(outside->cost, "idle"));
	put_pid_ns(*state, "pid:[4026531836]");

	/* Root of a user namespace has every capability, for what is the namespace's. */
	put(*state, "proc/self/uid_map", "0 1000 1\n");
	p = probe(*state);
	assert_int_equal(p.capabilities, CAM_PROBE_PTRACE | CAM_PROBE_DAC_READ_SEARCH);
	assert_false(p.may_sample_cpus || p.may_use_bpf || p.may_name_kernel);
	assert_non_null(about(&p, "user namespace"));
}

/* 4 CPUs: 516 KiB each and the limit, against rings of 4,128 KiB in all. */
static void locked_memory(void **state)
{
	static const struct {
		const char *limit;
		uint64_t allowed;
		bool finding;
	} cases[] = {
		{"65536", 4 * 516 * 1024 + 65536, true},
		{"2113536", 4 * 516 * 1024 + 2113536, false},
		{"2113535", 4 * 516 * 1024 + 2113535, true},
		{"unlimited", UINT64_MAX, false},
	};
	char text[200];
	put_capabilities(*state, "000001ffffffbfff"); /* all but CAP_IPC_LOCK */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "Max locked memory         %-20s unlimited  bytes\n",
			 cases[i].limit);
		put(*state, "proc/self/limits", text);
		struct cam_probe p = probe(*state);
		assert_int_equal(p.locked_ring_bytes, cases[i].allowed);
		assert_int_equal(p.n_findings, cases[i].finding);
	}
}

/* Nothing can be read: nothing is claimed, and it says so. All findings at once fit. */
static void bare_host(void **state)
{
	(void)state;
	struct cam_probe p;
	cam_probe_host(&(struct cam_probe_options){"/nowhere", "/nowhere", 97}, &p);
	assert_int_equal(p.capabilities, 0);
	assert_int_equal(p.paranoid, 2);
	assert_false(p.may_sample_cpus || p.may_use_bpf || p.may_name_kernel);
	assert_true(p.may_sample_own);
	assert_non_null(about(&p, "perf_event_paranoid is 2"));
	assert_true(p.n_findings < CAM_PROBE_FINDINGS);
}

/* Whether kallsyms shows addresses; the first ones may be offsets, and 0 for anyone. */
static bool kernel_is_named(void)
{
	char line[512];
	bool named = false;
	FILE *f = fopen("/proc/kallsyms", "r");
	assert_non_null(f);
	for (int i = 0; i < 2000 && !named && fgets(line, sizeof(line), f); i++)
		named = strtoull(line, NULL, 16) != 0;
	fclose(f);
	return named;
}

/* Whether perf_event_open() answers what the probe foretells, on this host, with these rights. */
static bool agrees(void)
{
	const struct cam_kernel *k = cam_kernel_host();
	struct cam_probe p;
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .disabled = 1};
	cam_probe_host(&(struct cam_probe_options){"/proc", "/sys", 97}, &p);
	int cpu_wide = k->open(k, &attr, -1, 0);
	int own_kernel = k->open(k, &attr, 0, -1);
	attr.exclude_kernel = 1;
	int own = k->open(k, &attr, 0, -1);
	bool good = p.may_sample_cpus == (cpu_wide >= 0) &&
		    p.may_sample_kernel == (own_kernel >= 0) && p.may_sample_own == (own >= 0) &&
		    p.may_name_kernel == kernel_is_named();
	print_message("# cpus %d, kernel %d, own %d, bpf %d, kernel names %d; %u findings\n",
		      p.may_sample_cpus, p.may_sample_kernel, p.may_sample_own, p.may_use_bpf,
		      p.may_name_kernel, p.n_findings);
	return good;
}

static void against_this_kernel(void **state)
{
	(void)state;
	assert_true(agrees());
	pid_t pid = fork();
	if (!pid) {
		cap_t none = cap_init();
		_exit(setresuid(54321, 54321, 54321) || cap_set_proc(none) || !agrees());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(nothing_missing),
		T(paranoia),
		T(capabilities),
		T(kernel_names),
		T(rates),
		T(kernels),
		T(others),
		T(locked_memory),
		cmocka_unit_test(bare_host),
		cmocka_unit_test(against_this_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
