// SPDX-License-Identifier: Apache-2.0
/*
 * Anything, in any order: random records, answers that are late, double, wrong or never come, a
 * journal that refuses now and then. Whatever happens, each sample ends exactly once, and a user
 * frame is only ever named after a file that its process had mapped there then.
 */
#include "support_live.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PIDS  24
#define SLOTS 8u

/* What each process really has mapped: a file for each slot of 0x1000; 0: nothing. */
struct truth {
	unsigned slots[SLOTS];
	uint64_t start_ns;
	bool lives;
};

struct feed {
	struct stage s;
	struct truth truth[PIDS];
	unsigned seed;
	uint64_t now_ns;
	uint64_t given;
	unsigned files;
	/* By sample, as CPU: the file that its one user frame lies in; 0: none. */
	unsigned expected[60000];
};

static unsigned dice(struct feed *f, unsigned sides)
{
	f->seed = f->seed * 1103515245u + 12345u;
	return (f->seed >> 8) % sides;
}

static const char *path_of(unsigned file)
{
	static char path[16];
	snprintf(path, sizeof(path), "/f/%u", file);
	return path;
}

static void really_map(struct feed *f, int32_t pid, bool told)
{
	/* Untold ones are of new files: that one comes back unseen, after another, is not meant. */
	unsigned slot = dice(f, SLOTS), file = told ? 1 + dice(f, 30) : 100 + ++f->files;
	f->truth[pid].slots[slot] = file;
	if (told)
		stage_map(&f->s, f->now_ns, pid, 0x1000 * (slot + 1), 0x1000 * (slot + 2), file,
			  path_of(file));
}

static void really_exec(struct feed *f, int32_t pid, bool told)
{
	memset(f->truth[pid].slots, 0, sizeof(f->truth[pid].slots));
	if (told)
		stage_exec(&f->s, f->now_ns, pid, "x");
	for (unsigned i = dice(f, 3); i-- > 0;)
		really_map(f, pid, told);
}

static void really_fork(struct feed *f, int32_t parent, int32_t pid, bool told)
{
	if (pid == parent)
		return;
	f->truth[pid] = f->truth[parent];
	f->truth[pid].start_ns = f->now_ns;
	f->truth[pid].lives = true;
	if (told)
		stage_fork(&f->s, f->now_ns, parent, pid, pid);
}

static void sample(struct feed *f, int32_t pid)
{
	unsigned slot = dice(f, SLOTS);
	const uint64_t user[] = {0x1000 * (slot + 1) + dice(f, 16) * 0x100, 0};
	f->s.cpu = (uint32_t)f->given;
	f->expected[f->given] = f->truth[pid].lives ? f->truth[pid].slots[slot] : 0;
	f->given++;
	stage_sample(&f->s, f->now_ns, pid, pid, user, NULL);
}

/* Things happen and (mostly) nobody is told. */
static void happen(struct feed *f, int32_t pid, bool told)
{
	if (!f->truth[pid].lives)
		really_fork(f, 0, pid, told);
	else if (dice(f, 2))
		really_exec(f, pid, told);
	else
		really_map(f, pid, told);
}

/* A loss that is noticed when it is over; nobody was sampled meanwhile. */
static void lose(struct feed *f)
{
	uint64_t from = f->now_ns;
	for (unsigned i = 1 + dice(f, 10); i-- > 0;) {
		f->now_ns += 50 * MS;
		happen(f, 1 + (int32_t)dice(f, PIDS - 1), false);
	}
	f->now_ns += 1 * MS;
	stage_lost(&f->s, from, f->now_ns);
}

static void tick(struct feed *f);

/* A loss that is announced where it begins, as its stream orders it: samples fall into it. */
static void lose_in_order(struct feed *f)
{
	uint64_t to = f->now_ns + 250 * MS;
	stage_lost(&f->s, f->now_ns, to);
	for (unsigned i = 0; i < 40; i++) {
		int32_t pid = 1 + (int32_t)dice(f, PIDS - 1);
		f->now_ns += 6 * MS;
		if (i == 20)
			tick(f);
		if (dice(f, 3) == 0)
			happen(f, pid, dice(f, 4) == 0);
		else if (f->truth[pid].lives)
			sample(f, pid);
	}
	f->now_ns = to;
}

static void step(struct feed *f)
{
	int32_t pid = 1 + (int32_t)dice(f, PIDS - 1), other = 1 + (int32_t)dice(f, PIDS - 1);
	f->now_ns += dice(f, 3 * MS);
	switch (dice(f, 40)) {
	case 0:
		if (f->truth[pid].lives)
			really_fork(f, pid, other, true);
		break;
	case 1:
		if (f->truth[pid].lives)
			really_exec(f, pid, true);
		break;
	case 2:
	case 3:
		if (f->truth[pid].lives)
			really_map(f, pid, true);
		break;
	case 4:
		if (dice(f, 4) == 0 && f->truth[pid].lives) {
			f->truth[pid].lives = false;
			stage_exit(&f->s, f->now_ns, pid, pid);
		}
		break;
	case 5:
		if (dice(f, 20) == 0)
			lose(f);
		else if (dice(f, 20) == 0)
			lose_in_order(f);
		break;
	default:
		if (f->truth[pid].lives)
			sample(f, pid);
	}
}

/* /proc as it is at this moment, into the stage's world. */
static void look(struct feed *f)
{
	f->s.n_processes = 0;
	for (int32_t pid = 1; pid < PIDS; pid++) {
		static char paths[PIDS][SLOTS][16];
		if (!f->truth[pid].lives)
			continue;
		struct world_process *p = world_process(&f->s, pid, "c", "/bin/c");
		p->start_ns = f->truth[pid].start_ns / (10 * MS) * (10 * MS);
		for (unsigned i = 0; i < SLOTS; i++) {
			unsigned file = f->truth[pid].slots[i];
			if (!file)
				continue;
			snprintf(paths[pid][i], sizeof(paths[pid][i]), "/f/%u", file);
			world_map(&f->s, pid, 0x1000 * (i + 1), 0x1000 * (i + 2), file,
				  paths[pid][i]);
		}
	}
	f->s.now_ns = f->now_ns;
}

static void tick(struct feed *f)
{
	look(f);
	f->s.file_error = dice(f, 8) ? 0 : -ENOENT;
	f->s.names_error = dice(f, 10) ? 0 : dice(f, 2) ? -EIO : -EBADMSG;
	f->s.full = dice(f, 10) == 0;
	f->s.packet = dice(f, 3);
	if (dice(f, 4))
		stage_answer(&f->s);
	if (dice(f, 30) == 0)
		f->s.refuse = f->s.refuse ? 0 : -ENOSPC;
	stage_tick(&f->s, f->now_ns);
	if (dice(f, 100) == 0 && !f->s.refuse)
		assert_int_equal(cam_live_cut(f->s.live, f->now_ns), 0);
}

/* A named frame has the name of the file that was there; returns 1 if it is named. */
static size_t check_sample(struct feed *f, size_t window, size_t i)
{
	const char *stack = stage_stack(&f->s, window, i);
	uint32_t number = f->s.windows[window].samples[i].cpu;
	char right[32], module[32];
	assert_true(number < f->given);
	snprintf(right, sizeof(right), "%u_", f->expected[number]);
	int n = snprintf(module, sizeof(module), "[%u", f->expected[number]);
	bool named = strncmp(stack, right, strlen(right)) == 0;
	bool unnamed = strncmp(stack, module, (size_t)n) == 0 && strchr("]+", stack[n]);
	if (!named && !unnamed && strcmp(stack, "[unknown]") != 0)
		fail_msg("sample %u is %s, not in file %u", number, stack, f->expected[number]);
	assert_true(!named || f->expected[number]);
	return named;
}

static void run(unsigned seed, size_t *nameable, size_t *named)
{
	static struct feed f;
	struct cam_live_options o;
	memset(&f, 0, sizeof(f));
	stage_options(&o);
	o.window_ns = 3 * SEC;
	o.max_process_bytes = seed % 2 ? 6u << 20 : 1; /* evicts all the time */
	stage_open(&f.s, &o);
	f.seed = seed;
	f.now_ns = 100 * SEC;
	for (int32_t pid = 0; pid < PIDS / 2; pid++) {
		f.truth[pid].lives = true;
		f.truth[pid].start_ns = (uint64_t)pid * SEC;
		for (unsigned i = 0; i < 3; i++)
			really_map(&f, pid, false);
	}
	for (unsigned i = 0; i < 4000; i++) {
		uint64_t before = f.now_ns / (200 * MS);
		step(&f);
		if (f.now_ns / (200 * MS) != before)
			tick(&f);
	}
	f.s.refuse = 0;
	f.s.now_ns = f.now_ns;
	struct cam_live *live = f.s.live;
	assert_int_equal(cam_live_cut(live, f.now_ns), 0);
	struct cam_live_stats stats = cam_live_stats(live);
	assert_int_equal(stats.samples + stats.dropped, f.given);
	assert_int_equal(stage_samples(&f.s), stats.samples);
	for (size_t w = 0; w < f.s.n_windows; w++) {
		for (size_t i = 0; i < f.s.windows[w].n_samples; i++)
			*named += check_sample(&f, w, i);
	}
	for (size_t i = 0; i < f.given; i++)
		*nameable += f.expected[i] != 0;
	stage_free(&f.s);
}

static void no_sample_is_lost_and_no_name_is_wrong(void **state)
{
	(void)state;
	size_t nameable = 0, named = 0;
	for (unsigned seed = 0; seed < 30; seed++)
		run(seed, &nameable, &named);
	print_message("# %zu samples in files, %zu of them named\n", nameable, named);
	assert_true(nameable > 10000);
	assert_true(named > nameable / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_sample_is_lost_and_no_name_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
