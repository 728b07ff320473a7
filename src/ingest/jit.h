// SPDX-License-Identifier: Apache-2.0
/*
 * Where names of code made at run time come from: one source a process, a row of files.h of its own,
 * so that two processes' addresses never share a name.
 *
 * Made at the first sample in anonymous executable memory. Its file is the jitdump that the process has
 * mapped to say so, else its perf map; asked for again, less and less often, while there is none. It
 * is held while the process lives and is sampled, read as it grows (live_names.c), and once more after the
 * process's end. One thread.
 */
#pragma once
#include "ingest/files.h"
#include "ingest/image.h"

#define CAM_JIT_MAX_SOURCES 256u
#define CAM_JIT_REFRESH_NS  1000000000u /* a source that is sampled is read on so often */

struct cam_live;
struct cam_live_who;
struct cam_jits;

int cam_jits_new(struct cam_jits **out);
/* Before the files. */
void cam_jits_free(struct cam_jits *j, struct cam_files *files);

/* The row for a frame in a mapping: the process's source where that is code made at run time, else the
 * mapping's own file. */
struct cam_files_row *cam_jit_row(struct cam_live *l, const struct cam_live_who *w,
				  const struct cam_image_map *m);
/* An answer to CAM_ERRAND_JIT. */
void cam_jit_answer(struct cam_live *l, const struct cam_tidings *t);
/* Reads on in sources that are sampled; ends those whose process has. */
void cam_jit_tick(struct cam_live *l);
