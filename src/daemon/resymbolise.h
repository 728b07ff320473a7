// SPDX-License-Identifier: Apache-2.0
/*
 * Names for the functions of a window that have none: what `perfcam resymbolise` does with each.
 *
 * Asked for are functions of files that are known by their offset in the file ([libfoo.so+0x1234]). What
 * has a name keeps it. Code made at run time, the kernel's and that of no known file has no place any
 * more by which it could be found, and stays as it is.
 */
#pragma once
#include "base/buf.h"
#include "model/cursor.h"
#include "model/namer.h"
#include "store/renamed.h"

struct cam_resymbolise_counts {
	uint64_t unnamed; /* functions without a name that could get one */
	uint64_t named;
	uint64_t by_origin[CAM_NAMER_ORIGINS]; /* of the named ones */
	uint64_t frames;		       /* of all samples: frames of unnamed functions… */
	uint64_t frames_named;		       /* …which have a name now */
	uint32_t modules, modules_missing; /* with unnamed functions; of which no file was found */
};

struct cam_resymbolised {
	struct cam_resymbolise_counts counts;
	struct cam_rename *renames; /* one a function of the window; the texts are in `text` */
	struct cam_buf text;
};

/* Names of one window; *out is the caller's to free, also after an error. -EBADMSG, -ENOMEM, the namer's. */
int cam_resymbolise(struct cam_namer *n, struct cam_window *w, struct cam_resymbolised *out);
void cam_resymbolised_free(struct cam_resymbolised *r);
