// SPDX-License-Identifier: Apache-2.0
/*
 * Two minutes of a made-up host of 96 CPUs as its recorder would have kept them: each CPU has its own phase of 97 Hz, and is
 * busy in half of its ticks, at random. At second 60.4 of it, if wanted, all of them are for 20 ms.
 *
 *	half_busy OUT.pcw NUMBER calm|spike
 *
 * NUMBER: of such windows that come before it, so that those of tests/bench/rebase stand beside it.
 */
#include "support_window.h"

#include "base/out.h"
#include "base/units.h"
#include "store/window.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS	   96u
#define SECONDS	   120u
#define HZ	   97u
#define BOOT_S	   5000ull
#define WALL_S	   1776222777ll
#define SPIKE_AT   (60 * CAM_NS_PER_SEC + 400 * CAM_NS_PER_MS)
#define SPIKE_NS   (20 * CAM_NS_PER_MS)
#define PERIOD_NS  (CAM_NS_PER_SEC / HZ)
#define TASK_EVERY 3u

static uint64_t seed = 1;

static uint32_t dice(uint32_t sides)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % sides;
}

int main(int argc, char **argv)
{
	struct cam_out out;
	if (argc != 4)
		return 2;
	uint64_t number = strtoull(argv[2], NULL, 10);
	uint64_t start = (BOOT_S + number * SECONDS) * CAM_NS_PER_SEC;
	bool spike = !strcmp(argv[3], "spike");
	struct fake_window *f = fake_window_new();
	struct cam_task_id tasks[] = {fake_task(f, 100, 100, "web"), fake_task(f, 200, 200, "db"),
				      fake_task(f, 300, 300, "batch")};
	struct cam_place_id places[] = {fake_place(f, "main;serve;answer"),
					fake_place(f, "main;serve;wait@[kernel]"),
					fake_place(f, "main;scan")};
	f->w.info.start_ns = start;
	f->w.info.end_ns = start + SECONDS * CAM_NS_PER_SEC;
	f->w.info.realtime_ns = (WALL_S + (int64_t)(number * SECONDS)) * (int64_t)CAM_NS_PER_SEC;
	f->w.info.sequence = number;
	f->w.info.cpus = CPUS;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		uint32_t busy[SECONDS] = {0}, due[SECONDS] = {0};
		for (uint64_t at = dice(PERIOD_NS); at < SECONDS * CAM_NS_PER_SEC;
		     at += PERIOD_NS) {
			bool all = spike && at >= SPIKE_AT && at < SPIKE_AT + SPIKE_NS;
			uint64_t second = at / CAM_NS_PER_SEC;
			due[second]++;
			if (!dice(2) && !all)
				continue;
			busy[second]++;
			fake_sample(f, start + at / 10000 * 10000, cpu, tasks[dice(TASK_EVERY)],
				    places[dice(TASK_EVERY)]);
		}
		for (uint32_t s = 0; s < SECONDS; s++)
			fake_add_ledger(f, &(struct cam_ledger_row){
						   CAM_CAUSE_IDLE, cpu, start + s * CAM_NS_PER_SEC,
						   start + (s + 1) * CAM_NS_PER_SEC,
						   due[s] - busy[s]});
	}
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return 1;
	cam_out_to_fd(&out, fd);
	int err = cam_window_write(fake_window_ready(f), &out);
	if (!err)
		err = cam_out_finish(&out);
	close(fd);
	fake_window_free(f);
	return err ? 1 : 0;
}
