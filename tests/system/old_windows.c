// SPDX-License-Identifier: Apache-2.0
/*
 * Puts sealed windows of an earlier boot into a store, a minute each, one after the other, of which the
 * last ends now: what retention is about takes hours to record.
 *
 *	old_windows DIR COUNT [SECONDS | unsealed]
 *
 * Each has 20480 samples at as many random addresses, about 150 KB. With SECONDS it goes on for so long: ten times a second
 * one more comes and those older than COUNT minutes go, as a recorder's retention has them go; says how many. Unsealed ones are
 * left to the next recorder.
 */
#include "base/units.h"
#include "model/journal.h"
#include "store/io.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES	  20480u
#define WINDOW_NS (60 * CAM_NS_PER_SEC)

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(1);
}

static void fill(struct cam_tables *t, uint64_t start_ns, struct cam_sample *samples)
{
	struct cam_task task = {.pid = 7, .tid = 7};
	struct cam_etype etype = {.period_ns = 2 * CAM_NS_PER_MS};
	struct cam_module module = {.kind = CAM_MODULE_FILE};
	struct cam_task_id task_id;
	struct cam_etype_id etype_id;
	struct cam_module_id module_id;
	check(cam_string_intern(t, CAM_TEXT("old"), &task.comm), "comm");
	check(cam_string_intern(t, CAM_TEXT("cpu-clock"), &etype.name), "event");
	check(cam_string_intern(t, CAM_TEXT("/bin/old"), &module.path), "path");
	check(cam_task_intern(t, &task, &task_id), "task");
	check(cam_etype_intern(t, &etype, &etype_id), "event type");
	check(cam_module_intern(t, &module, &module_id), "module");
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct cam_location l = {.address = (uint64_t)random() << 12 |
						    (unsigned)random() % 4096,
					 .module = module_id,
					 .func = {CAM_NONE},
					 .func_offset = CAM_OFFSET_NONE,
					 .late = true};
		struct cam_loc_id loc;
		samples[i] = (struct cam_sample){.time_ns = start_ns + i * 2 * CAM_NS_PER_MS,
						 .weight = 1,
						 .task = task_id,
						 .etype = etype_id};
		check(cam_location_intern(t, &l, &loc), "location");
		check(cam_place_intern(t, &loc, 1, &samples[i].place), "place");
	}
	/* There is another CPU, which is idle. */
	samples[SAMPLES - 1].cpu = 1;
}

static void put_window(struct cam_store *store, uint64_t start_ns, int64_t realtime_ns)
{
	static struct cam_sample samples[SAMPLES];
	struct cam_tables t;
	struct cam_window_head head = {.boot_id = {{0xb0, 0x07}},
				       .clock = CAM_CLOCK_MONOTONIC,
				       .start_ns = start_ns,
				       .time_unit_ns = 10000};
	const struct cam_anchor anchor = {.time_ns = start_ns,
					  .raw_ns = CAM_TIME_NONE,
					  .boottime_ns = CAM_TIME_NONE,
					  .sched_ns = CAM_TIME_NONE,
					  .realtime_ns = realtime_ns};
	struct cam_journal *j = cam_store_journal(store, 0);
	check(cam_tables_init(&t, (size_t)64 << 20), "tables");
	check(j ? cam_string_intern(&t, CAM_TEXT("old-host"), &head.host) : -ENOMEM, "host");
	fill(&t, start_ns, samples);
	const struct cam_block block = {
		.samples = samples, .n_samples = SAMPLES, .anchors = &anchor, .n_anchors = 1};
	check(j->begin(j, &t, &head), "begin");
	check(j->append(j, &t, &block), "append");
	check(j->end(j, start_ns + WINDOW_NS, false), "end");
	cam_tables_free(&t);
}

/* Windows come and go, for readers to be tried beside. */
static void churn(struct cam_store *store, unsigned n, unsigned seconds)
{
	const struct timespec pause = {.tv_nsec = (long)(100 * CAM_NS_PER_MS)};
	const struct cam_retention limits = {
		.keep_ns = n * WINDOW_NS, .max_bytes = UINT64_MAX, .max_pinned_bytes = UINT64_MAX};
	unsigned gone = 0, sealed, deleted, i = n;
	struct timespec now, begun;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		clock_gettime(CLOCK_REALTIME, &now);
		put_window(store, 1000 * CAM_NS_PER_SEC + i++ * WINDOW_NS,
			   (int64_t)now.tv_sec * (int64_t)CAM_NS_PER_SEC);
		check(cam_store_seal_pending(store, &sealed), "sealing");
		check(cam_store_retain(store, &limits, &deleted), "retention");
		gone += deleted;
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begun.tv_sec < (time_t)seconds);
	printf("%u came, %u went\n", i - n, gone);
}

int main(int argc, char **argv)
{
	struct cam_io *io;
	struct cam_store *store;
	struct timespec now;
	int holder;
	unsigned sealed, n = argc == 3 || argc == 4 ? (unsigned)atoi(argv[2]) : 0;
	bool unsealed = argc == 4 && !strcmp(argv[3], "unsealed");
	if (!n)
		return 2;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t end_ns = (int64_t)now.tv_sec * (int64_t)CAM_NS_PER_SEC;
	check(cam_io_posix_open(argv[1], true, &io), argv[1]);
	check(cam_store_open_write(io, &store, &holder), argv[1]);
	for (unsigned i = 0; i < n; i++)
		put_window(store, 1000 * CAM_NS_PER_SEC + i * WINDOW_NS,
			   end_ns - (int64_t)((n - i) * WINDOW_NS));
	if (unsealed)
		sealed = n;
	else
		check(cam_store_seal_pending(store, &sealed), "sealing");
	if (argc == 4 && !unsealed)
		churn(store, n, (unsigned)atoi(argv[3]));
	cam_store_close(store);
	cam_io_posix_close(io);
	return sealed == n ? 0 : 1;
}
