// SPDX-License-Identifier: Apache-2.0
/*
 * Raw records of a live run, kept in a file, to be played again as if many more CPUs had been there.
 * For the bench only.
 */
#pragma once
#include "model/errand.h"
#include "model/stream.h"

/* Pids of one copy; copy k has them shifted by k times this. */
#define TAPE_PIDS    (1 << 22)
#define TAPE_TRACKS  64u
#define TAPE_PACKETS 65536u

/* Records of one CPU of one kind, in order of time. */
struct tape_track {
	uint32_t cpu;
	bool side_band;
	size_t n, cap;
	uint64_t *times;
	const char **records;
	uint32_t *bytes;
};

struct tape {
	char *map;
	size_t bytes;
	uint64_t from_ns, to_ns;
	uint64_t samples;
	struct tape_track tracks[TAPE_TRACKS];
	size_t n_tracks;
	/* What /proc said of a process: by a hash of its pid. */
	struct {
		int32_t pid;
		uint32_t bytes;
		const char *packet;
	} said[TAPE_PACKETS];
};

/* One CPU of one copy. */
struct tape_reel {
	struct cam_stream stream;
	const struct tape *tape;
	const struct tape_track *track;
	size_t at;
	uint64_t shift_ns;
	uint32_t cpu;
	int32_t pids;
};

/* Records every CPU at 97 Hz for so long. */
int tape_record(const char *path, double seconds);
int tape_open(struct tape *t, const char *path);
/* The tape's own pages are not part of what is measured. */
void tape_forget_pages(const struct tape *t);
/* Track `track` as copy number `copy`, begun at start_ns, and for ever from the beginning again. */
void tape_reel_init(struct tape_reel *r, const struct tape *t, size_t track, uint32_t copy,
		    uint64_t start_ns);
/* What /proc said of the process; false: it was gone. Borrows from scratch. */
bool tape_process(const struct tape *t, int32_t pid, void *scratch, size_t bytes,
		  struct cam_tidings *out);
