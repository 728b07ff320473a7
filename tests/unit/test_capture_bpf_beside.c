// SPDX-License-Identifier: Apache-2.0
/* The BPF source beside others: the plain source, its control, and other users of BPF. */
#include "support_bpf.h"

#include <bpf/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define MS	    1000000ull
#define VALUE_BYTES (64u << 10)

/* What blocks a perf_event program: a bpf(2) call that holds its CPU, again and again. */
static void update_a_map_for_ever(void *arg)
{
	static char value[VALUE_BYTES];
	uint32_t key = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "cam_test", 4, VALUE_BYTES, 16, NULL);
	(void)arg;
	setpriority(PRIO_PROCESS, 0, -20);
	while (fd >= 0 && !bpf_map_update_elem(fd, &key, value, BPF_ANY))
		key = (key + 1) % 16;
}

static void spin_first(void *arg)
{
	(void)arg;
	setpriority(PRIO_PROCESS, 0, -20);
	for (;;)
		spin_a(10);
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

/*
 * CPU 1 is blocked, CPU 0 is not. The plain source at the same rate is the oracle: it knows how
 * often the BPF program ought to have run, and how often the control.
 */
static void the_control_sees_what_other_bpf_code_blocked(void **state)
{
	(void)state;
	struct log bpf = {0}, plain = {0};
	pid_t pids[] = {child_on(0, spin_first, NULL), child_on(1, update_a_map_for_ever, NULL)};
	usleep(50000);
	struct cam_capture *c = open_bpf(
		&(struct cam_capture_options){.hz = 97, .event = CAM_EVENT_CPU_CLOCK}, NULL);
	struct cam_capture *p = open_perf(97);
	drain_both(c, &bpf, p, &plain, 3300 * MS);
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		struct cam_raw_counts n = counts_of(&bpf, cpu), oracle = counts_of(&plain, cpu);
		assert_int_equal(n.control_hz, CAM_BPF_CONTROL_HZ);
		assert_true(oracle.fired > 100);
		/* A second each, since the last counts of the two are not of one moment. */
		double s = (double)n.enabled_ns / 1e9;
		double due = (double)n.control * 97 / CAM_BPF_CONTROL_HZ / s;
		double ran = (double)n.fired / s;
		double plainly = (double)oracle.fired / ((double)oracle.enabled_ns / 1e9);
		print_message("CPU %u: plain %.1f/s, by the control %.1f/s, program ran %.1f/s\n",
			      cpu, plainly, due, ran);
		/* The control is right: within a tenth, and 2 of its ticks. */
		double slack = 0.1 * plainly + 2 * 97.0 / CAM_BPF_CONTROL_HZ / s;
		assert_true(due > plainly - slack && due < plainly + slack);
		if (cpu == 0) {
			assert_true(ran > 0.95 * plainly);
			assert_true(due - ran < 0.1 * due);
		} else {
			assert_true(ran < 0.85 * plainly);
			assert_true(due - ran > 0.1 * due);
		}
	}
	c->ops->close(c);
	p->ops->close(p);
	end_child(pids[0]);
	end_child(pids[1]);
	log_free(&bpf);
	log_free(&plain);
}

/* Three parts of its time in the one, one part in the other, in pieces much shorter than a tick. */
static void three_to_one(void *arg)
{
	unsigned seed = 1;
	(void)arg;
	setpriority(PRIO_PROCESS, 0, -20);
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
	drain_both(c, &bpf, p, &plain, 2000 * MS);
	c->ops->close(c);
	p->ops->close(p);
	struct share x = share_of(&bpf, pid), y = share_of(&plain, pid);
	print_message("bpf %zu:%zu (%zu), plain %zu:%zu (%zu)\n", x.a, x.b, x.other, y.a, y.b,
		      y.other);
	double n = (double)(x.a + x.b), m = (double)(y.a + y.b);
	assert_true(n > 300 && m > 300);
	assert_true((double)x.other < 0.1 * n && (double)y.other < 0.1 * m);
	/* The known answer. */
	assert_true((double)x.a / n > 0.70 && (double)x.a / n < 0.80);
	assert_true((double)y.a / m > 0.70 && (double)y.a / m < 0.80);
	/* As many samples of it; and chi-square of the two by two, 1 degree of freedom, p < 0.0001. */
	assert_true(n > 0.9 * m && n < 1.1 * m);
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
