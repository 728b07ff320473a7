// SPDX-License-Identifier: Apache-2.0
/* The table of processes by itself: its bound, and random records against a plain model. */
#include "base/units.h"
#include "ingest/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC  CAM_NS_PER_SEC
#define MS   CAM_NS_PER_MS
#define PIDS 12

struct world {
	struct cam_words words;
	struct cam_files *files;
	struct cam_processes *t;
};

static void forget(void *arg, uint32_t number)
{
	(void)arg;
	(void)number;
}

static void open_world(struct world *w, size_t max_bytes)
{
	assert_int_equal(cam_words_init(&w->words), 0);
	assert_int_equal(cam_files_new(&w->words, forget, NULL, &w->files), 0);
	struct cam_process_options o = {
		.max_bytes = max_bytes, .words = &w->words, .files = w->files};
	assert_int_equal(cam_processes_new(&o, &w->t), 0);
}

static void close_world(struct world *w)
{
	cam_processes_free(w->t);
	cam_files_free(w->files);
	assert_int_equal(w->words.n, 0);
	cam_words_free(&w->words);
}

static void fork_at(struct world *w, uint64_t t, int32_t parent, int32_t pid, int32_t tid)
{
	struct cam_raw r = {.type = CAM_RAW_FORK, .time_ns = t, .pid = pid, .tid = tid};
	r.fork = (struct cam_raw_fork){parent, parent};
	cam_processes_raw(w->t, &r);
}

static void comm_at(struct world *w, uint64_t t, int32_t pid, const char *comm, bool exec)
{
	struct cam_raw r = {.type = CAM_RAW_COMM, .time_ns = t, .pid = pid, .tid = pid};
	r.comm = (struct cam_raw_comm){.comm = cam_text_of(comm), .exec = exec};
	cam_processes_raw(w->t, &r);
}

static void map_at(struct world *w, uint64_t t, int32_t pid, uint64_t start, uint64_t inode)
{
	struct cam_raw r = {.type = CAM_RAW_MMAP, .time_ns = t, .pid = pid, .tid = pid};
	char path[32];
	snprintf(path, sizeof(path), "/bin/%llu", (unsigned long long)inode);
	r.mmap = (struct cam_mapping){.start = start, .end = start + 0x1000, .inode = inode};
	r.mmap.generation = 1;
	r.mmap.path = cam_text_of(path);
	cam_processes_raw(w->t, &r);
}

static void exit_at(struct world *w, uint64_t t, int32_t pid)
{
	struct cam_raw r = {.type = CAM_RAW_EXIT, .time_ns = t, .pid = pid, .tid = pid};
	cam_processes_raw(w->t, &r);
}

static unsigned dice(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % sides;
}

/* A process as a child could draw it: four slots of memory. */
struct model {
	bool lives, known;
	uint64_t born_ns, maps[4], exe;
	char comm[16];
};

static void check(struct world *w, const struct model *m, int32_t pid)
{
	const struct cam_process *p = cam_processes_find(w->t, pid);
	assert_non_null(p);
	assert_int_equal(p->known, m->known);
	assert_int_equal(p->born_ns, m->born_ns);
	const struct cam_thread *k = cam_processes_thread(w->t, p, pid);
	assert_non_null(k);
	assert_string_equal(k->comm, m->comm);
	for (uint64_t i = 0; i < 4; i++) {
		const struct cam_image_map *map =
			p->image ? cam_image_find(p->image, 0x1000 * i + 5, UINT64_MAX) : NULL;
		assert_int_equal(map ? map->file->inode : 0, m->maps[i]);
	}
	char exe[32] = "";
	if (m->exe)
		snprintf(exe, sizeof(exe), "/bin/%llu", (unsigned long long)m->exe);
	struct cam_text had = cam_word_text(p->image ? p->image->exe : NULL);
	assert_true(cam_text_equal(had, cam_text_of(exe)));
}

static void step(struct world *w, struct model *all, uint64_t now, unsigned *seed)
{
	int32_t pid = 1 + (int32_t)dice(seed, PIDS), other = 1 + (int32_t)dice(seed, PIDS);
	struct model *m = &all[pid], *o = &all[other];
	switch (dice(seed, 5)) {
	case 0:
		if (!m->lives || pid == other)
			return;
		fork_at(w, now, pid, other, other);
		*o = *m;
		o->born_ns = now;
		break;
	case 1:
		if (!m->lives)
			return;
		snprintf(m->comm, sizeof(m->comm), "c%u", dice(seed, 1000));
		comm_at(w, now, pid, m->comm, false);
		break;
	case 2:
		if (!m->lives)
			return;
		snprintf(m->comm, sizeof(m->comm), "x%u", dice(seed, 1000));
		comm_at(w, now, pid, m->comm, true);
		memset(m->maps, 0, sizeof(m->maps));
		m->exe = 0;
		m->known = true;
		break;
	case 3: {
		if (!m->lives)
			return;
		uint64_t slot = dice(seed, 4), inode = 1 + dice(seed, 20);
		map_at(w, now, pid, slot * 0x1000, inode);
		m->maps[slot] = inode;
		if (!m->exe && m->known)
			m->exe = inode;
		break;
	}
	default:
		if (!m->lives || pid == 1 || dice(seed, 3))
			return;
		exit_at(w, now, pid);
		m->lives = false;
	}
}

static void random_records_keep_the_table_true(void **state)
{
	(void)state;
	size_t checks = 0;
	for (unsigned run = 0; run < 40; run++) {
		struct world w;
		struct model all[PIDS + 1] = {0};
		unsigned seed = run;
		open_world(&w, 6u << 20);
		/* The first one executes a program: so all that descend from it are known. */
		fork_at(&w, 1, 99, 1, 1);
		comm_at(&w, 2, 1, "init", true);
		all[1] = (struct model){.lives = true, .known = true, .born_ns = 1, .comm = "init"};
		for (uint64_t now = 10; now < 1500; now++) {
			step(&w, all, now * MS, &seed);
			if (now % 50 == 0)
				cam_processes_tick(w.t, now * MS);
			for (int32_t pid = 1; pid <= PIDS; pid++) {
				if (!all[pid].lives)
					continue;
				check(&w, &all[pid], pid);
				checks++;
			}
		}
		close_world(&w);
	}
	assert_true(checks > 200000);
}

/* Who is over the bound goes: first the ended, then who was not sampled for longest. */
static void the_bound_takes_the_ended_first(void **state)
{
	(void)state;
	struct world w;
	open_world(&w, 400u << 10);
	comm_at(&w, 1, 1, "init", true);
	/* Enough of those that have ended, and of the living. */
	for (int32_t pid = 2; pid < 200; pid++) {
		fork_at(&w, 10, 1, pid, pid);
		exit_at(&w, 11, pid);
	}
	int32_t pid = 1000;
	struct cam_processes_stats s;
	do {
		fork_at(&w, 20, 1, pid, pid);
		s = cam_processes_stats(w.t);
		assert_true(s.bytes <= 400u << 10);
		pid++;
	} while (cam_processes_find(w.t, 199) && pid < 5000);
	assert_true(pid < 5000);
	assert_int_equal(s.evicted, 0);
	/* All the ended are gone; the next goes from the living, and that is counted. */
	for (int32_t old = 2; old < 200; old++)
		assert_null(cam_processes_find(w.t, old));
	struct cam_raw r = {.type = CAM_RAW_SAMPLE, .time_ns = 30, .pid = 1000, .tid = 1000};
	struct cam_thread *k;
	assert_non_null(cam_processes_meet(w.t, &r, &k));
	r.pid = r.tid = 1;
	assert_non_null(cam_processes_meet(w.t, &r, &k));
	for (unsigned i = 0; i < 20; i++)
		fork_at(&w, 40, 1, 6000 + (int32_t)i, 6000 + (int32_t)i);
	assert_true(cam_processes_stats(w.t).evicted > 0);
	assert_true(cam_processes_stats(w.t).bytes <= 400u << 10);
	assert_non_null(cam_processes_find(w.t, 1000));
	assert_null(cam_processes_find(w.t, 1001));
	close_world(&w);
}

/* A storm of forks shares one image; nothing is left of it half a second later. */
static void a_storm_of_forks_costs_little(void **state)
{
	(void)state;
	struct world w;
	open_world(&w, 64u << 20);
	comm_at(&w, 1, 1, "make", true);
	for (uint64_t i = 0; i < 500; i++)
		map_at(&w, 2, 1, 0x1000 * i, 1 + i);
	size_t before = cam_processes_stats(w.t).bytes;
	for (int32_t pid = 2; pid < 10002; pid++)
		fork_at(&w, 10 * MS, 1, pid, pid);
	size_t each = (cam_processes_stats(w.t).bytes - before) / 10000;
	print_message("# %zu bytes a forked process\n", each);
	assert_true(each < 500);
	for (int32_t pid = 2; pid < 10002; pid++)
		exit_at(&w, 20 * MS, pid);
	cam_processes_tick(w.t, 600 * MS);
	assert_int_equal(cam_processes_stats(w.t).processes, 1);
	assert_int_equal(cam_processes_stats(w.t).threads, 1);
	assert_int_equal(cam_processes_stats(w.t).bytes, before);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_records_keep_the_table_true),
		cmocka_unit_test(the_bound_takes_the_ended_first),
		cmocka_unit_test(a_storm_of_forks_costs_little),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
