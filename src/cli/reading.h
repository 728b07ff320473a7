// SPDX-License-Identifier: Apache-2.0
/*
 * What a verb reads: a store, or any readable file (`-i FILE`, `-i -`): a window,
 * perf.data, perf script text or folded stacks, plain, gzip or zstd. Either way the verb gets a source of windows.
 */
#pragma once
#include "cli/options.h"
#include "model/cursor.h"
#include "model/journal.h"

#include <limits.h>

/* What of a file the verb will look at: the rest need not be kept. */
struct cam_wanted {
	bool details;	/* the texts of tracepoints: memory then follows the samples */
	bool addresses; /* of frames in user space: no two processes have the same */
	bool no_stacks; /* but of the idle task: perf.data */
	bool no_tasks;	/* beside no_stacks: nor who ran, but for the idle task */
};

/* What the user says of a perf.data file. */
struct cam_told {
	const char *symfs; /* where else the recorded files may be found; NULL: nowhere */
	const char *kallsyms, *vmlinux; /* of the recorded kernel; NULL: found by its build-id */
	const char *zone; /* of the host, for the time in the file's name; NULL: this one's */
	bool inlines;	  /* read debug information, too */
	int64_t began_ns; /* when its first sample was taken; 0: not said */
	uint64_t began_uncertain_ns; /* how far off that may be; 0: a second */
	const char *where_names_are; /* said where files are not here; NULL: nothing is said */
	bool again; /* it is read once more: what there is to say of it has been said */
};

struct cam_reading_options {
	const char *file;
	const char *store;
	struct cam_told told;
	struct cam_wanted want;
};

// clang-format off
/* What is told of a perf.data file: the same for all who read one. */
#define CAM_TOLD_OPTIONS(t)                                                                                     \
	{"symfs", 0, CAM_OPTION_TEXT, &(t).symfs, "DIR", "perf.data: look for the recorded files below DIR, too"}, \
	{"kallsyms", 0, CAM_OPTION_TEXT, &(t).kallsyms, "FILE", "perf.data: symbols of the recorded kernel"},    \
	{"vmlinux", 0, CAM_OPTION_TEXT, &(t).vmlinux, "FILE", "perf.data: the recorded kernel, by its build-id"}, \
	{"inline", 0, CAM_OPTION_FLAG, &(t).inlines, NULL, "perf.data: inlined functions and lines, too (takes long)"}

#define CAM_READING_OPTIONS(o)                                                                                  \
	{"input", 'i', CAM_OPTION_TEXT, &(o).file, "FILE", "a file instead of the store; - is standard input"}, \
	CAM_TOLD_OPTIONS((o).told),                                                                              \
	{"store", 0, CAM_OPTION_TEXT, &(o).store, "DIR",                                                         \
	 "the store (default: /var/lib/perfcam, or ~/.local/share/perfcam)"}
// clang-format on

struct cam_temporary;
struct cam_io;

struct cam_reading {
	struct cam_source *source;
	bool foreign; /* a file of another tool: its counts are periods, as it printed them */
	bool stored;  /* a store, in case it matters which */
	char name[PATH_MAX]; /* of the file or the store, for messages */
	struct cam_io *io;
	struct cam_temporary *temporary;
};

/*
 * An exit status. OK, or INCOMPLETE when part of a file could not be read (said on stderr; the
 * rest is in *r, and the verb's own status may not be better). On others nothing is open.
 */
int cam_reading_open(const struct cam_reading_options *o, struct cam_reading *r);
void cam_reading_close(struct cam_reading *r);

/*
 * The files to import of a directory, in the order of their names: those that any importer knows by their
 * content. A directory that perf itself wrote (record --threads) is not one of these: it is one recording.
 * An exit status; the caller frees names and list.
 */
bool cam_reading_is_folder(const char *path);
int cam_reading_list(const char *folder, char ***names, size_t *n);

struct cam_imported {
	uint64_t samples;
	uint32_t windows;
	uint64_t
		unplaced_ns; /* how long it lasts, where nothing says when that was; 0: something does, or it has no times */
};

/*
 * Reads a foreign file into a journal (door C), in windows of window_ns (0: one). Exit status:
 * INCOMPLETE when something was lost, which was said.
 */
int cam_reading_import(const char *path, struct cam_journal *to, uint64_t window_ns,
		       const struct cam_wanted *want, const struct cam_told *told,
		       struct cam_imported *done);
