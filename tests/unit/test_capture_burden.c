// SPDX-License-Identifier: Apache-2.0
/* What a sample costs, on this kernel, and of clocks that are made up. */
#include "base/units.h"
#include "capture/burden.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static const struct cam_capture_options options = {.hz = 97};

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* The machine may be busy: then it says so, and can be asked again. */
static uint64_t measure(void)
{
	uint64_t ns = 0;
	for (int tries = 0; tries < 50; tries++) {
		uint64_t before = cpu_ns();
		int err = cam_burden_measure(cam_kernel_host(), "/proc", &options, &ns);
		/* With what the kernel does in our time. */
		assert_in_range(cpu_ns() - before, 0, 50 * CAM_NS_PER_MS);
		if (!err)
			return ns;
		assert_int_equal(err, -EAGAIN);
	}
	fail_msg("no moment of 50 was quiet enough");
	return 0;
}

static void a_sample_takes_some_microseconds(void **state)
{
	(void)state;
	uint64_t ns = measure();
	print_message("# %lu ns a sample\n", (unsigned long)ns);
	assert_in_range(ns, 1000, 150000);
}

static void says_what_the_kernel_says(void **state)
{
	(void)state;
	uint64_t ns;
	struct cam_capture_options cycles = {.hz = 97, .event = CAM_EVENT_CYCLES};
	int err = cam_burden_measure(cam_kernel_host(), "/proc", &cycles, &ns);
	assert_true(err == 0 || err == -EAGAIN || err == -EOPNOTSUPP);
}

/* Clocks and events that are made up: what takes 5 us is a sample, what takes 700 us is not. */
struct fake {
	struct cam_kernel k;
	struct perf_event_mmap_page *page;
	uint64_t now, reads, fired;
	unsigned noise;
};

static int fake_open(const struct cam_kernel *k, struct perf_event_attr *attr, int32_t tid, int cpu)
{
	(void)k;
	assert_int_equal(tid, 0);
	assert_int_equal(cpu, -1);
	assert_int_equal(attr->sample_period, 250000);
	return 77;
}

static int fake_control(const struct cam_kernel *k, int fd, unsigned long request, uint64_t arg)
{
	(void)k, (void)request, (void)arg;
	assert_int_equal(fd, 77);
	return 0;
}

static int fake_map(const struct cam_kernel *k, int fd, size_t bytes, void **out)
{
	(void)fd;
	struct fake *f = (struct fake *)(uintptr_t)k;
	*out = f->page = calloc(1, bytes);
	return *out ? 0 : -ENOMEM;
}

static void fake_unmap(const struct cam_kernel *k, void *base, size_t bytes)
{
	(void)k, (void)bytes;
	free(base);
}

static void fake_close(const struct cam_kernel *k, int fd)
{
	(void)k;
	assert_int_equal(fd, 77);
}

static uint64_t fake_now(const struct cam_kernel *k)
{
	struct fake *f = (struct fake *)(uintptr_t)k;
	f->now += 40;
	if (++f->reads % 6000 == 0) { /* every 240 us */
		struct perf_event_header *h = (void *)((char *)f->page + 4096 + f->page->data_head);
		*h = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = 64};
		f->page->data_head += 64;
		f->now += 5000;
	} else if (f->noise && f->reads % f->noise == 0) {
		f->now += f->reads % 2 ? 2000 : 700000;
	}
	return f->now;
}

static int measure_fake(unsigned noise, uint64_t *ns)
{
	struct fake f = {
		.k = {.open = fake_open,
		      .control = fake_control,
		      .map = fake_map,
		      .unmap = fake_unmap,
		      .close = fake_close,
		      .now_ns = fake_now},
		.noise = noise,
	};
	struct cam_capture_options o = {.hz = 97, .event = CAM_EVENT_CPU_CLOCK};
	return cam_burden_measure(&f.k, "/proc", &o, ns);
}

static void the_median_of_what_is_as_short_as_an_interrupt(void **state)
{
	(void)state;
	uint64_t ns;
	assert_int_equal(measure_fake(0, &ns), 0);
	assert_int_equal(ns, 5040);
	/* Some other interrupts, and some turns of other programs, change nothing. */
	assert_int_equal(measure_fake(17001, &ns), 0);
	assert_int_equal(ns, 5040);
	/* Where others interrupt more than we do, it does not know. */
	assert_int_equal(measure_fake(1001, &ns), -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_takes_some_microseconds),
		cmocka_unit_test(says_what_the_kernel_says),
		cmocka_unit_test(the_median_of_what_is_as_short_as_an_interrupt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
