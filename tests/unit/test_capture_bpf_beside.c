// SPDX-License-Identifier: Apache-2.0
/* The BPF source beside others: the plain source, its control, and other users of BPF. */
#include "capture/witness.h"
#include "support_bpf.h"

#include <bpf/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#define MS	1000000ull
#define BUCKETS (256u << 10)

/*
 * What blocks a perf_event program: a bpf(2) call that holds its CPU, again and again. A map-update loop
 * does so for a quarter of its time; a look through a large and empty table for nearly all of it.
 */
static void block_for_ever(void *arg)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	uint32_t key, next;
	uint64_t value;
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "cam_test", 4, 8, BUCKETS, &opts);
	(void)arg;
	while (fd >= 0) {
		uint32_t n = 1;
		bpf_map_lookup_batch(fd, NULL, &next, &key, &value, &n, NULL);
	}
}

static struct cam_raw_counts counts_of(const struct log *l, uint32_t cpu)
{
	struct cam_raw_counts n = {0};
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].raw.type == CAM_RAW_COUNTS && l->at[i].raw.cpu == cpu)
			n = l->at[i].raw.counts;
	return n;
}

static struct cam_capture *open_perf(uint32_t hz)
{
	struct cam_capture *c = NULL;
	struct cam_capture_options o = {.hz = hz, .event = CAM_EVENT_CPU_CLOCK};
	assert_int_equal(cam_capture_open_perf(&o, &c), 0);
	return c;
}

static void drain_both(struct cam_capture *a, struct log *la, struct cam_capture *b, struct log *lb,
		       uint64_t ns)
{
	for (uint64_t end = clock_ns() + ns; clock_ns() < end;) {
		usleep(100000);
		drain(a, la);
		drain(b, lb);
	}
}

static size_t samples_of_cpu(const struct log *l, uint32_t cpu)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->at[i].raw.type == CAM_RAW_SAMPLE && l->at[i].raw.cpu == cpu;
	return n;
}

static size_t samples_of(const struct log *l, pid_t pid)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->at[i].raw.type == CAM_RAW_SAMPLE && l->at[i].raw.pid == pid;
	return n;
}

/* Ticks of the sampling rate in a second: as the plain source, the control and the program had them. */
struct rates {
	double plain, control, program;
	double slack; /* two ticks of the control */
};

static struct rates rates_of(const struct log *bpf, const struct log *plain, uint32_t cpu)
{
	struct cam_raw_counts n = counts_of(bpf, cpu), oracle = counts_of(plain, cpu);
	/* Their last counts are not of one moment. */
	double s = (double)n.enabled_ns / 1e9, tick = 97.0 / CAM_WITNESS_HZ / s;
	struct rates r = {.plain = (double)oracle.fired / ((double)oracle.enabled_ns / 1e9),
			  .control = (double)n.control * tick,
			  .program = (double)n.fired / s,
			  .slack = 2 * tick};
	assert_int_equal(n.control_hz, CAM_WITNESS_HZ);
	assert_true(oracle.fired > 100);
	print_message("CPU %u: plain %.1f/s, by the control %.1f/s, program ran %.1f/s\n", cpu,
		      r.plain, r.control, r.program);
	/* The control is right. */
	assert_true(r.control > 0.9 * r.plain - r.slack && r.control < 1.1 * r.plain + r.slack);
	return r;
}

/*
 * CPU 1 is blocked, CPU 0 is not. The plain source at the same rate is the oracle: it knows how
 * often the program ought to have run, how often the control, and how long the blocker had the CPU.
 */
static void the_control_sees_what_other_bpf_code_blocked(void **state)
{
	(void)state;
	struct log bpf = {0}, plain = {0};
	pid_t pids[] = {spinner_on(0), child_on(1, block_for_ever, NULL)};
	usleep(50000);
	struct cam_capture *c = open_bpf(
		&(struct cam_capture_options){.hz = 97, .event = CAM_EVENT_CPU_CLOCK}, NULL);
	struct cam_capture *p = open_perf(97);
	drain_both(c, &bpf, p, &plain, 3200 * MS);
	for (uint64_t end = clock_ns() + 20000 * MS; samples_of(&plain, pids[1]) < 150;) {
		assert_true(clock_ns() < end);
		drain_both(c, &bpf, p, &plain, 1000 * MS);
	}
	double blocker = (double)samples_of(&plain, pids[1]) / (double)samples_of_cpu(&plain, 1);
	c->ops->close(c);
	p->ops->close(p);
	end_child(pids[0]);
	end_child(pids[1]);
	struct rates free_cpu = rates_of(&bpf, &plain, 0), held = rates_of(&bpf, &plain, 1);
	print_message("the blocker had %.0f %% of CPU 1\n", 100 * blocker);
	assert_true(free_cpu.program > 0.95 * free_cpu.plain);
	assert_true(free_cpu.control - free_cpu.program < 0.05 * free_cpu.plain + free_cpu.slack);
	/* At least half of the blocker's time is missing, and the control says so. */
	double missing = 0.5 * blocker * held.plain;
	assert_true(held.plain - held.program > missing);
	assert_true(held.control - held.program > missing - held.slack);
	assert_true(missing > 2 * held.slack);
	log_free(&bpf);
	log_free(&plain);
}

/* Three parts of its time in the one, one part in the other, in pieces much shorter than a tick. */
static void three_to_one(void *arg)
{
	unsigned seed = 1;
	(void)arg;
	for (;;) {
		unsigned units = 1 + (unsigned)rand_r(&seed) % 8;
		spin_a(3 * units);
		spin_b(units);
	}
}

struct share {
	size_t a, b, other;
};

static struct share share_of(const struct log *l, pid_t pid)
{
	struct share s = {0};
	for (size_t i = 0; i < l->n; i++) {
		uint64_t leaf = l->at[i].frames[0];
		if (l->at[i].raw.type != CAM_RAW_SAMPLE || l->at[i].raw.pid != pid)
			continue;
		if (leaf >= spin_a_text.start && leaf < spin_a_text.end)
			s.a++;
		else if (leaf >= spin_b_text.start && leaf < spin_b_text.end)
			s.b++;
		else
			s.other++;
	}
	return s;
}

static void both_sources_give_the_same_profile(void **state)
{
	(void)state;
	struct log bpf = {0}, plain = {0};
	pid_t pid = child_on(1, three_to_one, NULL);
	struct cam_capture *c = open_bpf(
		&(struct cam_capture_options){.hz = 997, .event = CAM_EVENT_CPU_CLOCK}, NULL);
	struct cam_capture *p = open_perf(991);
	for (uint64_t end = clock_ns() + 20000 * MS; samples_of(&bpf, pid) < 1500;) {
		assert_true(clock_ns() < end);
		drain_both(c, &bpf, p, &plain, 200 * MS);
	}
	c->ops->close(c);
	p->ops->close(p);
	struct share x = share_of(&bpf, pid), y = share_of(&plain, pid);
	print_message("bpf %zu:%zu (%zu), plain %zu:%zu (%zu)\n", x.a, x.b, x.other, y.a, y.b,
		      y.other);
	double n = (double)(x.a + x.b), m = (double)(y.a + y.b);
	assert_true((double)x.other < 0.1 * n && (double)y.other < 0.1 * m);
	/* The known answer. */
	assert_true((double)x.a / n > 0.70 && (double)x.a / n < 0.80);
	assert_true((double)y.a / m > 0.70 && (double)y.a / m < 0.80);
	/* Nearly as many samples of it (others may block BPF here); and chi-square of the two by two, 1 degree of freedom, p < 0.0001. */
	assert_true(n > 0.7 * m && n < 1.1 * m);
	double cross = (double)x.a * (double)y.b - (double)x.b * (double)y.a;
	double chi = cross * cross * (n + m) / (n * m * (double)(x.a + y.a) * (double)(x.b + y.b));
	assert_true(chi < 15.1);
	end_child(pid);
	log_free(&bpf);
	log_free(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_control_sees_what_other_bpf_code_blocked),
		cmocka_unit_test(both_sources_give_the_same_profile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
