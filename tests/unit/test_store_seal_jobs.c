// SPDX-License-Identifier: Apache-2.0
/*
 * Sealing apart from the writer: jobs that somebody else does, well, badly, or not at all. Whatever
 * a child does, the window is there as a good journal or as a good sealed file.
 */
#include "store/seal.h"
#include "store/store_parts.h"
#include "store/window.h"
#include "support_sim_io.h"
#include "support_store.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define REAL   INT64_C(1776222000000000000)
#define WINDOW "perfcam-h-20260415-03-00-00-1s.pcw"

static struct cam_store *open_live(struct cam_io *io)
{
	struct cam_store *s;
	int holder;
	assert_int_equal(cam_store_open_live(io, &s, &holder), 0);
	return s;
}

/* The k-th window, of three samples, a hundred seconds after the one before. */
static void write_one(struct cam_store *s, unsigned k)
{
	struct numbered_window w = {.boot = 1,
				    .start_ns = (100 + k * 100) * NS,
				    .realtime_ns = REAL + k * 100 * (int64_t)NS};
	numbered_window(s, &w, 3 * k, 3, false);
}

static struct cam_seal_job next_job(struct cam_store *s)
{
	struct cam_seal_job job;
	assert_int_equal(cam_store_seal_next(s, &job), 1);
	return job;
}

static void assert_no_job(struct cam_store *s)
{
	struct cam_seal_job job;
	assert_int_equal(cam_store_seal_next(s, &job), 0);
}

static int do_job(struct cam_store *s, struct cam_seal_job *job)
{
	return cam_store_seal_done(s, job, cam_seal_files(job->journal, job->window));
}

static struct numbers read_all(struct cam_io *io, unsigned expected)
{
	struct numbers found;
	store_read(io, &found);
	assert_int_equal(found.total, expected);
	for (unsigned k = 0; k < expected; k++)
		assert_int_equal(found.times[k], 1);
	return found;
}

/* A recorder begins at once; what a crash left is done bit by bit, beside it. */
static void test_live(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	for (unsigned k = 0; k < 3; k++)
		write_one(s, k);
	cam_store_close(s);
	s = open_live(sim_io(d));
	assert_int_equal(cam_store_counts(s)->recovered, 0);
	assert_int_equal(cam_store_seal_waiting(s), 3);
	assert_int_equal(read_all(sim_io(d), 9).journals, 3);
	struct cam_seal_job first = next_job(s);
	assert_string_equal(first.name, "open-00000001.pcj");
	/* The next windows get numbers of their own, whatever is still waiting. */
	write_one(s, 3);
	struct cam_seal_job second = next_job(s);
	assert_string_equal(second.name, "open-00000002.pcj");
	assert_int_equal(do_job(s, &second), 0);
	assert_int_equal(do_job(s, &first), 0);
	assert_string_equal(first.sealed, WINDOW);
	assert_int_equal(cam_store_seal_waiting(s), 2);
	for (unsigned k = 0; k < 2; k++) {
		struct cam_seal_job job = next_job(s);
		assert_int_equal(do_job(s, &job), 0);
	}
	assert_no_job(s);
	assert_int_equal(cam_store_seal_waiting(s), 0);
	assert_int_equal(cam_store_counts(s)->recovered, 3);
	struct numbers found = read_all(sim_io(d), 12);
	assert_int_equal(found.journals, 0);
	assert_int_equal(found.windows, 4);
	cam_store_close(s);
	assert_int_equal(sim_open_files(d), 0);
	sim_free(d);
}

/* Nothing to do costs nothing: a recorder asks again and again. */
static void test_idle(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	write_one(s, 0);
	struct cam_seal_job job = next_job(s);
	assert_int_equal(do_job(s, &job), 0);
	assert_no_job(s);
	sim_set_plan(d, &(struct sim_plan){0});
	for (unsigned i = 0; i < 100; i++)
		assert_no_job(s);
	assert_int_equal(sim_calls(d), 0);
	cam_store_close(s);
	sim_free(d);
}

/* The child died: once more when the next window has ended, and then it stays as it is. */
static void test_child_fails(void **state)
{
	(void)state;
	static const int how[] = {-EFAULT, -ENOMEM, -EBADMSG, 7};
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		struct sim_disk *d = sim_new();
		struct cam_store *s = open_live(sim_io(d));
		write_one(s, 0);
		struct cam_seal_job job = next_job(s);
		/* It had got so far. */
		assert_int_equal(job.window->ops->pwrite(job.window, "half", 4, 0), 0);
		assert_true(cam_store_seal_done(s, &job, how[i]) < 0);
		assert_no_job(s);
		write_one(s, 1);
		struct cam_seal_job again = next_job(s);
		assert_string_equal(again.name, job.name);
		assert_true(cam_store_seal_done(s, &again, how[i]) < 0);
		struct cam_seal_job other = next_job(s);
		assert_int_equal(do_job(s, &other), 0);
		write_one(s, 2);
		struct cam_seal_job third = next_job(s);
		assert_string_equal(third.name, "open-00000003.pcj");
		assert_int_equal(do_job(s, &third), 0);
		assert_no_job(s);
		assert_int_equal(cam_store_counts(s)->unsealed, 1);
		assert_int_equal(cam_store_seal_waiting(s), 1);
		assert_int_equal(read_all(sim_io(d), 9).journals, 1);
		cam_store_close(s);
		assert_int_equal(sim_open_files(d), 0);
		/* The next writer tries anew. */
		s = open_live(sim_io(d));
		job = next_job(s);
		assert_int_equal(do_job(s, &job), 0);
		assert_int_equal(read_all(sim_io(d), 9).journals, 0);
		cam_store_close(s);
		sim_free(d);
	}
}

/* A full disk, or a stop in the middle, is nobody's fault: as often as it takes. */
static void test_passing_failures(void **state)
{
	(void)state;
	static const int how[] = {-ENOSPC, -EIO, -ECANCELED};
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	write_one(s, 0);
	for (unsigned k = 1; k < 7; k++) {
		struct cam_seal_job job = next_job(s);
		assert_string_equal(job.name, "open-00000001.pcj");
		assert_int_equal(cam_store_seal_done(s, &job, how[k % 3]), how[k % 3]);
		write_one(s, k);
	}
	unsigned sealed;
	assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	assert_int_equal(sealed, 7);
	assert_int_equal(read_all(sim_io(d), 21).journals, 0);
	cam_store_close(s);
	sim_free(d);
}

static void put_file(struct cam_file *f, const uint8_t *bytes, size_t n)
{
	assert_int_equal(f->ops->pwrite(f, bytes, n, 0), 0);
}

/* What another store made of window k. */
static uint8_t *sealed_bytes(unsigned k, unsigned samples, size_t *n)
{
	struct sim_disk *d = sim_new();
	struct cam_store *s = store_open(sim_io(d));
	char name[CAM_NAME_BYTES];
	for (unsigned i = 0; i <= k; i++)
		numbered_window(s,
				&(struct numbered_window){.boot = 1,
							  .start_ns = (100 + i * 100) * NS,
							  .realtime_ns = REAL},
				3 * i, samples, true);
	snprintf(name, sizeof(name), k ? "perfcam-h-20260415-03-00-00-1s.%u.pcw" : WINDOW, k + 1);
	const uint8_t *bytes = sim_get(d, name, n);
	assert_non_null(bytes);
	uint8_t *copy = malloc(*n);
	assert_non_null(copy);
	memcpy(copy, bytes, *n);
	cam_store_close(s);
	sim_free(d);
	return copy;
}

/* A child that says all is well, and has left something else. */
static void check_lie(const uint8_t *bytes, size_t n)
{
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	write_one(s, 0);
	struct cam_seal_job job = next_job(s);
	if (n)
		put_file(job.window, bytes, n);
	assert_int_equal(cam_store_seal_done(s, &job, 0), -EBADMSG);
	struct numbers found = read_all(sim_io(d), 3);
	assert_int_equal(found.journals, 1);
	assert_int_equal(found.windows, 0);
	size_t left;
	assert_null(sim_get(d, "open-00000001.pcj.tmp", &left));
	unsigned sealed;
	assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	assert_int_equal(sealed, 1);
	cam_store_close(s);
	assert_int_equal(sim_open_files(d), 0);
	sim_free(d);
}

static void test_lies(void **state)
{
	(void)state;
	size_t good_n, other_n, fewer_n;
	uint8_t *good = sealed_bytes(0, 3, &good_n), *other = sealed_bytes(1, 3, &other_n);
	uint8_t *fewer = sealed_bytes(0, 2, &fewer_n);
	check_lie(NULL, 0);
	check_lie((const uint8_t *)"nonsense", 8);
	check_lie(other, other_n); /* another window */
	check_lie(fewer, fewer_n); /* not all samples, and not a word about them */
	for (size_t n = 1; n < good_n; n += good_n / 40)
		check_lie(good, n);
	/* Every byte of header, both directories and trailer. */
	struct cam_window *w;
	struct sim_disk *d = sim_new();
	sim_put(d, "x.pcw", good, good_n);
	assert_int_equal(cam_store_open_file(sim_io(d), "x.pcw", &w), 0);
	assert_int_equal(cam_window_check(w), 0);
	w->ops->close(w);
	for (size_t at = 0; at < good_n; at += at < 200 || at + 200 > good_n ? 1 : 97) {
		good[at] ^= 4;
		sim_put(d, "x.pcw", good, good_n);
		int err = cam_store_open_file(sim_io(d), "x.pcw", &w);
		if (!err) {
			err = cam_window_check(w);
			w->ops->close(w);
		}
		if (err)
			check_lie(good, good_n);
		assert_true(err || (at >= 100 && at + 100 < good_n));
		good[at] ^= 4;
	}
	sim_free(d);
	free(good);
	free(other);
	free(fewer);
}

/* Retention goes on beside it, and spares what is being sealed. */
static void test_retention_beside(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	struct cam_retention keep = {.keep_ns = 1};
	unsigned deleted;
	for (unsigned k = 0; k < 12; k++)
		write_one(s, k);
	struct cam_seal_job job = next_job(s);
	assert_string_equal(job.name, "open-00000001.pcj");
	assert_int_equal(cam_store_retain(s, &keep, &deleted), 0);
	/* The newest ten minutes stay, and so does the one that is being sealed. */
	assert_int_equal(deleted, 5);
	assert_int_equal(do_job(s, &job), 0);
	struct numbers found;
	store_read(sim_io(d), &found);
	for (unsigned k = 0; k < 12; k++)
		assert_int_equal(found.times[3 * k], k == 0 || k >= 6);
	assert_int_equal(cam_store_retain(s, &keep, &deleted), 0);
	assert_int_equal(deleted, 1);
	cam_store_close(s);
	sim_free(d);
}

/* A journal with a hole: the sealed one lacks samples, and says how many. */
static void test_damaged_journal(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	struct numbered n;
	size_t ends[4];
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &(struct numbered_window){.boot = 1, .start_ns = NS}),
			 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(numbered_append(&n, 3 * i, 3), 0);
		sim_get(d, "open-00000001.pcj", &ends[i]);
	}
	assert_int_equal(numbered_end(&n), 0);
	sim_flip(d, "open-00000001.pcj", (ends[1] + 40) * 8);
	struct cam_seal_job job = next_job(s);
	assert_int_equal(do_job(s, &job), 0);
	struct numbers found;
	store_read(sim_io(d), &found);
	assert_int_equal(found.total, 9);
	assert_int_equal(found.windows, 1);
	numbered_drop(&n);
	cam_store_close(s);
	sim_free(d);
}

/* A journal with nothing but an anchor: its writer died in the first second. */
static void test_nothing_in_it(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	struct cam_tables t;
	struct cam_anchor anchor = {.time_ns = 5 * NS, .realtime_ns = REAL};
	struct cam_window_head head = {.start_ns = 5 * NS, .time_unit_ns = 1};
	struct cam_block block = {.anchors = &anchor, .n_anchors = 1};
	struct cam_journal *j = cam_store_journal(s, 0);
	assert_int_equal(cam_tables_init(&t, 1 << 20), 0);
	assert_int_equal(j->begin(j, &t, &head), 0);
	assert_int_equal(j->append(j, &t, &block), 0);
	cam_store_close(s);
	cam_tables_free(&t);
	s = open_live(sim_io(d));
	struct cam_seal_job job = next_job(s);
	assert_int_equal(do_job(s, &job), 0);
	assert_string_equal(job.sealed, "");
	assert_int_equal(cam_store_counts(s)->empty, 1);
	assert_int_equal(cam_store_seal_waiting(s), 0);
	read_all(sim_io(d), 0);
	cam_store_close(s);
	sim_free(d);
}

struct posix {
	char path[64];
	struct cam_io *io;
};

static struct posix posix_new(void)
{
	struct posix p;
	strcpy(p.path, "/tmp/perfcam-jobs-XXXXXX");
	assert_non_null(mkdtemp(p.path));
	assert_int_equal(cam_io_posix_open(p.path, false, &p.io), 0);
	return p;
}

static int remove_file(void *arg, const char *name)
{
	struct cam_io *io = arg;
	return io->ops->unlink(io, name);
}

static void posix_free(struct posix *p)
{
	assert_int_equal(p->io->ops->list(p->io, remove_file, p->io), 0);
	cam_io_posix_close(p->io);
	assert_int_equal(rmdir(p->path), 0);
}

/* Runs a job in a child that has nothing but two descriptors. */
static int run_child(struct cam_seal_job *job, bool kill_it)
{
	int status;
	int journal = cam_file_fd(job->journal), window = cam_file_fd(job->window);
	assert_true(journal >= 0 && window >= 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (kill_it)
			raise(SIGKILL);
		_exit(-cam_seal_fds(journal, window));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
}

static void test_real_child(void **state)
{
	(void)state;
	struct posix p = posix_new();
	struct cam_store *s = open_live(p.io);
	size_t n;
	uint8_t *expected = sealed_bytes(0, 3, &n), *got = malloc(n + 1);
	assert_non_null(got);
	write_one(s, 0);
	struct cam_seal_job job = next_job(s);
	assert_int_equal(cam_store_seal_done(s, &job, run_child(&job, true)), -EFAULT);
	assert_int_equal(read_all(p.io, 3).journals, 1);
	write_one(s, 1);
	job = next_job(s);
	assert_int_equal(cam_store_seal_done(s, &job, run_child(&job, false)), 0);
	assert_string_equal(job.sealed, WINDOW);
	/* The same bytes as another store's own process made on another kind of disk. */
	struct cam_file *f;
	assert_int_equal(p.io->ops->open(p.io, WINDOW, CAM_IO_READ, &f), 0);
	assert_int_equal(f->ops->pread(f, got, n + 1, 0), n);
	assert_memory_equal(got, expected, n);
	f->ops->close(f);
	assert_int_equal(read_all(p.io, 6).journals, 1);
	cam_store_close(s);
	posix_free(&p);
	free(expected);
	free(got);
}

/* Only real files have a descriptor. */
static void test_no_descriptor(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = open_live(sim_io(d));
	write_one(s, 0);
	struct cam_seal_job job = next_job(s);
	assert_int_equal(cam_file_fd(job.journal), -EBADF);
	assert_int_equal(cam_store_seal_done(s, &job, -ECANCELED), -ECANCELED);
	cam_store_close(s);
	sim_free(d);
}

int main(void)
{
	keep_memory();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_child_fails),
		cmocka_unit_test(test_passing_failures),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_retention_beside),
		cmocka_unit_test(test_damaged_journal),
		cmocka_unit_test(test_nothing_in_it),
		cmocka_unit_test(test_real_child),
		cmocka_unit_test(test_no_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
