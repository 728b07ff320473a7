// SPDX-License-Identifier: Apache-2.0
/*
 * Names for the functions of a window that have none: what `perfcam resymbolise` does with each.
 *
 * Asked for are functions of files that are known by their offset in the file ([libfoo.so+0x1234]). What
 * has a name keeps it. Code made at run time, the kernel's and that of no known file has no place any
 * more by which it could be found, and stays as it is.
 *
 * Of leaves the window has the very address, where their function is known by its place (without a name, or with one of
 * .dynsym): what is inlined there and the source line are asked for, too. Of callers it has not.
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
	uint64_t inlined; /* addresses of leaves at which something is inlined, now */
	uint64_t lines;	  /* …that have a source line, now */
};

struct cam_resymbolised {
	struct cam_resymbolise_counts counts;
	struct cam_late late; /* for cam_renamed_open() */
	/* What that points to; texts are in `text`. */
	struct cam_rename *renames;
	struct cam_late_leaf *leaves;
	struct cam_text *inlined;
	size_t n_leaves, cap_leaves, n_inlined;
	struct cam_buf text;
};

/* Whether a window gets better by it. */
static inline bool cam_resymbolised_any(const struct cam_resymbolised *r)
{
	return r->counts.named || r->counts.inlined || r->counts.lines;
}

/* Names of one window; *out is the caller's to free, also after an error. -EBADMSG, -ENOMEM, the namer's. */
int cam_resymbolise(struct cam_namer *n, struct cam_window *w, struct cam_resymbolised *out);
void cam_resymbolised_free(struct cam_resymbolised *r);
