// SPDX-License-Identifier: Apache-2.0
/*
 * The events of one CPU, their ring, and what is made beside it.
 *
 * Losses. PERF_FORMAT_LOST is exact: the kernel adds to it each record that an event could not
 * write. Reading it is not free: read(2) of an event that runs on another CPU interrupts that CPU,
 * and wakes it if it idles. So it is read only when something may have been lost: the ring was so
 * full in this round or the last that the longest record would not have fitted (ring.h, tight), or
 * a LOST record came; and once a second with the counts.
 *
 * Counts. The kernel does not count how often a clock event fired, so fired is what came out of it:
 * emitted + lost. `emitted` is filled in when the record is taken: the samples that this stream
 * gave before it, which are those older than the record's round.
 *
 * Invariants:
 * 1. The stream is in order of time as far as its ring is: a queued record goes first only if it is
 *    older than the ring's next.
 * 2. told + dropped (+ lost, of kernels without PERF_FORMAT_LOST) is the sum of `records` of all LOST
 *    records given or queued; COUNTS.lost never exceeds it.
 *
 * Example: a round at t = 5.0 s finds the ring full; the kernel's count has grown from 0 to 12: LOST
 * {12, from 4.9 s} with time 5.0 s is queued, and given when the ring's records before 5.0 s were.
 */
#include "capture/slot.h"

#include "capture/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
/* Rounds come at their own times: a second is over if this much of it is. */
#define COUNTS_EVERY_NS (SECOND_NS - SECOND_NS / 20)
#define DEAD_AFTER_NS	(SECOND_NS / 2)

/* The longest records: a stack with its markers, or a path; each may need a LOST record before it. */
#define MARKERS		  8u
#define FIXED_BYTES	  128u
#define COPY_FIXED_BYTES  64u /* what stands around a copied stack */
#define SIDE_RECORD_BYTES (4096u + FIXED_BYTES)

static bool slot_peek(struct cam_stream *stream, uint64_t *time_ns)
{
	struct cam_slot *s = (struct cam_slot *)stream;
	uint64_t queued_ns;

	if (!s->ring.stream.peek(&s->ring.stream, time_ns))
		return s->synth.stream.peek(&s->synth.stream, time_ns);
	if (s->synth.stream.peek(&s->synth.stream, &queued_ns) && queued_ns < *time_ns)
		*time_ns = queued_ns;
	return true;
}

static void slot_take(struct cam_stream *stream, struct cam_raw *out)
{
	struct cam_slot *s = (struct cam_slot *)stream;
	uint64_t ring_ns, queued_ns;
	bool in_ring = s->ring.stream.peek(&s->ring.stream, &ring_ns);

	if (!s->synth.n || (s->synth.stream.peek(&s->synth.stream, &queued_ns) && in_ring &&
			    ring_ns <= queued_ns)) {
		s->ring.stream.take(&s->ring.stream, out);
		return;
	}
	s->synth.stream.take(&s->synth.stream, out);
	if (out->type == CAM_RAW_COUNTS) {
		const struct cam_ring_stats *stats = &s->ring.stats;
		out->counts.lost += stats->dropped + (s->ring.options.exact_lost ? 0 : stats->lost);
		out->counts.emitted = stats->samples;
		out->counts.fired = out->counts.emitted + out->counts.lost;
	}
}

static void push(struct cam_slot *s, uint64_t time_ns, struct cam_raw r)
{
	r.cpu = s->cpu;
	r.time_ns = time_ns;
	cam_synth_push(&s->synth, &r);
}

static bool sum_counts(struct cam_slot *s, uint64_t *lost, uint64_t *enabled)
{
	*lost = *enabled = 0;
	for (size_t i = 0; i < s->n_fds; i++) {
		struct cam_kernel_count c;
		if (s->kernel->count(s->kernel, s->fds[i], &c) < 0)
			return false;
		*lost += c.lost;
		/* Of a thread's event the time on this CPU is what samples are due for. */
		*enabled += s->of_tids ? c.running_ns : c.enabled_ns;
	}
	return true;
}

/*
 * Reads the events' counts. An event of a CPU that cannot be read, or whose time stands still, was
 * killed with its CPU; a thread's time may stand still. Where much less time has passed for it than for
 * us it is read again: a living one's has moved meanwhile. (A suspend takes all CPUs but one away and
 * brings them back, and nobody else tells.)
 */
static void read_counts(struct cam_slot *s, uint64_t now_ns)
{
	uint64_t lost, enabled, again, passed = now_ns - s->counts_ns;

	if (!sum_counts(s, &lost, &enabled)) {
		s->dead = !s->of_tids;
		return;
	}
	if (!s->of_tids && passed >= DEAD_AFTER_NS && enabled - s->enabled_ns < passed - passed / 8)
		s->dead = !sum_counts(s, &lost, &again) || again == enabled;
	s->kernel_lost = lost;
	s->enabled_ns = enabled;
}

/* An event that cannot be read, or whose time does not move between two readings, is dead. */
static void check_alive(struct cam_slot *s)
{
	uint64_t lost, enabled, again;
	s->dead = !sum_counts(s, &lost, &enabled) || !sum_counts(s, &lost, &again) ||
		  again == enabled;
}

static void tell_lost(struct cam_slot *s, uint64_t now_ns)
{
	uint64_t all = s->kernel_lost + s->given_up + s->ring.stats.malformed;
	if (all <= s->told)
		return;
	push(s, now_ns,
	     (struct cam_raw){.type = CAM_RAW_LOST,
			      .lost = {.records = all - s->told,
				       .from_ns = s->round_ns,
				       .side_band = s->side_band}});
	s->told = all;
}

static void tell_counts(struct cam_slot *s, uint64_t now_ns)
{
	s->counts_ns = now_ns;
	if (s->side_band)
		return;
	push(s, now_ns,
	     (struct cam_raw){.type = CAM_RAW_COUNTS,
			      .counts = {.lost = s->told,
					 .enabled_ns = s->enabled_ns,
					 .control = cam_witness_count(&s->witness),
					 .control_hz = s->witness.fd < 0 ? 0 : CAM_WITNESS_HZ,
					 .hz = s->hz}});
}

void cam_slot_begin(struct cam_slot *s, uint64_t round_ns)
{
	cam_ring_begin(&s->ring, round_ns);
	if (s->gone)
		return;
	bool due = s->watch && (s->asked || round_ns - s->counts_ns >= COUNTS_EVERY_NS);
	bool fell = cam_pulse_fell(&s->pulse, round_ns, s->ring.head);
	s->asked = false;
	if (fell && s->watch && !s->of_tids && !s->side_band)
		check_alive(s);
	if (s->ring.tight || due) {
		s->ring.tight = false;
		read_counts(s, round_ns);
	}
	tell_lost(s, round_ns);
	if (due)
		tell_counts(s, round_ns);
	s->round_ns = round_ns;
}

/* The mapping keeps an event alive beyond its descriptor: it must be stopped, and left by epoll. */
static void close_events(struct cam_slot *s)
{
	for (size_t i = 0; s->fds && i < s->n_fds; i++) {
		if (s->epoll_fd >= 0)
			epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->fds[i], NULL);
		s->kernel->close(s->kernel, s->fds[i]);
	}
	s->n_fds = 0;
}

void cam_slot_retire(struct cam_slot *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->n_fds; i++)
		s->kernel->control(s->kernel, s->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	read_counts(s, now_ns);
	tell_lost(s, now_ns);
	tell_counts(s, now_ns);
	if (!s->side_band)
		push(s, now_ns,
		     (struct cam_raw){.type = CAM_RAW_CPU, .cpu_state = {.online = false}});
	close_events(s);
	s->gone = true;
}

bool cam_slot_empty(struct cam_slot *s)
{
	uint64_t time_ns;
	cam_ring_begin(&s->ring, s->ring.round_ns);
	return !slot_peek(&s->stream, &time_ns);
}

uint64_t cam_slot_give_up(struct cam_slot *s)
{
	uint64_t n = 0, time_ns;
	struct cam_raw r;

	cam_ring_begin(&s->ring, s->ring.round_ns);
	for (; s->ring.stream.peek(&s->ring.stream, &time_ns); n++)
		s->ring.stream.take(&s->ring.stream, &r);
	return n;
}

int cam_slot_period(struct cam_slot *s, uint64_t value)
{
	for (size_t i = 0; i < s->n_fds; i++) {
		int err = s->kernel->control(s->kernel, s->fds[i], PERF_EVENT_IOC_PERIOD, value);
		if (err)
			return err;
	}
	return 0;
}

void cam_slot_close(struct cam_slot *s, struct cam_ring_budget *budget)
{
	close_events(s);
	cam_witness_close(&s->witness, s->kernel, budget);
	if (s->base) {
		s->kernel->unmap(s->kernel, s->base, s->base_bytes);
		budget->used_bytes -= s->base_bytes;
	}
	cam_ring_free(&s->ring);
	free(s->fds);
	free(s);
}

/* The event, without what this kernel does not know; *attr remembers. */
static int open_event(struct cam_rings_options *o, int32_t tid, uint32_t cpu)
{
	for (;;) {
		int fd = o->kernel->open(o->kernel, &o->attr, tid, (int)cpu);
		if (fd != -EINVAL)
			return fd;
		if (o->attr.read_format & PERF_FORMAT_LOST)
			o->attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		else if (o->attr.ksymbol)
			o->attr.ksymbol = 0;
		else
			return fd;
	}
}

static int map_ring(struct cam_slot *s, const struct cam_rings_options *o)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = page_bytes + o->ring_bytes;
	struct cam_ring_options ring = {
		.max_stack = o->attr.sample_max_stack,
		.copies = o->attr.sample_type & PERF_SAMPLE_STACK_USER,
		.max_record_bytes = SIDE_RECORD_BYTES,
		.side_band = o->side_band,
		.exact_lost = o->attr.read_format & PERF_FORMAT_LOST,
	};

	if (!o->side_band)
		ring.max_record_bytes =
			FIXED_BYTES + 8 * ((size_t)o->attr.sample_max_stack + MARKERS) +
			(o->attr.sample_stack_user ? COPY_FIXED_BYTES + o->attr.sample_stack_user
						   : 0);
	if (bytes > o->budget->max_bytes - o->budget->used_bytes)
		return -ENOMEM;
	int err = o->kernel->map(o->kernel, s->fds[0], bytes, &s->base);
	if (err)
		return err == -EPERM ? -ENOBUFS : err;
	s->base_bytes = bytes;
	o->budget->used_bytes += bytes;
	return cam_ring_init(&s->ring, &ring, s->base, (uint8_t *)s->base + page_bytes,
			     o->ring_bytes);
}

/* One more event of this CPU; the first one brings the ring, the others write to it. */
static int add_event(struct cam_slot *s, struct cam_rings_options *o, int32_t tid)
{
	int fd = open_event(o, tid, s->cpu);
	if (fd < 0)
		return fd;
	s->fds[s->n_fds++] = fd;
	int err = s->n_fds == 1 ? map_ring(s, o)
				: o->kernel->control(o->kernel, fd, PERF_EVENT_IOC_SET_OUTPUT,
						     (uint64_t)s->fds[0]);
	struct epoll_event ready = {.events = EPOLLIN, .data.fd = fd};
	if (!err && o->epoll_fd >= 0 && epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, fd, &ready) < 0)
		err = -errno;
	return err ? err : o->kernel->control(o->kernel, fd, PERF_EVENT_IOC_ENABLE, 0);
}

static int open_events(struct cam_slot *s, struct cam_rings_options *o)
{
	if (!o->tids)
		return add_event(s, o, -1);
	for (size_t i = 0; i < o->n_tids; i++) {
		int err = add_event(s, o, o->tids[i]);
		if (err && err != -ESRCH)
			return err;
	}
	return s->n_fds ? 0 : -ESRCH;
}

/* Samples without it are worth more than none. */
static void call_witness(struct cam_slot *s, const struct cam_rings_options *o)
{
	if (!o->witness || s->side_band || s->of_tids ||
	    cam_witness_open(s->kernel, &o->attr, s->cpu, o->budget, &s->witness))
		return;
	if (cam_witness_start(&s->witness, s->kernel))
		cam_witness_close(&s->witness, s->kernel, o->budget);
}

int cam_slot_open(struct cam_rings_options *o, uint32_t cpu, struct cam_slot **out)
{
	struct cam_slot *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->stream = (struct cam_stream){.peek = slot_peek, .take = slot_take};
	s->kernel = o->kernel;
	s->epoll_fd = o->epoll_fd;
	s->cpu = cpu;
	s->side_band = o->side_band;
	s->watch = o->watch || !o->side_band;
	s->of_tids = o->tids != NULL;
	s->hz = o->hz;
	s->witness = CAM_WITNESS_NONE;
	cam_synth_init(&s->synth);
	s->fds = calloc(o->tids ? o->n_tids : 1, sizeof(*s->fds));
	int err = s->fds ? open_events(s, o) : -ENOMEM;
	if (err) {
		cam_slot_close(s, o->budget);
		return err;
	}
	call_witness(s, o);
	/* The clock is read here, not by the caller: putting the ring in place may have taken a second. */
	uint64_t now_ns = o->kernel->now_ns(o->kernel);
	s->round_ns = s->counts_ns = s->ring.round_ns = now_ns;
	if (!s->side_band)
		push(s, now_ns,
		     (struct cam_raw){.type = CAM_RAW_CPU, .cpu_state = {.online = true}});
	*out = s;
	return 0;
}
