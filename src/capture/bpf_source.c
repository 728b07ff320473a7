// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF source: per CPU a sampling event with the program and a plain one as its control; a ring
 * buffer for each 16 CPUs; the side band as in perf_source.c.
 *
 * Why not more CPUs to a ring: a reservation takes its lock, in an NMI only by trying, and a failed try
 * is a lost sample. Why not fewer: each ring has pages of its own, and a ring that 16 share carries a
 * burst of one of them.
 *
 * Invariants:
 * 1. A CPU is sampled only after its ring is in place and its side band runs.
 * 2. budget.used_bytes is what all rings and controls take as mapped.
 * 3. A round enters the kernel once (epoll_wait), and for CPUs where nothing ran for a second with one
 *    read(2) each; never with bpf(2).
 *
 * Example: CPUs 0-17. Rings 0 (CPUs 0-15) and 1 (16, 17); streams: 18 of the side band, 18 of records
 * made here (bpf_cpu.c), 2 of samples.
 */
#include "capture/bpf_source.h"

#include "base/cleanup.h"
#include "capture/bpf_cpu.h"
#include "capture/bpf_ring.h"
#include "capture/bpf_size.h"
#include "capture/bpf_unwinder.h"
#include "capture/perf_event.h"
#include "capture/ring_size.h"
#include "capture/sysctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct source {
	struct cam_capture base;
	struct cam_perf_host host;
	struct cam_perf_event event;
	struct cam_cpus only;
	bool has_only;
	size_t max_ring_bytes, asked_ring_bytes;
	uint32_t asked_hz;
	struct cam_bpf_size size;
	struct cam_ring_budget budget;
	struct cam_bpf bpf;
	struct cam_rings *side;
	struct cam_bpf_ring *rings; /* fd -1: not there */
	uint64_t *told_malformed;   /* a ring */
	uint32_t n_rings;
	struct cam_bpf_cpu **cpus;
	size_t n_cpus, cap_cpus;
	struct cam_stream **streams;
	size_t n_streams;
	int epoll_fd, online_fd, max_rate_fd;
	struct cam_cpus online; /* as last followed */
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int source_fd(struct cam_capture *c)
{
	return ((struct source *)c)->epoll_fd;
}

/* Records that a ring's reader could not use are lost after all: some CPU that wrote there says so. */
static void tell_malformed(struct source *s, uint32_t ring)
{
	uint64_t n = s->rings[ring].malformed - s->told_malformed[ring];
	for (size_t i = 0; n && i < s->n_cpus; i++) {
		struct cam_bpf_cpu *c = s->cpus[i];
		if (c->gone || c->cpu / CAM_WIRE_CPUS_A_RING != ring)
			continue;
		uint64_t emitted = c->now.emitted - c->malformed;
		uint64_t part = n < emitted ? n : emitted;
		c->malformed += part;
		s->told_malformed[ring] += part;
		n -= part;
	}
}

static int source_begin(struct cam_capture *c, uint64_t round_ns, struct cam_stream ***streams,
			size_t *n)
{
	struct source *s = (struct source *)c;

	cam_rings_woken(s->epoll_fd);
	cam_rings_begin(s->side, round_ns);
	for (uint32_t i = 0; i < s->n_rings; i++) {
		if (s->rings[i].fd < 0)
			continue;
		cam_bpf_ring_begin(&s->rings[i]);
		tell_malformed(s, i);
	}
	for (size_t i = 0; i < s->n_cpus; i++)
		cam_bpf_cpu_begin(s->cpus[i], round_ns);
	*streams = s->streams;
	*n = s->n_streams;
	return 0;
}

static void source_end(struct cam_capture *c)
{
	struct source *s = (struct source *)c;
	cam_rings_end(s->side);
	for (uint32_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].fd >= 0)
			cam_bpf_ring_end(&s->rings[i]);
}

static void source_count(struct cam_capture *c)
{
	struct source *s = (struct source *)c;
	for (size_t i = 0; i < s->n_cpus; i++)
		s->cpus[i]->asked = true;
}

/* The lists were changed: makes one list of all streams. */
static int relist(struct source *s)
{
	size_t n = cam_rings_n_streams(s->side);
	struct cam_stream **streams =
		realloc(s->streams, (n + s->n_cpus + s->n_rings + 1) * sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	s->streams = streams;
	s->base.info.cpus = 0;
	cam_rings_streams(s->side, streams);
	for (size_t i = 0; i < s->n_cpus; i++) {
		streams[n++] = &s->cpus[i]->synth.stream;
		s->base.info.cpus += !s->cpus[i]->gone;
	}
	for (uint32_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].fd >= 0)
			streams[n++] = &s->rings[i].stream;
	s->n_streams = n;
	s->base.generation++;
	s->base.info.ring_bytes = s->budget.used_bytes;
	return 0;
}

static int open_ring(struct source *s, uint32_t index)
{
	size_t mapped = cam_bpf_ring_mapped_bytes(s->size.ring_bytes, page_bytes());
	struct epoll_event ready = {.events = EPOLLIN | EPOLLET};

	if (mapped > s->budget.max_bytes - s->budget.used_bytes)
		return -ENOMEM;
	int err = cam_bpf_ring_open(s->size.ring_bytes, index * CAM_WIRE_CPUS_A_RING,
				    &s->rings[index]);
	if (err)
		return err;
	s->budget.used_bytes += mapped;
	/* Edges: the kernel calls a ring readable as long as it is not empty; its wake-ups count. */
	ready.data.fd = s->rings[index].fd;
	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ready.data.fd, &ready) ? -errno : 0;
}

static void close_ring(struct source *s, uint32_t index)
{
	if (s->rings[index].fd < 0)
		return;
	cam_bpf_ring_close(&s->rings[index]);
	s->budget.used_bytes -= cam_bpf_ring_mapped_bytes(s->size.ring_bytes, page_bytes());
}

/* The rings of these CPUs, those that are not there yet, all put in place at once. */
static int open_rings(struct source *s, const struct cam_cpus *cpus, bool *changed)
{
	uint32_t n = 0, indices[CAM_CPUS_MAX / CAM_WIRE_CPUS_A_RING];
	int fds[CAM_CPUS_MAX / CAM_WIRE_CPUS_A_RING], err = 0;

	for (uint32_t cpu = 0; cpu < s->bpf.max_cpus && !err; cpu++) {
		uint32_t index = cpu / CAM_WIRE_CPUS_A_RING;
		if (!cam_cpus_has(cpus, cpu) || s->rings[index].fd >= 0)
			continue;
		err = open_ring(s, index);
		if (s->rings[index].fd >= 0) {
			indices[n] = index;
			fds[n++] = s->rings[index].fd;
		}
	}
	if (!err && n)
		err = cam_bpf_set_rings(&s->bpf, indices, fds, n);
	while (err && n)
		close_ring(s, indices[--n]);
	*changed |= n > 0;
	return err;
}

static void remove_cpu(struct source *s, size_t i)
{
	cam_bpf_cpu_close(s->cpus[i], &s->budget);
	s->cpus[i] = s->cpus[--s->n_cpus];
}

/* What an earlier slot of this CPU has still to say nobody took in a second: it is dropped. */
static void retire(struct source *s, uint32_t cpu)
{
	for (size_t i = s->n_cpus; i-- > 0;)
		if (s->cpus[i]->cpu == cpu && s->cpus[i]->gone)
			remove_cpu(s, i);
	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpus[i]->cpu == cpu)
			cam_bpf_cpu_retire(s->cpus[i], &s->budget);
}

static int add_cpu(struct source *s, uint32_t cpu)
{
	const struct cam_bpf_cpu_options o = {
		.kernel = s->host.kernel,
		.bpf = &s->bpf,
		.attr = &s->event.attr,
		.control = s->size.control_every && cpu % s->size.control_every == 0,
		.budget = &s->budget,
	};
	if (s->n_cpus == s->cap_cpus) {
		size_t cap = s->cap_cpus ? s->cap_cpus * 2 : 16;
		struct cam_bpf_cpu **cpus = realloc(s->cpus, cap * sizeof(*cpus));
		if (!cpus)
			return -ENOMEM;
		s->cpus = cpus;
		s->cap_cpus = cap;
	}
	int err = cam_bpf_cpu_open(&o, cpu, &s->cpus[s->n_cpus]);
	if (err)
		return err;
	s->cpus[s->n_cpus++]->hz = s->base.info.hz;
	return 0;
}

/* CPUs with events; those of them that are dead. */
static void look_at_cpus(const struct source *s, struct cam_cpus *open, struct cam_cpus *dead)
{
	*open = *dead = (struct cam_cpus){0};
	for (size_t i = 0; i < s->n_cpus; i++) {
		if (!s->cpus[i]->gone)
			cam_cpus_add(open, s->cpus[i]->cpu);
		if (!s->cpus[i]->gone && s->cpus[i]->dead)
			cam_cpus_add(dead, s->cpus[i]->cpu);
	}
}

/* Makes the set of sampled CPUs `wanted`; dead ones are opened again. */
static int follow_cpus(struct source *s, const struct cam_cpus *wanted, bool *changed)
{
	struct cam_cpus open, dead;
	int err = open_rings(s, wanted, changed);

	for (size_t i = s->n_cpus; i-- > 0;)
		if (s->cpus[i]->gone && !s->cpus[i]->synth.n) {
			remove_cpu(s, i);
			*changed = true;
		}
	look_at_cpus(s, &open, &dead);
	for (uint32_t cpu = 0; cpu < s->bpf.max_cpus; cpu++) {
		bool has = cam_cpus_has(&open, cpu);
		if (has && (cam_cpus_has(&dead, cpu) || !cam_cpus_has(wanted, cpu))) {
			retire(s, cpu);
			has = false;
			*changed = true;
		}
		if (err || has || !cam_cpus_has(wanted, cpu))
			continue;
		err = add_cpu(s, cpu);
		*changed |= !err;
		err = err == -ENODEV ? 0 : err; /* it vanished meanwhile */
	}
	return err;
}

/* The side band first, so that no sample's process is unseen. */
static int follow(struct source *s, const struct cam_cpus *online)
{
	struct cam_cpus alive = *online, sampled = *online, open, dead;
	bool changed = false, again = false;
	uint64_t now = s->host.kernel->now_ns(s->host.kernel);

	look_at_cpus(s, &open, &dead);
	for (uint32_t cpu = 0; cpu < s->bpf.max_cpus; cpu++)
		if (cam_cpus_has(&dead, cpu))
			cam_cpus_remove(&alive, cpu);
	if (s->has_only)
		cam_cpus_intersect(&sampled, &s->only);
	/* Where a CPU died its side band did too: taken out, then in again. */
	int err = cam_rings_cpus(s->side, &alive, now, &changed);
	if (!err)
		err = cam_rings_cpus(s->side, online, now, &again);
	changed |= again;
	if (!err)
		err = follow_cpus(s, &sampled, &changed);
	int listed = changed ? relist(s) : 0;
	return err ? err : listed;
}

/* The lower of what was asked for and what the kernel allows now. */
static uint32_t allowed_hz(struct source *s, uint32_t hz)
{
	int64_t max;
	if (cam_sysctl_reread(&s->max_rate_fd, s->host.proc_root,
			      "kernel/perf_event_max_sample_rate", &max) < 0)
		return hz;
	return max > 0 && max < hz ? (uint32_t)max : hz;
}

static int apply_rate(struct source *s)
{
	uint32_t hz = allowed_hz(s, s->asked_hz);
	int first = 0;
	if (hz == s->base.info.hz)
		return 0;
	s->event.attr.sample_period = cam_perf_event_period(&s->event, hz);
	for (size_t i = 0; i < s->n_cpus; i++) {
		struct cam_bpf_cpu *c = s->cpus[i];
		if (c->gone)
			continue;
		int err = c->kernel->control(c->kernel, c->fd, PERF_EVENT_IOC_PERIOD,
					     s->event.attr.sample_period);
		first = first ? first : err;
		c->hz = hz;
	}
	if (!first)
		s->base.info.hz = hz;
	return first;
}

static bool source_cpus_changed(struct cam_capture *c)
{
	struct source *s = (struct source *)c;
	struct cam_cpus online;
	for (size_t i = 0; i < s->n_cpus; i++)
		if (!s->cpus[i]->gone && s->cpus[i]->dead)
			return true;
	return !cam_cpus_reread(&s->online_fd, s->host.sys_root, "online", &online) &&
	       memcmp(&online, &s->online, sizeof(online)) != 0;
}

static int source_rescan(struct cam_capture *c)
{
	struct source *s = (struct source *)c;
	struct cam_cpus online;
	int err = cam_cpus_reread(&s->online_fd, s->host.sys_root, "online", &online);
	if (!err) {
		/* Also if some cannot be opened: they are tried again in a second, not each round. */
		s->online = online;
		err = follow(s, &online);
	}
	int rate = apply_rate(s);
	return err ? err : rate;
}

static int source_set_rate(struct cam_capture *c, uint32_t hz)
{
	struct source *s = (struct source *)c;
	if (!hz)
		return -EINVAL;
	s->asked_hz = hz;
	return apply_rate(s);
}

static int source_filter_pids(struct cam_capture *c, const int32_t *pids, size_t n)
{
	return cam_bpf_scope(&((struct source *)c)->bpf, pids, n);
}

static void close_all(struct source *s)
{
	while (s->n_cpus)
		remove_cpu(s, s->n_cpus - 1);
	for (uint32_t i = 0; i < s->n_rings; i++)
		close_ring(s, i);
	cam_rings_free(s->side);
	s->side = NULL;
}

static void source_close(struct cam_capture *c)
{
	struct source *s = (struct source *)c;

	close_all(s);
	cam_bpf_unwinder_free(s->base.unwinder);
	cam_bpf_unload(&s->bpf);
	cam_closep(&s->epoll_fd);
	cam_closep(&s->online_fd);
	cam_closep(&s->max_rate_fd);
	free(s->rings);
	free(s->told_malformed);
	free(s->cpus);
	free(s->streams);
	free(s);
}

static const struct cam_capture_ops ops = {
	.fd = source_fd,
	.begin_round = source_begin,
	.end_round = source_end,
	.count = source_count,
	.cpus_changed = source_cpus_changed,
	.rescan = source_rescan,
	.set_rate = source_set_rate,
	.filter_pids = source_filter_pids,
	.close = source_close,
};

static uint32_t count_rings(const struct cam_cpus *cpus)
{
	uint32_t n = 0, last = UINT32_MAX;
	for (uint32_t cpu = 0; cpu < CAM_CPUS_MAX; cpu++) {
		if (!cam_cpus_has(cpus, cpu) || cpu / CAM_WIRE_CPUS_A_RING == last)
			continue;
		last = cpu / CAM_WIRE_CPUS_A_RING;
		n++;
	}
	return n;
}

/* The budget must suffice for CPUs that may come too. */
static int choose_sizes(struct source *s, const struct cam_cpus *online)
{
	struct cam_cpus all = *online, present, sampled;

	if (cam_cpus_read(s->host.sys_root, "present", &present) == 0 &&
	    cam_cpus_count(&present) > cam_cpus_count(&all))
		all = present;
	sampled = all;
	if (s->has_only)
		cam_cpus_intersect(&sampled, &s->only);
	struct cam_bpf_places places = {
		.page_bytes = page_bytes(),
		.cpus = cam_cpus_count(&all),
		.rings = count_rings(&sampled),
	};
	if (!places.rings)
		return -ENODEV;
	s->budget = (struct cam_ring_budget){.max_bytes = s->max_ring_bytes};
	int err = cam_bpf_size_choose(s->max_ring_bytes, &places, &s->size);
	if (err || !s->asked_ring_bytes)
		return err;
	for (s->size.ring_bytes = places.page_bytes; s->size.ring_bytes < s->asked_ring_bytes;)
		s->size.ring_bytes *= 2;
	return cam_bpf_size_total(&s->size, &places) > s->max_ring_bytes ? -ENOMEM : 0;
}

static int open_side(struct source *s)
{
	struct cam_rings_options o = {
		.kernel = s->host.kernel,
		.ring_bytes = s->size.side_bytes,
		.side_band = true,
		.watch = s->has_only,
		.epoll_fd = s->epoll_fd,
		.budget = &s->budget,
	};
	cam_rings_side_attr(&o.attr, o.ring_bytes, false);
	return cam_rings_new(&o, &s->side);
}

/* How many share one, in the middle. */
static size_t cpus_a_ring(const struct source *s)
{
	uint32_t rings = 0;
	for (uint32_t i = 0; i < s->n_rings; i++)
		rings += s->rings[i].fd >= 0;
	return rings && s->base.info.cpus > rings ? s->base.info.cpus / rings : 1;
}

/* Smaller rings, then no controls, until the limit of locked memory allows it. */
static int open_all(struct source *s, const struct cam_cpus *online)
{
	struct cam_capture_info *info = &s->base.info;
	for (;;) {
		int err = open_side(s);
		if (!err)
			err = follow(s, online);
		if (!err) {
			info->sample_ring_bytes = s->size.ring_bytes / cpus_a_ring(s);
			info->side_ring_bytes = s->size.side_bytes;
			return info->cpus ? 0 : -ENODEV;
		}
		close_all(s);
		if (err != -ENOBUFS)
			return err == -ENOENT ? -EOPNOTSUPP : err;
		info->rings_shrunk = true;
		if (!cam_bpf_size_shrink(&s->size, page_bytes())) {
			if (!s->size.control_every)
				return -EPERM;
			s->size.control_every = 0;
		}
	}
}

/* The event of the plain source, but it writes nothing itself: the program does. */
static int choose_event(struct source *s, const struct cam_capture_options *o,
			struct cam_wire_config *config)
{
	int err = cam_perf_event_choose(s->host.kernel, s->host.proc_root, o, &s->event);
	if (err)
		return err;
	struct perf_event_attr *attr = &s->event.attr;
	uint32_t frames = attr->sample_max_stack < CAM_WIRE_MAX_FRAMES ? attr->sample_max_stack
								       : CAM_WIRE_MAX_FRAMES;
	*config = (struct cam_wire_config){
		.stack_bytes = frames * (uint32_t)sizeof(uint64_t),
		.kernel_stacks = !o->user_only,
	};
	attr->sample_type = 0;
	attr->sample_max_stack = 0;
	attr->exclude_callchain_kernel = 0;
	attr->watermark = 0;
	attr->sample_id_all = 0;
	attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	s->base.info = (struct cam_capture_info){
		.source = "bpf",
		.event = s->event.name,
		.hz = allowed_hz(s, o->hz),
		.kernel_stacks = !o->user_only,
	};
	attr->sample_period = cam_perf_event_period(&s->event, s->base.info.hz);
	return 0;
}

/*
 * Copies of stacks, all CPUs together: what the reader of copies can be asked for. On a host of 2 CPUs
 * that is more than 97 Hz can ask for.
 */
#define COPIES_A_SECOND 256u
#define COPIES_SAVED	16u

static void set_copies(struct cam_wire_config *config, uint32_t cpus)
{
	uint32_t each = COPIES_A_SECOND / (cpus ? cpus : 1);
	config->copy_cost_ns = 1000000000u / (each > 4 ? each : 4);
	uint64_t saved = (uint64_t)config->copy_cost_ns * COPIES_SAVED;
	config->copy_burst_ns = saved < UINT32_MAX ? (uint32_t)saved : UINT32_MAX;
}

static int make_rings(struct source *s, uint32_t max_cpus)
{
	s->n_rings = (max_cpus + CAM_WIRE_CPUS_A_RING - 1) / CAM_WIRE_CPUS_A_RING;
	s->rings = calloc(s->n_rings + 1, sizeof(*s->rings));
	s->told_malformed = calloc(s->n_rings + 1, sizeof(*s->told_malformed));
	if (!s->rings || !s->told_malformed) {
		s->n_rings = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->n_rings; i++)
		s->rings[i].fd = -1;
	return 0;
}

static int load(struct source *s, enum cam_unwind_mode unwind, struct cam_bpf_options *o,
		struct cam_bpf_refusal *why)
{
	static const char *const forms[CAM_BPF_FORMS] = {"frame pointers", "tables (plain loop)",
							 "tables (bpf_loop)"};
	struct cam_cpus possible;
	int err = cam_cpus_read(s->host.sys_root, "possible", &possible);
	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < CAM_CPUS_MAX; cpu++)
		if (cam_cpus_has(&possible, cpu))
			o->max_cpus = cpu + 1;
	if (unwind != CAM_UNWIND_FP)
		o->best = s->host.no_bpf_loop ? CAM_BPF_PLAIN_LOOP : CAM_BPF_LOOP;
	if (unwind == CAM_UNWIND_BPF)
		o->worst = CAM_BPF_PLAIN_LOOP;
	set_copies(&o->config, cam_cpus_count(&possible));
	err = make_rings(s, o->max_cpus);
	if (!err)
		err = cam_bpf_load(o, &s->bpf, why);
	if (err)
		return err;
	s->base.info.unwind = forms[s->bpf.form];
	if (s->bpf.form == CAM_BPF_FRAME_POINTERS)
		return 0;
	return cam_bpf_unwinder_new(&s->bpf, s->host.kernel, 0, &s->base.unwinder);
}

static int prepare(struct source *s, const struct cam_capture_options *o,
		   struct cam_bpf_refusal *why)
{
	if (!o->hz)
		return -EINVAL;
	if (o->tids)
		return -EOPNOTSUPP; /* who may load a program may sample every CPU */
	if (o->unwind == CAM_UNWIND_DWARF)
		return -EOPNOTSUPP; /* copies of all stacks are the plain source's */
	s->has_only = o->cpus != NULL;
	for (size_t i = 0; o->cpus && i < o->n_cpus; i++)
		cam_cpus_add(&s->only, o->cpus[i]);
	s->asked_hz = o->hz;
	s->asked_ring_bytes = o->ring_bytes;
	s->max_ring_bytes = o->max_ring_bytes ? o->max_ring_bytes : CAM_RING_DEFAULT_BYTES_ALL;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	struct cam_bpf_options bpf = {0};
	int err = choose_event(s, o, &bpf.config);
	if (!err)
		err = load(s, o->unwind, &bpf, why);
	return err || !o->scope_follows ? err : cam_bpf_gather(&s->bpf);
}

int cam_bpf_source_open(const struct cam_capture_options *o, const struct cam_perf_host *host,
			struct cam_capture **out, struct cam_bpf_refusal *why)
{
	struct source *s = calloc(1, sizeof(*s));
	*why = (struct cam_bpf_refusal){0};
	if (!s)
		return -ENOMEM;
	s->base.ops = &ops;
	s->host = *host;
	s->epoll_fd = s->online_fd = s->max_rate_fd = -1;
	s->bpf = CAM_BPF_NONE;
	int err = prepare(s, o, why);
	if (!err)
		err = cam_cpus_reread(&s->online_fd, host->sys_root, "online", &s->online);
	if (!err)
		err = choose_sizes(s, &s->online);
	if (!err)
		err = open_all(s, &s->online);
	if (err) {
		if (!why->step)
			*why = (struct cam_bpf_refusal){"the events and rings", err};
		source_close(&s->base);
		return err;
	}
	*out = &s->base;
	return 0;
}

int cam_capture_open_bpf(const struct cam_capture_options *o, struct cam_capture **out)
{
	const struct cam_perf_host host = {cam_kernel_host(), "/proc", "/sys"};
	struct cam_bpf_refusal why;
	return cam_bpf_source_open(o, &host, out, &why);
}

const char *cam_bpf_refusal_text(const struct cam_bpf_refusal *why, char *text, size_t bytes)
{
	const char *name = strerrorname_np(-why->error);
	bool forbidden = why->error == -EPERM || why->error == -EACCES;
	snprintf(text, bytes, "%s: %s (%s)", why->step ? why->step : "bpf",
		 forbidden ? "not allowed" : "not possible", name ? name : "?");
	return text;
}
