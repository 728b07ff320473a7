// SPDX-License-Identifier: Apache-2.0
/*
 * One sealing at a time, in a niced child that gets two descriptors and nothing else. The child's
 * exit status is minus the errno it ended with (0: sealed).
 *
 * Invariants
 *  1. A door that ingest holds is always good to call: it answers an error while there is no store.
 *  2. The store is never closed while a door is inside a window or a sealing runs.
 *  3. Retention runs after every window that ended, and when the disk was found full.
 *  4. A door that is inside a window when its store is given up refuses until its next begin().
 */
#include "daemon/keeper.h"

#include "base/units.h"
#include "daemon/meter.h"
#include "daemon/paths.h"
#include "daemon/syncer.h"
#include "helper/helper.h"
#include "store/io.h"
#include "store/seal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DOORS 3u
/* A power cut costs 5 s at most: a block comes up to 1.5 s after its samples, and a sync takes its time. */
#define SYNC_NS		 (3 * CAM_NS_PER_SEC)
#define REOPEN_NS	 (10 * CAM_NS_PER_SEC)
#define SEAL_TIMEOUT_NS	 (600 * CAM_NS_PER_SEC)
#define RETAIN_NS	 (60 * CAM_NS_PER_SEC)
#define RETAIN_WHEN_FULL (2 * CAM_NS_PER_SEC)
#define LET_GO_NS	 (2 * CAM_NS_PER_SEC)

struct door {
	struct cam_journal journal; /* what ingest sees */
	struct cam_journal *inner;  /* the store's; NULL: none yet */
	struct cam_keeper *keeper;
};

struct cam_keeper {
	const struct cam_settings *settings;
	struct cam_io *io;
	struct cam_store *store;
	struct cam_sync_thread *syncer; /* NULL: none */
	struct door doors[DOORS];
	unsigned next_door;
	uint64_t opened_ns, retained_ns;
	bool retain_now, disk_full;
	struct cam_retention limits;

	struct cam_helper sealer;
	cam_finding_fn *tell; /* NULL: nobody wants to know */
	void *tell_arg;
	struct cam_seal_job job;
	bool sealing, seal_tried;
	uint64_t seal_started_ns;
	char last_sealed[CAM_NAME_BYTES];
	char last_ended[CAM_NAME_BYTES]; /* a journal */
	struct {
		char journal[CAM_NAME_BYTES], window[CAM_NAME_BYTES];
		int result;
	} watched;
	struct stat directory; /* the store's, when it was opened */
	struct cam_keeper_stats stats;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static int note(struct cam_keeper *k, int err)
{
	if (err) {
		k->stats.error = err;
		k->stats.failures++;
		k->disk_full |= err == -ENOSPC || err == -EDQUOT;
	}
	return err;
}

static int open_store(struct cam_keeper *k, int *holder)
{
	k->opened_ns = now_ns();
	int err = 0;
	if (!k->io && k->settings->origins[CAM_SET_STORE].kind == CAM_FROM_DEFAULT)
		cam_paths_make_store_parents();
	if (!k->io)
		err = cam_io_posix_open(k->settings->store, true, &k->io);
	if (!err)
		err = cam_store_open_live(k->io, &k->store, holder);
	if (err)
		return err;
	if (stat(k->settings->store, &k->directory))
		k->directory = (struct stat){0};
	if (k->syncer)
		cam_store_set_syncer(k->store, cam_sync_thread_door(k->syncer));
	k->stats.error = 0;
	k->retain_now = true;
	cam_keeper_limits(k, k->settings);
	return 0;
}

static int door_begin(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_window_head *head)
{
	struct door *d = j->self;
	struct cam_keeper *k = d->keeper;
	if (!k->store)
		return k->stats.error ? k->stats.error : -EROFS;
	if (!d->inner)
		d->inner = cam_store_journal(k->store, SYNC_NS);
	return d->inner ? note(k, d->inner->begin(d->inner, t, head)) : -ENOMEM;
}

static int door_append(struct cam_journal *j, const struct cam_tables *t,
		       const struct cam_block *block)
{
	struct door *d = j->self;
	return d->inner ? note(d->keeper, d->inner->append(d->inner, t, block)) : -EROFS;
}

static int door_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	struct door *d = j->self;
	if (!d->inner)
		return -EROFS;
	struct cam_keeper *k = d->keeper;
	int err = note(k, d->inner->end(d->inner, end_ns, keep_empty));
	if (err)
		return err;
	snprintf(k->last_ended, sizeof(k->last_ended), "%s", cam_store_journal_name(d->inner));
	k->stats.ended++;
	k->retain_now = true;
	return 0;
}

struct cam_journal *cam_keeper_door(void *keeper)
{
	struct cam_keeper *k = keeper;
	return &k->doors[k->next_door++ % DOORS].journal;
}

/*
 * The holder of the lock is dead: a helper that it was just making has the descriptor yet, and lets go of
 * it as soon as it runs. Whoever starts a recorder again after a crash should not be sent away.
 */
static int open_after_death(struct cam_keeper *k, int *holder)
{
	const struct timespec pause = {.tv_nsec = 20 * CAM_NS_PER_MS};
	int err = open_store(k, holder);
	for (uint64_t since = now_ns();
	     err == -EWOULDBLOCK && *holder && now_ns() - since < LET_GO_NS && kill(*holder, 0) &&
	     errno == ESRCH;
	     err = open_store(k, holder))
		nanosleep(&pause, NULL);
	return err;
}

int cam_keeper_new(const struct cam_settings *s, struct cam_keeper **out, int *holder)
{
	struct cam_keeper *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->settings = s;
	k->syncer = cam_sync_thread_start();
	k->sealer = (struct cam_helper){.socket = -1, .pidfd = -1};
	for (unsigned i = 0; i < DOORS; i++) {
		k->doors[i] = (struct door){.keeper = k};
		k->doors[i].journal = (struct cam_journal){
			.self = &k->doors[i],
			.begin = door_begin,
			.append = door_append,
			.end = door_end,
		};
	}
	int err = open_after_death(k, holder);
	if (err == -EWOULDBLOCK) {
		cam_keeper_free(k, 0);
		return err;
	}
	note(k, err);
	*out = k;
	return 0;
}

void cam_keeper_limits(struct cam_keeper *k, const struct cam_settings *s)
{
	uint64_t total = 0, free_bytes = 0;
	k->settings = s;
	if (k->io)
		note(k, k->io->ops->space(k->io, &total, &free_bytes));
	k->limits = cam_settings_retention(s, total);
	k->retain_now = true;
}

static void retain(struct cam_keeper *k, uint64_t now)
{
	/* A full disk is looked after at once, but not in every tick. */
	uint64_t pause = k->disk_full ? RETAIN_WHEN_FULL : RETAIN_NS;
	if (!k->retain_now && now - k->retained_ns < pause)
		return;
	unsigned deleted = 0;
	struct cam_retention limits = k->limits;
	k->retain_now = k->disk_full = false;
	k->retained_ns = now;
	note(k, cam_store_retain(k->store, &limits, &deleted));
	k->stats.deleted += deleted;
}

/* The two descriptors travel as packets of their own: which is which is their order. */
static int hand_over(struct cam_keeper *k)
{
	int err = cam_packet_send(k->sealer.socket, "journal", 7, cam_file_fd(k->job.journal));
	if (!err)
		err = cam_packet_send(k->sealer.socket, "window", 6, cam_file_fd(k->job.window));
	return err;
}

static void settle_watched(struct cam_keeper *k, int result, const char *window)
{
	if (k->watched.result != -EINPROGRESS)
		return;
	k->watched.result = result;
	snprintf(k->watched.window, sizeof(k->watched.window), "%s", window);
}

static int finish_job(struct cam_keeper *k, int result)
{
	struct stat window;
	bool has_size = !fstat(cam_file_fd(k->job.window), &window);
	int err = cam_store_seal_done(k->store, &k->job, result);
	k->sealing = false;
	if (!strcmp(k->job.name, k->watched.journal))
		settle_watched(k, err, k->job.sealed);
	if (!err && k->job.sealed[0]) {
		k->stats.sealed++;
		k->stats.sealed_bytes += has_size ? (uint64_t)window.st_size : 0;
		memcpy(k->last_sealed, k->job.sealed, sizeof(k->last_sealed));
	}
	k->retain_now |= !err;
	note(k, err);
	return err;
}

static void start_sealing(struct cam_keeper *k, uint64_t now)
{
	int got = cam_store_seal_next(k->store, &k->job);
	if (got < 0)
		note(k, got);
	if (got <= 0) {
		/* All were tried, and it was not among them: it was empty, or could not be begun. */
		settle_watched(k, got, "");
		return;
	}
	k->sealing = true;
	k->seal_started_ns = now;
	int err = cam_helper_start(&k->sealer, CAM_HELPER_SEALER, -1, NULL);
	if (!err) {
		k->stats.sealer_starts++;
		err = hand_over(k);
		if (err)
			cam_helper_stop(&k->sealer, NULL);
	}
	if (err)
		finish_job(k, err);
}

/* CPU of all children that were reaped so far. */
static uint64_t reaped_cpu_ns(void)
{
	struct rusage u;
	if (getrusage(RUSAGE_CHILDREN, &u))
		return 0;
	return cam_meter_used_ns(&u);
}

static bool has_ended(struct cam_keeper *k, int *status)
{
	uint64_t before = reaped_cpu_ns();
	if (cam_helper_poll(&k->sealer, status) != 1)
		return false;
	k->stats.sealer_cpu_ns += reaped_cpu_ns() - before;
	return true;
}

static void end_sealer(struct cam_keeper *k, int status)
{
	int result = WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
	struct cam_finding found[CAM_FINDINGS_MAX];
	size_t n = result ? 0 : cam_findings_receive(k->sealer.socket, found);
	cam_helper_stop(&k->sealer, NULL);
	/* One that is not in its place is sealed again, and found again. */
	if (finish_job(k, result))
		n = 0;
	for (size_t i = 0; i < n && k->tell; i++)
		k->tell(k->tell_arg, &found[i]);
}

/* Whether one ended, in this call. */
static bool end_sealing(struct cam_keeper *k, uint64_t now)
{
	int status;
	if (k->sealing && has_ended(k, &status)) {
		end_sealer(k, status);
		return true;
	}
	if (!k->sealing || now - k->seal_started_ns <= SEAL_TIMEOUT_NS)
		return false;
	cam_helper_stop(&k->sealer, NULL);
	finish_job(k, -ETIMEDOUT);
	return true;
}

void cam_keeper_tick(struct cam_keeper *k, uint64_t now)
{
	int holder;
	if (!k->store && now - k->opened_ns >= REOPEN_NS)
		note(k, open_store(k, &holder));
	/* The disk may hold up each of these: what is recorded meanwhile is written in between. */
	if (!k->store || end_sealing(k, now))
		return;
	if (!k->sealing)
		start_sealing(k, now);
	retain(k, now);
}

void cam_keeper_last_try(struct cam_keeper *k)
{
	int holder;
	if (!k->store)
		note(k, open_store(k, &holder));
}

/* Whether somebody wants it to end; a reload has nothing to reload any more. */
static bool is_told_to_end(int signal_fd)
{
	struct signalfd_siginfo s;
	bool told = false;
	while (read(signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
		told = told || s.ssi_signo == SIGTERM || s.ssi_signo == SIGINT;
	return told;
}

int cam_keeper_seal_all(struct cam_keeper *k, uint64_t wait_ns, int signal_fd, uint64_t hurry_ns,
			char name[CAM_NAME_BYTES])
{
	uint64_t until = now_ns() + wait_ns;
	/* What came until now is what ended it: some send theirs twice. */
	is_told_to_end(signal_fd);
	name[0] = '\0';
	k->last_sealed[0] = '\0';
	while (k->store) {
		uint64_t now = now_ns();
		end_sealing(k, now);
		if (!k->sealing)
			start_sealing(k, now);
		if (!k->sealing)
			break;
		if (now >= until)
			return -ETIMEDOUT;
		struct pollfd ended = {.fd = k->sealer.pidfd, .events = POLLIN};
		if (poll(&ended, 1, 20) < 0 && errno != EINTR)
			return -errno;
		if (is_told_to_end(signal_fd) && now + hurry_ns < until)
			until = now + hurry_ns;
	}
	memcpy(name, k->last_sealed, sizeof(k->last_sealed));
	return k->store ? 0 : k->stats.error;
}

/* Waits for a sealing that runs, wait_ns at most. */
static void close_store(struct cam_keeper *k, uint64_t wait_ns)
{
	uint64_t until = now_ns() + wait_ns;
	while (k->sealing) {
		int status;
		if (has_ended(k, &status)) {
			end_sealer(k, status);
		} else if (now_ns() >= until) {
			cam_helper_stop(&k->sealer, NULL);
			finish_job(k, -ECANCELED);
		} else {
			poll(&(struct pollfd){.fd = k->sealer.pidfd, .events = POLLIN}, 1, 20);
		}
	}
	settle_watched(k, -ECANCELED, "");
	for (unsigned i = 0; i < DOORS; i++)
		k->doors[i].inner = NULL;
	if (k->store)
		cam_store_close(k->store);
	if (k->io)
		cam_io_posix_close(k->io);
	k->store = NULL;
	k->io = NULL;
}

void cam_keeper_free(struct cam_keeper *k, uint64_t wait_ns)
{
	if (!k)
		return;
	close_store(k, wait_ns);
	cam_sync_thread_free(k->syncer);
	free(k);
}

void cam_keeper_watch(struct cam_keeper *k)
{
	memcpy(k->watched.journal, k->last_ended, sizeof(k->watched.journal));
	k->watched.result = -EINPROGRESS;
}

int cam_keeper_watched(const struct cam_keeper *k, const char **name)
{
	*name = k->watched.window;
	return k->watched.result;
}

bool cam_keeper_is_gone(const struct cam_keeper *k)
{
	struct stat now;
	if (!k->store || !k->directory.st_ino)
		return false;
	if (stat(k->settings->store, &now))
		return errno == ENOENT || errno == ENOTDIR;
	return now.st_dev != k->directory.st_dev || now.st_ino != k->directory.st_ino;
}

int cam_keeper_renew(struct cam_keeper *k)
{
	int holder;
	close_store(k, 0);
	return note(k, open_store(k, &holder));
}

struct cam_store *cam_keeper_store(struct cam_keeper *k)
{
	return k->store;
}

struct cam_io *cam_keeper_io(struct cam_keeper *k)
{
	return k->io;
}

struct cam_keeper_stats cam_keeper_stats(const struct cam_keeper *k)
{
	struct cam_keeper_stats s = k->stats;
	s.open = k->store != NULL;
	s.sealer_pid = k->sealing ? (int)k->sealer.pid : 0;
	if (k->store) {
		s.recovered = cam_store_counts(k->store)->recovered;
		s.waiting = cam_store_seal_waiting(k->store);
	}
	return s;
}

void cam_keeper_tell(struct cam_keeper *k, cam_finding_fn *fn, void *arg)
{
	k->tell = fn;
	k->tell_arg = arg;
}

const char *cam_keeper_words(int err)
{
	/* As io.h has it, and as no kernel says it to root. */
	return err == -EPERM
		       ? "not permitted (a store that its group or others may write to is refused: "
			 "chmod go-w)"
		       : strerror(-err);
}

static int receive_file(int socket, struct cam_file **out)
{
	char word[16];
	int fd = -1;
	ssize_t n = cam_packet_receive(socket, word, sizeof(word), &fd);
	if (n < 0)
		return (int)n;
	return fd < 0 ? -EBADMSG : cam_file_from_fd(fd, out);
}

int cam_sealer_run(int socket)
{
	struct cam_file *journal, *window;
	int err = receive_file(socket, &journal);
	if (!err)
		err = receive_file(socket, &window);
	if (!err)
		err = cam_confine(CAM_CONFINE_SEALER);
	if (!err)
		err = cam_seal_files(journal, window);
	/* The recorder syncs it, too, since it takes nobody's word; then there is nothing left to wait for. */
	if (!err)
		err = window->ops->fdatasync(window);
	/* The window is whole, whatever comes of that. */
	if (!err)
		cam_findings_send(window, socket);
	return err < 0 && err > -126 ? -err : err ? 125 : 0;
}
