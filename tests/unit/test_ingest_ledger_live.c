// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger on this host: real rings, real /proc/stat. What is due, what fired and what the kernel
 * calls idle are three counts that nobody here made up; they must fit.
 */
#include "capture/capture.h"
#include "capture/host.h"
#include "ingest/order.h"
#include "support_ledger.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define RATE	 497u
#define MAX_CPUS 64u
#define SECONDS	 3u

struct cpu_sums {
	uint64_t busy, by_cause[CAM_CAUSE_MAX];
	uint64_t idle_ns, steal_ns;	/* as /proc/stat said */
	uint64_t enabled_ns, counts_ns; /* as the last COUNTS said, and when */
	uint64_t counts;
};

struct live {
	struct cam_ledger *l;
	struct cpu_sums cpu[MAX_CPUS];
	uint64_t samples, lost, released_ns;
	struct cam_raw_counts last[MAX_CPUS];
};

static uint64_t now(void)
{
	struct timespec t;
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

static int on_row(void *arg, const struct cam_ledger_row *row)
{
	struct live *v = arg;
	assert_true(row->cpu < MAX_CPUS);
	v->cpu[row->cpu].by_cause[row->cause] += row->samples;
	return 0;
}

static int on_counter(void *arg, const struct cam_counter *c)
{
	struct live *v = arg;
	if (c->kind == CAM_COUNTER_IDLE)
		v->cpu[c->subject].idle_ns += c->value;
	if (c->kind == CAM_COUNTER_STEAL)
		v->cpu[c->subject].steal_ns += c->value;
	return cam_ledger_counter(v->l, c);
}

static void on_raw(void *arg, const struct cam_raw *r)
{
	struct live *v = arg;
	assert_true(r->cpu < MAX_CPUS);
	struct cpu_sums *c = &v->cpu[r->cpu];
	if (r->type == CAM_RAW_SAMPLE) {
		v->samples++;
		c->busy += r->pid != 0;
		assert_int_equal(cam_ledger_sample(v->l, r->cpu, r->time_ns,
						   r->pid ? CAM_LEDGER_BUSY : CAM_LEDGER_IDLE),
				 0);
		return;
	}
	if (r->type == CAM_RAW_LOST && !r->lost.side_band)
		v->lost += r->lost.records;
	if (r->type == CAM_RAW_COUNTS) {
		v->last[r->cpu] = r->counts;
		c->enabled_ns = r->counts.enabled_ns;
		c->counts_ns = r->time_ns;
		c->counts++;
	}
	assert_int_equal(cam_ledger_raw(v->l, r), 0);
}

static pid_t spin_on(int cpu)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	alarm(60); /* should the test fail and forget it */
	for (;;)
		getppid();
}

/* Rounds of 100 ms; the host's counters just after each full second. */
static uint64_t record(struct live *v, struct cam_capture *c, struct cam_host *h)
{
	struct cam_order *order;
	assert_int_equal(cam_order_new(MAX_CPUS * 4, &order), 0);
	uint64_t start = now(), second = start / S, last = start, end = 0;
	for (unsigned rounds = 0; !end || rounds < 3;) {
		usleep(100000);
		uint64_t t = now();
		struct cam_stream **streams;
		size_t n;
		assert_int_equal(c->ops->begin_round(c, t, &streams, &n), 0);
		cam_order_release(order, streams, n, last, on_raw, v);
		v->released_ns = last;
		c->ops->end_round(c);
		if (t / S != second && !end) {
			assert_int_equal(cam_host_read(h, t), 0);
			second = t / S;
			if (t > start + SECONDS * S)
				end = t;
		}
		assert_int_equal(cam_ledger_tick(v->l, t, last), 0);
		last = t;
		rounds += end != 0;
	}
	cam_order_free(order);
	return end;
}

static void due_fired_and_idle_fit(void **state)
{
	(void)state;
	struct live *v = calloc(1, sizeof(*v));
	assert_non_null(v);
	struct cam_ledger_options lo = {.hz = RATE, .due_known = true, .fn = on_row, .arg = v};
	assert_int_equal(cam_ledger_new(&lo, &v->l), 0);
	struct cam_host_options ho = {NULL, NULL, on_counter, v};
	struct cam_host *h;
	assert_int_equal(cam_host_open(&ho, &h), 0);
	pid_t spinner = spin_on(0);
	struct cam_capture_options co = {.hz = RATE, .event = CAM_EVENT_CPU_CLOCK};
	struct cam_capture *c;
	assert_int_equal(cam_capture_open_perf(&co, &c), 0);
	assert_int_equal(c->info.hz, RATE);
	assert_int_equal(cam_host_read(h, now()), 0);
	uint64_t end = record(v, c, h);
	assert_int_equal(cam_ledger_flush(v->l, end), 0);
	struct cam_ledger_stats st = cam_ledger_stats(v->l);
	kill(spinner, SIGKILL);
	waitpid(spinner, NULL, 0);

	uint64_t all = 0, fired = 0;
	for (uint32_t i = 0; i < MAX_CPUS; i++) {
		const struct cpu_sums *p = &v->cpu[i];
		uint64_t sum = p->busy;
		if (!p->counts)
			continue;
		for (unsigned k = 0; k < CAM_CAUSE_MAX; k++)
			sum += p->by_cause[k];
		all += sum;
		fired += v->last[i].fired;
		assert_int_equal(v->last[i].fired, v->last[i].emitted + v->last[i].lost);
		/* All that was due while it was enabled, as the kernel counted, and no more; but
		 * samples have come since it last did. */
		uint64_t due = p->enabled_ns * RATE / S;
		uint64_t since = (v->released_ns - p->counts_ns) * RATE / S;
		assert_in_range(sum, due - 1, due + since + 2);
		/* Never more idle than the kernel saw. */
		uint64_t idle = p->idle_ns * RATE / S;
		assert_in_range(p->by_cause[CAM_CAUSE_IDLE], 0, idle + cam_ledger_error(RATE));
		assert_in_range(p->by_cause[CAM_CAUSE_STOLEN], 0,
				p->steal_ns * RATE / S + cam_ledger_error(RATE));
		/* And where a CPU has nothing to do that is what it is said to have done: what the
		 * kernel counted, but for what samples speak against. */
		uint64_t unfired = sum - p->busy - p->by_cause[CAM_CAUSE_LOST_RING];
		uint64_t expect = idle < unfired ? idle : unfired;
		assert_in_range(p->by_cause[CAM_CAUSE_IDLE] + RATE, expect, expect + 2 * RATE);
	}
	assert_int_equal(all, st.due);
	assert_int_equal(st.fired, fired);
	assert_true(v->samples + v->lost >= fired);
	/* It was kept busy. */
	assert_true(v->cpu[0].busy > v->cpu[0].by_cause[CAM_CAUSE_IDLE]);
	assert_int_equal(st.excess, 0);
	c->ops->close(c);
	cam_host_close(h);
	cam_ledger_free(v->l);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(due_fired_and_idle_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
