// SPDX-License-Identifier: Apache-2.0
/*
 * Invariants:
 * 1. counts.fired == emitted + lost + filtered in each COUNTS, and lost is the sum of `records` of the
 *    LOST records before it.
 * 2. A LOST begins with the round that last saw the counters, which need not be the last one: a
 *    program may run whenever we look.
 * 3. A CPU whose program ran since the last COUNTS is alive; only of one where nothing ran is the
 *    event's time read, which interrupts that CPU.
 */
#include "capture/bpf_cpu.h"

#include "capture/bpf_source.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND_NS 1000000000ull
/* Rounds come at their own times: a second is over if this much of it is. */
#define COUNTS_EVERY_NS (SECOND_NS - SECOND_NS / 20)

static void push(struct cam_bpf_cpu *c, uint64_t time_ns, struct cam_raw r)
{
	r.cpu = c->cpu;
	r.time_ns = time_ns;
	cam_synth_push(&c->synth, &r);
}

/* What cannot be seen in one piece stays as it was: the next round will. */
static bool look(struct cam_bpf_cpu *c)
{
	struct cam_wire_counts n;
	if (!cam_bpf_counts(c->bpf, c->cpu, &n))
		return false;
	c->now.fired = n.fired - c->base.fired;
	c->now.emitted = n.emitted - c->base.emitted;
	c->now.ring_full = n.ring_full - c->base.ring_full;
	c->now.filtered = n.filtered - c->base.filtered;
	return true;
}

static void tell_lost(struct cam_bpf_cpu *c, uint64_t now_ns)
{
	uint64_t lost = c->now.ring_full + c->malformed;
	if (lost <= c->told)
		return;
	push(c, now_ns,
	     (struct cam_raw){.type = CAM_RAW_LOST,
			      .lost = {.records = lost - c->told, .from_ns = c->seen_ns}});
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
					 .control = cam_witness_count(&c->control),
					 .control_hz = c->control.fd < 0 ? 0 : CAM_WITNESS_HZ,
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
	bool seen = look(c);
	if (c->now.fired != fired)
		c->fired_ns = round_ns;
	tell_lost(c, round_ns);
	if (seen)
		c->seen_ns = round_ns;
	bool due = c->asked || round_ns - c->counts_ns >= COUNTS_EVERY_NS;
	bool fell = cam_pulse_fell(&c->pulse, round_ns, c->now.fired);
	if (fell || (due && c->now.fired == c->told_fired))
		check_alive(c);
	if (due) {
		tell_counts(c, round_ns, round_ns);
		c->asked = false;
	}
}

static void close_events(struct cam_bpf_cpu *c, struct cam_ring_budget *budget)
{
	cam_witness_close(&c->control, c->kernel, budget);
	if (c->fd >= 0)
		c->kernel->close(c->kernel, c->fd);
	c->fd = -1;
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
	if (o->control)
		err = cam_witness_open(c->kernel, o->attr, c->cpu, o->budget, &c->control);
	if (err)
		return err;
	/* The clock is read here, not by the caller: putting rings in place may take a second. */
	c->opened_ns = c->seen_ns = c->counts_ns = c->kernel->now_ns(c->kernel);
	if (o->control)
		err = cam_witness_start(&c->control, c->kernel);
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
	c->fd = -1;
	c->control = CAM_WITNESS_NONE;
	int err = open_events(c, o);
	if (err) {
		cam_bpf_cpu_close(c, o->budget);
		return err;
	}
	push(c, c->opened_ns, (struct cam_raw){.type = CAM_RAW_CPU, .cpu_state = {.online = true}});
	*out = c;
	return 0;
}
