// SPDX-License-Identifier: Apache-2.0
#include "capture/perf_event.h"
#include "capture/rings.h"
#include "support_kernel.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND	  1000000000ull
#define RING	  4096u
#define PER_RING  (RING / 56) /* of fake_event_sample()'s records */
#define MAX_TAKEN 512

struct fixture {
	struct fake_kernel kernel;
	struct cam_ring_budget budget;
	struct cam_rings_options options;
	struct cam_rings *rings;
	struct cam_cpus wanted;
	struct cam_raw taken[MAX_TAKEN];
	size_t n_taken;
};

static void make(struct fixture *f, const char *online, bool side)
{
	memset(f, 0, sizeof(*f));
	fake_kernel_init(&f->kernel, online);
	f->wanted = f->kernel.online;
	f->budget.max_bytes = 1u << 20;
	f->options = (struct cam_rings_options){.kernel = &f->kernel.kernel,
						.ring_bytes = RING,
						.hz = 97,
						.side_band = side,
						.epoll_fd = -1,
						.budget = &f->budget};
	struct cam_capture_options o = {.event = CAM_EVENT_CPU_CLOCK};
	struct cam_perf_event event;
	cam_rings_side_attr(&f->options.attr, RING, false);
	if (!side) {
		assert_int_equal(cam_perf_event_choose(&f->kernel.kernel, "/proc", &o, &event), 0);
		f->options.attr = event.attr;
	}
}

static int follow(struct fixture *f, bool *changed)
{
	return cam_rings_cpus(f->rings, &f->wanted, f->kernel.now_ns, changed);
}

static void start(struct fixture *f, const char *online, bool side)
{
	bool changed;
	make(f, online, side);
	assert_int_equal(cam_rings_new(&f->options, &f->rings), 0);
	assert_int_equal(follow(f, &changed), 0);
	assert_true(changed);
}

static void stop(struct fixture *f)
{
	cam_rings_free(f->rings);
	fake_kernel_check(&f->kernel);
	assert_int_equal(f->budget.used_bytes, 0);
}

static void begin(struct fixture *f)
{
	cam_rings_begin(f->rings, f->kernel.now_ns);
}

/* Takes all there is, stream by stream. */
static void take(struct fixture *f)
{
	struct cam_stream *streams[16];
	size_t n = cam_rings_n_streams(f->rings);
	uint64_t time_ns;

	assert_true(n <= 16);
	cam_rings_streams(f->rings, streams);
	f->n_taken = 0;
	for (size_t i = 0; i < n; i++)
		while (streams[i]->peek(streams[i], &time_ns)) {
			assert_true(f->n_taken < MAX_TAKEN);
			struct cam_raw *r = &f->taken[f->n_taken++];
			streams[i]->take(streams[i], r);
			bool early = r->type == CAM_RAW_LOST && r->lost.side_band;
			assert_int_equal(early ? r->lost.from_ns : r->time_ns, time_ns);
		}
	cam_rings_end(f->rings);
}

static void round_of(struct fixture *f)
{
	begin(f);
	take(f);
}

/* The first taken record of this type of this CPU. */
static const struct cam_raw *find(const struct fixture *f, enum cam_raw_type type, uint32_t cpu)
{
	for (size_t i = 0; i < f->n_taken; i++)
		if (f->taken[i].type == type && f->taken[i].cpu == cpu)
			return &f->taken[i];
	return NULL;
}

static size_t count(const struct fixture *f, enum cam_raw_type type)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_taken; i++)
		n += f->taken[i].type == type;
	return n;
}

static void starts(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, "0,2-3", false);
	assert_int_equal(cam_rings_count(f.rings), 3);
	assert_int_equal(f.budget.used_bytes, 3 * 2 * 4096);
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct fake_event *e = fake_kernel_event(&f.kernel, cpu, false);
		assert_int_equal(e != NULL, cpu != 1);
		if (e)
			assert_true(e->enabled);
	}
	round_of(&f);
	assert_int_equal(f.n_taken, 3);
	assert_true(find(&f, CAM_RAW_CPU, 3)->cpu_state.online);
	stop(&f);
}

/* What the kernel says was lost is told in the round that sees it, all of it, once. */
static void losses_are_exact(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, "0-1", false);
	struct fake_event *e = fake_kernel_event(&f.kernel, 1, false);
	uint64_t fired = 0, told = 0, samples = 0, before = f.kernel.now_ns;
	for (int round = 0; round < 30; round++) {
		fake_kernel_pass(&f.kernel, SECOND / 10);
		/* Some rounds fit, some do not. */
		for (uint64_t i = 0; i < (round % 5 ? 3u : 200u); i++, fired++)
			fake_event_sample(e, f.kernel.now_ns - 1000 + i);
		begin(&f);
		uint64_t now = f.kernel.now_ns;
		/* While it was being read more came: lost, and seen in the next round. */
		for (uint64_t i = 0; round % 7 == 3 && i < 100; i++, fired++)
			fake_event_sample(e, f.kernel.now_ns);
		take(&f);
		samples += count(&f, CAM_RAW_SAMPLE);
		const struct cam_raw *lost = find(&f, CAM_RAW_LOST, 1);
		assert_true(count(&f, CAM_RAW_LOST) <= 1);
		if (lost) {
			told += lost->lost.records;
			assert_int_equal(lost->time_ns, now);
			assert_int_equal(lost->lost.from_ns, before);
			assert_false(lost->lost.side_band);
		}
		if (round % 7 != 3)
			assert_int_equal(told, e->count.lost);
		const struct cam_raw *counts = find(&f, CAM_RAW_COUNTS, 1);
		if (counts) {
			assert_int_equal(counts->counts.lost, told);
			assert_int_equal(counts->counts.fired,
					 counts->counts.emitted + counts->counts.lost);
		}
		before = now;
	}
	for (int round = 0; round < 2; round++) {
		round_of(&f);
		samples += count(&f, CAM_RAW_SAMPLE);
		for (size_t i = 0; i < f.n_taken; i++)
			told += f.taken[i].type == CAM_RAW_LOST ? f.taken[i].lost.records : 0;
	}
	assert_true(told > 500);
	assert_int_equal(fired, samples + told);
	stop(&f);
}

/* read(2) interrupts the CPU: not without a reason. */
static void reads_are_rare(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, "0", false);
	struct fake_event *e = fake_kernel_event(&f.kernel, 0, false);
	for (int round = 0; round < 100; round++) {
		fake_kernel_pass(&f.kernel, SECOND / 10);
		for (int i = 0; i < 20; i++)
			fake_event_sample(e, f.kernel.now_ns);
		round_of(&f);
	}
	assert_int_equal(e->reads, 10);
	assert_int_equal(e->count.lost, 0);
	stop(&f);
}

static void counts_once_a_second(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, "0-1", false);
	struct fake_event *e = fake_kernel_event(&f.kernel, 0, false);
	size_t counts = 0;
	for (int round = 1; round <= 50; round++) {
		fake_kernel_pass(&f.kernel, SECOND / 10);
		fake_event_sample(e, f.kernel.now_ns - 1); /* before the round */
		fake_event_sample(e, f.kernel.now_ns + 1); /* after it began */
		round_of(&f);
		counts += count(&f, CAM_RAW_COUNTS);
		const struct cam_raw *c = find(&f, CAM_RAW_COUNTS, 0);
		if (!c)
			continue;
		/* The sample after the round's time comes after the counts, and is not in them. */
		assert_int_equal(c->counts.emitted, 2 * round - 1);
		assert_int_equal(c->counts.fired, c->counts.emitted);
		assert_int_equal(c->counts.enabled_ns, e->count.enabled_ns);
		assert_int_equal(c->counts.hz, 97);
		assert_int_equal(c->time_ns, f.kernel.now_ns);
		assert_true(c[-1].time_ns < c->time_ns && c[1].time_ns > c->time_ns);
	}
	assert_int_equal(counts, 10);
	stop(&f);
}

/* A CPU goes with records unread: they come, then its last words; then its memory is free. */
static void cpu_goes(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	start(&f, "0-1", false);
	round_of(&f);
	struct fake_event *e = fake_kernel_event(&f.kernel, 1, false);
	fake_kernel_pass(&f.kernel, SECOND / 2);
	for (int i = 0; i < 100; i++)
		fake_event_sample(e, f.kernel.now_ns);
	fake_kernel_offline(&f.kernel, 1);
	f.wanted = f.kernel.online;
	fake_kernel_pass(&f.kernel, SECOND / 2);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(cam_rings_count(f.rings), 1);
	assert_int_equal(cam_rings_n_streams(f.rings), 2);
	assert_false(e->open);
	round_of(&f);
	assert_int_equal(count(&f, CAM_RAW_SAMPLE), PER_RING);
	assert_int_equal(find(&f, CAM_RAW_LOST, 1)->lost.records, 100 - PER_RING);
	const struct cam_raw *counts = find(&f, CAM_RAW_COUNTS, 1);
	assert_int_equal(counts->counts.fired, 100);
	assert_int_equal(counts->counts.emitted, PER_RING);
	assert_int_equal(counts->counts.enabled_ns, SECOND / 2);
	assert_false(find(&f, CAM_RAW_CPU, 1)->cpu_state.online);
	/* Every round after that: nothing; the next follow() takes it off the list. */
	round_of(&f);
	assert_null(find(&f, CAM_RAW_CPU, 1));
	assert_int_equal(follow(&f, &changed), 0);
	assert_true(changed);
	assert_int_equal(cam_rings_n_streams(f.rings), 1);
	assert_int_equal(f.budget.used_bytes, 2 * 4096);
	assert_int_equal(cam_rings_stats(f.rings).samples, PER_RING);
	assert_int_equal(follow(&f, &changed), 0);
	assert_false(changed);
	stop(&f);
}

/* perf never samples again a CPU that went and came: a new event is needed. */
static void cpu_comes_back(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	start(&f, "0-1", false);
	round_of(&f);
	struct cam_cpus all = f.wanted;
	fake_kernel_offline(&f.kernel, 1);
	f.wanted = f.kernel.online;
	assert_int_equal(follow(&f, &changed), 0);
	/* It is back before its last words were read. */
	f.kernel.online = f.wanted = all;
	assert_int_equal(follow(&f, &changed), 0);
	assert_true(changed);
	assert_int_equal(cam_rings_count(f.rings), 2);
	struct fake_event *e = fake_kernel_event(&f.kernel, 1, false);
	assert_false(e->dead);
	fake_event_sample(e, f.kernel.now_ns);
	round_of(&f);
	assert_int_equal(count(&f, CAM_RAW_SAMPLE), 1);
	bool seen[2] = {false};
	for (size_t i = 0; i < f.n_taken; i++)
		if (f.taken[i].type == CAM_RAW_CPU && f.taken[i].cpu == 1)
			seen[f.taken[i].cpu_state.online] = true;
	assert_true(seen[0] && seen[1]);
	stop(&f);
}

/* Off and on between two looks: the list is the same, but the event's time stands still. */
static void cpu_blinks(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	struct cam_cpus dead;
	start(&f, "0-1", false);
	struct cam_cpus all = f.wanted;
	for (int i = 0; i < 15; i++) {
		fake_kernel_pass(&f.kernel, SECOND / 10);
		round_of(&f);
	}
	fake_kernel_offline(&f.kernel, 1);
	f.kernel.online = all;
	assert_int_equal(follow(&f, &changed), 0);
	cam_rings_dead(f.rings, &dead);
	assert_int_equal(cam_cpus_count(&dead), 0); /* nobody could know yet */
	for (int i = 0; i < 20; i++) {
		fake_kernel_pass(&f.kernel, SECOND / 10);
		round_of(&f);
	}
	cam_rings_dead(f.rings, &dead);
	assert_int_equal(cam_cpus_count(&dead), 1);
	assert_true(cam_cpus_has(&dead, 1));
	assert_int_equal(follow(&f, &changed), 0);
	assert_true(changed);
	assert_int_equal(cam_rings_count(f.rings), 2);
	assert_false(fake_kernel_event(&f.kernel, 1, false)->dead);
	cam_rings_dead(f.rings, &dead);
	assert_int_equal(cam_cpus_count(&dead), 0);
	round_of(&f);
	assert_int_equal(count(&f, CAM_RAW_CPU), 2);
	stop(&f);
}

/* An event that the kernel has revoked cannot even be read. */
static void cpu_revoked(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	start(&f, "0-1", false);
	struct fake_event *e = fake_kernel_event(&f.kernel, 1, false);
	fake_event_sample(e, f.kernel.now_ns);
	e->unreadable = true;
	fake_kernel_pass(&f.kernel, SECOND);
	round_of(&f);
	assert_int_equal(cam_rings_count(f.rings), 1);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(cam_rings_count(f.rings), 2);
	assert_false(fake_kernel_event(&f.kernel, 1, false)->unreadable);
	stop(&f);
}

/* No room for a CPU that came back until what it left is read: not an error, only later. */
static void full_budget(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	make(&f, "0-1", false);
	f.budget.max_bytes = 2 * 8192;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), 0);
	struct cam_cpus all = f.wanted;
	fake_kernel_offline(&f.kernel, 1);
	f.wanted = f.kernel.online;
	assert_int_equal(follow(&f, &changed), 0);
	f.kernel.online = f.wanted = all;
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(cam_rings_count(f.rings), 1);
	round_of(&f);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(cam_rings_count(f.rings), 2);
	assert_int_equal(f.budget.used_bytes, f.budget.max_bytes);
	stop(&f);
}

/* Nobody reads while a CPU comes and goes: two generations are kept, what is given up is counted. */
static void nobody_reads(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	start(&f, "0-1", false);
	struct cam_cpus all = f.wanted;
	for (int turn = 0; turn < 5; turn++) {
		struct fake_event *e = fake_kernel_event(&f.kernel, 1, false);
		for (int i = 0; i < 10; i++)
			fake_event_sample(e, f.kernel.now_ns);
		fake_kernel_offline(&f.kernel, 1);
		f.wanted = f.kernel.online;
		assert_int_equal(follow(&f, &changed), 0);
		f.kernel.online = f.wanted = all;
		assert_int_equal(follow(&f, &changed), 0);
		assert_int_equal(cam_rings_n_streams(f.rings), 3);
	}
	round_of(&f);
	assert_int_equal(count(&f, CAM_RAW_SAMPLE), 10);
	assert_int_equal(find(&f, CAM_RAW_LOST, 1)->lost.records, 10);
	stop(&f);
}

static void side_band(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, "0", true);
	struct fake_event *e = fake_kernel_event(&f.kernel, 0, true);
	assert_int_equal(e->attr.wakeup_watermark, RING / 4);
	fake_kernel_pass(&f.kernel, SECOND);
	for (uint32_t i = 0; i < 100; i++)
		fake_event_fork(e, f.kernel.now_ns, i);
	round_of(&f);
	/* No counts, no CPU: that is the samples' side. */
	assert_int_equal(count(&f, CAM_RAW_FORK), RING / 56);
	assert_int_equal(count(&f, CAM_RAW_LOST), 1);
	assert_int_equal(f.n_taken, RING / 56 + 1);
	assert_true(find(&f, CAM_RAW_LOST, 0)->lost.side_band);
	assert_int_equal(find(&f, CAM_RAW_LOST, 0)->lost.records, 100 - RING / 56);
	stop(&f);
}

/* A kernel before 6.0 (and 5.1): LOST records are all there is, and they are given. */
static void old_kernel(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	struct perf_record r;
	make(&f, "0", true);
	f.kernel.no_lost = f.kernel.no_ksymbol = true;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), 0);
	struct fake_event *e = fake_kernel_event(&f.kernel, 0, true);
	assert_false(e->attr.ksymbol);
	assert_true(e->attr.comm_exec);
	perf_record_begin(&r, PERF_RECORD_LOST, 0);
	perf_record_u64(&r, 1);
	perf_record_u64(&r, 33);
	perf_record_trailer(&r, 1, 1, f.kernel.now_ns, 0);
	assert_true(perf_builder_write(&e->ring, &r));
	round_of(&f);
	assert_int_equal(f.n_taken, 1);
	assert_int_equal(f.taken[0].lost.records, 33);
	assert_true(f.taken[0].lost.side_band);
	stop(&f);
}

static void threads(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	int32_t tids[] = {100, 101, 102};
	make(&f, "0-1", false);
	f.options.tids = tids;
	f.options.n_tids = 3;
	f.kernel.dead_tid = 100;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(f.kernel.n_open, 4);
	assert_int_equal(f.kernel.n_mapped, 2);
	fake_kernel_pass(&f.kernel, SECOND);
	for (int k = 0; k < 50; k++)
		for (int i = 0; i < FAKE_EVENTS; i++)
			if (f.kernel.events[i].open && f.kernel.events[i].cpu == 1)
				fake_event_sample(&f.kernel.events[i], f.kernel.now_ns - 1);
	round_of(&f);
	/* Both wrote to one ring; what each lost is added up. */
	const struct cam_raw *c = find(&f, CAM_RAW_COUNTS, 1);
	assert_int_equal(c->counts.emitted, PER_RING);
	assert_int_equal(c->counts.lost, 100 - PER_RING);
	assert_int_equal(c->counts.enabled_ns, 2 * (SECOND / 2)); /* of both, the time they ran */
	stop(&f);

	f.kernel.dead_tid = 101;
	f.options.tids = &tids[1];
	f.options.n_tids = 1;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), -ESRCH);
	stop(&f);
}

static void limits(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	make(&f, "0-3", false);
	f.budget.max_bytes = 3 * 8192 + 8191;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), -ENOMEM);
	assert_true(changed);
	assert_int_equal(cam_rings_count(f.rings), 3);
	stop(&f);

	f.budget.max_bytes = 1u << 20;
	f.kernel.max_locked_bytes = 2 * 8192;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), -ENOBUFS);
	stop(&f);

	/* A CPU that is listed and gone when we open it. */
	f.kernel.max_locked_bytes = 0;
	cam_cpus_add(&f.wanted, 9);
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(cam_rings_count(f.rings), 4);
	stop(&f);
}

static void rates(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	start(&f, "0-1", false);
	assert_int_equal(cam_rings_period(f.rings, 2012072, 497), 0);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		assert_int_equal(fake_kernel_event(&f.kernel, cpu, false)->period, 2012072);
	fake_kernel_pass(&f.kernel, SECOND);
	round_of(&f);
	assert_int_equal(find(&f, CAM_RAW_COUNTS, 1)->counts.hz, 497);
	/* A CPU that comes later gets the new rate. */
	cam_cpus_add(&f.kernel.online, 2);
	f.wanted = f.kernel.online;
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(fake_kernel_event(&f.kernel, 2, false)->attr.sample_period, 2012072);
	stop(&f);
}

/* Descriptors join and leave epoll; a woken set is quiet again once it was looked at. */
static void wakeups(void **state)
{
	(void)state;
	struct fixture f;
	bool changed;
	uint64_t one = 1;
	struct epoll_event ready;
	make(&f, "0-1", false);
	int epoll_fd = epoll_create1(0);
	f.options.epoll_fd = epoll_fd;
	assert_int_equal(cam_rings_new(&f.options, &f.rings), 0);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(epoll_wait(epoll_fd, &ready, 1, 0), 0);
	struct fake_event *e = fake_kernel_event(&f.kernel, 1, false);
	assert_int_equal(write(e->fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(epoll_wait(epoll_fd, &ready, 1, 0), 1);
	cam_rings_woken(epoll_fd);
	int held = dup(e->fd); /* as the mapping holds the event */
	cam_cpus_remove(&f.wanted, 1);
	assert_int_equal(follow(&f, &changed), 0);
	assert_int_equal(epoll_wait(epoll_fd, &ready, 1, 0), 0);
	close(held);
	stop(&f);
	close(epoll_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts),	  cmocka_unit_test(losses_are_exact),
		cmocka_unit_test(reads_are_rare), cmocka_unit_test(counts_once_a_second),
		cmocka_unit_test(cpu_goes),	  cmocka_unit_test(cpu_comes_back),
		cmocka_unit_test(cpu_blinks),	  cmocka_unit_test(nobody_reads),
		cmocka_unit_test(cpu_revoked),	  cmocka_unit_test(full_budget),
		cmocka_unit_test(side_band),	  cmocka_unit_test(old_kernel),
		cmocka_unit_test(threads),	  cmocka_unit_test(limits),
		cmocka_unit_test(rates),	  cmocka_unit_test(wakeups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
