// SPDX-License-Identifier: Apache-2.0
/*
 * How far apart rounds are, of a source that is made up; and the last round, of both sources on this
 * kernel: the counts reach as far as the recording does. They come once a second otherwise, so up to a
 * second of a CPU was due by nobody's count: on an idle one, where no sample fires, it was missing from
 * the ledger.
 */
#include "base/units.h"
#include "daemon/drain.h"
#include "ingest/ledger.h"
#include "support_sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define HZ	 97u
#define MAX_CPUS 1024u

struct told {
	uint64_t opened_ns, counts_ns, samples;
	struct cam_raw_counts counts;
};

struct sums {
	struct told cpu[MAX_CPUS];
	struct cam_ledger *ledger;
	uint64_t given;
};

static int take_row(void *arg, const struct cam_ledger_row *row)
{
	((struct sums *)arg)->given += row->samples;
	return 0;
}

static void take(struct sums *s, const struct cam_raw *r)
{
	if (r->cpu >= MAX_CPUS || r->type == CAM_RAW_FORK)
		return;
	struct told *t = &s->cpu[r->cpu];
	if (r->type == CAM_RAW_SAMPLE) {
		t->samples++;
		cam_ledger_sample(s->ledger, r->cpu, r->time_ns, CAM_LEDGER_BUSY);
		s->given++;
	} else if (r->type == CAM_RAW_CPU) {
		t->opened_ns = r->time_ns;
	} else if (r->type == CAM_RAW_COUNTS) {
		t->counts = r->counts;
		t->counts_ns = r->time_ns;
	}
	assert_int_equal(cam_ledger_raw(s->ledger, r), 0);
}

/* Records for a third of a second, and gives what came. */
static uint64_t record(struct cam_capture *c, struct sums *s)
{
	struct cam_queue *q;
	struct cam_drain *d;
	struct cam_raw r;
	assert_int_equal(cam_queue_new(1u << 20, &q), 0);
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(wake >= 0);
	struct cam_drain_options o = {
		.capture = c, .queue = q, .wake_fd = wake, .max_streams = 4096};
	assert_int_equal(cam_drain_start(&o, &d), 0);
	usleep(330000);
	uint64_t end_ns = sampling_now_ns();
	cam_drain_stop(d);
	while (cam_queue_peek(q, &r)) {
		take(s, &r);
		cam_queue_drop(q);
	}
	cam_queue_free(q);
	close(wake);
	return end_ns;
}

static void check(struct cam_capture *c, bool exact)
{
	struct sums *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	const struct cam_ledger_options o = {.hz = HZ, .due_known = true, .fn = take_row, .arg = s};
	assert_int_equal(cam_ledger_new(&o, &s->ledger), 0);
	uint64_t end_ns = record(c, s), due = 0;
	uint32_t cpus = 0;
	for (uint32_t i = 0; i < MAX_CPUS; i++) {
		const struct told *t = &s->cpu[i];
		if (!t->opened_ns)
			continue;
		cpus++;
		assert_true(t->counts_ns >= end_ns);
		/* One may fire between the look at the ring and that at the counts. */
		assert_in_range(t->counts.emitted, t->samples, t->samples + 1);
		assert_int_equal(t->counts.fired,
				 t->counts.emitted + t->counts.lost + t->counts.filtered);
		/* The kernel's own count of the time, where it is asked. */
		assert_in_range(t->counts.enabled_ns, (end_ns - t->opened_ns) / 2,
				t->counts_ns - t->opened_ns + (exact ? 0 : 50 * CAM_NS_PER_MS));
		due += HZ * t->counts.enabled_ns;
	}
	assert_int_equal(cpus, c->info.cpus);
	assert_int_equal(cam_ledger_flush(s->ledger, end_ns), 0);
	due /= CAM_NS_PER_SEC;
	print_message("# %u CPUs: %lu due, %lu accounted for\n", cpus, due, s->given);
	/* Rounding, of each CPU, and what fires between the end and the last round. */
	assert_in_range(s->given, due - cpus, due + 3 * cpus + due / 5);
	cam_ledger_free(s->ledger);
	free(s);
	c->ops->close(c);
}

static void the_last_round_counts_through_bpf(void **state)
{
	(void)state;
	struct cam_capture_options o = {.hz = HZ};
	struct cam_capture *c;
	assert_int_equal(cam_capture_open_bpf(&o, &c), 0);
	check(c, true);
}

static void the_last_round_counts_through_plain_rings(void **state)
{
	(void)state;
	check(sampling_open((struct cam_capture_options){.hz = HZ}), false);
}

/* A source that gives nothing, or so many records in every round, and remembers when it was asked. */
struct made_up {
	struct cam_capture base;
	struct cam_stream stream, *streams[1];
	const struct cam_raw *gives;
	size_t n_gives, given;
	uint64_t rounds_ns[64], now_ns;
	size_t n, change_at, rescans, rescanned_at[64]; /* in rounds, from 1 */
};

static bool made_up_peek(struct cam_stream *s, uint64_t *time_ns)
{
	struct made_up *m = (struct made_up *)((char *)s - offsetof(struct made_up, stream));
	*time_ns = m->now_ns - 150 * CAM_NS_PER_MS;
	return m->given < m->n_gives;
}

static void made_up_take(struct cam_stream *s, struct cam_raw *out)
{
	struct made_up *m = (struct made_up *)((char *)s - offsetof(struct made_up, stream));
	*out = m->gives[m->given++];
}

static int made_up_fd(struct cam_capture *c)
{
	(void)c;
	return -1;
}

static int made_up_begin(struct cam_capture *c, uint64_t round_ns, struct cam_stream ***streams,
			 size_t *n)
{
	struct made_up *m = (struct made_up *)c;
	if (m->n < 64)
		m->rounds_ns[m->n++] = round_ns;
	m->now_ns = round_ns;
	m->given = 0;
	*streams = m->streams;
	*n = 1;
	return 0;
}

static void made_up_done(struct cam_capture *c)
{
	(void)c;
}

static bool made_up_changed(struct cam_capture *c)
{
	struct made_up *m = (struct made_up *)c;
	return m->n == m->change_at;
}

static int made_up_rescan(struct cam_capture *c)
{
	struct made_up *m = (struct made_up *)c;
	m->rescanned_at[m->rescans++ % 64] = m->n;
	return 0;
}

struct drained {
	struct cam_queue *queue;
	struct cam_drain *drain;
	int wake;
};

static void start_made_up(struct made_up *m, struct drained *out)
{
	static const struct cam_capture_ops ops = {.fd = made_up_fd,
						   .begin_round = made_up_begin,
						   .end_round = made_up_done,
						   .count = made_up_done,
						   .cpus_changed = made_up_changed,
						   .rescan = made_up_rescan};
	m->base.ops = &ops;
	m->base.info.sample_ring_bytes = 512 << 10;
	m->stream = (struct cam_stream){.peek = made_up_peek, .take = made_up_take};
	m->streams[0] = &m->stream;
	assert_int_equal(cam_queue_new(1u << 16, &out->queue), 0);
	out->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct cam_drain_options o = {
		.capture = &m->base, .queue = out->queue, .wake_fd = out->wake, .max_streams = 1};
	assert_int_equal(cam_drain_start(&o, &out->drain), 0);
}

/* How many records came. */
static size_t stop_made_up(struct drained *d)
{
	size_t records = 0;
	struct cam_raw r;
	cam_drain_stop(d->drain);
	for (; cam_queue_peek(d->queue, &r); records++)
		cam_queue_drop(d->queue);
	cam_queue_free(d->queue);
	close(d->wake);
	return records;
}

/* Sources side by side, for 3.3 s. */
#define MAX_SOURCES 4u

struct counted {
	size_t rounds; /* in the last second */
	size_t records;
};

static void count_rounds(struct made_up *sources, size_t n, struct counted *out)
{
	struct drained drained[MAX_SOURCES];
	for (size_t i = 0; i < n; i++)
		start_made_up(&sources[i], &drained[i]);
	uint64_t started_ns = sampling_now_ns();
	usleep(3300 * 1000);
	for (size_t i = 0; i < n; i++) {
		const struct made_up *m = &sources[i];
		out[i].records = stop_made_up(&drained[i]);
		size_t k = 0;
		while (k < m->n && m->rounds_ns[m->n - 1 - k] > started_ns + 2300 * CAM_NS_PER_MS)
			k++;
		out[i].rounds = k - 1; /* without the last one, which stop() makes */
	}
}

/* CPUs that came are not left waiting for the next full second; else the scan is once a second. */
static void cpus_are_followed_in_the_round_that_sees_them(void **state)
{
	(void)state;
	struct made_up m = {.base.info.hz = 97, .change_at = 2};
	struct drained d;
	start_made_up(&m, &d);
	usleep(900 * 1000);
	stop_made_up(&d);
	assert_int_equal(m.rescans, 1);
	assert_int_equal(m.rescanned_at[0], 2);
}

#define ELSEWHERE 1000000

/* Rounds begin on multiples of their length; a busy machine may make one late, but no more of them. */
static void rounds_are_long_where_nothing_is_new(void **state)
{
	(void)state;
	/* A thread, a thread of the kernel's, another name, and a recorder's own. */
	const struct cam_raw known[] = {
		{.type = CAM_RAW_FORK,
		 .pid = ELSEWHERE,
		 .tid = ELSEWHERE + 1,
		 .fork = {ELSEWHERE, ELSEWHERE}},
		{.type = CAM_RAW_FORK, .pid = ELSEWHERE, .tid = ELSEWHERE, .fork = {2, 2}},
		{.type = CAM_RAW_COMM, .pid = ELSEWHERE, .tid = ELSEWHERE},
		{.type = CAM_RAW_COMM, .pid = getpid(), .tid = getpid(), .comm.exec = true},
	};
	struct made_up m[2] = {{.base.info.hz = 97},
			       {.base.info.hz = 97, .gives = known, .n_gives = 4}};
	struct counted c[2];
	count_rounds(m, 2, c);
	assert_in_range(c[0].rounds, 1, 3);
	assert_int_equal(c[0].records, 0);
	assert_in_range(c[1].rounds, 1, 3);
	assert_true(c[1].records >= 16);
}

static void rounds_are_short_where_programs_come(void **state)
{
	(void)state;
	const struct cam_raw news[] = {
		{.type = CAM_RAW_FORK, .pid = ELSEWHERE, .tid = ELSEWHERE, .fork = {1, 1}},
		{.type = CAM_RAW_COMM, .pid = ELSEWHERE, .tid = ELSEWHERE, .comm.exec = true},
		{.type = CAM_RAW_MMAP, .pid = ELSEWHERE, .tid = ELSEWHERE},
	};
	struct made_up m[3];
	struct counted c[3];
	for (size_t i = 0; i < 3; i++)
		m[i] = (struct made_up){.base.info.hz = 97, .gives = &news[i], .n_gives = 1};
	count_rounds(m, 3, c);
	for (size_t i = 0; i < 3; i++) {
		assert_in_range(c[i].rounds, 3, 6);
		/* What is older than a tenth of a second is not kept for another round. */
		assert_true(c[i].records >= 8);
	}
}

static void rounds_are_short_where_rings_fill(void **state)
{
	(void)state;
	struct made_up m = {.base.info.hz = 997};
	struct counted c;
	count_rounds(&m, 1, &c);
	assert_in_range(c.rounds, 3, 6);
}

/* Samples of three CPUs, so many a round while they are wanted. */
#define FLOOD_CPUS 3u
#define FLOOD_EACH 2000u
struct flood {
	struct cam_capture base;
	struct cam_stream stream, *streams[1];
	_Atomic uint64_t given;
	_Atomic bool wanted;
	uint64_t left, now_ns, of_cpu[FLOOD_CPUS];
};

static bool flood_peek(struct cam_stream *s, uint64_t *time_ns)
{
	struct flood *f = (struct flood *)((char *)s - offsetof(struct flood, stream));
	*time_ns = f->now_ns - 150 * CAM_NS_PER_MS;
	return f->left > 0;
}

static void flood_take(struct cam_stream *s, struct cam_raw *out)
{
	struct flood *f = (struct flood *)((char *)s - offsetof(struct flood, stream));
	uint32_t cpu = (uint32_t)(f->left % FLOOD_CPUS);
	*out = (struct cam_raw){.type = CAM_RAW_SAMPLE, .cpu = cpu, .pid = 1, .tid = 1};
	out->time_ns = f->now_ns - 150 * CAM_NS_PER_MS;
	f->of_cpu[cpu]++;
	f->left--;
	f->given++;
}

static int flood_begin(struct cam_capture *c, uint64_t round_ns, struct cam_stream ***streams,
		       size_t *n)
{
	struct flood *f = (struct flood *)c;
	f->now_ns = round_ns;
	f->left = f->wanted ? FLOOD_EACH : 0;
	*streams = f->streams;
	*n = 1;
	return 0;
}

static bool flood_changed(struct cam_capture *c)
{
	(void)c;
	return false;
}

static int flood_rescan(struct cam_capture *c)
{
	(void)c;
	return 0;
}

static uint64_t empty_queue(struct cam_queue *q, uint64_t of_cpu[FLOOD_CPUS])
{
	struct cam_raw r;
	uint64_t lost = 0;
	for (; cam_queue_peek(q, &r); cam_queue_drop(q)) {
		assert_in_range(r.cpu, 0, FLOOD_CPUS - 1);
		assert_true(r.type == CAM_RAW_SAMPLE || (r.type == CAM_RAW_LOST && r.lost.queue));
		of_cpu[r.cpu] += r.type == CAM_RAW_LOST ? r.lost.records : 1;
		lost += r.type == CAM_RAW_LOST ? r.lost.records : 0;
	}
	return lost;
}

/* Nobody empties a small queue for some rounds: what was taken and what LOST says add up, by CPU. */
static void what_a_full_queue_refused_is_told_exactly(void **state)
{
	(void)state;
	static const struct cam_capture_ops ops = {.fd = made_up_fd,
						   .begin_round = flood_begin,
						   .end_round = made_up_done,
						   .count = made_up_done,
						   .cpus_changed = flood_changed,
						   .rescan = flood_rescan};
	struct flood f = {.base = {.ops = &ops, .info = {.hz = 97}}, .wanted = true};
	struct cam_queue *q;
	struct cam_drain *d;
	uint64_t told[FLOOD_CPUS] = {0}, lost = 0;
	f.stream = (struct cam_stream){.peek = flood_peek, .take = flood_take};
	f.streams[0] = &f.stream;
	assert_int_equal(cam_queue_new(1u << 16, &q), 0);
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct cam_drain_options o = {
		.capture = &f.base, .queue = q, .wake_fd = wake, .max_streams = 1};
	assert_int_equal(cam_drain_start(&o, &d), 0);
	for (int i = 0; i < 1000 && f.given < 2 * FLOOD_EACH; i++)
		usleep(10000);
	f.wanted = false;
	/* The round after the one that finds room has told it. */
	uint64_t rounds = cam_drain_stats(d).rounds;
	for (int i = 0; i < 1000 && cam_drain_stats(d).rounds < rounds + 2; i++) {
		lost += empty_queue(q, told);
		usleep(10000);
	}
	cam_drain_stop(d);
	lost += empty_queue(q, told);
	assert_true(lost > 0 && f.given > lost);
	for (uint32_t cpu = 0; cpu < FLOOD_CPUS; cpu++)
		assert_int_equal(told[cpu], f.of_cpu[cpu]);
	cam_queue_free(q);
	close(wake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_round_counts_through_bpf),
		cmocka_unit_test(the_last_round_counts_through_plain_rings),
		cmocka_unit_test(cpus_are_followed_in_the_round_that_sees_them),
		cmocka_unit_test(rounds_are_long_where_nothing_is_new),
		cmocka_unit_test(rounds_are_short_where_programs_come),
		cmocka_unit_test(rounds_are_short_where_rings_fill),
		cmocka_unit_test(what_a_full_queue_refused_is_told_exactly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
