// SPDX-License-Identifier: Apache-2.0
#include "capture/ring.h"
#include "support_perf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static const struct cam_ring_options plain = {
	.max_stack = 127, .max_record_bytes = 1200, .exact_lost = true};

static void start(struct perf_builder *b, struct cam_ring *r, size_t bytes, uint64_t at,
		  const struct cam_ring_options *o)
{
	perf_builder_init(b, bytes, at);
	assert_int_equal(cam_ring_init(r, o, &b->head->page, b->data, bytes), 0);
}

static void stop(struct perf_builder *b, struct cam_ring *r)
{
	cam_ring_free(r);
	perf_builder_free(b);
}

/* The only record there is. */
static struct cam_raw only(struct cam_ring *r)
{
	struct cam_raw out;
	uint64_t time_ns;

	cam_ring_begin(r, 1000);
	assert_true(r->stream.peek(&r->stream, &time_ns));
	assert_true(r->stream.peek(&r->stream, &time_ns));
	r->stream.take(&r->stream, &out);
	assert_int_equal(out.time_ns, time_ns);
	assert_false(r->stream.peek(&r->stream, &time_ns));
	return out;
}

/* Builds a ring with this one record, of the side band's kind. */
static struct cam_raw decode(struct perf_record *rec)
{
	struct perf_builder b;
	struct cam_ring r;
	struct cam_ring_options o = plain;

	o.side_band = true;
	o.exact_lost = false;
	start(&b, &r, 8192, 0, &o);
	assert_true(perf_builder_write(&b, rec));
	struct cam_raw out = only(&r);
	/* Texts point into the ring, which is freed below: what the tests compare is copied. */
	static char text[256];
	struct cam_text *t = out.type == CAM_RAW_MMAP	   ? &out.mmap.path
			     : out.type == CAM_RAW_COMM	   ? &out.comm.comm
			     : out.type == CAM_RAW_KSYMBOL ? &out.ksymbol.name
							   : NULL;
	if (t) {
		assert_true(t->n < sizeof(text));
		memcpy(text, t->p, t->n);
		t->p = text;
	}
	stop(&b, &r);
	return out;
}

#define assert_text(t, s) assert_true(cam_text_equal((t), CAM_TEXT(s)))

static void mappings(void **state)
{
	(void)state;
	struct perf_record rec;

	perf_record_begin(&rec, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	perf_record_u32(&rec, 41);
	perf_record_u32(&rec, 42);
	perf_record_u64(&rec, 0x7f0000001000);
	perf_record_u64(&rec, 0x3000);
	perf_record_u64(&rec, 0x2000);
	perf_record_u32(&rec, 253);
	perf_record_u32(&rec, 1);
	perf_record_u64(&rec, 123456);
	perf_record_u64(&rec, 99);
	perf_record_u32(&rec, PROT_READ | PROT_EXEC);
	perf_record_u32(&rec, MAP_PRIVATE);
	perf_record_text(&rec, "/usr/lib/libx.so");
	perf_record_trailer(&rec, 41, 42, 555, 3);
	struct cam_raw r = decode(&rec);
	assert_int_equal(r.type, CAM_RAW_MMAP);
	assert_int_equal(r.pid, 41);
	assert_int_equal(r.tid, 42);
	assert_int_equal(r.time_ns, 555);
	assert_int_equal(r.cpu, 3);
	assert_int_equal(r.mmap.start, 0x7f0000001000);
	assert_int_equal(r.mmap.end, 0x7f0000004000);
	assert_int_equal(r.mmap.file_offset, 0x2000);
	assert_int_equal(r.mmap.major, 253);
	assert_int_equal(r.mmap.minor, 1);
	assert_int_equal(r.mmap.inode, 123456);
	assert_int_equal(r.mmap.generation, 99);
	assert_text(r.mmap.path, "/usr/lib/libx.so");
}

static void names(void **state)
{
	(void)state;
	struct perf_record rec;

	perf_record_begin(&rec, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	perf_record_u32(&rec, 41);
	perf_record_u32(&rec, 42);
	perf_record_text(&rec, "nginx");
	perf_record_trailer(&rec, 41, 42, 556, 2);
	struct cam_raw r = decode(&rec);
	assert_int_equal(r.type, CAM_RAW_COMM);
	assert_true(r.comm.exec);
	assert_text(r.comm.comm, "nginx");

	rec.header.misc = 0;
	r = decode(&rec);
	assert_false(r.comm.exec);

	perf_record_begin(&rec, PERF_RECORD_KSYMBOL, 0);
	perf_record_u64(&rec, 0xffffffffc0001000);
	perf_record_u32(&rec, 640);
	perf_record_u32(&rec,
			PERF_RECORD_KSYMBOL_TYPE_BPF | PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER << 16);
	perf_record_text(&rec, "bpf_prog_6deef7357e7b4530");
	perf_record_trailer(&rec, 1, 1, 557, 1);
	r = decode(&rec);
	assert_int_equal(r.type, CAM_RAW_KSYMBOL);
	assert_int_equal(r.ksymbol.address, 0xffffffffc0001000);
	assert_int_equal(r.ksymbol.bytes, 640);
	assert_true(r.ksymbol.removed);
	assert_text(r.ksymbol.name, "bpf_prog_6deef7357e7b4530");
	assert_int_equal(r.time_ns, 557);
	/* The kernel's size counts the trailer again for each reader before us: stale bytes. */
	for (int readers = 1; readers < 5; readers++) {
		for (int i = 0; i < 3; i++)
			perf_record_u64(&rec, 0xdeadbeefdeadbeef);
		r = decode(&rec);
		assert_text(r.ksymbol.name, "bpf_prog_6deef7357e7b4530");
		assert_int_equal(r.time_ns, 557);
		assert_int_equal(r.cpu, 1);
	}
}

static void tasks(void **state)
{
	(void)state;
	struct perf_record rec;

	for (int fork = 0; fork < 2; fork++) {
		perf_record_begin(&rec, fork ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
		perf_record_u32(&rec, 50);
		perf_record_u32(&rec, 40);
		perf_record_u32(&rec, 51);
		perf_record_u32(&rec, 41);
		perf_record_u64(&rec, 700);
		perf_record_trailer(&rec, 40, 41, 701, 1);
		struct cam_raw r = decode(&rec);
		assert_int_equal(r.type, fork ? CAM_RAW_FORK : CAM_RAW_EXIT);
		assert_int_equal(r.pid, 50);
		assert_int_equal(r.tid, 51);
		assert_int_equal(r.fork.parent_pid, 40);
		assert_int_equal(r.fork.parent_tid, 41);
		assert_int_equal(r.time_ns, 701);
	}
	for (int on = 0; on < 2; on++) {
		perf_record_begin(&rec, on ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0);
		perf_record_u64(&rec, 700);
		perf_record_u64(&rec, 12);
		perf_record_u64(&rec, 12);
		perf_record_trailer(&rec, 40, 41, 702, 5);
		struct cam_raw r = decode(&rec);
		assert_int_equal(r.type, on ? CAM_RAW_THROTTLE : CAM_RAW_UNTHROTTLE);
		assert_int_equal(r.time_ns, 702);
		assert_int_equal(r.cpu, 5);
	}
}

static void build_lost(struct perf_record *rec, bool samples, uint64_t n)
{
	perf_record_begin(rec, samples ? PERF_RECORD_LOST_SAMPLES : PERF_RECORD_LOST, 0);
	if (!samples)
		perf_record_u64(rec, 77);
	perf_record_u64(rec, n);
	perf_record_trailer(rec, 1, 1, 900, 0);
}

/* LOST says what PERF_FORMAT_LOST says better: it is given only where that is not read. */
static void losses(void **state)
{
	(void)state;
	struct perf_record rec;
	struct perf_builder b;
	struct cam_ring r;
	uint64_t time_ns;

	build_lost(&rec, false, 12);
	struct cam_raw out = decode(&rec);
	assert_int_equal(out.type, CAM_RAW_LOST);
	assert_int_equal(out.lost.records, 12);
	assert_true(out.lost.side_band);

	start(&b, &r, 4096, 0, &plain);
	perf_builder_write(&b, &rec);
	cam_ring_begin(&r, 1000);
	assert_false(r.stream.peek(&r.stream, &time_ns));
	assert_int_equal(r.stats.lost, 12);
	assert_true(r.tight);
	cam_ring_end(&r);
	build_lost(&rec, true, 5);
	perf_builder_write(&b, &rec);
	cam_ring_begin(&r, 2000);
	assert_true(r.stream.peek(&r.stream, &time_ns));
	r.stream.take(&r.stream, &out);
	assert_int_equal(out.type, CAM_RAW_LOST);
	assert_int_equal(out.lost.records, 5);
	assert_int_equal(out.lost.from_ns, 1000);
	assert_false(out.lost.side_band);
	assert_int_equal(r.stats.dropped, 5);
	assert_int_equal(r.stats.lost, 12);
	stop(&b, &r);
}

#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define GUEST  ((uint64_t)PERF_CONTEXT_GUEST)
#define HV     ((uint64_t)PERF_CONTEXT_HV)
#define DEFER  ((uint64_t)-640) /* PERF_CONTEXT_USER_DEFERRED, newer than our headers */

static void chains(void **state)
{
	(void)state;
	static const struct {
		uint16_t misc;
		uint64_t ips[8];
		uint64_t n, n_kernel, n_user;
		uint64_t kernel0, user0;
		uint32_t flags;
	} cases[] = {
		{PERF_RECORD_MISC_KERNEL,
		 {KERNEL, 1, 2, USER, 3, 4, 5},
		 7,
		 2,
		 3,
		 1,
		 3,
		 CAM_RAW_GUESSED},
		{PERF_RECORD_MISC_USER, {USER, 3}, 2, 0, 1, 0, 3, CAM_RAW_USER_MODE},
		{PERF_RECORD_MISC_USER,
		 {USER, 3, 4},
		 3,
		 0,
		 2,
		 0,
		 3,
		 CAM_RAW_USER_MODE | CAM_RAW_GUESSED},
		{PERF_RECORD_MISC_KERNEL, {KERNEL, 1}, 2, 1, 0, 1, 0, 0},
		{PERF_RECORD_MISC_KERNEL, {0}, 0, 0, 0, 0, 0, 0},
		{PERF_RECORD_MISC_KERNEL, {KERNEL, USER}, 2, 0, 0, 0, 0, 0},
		/* Frames of others are passed over, whatever surrounds them. */
		{PERF_RECORD_MISC_KERNEL, {GUEST, 9, KERNEL, 1, HV, 8, USER, 3}, 8, 1, 1, 1, 3, 0},
		{PERF_RECORD_MISC_KERNEL, {KERNEL, 1, DEFER, 77}, 4, 1, 0, 1, 0, 0},
		/* No marker: what the CPU was doing. */
		{PERF_RECORD_MISC_USER, {3, 4}, 2, 0, 2, 0, 3, CAM_RAW_USER_MODE | CAM_RAW_GUESSED},
		/* A second run of a kind is not joined to the first: it would not be a stack. */
		{PERF_RECORD_MISC_KERNEL,
		 {KERNEL, 1, USER, 3, KERNEL, 2},
		 6,
		 1,
		 1,
		 1,
		 3,
		 CAM_RAW_TRUNCATED},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_builder b;
		struct cam_ring r;
		struct perf_record rec;
		start(&b, &r, 4096, 0, &plain);
		perf_record_sample(&rec, cases[i].misc, 5, 1, cases[i].ips, cases[i].n);
		perf_builder_write(&b, &rec);
		struct cam_raw out = only(&r);
		assert_int_equal(out.type, CAM_RAW_SAMPLE);
		assert_int_equal(out.pid, 7);
		assert_int_equal(out.tid, 8);
		assert_int_equal(out.cpu, 1);
		assert_int_equal(out.sample.weight, 1);
		assert_int_equal(out.sample.n_kernel, cases[i].n_kernel);
		assert_int_equal(out.sample.n_user, cases[i].n_user);
		if (cases[i].n_kernel)
			assert_int_equal(out.sample.kernel[0], cases[i].kernel0);
		if (cases[i].n_user)
			assert_int_equal(out.sample.user[0], cases[i].user0);
		assert_int_equal(out.sample.flags, cases[i].flags);
		stop(&b, &r);
	}
}

/* Registers and stack: whose is to be walked, and why it is not. */
static void copies(void **state)
{
	(void)state;
	static const struct {
		uint64_t abi, bp, sp, ip, bytes;
		enum cam_stack_end end;
		uint32_t n_user;
	} cases[] = {
		{PERF_SAMPLE_REGS_ABI_64, 1, 0x7000, 0x1000, 16, CAM_STACK_PENDING, 1},
		{PERF_SAMPLE_REGS_ABI_64, 1, 0x7000, 0x1000, 0, CAM_STACK_UNREADABLE, 1},
		{PERF_SAMPLE_REGS_ABI_32, 1, 0x7000, 0x1000, 16, CAM_STACK_COMPAT, 1},
		{PERF_SAMPLE_REGS_ABI_NONE, 0, 0, 0, 0, CAM_STACK_NO_USER, 0},
		/* A worker of io_uring, as some kernels have it. */
		{PERF_SAMPLE_REGS_ABI_64, 1, 0, 0, 0, CAM_STACK_NO_USER, 0},
		{PERF_SAMPLE_REGS_ABI_32, 0, 0, 0, 0, CAM_STACK_NO_USER, 0},
	};
	struct cam_ring_options o = plain;
	o.copies = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_builder b;
		struct cam_ring r;
		struct perf_record rec;
		start(&b, &r, 4096, 0, &o);
		perf_record_sample(&rec, PERF_RECORD_MISC_KERNEL, 5, 1, (uint64_t[]){KERNEL, 1}, 2);
		perf_record_u64(&rec, cases[i].abi);
		if (cases[i].abi != PERF_SAMPLE_REGS_ABI_NONE) {
			perf_record_u64(&rec, cases[i].bp);
			perf_record_u64(&rec, cases[i].sp);
			perf_record_u64(&rec, cases[i].ip);
		}
		perf_record_u64(&rec, cases[i].bytes);
		for (uint64_t at = 0; at < cases[i].bytes; at += 8)
			perf_record_u64(&rec, at);
		if (cases[i].bytes)
			perf_record_u64(&rec, cases[i].bytes);
		perf_builder_write(&b, &rec);
		struct cam_raw out = only(&r);
		assert_int_equal(out.sample.end, cases[i].end);
		assert_int_equal(out.sample.n_user, cases[i].n_user);
		assert_int_equal(out.sample.n_kernel, 1);
		assert_int_equal(out.sample.copy.stack_bytes,
				 cases[i].end == CAM_STACK_PENDING ? cases[i].bytes : 0);
		stop(&b, &r);
	}
}

/* As many frames as the kernel would write: there may have been more. */
static void full_chain(void **state)
{
	(void)state;
	uint64_t ips[130] = {KERNEL};
	for (uint64_t n = 125; n <= 127; n++) {
		struct perf_builder b;
		struct cam_ring r;
		struct perf_record rec;
		start(&b, &r, 4096, 0, &plain);
		for (uint64_t i = 1; i <= n + 1; i++)
			ips[i] = i == 20 ? USER : 1000 + i;
		perf_record_sample(&rec, PERF_RECORD_MISC_KERNEL, 5, 1, ips, n + 2);
		perf_builder_write(&b, &rec);
		struct cam_raw out = only(&r);
		assert_int_equal(out.sample.n_kernel, 19);
		assert_int_equal(out.sample.n_user, n - 19);
		assert_int_equal(!!(out.sample.flags & CAM_RAW_TRUNCATED), n == 127);
		stop(&b, &r);
	}
}

/* The record begins at every offset of the ring: whole, and wrapped at every 8th byte. */
static void wraps(void **state)
{
	(void)state;
	uint64_t ips[40] = {KERNEL};
	for (uint64_t i = 1; i < 40; i++)
		ips[i] = i == 10 ? USER : i * 0x1111;
	for (uint64_t at = 0; at < 4096; at += 8) {
		struct perf_builder b;
		struct cam_ring r;
		struct perf_record rec;
		/* Far counters too: they wrap at 2^64 like any. */
		start(&b, &r, 4096, at % 16 ? at : (uint64_t)-4096 + at, &plain);
		perf_record_sample(&rec, PERF_RECORD_MISC_KERNEL, at, 1, ips, 40);
		assert_true(perf_builder_write(&b, &rec));
		struct cam_raw out = only(&r);
		assert_int_equal(out.time_ns, at);
		assert_int_equal(out.sample.n_kernel, 9);
		assert_int_equal(out.sample.n_user, 29);
		assert_memory_equal(out.sample.kernel, ips + 1, 9 * 8);
		assert_memory_equal(out.sample.user, ips + 11, 29 * 8);
		/* In place unless it wraps. */
		bool inside = (const uint8_t *)out.sample.user >= b.data &&
			      (const uint8_t *)out.sample.user < b.data + b.bytes;
		assert_int_equal(inside, at + rec.n <= 4096);
		assert_int_equal(b.head->page.data_tail, b.head->page.data_head - rec.n);
		cam_ring_end(&r);
		assert_int_equal(b.head->page.data_tail, b.head->page.data_head);
		stop(&b, &r);
	}
}

/* Thousands of records of many lengths through a small ring, part of each round left for the next. */
static void rounds(void **state)
{
	(void)state;
	struct perf_builder b;
	struct cam_ring r;
	struct perf_record rec;
	uint64_t ips[100], written = 0, read = 0, time_ns;
	struct cam_raw out, held = {0};
	uint32_t seed = 1;

	start(&b, &r, 4096, 0, &plain);
	while (read < 20000) {
		for (;;) {
			uint32_t n = 1 + written % 97;
			for (uint32_t i = 0; i < n; i++)
				ips[i] = i ? written * 1000 + i : USER;
			perf_record_sample(&rec, PERF_RECORD_MISC_USER, written, 0, ips, n);
			if (!perf_builder_write(&b, &rec))
				break;
			written++;
		}
		uint64_t before = read;
		cam_ring_begin(&r, written);
		while (r.stream.peek(&r.stream, &time_ns) && (seed = seed * 69069 + 1) >> 30) {
			r.stream.take(&r.stream, &out);
			assert_int_equal(out.time_ns, read);
			assert_int_equal(out.sample.n_user, read % 97);
			for (uint32_t i = 0; i < out.sample.n_user; i++)
				assert_int_equal(out.sample.user[i], read * 1000 + i + 1);
			/* The first of the round is still what it was. */
			if (read == before)
				held = out;
			for (uint32_t i = 0; i < held.sample.n_user; i++)
				assert_int_equal(held.sample.user[i], before * 1000 + i + 1);
			read++;
		}
		cam_ring_end(&r);
	}
	assert_int_equal(r.stats.records, read);
	assert_int_equal(r.stats.samples, read);
	assert_int_equal(r.stats.malformed, 0);
	stop(&b, &r);
}

/* begin() says how much there is: what comes later is for the next round. */
static void snapshot(void **state)
{
	(void)state;
	struct perf_builder b;
	struct cam_ring r;
	struct perf_record rec;
	uint64_t time_ns, ip = 1;

	start(&b, &r, 4096, 0, &plain);
	cam_ring_begin(&r, 1);
	perf_record_sample(&rec, PERF_RECORD_MISC_USER, 4, 0, &ip, 1);
	perf_builder_write(&b, &rec);
	assert_false(r.stream.peek(&r.stream, &time_ns));
	cam_ring_end(&r);
	assert_int_equal(only(&r).time_ns, 4);
	stop(&b, &r);
}

/* A header that cannot be right loses the ring's sync: the rest of the round is passed over. */
static void bad_sizes(void **state)
{
	(void)state;
	static const uint16_t sizes[] = {0, 1, 7, 9, 12, 4095, 4096, 65528, 65535};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perf_builder b;
		struct cam_ring r;
		struct perf_record rec;
		uint64_t time_ns, ip = 1;
		struct cam_raw out;
		start(&b, &r, 4096, 4096 - 48 * 2, &plain);
		for (int k = 0; k < 3; k++) {
			perf_record_sample(&rec, PERF_RECORD_MISC_USER, 4, 0, &ip, 1);
			perf_builder_write(&b, &rec);
		}
		/* The second one's size. */
		memcpy(b.data + 4096 - 48 + 6, &sizes[i], 2);
		cam_ring_begin(&r, 1);
		assert_true(r.stream.peek(&r.stream, &time_ns));
		r.stream.take(&r.stream, &out);
		assert_false(r.stream.peek(&r.stream, &time_ns));
		assert_int_equal(r.stats.malformed, 1);
		cam_ring_end(&r);
		assert_int_equal(b.head->page.data_tail, b.head->page.data_head);
		perf_builder_write(&b, &rec);
		assert_int_equal(only(&r).time_ns, 4);
		stop(&b, &r);
	}
}

/* Every record type, cut at every length: never more than is there, and never announced. */
static void short_records(void **state)
{
	(void)state;
	static const struct {
		uint32_t type;
		size_t least; /* with the trailer, without a text */
	} cases[] = {
		{PERF_RECORD_SAMPLE, 40},
		{PERF_RECORD_MMAP2, 8 + 64 + 24},
		{PERF_RECORD_COMM, 8 + 8 + 24},
		{PERF_RECORD_FORK, 8 + 24 + 24},
		{PERF_RECORD_EXIT, 8 + 24 + 24},
		{PERF_RECORD_LOST, 8 + 16 + 24},
		{PERF_RECORD_LOST_SAMPLES, 8 + 8 + 24},
		{PERF_RECORD_THROTTLE, 8 + 24 + 24},
		{PERF_RECORD_UNTHROTTLE, 8 + 24 + 24},
		{PERF_RECORD_KSYMBOL, 8 + 16 + 8 + 24},
	};
	struct cam_ring_options o = plain;
	o.exact_lost = false;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t bytes = 8; bytes <= 120; bytes += 8) {
			struct perf_builder b;
			struct cam_ring r;
			struct perf_record rec;
			uint64_t time_ns;
			start(&b, &r, 4096, 0, &o);
			perf_record_begin(&rec, cases[i].type, 0);
			while (rec.n < bytes)
				perf_record_u64(&rec, 0);
			if (cases[i].type == PERF_RECORD_MMAP2 && bytes >= 72)
				rec.bytes[64] = PROT_EXEC;
			perf_builder_write(&b, &rec);
			cam_ring_begin(&r, 1);
			bool good = r.stream.peek(&r.stream, &time_ns);
			assert_int_equal(good, bytes >= cases[i].least);
			assert_int_equal(r.stats.malformed, !good);
			stop(&b, &r);
		}
}

static void counts_that_lie(void **state)
{
	(void)state;
	static const uint64_t counts[] = {2, 3, 1u << 29, UINT64_MAX / 8, UINT64_MAX};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct perf_builder b;
		struct cam_ring r;
		struct perf_record rec;
		uint64_t time_ns, ip = 1;
		start(&b, &r, 4096, 0, &plain);
		perf_record_sample(&rec, PERF_RECORD_MISC_USER, 4, 0, &ip, 1);
		memcpy(rec.bytes + 32, &counts[i], 8);
		perf_builder_write(&b, &rec);
		perf_record_sample(&rec, PERF_RECORD_MISC_USER, 5, 0, &ip, 1);
		perf_builder_write(&b, &rec);
		cam_ring_begin(&r, 1);
		/* The bad one is passed over, the good one follows. */
		assert_true(r.stream.peek(&r.stream, &time_ns));
		assert_int_equal(time_ns, 5);
		assert_int_equal(r.stats.malformed, 1);
		stop(&b, &r);
	}
}

/* A text without a NUL ends where the trailer begins; a mapping may not wrap around memory. */
static void odd_bodies(void **state)
{
	(void)state;
	struct perf_record rec;
	struct perf_builder b;
	struct cam_ring r;
	uint64_t time_ns;

	perf_record_begin(&rec, PERF_RECORD_COMM, 0);
	perf_record_u32(&rec, 1);
	perf_record_u32(&rec, 1);
	perf_record_u64(&rec, 0x4141414141414141);
	perf_record_trailer(&rec, 0x42424242, 1, 2, 3);
	assert_text(decode(&rec).comm.comm, "AAAAAAAA");

	start(&b, &r, 4096, 0, &plain);
	for (int exec = 0; exec < 2; exec++) {
		perf_record_begin(&rec, PERF_RECORD_MMAP2, 0);
		perf_record_u64(&rec, 1);
		perf_record_u64(&rec, (uint64_t)-4096);
		perf_record_u64(&rec, exec ? 8192 : 4096 - 1);
		for (int i = 0; i < 4; i++)
			perf_record_u64(&rec, 0);
		perf_record_u32(&rec, exec ? PROT_EXEC : PROT_READ);
		perf_record_u32(&rec, 0);
		perf_record_text(&rec, "//anon");
		perf_record_trailer(&rec, 1, 1, 2, 3);
		perf_builder_write(&b, &rec);
	}
	perf_record_begin(&rec, 4711, 0);
	perf_record_trailer(&rec, 1, 1, 2, 3);
	perf_builder_write(&b, &rec);
	cam_ring_begin(&r, 1);
	assert_false(r.stream.peek(&r.stream, &time_ns));
	assert_int_equal(r.stats.malformed, 1);
	assert_int_equal(r.stats.unknown, 2);
	stop(&b, &r);
}

/* Counters that no kernel writes must not make us read outside the ring. */
static void bad_heads(void **state)
{
	(void)state;
	static const uint64_t heads[] = {4097, 4104, 1, 12345678, UINT64_MAX, UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct perf_builder b;
		struct cam_ring r;
		uint64_t time_ns;
		start(&b, &r, 4096, 0, &plain);
		b.head->page.data_head = heads[i];
		cam_ring_begin(&r, 1);
		assert_false(r.stream.peek(&r.stream, &time_ns));
		assert_int_equal(r.stats.malformed, 1);
		cam_ring_end(&r);
		stop(&b, &r);
	}
}

/* tight: true whenever the longest record would not have fitted, also between begin and end. */
static void tightness(void **state)
{
	(void)state;
	struct perf_builder b;
	struct cam_ring r;
	struct perf_record rec;
	struct cam_raw out;
	uint64_t ips[120] = {USER}, time_ns;

	start(&b, &r, 4096, 0, &plain);
	perf_record_sample(&rec, PERF_RECORD_MISC_USER, 4, 0, ips, 120); /* 1000 bytes */
	perf_builder_write(&b, &rec);
	perf_builder_write(&b, &rec);
	cam_ring_begin(&r, 1);
	assert_false(r.tight); /* 2096 left */
	assert_true(r.stream.peek(&r.stream, &time_ns));
	r.stream.take(&r.stream, &out);
	perf_builder_write(&b, &rec);
	cam_ring_end(&r);
	assert_true(r.tight); /* 1096 were left before the first was given back */
	r.tight = false;
	cam_ring_begin(&r, 2);
	assert_false(r.tight);
	perf_builder_write(&b, &rec);
	cam_ring_begin(&r, 3);
	assert_true(r.tight);
	stop(&b, &r);
}

static void refusals(void **state)
{
	(void)state;
	struct perf_builder b;
	struct cam_ring r;
	perf_builder_init(&b, 8192, 0);
	assert_int_equal(cam_ring_init(&r, &plain, &b.head->page, b.data, 2048), -EINVAL);
	assert_int_equal(cam_ring_init(&r, &plain, &b.head->page, b.data, 6144), -EINVAL);
	cam_ring_free(&r);
	perf_builder_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings),	   cmocka_unit_test(names),
		cmocka_unit_test(tasks),	   cmocka_unit_test(losses),
		cmocka_unit_test(chains),	   cmocka_unit_test(copies),
		cmocka_unit_test(full_chain),	   cmocka_unit_test(wraps),
		cmocka_unit_test(rounds),	   cmocka_unit_test(snapshot),
		cmocka_unit_test(bad_sizes),	   cmocka_unit_test(short_records),
		cmocka_unit_test(counts_that_lie), cmocka_unit_test(odd_bodies),
		cmocka_unit_test(bad_heads),	   cmocka_unit_test(tightness),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
