// SPDX-License-Identifier: Apache-2.0
/*
 * Closes descriptors of profiled files beside the recorder's own threads. Of a file system in user space close(2) asks the
 * server (FUSE's FLUSH) and waits for it, beyond SIGKILL: who records must not.
 *
 * A thread closes what comes through a pipe, one after the other. Where all there are have been at the same descriptor for half
 * a second, another one goes on with the rest, and they come back when their servers have answered; CAM_CLOSER_THREADS at
 * most: so many servers may hang at a time. What then waits keeps its place among the files that may be open: cam_closer_pending().
 *
 * The pipe's write end and `queued` are of the one thread that hands over; `closed` and a worker's since_ns are shared.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CAM_CLOSER_THREADS 8u

struct cam_closer;
struct cam_closer_worker {
	struct cam_closer *closer;
	pthread_t thread;
	_Atomic uint64_t since_ns; /* at the descriptor in hand; 0: waits for one */
};

struct cam_closer {
	int pipe[2];
	unsigned n; /* threads that were started */
	uint32_t queued;
	_Atomic uint32_t closed;
	struct cam_closer_worker workers[CAM_CLOSER_THREADS];
};

/* 0, or a negative errno. The thread is started for the first descriptor. */
int cam_closer_open(struct cam_closer *c);
/* Takes fd over; does not wait. Where there is no thread to be had it is closed at once. */
void cam_closer_close(struct cam_closer *c, int fd);
/* How many are not closed yet. */
uint32_t cam_closer_pending(struct cam_closer *c);
/* Waits until all are closed, as long as their servers like. */
void cam_closer_free(struct cam_closer *c);
