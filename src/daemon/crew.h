// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's helper processes, opener and symboliser, as one who runs errands (door G).
 *
 * Ingest thread. Every errand is answered once: by its helper, or, when the helper died or took too
 * long, here, with an error. A symboliser that has nothing to do for five minutes is sent away, with its memory. A helper that dies is started again, less and less often if it keeps
 * dying; the file it was working on is given to another once more, without DWARF, and then to none. Descriptors of
 * profiled files, and of debug files that the symboliser asks for, are held here, by ingest's numbers.
 */
#pragma once
#include "model/errand.h"

struct cam_crew;
typedef void cam_tidings_fn(void *arg, const struct cam_tidings *t);

struct cam_crew_stats {
	uint64_t answered, failed, timed_out;
	uint32_t opener_starts, symboliser_starts; /* but for those after a rest */
	uint32_t under_way;
	uint32_t with_opener; /* of these: samples wait for the answer */
	uint32_t held_files;
	uint32_t poisoned_files;	/* a symboliser died or hung on them */
	uint32_t symbols_only_files;	/* …on their DWARF: they still have symbols */
	uint32_t debug_files;		/* found, and used */
	uint32_t written_files;		/* while they were held */
	uint32_t left_out_files;	/* whose DWARF, or a part of it, was too large */
	uint32_t elsewhere_files;	/* …lies in further files, not read or not found */
	int opener_pid, symboliser_pid; /* 0: not running */
};

/* Starts the opener; java_maps: with one who asks JVMs for their maps. max_files bounds the descriptors held. Answers go to fn, from
 * cam_crew_receive() and cam_crew_tick() only, never from inside send(). */
int cam_crew_new(size_t max_files, bool java_maps, cam_tidings_fn *fn, void *arg,
		 struct cam_crew **out);
void cam_crew_free(struct cam_crew *c);
struct cam_errands *cam_crew_errands(struct cam_crew *c);
/* Readable when cam_crew_receive() has something to do. */
int cam_crew_fd(const struct cam_crew *c);
/* What was asked goes out: copies of stacks are gathered, and sent with the next of these calls or of those below. */
void cam_crew_flush(struct cam_crew *c);
/* What has come; of many answers that take long to use only some, the rest at the next call. */
void cam_crew_receive(struct cam_crew *c);
/* About every 200 ms: gives up on what took too long, replaces who died. */
void cam_crew_tick(struct cam_crew *c, uint64_t now_ns);
/* Records are about to be read, all of which were made before: a file that several of them map is looked at once
 * (errands' is_written). Compilers that start by the dozen map the same ten files. */
void cam_crew_records_come(struct cam_crew *c);
/* The kernel's symbols have changed there: a module or a BPF program came or went. They are read
 * again, which takes 45 ms, when the next name in the range of all changes is asked for. */
void cam_crew_kernel_changed(struct cam_crew *c, uint64_t from, uint64_t to);
/* Nobody knows what has changed: all that ever did may have. */
void cam_crew_kernel_lost(struct cam_crew *c);
struct cam_crew_stats cam_crew_stats(const struct cam_crew *c);
