// SPDX-License-Identifier: Apache-2.0
/*
 * The reader of BPF rings on memory of our own, laid out as the kernel documents it: data mapped
 * twice in a row. What a real kernel writes is read in test_capture_bpf_source.c.
 */
#include "capture/bpf_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES	  4096u
#define FIRST_CPU 32u

struct fake {
	unsigned long consumer, producer;
	char *data;
	struct cam_bpf_ring ring;
};

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	int fd = memfd_create("ring", 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	f->data = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->data, MAP_FAILED);
	for (int i = 0; i < 2; i++)
		assert_ptr_not_equal(mmap(f->data + i * BYTES, BYTES, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_FIXED, fd, 0),
				     MAP_FAILED);
	close(fd);
	struct cam_bpf_ring_memory m = {&f->consumer, &f->producer, f->data, BYTES};
	cam_bpf_ring_use(&f->ring, &m, FIRST_CPU);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;
	munmap(f->data, 2 * BYTES);
	free(f);
	return 0;
}

/* As the kernel does it: reserve, fill, and clear `busy` last. */
static uint32_t *write_record(struct fake *f, const void *payload, uint32_t length, uint32_t flags)
{
	char *at = f->data + f->producer % BYTES;
	memcpy(at + 8, payload, length);
	uint32_t *head = (uint32_t *)at;
	head[0] = length | flags;
	head[1] = 0;
	f->producer += (8 + length + 7) & ~7u;
	return head;
}

struct sample {
	struct cam_wire_sample head;
	uint64_t frames[2 * CAM_WIRE_MAX_FRAMES];
};

static struct sample make(uint64_t time_ns, uint16_t n_kernel, uint16_t n_user)
{
	struct sample s = {.head = {.time_ns = time_ns,
				    .start_ns = time_ns / 2,
				    .cpu = FIRST_CPU + 3,
				    .pid = 100,
				    .tid = 101,
				    .uid = 1000,
				    .magic = CAM_WIRE_MAGIC,
				    .n_kernel = n_kernel,
				    .n_user = n_user}};
	memcpy(s.head.comm, "a-long-name-of-16", 16);
	for (uint64_t i = 0; i < (uint64_t)n_kernel + n_user; i++)
		s.frames[i] = time_ns * 1000 + i;
	return s;
}

static uint32_t length_of(const struct sample *s)
{
	return sizeof(s->head) + 8u * (s->head.n_kernel + (uint32_t)s->head.n_user);
}

static void put(struct fake *f, uint64_t time_ns, uint16_t n_kernel, uint16_t n_user)
{
	struct sample s = make(time_ns, n_kernel, n_user);
	write_record(f, &s, length_of(&s), 0);
}

static void expect(struct fake *f, uint64_t time_ns, uint32_t n_kernel, uint32_t n_user)
{
	uint64_t t = 0;
	struct cam_raw r;
	assert_true(f->ring.stream.peek(&f->ring.stream, &t));
	assert_int_equal(t, time_ns);
	assert_true(f->ring.stream.peek(&f->ring.stream, &t));
	f->ring.stream.take(&f->ring.stream, &r);
	assert_int_equal(r.type, CAM_RAW_SAMPLE);
	assert_int_equal(r.time_ns, time_ns);
	assert_int_equal(r.cpu, FIRST_CPU + 3);
	assert_int_equal(r.pid, 100);
	assert_int_equal(r.tid, 101);
	assert_int_equal(r.sample.uid, 1000);
	assert_int_equal(r.sample.start_ns, time_ns / 2);
	assert_int_equal(r.sample.weight, 1);
	assert_int_equal(r.sample.n_kernel, n_kernel);
	assert_int_equal(r.sample.n_user, n_user);
	assert_string_equal(r.sample.comm, "a-long-name-of-");
	for (uint64_t i = 0; i < n_kernel; i++)
		assert_int_equal(r.sample.kernel[i], time_ns * 1000 + i);
	for (uint64_t i = 0; i < n_user; i++)
		assert_int_equal(r.sample.user[i], time_ns * 1000 + n_kernel + i);
}

static void expect_none(struct fake *f)
{
	uint64_t t;
	assert_false(f->ring.stream.peek(&f->ring.stream, &t));
}

static void records_come_in_order_and_wrap(void **state)
{
	struct fake *f = *state;
	uint64_t written = 0, read = 0;
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < 1 + round % 3; i++, written++)
			put(f, written, (uint16_t)(written % 40), (uint16_t)(written % 97));
		cam_bpf_ring_begin(&f->ring);
		for (; read < written; read++)
			expect(f, read, read % 40, read % 97);
		expect_none(f);
		cam_bpf_ring_end(&f->ring);
		assert_int_equal(f->consumer, f->producer);
	}
	assert_true(f->producer > 100 * BYTES);
	assert_int_equal(f->ring.malformed, 0);
}

static void a_round_ends_where_it_began_to_look(void **state)
{
	struct fake *f = *state;
	put(f, 1, 2, 2);
	cam_bpf_ring_begin(&f->ring);
	put(f, 2, 2, 2);
	expect(f, 1, 2, 2);
	expect_none(f);
	cam_bpf_ring_end(&f->ring);
	cam_bpf_ring_begin(&f->ring);
	expect(f, 2, 2, 2);
}

static void what_is_not_taken_stays_in_the_ring(void **state)
{
	struct fake *f = *state;
	uint64_t t;
	put(f, 1, 0, 5);
	put(f, 2, 1, 0);
	unsigned long second = f->producer;
	put(f, 3, 1, 1);
	cam_bpf_ring_begin(&f->ring);
	expect(f, 1, 0, 5);
	expect(f, 2, 1, 0);
	assert_true(f->ring.stream.peek(&f->ring.stream, &t));
	assert_int_equal(f->consumer, 0); /* what was taken may still be looked at */
	cam_bpf_ring_end(&f->ring);
	assert_int_equal(f->consumer, second);
	cam_bpf_ring_begin(&f->ring);
	expect(f, 3, 1, 1);
	expect_none(f);
}

static void a_record_that_is_being_written_is_waited_for(void **state)
{
	struct fake *f = *state;
	struct sample s = make(1, 1, 1);
	uint32_t *head = write_record(f, &s, length_of(&s), BPF_RINGBUF_BUSY_BIT);
	put(f, 2, 0, 0);
	cam_bpf_ring_begin(&f->ring);
	expect_none(f);
	cam_bpf_ring_end(&f->ring);
	assert_int_equal(f->consumer, 0);
	*head &= ~BPF_RINGBUF_BUSY_BIT;
	cam_bpf_ring_begin(&f->ring);
	expect(f, 1, 1, 1);
	expect(f, 2, 0, 0);
	assert_int_equal(f->ring.malformed, 0);
}

static void a_discarded_record_is_passed_over(void **state)
{
	struct fake *f = *state;
	struct sample s = make(1, 1, 1);
	write_record(f, &s, length_of(&s), BPF_RINGBUF_DISCARD_BIT);
	put(f, 2, 0, 0);
	cam_bpf_ring_begin(&f->ring);
	expect(f, 2, 0, 0);
	assert_int_equal(f->ring.malformed, 0);
}

static void flags_are_translated(void **state)
{
	struct fake *f = *state;
	static const struct {
		uint16_t wire;
		uint32_t raw;
	} cases[] = {
		{0, CAM_RAW_HAS_COMM},
		{CAM_WIRE_USER_MODE, CAM_RAW_HAS_COMM | CAM_RAW_USER_MODE},
		{CAM_WIRE_KERNEL_CUT, CAM_RAW_HAS_COMM | CAM_RAW_TRUNCATED},
		{CAM_WIRE_USER_CUT, CAM_RAW_HAS_COMM | CAM_RAW_TRUNCATED},
		{CAM_WIRE_GUESSED, CAM_RAW_HAS_COMM | CAM_RAW_GUESSED},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sample s = make(1, 1, 1);
		struct cam_raw r;
		uint64_t t;
		s.head.flags = cases[i].wire;
		write_record(f, &s, length_of(&s), 0);
		cam_bpf_ring_begin(&f->ring);
		assert_true(f->ring.stream.peek(&f->ring.stream, &t));
		f->ring.stream.take(&f->ring.stream, &r);
		assert_int_equal(r.sample.flags, cases[i].raw);
		cam_bpf_ring_end(&f->ring);
	}
}

/* A record that lies about itself costs itself; its neighbours are read. */
static void a_malformed_record_is_counted_and_passed_over(void **state)
{
	struct fake *f = *state;
	struct sample bad[] = {make(9, 1, 1), make(9, 1, 1), make(9, 1, 1), make(9, 1, 1),
			       make(9, 1, 1), make(9, 1, 1), make(9, 1, 1)};
	bad[0].head.magic ^= 1;
	bad[1].head.n_kernel = 2;
	bad[2].head.n_user = 0;
	bad[3].head.n_kernel = CAM_WIRE_MAX_FRAMES + 1;
	bad[4].head.cpu = FIRST_CPU - 1;
	bad[5].head.cpu = FIRST_CPU + CAM_WIRE_CPUS_A_RING;
	bad[6].head.pid = 1u << 31;
	uint32_t n = sizeof(bad) / sizeof(bad[0]);
	for (uint32_t i = 0; i < n; i++) {
		write_record(f, &bad[i], sizeof(bad[i].head) + 16, 0);
		put(f, i + 1, 1, 1);
		cam_bpf_ring_begin(&f->ring);
		expect(f, i + 1, 1, 1);
		expect_none(f);
		assert_int_equal(f->ring.malformed, i + 1);
		cam_bpf_ring_end(&f->ring);
		assert_int_equal(f->consumer, f->producer);
	}
	/* Shorter than a head, of no length at all, and not a whole number of frames. */
	static const uint32_t lengths[] = {0, 8, sizeof(bad[0].head) - 1, sizeof(bad[0].head) + 15};
	struct sample good = make(9, 1, 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		write_record(f, &good, lengths[i], 0);
		put(f, 1, 0, 0);
		cam_bpf_ring_begin(&f->ring);
		expect(f, 1, 0, 0);
		assert_int_equal(f->ring.malformed, ++n);
		cam_bpf_ring_end(&f->ring);
	}
}

/* Where the next record begins is not known any more: the round is given up, the next one works. */
static void a_ring_that_makes_no_sense_costs_its_round(void **state)
{
	struct fake *f = *state;
	static const unsigned long lies[] = {BYTES + 8, 4, 1ul << 40, -8ul};
	struct sample s = make(1, 1, 1);
	uint32_t *head = write_record(f, &s, length_of(&s), 0);
	uint64_t seen = 0;
	*head = length_of(&s) + 1;
	cam_bpf_ring_begin(&f->ring);
	expect_none(f);
	cam_bpf_ring_end(&f->ring);
	assert_int_equal(f->ring.malformed, ++seen);
	assert_int_equal(f->consumer, f->producer);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint64_t t;
		put(f, 5, 1, 1);
		cam_bpf_ring_begin(&f->ring);
		assert_true(f->ring.stream.peek(&f->ring.stream, &t));
		f->producer = f->ring.position + lies[i];
		cam_bpf_ring_begin(&f->ring);
		expect_none(f);
		cam_bpf_ring_end(&f->ring);
		assert_int_equal(f->ring.malformed, ++seen);
		assert_int_equal(f->consumer, f->producer);
		/* Back to a place where a record may stand. */
		f->producer = (f->producer + 7) & ~7ul;
		struct cam_bpf_ring_memory m = f->ring.memory;
		f->consumer = f->producer;
		cam_bpf_ring_use(&f->ring, &m, FIRST_CPU);
		f->ring.malformed = seen;
		put(f, 6, 1, 1);
		cam_bpf_ring_begin(&f->ring);
		expect(f, 6, 1, 1);
		cam_bpf_ring_end(&f->ring);
	}
}

static void the_largest_record_is_read(void **state)
{
	struct fake *f = *state;
	for (uint64_t i = 0; i < 5; i++) {
		put(f, i, CAM_WIRE_MAX_FRAMES, CAM_WIRE_MAX_FRAMES);
		cam_bpf_ring_begin(&f->ring);
		expect(f, i, CAM_WIRE_MAX_FRAMES, CAM_WIRE_MAX_FRAMES);
		cam_bpf_ring_end(&f->ring);
	}
	assert_int_equal(f->ring.malformed, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(records_come_in_order_and_wrap),
		T(a_round_ends_where_it_began_to_look),
		T(what_is_not_taken_stays_in_the_ring),
		T(a_record_that_is_being_written_is_waited_for),
		T(a_discarded_record_is_passed_over),
		T(flags_are_translated),
		T(a_malformed_record_is_counted_and_passed_over),
		T(a_ring_that_makes_no_sense_costs_its_round),
		T(the_largest_record_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
