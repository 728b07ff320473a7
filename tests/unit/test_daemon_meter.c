// SPDX-License-Identifier: Apache-2.0
/* What perfcam costs, against the kernel's own accounts; and when it sheds. */
#include "base/units.h"
#include "daemon/descendants.h"
#include "daemon/meter.h"
#include "ingest/busiest.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void spin_ms(uint64_t ms)
{
	uint64_t until = own_cpu_ns() + ms * CAM_NS_PER_MS;
	while (own_cpu_ns() < until)
		;
}

static void counts_a_process_as_the_kernel_does(void **state)
{
	(void)state;
	struct cam_meter m = {0};
	pid_t pids[CAM_METER_ROLES] = {[CAM_METER_RECORDER] = getpid()};
	cam_meter_read(&m, 1 * CAM_NS_PER_SEC, pids);
	uint64_t before = own_cpu_ns(), counted = m.roles[CAM_METER_RECORDER].cpu_ns;
	spin_ms(150);
	cam_meter_read(&m, 2 * CAM_NS_PER_SEC, pids);
	uint64_t spent = own_cpu_ns() - before;
	counted = m.roles[CAM_METER_RECORDER].cpu_ns - counted;
	/* The two clocks are read one after the other. */
	assert_in_range(counted, spent - 10 * CAM_NS_PER_MS, spent + 10 * CAM_NS_PER_MS);
	struct rusage u;
	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	uint64_t resident = cam_meter_resident(getpid());
	/* The kernel notes the peak now and then. */
	assert_in_range(resident, 500000, (uint64_t)u.ru_maxrss * 1024 + (1u << 20));
	assert_int_equal(cam_meter_resident(0), 0);
	/* Between two readings, too, and before the first. */
	uint64_t had = m.roles[CAM_METER_RECORDER].cpu_ns;
	spin_ms(20);
	assert_true(cam_meter_cpu_now(&m, CAM_METER_RECORDER, getpid()) >=
		    had + 15 * CAM_NS_PER_MS);
	assert_int_equal(cam_meter_cpu_now(&m, CAM_METER_RECORDER, 0), had);
	struct cam_meter fresh = {0};
	assert_true(cam_meter_cpu_now(&fresh, CAM_METER_RECORDER, getpid()) >= 15 * CAM_NS_PER_MS);
	uint64_t ppm;
	assert_true(cam_meter_ppm(&m, 1, &ppm));
	assert_in_range(ppm, 100000, 250000);
	assert_false(cam_meter_ppm(&m, 2, &ppm));
}

static void a_role_s_next_process_adds_to_the_first(void **state)
{
	(void)state;
	struct cam_meter m = {0};
	pid_t pids[CAM_METER_ROLES] = {0};
	uint64_t last = 0;
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		if (!child) {
			spin_ms(60);
			for (;;)
				pause();
		}
		pids[CAM_METER_SYMBOLISER] = child;
		uint64_t until = now_ns() + 10 * CAM_NS_PER_SEC;
		do {
			usleep(20000);
			cam_meter_read(&m, now_ns(), pids);
		} while (m.roles[CAM_METER_SYMBOLISER].cpu_ns < last + 50 * CAM_NS_PER_MS &&
			 now_ns() < until);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		last = m.roles[CAM_METER_SYMBOLISER].cpu_ns;
	}
	assert_true(last >= 100 * CAM_NS_PER_MS);
	pids[CAM_METER_SYMBOLISER] = 0;
	cam_meter_read(&m, now_ns(), pids);
	assert_int_equal(m.roles[CAM_METER_SYMBOLISER].cpu_ns, last);
}

/* A history of `seconds` at this cost, by the meter's own hand. */
static void cost(struct cam_meter *m, uint64_t *now, unsigned seconds, uint64_t ppm)
{
	for (unsigned i = 0; i < seconds; i += CAM_METER_S) {
		*now += CAM_METER_S * CAM_NS_PER_SEC;
		m->roles[0].cpu_ns += ppm * 1000 * CAM_METER_S;
		size_t at = m->readings % CAM_METER_HISTORY;
		m->time_ns[at] = *now;
		m->total[at][0] = m->roles[0].cpu_ns;
		m->readings++;
	}
}

/* Met alive or not, what a capsule took is counted once, and is no reason to take fewer samples. */
static void what_a_capsule_took_is_counted_when_it_has_ended(void **state)
{
	struct cam_meter m = {0};
	const struct cam_meter_reading *r = &m.roles[CAM_METER_CAPSULE];
	const struct rusage used = {.ru_utime = {1, 500000}, .ru_stime = {2, 250000}};
	pid_t pids[CAM_METER_ROLES] = {[CAM_METER_CAPSULE] = getpid()};
	uint64_t ppm = 1;
	(void)state;
	assert_int_equal(cam_meter_used_ns(&used), 3750 * CAM_NS_PER_MS);
	cam_meter_read(&m, CAM_NS_PER_SEC, pids);
	uint64_t met = r->cpu_ns;
	assert_true(met > 0);
	cam_meter_end(&m, CAM_METER_CAPSULE, getpid(), met + 7);
	assert_int_equal(r->cpu_ns, met + 7);
	/* One that nobody met. */
	cam_meter_end(&m, CAM_METER_CAPSULE, 1, 1000);
	assert_int_equal(r->cpu_ns, met + 1007);
	pids[CAM_METER_CAPSULE] = 0;
	cam_meter_read(&m, 20 * CAM_NS_PER_SEC, pids);
	assert_int_equal(r->minute_cpu_ns, 1007);
	assert_true(cam_meter_ppm(&m, 10, &ppm));
	assert_int_equal(ppm, 0);
}

/* Who looks at the page wants samples: they do not become fewer for it. */
static void what_the_server_takes_is_no_reason_to_shed(void **state)
{
	(void)state;
	struct cam_meter m = {0};
	struct cam_shedder s = {.wanted_hz = 97, .hz = 97, .max_ppm = 10000};
	uint64_t now = 1000 * CAM_NS_PER_SEC, ppm;
	cost(&m, &now, 40, 5000);
	for (size_t i = 0; i < m.readings; i++)
		m.total[i][CAM_METER_SERVER] = i * 2 * CAM_NS_PER_SEC;
	assert_true(cam_meter_ppm(&m, 10, &ppm));
	assert_int_equal(ppm, 5000);
	assert_false(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 97);
}

static void sheds_by_halves_and_comes_back(void **state)
{
	(void)state;
	struct cam_meter m = {0};
	struct cam_shedder s = {.wanted_hz = 97, .hz = 97, .max_ppm = 10000};
	uint64_t now = 1000 * CAM_NS_PER_SEC;
	cost(&m, &now, 20, 5000);
	assert_false(cam_shedder_step(&s, &m, now));
	cost(&m, &now, 10, 30000);
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 49);
	/* Not again before the new rate had its time to tell. */
	cost(&m, &now, 5, 30000);
	assert_false(cam_shedder_step(&s, &m, now));
	cost(&m, &now, 5, 30000);
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 25);
	/* Within the budget, but twice of it would not be: stays. */
	cost(&m, &now, 100, 6000);
	assert_false(cam_shedder_step(&s, &m, now));
	cost(&m, &now, 100, 4000);
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 50);
	cost(&m, &now, 100, 4000);
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 97);
	/* A budget that is lifted gives the rate back at once. */
	s.hz = 1;
	s.max_ppm = 0;
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 97);
}

/* Seconds of looking at this cost; how many of them until the rate changed, 0: it did not. */
static unsigned look(struct cam_shedder *s, uint64_t *now, uint64_t *own, unsigned seconds,
		     uint64_t ppm)
{
	for (unsigned i = 1; i <= seconds; i++) {
		*now += CAM_NS_PER_SEC;
		*own += ppm * 1000;
		if (cam_shedder_look(s, *own, *now))
			return i;
	}
	return 0;
}

static void sheds_within_seconds_what_is_far_above(void **state)
{
	(void)state;
	uint64_t now = 1000 * CAM_NS_PER_SEC, own = 7 * CAM_NS_PER_SEC;
	struct cam_shedder s = {.wanted_hz = 4999, .hz = 4999, .max_ppm = 10000};
	s.settled_ns = now + 5 * CAM_NS_PER_SEC;
	s.changed_ns = now + 30 * CAM_NS_PER_SEC;
	/* The start is no reason. */
	assert_int_equal(look(&s, &now, &own, 4, 900000), 0);
	/* Nor is a burst of a second, nor what is not far above. */
	assert_int_equal(look(&s, &now, &own, 1, 80000), 0);
	assert_int_equal(look(&s, &now, &own, 20, 29000), 0);
	assert_int_equal(s.hz, 4999);
	/* Five times: to a fifth. */
	s.look_ns = 0;
	assert_int_equal(look(&s, &now, &own, 20, 50000), 4);
	assert_int_equal(s.hz, 999);
	assert_int_equal(s.changed_ns, now);
	/* A hundred times: by eighths, and not before the new rate had its time to tell. */
	assert_int_equal(look(&s, &now, &own, 20, 1000000), 4);
	assert_int_equal(s.hz, 125);
	assert_int_equal(look(&s, &now, &own, 20, 1000000), 4);
	assert_int_equal(look(&s, &now, &own, 20, 1000000), 4);
	assert_int_equal(look(&s, &now, &own, 20, 1000000), 4);
	assert_int_equal(s.hz, 1);
	assert_int_equal(look(&s, &now, &own, 20, 1000000), 0);
	/* It goes back by what there is room for, an eightfold at most. */
	struct cam_meter m = {0};
	s.hz = 10;
	cost(&m, &now, 100, 2000);
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 30);
	cost(&m, &now, 100, 100);
	assert_true(cam_shedder_step(&s, &m, now));
	assert_int_equal(s.hz, 240);
	/* No budget, nothing to look for. */
	s.max_ppm = 0;
	assert_int_equal(look(&s, &now, &own, 20, 1000000), 0);
}

static void never_below_one(void **state)
{
	(void)state;
	struct cam_meter m = {0};
	struct cam_shedder s = {.wanted_hz = 97, .hz = 97, .max_ppm = 1};
	uint64_t now = 0;
	for (int i = 0; i < 20; i++) {
		cost(&m, &now, 11, 500000);
		cam_shedder_step(&s, &m, now);
	}
	assert_int_equal(s.hz, 1);
}

static void who_has_ended_is_not_among_the_busiest(void **state)
{
	(void)state;
	struct cam_busiest b = {0};
	/* Two that share their first place, and one that ends before it is ever sampled. */
	const int32_t first = 7, second = 7 + (int32_t)CAM_BUSIEST_SLOTS, unseen = 8;
	for (int i = 0; i < 3; i++)
		cam_busiest_count(&b, first);
	cam_busiest_count(&b, second);
	cam_busiest_drop(&b, first);
	cam_busiest_drop(&b, unseen);
	int32_t tids[4];
	assert_int_equal(cam_busiest_take(&b, tids, 4), 1);
	assert_int_equal(tids[0], second);
}

static void the_busiest_come_first(void **state)
{
	(void)state;
	struct cam_busiest b = {0};
	for (int32_t tid = 1; tid <= 100; tid++) {
		for (int32_t i = 0; i < tid; i++)
			cam_busiest_count(&b, tid * 7);
	}
	cam_busiest_count(&b, 0);
	int32_t tids[4];
	assert_int_equal(cam_busiest_take(&b, tids, 4), 4);
	assert_int_equal(tids[0], 700);
	assert_int_equal(tids[1], 693);
	assert_int_equal(tids[3], 679);
	assert_int_equal(cam_busiest_take(&b, tids, 4), 0);
}

static bool holds(const int32_t *list, size_t n, int32_t what)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i] == what)
			return true;
	}
	return false;
}

static void *sleep_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void finds_children_of_children_and_threads(void **state)
{
	(void)state;
	int told[2];
	assert_int_equal(pipe(told), 0);
	pid_t child = fork();
	if (!child) {
		pthread_t t;
		pid_t below = fork();
		if (!below)
			sleep_for_ever(NULL);
		pthread_create(&t, NULL, sleep_for_ever, NULL);
		if (write(told[1], &below, sizeof(below)) < 0)
			_exit(1);
		sleep_for_ever(NULL);
	}
	pid_t below;
	assert_int_equal(read(told[0], &below, sizeof(below)), sizeof(below));
	int32_t found[64] = {getpid()};
	size_t n = cam_descendants_add(found, 1, 64);
	bool both = holds(found, n, child) && holds(found, n, below);
	found[0] = child;
	size_t alone = cam_descendants_add(found, 1, 64);
	bool only_below = alone == 2 && found[1] == below;
	size_t threads = cam_descendants_threads(child, found, 64);
	bool ours = cam_descendants_is_of(child, getuid());
	bool its_own = cam_descendants_process(child) == child;
	bool whose = threads == 2 && cam_descendants_process(found[1]) == child;
	kill(below, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(both);
	assert_true(only_below);
	assert_int_equal(threads, 2);
	assert_true(ours && its_own && whose);
	assert_false(cam_descendants_is_of(getpid(), getuid() + 1));
	assert_int_equal(cam_descendants_process(INT32_MAX), -1);
	assert_true(cam_descendants_threads_of_user(getuid(), found, 64) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_a_process_as_the_kernel_does),
		cmocka_unit_test(a_role_s_next_process_adds_to_the_first),
		cmocka_unit_test(what_a_capsule_took_is_counted_when_it_has_ended),
		cmocka_unit_test(what_the_server_takes_is_no_reason_to_shed),
		cmocka_unit_test(sheds_by_halves_and_comes_back),
		cmocka_unit_test(sheds_within_seconds_what_is_far_above),
		cmocka_unit_test(never_below_one),
		cmocka_unit_test(the_busiest_come_first),
		cmocka_unit_test(who_has_ended_is_not_among_the_busiest),
		cmocka_unit_test(finds_children_of_children_and_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
