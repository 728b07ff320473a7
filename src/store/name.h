// SPDX-License-Identifier: Apache-2.0
/*
 * Names of the files in a store.
 *
 *	perfcam-HOST-YYYYmmdd-HH-MM-SS-120s.pcw     a sealed window (UTC start, length rounded up)
 *	perfcam-HOST-YYYYmmdd-HH-MM-SS-120s.2.pcw   another one to whom the same name belongs
 *	open-00000042.pcj                           the journal of the 42nd window of this store
 *	open-00000042.pcj.bad                       one whose header cannot be read, set aside
 *	events.pcj, pins, lock                      annex, pins, the writer's lock
 *	any of ours + .tmp                          unfinished: removed by the next writer
 *
 * A name says what kind of file this is, and the rest is for people: order, age and overlap of
 * windows are read from their headers.
 */
#pragma once
#include "model/cursor.h"

#define CAM_NAME_BYTES	    256
#define CAM_NAME_HOST_BYTES 65
#define CAM_NAME_MAX_COPIES 1000u

#define CAM_NAME_ANNEX "events.pcj"
#define CAM_NAME_PINS  "pins"
#define CAM_NAME_LOCK  "lock"

enum cam_file_kind {
	CAM_FILE_FOREIGN, /* not ours: never touched */
	CAM_FILE_WINDOW,  /* any *.pcw: people may rename windows */
	CAM_FILE_JOURNAL,
	CAM_FILE_BAD_JOURNAL,
	CAM_FILE_ANNEX,
	CAM_FILE_PINS,
	CAM_FILE_LOCK,
	CAM_FILE_TEMPORARY,
};

enum cam_file_kind cam_name_kind(const char *name);

/* What the name of a window says. */
struct cam_name_parts {
	char host[CAM_NAME_HOST_BYTES];
	int64_t start_ns; /* whole seconds since 1970, UTC */
	uint64_t seconds;
	unsigned copy; /* 1, or the number before ".pcw" */
};

/*
 * The name of a window; copy 1 is the plain one. A host's bytes that do not belong into a file
 * name become '_', at most 64 of them are kept. Where the wall clock is not known the date counts
 * the window's own clock from 1970.
 */
void cam_name_window(const struct cam_window_info *info, unsigned copy, char out[CAM_NAME_BYTES]);
/* Parsed from the right, for hosts contain '-'. False: not such a name. */
bool cam_name_parse(const char *name, struct cam_name_parts *out);

void cam_name_journal(uint64_t sequence, char out[CAM_NAME_BYTES]);
/* The number in a journal's name; 0: not one. */
uint64_t cam_name_journal_sequence(const char *name);
