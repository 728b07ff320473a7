// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's bounds under what no host should do, with the default budgets: memory in use as the
 * C library counts it (not by our own accounts), at every slice of 50 ms.
 */
#include "base/units.h"
#include "ingest/live.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ten times slower, and the C library counts nothing. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

#define SEC	   CAM_NS_PER_SEC
#define MS	   CAM_NS_PER_MS
#define MAX_BYTES  ((size_t)36 << 20)
#define MAX_ASKED  256u
#define OLD_MAPS   30u
#define SLICE_NS   (50 * MS)
#define FIRST_PID  100
#define FIRST_FORK 1000000

struct asked {
	struct cam_errand e;
	uint64_t offsets[CAM_ERRAND_MAX_OFFSETS];
};

/* What happens, a second. */
struct load {
	unsigned samples, cpus;
	unsigned processes, threads; /* that lived before; threads of each */
	unsigned vforks;
	bool distinct; /* each stack is another one */
};

struct bench {
	struct cam_live *live;
	struct cam_journal doors[2];
	struct cam_errands errands;
	size_t n_doors;
	struct asked *asked;
	size_t n_asked;
	uint64_t now_ns, random;
	uint64_t given, appended;
	uint64_t rows[CAM_CAUSE_MAX];
	int32_t next_pid;
	size_t before, peak;
	struct cam_live_stats worst;
};

static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

static int take_begin(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_window_head *head)
{
	(void)j;
	(void)t;
	(void)head;
	return 0;
}

static int take_block(struct cam_journal *j, const struct cam_tables *t, const struct cam_block *b)
{
	struct bench *k = j->self;
	(void)t;
	k->appended += b->n_samples;
	for (size_t i = 0; i < b->n_ledger; i++)
		k->rows[b->ledger[i].cause] += b->ledger[i].samples;
	return 0;
}

static int take_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	(void)j;
	(void)end_ns;
	(void)keep_empty;
	return 0;
}

static struct cam_journal *next_door(void *self)
{
	struct bench *k = self;
	struct cam_journal *j = &k->doors[k->n_doors++];
	*j = (struct cam_journal){k, take_begin, take_block, take_end, NULL};
	return j;
}

static int ask(struct cam_errands *es, const struct cam_errand *e)
{
	struct bench *k = es->self;
	if (e->type == CAM_ERRAND_FORGET)
		return 0;
	if (k->n_asked == MAX_ASKED)
		return -EAGAIN;
	struct asked *a = &k->asked[k->n_asked++];
	a->e = *e;
	if (e->n_offsets)
		memcpy(a->offsets, e->offsets, e->n_offsets * sizeof(*e->offsets));
	return 0;
}

static uint64_t next_random(struct bench *k)
{
	k->random ^= k->random << 13;
	k->random ^= k->random >> 7;
	k->random ^= k->random << 17;
	return k->random;
}

static void answer_names(const struct asked *a, struct cam_tidings *t)
{
	static struct cam_name names[CAM_ERRAND_MAX_OFFSETS];
	static char texts[CAM_ERRAND_MAX_OFFSETS][64];
	for (uint32_t i = 0; i < a->e.n_offsets; i++) {
		snprintf(texts[i], sizeof(texts[i]), "a_function_with_a_name_of_its_own_%llx",
			 (unsigned long long)a->offsets[i]);
		names[i] = (struct cam_name){
			.offset = a->offsets[i],
			.start = a->offsets[i] & ~UINT64_C(63),
			.source = CAM_NAME_SYMTAB,
			.name = cam_text_of(texts[i]),
		};
	}
	t->names = (struct cam_names_tidings){.names = names, .n_names = a->e.n_offsets};
}

static void answer_process(const struct bench *k, const struct cam_errand *e, struct cam_tidings *t)
{
	static struct cam_mapping maps[OLD_MAPS];
	static char paths[OLD_MAPS][64];
	if (e->pid >= FIRST_FORK) {
		t->error = -ENOENT;
		return;
	}
	for (uint64_t i = 0; i < OLD_MAPS; i++) {
		/* Ten files of its own, the others shared. */
		uint64_t inode = i < 10 ? (uint64_t)e->pid * 100 + i : i;
		snprintf(paths[i], sizeof(paths[i]), "/usr/lib/x86_64-linux-gnu/lib%llu.so",
			 (unsigned long long)inode);
		maps[i] = (struct cam_mapping){
			.start = (i + 1) << 32,
			.end = ((i + 1) << 32) + (16 << 20),
			.inode = inode + 1,
			.major = 8,
			.path = cam_text_of(paths[i]),
		};
	}
	t->process = (struct cam_process_tidings){
		.start_ns = 1,
		.maps_read_ns = k->now_ns,
		.comm = CAM_TEXT("server"),
		.exe = CAM_TEXT("/usr/bin/server"),
		.cgroup = CAM_TEXT("/system.slice/server.service"),
		.mappings = maps,
		.n_mappings = OLD_MAPS,
	};
}

static void answer(struct bench *k)
{
	static struct asked now[MAX_ASKED];
	size_t n = k->n_asked;
	memcpy(now, k->asked, n * sizeof(now[0]));
	k->n_asked = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_errand *e = &now[i].e;
		struct cam_tidings t = {.type = e->type, .ticket = e->ticket};
		t.pid = e->pid;
		t.tid = e->tid;
		t.file = e->file;
		if (e->type == CAM_ERRAND_NAMES)
			answer_names(&now[i], &t);
		else if (e->type == CAM_ERRAND_FILE)
			t.held.key = (struct cam_file_key){.inode = e->mapping.inode};
		else if (e->type == CAM_ERRAND_THREAD)
			t.comm = CAM_TEXT("worker");
		else
			answer_process(k, e, &t);
		assert_int_equal(cam_live_tidings(k->live, &t), 0);
	}
}

static void give_sample(struct bench *k, const struct load *w, uint64_t time_ns, int32_t pid,
			int32_t tid)
{
	uint64_t user[24], kernel[8];
	uint64_t path = w->distinct ? next_random(k) : 1 + next_random(k) % 50;
	struct cam_raw r = {.type = CAM_RAW_SAMPLE, .time_ns = time_ns, .pid = pid, .tid = tid};
	r.cpu = (uint32_t)(k->given % w->cpus);
	for (size_t i = 0; i < 24; i++) {
		path = path * 6364136223846793005u + 1442695040888963407u;
		user[i] = ((path >> 40) % OLD_MAPS + 1) << 32 | (path >> 33 & 0xffff0);
	}
	for (size_t i = 0; i < 8; i++)
		kernel[i] = 0xffffffff81000000 + (path >> (8 * i) & 0xff) * 0x1000;
	r.sample = (struct cam_raw_sample){
		.user = user, .n_user = 24, .kernel = kernel, .n_kernel = 8, .weight = 1};
	assert_int_equal(cam_live_raw(k->live, &r), 0);
	k->given++;
}

/* vfork, exec, four mappings, exit: what `true` does. */
static void give_vfork(struct bench *k, const struct load *w, uint64_t time_ns, bool sampled)
{
	int32_t pid = k->next_pid++;
	struct cam_raw r = {.type = CAM_RAW_FORK, .time_ns = time_ns, .pid = pid, .tid = pid};
	r.fork = (struct cam_raw_fork){FIRST_PID, FIRST_PID};
	cam_live_raw(k->live, &r);
	r.type = CAM_RAW_COMM;
	r.comm = (struct cam_raw_comm){.comm = CAM_TEXT("true"), .exec = true};
	cam_live_raw(k->live, &r);
	for (uint64_t i = 0; i < 4; i++) {
		r.type = CAM_RAW_MMAP;
		r.mmap = (struct cam_mapping){
			.start = (i + 1) << 32,
			.end = ((i + 1) << 32) + (1 << 20),
			.inode = 500 + i,
			.generation = 1,
			.path = CAM_TEXT("/usr/bin/true"),
		};
		cam_live_raw(k->live, &r);
	}
	if (sampled)
		give_sample(k, w, time_ns, pid, pid);
	r.type = CAM_RAW_EXIT;
	r.fork = (struct cam_raw_fork){FIRST_PID, FIRST_PID};
	cam_live_raw(k->live, &r);
}

/* Once a second, of each CPU: its counts, and what /proc/stat said. */
static void give_counts(struct bench *k, const struct load *w, uint64_t second)
{
	for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
		struct cam_raw r = {.type = CAM_RAW_COUNTS, .cpu = cpu, .time_ns = k->now_ns};
		r.counts = (struct cam_raw_counts){
			.fired = second * 97, .emitted = second * 97, .enabled_ns = second * SEC};
		cam_live_raw(k->live, &r);
		for (unsigned kind = CAM_COUNTER_USER; kind <= CAM_COUNTER_IDLE; kind++) {
			struct cam_counter c = {k->now_ns, SEC, kind, cpu, 100 * MS};
			cam_live_counter(k->live, &c);
		}
	}
}

static void slice(struct bench *k, const struct load *w)
{
	unsigned samples = w->samples / 20, vforks = w->vforks / 20;
	unsigned sampled = samples / 4 < vforks ? samples / 4 : vforks;
	uint64_t from = k->now_ns;
	for (unsigned i = 0; i < vforks; i++)
		give_vfork(k, w, from + i * (SLICE_NS / 2) / vforks, i < sampled);
	for (unsigned i = vforks ? sampled : 0; i < samples; i++) {
		int32_t pid = FIRST_PID + (int32_t)(next_random(k) % w->processes) * 1000;
		int32_t tid = pid + (int32_t)(next_random(k) % w->threads);
		give_sample(k, w, from + SLICE_NS / 2 + i * (SLICE_NS / 2) / samples, pid, tid);
	}
	k->now_ns += SLICE_NS;
	if (k->now_ns % SEC == 0)
		give_counts(k, w, k->now_ns / SEC - 10);
	if (k->now_ns % (100 * MS) == 0)
		answer(k);
	if (k->now_ns % (200 * MS) == 0)
		assert_int_equal(cam_live_tick(k->live, k->now_ns, k->now_ns), 0);
	size_t bytes = in_use() - k->before;
	if (bytes > k->peak)
		k->peak = bytes;
}

static void run(const char *what, const struct load *w, unsigned seconds)
{
	struct bench k = {.errands = {&k, ask}, .now_ns = 10 * SEC, .random = 88172645463325252u};
	k.asked = calloc(MAX_ASKED, sizeof(*k.asked));
	assert_non_null(k.asked);
	k.next_pid = FIRST_FORK;
	struct cam_live_options o = {
		.window_ns = 120 * SEC,
		.hz = 97,
		.event = CAM_TEXT("cpu-clock"),
		.host = CAM_TEXT("host"),
		.scope = {.uid = CAM_UID_NONE},
		.due_known = true,
		.max_table_bytes = 12u << 20,
		.max_process_bytes = 6u << 20,
		.max_name_bytes = 6u << 20,
	};
	struct cam_live_doors doors = {&k, next_door, &k.errands};
	k.before = in_use();
	assert_int_equal(cam_live_new(&o, &doors, &k.live), 0);
	for (unsigned i = 0; i < seconds * (SANITIZED ? 5 : 20); i++)
		slice(&k, w);
	assert_int_equal(cam_live_cut(k.live, k.now_ns), 0);
	struct cam_live_stats s = cam_live_stats(k.live);
	print_message("# %s: peak %.1f MiB, %llu samples, %u windows, %llu evicted, %u processes\n",
		      what, (double)k.peak / (1 << 20), (unsigned long long)k.given, s.windows,
		      (unsigned long long)s.evicted, s.processes);
	/* Each sample is in a journal, or in a ledger. */
	assert_int_equal(k.appended, s.samples);
	assert_int_equal(s.samples + s.dropped, k.given);
	assert_int_equal(k.rows[CAM_CAUSE_BOUND], s.dropped);
	assert_true(s.process_bytes < (8u << 20));
	assert_true(k.peak <= MAX_BYTES);
	assert_true(SANITIZED || k.peak > s.name_bytes);
	cam_live_free(k.live);
	free(k.asked);
	assert_true(in_use() <= k.before);
}

static void twenty_thousand_threads(void **state)
{
	(void)state;
	run("20,000 threads", &(struct load){9312, 96, 100, 200, 0, false}, 5);
}

static void twenty_thousand_vforks_a_second(void **state)
{
	(void)state;
	run("20,000 vforks/s", &(struct load){9312, 96, 10, 1, 20000, false}, 4);
}

static void a_million_distinct_stacks_a_minute(void **state)
{
	(void)state;
	run("10^6 stacks/min", &(struct load){16667, 172, 50, 4, 0, true}, 4);
}

static void five_hundred_cpus(void **state)
{
	(void)state;
	run("512 CPUs", &(struct load){49664, 512, 200, 10, 0, false}, 3);
}

static void all_of_it_at_once(void **state)
{
	(void)state;
	run("all at once", &(struct load){49664, 512, 100, 200, 20000, true}, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twenty_thousand_threads),
		cmocka_unit_test(twenty_thousand_vforks_a_second),
		cmocka_unit_test(a_million_distinct_stacks_a_minute),
		cmocka_unit_test(five_hundred_cpus),
		cmocka_unit_test(all_of_it_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
