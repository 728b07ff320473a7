// SPDX-License-Identifier: Apache-2.0
/* What one CPU of the BPF source tells of its counters, which stand in memory of our own here. */
#include "capture/bpf_cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support_kernel.h"

#define ROUND_NS 100000000ull

struct fake {
	struct fake_kernel kernel;
	struct cam_wire_counts counts;
	struct cam_bpf bpf;
	struct cam_ring_budget budget;
	struct cam_bpf_cpu *cpu;
};

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	fake_kernel_init(&f->kernel, "0");
	f->bpf = CAM_BPF_NONE;
	f->bpf.sample_fd = 7;
	f->bpf.counts = &f->counts;
	f->budget.max_bytes = 1 << 20;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .disabled = 1};
	struct cam_bpf_cpu_options o = {
		.kernel = &f->kernel.kernel, .bpf = &f->bpf, .attr = &attr, .budget = &f->budget};
	assert_int_equal(cam_bpf_cpu_open(&o, 0, &f->cpu), 0);
	assert_int_equal(f->kernel.events[0].program, 7);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;
	cam_bpf_cpu_close(f->cpu, &f->budget);
	fake_kernel_check(&f->kernel);
	free(f);
	return 0;
}

static uint64_t round_of(struct fake *f)
{
	fake_kernel_pass(&f->kernel, ROUND_NS);
	cam_bpf_cpu_begin(f->cpu, f->kernel.now_ns);
	return f->kernel.now_ns;
}

/* The LOST records that were told since the last call. */
static size_t take_lost(struct fake *f, struct cam_raw *out, size_t max)
{
	struct cam_synth *s = &f->cpu->synth;
	size_t n = 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->records[i].type == CAM_RAW_LOST) {
			assert_true(n < max);
			out[n++] = s->records[i];
		}
	s->n = 0;
	return n;
}

static void a_loss_is_between_two_rounds(void **state)
{
	struct fake *f = *state;
	struct cam_raw lost[2];
	uint64_t before = round_of(f);
	assert_int_equal(take_lost(f, lost, 2), 0);
	f->counts = (struct cam_wire_counts){.fired = 10, .emitted = 4, .ring_full = 6};
	uint64_t now = round_of(f);
	assert_int_equal(take_lost(f, lost, 2), 1);
	assert_int_equal(lost[0].lost.records, 6);
	assert_int_equal(lost[0].lost.from_ns, before);
	assert_int_equal(lost[0].time_ns, now);
}

/* A program that runs whenever the reader looks hides what was lost until a later round: then it was
 * lost since the last round that saw the counters, not since the last one. */
static void a_loss_that_rounds_could_not_see_is_as_old_as_it_may_be(void **state)
{
	struct fake *f = *state;
	struct cam_raw lost[2];
	uint64_t before = round_of(f);
	f->counts = (struct cam_wire_counts){.fired = 5001, .emitted = 1, .ring_full = 4999};
	round_of(f);
	round_of(f);
	assert_int_equal(take_lost(f, lost, 2), 0);
	f->counts.ring_full++;
	uint64_t now = round_of(f);
	assert_int_equal(take_lost(f, lost, 2), 1);
	assert_int_equal(lost[0].lost.records, 5000);
	assert_int_equal(lost[0].lost.from_ns, before);
	assert_int_equal(lost[0].time_ns, now);
	f->counts.fired++;
	f->counts.ring_full++;
	uint64_t next = round_of(f);
	assert_int_equal(take_lost(f, lost, 2), 1);
	assert_int_equal(lost[0].lost.from_ns, now);
	assert_int_equal(lost[0].time_ns, next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_loss_is_between_two_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_loss_that_rounds_could_not_see_is_as_old_as_it_may_be, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
