// SPDX-License-Identifier: Apache-2.0
/*
 * One window by itself, for `record -o X.pcw`.
 *
 * It is recorded into a store of its own, a directory beside X (X.pcw.recording, or with .2, .3, …
 * where that is taken), so that nothing about recording differs: journals, sealing in a child, a full
 * disk. At the end its window becomes X.pcw, by a rename: X is whole, or as it was before. Where
 * recording had to begin a second window (tables full) there are also X.2.pcw, X.3.pcw, …
 *
 * Whatever goes wrong the directory stays, and is a store: `perfcam ls --store X.pcw.recording`.
 */
#pragma once
#include "store/store.h"

struct cam_oneoff;

/* `path` ends in .pcw (-EINVAL). Fails where its directory cannot be written, as of mkdir(). */
int cam_oneoff_open(const char *path, struct cam_oneoff **out);
/* Borrowed. The caller writes windows to it, and may seal them. */
struct cam_store *cam_oneoff_store(struct cam_oneoff *o);
/* The directory, for messages. */
const char *cam_oneoff_directory(const struct cam_oneoff *o);

/*
 * Seals what is not sealed yet, here and now, and moves the windows out: fn gets the path of each, in
 * order. Then nothing is left but these. -ENODATA: there is none; on any other error what could not be
 * moved stays in the directory.
 */
typedef int cam_oneoff_fn(void *arg, const char *path);
int cam_oneoff_finish(struct cam_oneoff *o, cam_oneoff_fn *fn, void *arg);
/* Closes without moving anything: what was recorded stays, unless there is nothing in it. */
void cam_oneoff_close(struct cam_oneoff *o);
