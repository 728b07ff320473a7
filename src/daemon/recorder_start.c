// SPDX-License-Identifier: Apache-2.0
/* From settings to a capture and an ingest that are ready, saying once what could not be had. */
#include "base/runs.h"
#include "base/units.h"
#include "capture/bpf_source.h"
#include "capture/burden.h"
#include "capture/probe.h"
#include "capture/rate.h"
#include "daemon/cgroups.h"
#include "daemon/descendants.h"
#include "daemon/log.h"
#include "daemon/past.h"
#include "daemon/recorder_parts.h"
#include "daemon/usual_cost.h"
#include "query/group_extra.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_SCOPE_PIDS	  65536u
#define MAX_SCOPE_THREADS 4096u /* each has events of its own on each CPU */
#define MAX_LISTINGS	  8	/* one more each time that somebody was found */
/* Journals, windows, helpers, clients of the control socket, what is read each second, unwind tables. */
#define RESERVED_FILES 64u

/* What a sample takes on disk, where usual_cost.h was measured. */
#define SAMPLE_BYTES 9u

/* Each once: of an event that is opened twice every sample would come twice. */
static void name_pids(struct cam_recorder *r, const int32_t *pids, size_t n)
{
	struct cam_recorder_scope *s = &r->scope;
	for (size_t i = 0; i < n && s->n < MAX_SCOPE_PIDS; i++) {
		size_t k = 0;
		while (k < s->n && s->pids[k] != pids[i])
			k++;
		if (k == s->n)
			s->pids[s->n++] = pids[i];
	}
	s->named = s->n;
}

/*
 * The processes that are meant: a command, those that were named, and with --tree those below them. Listed before
 * forks are followed and again when they are: a child whose parent has ended by then has no other way to be found.
 */
static int list_scope(struct cam_recorder *r)
{
	struct cam_recorder_scope *s = &r->scope;
	if (!s->pids) {
		s->pids = calloc(MAX_SCOPE_PIDS, sizeof(*s->pids));
		if (!s->pids)
			return -ENOMEM;
		name_pids(r, &r->child, r->child ? 1 : 0);
		name_pids(r, r->settings->pids, r->settings->n_pids);
	}
	bool more = r->settings->tree;
	for (int i = 0; i < MAX_LISTINGS && more; i++) {
		size_t had = s->n, all = cam_descendants_add(s->pids, s->n, MAX_SCOPE_PIDS);
		s->n = all < MAX_SCOPE_PIDS ? all : MAX_SCOPE_PIDS;
		s->left_out = all - s->n;
		more = s->n > had;
	}
	return 0;
}

/* An unprivileged recorder may only watch threads, and only its own user's. */
static size_t scope_threads(struct cam_recorder *r, int32_t *tids)
{
	const struct cam_recorder_scope *s = &r->scope;
	size_t all = 0;
	if (!s->n)
		all = cam_descendants_threads_of_user(getuid(), tids, MAX_SCOPE_THREADS);
	for (size_t i = 0; i < s->n; i++) {
		size_t at = all < MAX_SCOPE_THREADS ? all : MAX_SCOPE_THREADS;
		/* Of a tree what is another user's is left out; who named it hears that it may not be. */
		if (i < s->named || cam_descendants_is_of(s->pids[i], getuid()))
			all += cam_descendants_threads(s->pids[i], tids + at,
						       MAX_SCOPE_THREADS - at);
	}
	size_t n = all < MAX_SCOPE_THREADS ? all : MAX_SCOPE_THREADS;
	r->scope.threads_left_out = all - n;
	return n;
}

static int open_source(struct cam_recorder *r, const struct cam_capture_options *o,
		       struct cam_bpf_refusal *why)
{
	const struct cam_perf_host host = {cam_kernel_host(), "/proc", "/sys"};
	*why = (struct cam_bpf_refusal){0};
	/* Copies of all stacks are the plain source's, tables in the kernel the other's. */
	bool wants_bpf = r->settings->source == CAM_SOURCE_BPF || o->unwind == CAM_UNWIND_BPF;
	if (r->settings->source != CAM_SOURCE_PERF && o->unwind != CAM_UNWIND_DWARF && !o->n_tids) {
		int err = cam_bpf_source_open(o, &host, &r->capture, why);
		if (!err || wants_bpf)
			return err;
	}
	return cam_capture_open_perf(o, &r->capture);
}

/* The best that is still possible: all CPUs; without kernel stacks; own threads only. */
static int open_best(struct cam_recorder *r, struct cam_capture_options *o,
		     struct cam_bpf_refusal *why)
{
	int err = open_source(r, o, why);
	if ((err != -EACCES && err != -EPERM) || r->settings->source == CAM_SOURCE_BPF ||
	    o->unwind == CAM_UNWIND_BPF)
		return err;
	o->user_only = true;
	err = open_source(r, o, why);
	if (err != -EACCES && err != -EPERM)
		return err;
	static int32_t tids[MAX_SCOPE_THREADS];
	o->n_tids = scope_threads(r, tids);
	o->tids = tids;
	r->capture_of_threads = true;
	return o->n_tids ? open_source(r, o, why) : err;
}

static void say_findings(const struct cam_probe *p)
{
	for (uint32_t i = 0; i < p->n_findings; i++)
		cam_log("%s %s %s", p->findings[i].missing, p->findings[i].cost,
			p->findings[i].remedy);
}

/* What becoming a JVM's user in its namespaces takes (helper/confine.c keeps these for who asks). */
static void say_java(const struct cam_settings *s)
{
	static const struct {
		cap_value_t value;
		const char *name;
	} needed[] = {{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
		      {CAP_SYS_CHROOT, "CAP_SYS_CHROOT"},
		      {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
		      {CAP_SETUID, "CAP_SETUID"},
		      {CAP_SETGID, "CAP_SETGID"}};
	cap_t have = s->java_maps ? cap_get_proc() : NULL;
	for (size_t i = 0; have && i < sizeof(needed) / sizeof(needed[0]); i++) {
		cap_flag_value_t set = CAP_CLEAR;
		if (cap_get_flag(have, needed[i].value, CAP_EFFECTIVE, &set) == 0 && set == CAP_SET)
			continue;
		cam_log("--java-maps: %s is missing. JVMs are not asked for their maps. Run as root, "
			"or give the unit CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SETUID and CAP_SETGID, too.",
			needed[i].name);
		break;
	}
	if (have)
		cap_free(have);
}

/* 9312 → "9,312" */
static const char *grouped(uint64_t n, char room[32])
{
	char plain[32];
	int len = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n);
	char *to = room;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = plain[i];
	}
	*to = '\0';
	return room;
}

/* What a sample costs, and in words where each figure is from. */
struct cost {
	double sample_ns, unwind_ns, own_ns, bytes;
	char words[256];
};

static void find_cost(struct cam_recorder *r, const struct cam_capture_options *o, struct cost *c)
{
	struct cam_io *io = cam_keeper_io(r->keeper);
	struct cam_past past = {0};
	uint64_t ns = 0;
	int err = cam_burden_measure(cam_kernel_host(), "/proc", o, &ns);
	c->sample_ns = err ? CAM_USUAL_SAMPLE_NS : (double)ns;
	if (io)
		cam_past_read(io, &past);
	bool known = past.windows;
	c->own_ns = known ? (double)past.own_cpu_ns / (double)past.samples : CAM_USUAL_OWN_NS;
	c->bytes = known ? (double)past.file_bytes / (double)past.samples : SAMPLE_BYTES;
	char from[32] = "elsewhere, for want of a past";
	if (known)
		snprintf(from, sizeof(from), "in the last %u window%s", past.windows,
			 past.windows > 1 ? "s" : "");
	char unwinding[64] = "";
	c->unwind_ns = r->capture->unwinder ? CAM_USUAL_UNWIND_NS : 0;
	if (r->capture->unwinder)
		snprintf(unwinding, sizeof(unwinding),
			 ", its unwinding %.1f us, measured elsewhere", c->unwind_ns / 1e3);
	snprintf(c->words, sizeof(c->words),
		 "a sample takes %.1f us of its CPU, measured %s%s; %.1f us of perfcam's own and "
		 "%.1f bytes, measured %s",
		 c->sample_ns / 1e3, err ? "elsewhere" : "just now", unwinding, c->own_ns / 1e3,
		 c->bytes, from);
}

static void say_cost(struct cam_recorder *r, const struct cam_capture_options *o)
{
	const struct cam_capture_info *i = &r->capture->info;
	uint64_t rate = (uint64_t)i->hz * i->cpus;
	char samples[32];
	struct cost c;
	find_cost(r, o, &c);
	double megabytes = (double)rate * 3600 * c.bytes / 1e6;
	cam_log("%u Hz × %u CPUs = %s samples/s when all are busy, about %.2g %% of each CPU, about "
		"%.*f MB/h (%s)",
		i->hz, i->cpus, grouped(rate, samples),
		i->hz * (c.sample_ns + c.unwind_ns + c.own_ns) / 1e9 * 100, megabytes < 10,
		megabytes, c.words);
	char warning[256];
	cam_rate_warning(r->settings->hz, warning, sizeof(warning));
	if (warning[0])
		cam_log("%s", warning);
	if (i->hz < r->settings->hz)
		cam_log("the kernel allows %u Hz (kernel.perf_event_max_sample_rate), not %u",
			i->hz, r->settings->hz);
	if (i->rings_shrunk)
		cam_log("rings are smaller than wanted (%zu KiB a CPU): the limit of locked memory "
			"(ulimit -l) is in the way",
			i->sample_ring_bytes / 1024);
}

static void say_source(struct cam_recorder *r, const struct cam_bpf_refusal *refusal)
{
	const struct cam_capture_info *i = &r->capture->info;
	char why[160] = "allowed here, and the better one";
	if (r->settings->source != CAM_SOURCE_AUTO)
		snprintf(why, sizeof(why), "as asked for");
	else if (refusal->error)
		cam_bpf_refusal_text(refusal, why, sizeof(why));
	else if (strcmp(i->source, "bpf") != 0)
		snprintf(why, sizeof(why), "only threads may be watched");
	snprintf(r->why_source, sizeof(r->why_source), "source %s (%s), event %s%s", i->source, why,
		 i->event, i->kernel_stacks ? "" : ", without kernel stacks");
	cam_log("%s", r->why_source);
}

/* How user stacks are had; where that is not the best way, why. */
static void say_stacks(struct cam_recorder *r)
{
	const struct cam_settings *s = r->settings;
	struct cam_unwinder *u = r->capture->unwinder;
	bool is_bpf = !strcmp(r->capture->info.source, "bpf");
	char *room = r->stacks_words;
	const size_t bytes = sizeof(r->stacks_words);
	if (u) {
		const char *form = u->stats(u).form;
		r->unwind = !strcmp(form, "bpf_loop") ? "tables (bpf_loop)" : "tables (plain loop)";
		snprintf(room, bytes, "unwound in the kernel (%s)", form);
	} else if (s->unwind == CAM_UNWIND_DWARF) {
		r->unwind = "copies";
		snprintf(room, bytes, "copied, and unwound by the symboliser (as asked for)");
	} else {
		const char *why =
			s->unwind == CAM_UNWIND_FP ? "as asked for"
			: is_bpf		   ? "the kernel refuses the program that unwinds"
				 : "the plain source cannot unwind; --unwind dwarf copies stacks";
		r->unwind = "frame pointers";
		snprintf(room, bytes, "by frame pointers (%s): incomplete where programs have none",
			 why);
	}
	cam_log("stacks: %s", room);
}

/* What excludes each other is said, not guessed. */
static int check_unwind(const struct cam_settings *s)
{
	if (s->source == CAM_SOURCE_PERF && s->unwind == CAM_UNWIND_BPF)
		cam_log("--unwind bpf needs --source bpf; with --source perf there are fp and dwarf");
	else if (s->source == CAM_SOURCE_BPF && s->unwind == CAM_UNWIND_DWARF)
		cam_log("--unwind dwarf needs --source perf; with --source bpf there are bpf and fp");
	else
		return 0;
	return -EINVAL;
}

static void say_refused(const struct cam_settings *s, const struct cam_bpf_refusal *refusal,
			int err)
{
	char why[160];
	if (err == -ENODEV && s->n_cpus)
		cam_log("cannot sample: none of the CPUs asked for (--cpu) is online");
	else if (err == -EOPNOTSUPP && s->event == CAM_EVENT_CYCLES)
		cam_log("cannot sample with --event cycles: this machine has no PMU, as most virtual machines; "
			"--event cpu-clock samples by a timer, --event auto takes what there is");
	else if ((s->source == CAM_SOURCE_BPF || s->unwind == CAM_UNWIND_BPF) && refusal->error)
		cam_log("cannot sample with --source bpf: %s; --source perf needs less, --source auto "
			"takes what there is",
			cam_bpf_refusal_text(refusal, why, sizeof(why)));
	else
		cam_log("cannot sample: %s", strerror(-err));
}

/* A number or a name that was mistyped would record nothing, silently. */
static int check_pids(const struct cam_settings *s)
{
	for (size_t i = 0; i < s->n_pids; i++) {
		if (kill(s->pids[i], 0) && errno == ESRCH) {
			cam_log("--pid %d: no such process", s->pids[i]);
			return -ESRCH;
		}
		int32_t process = cam_descendants_process(s->pids[i]);
		if (process > 0 && process != s->pids[i]) {
			cam_log("--pid %d: a thread of process %d; processes are recorded: --pid %d",
				s->pids[i], process, process);
			return -ESRCH;
		}
	}
	return 0;
}

static int check_cgroup(struct cam_recorder *r)
{
	static const char mounts[] = "/proc/self/mountinfo";
	char *found = r->scope_cgroup;
	const size_t bytes = sizeof(r->scope_cgroup);
	snprintf(found, bytes, "%s", r->settings->cgroup);
	if (!found[0] || cam_cgroups_find(mounts, "", found, bytes) != -ENOENT)
		return 0;
	cam_cgroups_nearest(mounts, "", found, bytes);
	if (strcmp(found, "/") != 0)
		cam_log("--cgroup %s: no such cgroup; %s exists, and takes in what comes to be "
			"below it",
			r->settings->cgroup, found);
	else
		cam_log("--cgroup %s: no such cgroup; the directories below /sys/fs/cgroup are those "
			"there are",
			r->settings->cgroup);
	return -ENOENT;
}

int cam_recorder_open_capture(struct cam_recorder *r)
{
	const struct cam_settings *s = r->settings;
	struct cam_capture_options o = {
		.hz = s->hz,
		.event = s->event,
		.cpus = s->n_cpus ? s->cpus : NULL,
		.n_cpus = s->n_cpus,
		.unwind = s->unwind,
	};
	struct cam_probe probe;
	cam_probe_host(&(struct cam_probe_options){"/proc", "/sys", s->hz}, &probe);
	o.no_idle = r->inside_pid_ns = !probe.initial_pid_ns;
	int err = check_unwind(s);
	if (!err)
		err = check_pids(s);
	if (!err)
		err = check_cgroup(r);
	if (!err)
		err = list_scope(r);
	if (err)
		return err;
	o.scope_follows = r->scope.n > 0;
	say_findings(&probe);
	say_java(s);
	struct cam_bpf_refusal refusal;
	err = open_best(r, &o, &refusal);
	if (err) {
		say_refused(s, &refusal, err);
		return err;
	}
	snprintf(r->verifier, sizeof(r->verifier), "%s", refusal.verifier);
	say_source(r, &refusal);
	say_stacks(r);
	say_cost(r, &o);
	r->shedder = (struct cam_shedder){
		.wanted_hz = r->capture->info.hz,
		.hz = r->capture->info.hz,
	};
	return 0;
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Of a limit; events, maps and programs of the capture are open already. */
static size_t files_for(uint64_t limit)
{
	uint64_t own =
		open_files() + RESERVED_FILES + (limit < CAM_HELPER_FEW_FILES ? 0 : CAM_HELPER_FDS);
	uint64_t held = limit > own + limit / 8 ? limit - own : limit / 8;
	return held < CAM_HELD_FILES ? (size_t)held : CAM_HELD_FILES;
}

/*
 * Programs that are sampled are held open. Past the limit of open files the recorder could not even
 * begin the next window, so the limit is raised as far as it goes and the rest of it left alone.
 */
size_t cam_recorder_held_files(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return CAM_HELD_FILES / 8;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) || getrlimit(RLIMIT_NOFILE, &files))
		return CAM_HELD_FILES / 8;
	size_t held = files_for(files.rlim_cur);
	if (held < CAM_HELD_FILES)
		cam_log("at most %llu files may be open (ulimit -Hn): programs beyond the first %zu "
			"that run at once get no names",
			(unsigned long long)files.rlim_cur, held);
	return held;
}

/* Who is not recorded though he was meant: said here, and wherever the scope is. */
static void say_left_out(const struct cam_recorder *r)
{
	const struct cam_recorder_scope *s = &r->scope;
	if (s->left_out)
		cam_log("--tree: %zu processes are recorded, %zu more are not: at most %u can be told apart",
			s->n, s->left_out, MAX_SCOPE_PIDS);
	if (s->threads_left_out)
		cam_log("%u threads are recorded, %zu more are not: without CAP_PERFMON each has an event "
			"of its own",
			MAX_SCOPE_THREADS, s->threads_left_out);
}

/* "all", "pid 2997 and its children, user 1000", … */
static void say_scope(struct cam_recorder *r, const struct cam_scope *scope)
{
	char *room = r->scope_words;
	size_t bytes = sizeof(r->scope_words), n = 0;
	const char *comma = "";
	if (scope->n_pids) {
		n += (size_t)snprintf(room, bytes, "pid %d", scope->pids[0]);
		if (scope->n_pids > 1)
			n += (size_t)snprintf(room + n, bytes - n, " and %zu more",
					      scope->n_pids - 1);
		comma = ", ";
	}
	if (scope->uid != CAM_UID_NONE && n < bytes) {
		n += (size_t)snprintf(room + n, bytes - n, "%suser %u", comma, scope->uid);
		comma = ", ";
	}
	if (scope->cgroup.n && n < bytes)
		n += (size_t)snprintf(room + n, bytes - n, "%scgroup %.*s", comma,
				      (int)scope->cgroup.n, scope->cgroup.p);
	if (!n)
		n += (size_t)snprintf(room, bytes, "all");
	if (r->scope.left_out && n < bytes)
		n += (size_t)snprintf(room + n, bytes - n, ", without %zu of its processes",
				      r->scope.left_out);
	if (r->scope.threads_left_out && n < bytes)
		snprintf(room + n, bytes - n, ", without %zu threads", r->scope.threads_left_out);
}

static int add_fact(struct cam_recorder *r, const char *key, const char *value)
{
	return cam_live_fact(r->live, cam_text_of(key), cam_text_of(value));
}

/* Which socket each CPU is on, as the kernel numbers them. */
static int add_sockets(struct cam_recorder *r)
{
	struct cam_runs *runs = calloc(1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	for (long cpu = 0, n_cpus = sysconf(_SC_NPROCESSORS_CONF); cpu < n_cpus; cpu++) {
		char path[96], text[16] = "";
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%ld/topology/physical_package_id", cpu);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		bool known = n > 0 && text[0] >= '0' && text[0] <= '9';
		cam_runs_add(runs, known ? (int)strtol(text, NULL, 10) : CAM_RUNS_NONE);
	}
	struct cam_text said = cam_runs_end(runs);
	int err = said.n ? cam_live_fact(r->live, CAM_TEXT("sockets"), said) : 0;
	free(runs);
	return err;
}

/* The node of memory that a CPU is at: its directory has a link of that name. */
static int node_of(long cpu)
{
	char path[64];
	int node = CAM_RUNS_NONE;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld", cpu);
	DIR *d = opendir(path);
	for (struct dirent *e; d && node == CAM_RUNS_NONE && (e = readdir(d));)
		if (!strncmp(e->d_name, "node", 4) && e->d_name[4] >= '0' && e->d_name[4] <= '9')
			node = (int)strtol(e->d_name + 4, NULL, 10);
	if (d)
		closedir(d);
	return node;
}

static int add_nodes(struct cam_recorder *r)
{
	struct cam_runs *runs = calloc(1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	for (long cpu = 0, n_cpus = sysconf(_SC_NPROCESSORS_CONF); cpu < n_cpus; cpu++)
		cam_runs_add(runs, node_of(cpu));
	struct cam_text said = cam_runs_end(runs);
	int err = said.n ? cam_live_fact(r->live, CAM_TEXT(CAM_FACT_NODES), said) : 0;
	free(runs);
	return err;
}

/* What the kernel calls the CPUs, as perf has it in its header. Not every architecture has words for it. */
static int add_model(struct cam_recorder *r)
{
	static const char *const words[] = {"model name\t: ", "Model\t\t: ", "cpu model\t\t: "};
	char text[4096];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char *found = strstr(text, words[i]);
		if (!found)
			continue;
		found += strlen(words[i]);
		found[strcspn(found, "\n")] = '\0';
		return add_fact(r, "cpudesc", found);
	}
	return 0;
}

static int add_facts(struct cam_recorder *r)
{
	const struct cam_capture_info *i = &r->capture->info;
	struct utsname u;
	char number[32];
	int err = uname(&u) ? -errno : add_fact(r, "kernel", u.release);
	err = err ? err : add_fact(r, "machine", u.machine);
	err = err ? err : add_model(r);
	err = err ? err : add_fact(r, "recorded by", "perfcam " PERFCAM_VERSION);
	err = err ? err : add_fact(r, "source", i->source);
	err = err ? err : add_fact(r, "event", i->event);
	err = err ? err : add_fact(r, "unwind", r->unwind);
	err = err ? err : add_fact(r, "scope", r->scope_words);
	snprintf(number, sizeof(number), "%u", i->hz);
	err = err ? err : add_fact(r, "hz", number);
	snprintf(number, sizeof(number), "%u", i->cpus);
	err = err ? err : add_fact(r, "cpus", number);
	err = err ? err : add_sockets(r);
	err = err ? err : add_nodes(r);
	/* Readers show it wherever they name a function that such time may have landed on. */
	if (!strcmp(i->event, "cpu-clock"))
		err = err ? err
			  : add_fact(
				    r, "note",
				    "cpu-clock cannot see inside regions with interrupts off: their "
				    "time lands on the instruction that switches them on again");
	return err;
}

static bool read_sched_clock(void *self, uint64_t *ns)
{
	return cam_sched_clock_read(self, ns);
}

static int open_clock(struct cam_recorder *r)
{
	const struct cam_clock_options o = {
		.source = {.self = &r->sched_clock, .sched_clock = read_sched_clock},
	};
	return cam_clock_open(&o, &r->clock);
}

int cam_recorder_open_live(struct cam_recorder *r)
{
	int err = list_scope(r);
	if (err)
		return err;
	say_left_out(r);
	if (gethostname(r->host_name, sizeof(r->host_name) - 1))
		strcpy(r->host_name, "localhost");
	struct cam_live_options o = {
		.window_ns = r->request->one_off ? UINT64_MAX / 2 : r->settings->window_ns,
		.hz = r->capture->info.hz,
		.event = cam_text_of(r->capture->info.event),
		/* Events of threads stop with them: what was due then is not known. */
		.due_known =
			!r->capture_of_threads && strcmp(r->capture->info.event, "cycles") != 0,
		.bpf = !strcmp(r->capture->info.source, "bpf"),
		.host = cam_text_of(r->host_name),
		.scope = {.uid = r->settings->uid,
			  .cgroup = cam_text_of(r->scope_cgroup),
			  .pids = r->scope.pids,
			  .n_pids = r->scope.n},
		.keep_places = r->settings->addresses,
		.inside_pid_ns = r->inside_pid_ns,
		.java_maps = r->settings->java_maps,
		.max_table_bytes = CAM_TABLE_BYTES,
		.max_process_bytes = CAM_PROCESS_BYTES,
		.max_name_bytes = CAM_NAME_BYTES_MAX,
	};
	say_scope(r, &o.scope);
	struct cam_live_doors doors = {
		.self = r->keeper,
		.door = cam_keeper_door,
		.errands = cam_crew_errands(r->crew),
		.unwinder = r->capture->unwinder,
	};
	/* Where the source can, only what is wanted leaves the kernel; else ingest filters. */
	if (o.scope.n_pids)
		err = r->capture->ops->filter_pids(r->capture, o.scope.pids, o.scope.n_pids);
	if (err == -EOPNOTSUPP || err == -E2BIG)
		err = 0;
	if (!err)
		err = cam_clock_boot_id(NULL, &r->boot_id);
	o.boot_id = r->boot_id;
	if (!err)
		err = cam_live_new(&o, &doors, &r->live);
	if (!err)
		err = add_facts(r);
	if (!err)
		err = cam_host_open(
			&(struct cam_host_options){.fn = cam_recorder_counter, .arg = r}, &r->host);
	if (!err)
		err = open_clock(r);
	/* A command of ours, which is the first of them, has not begun: it is another program then. */
	size_t own = r->child ? 1 : 0;
	if (!err && o.scope.n_pids > own)
		cam_live_expect(r->live, r->scope.pids + own, r->scope.n - own,
				cam_clock_now(r->clock));
	return err;
}

/* The command waits for a byte: it runs only when it is being recorded. One that cannot be run answers with another. */
int cam_recorder_fork_command(struct cam_recorder *r, int *go_fd)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		char go;
		sigset_t none;
		sigemptyset(&none);
		close(ends[1]);
		if (read(ends[0], &go, 1) != 1)
			_exit(127);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvp(r->request->command[0], r->request->command);
		int err = errno;
		cam_log("%s: %s", r->request->command[0], strerror(err));
		send(ends[0], "n", 1, MSG_NOSIGNAL);
		_exit(err == ENOENT ? 127 : 126);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return -errno;
	}
	r->child = pid;
	r->child_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	*go_fd = ends[1];
	return r->child_fd < 0 ? -errno : 0;
}
