// SPDX-License-Identifier: Apache-2.0
/*
 * Rounds. One every CAM_ROUND_NS while programs come and go; every CAM_QUIET_NS while nothing comes but
 * samples, at a rate that leaves the rings mostly empty: both threads wake up for each round, and where
 * nothing new happens these wake-ups are most of what recording costs. Sooner when a ring passes
 * its watermark, but never two within MIN_ROUND_NS: a storm is drained in pieces, not by spinning.
 *
 * Invariants
 *  1. A round takes only what is older than SETTLE_NS, or than the round before: whatever a CPU was
 *     writing then is in its ring now, so the merge sees it. (A virtual CPU that stood still for longer in
 *     the middle of a record has it taken late, behind younger ones of other CPUs.)
 *  2. A record that the queue refuses is counted for its CPU, and the count is queued, as a lost
 *     record of the queue, before anything else of a later round.
 *  3. Nothing here waits for another thread.
 *  4. The last round takes everything, and has COUNTS up to its own time: whatever was due, filtered
 *     or lost until then is accounted for.
 */
#include "daemon/drain.h"

#include "base/units.h"
#include "ingest/order.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MIN_ROUND_NS  20000000u
#define SAMPLE_BYTES  2048u /* of a long stack, in a ring */
#define SETTLE_NS     100000000u
#define LIVELY_NS     2000000000u /* programs come in bursts */
#define SLACK_NS      2000000u	  /* a round may wait so long for another timer */
#define MAX_LOST_CPUS 1024u
#define KTHREADD      2 /* forks the kernel's threads */

struct lost {
	uint64_t records, from_ns, to_ns;
};

struct cam_drain {
	struct cam_capture *capture;
	struct cam_queue *queue;
	int64_t namespace_ns;
	struct cam_order *order;
	pthread_t thread;
	int wake_fd, nudge_fd;
	bool stopping;
	_Atomic bool stop;
	pid_t self;
	uint64_t lively_ns; /* until then there may be more programs to come */
	uint64_t last_round_ns, last_scan_ns;
	/* Refused by the queue, not yet told: of each CPU samples; then all else. */
	struct lost samples[MAX_LOST_CPUS];
	struct lost side_band;
	bool has_lost;
	_Atomic uint32_t want_hz;
	_Atomic uint64_t rounds, released_ns, refused;
	_Atomic int error;
};

/* As samples are stamped. */
static uint64_t now_ns(const struct cam_drain *d)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec -
	       (uint64_t)d->namespace_ns;
}

static void count_refused(struct cam_drain *d, const struct cam_raw *r)
{
	struct lost *l =
		r->type == CAM_RAW_SAMPLE ? &d->samples[r->cpu % MAX_LOST_CPUS] : &d->side_band;
	if (!l->records || r->time_ns < l->from_ns)
		l->from_ns = r->time_ns;
	if (r->time_ns >= l->to_ns)
		l->to_ns = r->time_ns + 1;
	l->records++;
	d->has_lost = true;
	atomic_fetch_add_explicit(&d->refused, 1, memory_order_relaxed);
}

/* Whether somebody will be asked about it, soon, lest it be gone by then. A thread is of a program that is
 * known, the kernel's threads have no files, and a new name is in its record. (Some are given once a
 * second, as by every perfcam to itself, for their time: capture/sched_clock.c.) */
static bool is_news(const struct cam_drain *d, const struct cam_raw *r)
{
	if (r->pid == d->self)
		return false;
	if (r->type == CAM_RAW_FORK)
		return r->pid != r->fork.parent_pid && r->fork.parent_pid != KTHREADD;
	return r->type == CAM_RAW_MMAP || (r->type == CAM_RAW_COMM && r->comm.exec);
}

static void queue_record(void *arg, const struct cam_raw *r)
{
	struct cam_drain *d = arg;
	if (is_news(d, r))
		d->lively_ns = d->last_round_ns + LIVELY_NS;
	if (cam_queue_put(d->queue, r))
		count_refused(d, r);
}

static bool tell_lost(struct cam_drain *d, struct lost *l, uint32_t cpu, bool side_band)
{
	if (!l->records)
		return true;
	struct cam_raw r = {
		.type = CAM_RAW_LOST,
		.cpu = cpu,
		.time_ns = l->to_ns,
		.lost = {.records = l->records,
			 .from_ns = l->from_ns,
			 .side_band = side_band,
			 .queue = true},
	};
	if (cam_queue_put(d->queue, &r))
		return false;
	*l = (struct lost){0};
	return true;
}

static void tell_all_lost(struct cam_drain *d)
{
	if (!d->has_lost)
		return;
	for (uint32_t cpu = 0; cpu < MAX_LOST_CPUS; cpu++) {
		if (!tell_lost(d, &d->samples[cpu], cpu, false))
			return;
	}
	d->has_lost = !tell_lost(d, &d->side_band, CAM_CPU_NONE, true);
}

static void note_error(struct cam_drain *d, int err)
{
	if (err)
		atomic_store_explicit(&d->error, err, memory_order_relaxed);
}

static void run_round(struct cam_drain *d)
{
	uint64_t t = now_ns(d);
	uint64_t settled = t > d->last_round_ns + SETTLE_NS ? t - SETTLE_NS : d->last_round_ns;
	/* The last round takes all: nobody will come after it. */
	uint64_t before = d->stopping ? UINT64_MAX : settled;
	struct cam_stream **streams;
	size_t n;
	tell_all_lost(d);
	if (d->stopping)
		d->capture->ops->count(d->capture);
	int err = d->capture->ops->begin_round(d->capture, t, &streams, &n);
	note_error(d, err);
	if (!err) {
		cam_order_release(d->order, streams, n, before, queue_record, d);
		d->capture->ops->end_round(d->capture);
	}
	atomic_store_explicit(&d->released_ns, d->stopping ? t : settled, memory_order_release);
	atomic_fetch_add_explicit(&d->rounds, 1, memory_order_relaxed);
	d->last_round_ns = t;
	if (t - d->last_scan_ns >= CAM_NS_PER_SEC || d->capture->ops->cpus_changed(d->capture)) {
		d->last_scan_ns = t;
		note_error(d, d->capture->ops->rescan(d->capture));
	}
	/* A full counter means that the other side is awake already. */
	if (eventfd_write(d->wake_fd, 1))
		return;
}

static void change_rate(struct cam_drain *d)
{
	uint32_t hz = atomic_exchange_explicit(&d->want_hz, 0, memory_order_relaxed);
	if (hz)
		note_error(d, d->capture->ops->set_rate(d->capture, hz));
}

/* Long rounds only where nothing but samples comes, and where a ring would hold twice as many of them. */
static uint64_t round_length(const struct cam_drain *d, uint64_t now)
{
	const struct cam_capture_info *i = &d->capture->info;
	uint64_t bytes = (uint64_t)i->hz * SAMPLE_BYTES * CAM_QUIET_NS / CAM_NS_PER_SEC;
	return now < d->lively_ns || 2 * bytes > i->sample_ring_bytes ? CAM_ROUND_NS : CAM_QUIET_NS;
}

static void *drain_main(void *arg)
{
	struct cam_drain *d = arg;
	prctl(PR_SET_NAME, "perfcam-drain");
	prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
	struct pollfd fds[2] = {
		{.fd = d->nudge_fd, .events = POLLIN},
		{.fd = d->capture->ops->fd(d->capture), .events = POLLIN},
	};
	while (!d->stopping) {
		/* Rounds fall on whole multiples of their length, so that one follows each full
		 * second closely: the host's counters are read then. */
		uint64_t now = now_ns(d);
		uint64_t length = round_length(d, now);
		struct timespec rest = {.tv_nsec = (long)(length - now % length)};
		int n = ppoll(fds, 2, &rest, NULL);
		/* A ring is filling: not a moment too late, but not at every record either. */
		uint64_t since = now_ns(d) - d->last_round_ns;
		if (n > 0 && !(fds[0].revents & POLLIN) && since < MIN_ROUND_NS) {
			rest.tv_nsec = (long)(MIN_ROUND_NS - since);
			n = ppoll(fds, 1, &rest, NULL);
		}
		eventfd_t nudged;
		if (n > 0 && (fds[0].revents & POLLIN))
			eventfd_read(d->nudge_fd, &nudged);
		d->stopping = atomic_load_explicit(&d->stop, memory_order_acquire);
		change_rate(d);
		run_round(d);
	}
	return NULL;
}

int cam_drain_start(const struct cam_drain_options *o, struct cam_drain **out)
{
	struct cam_drain *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->capture = o->capture;
	d->queue = o->queue;
	d->wake_fd = o->wake_fd;
	d->namespace_ns = o->namespace_ns;
	d->self = getpid();
	d->last_round_ns = d->last_scan_ns = now_ns(d);
	d->lively_ns = d->last_round_ns + LIVELY_NS;
	d->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = d->nudge_fd < 0 ? -errno : cam_order_new(o->max_streams, &d->order);
	if (!err)
		err = -pthread_create(&d->thread, NULL, drain_main, d);
	if (err) {
		if (d->nudge_fd >= 0)
			close(d->nudge_fd);
		cam_order_free(d->order);
		free(d);
		return err;
	}
	*out = d;
	return 0;
}

void cam_drain_stop(struct cam_drain *d)
{
	if (!d)
		return;
	atomic_store_explicit(&d->stop, true, memory_order_release);
	eventfd_write(d->nudge_fd, 1);
	pthread_join(d->thread, NULL);
	close(d->nudge_fd);
	cam_order_free(d->order);
	free(d);
}

void cam_drain_nudge(struct cam_drain *d)
{
	eventfd_write(d->nudge_fd, 1);
}

struct cam_drain_stats cam_drain_stats(struct cam_drain *d)
{
	struct cam_drain_stats s = {
		.rounds = atomic_load_explicit(&d->rounds, memory_order_relaxed),
		.released_ns = atomic_load_explicit(&d->released_ns, memory_order_acquire),
		.refused = atomic_load_explicit(&d->refused, memory_order_relaxed),
		.error = atomic_load_explicit(&d->error, memory_order_relaxed),
	};
	return s;
}

void cam_drain_set_rate(struct cam_drain *d, uint32_t hz)
{
	atomic_store_explicit(&d->want_hz, hz, memory_order_relaxed);
}
