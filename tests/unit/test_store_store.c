// SPDX-License-Identifier: Apache-2.0
/* The store as a whole: order, clocks, locks, readers beside a writer, windows open and queued. */
#include "base/cleanup.h"
#include "store/store_parts.h"
#include "support_sim_io.h"
#include "support_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define REAL	  INT64_C(1776222000000000000)
#define TEN_YEARS (3652 * INT64_C(86400000000000))

/* The first sample of each window, in the order of the list. */
static const char *order_of(struct cam_io *io)
{
	static char text[256];
	struct cam_source *source;
	text[0] = '\0';
	assert_int_equal(cam_store_open_read(io, &source), 0);
	for (size_t i = 0; i < source->ops->count(source); i++) {
		struct numbers found = {0};
		struct cam_window *w;
		unsigned k = 0;
		assert_int_equal(source->ops->open(source, i, &w), 0);
		window_read(w, &found);
		while (!found.times[k])
			k++;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", k);
		w->ops->close(w);
	}
	source->ops->close(source);
	return text;
}

/* Boots come in the order in which they were recorded, whatever ids and wall clocks say. */
static void test_order(void **state)
{
	(void)state;
	static const struct {
		uint8_t boot;
		uint64_t start_s;
		int64_t real_ns;
	} windows[] = {
		{5, 100, REAL}, {5, 300, REAL + TEN_YEARS}, {5, 200, REAL - TEN_YEARS}, {3, 50, 1},
		{3, 9, 1},	{9, 7, REAL - TEN_YEARS},   {1, 7, INT64_MAX},		{1, 3, 0},
		{5, 400, REAL},
	};
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	for (unsigned i = 0; i < 9; i++) {
		struct numbered_window w = {
			.boot = windows[i].boot,
			.start_ns = windows[i].start_s * NS,
			.realtime_ns = windows[i].real_ns,
		};
		numbered_window(s, &w, 10 * i, 3, false);
		/* Sealed and unsealed ones alike; another writer now and then. */
		if (i % 3 == 1) {
			cam_store_close(s);
			s = store_open(io);
		}
	}
	assert_string_equal(order_of(io), "0 20 10 80 40 30 50 70 60 ");
	cam_store_close(s);
	cam_store_close(store_open(io));
	assert_string_equal(order_of(io), "0 20 10 80 40 30 50 70 60 ");
	sim_free(d);
}

static void record(struct cam_store *s, uint8_t boot, uint64_t start_s, int64_t real_ns, unsigned k)
{
	struct numbered_window w = {.boot = boot, .start_ns = start_s * NS, .realtime_ns = real_ns};
	numbered_window(s, &w, k, 1, true);
}

static unsigned retain(struct cam_store *s, struct cam_retention r)
{
	unsigned deleted;
	assert_int_equal(cam_store_retain(s, &r, &deleted), 0);
	return deleted;
}

/* Steps of ten years to and fro, a boot in 1970: only recorded time makes anything old. */
static void test_clock_steps(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct cam_retention hour = {.keep_ns = 3600 * NS};
	unsigned k = 0;
	for (unsigned i = 0; i < 6; i++) {
		int64_t step = i % 3 == 0 ? 0 : i % 3 == 1 ? TEN_YEARS : -TEN_YEARS;
		record(s, 1, 1000 + 300 * i, REAL + step, k++);
		assert_int_equal(retain(s, hour), 0);
	}
	for (unsigned i = 0; i < 6; i++) {
		record(s, 2, 10 + 300 * i, 1 + i, k++);
		assert_int_equal(retain(s, hour), 0);
	}
	/* 1500 s of boot 1 and 1500 s of boot 2 are recorded. The first is 3000 s old; at the end
	 * of a window 700 s later it is 3700 s old, and the second 3400 s. */
	record(s, 2, 10 + 2200, REAL, k++);
	assert_int_equal(retain(s, hour), 1);
	assert_string_equal(order_of(io), "1 2 3 4 5 6 7 8 9 10 11 12 ");
	cam_store_close(s);
	sim_free(d);
}

static int count_file(void *arg, const char *name)
{
	(void)name;
	++*(unsigned *)arg;
	return 0;
}

/* Journals count like windows, the open one stays, and free space is made only as needed. */
static void test_retain(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct numbered n;
	uint64_t total, before, after;
	struct numbered_window w = {.boot = 1, .start_ns = 5 * NS};
	/* The oldest of all is still being written. */
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &w), 0);
	assert_int_equal(numbered_append(&n, 0, 3), 0);
	for (unsigned i = 1; i < 8; i++) {
		w.start_ns = 300 * i * NS;
		numbered_window(s, &w, 10 * i, 3, false);
	}
	sim_set_capacity(d, 1 << 20);
	io->ops->space(io, &total, &before);
	assert_int_equal(retain(s, (struct cam_retention){.min_free_bytes = before + 1}), 1);
	io->ops->space(io, &total, &after);
	assert_true(after > before);
	assert_string_equal(order_of(io), "0 20 30 40 50 60 70 ");
	assert_int_equal(retain(s, (struct cam_retention){.max_bytes = 1}), 4);
	assert_string_equal(order_of(io), "0 60 70 ");
	assert_int_equal(retain(s, (struct cam_retention){.min_free_bytes = 1 << 20}), 0);
	assert_int_equal(numbered_append(&n, 3, 3), 0);
	assert_int_equal(numbered_end(&n), 0);
	assert_int_equal(retain(s, (struct cam_retention){.max_bytes = 1}), 1);
	assert_string_equal(order_of(io), "60 70 ");
	cam_store_close(s);
	sim_free(d);
}

/* A reader is not disturbed: what it holds stays, what it only listed has expired. */
static void test_readers_and_retention(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct cam_source *source;
	struct cam_window *held, *w;
	struct numbers found = {0};
	for (unsigned i = 0; i < 3; i++)
		record(s, 1, 1000 + 1000 * i, 0, i);
	assert_int_equal(cam_store_open_read(io, &source), 0);
	assert_int_equal(source->ops->open(source, 0, &held), 0);
	assert_int_equal(retain(s, (struct cam_retention){.keep_ns = 1}), 2);
	assert_int_equal(source->ops->count(source), 3);
	assert_int_equal(source->ops->open(source, 0, &w), -ENOENT);
	assert_int_equal(source->ops->open(source, 1, &w), -ENOENT);
	assert_int_equal(source->ops->open(source, 3, &w), -EINVAL);
	assert_int_equal(source->ops->open(source, 2, &w), 0);
	w->ops->close(w);
	window_read(held, &found);
	assert_int_equal(found.times[0], 1);
	held->ops->close(held);
	source->ops->close(source);
	cam_store_close(s);
	sim_free(d);
}

/* The open window and queued ones are read; one that is sealed meanwhile is found. */
static void test_open_windows(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct numbered_window w = {.boot = 1, .start_ns = NS, .realtime_ns = REAL};
	struct numbered n, late;
	struct numbers found;
	struct cam_source *source;
	struct cam_window *window;
	unsigned sealed;
	numbered_init(&n, cam_store_journal(s, 0));
	numbered_init(&late, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &w), 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(numbered_append(&n, 3 * i, 3), 0);
		store_read(io, &found);
		assert_int_equal(found.total, 3 * i + 3);
	}
	/* Another one at the same time. */
	w.start_ns = 2 * NS;
	assert_int_equal(numbered_begin(&late, &w), 0);
	assert_int_equal(numbered_append(&late, 100, 3), 0);
	assert_int_equal(numbered_append(&n, 15, 3), 0);
	assert_int_equal(cam_store_open_read(io, &source), 0);
	assert_int_equal(source->ops->count(source), 2);
	assert_int_equal(numbered_end(&n), 0);
	assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	assert_int_equal(sealed, 1);
	found = (struct numbers){0};
	assert_int_equal(source->ops->open(source, 0, &window), 0);
	assert_true(window->info.sealed);
	window_read(window, &found);
	assert_int_equal(found.total, 18);
	window->ops->close(window);
	source->ops->close(source);
	store_read(io, &found);
	assert_int_equal(found.total, 21);
	assert_int_equal(found.windows, 1);
	assert_int_equal(found.journals, 1);
	assert_int_equal(numbered_end(&late), 0);
	cam_store_close(s);
	sim_free(d);
}

/* A disk on which something happens right after a directory was listed. */
struct racing {
	struct relay relay;
	struct cam_store *sealer;
	unsigned lists;
};

static int racing_list(struct cam_io *io, cam_io_list_fn *fn, void *arg)
{
	struct racing *r = (struct racing *)io;
	unsigned sealed;
	int err = relay_ops.list(io, fn, arg);
	if (r->lists++ == 0)
		assert_int_equal(cam_store_seal_pending(r->sealer, &sealed), 0);
	return err;
}

/* Sealed between the reader's look at the names and at the files: neither missed nor doubled. */
static void test_sealed_while_listing(void **state)
{
	(void)state;
	struct cam_io_ops ops = relay_ops;
	struct sim_disk *d = sim_new();
	struct cam_store *s = store_open(sim_io(d));
	struct numbers found;
	for (unsigned i = 0; i < 3; i++) {
		struct numbered_window w = {.boot = 1, .start_ns = (100 + i) * NS};
		numbered_window(s, &w, 10 * i, 3, false);
	}
	struct racing r = {.relay = {{&ops}, sim_io(d)}, .sealer = s};
	ops.list = racing_list;
	store_read(&r.relay.io, &found);
	assert_int_equal(found.total, 9);
	assert_int_equal(found.windows, 3);
	assert_int_equal(r.lists, 2);
	cam_store_close(s);
	sim_free(d);
}

/* What lies between windows: nothing, an intended stop, a crash, another boot. */
static void test_gaps(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct numbered n;
	struct cam_source *source;
	record(s, 1, 100, 0, 0);
	struct numbered_window w = {.boot = 1, .start_ns = 100 * NS + STEP_NS};
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &w), 0);
	assert_int_equal(numbered_append(&n, 1, 3), 0);
	numbered_drop(&n);
	cam_store_close(s);
	s = store_open(io);
	record(s, 1, 200, 0, 10);
	record(s, 1, 300, 0, 20);
	record(s, 2, 50, 0, 30);
	cam_store_close(s);
	static const struct {
		bool gap;
		enum cam_cause cause;
		uint64_t from_ns, to_ns;
	} expected[] = {
		{.gap = false},
		{true, CAM_CAUSE_RECORDER_DEAD, 100 * NS + 3 * STEP_NS + 1, 200 * NS},
		{true, CAM_CAUSE_NOT_RECORDING, 200 * NS + STEP_NS, 300 * NS},
		{true, CAM_CAUSE_NOT_RECORDING, 0, 50 * NS},
	};
	assert_int_equal(cam_store_open_read(io, &source), 0);
	assert_int_equal(source->ops->count(source), 5);
	for (size_t i = 0; i < 4; i++) {
		const struct cam_window_info *a, *b;
		struct cam_ledger_row row = {0};
		assert_int_equal(source->ops->info(source, i, &a), 0);
		assert_int_equal(source->ops->info(source, i + 1, &b), 0);
		assert_int_equal(cam_gap_between(a, b, &row), expected[i].gap);
		assert_int_equal(row.cause, expected[i].cause);
		assert_int_equal(row.from_ns, expected[i].from_ns);
		assert_int_equal(row.to_ns, expected[i].to_ns);
	}
	source->ops->close(source);
	sim_free(d);
}

/* Syncs come at most sync_ns of recorded time apart, and no more often. */
static void test_syncs(void **state)
{
	(void)state;
	static const struct {
		uint64_t sync_ns;
		unsigned expected; /* of 30 blocks of 30 ms, the last one ends at 890 ms */
	} cases[] = {{0, 0}, {1, 30}, {100 * 1000000, 7}, {5 * NS, 0}};
	for (size_t i = 0; i < 4; i++) {
		struct sim_disk *d = sim_new();
		struct cam_store *s = store_open(sim_io(d));
		struct numbered_window w = {.boot = 1, .start_ns = NS};
		struct numbered n;
		numbered_init(&n, cam_store_journal(s, cases[i].sync_ns));
		assert_int_equal(numbered_begin(&n, &w), 0);
		unsigned before = sim_syncs(d);
		for (unsigned k = 0; k < 30; k++)
			assert_int_equal(numbered_append(&n, 3 * k, 3), 0);
		assert_int_equal(sim_syncs(d) - before, cases[i].expected);
		assert_int_equal(numbered_end(&n), 0);
		assert_int_equal(sim_syncs(d) - before, cases[i].expected + 1);
		cam_store_close(s);
		sim_free(d);
	}
}

static void test_empty_windows(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct cam_journal *j = cam_store_journal(s, 0);
	struct cam_tables t;
	struct cam_window_head head = {.boot_id = {{1}}, .start_ns = NS, .time_unit_ns = 1};
	struct cam_block nothing = {0};
	unsigned files = 0, sealed;
	assert_int_equal(cam_tables_init(&t, 1 << 20), 0);
	assert_int_equal(j->append(j, &t, &nothing), -EINVAL);
	assert_int_equal(j->end(j, NS, true), -EINVAL);
	assert_int_equal(j->begin(j, &t, &head), 0);
	assert_int_equal(j->end(j, 2 * NS, false), 0);
	assert_int_equal(io->ops->list(io, count_file, &files), 0);
	assert_int_equal(files, 1); /* the lock */
	assert_int_equal(j->begin(j, &t, &head), 0);
	assert_int_equal(j->end(j, 121 * NS, true), 0);
	assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	assert_int_equal(sealed, 1);
	struct cam_source *source;
	const struct cam_window_info *info;
	assert_int_equal(cam_store_open_read(io, &source), 0);
	assert_int_equal(source->ops->count(source), 1);
	assert_int_equal(source->ops->info(source, 0, &info), 0);
	assert_int_equal(info->samples, 0);
	assert_int_equal(info->end_ns, 121 * NS);
	assert_int_equal(info->sequence, 2);
	assert_true(
		cam_text_equal(info->name, CAM_TEXT("perfcam-unknown-19700101-00-00-01-120s.pcw")));
	source->ops->close(source);
	/* A window that is given up is sealed as it is. */
	assert_int_equal(j->begin(j, &t, &head), 0);
	struct cam_ledger_row row = {.from_ns = NS, .to_ns = 5 * NS, .samples = 3};
	struct cam_block idle = {.ledger = &row, .n_ledger = 1};
	assert_int_equal(j->append(j, &t, &idle), 0);
	assert_int_equal(j->begin(j, &t, &head), 0);
	assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	assert_int_equal(sealed, 1);
	cam_store_close(s);
	/* One that says nothing at all is no window. */
	s = store_open(io);
	assert_int_equal(cam_store_counts(s)->empty, 1);
	assert_int_equal(cam_store_counts(s)->recovered, 0);
	cam_store_close(s);
	cam_tables_free(&t);
	sim_free(d);
}

/* What is not ours stays as it is; what nobody finished goes; readers change nothing. */
static void test_other_files(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct numbers found;
	char name[32];
	size_t n;
	store_read(io, &found);
	assert_int_equal(found.total, 0);
	sim_put(d, "notes.txt", "mine", 4);
	sim_put(d, "open-x.pcj", "mine", 4);
	sim_put(d, "thesis.tmp", "mine", 4);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "perfcam-%u.pcw.tmp", i);
		sim_put(d, name, "half", 4);
	}
	store_read(io, &found);
	assert_non_null(sim_get(d, "perfcam-7.pcw.tmp", &n));
	assert_null(sim_get(d, "lock", &n));
	struct cam_store *s = store_open(io);
	record(s, 1, 1, 0, 0);
	assert_int_equal(retain(s, (struct cam_retention){.max_bytes = 1, .keep_ns = 1}), 0);
	cam_store_close(s);
	assert_null(sim_get(d, "perfcam-7.pcw.tmp", &n));
	assert_null(sim_get(d, "perfcam-199.pcw.tmp", &n));
	assert_memory_equal(sim_get(d, "thesis.tmp", &n), "mine", 4);
	assert_memory_equal(sim_get(d, "notes.txt", &n), "mine", 4);
	assert_memory_equal(sim_get(d, "open-x.pcj", &n), "mine", 4);
	assert_int_equal(sim_open_files(d), 0);
	sim_free(d);
}

/* A second writer is told, and changes nothing; readers need no lock. */
static void test_lock(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io), *second = NULL;
	struct numbers found;
	int holder = 0;
	record(s, 1, 1, 0, 0);
	sim_put(d, "half.tmp", "half", 4);
	uint64_t hash = hash_disk(d, true);
	assert_int_equal(cam_store_open_write(io, &second, &holder), -EWOULDBLOCK);
	assert_int_equal(holder, 4242); /* as the simulated disk has it */
	assert_true(hash_disk(d, true) == hash);
	store_read(io, &found);
	assert_int_equal(found.total, 1);
	cam_store_close(s);
	cam_store_close(store_open(io));
	sim_free(d);
}

/* The rest is about processes, on a real directory. */
static char *make_directory(void)
{
	char path[] = "/tmp/perfcam-test-XXXXXX";
	const char *made = mkdtemp(path);
	assert_non_null(made);
	return strdup(made);
}

static void remove_directory(char *path)
{
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	assert_int_equal(rmdir(path), 0);
	free(path);
}

static struct cam_io *posix_io(const char *path)
{
	struct cam_io *io;
	assert_int_equal(cam_io_posix_open(path, true, &io), 0);
	return io;
}

/* A child that takes the lock, says so, and holds it until it is killed. */
static pid_t fork_holder(const char *path)
{
	int pipe_fds[2];
	char byte;
	assert_int_equal(pipe(pipe_fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct cam_io *io;
		struct cam_store *s;
		int holder;
		if (cam_io_posix_open(path, true, &io) || cam_store_open_write(io, &s, &holder) ||
		    write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	close(pipe_fds[0]);
	return pid;
}

static void test_two_processes(void **state)
{
	(void)state;
	char *path = make_directory();
	struct cam_io *io = posix_io(path);
	pid_t pid = fork_holder(path);
	struct cam_store *s = NULL;
	int holder = 0, status;
	assert_int_equal(cam_store_open_write(io, &s, &holder), -EWOULDBLOCK);
	assert_int_equal(holder, pid);
	/* kill -9 frees the lock. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	s = store_open(io);
	record(s, 1, 1, 0, 0);
	cam_store_close(s);
	cam_io_posix_close(io);
	remove_directory(path);
}

/* Waits for the start, tries, says so, and holds on to what it got until all have tried. */
static void race(const char *path, const int go[2], const int tried[2], const int done[2])
{
	struct cam_io *io;
	struct cam_store *s;
	int holder;
	char byte;
	close(go[1]);
	close(done[1]);
	if (read(go[0], &byte, 1) != 0 || cam_io_posix_open(path, true, &io))
		_exit(2);
	int err = cam_store_open_write(io, &s, &holder);
	if (write(tried[1], "x", 1) != 1 || read(done[0], &byte, 1) != 0)
		_exit(2);
	_exit(err == 0 ? 0 : err == -EWOULDBLOCK ? 1 : 2);
}

/* Ten at once: one gets it, each time. */
static void test_race_for_lock(void **state)
{
	(void)state;
	char *path = make_directory();
	for (unsigned round = 0; round < 20; round++) {
		pid_t pids[10];
		int go[2], tried[2], done[2];
		unsigned winners = 0;
		char byte;
		assert_int_equal(pipe(go) | pipe(tried) | pipe(done), 0);
		for (unsigned i = 0; i < 10; i++) {
			pids[i] = fork();
			assert_true(pids[i] >= 0);
			if (pids[i] == 0)
				race(path, go, tried, done);
		}
		close(go[0]);
		close(go[1]);
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(read(tried[0], &byte, 1), 1);
		close(done[0]);
		close(done[1]);
		close(tried[0]);
		close(tried[1]);
		for (unsigned i = 0; i < 10; i++) {
			int status;
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
			winners += WEXITSTATUS(status) == 0;
		}
		assert_int_equal(winners, 1);
	}
	remove_directory(path);
}

/* Records, seals and deletes as fast as it can; the process ends with it. */
static void write_windows(const char *path, unsigned windows)
{
	struct cam_io *io = posix_io(path);
	struct cam_store *s = store_open(io);
	for (unsigned i = 0; i < windows; i++) {
		struct numbered_window w = {.boot = 1, .start_ns = (100 + 400 * i) * NS};
		unsigned sealed;
		numbered_window(s, &w, 10 * (i % 40), 10, false);
		/* Every second one waits in the queue for a while. */
		if (i % 2 && cam_store_seal_pending(s, &sealed))
			_exit(1);
		retain(s, (struct cam_retention){.keep_ns = 1200 * NS});
	}
	cam_store_close(s);
	cam_io_posix_close(io);
	_exit(0);
}

/* Readers beside it see whole windows, or that one has expired; never anything else. */
static void test_readers_beside_a_writer(void **state)
{
	(void)state;
	char *path = make_directory();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		write_windows(path, 120);
	struct cam_io *io = posix_io(path);
	unsigned rounds = 0, opened = 0, expired = 0;
	int status = 0;
	for (; waitpid(pid, &status, WNOHANG) == 0; rounds++) {
		struct cam_source *source;
		assert_int_equal(cam_store_open_read(io, &source), 0);
		for (size_t i = 0; i < source->ops->count(source); i++) {
			struct numbers found = {0};
			struct cam_window *w;
			int err = source->ops->open(source, i, &w);
			expired += err == -ENOENT;
			if (err) {
				assert_int_equal(err, -ENOENT);
				continue;
			}
			window_read(w, &found);
			assert_int_equal(found.damaged + found.nameless, 0);
			/* All of a window, or of an open one what is written: nothing yet, or all. */
			assert_true(found.total == 10 || (!w->info.sealed && found.total == 0));
			opened++;
			w->ops->close(w);
		}
		source->ops->close(source);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(rounds > 3 && opened > 3);
	print_message("# %u rounds, %u windows read, %u expired meanwhile\n", rounds, opened,
		      expired);
	cam_io_posix_close(io);
	remove_directory(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_clock_steps),
		cmocka_unit_test(test_retain),
		cmocka_unit_test(test_readers_and_retention),
		cmocka_unit_test(test_open_windows),
		cmocka_unit_test(test_sealed_while_listing),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_syncs),
		cmocka_unit_test(test_empty_windows),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_two_processes),
		cmocka_unit_test(test_race_for_lock),
		cmocka_unit_test(test_readers_beside_a_writer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
