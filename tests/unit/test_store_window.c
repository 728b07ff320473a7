// SPDX-License-Identifier: Apache-2.0
/* Sealed windows: what goes in comes out, whatever it is. The oracle is the fake window. */
#include "base/units.h"
#include "store/window.h"
#include "support_every.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS CAM_NS_PER_SEC

static struct cam_buf seal(struct cam_window *w)
{
	struct cam_buf bytes = CAM_BUF(SIZE_MAX / 2);
	struct cam_out out;
	cam_out_to_buf(&out, &bytes);
	assert_int_equal(cam_window_write(w, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	return bytes;
}

static struct cam_window *reopen(struct memory_file *m, const struct cam_buf *bytes)
{
	struct cam_window *w;
	memory_file_init(m, bytes->data, bytes->len);
	assert_int_equal(cam_window_open(&m->file, &w), 0);
	return w;
}

/* Where two dumps first differ, as a message. */
static void assert_same_text(const struct cam_buf *a, const struct cam_buf *b)
{
	size_t n = a->len < b->len ? a->len : b->len, at = 0;
	while (at < n && a->data[at] == b->data[at])
		at++;
	if (at == a->len && at == b->len)
		return;
	size_t from = at < 200 ? 0 : at - 200;
	fail_msg("differ at %zu of %zu, %zu:\n%.*s\n--- instead of ---\n%.*s", at, a->len, b->len,
		 (int)(b->len - from < 400 ? b->len - from : 400), b->data + from,
		 (int)(a->len - from < 400 ? a->len - from : 400), a->data + from);
}

/* Ranges that begin and end anywhere, on seconds and off them. */
static void check_ranges(struct cam_window *a, struct cam_window *b)
{
	uint64_t length = a->info.end_ns - a->info.start_ns + 1;
	static struct cam_buf x = CAM_BUF(SIZE_MAX / 2), y = CAM_BUF(SIZE_MAX / 2);
	for (uint64_t i = 0; i < 8; i++) {
		struct cam_range range = {a->info.start_ns + length / 11 * i,
					  a->info.start_ns + length / 7 * (i + 1)};
		if (i & 1)
			range.from_ns = range.from_ns / NS * NS;
		if (i & 2)
			range.to_ns = range.to_ns / NS * NS;
		if (i == 7)
			range.to_ns = UINT64_MAX;
		window_dump_samples(a, range, &x);
		window_dump_samples(b, range, &y);
		assert_same_text(&x, &y);
		assert_true(window_totals_agree(b, range));
		cam_buf_clear(&x);
		cam_buf_clear(&y);
	}
}

/* Sealed and opened again the window says the same; sealed from there, it is the same file. */
static void check(struct fake_window *f)
{
	struct cam_window *w = fake_window_ready(f), *r;
	/* Kept from one to the next: to a sanitizer new memory is dear. */
	static struct cam_buf expected = CAM_BUF(SIZE_MAX / 2), got = CAM_BUF(SIZE_MAX / 2);
	struct memory_file m;
	cam_buf_clear(&expected);
	cam_buf_clear(&got);
	window_dump(w, WINDOW_DUMP_ALL, &expected);
	struct cam_buf bytes = seal(w);
	r = reopen(&m, &bytes);
	window_dump(r, WINDOW_DUMP_ALL, &got);
	assert_same_text(&expected, &got);
	check_ranges(w, r);
	assert_int_equal(r->damage.chunks, 0);
	assert_int_equal(cam_window_verify(r), 0);
	assert_true(r->info.sealed);
	assert_int_equal(r->info.file_bytes, bytes.len);
	struct cam_buf again = seal(w);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.data, bytes.data, bytes.len);
	cam_buf_free(&again);
	again = seal(r);
	cam_buf_clear(&got);
	r->ops->close(r);
	r = reopen(&m, &again);
	window_dump(r, WINDOW_DUMP_ALL, &got);
	assert_same_text(&expected, &got);
	r->ops->close(r);
	cam_buf_free(&again);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

static void no_sample_at_all(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	check(f);
	f = fake_window_new();
	f->w.info.has_places = true;
	f->w.info.start_ns = 5 * NS;
	f->w.info.end_ns = 6 * NS;
	fake_add_event(f, 5 * NS, CAM_SEVERITY_ERR, "kmsg", "nothing ran");
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, 0, 5 * NS, 6 * NS, 97});
	check(f);
}

static void one_sample(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	fake_sample(f, 5 * NS + 10000, 3, fake_task(f, 1, 1, "init"), fake_place(f, "main;work"));
	check(f);
	f = fake_window_new();
	f->w.info.has_places = true;
	fake_sample(f, 0, 0, fake_task(f, 0, 0, "swapper"), fake_place(f, ""));
	check(f);
}

static void a_hand_made_window_with_everything(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_etype_id cycles = fake_etype(f, "cycles:u", 0, true);
	struct cam_etype_id sched = fake_etype(f, "sched:sched_switch", 0, false);
	struct cam_task_id cc = fake_task(f, 100, 100, "cc1"), cc2 = fake_task(f, 101, 102, "cc1");
	struct cam_task_id sh = fake_task(f, 7, 7, "sh");
	struct cam_task rich = {.pid = 55,
				.tid = 56,
				.uid = CAM_UID_NONE,
				.comm = fake_str(f, "java"),
				.exe = fake_str(f, "/usr/bin/java"),
				.cgroup = fake_str(f, "/system.slice/x"),
				.start_ns = 123456789};
	struct cam_task_id java, only_tid;
	assert_int_equal(cam_task_intern(&f->t, &rich, &java), 0);
	rich.pid = CAM_PID_NONE;
	assert_int_equal(cam_task_intern(&f->t, &rich, &only_tid), 0);
	f->w.info.has_places = true;
	f->w.info.imported = true;
	f->w.info.clean_end = false;
	memset(f->w.info.boot_id.bytes, 0xa5, 16);
	fake_sample(f, 5 * NS, 0, cc, fake_place(f, "main;parse@/usr/bin/cc1;lex@/usr/bin/cc1"));
	fake_sample(f, 5 * NS + 10310000, 0, cc2, fake_place(f, "main;parse;lex"));
	fake_sample(f, 5 * NS + 10310000, 0, cc, fake_place(f, "main;parse;lex"));
	fake_sample(f, 18 * NS, 0, java, fake_place(f, "@/lib/libc.so;go@[kernel];x@[jit]"));
	fake_sample(f, 18 * NS, 1, only_tid, fake_place(f, "@[vdso]"));
	for (unsigned i = 0; i < 40; i++) {
		struct cam_sample s = {.time_ns = (5 + i) * NS + i * 770000,
				       .weight = i * 1000003ull,
				       .cpu = i % 3 == 2 ? CAM_CPU_NONE : i % 3,
				       .task = i & 1 ? sh : cc,
				       .etype = i % 4 ? cycles : sched};
		s.place.v = fake_place(f, i % 5 ? "main;a;b" : "main;a").v;
		if (i % 4 == 0) {
			s.weight = 1;
			s.detail = fake_str(f, i % 8 ? "prev=sh\nnext=cc1" : "\\n");
		}
		fake_add_sample(f, &s);
	}
	fake_add_event(f, 6 * NS, CAM_SEVERITY_DEBUG, "mark", "deploy\\n");
	fake_add_event(f, 5 * NS, CAM_SEVERITY_EMERG, "kmsg", "");
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_BOUND, CAM_CPU_NONE, 4, 9 * NS, 17});
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, 1, NS, UINT64_MAX, 5});
	fake_add_anchor(f, &(struct cam_anchor){5 * NS, CAM_TIME_NONE, 3, CAM_TIME_NONE, -7, 1});
	fake_add_anchor(f, &(struct cam_anchor){6 * NS, 8, UINT64_MAX, 0, INT64_MAX, 2});
	fake_add_fact(f, "kernel", "6.1.0");
	fake_add_fact(f, "", "a\nb");
	check(f);
}

static void windows_without_times_or_cpus(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id a = fake_task(f, CAM_PID_NONE, 4, "a"), b = fake_task(f, 3, 3, "");
	f->w.info.clock = CAM_CLOCK_ABSENT;
	f->w.info.time_unit_ns = 1;
	for (unsigned i = 0; i < 50000; i++)
		fake_sample(f, CAM_TIME_NONE, CAM_CPU_NONE, i % 7 ? a : b,
			    fake_place(f, i % 3 ? "x;y" : "x"));
	check(f);
	/* Some with, some without. */
	f = fake_window_new();
	a = fake_task(f, 1, 1, "a");
	for (unsigned i = 0; i < 100; i++)
		fake_sample(f, i & 1 ? CAM_TIME_NONE : i * NS, i & 2 ? 5 : CAM_CPU_NONE, a,
			    fake_place(f, "x"));
	check(f);
}

static void samples_far_apart(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id a = fake_task(f, INT32_MAX, INT32_MIN, "a");
	f->w.info.time_unit_ns = 1;
	f->w.info.clock = CAM_CLOCK_FOREIGN;
	fake_sample(f, 17, UINT32_MAX - 1, a, fake_place(f, "x"));
	fake_sample(f, 1000000000 * NS + 3, 0, a, fake_place(f, "x;y"));
	fake_sample(f, 18446744072 * NS + 999999999, 70000, a, fake_place(f, "x"));
	fake_sample(f, 18446744073 * NS + 5, 0, a, fake_place(f, "x;y"));
	fake_sample(f, UINT64_MAX - 1, 1, a, fake_place(f, "x"));
	for (unsigned i = 0; i < 3; i++)
		fake_sample(f, CAM_TIME_NONE, i, a, fake_place(f, "x;z"));
	check(f);
}

/* A time the window's unit cannot hold is kept, not rounded. */
static void times_are_exact(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id a = fake_task(f, 1, 1, "a");
	fake_sample(f, 5 * NS + 1, 0, a, fake_place(f, "x"));
	fake_sample(f, 5 * NS + 20001, 0, a, fake_place(f, "x"));
	struct cam_buf bytes = seal(fake_window_ready(f));
	struct memory_file m;
	struct cam_window *r = reopen(&m, &bytes);
	assert_int_equal(r->info.time_unit_ns, 1);
	struct cam_buf x = CAM_BUF(SIZE_MAX / 2), y = CAM_BUF(SIZE_MAX / 2);
	window_dump_samples(&f->w, CAM_RANGE_ALL, &x);
	window_dump_samples(r, CAM_RANGE_ALL, &y);
	assert_same_text(&x, &y);
	cam_buf_free(&x);
	cam_buf_free(&y);
	r->ops->close(r);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static struct cam_str_id random_string(struct fake_window *f, uint64_t *seed)
{
	char bytes[40];
	size_t n = next_random(seed) % (sizeof(bytes) + 1);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(next_random(seed) >> 13 & (next_random(seed) & 1 ? 0xff : 0x1f));
	struct cam_str_id id;
	assert_int_equal(cam_string_intern(&f->t, (struct cam_text){bytes, n}, &id), 0);
	return id;
}

static uint64_t random_u64(uint64_t *seed)
{
	return next_random(seed) >> (next_random(seed) % 64);
}

static void add_random_tables(struct fake_window *f, uint64_t *seed, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		struct cam_module m = {random_string(f, seed), random_string(f, seed),
				       random_string(f, seed),
				       (enum cam_module_kind)(next_random(seed) % CAM_MODULE_MAX)};
		struct cam_function fn = {
			random_string(f, seed),
			{(uint32_t)(next_random(seed) % f->t.n_modules)},
			(enum cam_func_kind)(next_random(seed) % CAM_FUNC_KIND_MAX),
			(enum cam_name_source)(next_random(seed) % CAM_NAME_MAX),
			next_random(seed) & 1 ? 0 : random_u64(seed)};
		struct cam_module_id mid;
		struct cam_func_id fid;
		struct cam_loc_id lid;
		assert_int_equal(cam_module_intern(&f->t, &m, &mid), 0);
		assert_int_equal(cam_function_intern(&f->t, &fn, &fid), 0);
		struct cam_location l = {random_u64(seed),
					 {(uint32_t)(next_random(seed) % f->t.n_modules)},
					 {(uint32_t)(next_random(seed) % f->t.n_functions)},
					 next_random(seed) & 1 ? CAM_OFFSET_NONE : random_u64(seed),
					 false};
		if (i % 9 == 0)
			l = (struct cam_location){
				random_u64(seed), mid, {CAM_NONE}, CAM_OFFSET_NONE, true};
		assert_int_equal(cam_location_intern(&f->t, &l, &lid), 0);
		struct cam_task k = {(int32_t)next_random(seed),
				     (int32_t)next_random(seed),
				     (uint32_t)next_random(seed),
				     random_string(f, seed),
				     random_string(f, seed),
				     random_string(f, seed),
				     random_u64(seed)};
		struct cam_task_id kid;
		if (i % 5 == 0)
			k.pid = i % 10 ? CAM_PID_NONE : 77;
		assert_int_equal(cam_task_intern(&f->t, &k, &kid), 0);
	}
}

static struct cam_place_id random_place(struct fake_window *f, uint64_t *seed)
{
	uint32_t node = 0;
	unsigned depth = (unsigned)(next_random(seed) % 12);
	for (unsigned i = 0; i < depth; i++) {
		uint32_t loc = (uint32_t)(next_random(seed) % f->t.n_locations);
		loc = (uint32_t)(next_random(seed) % (loc + 1));
		assert_int_equal(cam_tree_intern(&f->t, &f->t.places, node, loc, &node), 0);
	}
	return (struct cam_place_id){node};
}

/* Rows of one second and of several, CPU by CPU or in no order at all. */
static void add_random_ledger(struct fake_window *f, uint64_t *seed, uint64_t from_ns, bool by_cpu)
{
	uint64_t n = next_random(seed) % 120, cpus = 1 + next_random(seed) % 20;
	for (uint64_t i = 0; i < n; i++) {
		struct cam_ledger_row row = {
			.cause = (enum cam_cause)(next_random(seed) % CAM_CAUSE_MAX),
			.cpu = (uint32_t)(by_cpu ? i * cpus / n : next_random(seed) % cpus),
			.from_ns = (from_ns / NS +
				    (by_cpu ? i % (n / cpus + 1) : next_random(seed) % 40)) *
				   NS,
			.samples = next_random(seed) % 200};
		row.to_ns = row.from_ns + NS;
		if (i % 5 == 0) {
			row.from_ns += random_u64(seed) % NS;
			row.to_ns = row.from_ns + random_u64(seed) % (7 * NS);
		}
		if (i % 41 == 0)
			row.cpu = CAM_CPU_NONE;
		fake_add_ledger(f, &row);
	}
}

static void random_windows(void **state)
{
	(void)state;
	for (uint64_t round = 1 + EVERY_FROM; round <= 120; round += EVERY) {
		uint64_t seed = round * 0x9e3779b97f4a7c15ull;
		struct fake_window *f = fake_window_new();
		const uint64_t units[] = {1, 1000, 10000};
		uint64_t unit = units[round % 3], n_cpus = round % 4 ? 1 + round % 9 : 300;
		add_random_tables(f, &seed, 1 + (unsigned)(next_random(&seed) % 60));
		f->w.info.time_unit_ns = unit;
		f->w.info.has_places = round & 1;
		fake_etype(f, "x", 0, true);
		fake_etype(f, "y", 5 * NS, false);
		size_t n = next_random(&seed) % (round % 10 ? 600 : 40000);
		uint64_t time = random_u64(&seed) % (1ull << 60), spread = random_u64(&seed) % NS;
		for (size_t i = 0; i < n; i++) {
			time += next_random(&seed) % (spread + 1);
			struct cam_sample s = {
				.time_ns = time / unit * unit,
				.weight = round % 3 ? 1 + (i % 5) * (round % 2) : random_u64(&seed),
				.cpu = (uint32_t)(next_random(&seed) % n_cpus),
				.task = {(uint32_t)(next_random(&seed) % f->t.n_tasks)},
				.etype = {(uint32_t)(next_random(&seed) % (1 + round % 3))},
			};
			s.place = random_place(f, &seed);
			if (round % 7 == 0 && i % 3)
				s.detail = random_string(f, &seed);
			fake_add_sample(f, &s);
		}
		add_random_ledger(f, &seed, time, round & 2);
		check(f);
	}
}

/* More tree, names and details than a chunk may hold: several chunks of each. */
static void large_tables_are_cut_into_chunks(void **state)
{
	(void)state;
	uint64_t seed = 31;
	struct fake_window *f = fake_window_new();
	add_random_tables(f, &seed, 6000);
	f->w.info.has_places = true;
	for (size_t i = 0; i < 20000; i++) {
		struct cam_sample s = {.time_ns = i * 900000,
				       .weight = 1,
				       .cpu = i % 2,
				       .task = {(uint32_t)(next_random(&seed) % f->t.n_tasks)}};
		s.place = random_place(f, &seed);
		if (i % 4 == 0)
			s.detail = random_string(f, &seed);
		fake_add_sample(f, &s);
	}
	check(f);
}

/* Deep recursion takes next to no bits: the file is padded to what its rows allow. */
static void what_compresses_too_well_is_padded(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id a = fake_task(f, 1, 1, "a");
	struct cam_loc_id fib = fake_frame(f, "fib", 0);
	for (unsigned i = 0; i < 900; i++) {
		char name[16];
		uint32_t node = 0;
		snprintf(name, sizeof(name), "r%u", i);
		struct cam_loc_id root = fake_frame(f, name, 0);
		assert_int_equal(cam_tree_intern(&f->t, &f->t.places, 0, root.v, &node), 0);
		for (unsigned d = 1; d < CAM_MAX_STACK_FRAMES; d++)
			assert_int_equal(cam_tree_intern(&f->t, &f->t.places, node, fib.v, &node),
					 0);
		fake_sample(f, 5 * NS + i * 10000, 0, a, (struct cam_place_id){node});
	}
	struct cam_buf bytes = seal(fake_window_ready(f));
	struct memory_file m;
	struct cam_window *r = reopen(&m, &bytes);
	assert_true(bytes.len >= 900u * CAM_MAX_STACK_FRAMES / 64);
	assert_true(bytes.len < 900u * CAM_MAX_STACK_FRAMES / 16);
	assert_int_equal(cam_window_verify(r), 0);
	r->ops->close(r);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_sample_at_all),
		cmocka_unit_test(one_sample),
		cmocka_unit_test(a_hand_made_window_with_everything),
		cmocka_unit_test(windows_without_times_or_cpus),
		cmocka_unit_test(samples_far_apart),
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(random_windows),
		cmocka_unit_test(large_tables_are_cut_into_chunks),
		cmocka_unit_test(what_compresses_too_well_is_padded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
