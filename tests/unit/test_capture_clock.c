// SPDX-License-Identifier: Apache-2.0
/*
 * Clock anchors: on clocks of the test's own, which step, sleep, stall and wrap; and on the real ones,
 * where the kernel log and the kernel's own stamps of perf records are what they must agree with.
 */
#include "base/units.h"
#include "capture/clock.h"
#include "capture/sched_clock.h"
#include "model/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define S    ((int64_t)CAM_NS_PER_SEC)
#define YEAR (365 * 86400 * S)

/* All clocks run alike; each read takes some time. */
struct fake {
	int64_t mono, wall_offset, boot_offset, raw_offset, sched_offset;
	int64_t read_ns, slow_ns; /* a read; and one that is interrupted: */
	unsigned reads, slow_every;
	bool no_sched;
	int fail;
};

static void fake_pass(struct fake *f)
{
	f->mono += f->read_ns;
	if (f->slow_every && ++f->reads % f->slow_every == 0)
		f->mono += f->slow_ns;
}

static int fake_now(void *self, clockid_t clock, int64_t *ns)
{
	struct fake *f = self;
	fake_pass(f);
	*ns = f->mono + (clock == CLOCK_REALTIME	? f->wall_offset
			 : clock == CLOCK_BOOTTIME	? f->boot_offset
			 : clock == CLOCK_MONOTONIC_RAW ? f->raw_offset
							: 0);
	return f->fail;
}

static bool fake_sched(void *self, uint64_t *ns)
{
	struct fake *f = self;
	fake_pass(f);
	*ns = (uint64_t)(f->mono + f->sched_offset);
	return !f->no_sched;
}

static struct cam_clock *open_fake(struct fake *f)
{
	struct cam_clock_options o = {.source = {f, fake_now, fake_sched}};
	struct cam_clock *c;
	assert_int_equal(cam_clock_open(&o, &c), 0);
	return c;
}

static struct cam_clock_reading take(struct cam_clock *c)
{
	struct cam_clock_reading r;
	assert_int_equal(cam_clock_read(c, &r), 0);
	assert_in_range(r.n, 1, 2);
	return r;
}

static const struct fake usual = {.mono = 5000 * S,
				  .wall_offset = 1794717264 * S,
				  .raw_offset = -259330000,
				  .sched_offset = 400000,
				  .read_ns = 40};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void an_anchor_is_one_instant(void **state)
{
	(void)state;
	struct fake f = usual;
	struct cam_clock *c = open_fake(&f);
	for (unsigned i = 0; i < 100; i++) {
		f.mono += S;
		struct cam_clock_reading r = take(c);
		const struct cam_anchor *a = &r.anchor[0];
		assert_int_equal(r.n, 1);
		assert_int_equal(r.stepped_ns, 0);
		assert_int_equal(r.asleep_ns, 0);
		assert_in_range(distance(a->raw_ns, a->time_ns + (uint64_t)f.raw_offset), 0, 100);
		assert_in_range(distance((uint64_t)a->realtime_ns,
					 a->time_ns + (uint64_t)f.wall_offset),
				0, a->uncertainty_ns);
		assert_in_range(distance(a->sched_ns, a->time_ns + (uint64_t)f.sched_offset), 0,
				100);
		assert_in_range(a->uncertainty_ns, 1, 100);
	}
	f.no_sched = true;
	f.mono += S;
	assert_true(take(c).anchor[0].sched_ns == CAM_TIME_NONE);
	f.fail = -EINVAL;
	struct cam_clock_reading r;
	assert_int_equal(cam_clock_read(c, &r), -EINVAL);
	cam_clock_close(c);
}

/* Four of five readings are interrupted for 3 ms somewhere; the fifth counts. */
static void the_narrowest_of_five_is_kept(void **state)
{
	(void)state;
	struct fake f = usual;
	struct cam_clock *c = open_fake(&f);
	for (unsigned every = 8; every < 30; every++) {
		f.slow_every = every;
		f.slow_ns = 3000000;
		f.mono += S;
		struct cam_clock_reading r = take(c);
		assert_int_equal(r.n, 1);
		assert_in_range(r.anchor[0].uncertainty_ns, 1, 100);
		assert_true(r.anchor[0].sched_ns != CAM_TIME_NONE);
	}
	/* All are: then it says how far off it may be, and does not take it for a step. */
	f.slow_every = 2;
	for (unsigned i = 0; i < 10; i++) {
		f.mono += S;
		struct cam_clock_reading r = take(c);
		assert_int_equal(r.n, 1);
		assert_true(r.anchor[0].uncertainty_ns >= 3000000);
		assert_true(r.anchor[0].sched_ns == CAM_TIME_NONE);
	}
	cam_clock_close(c);
}

static void steps_of_the_wall_clock(void **state)
{
	(void)state;
	static const int64_t starts[] = {5 * S, 1794717264 * S, 2147483640 * S, 4294967290 * S};
	static const int64_t steps[] = {5000, S,     -S,	3600 * S,  -3600 * S,
					YEAR, -YEAR, 10 * YEAR, -10 * YEAR};
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct fake f = usual;
		f.wall_offset = starts[i] - f.mono;
		struct cam_clock *c = open_fake(&f);
		for (unsigned k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
			f.mono += S;
			struct cam_clock_reading before = take(c);
			assert_int_equal(before.n, 1);
			f.mono += S / 2;
			f.wall_offset += steps[k];
			struct cam_clock_reading r = take(c);
			assert_int_equal(r.n, 2);
			assert_int_equal(r.asleep_ns, 0);
			assert_in_range(distance((uint64_t)r.stepped_ns, (uint64_t)steps[k]), 0,
					200);
			assert_int_equal(r.anchor[0].time_ns, r.anchor[1].time_ns);
			assert_int_equal(r.anchor[0].sched_ns, r.anchor[1].sched_ns);
			assert_int_equal(r.anchor[1].realtime_ns - r.anchor[0].realtime_ns,
					 r.stepped_ns);
			/* What was shown before the step, just before it. */
			struct cam_anchor a[] = {before.anchor[0], r.anchor[0], r.anchor[1]};
			int64_t wall;
			uint64_t off;
			assert_true(
				cam_anchor_wall_of(a, 3, r.anchor[0].time_ns - 1000, &wall, &off));
			assert_in_range(distance((uint64_t)wall,
						 r.anchor[0].time_ns - 1000 +
							 (uint64_t)(f.wall_offset - steps[k])),
					0, off);
		}
		cam_clock_close(c);
	}
}

static void a_suspend_is_an_interval_and_not_a_step(void **state)
{
	(void)state;
	struct fake f = usual;
	struct cam_clock *c = open_fake(&f);
	f.mono += S;
	struct cam_clock_reading before = take(c);
	f.mono += S / 3;
	f.boot_offset += 8 * 3600 * S;
	f.wall_offset += 8 * 3600 * S;
	struct cam_clock_reading r = take(c);
	assert_in_range(distance(r.asleep_ns, 8 * 3600 * (uint64_t)S), 0, 200);
	assert_int_equal(r.asleep_from_ns, before.anchor[0].time_ns);
	assert_int_equal(r.asleep_to_ns, r.anchor[1].time_ns);
	assert_int_equal(r.stepped_ns, 0);
	assert_int_equal(r.n, 2);
	/* Woken, and set right by the network in the same second. */
	f.mono += S;
	f.boot_offset += 60 * S;
	f.wall_offset += 60 * S - 2 * S;
	r = take(c);
	assert_in_range(distance(r.asleep_ns, 60 * (uint64_t)S), 0, 200);
	assert_in_range(distance((uint64_t)-r.stepped_ns, 2 * (uint64_t)S), 0, 400);
	/* And no more of it. */
	f.mono += S;
	r = take(c);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.asleep_ns, 0);
	cam_clock_close(c);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void the_boot_id_of_this_host(void **state)
{
	(void)state;
	struct cam_boot_id id;
	char said[64] = "", made[64];
	assert_int_equal(cam_clock_boot_id(NULL, &id), 0);
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%36s", said), 1);
	fclose(f);
	char *p = made;
	for (unsigned i = 0; i < 16; i++)
		p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
			     id.bytes[i]);
	assert_string_equal(made, said);
	char dir[] = "/tmp/perfcam-clock-XXXXXX", path[128];
	assert_non_null(mkdtemp(dir));
	assert_int_equal(cam_clock_boot_id(dir, &id), -ENOENT);
	static const char *const parts[] = {"sys", "sys/kernel", "sys/kernel/random"};
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	static const char *const bad[] = {"", "0", "0123456789abcdef0123456789abcdef",
					  "01234567-89ab-cdef-0123-456789abcdeg",
					  "01234567-89ab-cdef-0123-456789abcdef0"};
	snprintf(path, sizeof(path), "%s/sys/kernel/random/boot_id", dir);
	for (unsigned i = 0; i < 5; i++) {
		put(path, bad[i]);
		assert_int_equal(cam_clock_boot_id(dir, &id), -EBADMSG);
	}
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

/* A record that the kernel stamps with its own CLOCK_MONOTONIC, as it does samples. */
struct stamper {
	int fd;
	struct perf_event_mmap_page *page;
};

static void stamper_open(struct stamper *s)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.comm = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	s->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	assert_true(s->fd >= 0);
	s->page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	assert_true(s->page != MAP_FAILED);
}

static uint64_t stamp(struct stamper *s)
{
	char name[16];
	uint64_t t;
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	uint64_t head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE);
	assert_true(head > s->page->data_tail);
	memcpy(&t, (char *)s->page + 4096 + ((head - 8) & 4095), 8);
	s->page->data_tail = head;
	return t;
}

static void stamper_close(struct stamper *s)
{
	munmap(s->page, 8192);
	close(s->fd);
}

static bool real_sched(void *self, uint64_t *ns)
{
	return cam_sched_clock_read(self, ns);
}

/* Writes a line to the kernel log and finds its stamp there. */
static uint64_t log_line(int kmsg)
{
	static unsigned count;
	char text[64], got[8192];
	/* A line is readable when it has ended. */
	snprintf(text, sizeof(text), "perfcam clock test %d %u.\n", getpid(), count++);
	assert_int_equal(write(kmsg, text, strlen(text)), (ssize_t)strlen(text));
	for (;;) {
		ssize_t n = read(kmsg, got, sizeof(got) - 1);
		if (n < 0 && errno == EPIPE)
			continue; /* overrun: it is among the newer ones */
		assert_true(n > 0);
		got[n] = '\0';
		unsigned long priority, sequence, us;
		if (!strstr(got, text))
			continue;
		assert_int_equal(sscanf(got, "%lu,%lu,%lu", &priority, &sequence, &us), 3);
		return us * 1000;
	}
}

static void a_line_of_the_kernel_log_lies_between_two_samples(void **state)
{
	(void)state;
	struct cam_sched_clock sched;
	cam_sched_clock_open(&sched);
	struct stamper s;
	stamper_open(&s);
	struct cam_clock_options o = {.source = {.self = &sched, .sched_clock = real_sched}};
	struct cam_clock *c;
	assert_int_equal(cam_clock_open(&o, &c), 0);
	int kmsg = open("/dev/kmsg", O_RDWR | O_NONBLOCK);
	assert_true(kmsg >= 0);
	assert_true(lseek(kmsg, 0, SEEK_END) >= 0);
	enum { LINES = 5 };
	struct cam_anchor a[LINES + 1];
	uint64_t before[LINES], after[LINES], logged[LINES];
	a[0] = take(c).anchor[0];
	for (unsigned i = 0; i < LINES; i++) {
		usleep(40000);
		before[i] = stamp(&s);
		logged[i] = log_line(kmsg);
		after[i] = stamp(&s);
		usleep(40000);
		struct cam_clock_reading r = take(c);
		assert_int_equal(r.asleep_ns, 0);
		a[i + 1] = r.anchor[r.n - 1];
		assert_true(a[i + 1].sched_ns != CAM_TIME_NONE);
		assert_in_range(a[i + 1].uncertainty_ns, 0, CAM_NS_PER_MS);
	}
	for (unsigned i = 0; i < LINES; i++) {
		struct cam_placed p;
		assert_true(cam_anchor_place_sched(a, LINES + 1, logged[i], &p));
		assert_in_range(p.uncertainty_ns, 0, CAM_NS_PER_MS);
		/* The stamp is cut to a microsecond. */
		assert_in_range(p.time_ns + CAM_NS_PER_MS, before[i], after[i] + 2 * CAM_NS_PER_MS);
		assert_in_range(p.time_ns + 1000 + CAM_ANCHOR_SCHED_NS, before[i],
				after[i] + 1000 + 2 * CAM_ANCHOR_SCHED_NS);
	}
	close(kmsg);
	cam_clock_close(c);
	stamper_close(&s);
	cam_sched_clock_close(&sched);
}

static void the_wall_clock_of_this_host(void **state)
{
	(void)state;
	struct cam_clock_options o = {.source = {0}};
	struct cam_clock *c;
	assert_int_equal(cam_clock_open(&o, &c), 0);
	struct cam_clock_reading r = take(c);
	struct timespec t;
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &t), 0);
	uint64_t now = cam_clock_now(c);
	assert_in_range(now - r.anchor[0].time_ns, 0, S);
	int64_t wall;
	uint64_t off;
	assert_true(cam_anchor_wall_of(r.anchor, r.n, now, &wall, &off));
	assert_in_range(distance((uint64_t)wall, (uint64_t)(t.tv_sec * S + t.tv_nsec)), 0, S / 10);
	assert_true(r.anchor[0].sched_ns == CAM_TIME_NONE);
	assert_true(r.anchor[0].boottime_ns + r.anchor[0].uncertainty_ns >= r.anchor[0].time_ns);
	/* Nobody set the clock just now: the timer sleeps. */
	struct pollfd p = {cam_clock_fd(c), POLLIN, 0};
	assert_true(p.fd >= 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	cam_clock_close(c);
}

/* In a namespace whose clock is 100,000 s ahead; the exit status says what was wrong. */
static int in_namespace(void)
{
	struct stamper s;
	stamper_open(&s);
	struct cam_clock_options o = {.source = {0}};
	struct cam_clock *c;
	struct cam_clock_reading r;
	struct timespec t;
	if (cam_clock_open(&o, &c) || cam_clock_read(c, &r) || clock_gettime(CLOCK_MONOTONIC, &t))
		return 1;
	uint64_t before = stamp(&s), now = cam_clock_now(c), after = stamp(&s);
	if (distance((uint64_t)(t.tv_sec * S + t.tv_nsec), before) < 99990 * (uint64_t)S)
		return 2; /* it is no other clock: this shows nothing */
	if (now < before || now > after)
		return 3;
	if (distance(r.anchor[0].time_ns, before) > 10 * (uint64_t)S)
		return 4;
	if (distance(r.anchor[0].boottime_ns, before) > 90000 * (uint64_t)S)
		return 5; /* the boot clock is 200,000 s ahead */
	cam_clock_close(c);
	stamper_close(&s);
	return 0;
}

static void a_time_namespace_does_not_move_anchors(void **state)
{
	(void)state;
	pid_t maker = fork();
	assert_true(maker >= 0);
	if (!maker) {
		if (unshare(CLONE_NEWTIME))
			_exit(100);
		int fd = open("/proc/self/timens_offsets", O_WRONLY);
		static const char offsets[] = "monotonic 100000 0\nboottime 200000 0\n";
		if (fd < 0 || write(fd, offsets, sizeof(offsets) - 1) < 0)
			_exit(101);
		close(fd);
		pid_t child = fork();
		if (!child)
			_exit(in_namespace());
		int status;
		if (child < 0 || waitpid(child, &status, 0) != child)
			_exit(102);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 103);
	}
	int status;
	assert_int_equal(waitpid(maker, &status, 0), maker);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_anchor_is_one_instant),
		cmocka_unit_test(the_narrowest_of_five_is_kept),
		cmocka_unit_test(steps_of_the_wall_clock),
		cmocka_unit_test(a_suspend_is_an_interval_and_not_a_step),
		cmocka_unit_test(the_boot_id_of_this_host),
		cmocka_unit_test(a_line_of_the_kernel_log_lies_between_two_samples),
		cmocka_unit_test(the_wall_clock_of_this_host),
		cmocka_unit_test(a_time_namespace_does_not_move_anchors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
