// SPDX-License-Identifier: Apache-2.0
/*
 * The control is counted without reading it: its ring is mapped read-only, so the kernel overwrites
 * the oldest for ever and never loses one; a record of it is a bare header of 8 bytes, so data_head / 8
 * is how often it fired. One page of data, no system call.
 *
 * Invariants:
 * 1. counts.fired == emitted + lost + filtered in each COUNTS, and lost is the sum of `records` of the
 *    LOST records before it.
 * 2. A CPU whose program ran since the last COUNTS is alive; only of one where nothing ran is the
 *    event's time read, which interrupts that CPU.
 */
#include "capture/bpf_cpu.h"

#include "capture/bpf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
/* Rounds come at their own times: a second is over if this much of it is. */
#define COUNTS_EVERY_NS (SECOND_NS - SECOND_NS / 20)

static size_t control_bytes(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

static void push(struct cam_bpf_cpu *c, uint64_t time_ns, struct cam_raw r)
{
	r.cpu = c->cpu;
	r.time_ns = time_ns;
	cam_synth_push(&c->synth, &r);
}

static uint64_t control_count(const struct cam_bpf_cpu *c)
{
	if (!c->control)
		return 0;
	return __atomic_load_n(&c->control->data_head, __ATOMIC_ACQUIRE) /
	       sizeof(struct perf_event_header);
}

/* What cannot be seen in one piece stays as it was: the next round will. */
static void look(struct cam_bpf_cpu *c)
{
	struct cam_wire_counts n;
	if (!cam_bpf_counts(c->bpf, c->cpu, &n))
		return;
	c->now.fired = n.fired - c->base.fired;
	c->now.emitted = n.emitted - c->base.emitted;
	c->now.ring_full = n.ring_full - c->base.ring_full;
	c->now.filtered = n.filtered - c->base.filtered;
}

static void tell_lost(struct cam_bpf_cpu *c, uint64_t now_ns)
{
	uint64_t lost = c->now.ring_full + c->malformed;
	if (lost <= c->told)
		return;
	push(c, now_ns,
	     (struct cam_raw){.type = CAM_RAW_LOST,
			      .lost = {.records = lost - c->told, .from_ns = c->round_ns}});
	c->told = lost;
}

static void tell_counts(struct cam_bpf_cpu *c, uint64_t now_ns, uint64_t alive_ns)
{
	c->counts_ns = now_ns;
	c->told_fired = c->now.fired;
	push(c, now_ns,
	     (struct cam_raw){.type = CAM_RAW_COUNTS,
			      .counts = {.fired = c->now.fired,
					 .emitted = c->now.emitted - c->malformed,
					 .lost = c->told,
					 .filtered = c->now.filtered,
					 .enabled_ns = alive_ns - c->opened_ns,
					 .control = control_count(c),
					 .control_hz = c->control ? CAM_BPF_CONTROL_HZ : 0,
					 .hz = c->hz}});
}

/*
 * An event that the kernel took from a CPU that went stands still, also when the CPU is back; a living
 * one's time moves between two readings.
 */
static void check_alive(struct cam_bpf_cpu *c)
{
	struct cam_kernel_count n, again;
	if (c->kernel->count(c->kernel, c->fd, &n) < 0 ||
	    c->kernel->count(c->kernel, c->fd, &again) < 0)
		return;
	c->dead = n.enabled_ns == again.enabled_ns;
}

void cam_bpf_cpu_begin(struct cam_bpf_cpu *c, uint64_t round_ns)
{
	if (c->gone)
		return;
	uint64_t fired = c->now.fired;
	look(c);
	if (c->now.fired != fired)
		c->fired_ns = round_ns;
	tell_lost(c, round_ns);
	bool due = c->asked || round_ns - c->counts_ns >= COUNTS_EVERY_NS;
	bool fell = cam_pulse_fell(&c->pulse, round_ns, c->now.fired);
	if (fell || (due && c->now.fired == c->told_fired))
		check_alive(c);
	if (due) {
		tell_counts(c, round_ns, round_ns);
		c->asked = false;
	}
	c->round_ns = round_ns;
}

static void close_events(struct cam_bpf_cpu *c, struct cam_ring_budget *budget)
{
	if (c->control) {
		munmap((void *)c->control, control_bytes());
		budget->used_bytes -= control_bytes();
		c->control = NULL;
	}
	if (c->control_fd >= 0)
		c->kernel->close(c->kernel, c->control_fd);
	if (c->fd >= 0)
		c->kernel->close(c->kernel, c->fd);
	c->control_fd = c->fd = -1;
}

/* It went with its CPU: since when is not known better than by when it last gave a sign of life. */
void cam_bpf_cpu_retire(struct cam_bpf_cpu *c, struct cam_ring_budget *budget)
{
	uint64_t alive_ns = c->fired_ns > c->counts_ns ? c->fired_ns : c->counts_ns;
	uint64_t fired = c->now.fired;
	c->kernel->control(c->kernel, c->fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t now_ns = c->kernel->now_ns(c->kernel);
	look(c);
	tell_lost(c, now_ns);
	tell_counts(c, now_ns, c->now.fired != fired ? now_ns : alive_ns);
	push(c, now_ns, (struct cam_raw){.type = CAM_RAW_CPU, .cpu_state = {.online = false}});
	close_events(c, budget);
	c->gone = true;
}

void cam_bpf_cpu_close(struct cam_bpf_cpu *c, struct cam_ring_budget *budget)
{
	close_events(c, budget);
	free(c);
}

static int open_control(struct cam_bpf_cpu *c, const struct cam_bpf_cpu_options *o)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.freq = 1,
		.sample_freq = CAM_BPF_CONTROL_HZ,
		.exclude_kernel = o->attr->exclude_kernel,
		.exclude_hv = o->attr->exclude_hv,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	if (control_bytes() > o->budget->max_bytes - o->budget->used_bytes)
		return -ENOMEM;
	c->control_fd = c->kernel->open(c->kernel, &attr, -1, (int)c->cpu);
	if (c->control_fd < 0)
		return c->control_fd;
	void *p = mmap(NULL, control_bytes(), PROT_READ, MAP_SHARED, c->control_fd, 0);
	if (p == MAP_FAILED)
		return errno == EPERM ? -ENOBUFS : -errno;
	o->budget->used_bytes += control_bytes();
	c->control = p;
	return 0;
}

static int open_events(struct cam_bpf_cpu *c, const struct cam_bpf_cpu_options *o)
{
	struct perf_event_attr attr = *o->attr;
	c->fd = c->kernel->open(c->kernel, &attr, -1, (int)c->cpu);
	if (c->fd < 0)
		return c->fd;
	int err = c->kernel->control(c->kernel, c->fd, PERF_EVENT_IOC_SET_BPF,
				     (uint64_t)o->bpf->sample_fd);
	if (err)
		return err;
	cam_bpf_counts(o->bpf, c->cpu, &c->base); /* nothing runs there now */
	if (o->control && (err = open_control(c, o)))
		return err;
	/* The clock is read here, not by the caller: putting rings in place may take a second. */
	c->opened_ns = c->round_ns = c->counts_ns = c->kernel->now_ns(c->kernel);
	if (o->control)
		err = c->kernel->control(c->kernel, c->control_fd, PERF_EVENT_IOC_ENABLE, 0);
	return err ? err : c->kernel->control(c->kernel, c->fd, PERF_EVENT_IOC_ENABLE, 0);
}

int cam_bpf_cpu_open(const struct cam_bpf_cpu_options *o, uint32_t cpu, struct cam_bpf_cpu **out)
{
	struct cam_bpf_cpu *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	cam_synth_init(&c->synth);
	c->cpu = cpu;
	c->bpf = o->bpf;
	c->kernel = o->kernel;
	c->fd = c->control_fd = -1;
	int err = open_events(c, o);
	if (err) {
		cam_bpf_cpu_close(c, o->budget);
		return err;
	}
	push(c, c->opened_ns, (struct cam_raw){.type = CAM_RAW_CPU, .cpu_state = {.online = true}});
	*out = c;
	return 0;
}
