// SPDX-License-Identifier: Apache-2.0
#include "capture/bpf_load.h"

#include "capture/bpf/embedded.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
/* linux/proc_ns.h: the inode of the first pid namespace. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

static int refuse(struct cam_bpf_refusal *why, const char *step, int error, int answer)
{
	why->step = step;
	why->error = error;
	return answer;
}

/* What can be said in plain words before the kernel says it in its own. */
static int check_host(struct cam_bpf_refusal *why)
{
	struct stat st;
	if (stat("/proc/self/ns/pid", &st) || st.st_ino != FIRST_PID_NAMESPACE)
		return refuse(why, "pids of the host (not the first pid namespace)", -EOPNOTSUPP,
			      -EOPNOTSUPP);
	if (access(KERNEL_BTF, R_OK))
		return refuse(why, "the kernel's BTF (" KERNEL_BTF ")", -errno, -EOPNOTSUPP);
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cam_probe", 0, 0, (uint32_t)getpagesize(),
				NULL);
	if (fd < 0) {
		int err = -errno;
		bool allowed = err != -EPERM && err != -EACCES && err != -ENOMEM && err != -EMFILE;
		return refuse(why, "a BPF ring buffer", err, allowed ? -EOPNOTSUPP : err);
	}
	close(fd);
	return 0;
}

int cam_bpf_map_fd(const struct cam_bpf *b, const char *name)
{
	return bpf_object__find_map_fd_by_name(b->object, name);
}

static const char *const programs[CAM_BPF_FORMS] = {
	[CAM_BPF_FRAME_POINTERS] = "cam_sample",
	[CAM_BPF_PLAIN_LOOP] = "cam_sample_plain",
	[CAM_BPF_LOOP] = "cam_sample_loop",
};

static int program_fd(const struct cam_bpf *b, const char *name)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(b->object, name);
	return p ? bpf_program__fd(p) : -ENOENT;
}

static int resize(struct cam_bpf *b, const char *name, uint32_t entries)
{
	struct bpf_map *map = bpf_object__find_map_by_name(b->object, name);
	return map ? bpf_map__set_max_entries(map, entries) : -ENOENT;
}

/* The internal map whose name ends in `suffix`: its prefix depends on libbpf's version. */
static struct bpf_map *internal_map(const struct cam_bpf *b, const char *suffix)
{
	struct bpf_map *map;
	bpf_object__for_each_map(map, b->object)
	{
		const char *name = bpf_map__name(map);
		size_t n = strlen(name), m = strlen(suffix);
		if (n >= m && strcmp(name + n - m, suffix) == 0)
			return map;
	}
	return NULL;
}

static int configure(struct cam_bpf *b, const struct cam_wire_config *config)
{
	struct bpf_map *rodata = internal_map(b, ".rodata");
	uint32_t n_rings = (b->max_cpus + CAM_WIRE_CPUS_A_RING - 1) / CAM_WIRE_CPUS_A_RING;
	int err = rodata ? bpf_map__set_initial_value(rodata, config, sizeof(*config)) : -ENOENT;
	if (!err)
		err = resize(b, "cam_counts", b->max_cpus);
	if (!err)
		err = resize(b, "cam_ends", b->max_cpus);
	if (!err)
		err = resize(b, "cam_rings", n_rings);
	/* Who unwinds by frame pointers needs no room for tables. */
	static const char *const of_tables[] = {"cam_processes", "cam_execs", "cam_files",
						"cam_used", "cam_slabs"};
	for (size_t i = 0; i < 5 && !err && b->form == CAM_BPF_FRAME_POINTERS; i++)
		err = resize(b, of_tables[i], 1);
	return err;
}

/* The one sampling program that is wanted; it tells its refusal. */
static struct bpf_program *pick_program(struct cam_bpf *b)
{
	struct bpf_program *p, *picked = NULL;
	bpf_object__for_each_program(p, b->object)
	{
		bool wanted = strcmp(bpf_program__name(p), programs[b->form]) == 0;
		if (bpf_program__type(p) == BPF_PROG_TYPE_PERF_EVENT)
			bpf_program__set_autoload(p, wanted);
		picked = wanted ? p : picked;
	}
	return picked;
}

/* The line before the verifier's statistics, without what the terminal would make of it. */
static void last_line(const char *log, char *out, size_t bytes)
{
	static const char *const statistics[] = {"processed ", "verification time", "stack depth",
						 "mark_precise"};
	out[0] = '\0';
	for (const char *line = log; *line;) {
		size_t n = strcspn(line, "\n");
		bool says = n > 0;
		for (size_t i = 0; i < sizeof(statistics) / sizeof(*statistics); i++)
			says &= strncmp(line, statistics[i], strlen(statistics[i])) != 0;
		if (says)
			snprintf(out, bytes, "%.*s", n < bytes ? (int)n : (int)bytes - 1, line);
		line += n + (line[n] == '\n');
	}
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
}

static int map_shared(int fd, size_t bytes, int protection, void **out)
{
	void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (bytes + page - 1) / page * page;
}

static size_t counts_bytes(const struct cam_bpf *b)
{
	return whole_pages(b->max_cpus * sizeof(*b->counts));
}

static size_t ends_bytes(const struct cam_bpf *b)
{
	return whole_pages(b->max_cpus * sizeof(*b->ends));
}

static int map_memory(struct cam_bpf *b)
{
	struct bpf_map *bss = internal_map(b, ".bss");
	void *counts = NULL, *ends = NULL, *state = NULL;
	int err = map_shared(cam_bpf_map_fd(b, "cam_counts"), counts_bytes(b), PROT_READ, &counts);
	if (err)
		return err;
	b->counts = counts;
	err = map_shared(cam_bpf_map_fd(b, "cam_ends"), ends_bytes(b), PROT_READ, &ends);
	if (err)
		return err;
	b->ends = ends;
	err = map_shared(bss ? bpf_map__fd(bss) : -1, (size_t)sysconf(_SC_PAGESIZE),
			 PROT_READ | PROT_WRITE, &state);
	if (!err)
		b->state = state;
	return err;
}

#define LOG_BYTES (256u << 10)

static bool is_final(int err)
{
	return err == -EPERM || err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static int open_object(struct cam_bpf *b, const struct cam_bpf_options *o,
		       struct cam_bpf_refusal *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "perfcam");
	b->object =
		bpf_object__open_mem(cam_embedded_sample_bpf, cam_embedded_sample_bpf_bytes, &opts);
	if (!b->object)
		return refuse(why, "the program's file", -errno,
			      errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP);
	int err = configure(b, &o->config);
	return err ? refuse(why, "the program's parts", err, -EOPNOTSUPP) : 0;
}

/* -EINVAL: the kernel does not take this form. */
static int load_form(struct cam_bpf *b, const struct cam_bpf_options *o,
		     struct cam_bpf_refusal *why)
{
	int err = open_object(b, o, why);
	if (err)
		return err;
	struct bpf_program *program = pick_program(b);
	if (!program)
		return refuse(why, "loading the program", -ENOENT, -EINVAL);
	char *log = calloc(1, LOG_BYTES);
	if (!log)
		return refuse(why, "loading the program", -ENOMEM, -ENOMEM);
	/* Nothing is written there, and nothing costs more, unless it is refused: libbpf asks again. */
	bpf_program__set_log_buf(program, log, LOG_BYTES);
	if ((err = bpf_object__load(b->object))) {
		log[LOG_BYTES - 1] = '\0';
		last_line(log, why->verifier, sizeof(why->verifier));
		err = refuse(why, "loading the program", err, is_final(err) ? err : -EINVAL);
	}
	free(log);
	return err;
}

/* From the best form down. */
static int load_best(struct cam_bpf *b, const struct cam_bpf_options *o,
		     struct cam_bpf_refusal *why)
{
	int err = -EINVAL;
	for (int form = (int)o->best; form >= (int)o->worst && err == -EINVAL; form--) {
		bpf_object__close(b->object);
		b->object = NULL;
		b->form = (enum cam_bpf_form)form;
		err = load_form(b, o, why);
	}
	if (err)
		return err == -EINVAL ? -EOPNOTSUPP : err;
	why->step = NULL;
	why->error = 0;
	b->sample_fd = program_fd(b, programs[b->form]);
	if ((err = map_memory(b)))
		return refuse(why, "mapping the counters", err, err);
	return 0;
}

static void stop_following(struct cam_bpf *b)
{
	int *fds[] = {&b->fork_fd, &b->exec_fd, &b->free_fd};
	for (size_t i = 0; i < 3; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static int follow_forks(struct cam_bpf *b)
{
	if (b->fork_fd >= 0)
		return 0;
	b->fork_fd = bpf_raw_tracepoint_open("sched_process_fork", program_fd(b, "cam_fork"));
	b->exec_fd = bpf_raw_tracepoint_open("sched_process_exec", program_fd(b, "cam_exec"));
	b->free_fd = bpf_raw_tracepoint_open("sched_process_free", program_fd(b, "cam_free"));
	if (b->fork_fd >= 0 && b->exec_fd >= 0 && b->free_fd >= 0)
		return 0;
	int err = b->fork_fd < 0 ? b->fork_fd : b->exec_fd < 0 ? b->exec_fd : b->free_fd;
	stop_following(b);
	return err;
}

int cam_bpf_load(const struct cam_bpf_options *o, struct cam_bpf *out, struct cam_bpf_refusal *why)
{
	*out = CAM_BPF_NONE;
	*why = (struct cam_bpf_refusal){0};
	out->max_cpus = o->max_cpus;
	libbpf_set_print(NULL);
	int err = check_host(why);
	if (!err)
		err = load_best(out, o, why);
	/* Before the first process is told: no exec of it is missed. */
	if (!err && out->form != CAM_BPF_FRAME_POINTERS && (err = follow_forks(out)))
		refuse(why, "following forks", err, err);
	if (err)
		cam_bpf_unload(out);
	return err;
}

void cam_bpf_unload(struct cam_bpf *b)
{
	stop_following(b);
	if (b->counts)
		munmap((void *)b->counts, counts_bytes(b));
	if (b->ends)
		munmap((void *)b->ends, ends_bytes(b));
	if (b->state)
		munmap(b->state, (size_t)sysconf(_SC_PAGESIZE));
	bpf_object__close(b->object);
	*b = CAM_BPF_NONE;
}

int cam_bpf_set_rings(struct cam_bpf *b, const uint32_t *indices, const int *fds, uint32_t n)
{
	/* In one call: each call waits until no CPU runs a program with the old ring, 12 ms. */
	uint32_t count = n;
	if (!bpf_map_update_batch(cam_bpf_map_fd(b, "cam_rings"), indices, fds, &count, NULL))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(cam_bpf_map_fd(b, "cam_rings"), &indices[i], &fds[i],
					BPF_ANY))
			return -errno;
	return 0;
}

bool cam_bpf_counts(const struct cam_bpf *b, uint32_t cpu, struct cam_wire_counts *out)
{
	const struct cam_wire_counts *c = &b->counts[cpu];
	for (int i = 0; i < 1000; i++) {
		*out = (struct cam_wire_counts){
			.fired = __atomic_load_n(&c->fired, __ATOMIC_ACQUIRE),
			.emitted = __atomic_load_n(&c->emitted, __ATOMIC_ACQUIRE),
			.ring_full = __atomic_load_n(&c->ring_full, __ATOMIC_ACQUIRE),
			.filtered = __atomic_load_n(&c->filtered, __ATOMIC_ACQUIRE),
		};
		if (out->fired == out->emitted + out->ring_full + out->filtered)
			return true;
	}
	return false;
}

static void empty_scope(struct cam_bpf *b)
{
	int fd = cam_bpf_map_fd(b, "cam_scope");
	uint32_t pid;
	/* Bounded: what was wanted may fork as fast as we delete. */
	for (uint32_t i = 0; i < 2 * CAM_WIRE_MAX_SCOPE; i++)
		if (bpf_map_get_next_key(fd, NULL, &pid) || bpf_map_delete_elem(fd, &pid))
			return;
}

static void no_scope(struct cam_bpf *b)
{
	__atomic_store_n(&b->state->scoped, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&b->state->gathering, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&b->state->scope_full, 0, __ATOMIC_RELEASE);
	empty_scope(b);
}

int cam_bpf_gather(struct cam_bpf *b)
{
	no_scope(b);
	__atomic_store_n(&b->state->gathering, 1, __ATOMIC_RELEASE);
	return follow_forks(b);
}

/* While it changes everything is emitted: ingest filters too, and what is missing is missing. */
int cam_bpf_scope(struct cam_bpf *b, const int32_t *pids, size_t n)
{
	uint64_t any_start = 0;
	bool fits = n <= CAM_WIRE_MAX_SCOPE;
	if (!b->state->gathering || !n || !fits)
		no_scope(b);
	if (!n && b->form == CAM_BPF_FRAME_POINTERS)
		stop_following(b);
	if (!n || !fits)
		return fits ? 0 : -E2BIG;
	/* Before the first is wanted: none of its children is missed. */
	int err = follow_forks(b);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		/* One that was forked meanwhile is there, with its start. */
		if (!bpf_map_update_elem(cam_bpf_map_fd(b, "cam_scope"), &pids[i], &any_start,
					 BPF_NOEXIST) ||
		    errno == EEXIST)
			continue;
		if (errno != E2BIG)
			return -errno;
		/* Those that were forked meanwhile have its place. */
		__atomic_store_n(&b->state->scope_full, 1, __ATOMIC_RELEASE);
		break;
	}
	__atomic_store_n(&b->state->scoped, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&b->state->gathering, 0, __ATOMIC_RELEASE);
	return 0;
}
