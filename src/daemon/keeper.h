// SPDX-License-Identifier: Apache-2.0
/*
 * Who looks after the store while recording: opens it (again and again, if it cannot be had), hands
 * its doors to ingest, has closed windows sealed in a helper process, keeps the retention.
 *
 * Ingest thread. Recording never waits for the store: where it cannot be written the doors refuse,
 * ingest keeps what fits and counts the rest, and the keeper tries again.
 */
#pragma once
#include "daemon/findings.h"
#include "daemon/settings.h"
#include "model/journal.h"
#include "store/store.h"

struct cam_keeper;

struct cam_keeper_stats {
	bool open;
	int error;	   /* why it is not open, or the last thing that failed; 0: nothing */
	uint64_t failures; /* as often as that happened */
	uint32_t sealed, recovered;
	size_t waiting; /* closed, not yet sealed */
	uint64_t ended; /* windows that were closed */
	uint32_t deleted;
	uint32_t sealer_starts;
	int sealer_pid;
	uint64_t sealer_cpu_ns;
	uint64_t sealed_bytes; /* of those windows: another process has written them */
};

/*
 * The store's directory is made if need be. -EWOULDBLOCK: another recorder (*holder, 0: not known)
 * has it. Every other failure is left for later: the keeper is made, and tries again every 10 s.
 */
int cam_keeper_new(const struct cam_settings *s, struct cam_keeper **out, int *holder);
/* Waits for a sealing that runs, wait_ns at most; the rest is for the next start. */
void cam_keeper_free(struct cam_keeper *k, uint64_t wait_ns);

/* For cam_live: doors for windows, used in turn. */
struct cam_journal *cam_keeper_door(void *keeper);
/* About every 200 ms. */
void cam_keeper_tick(struct cam_keeper *k, uint64_t now_ns);
/* A reload changed the limits. */
void cam_keeper_limits(struct cam_keeper *k, const struct cam_settings *s);
/*
 * Seals everything that is closed, wait_ns at most, and hurry_ns from when SIGTERM or SIGINT comes from signal_fd; the name of
 * the last window sealed, or "".
 */
int cam_keeper_seal_all(struct cam_keeper *k, uint64_t wait_ns, int signal_fd, uint64_t hurry_ns,
			char name[CAM_NAME_BYTES]);
/* Watches the window that was closed last… */
void cam_keeper_watch(struct cam_keeper *k);
/* …-EINPROGRESS: is not sealed yet; 0: *name is what it became, "": there was nothing in it; or why it could
 * not be sealed (its journal stays, readable). */
int cam_keeper_watched(const struct cam_keeper *k, const char **name);
/* Before the end: a store that is not open is tried once more, however short ago it was. */
void cam_keeper_last_try(struct cam_keeper *k);
/* The store's directory is not where it was: somebody has deleted or moved it. */
bool cam_keeper_is_gone(const struct cam_keeper *k);
/* Gives the store up and makes another one in that place. Windows should have been ended before. */
int cam_keeper_renew(struct cam_keeper *k);
/* The store, for marks and pins; NULL while it is not open. */
struct cam_store *cam_keeper_store(struct cam_keeper *k);
struct cam_io *cam_keeper_io(struct cam_keeper *k);
struct cam_keeper_stats cam_keeper_stats(const struct cam_keeper *k);

/* What was found in each window that is sealed from now on, once it is. */
void cam_keeper_tell(struct cam_keeper *k, cam_finding_fn *fn, void *arg);

/* What a store could not be opened or written for, in words. */
const char *cam_keeper_words(int err);

/* The child's side of sealing: `perfcam helper sealer`. Answers its exit status. */
int cam_sealer_run(int socket);
