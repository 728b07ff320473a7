// SPDX-License-Identifier: Apache-2.0
/*
 * The plain source: per CPU one sampling event and one for the side band, a ring each.
 *
 * Why two rings: a fork storm writes megabytes a second, samples 17 KB; in one ring the storm would
 * push out the samples. The side band wakes us when a quarter of its ring is full, samples at half:
 * measured, two loops of vfork (26,559 a second) with 512 KiB lose nothing when read only then.
 *
 * What it costs: read in rounds of 100 ms, 0.07 us of CPU a record when there are many; a round of
 * two CPUs with few, 33 us, of which most is the system calls. Once a second one read(2) of each
 * sampling event: 1 us on the own CPU, 9 to 18 us on another here, where an interrupt is dear.
 *
 * Idle CPUs. The timer of cpu-clock goes on while a CPU idles: measured on an idle CPU, 10 to 15 timer
 * interrupts a second without us, 107 to 113 with 97 Hz, so it costs its rate in wake-ups. (Here the
 * first CPU also gives a sample of the idle task for each; the second one's timer expires and gives
 * none. Hence idle time is taken from /proc/stat, and no sample means nothing by itself.)
 * exclude_idle saves none of it (101 to 112): the timer fires and the sample is thrown away, so it
 * is not used, and idle samples stay countable; but in a pid namespace, where everybody outside has the
 * idle task's pid. Backing off would need to know when the CPU
 * wakes up, a tracepoint in the path of every idle exit, for a cost that perf record has too;
 * cycles do not tick on a halted CPU.
 *
 * Invariants: 1. The side band of all CPUs is open whatever the samples are limited to: a
 * process maps and forks wherever it runs. 2. All rings of both sets stay within one budget.
 * 3. Rings are sized for the CPUs that are present, so that one that comes online finds room.
 *
 * With cycles each CPU has a control beside its event (witness.h): the kernel only tries to keep their rate.
 *
 * With tids, an event of each thread on each CPU writes to that CPU's ring; children inherit them.
 * Threads that were started between listing and opening are missed, and so are, on a CPU that came
 * later, children forked before.
 */
#include "capture/perf_source.h"

#include "base/cleanup.h"
#include "capture/perf_event.h"
#include "capture/ring_size.h"
#include "capture/rings.h"
#include "capture/sysctl.h"
#include "capture/witness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct source {
	struct cam_capture base;
	struct cam_perf_host host;
	struct cam_capture_options options; /* its lists are our own copies */
	struct cam_perf_event event;
	struct cam_cpus only; /* samples; with options.cpus */
	struct cam_ring_size size;
	struct cam_ring_budget budget;
	struct cam_rings *samples, *side;
	struct cam_stream **streams;
	int epoll_fd, online_fd, max_rate_fd;
	struct cam_cpus online; /* as last followed */
	uint32_t asked_hz;
};

static int source_fd(struct cam_capture *c)
{
	return ((struct source *)c)->epoll_fd;
}

static size_t n_streams(const struct source *s)
{
	return cam_rings_n_streams(s->samples) + cam_rings_n_streams(s->side);
}

static int source_begin(struct cam_capture *c, uint64_t round_ns, struct cam_stream ***streams,
			size_t *n)
{
	struct source *s = (struct source *)c;

	cam_rings_woken(s->epoll_fd);
	cam_rings_begin(s->side, round_ns);
	cam_rings_begin(s->samples, round_ns);
	*streams = s->streams;
	*n = n_streams(s);
	return 0;
}

static void source_end(struct cam_capture *c)
{
	struct source *s = (struct source *)c;
	cam_rings_end(s->side);
	cam_rings_end(s->samples);
}

static void source_count(struct cam_capture *c)
{
	cam_rings_ask(((struct source *)c)->samples);
}

/* The lists of streams were changed: makes one list of them. */
static int relist(struct source *s)
{
	size_t n_side = cam_rings_n_streams(s->side);
	struct cam_stream **streams = realloc(s->streams, (n_streams(s) + 1) * sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	s->streams = streams;
	cam_rings_streams(s->side, streams);
	cam_rings_streams(s->samples, streams + n_side);
	s->base.generation++;
	s->base.info.cpus = cam_rings_count(s->samples);
	s->base.info.ring_bytes = s->budget.used_bytes;
	return 0;
}

/* Makes both sets what `online` says; the side band first, so that no sample's process is unseen. */
static int follow(struct source *s, const struct cam_cpus *online)
{
	struct cam_cpus alive = *online, dead, sampled = *online;
	bool changed[3] = {false};
	uint64_t now = s->host.kernel->now_ns(s->host.kernel);

	cam_rings_dead(s->samples, &dead);
	for (uint32_t cpu = cam_cpus_next(&dead, 0); cpu < CAM_CPUS_MAX;
	     cpu = cam_cpus_next(&dead, cpu + 1))
		cam_cpus_remove(&alive, cpu);
	if (s->options.cpus)
		cam_cpus_intersect(&sampled, &s->only);
	/* Where a CPU died its side band did too: taken out, then in again. */
	int err = cam_rings_cpus(s->side, &alive, now, &changed[0]);
	if (!err)
		err = cam_rings_cpus(s->side, online, now, &changed[1]);
	if (!err)
		err = cam_rings_cpus(s->samples, &sampled, now, &changed[2]);
	if (changed[0] || changed[1] || changed[2]) {
		int listed = relist(s);
		err = err ? err : listed;
	}
	return err;
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
	if (hz == s->base.info.hz)
		return 0;
	int err = cam_rings_period(s->samples, cam_perf_event_period(&s->event, hz), hz);
	if (!err)
		s->base.info.hz = hz;
	return err;
}

static bool source_cpus_changed(struct cam_capture *c)
{
	struct source *s = (struct source *)c;
	struct cam_cpus online;
	cam_rings_dead(s->samples, &online);
	if (cam_cpus_next(&online, 0) < CAM_CPUS_MAX)
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
	(void)c;
	(void)pids;
	return n ? -EOPNOTSUPP : 0;
}

static void source_close(struct cam_capture *c)
{
	struct source *s = (struct source *)c;

	cam_rings_free(s->samples);
	cam_rings_free(s->side);
	cam_closep(&s->epoll_fd);
	cam_closep(&s->online_fd);
	cam_closep(&s->max_rate_fd);
	free((void *)s->options.tids);
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

/* A PMU's rate is only nominal. */
static bool needs_witness(const struct source *s)
{
	return s->event.attr.type == PERF_TYPE_HARDWARE;
}

/* How many CPUs the budget must suffice for: those that may come too. */
static int choose_sizes(struct source *s, const struct cam_cpus *online)
{
	struct cam_cpus side = *online, present, sampled;
	size_t max =
		s->options.max_ring_bytes ? s->options.max_ring_bytes : CAM_RING_DEFAULT_BYTES_ALL;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (cam_cpus_read(s->host.sys_root, "present", &present) == 0 &&
	    cam_cpus_count(&present) > cam_cpus_count(&side))
		side = present;
	sampled = side;
	if (s->options.cpus)
		cam_cpus_intersect(&sampled, &s->only);
	uint32_t n_side = cam_cpus_count(&side), n_sampled = cam_cpus_count(&sampled);
	s->budget = (struct cam_ring_budget){.max_bytes = max};
	/* They come last, and only where there is room for them. */
	if (needs_witness(s) && cam_witness_bytes() * n_sampled < max / 2)
		max -= cam_witness_bytes() * n_sampled;
	if (!s->options.ring_bytes)
		return cam_ring_size_choose(max, page, n_sampled, n_side, &s->size);
	size_t samples = (s->options.ring_bytes + page) * n_sampled;
	if (samples > max)
		return -ENOMEM;
	int err = cam_ring_size_choose(max - samples, page, 0, n_side, &s->size);
	s->size.sample_bytes = s->options.ring_bytes;
	return err;
}

static int make_sets(struct source *s)
{
	struct cam_rings_options o = {
		.kernel = s->host.kernel,
		.tids = s->options.tids,
		.n_tids = s->options.n_tids,
		.ring_bytes = s->size.side_bytes,
		.side_band = true,
		.watch = s->options.cpus,
		.epoll_fd = s->epoll_fd,
		.budget = &s->budget,
	};
	cam_rings_side_attr(&o.attr, o.ring_bytes, o.tids);
	int err = cam_rings_new(&o, &s->side);
	if (err)
		return err;
	o.side_band = false;
	o.witness = needs_witness(s);
	o.hz = s->base.info.hz;
	o.ring_bytes = s->size.sample_bytes;
	cam_perf_event_fit(&s->event, o.ring_bytes);
	o.attr = s->event.attr;
	o.attr.sample_period = cam_perf_event_period(&s->event, o.hz);
	o.attr.wakeup_watermark = (uint32_t)(o.ring_bytes / 2);
	return cam_rings_new(&o, &s->samples);
}

static void drop_sets(struct source *s)
{
	cam_rings_free(s->samples);
	cam_rings_free(s->side);
	s->samples = s->side = NULL;
}

/* Errors of the kernel in the words of capture.h. */
static int said_as(int err)
{
	switch (err) {
	case -ENOBUFS: /* not even rings of a page may be locked */
		return -EPERM;
	case -ENOENT: /* no such event */
	case -ENOSYS: /* no perf */
		return -EOPNOTSUPP;
	default:
		return err;
	}
}

/* Smaller rings, or less of the kernel, until this is allowed. */
static int open_sets(struct source *s, const struct cam_cpus *online)
{
	struct cam_capture_info *info = &s->base.info;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (;;) {
		int err = make_sets(s);
		if (!err)
			err = follow(s, online);
		if (!err) {
			info->sample_ring_bytes = s->size.sample_bytes;
			info->side_ring_bytes = s->size.side_bytes;
			return info->cpus ? 0 : -ENODEV;
		}
		drop_sets(s);
		if (err == -ENOBUFS && cam_ring_size_shrink(&s->size, page))
			info->rings_shrunk = true;
		else if (err == -EACCES && s->options.user_only && !s->event.attr.exclude_kernel)
			s->event.attr.exclude_kernel = 1;
		else
			return said_as(err);
	}
}

static int copy_options(struct source *s, const struct cam_capture_options *o)
{
	s->options = *o;
	s->options.tids = NULL;
	for (size_t i = 0; o->cpus && i < o->n_cpus; i++)
		cam_cpus_add(&s->only, o->cpus[i]);
	if (!o->tids)
		return 0;
	int32_t *tids = calloc(o->n_tids + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	if (o->n_tids)
		memcpy(tids, o->tids, o->n_tids * sizeof(*tids));
	s->options.tids = tids;
	return 0;
}

static int prepare(struct source *s, const struct cam_capture_options *o)
{
	if (!o->hz)
		return -EINVAL;
	if (o->unwind == CAM_UNWIND_BPF)
		return -EOPNOTSUPP;
	int err = copy_options(s, o);
	if (err)
		return err;
	s->asked_hz = o->hz;
	err = cam_perf_event_choose(s->host.kernel, s->host.proc_root, o, &s->event);
	if (err)
		return err;
	s->base.info = (struct cam_capture_info){
		.source = "perf",
		.event = s->event.name,
		.hz = allowed_hz(s, o->hz),
		.kernel_stacks = !o->user_only,
		.unwind = o->unwind == CAM_UNWIND_DWARF ? "copies" : "frame pointers",
	};
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll_fd < 0 ? -errno : 0;
}

int cam_perf_source_open(const struct cam_capture_options *o, const struct cam_perf_host *host,
			 struct cam_capture **out)
{
	struct source *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->base.ops = &ops;
	s->host = *host;
	s->epoll_fd = s->online_fd = s->max_rate_fd = -1;
	int err = prepare(s, o);
	if (!err)
		err = cam_cpus_reread(&s->online_fd, host->sys_root, "online", &s->online);
	if (!err)
		err = choose_sizes(s, &s->online);
	if (!err)
		err = open_sets(s, &s->online);
	if (err) {
		source_close(&s->base);
		return err;
	}
	*out = &s->base;
	return 0;
}

int cam_capture_open_perf(const struct cam_capture_options *o, struct cam_capture **out)
{
	const struct cam_perf_host host = {cam_kernel_host(), "/proc", "/sys"};
	return cam_perf_source_open(o, &host, out);
}
