// SPDX-License-Identifier: Apache-2.0
/*
 * The sealed window: bytes ⇄ door D. docs/window-format.md is the specification.
 */
#pragma once
#include "base/out.h"
#include "model/cursor.h"
#include "store/io.h"

/*
 * Writes `in` (a journal, or any other window) as a sealed window. Pure: the same input gives the
 * same bytes. Two passes over the samples; memory is bounded by the input's tables and about 40
 * bytes a sample. -EBADMSG: the input cannot be read; -E2BIG: a bound of the format is passed.
 */
int cam_window_write(struct cam_window *in, struct cam_out *out);

/*
 * Opens a sealed window for reading; takes the file over, also on error. Only header and
 * directory are read; everything else when it is asked for. -EBADMSG: not a window, or header and
 * both directories are damaged; -EPROTONOSUPPORT: made by a newer perfcam in a way this one
 * cannot read.
 */
int cam_window_open(struct cam_file *file, struct cam_window **out);
/*
 * What a sealed window says of itself, for lists: its directory is checked by its sum, and read no further than that.
 * Takes the file over, errors as above. *host: the text that out->host points to, the caller frees it.
 */
int cam_window_glance(struct cam_file *file, struct cam_window_info *out, char **host);

/* Reads and checks every byte of a sealed window; what is bad is in w->damage. 0 or -EBADMSG. */
int cam_window_verify(struct cam_window *w);
/* Reads only what surrounds the chunks: header, both directories, trailer. 0 or -EBADMSG. */
int cam_window_check(struct cam_window *w);
/*
 * Between which times samples are missing, as far as it was found out: after cam_window_verify(),
 * all of it. False: none of those that have a time.
 */
bool cam_window_lost_time(struct cam_window *w, struct cam_range *out);
