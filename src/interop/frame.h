// SPDX-License-Identifier: Apache-2.0
/* Frames of foreign texts: what kind of code they are, and what stands for those cut off. */
#pragma once
#include "model/sink.h"

/* What a module holds, judged by its name as perf prints it. */
enum cam_module_kind cam_frame_module_kind(struct cam_text path);
/* Of a function in such a module; of none, an address in the upper half is the kernel's. */
enum cam_func_kind cam_frame_func_kind(enum cam_module_kind module, uint64_t address);

/*
 * Defines the frame "[truncated]". A stack that is too deep keeps its leaf-most frames and gets this
 * one as its root: hung under the real root, or under none, it would lie about who called.
 */
int cam_frame_truncated(struct cam_sink *sink, struct cam_loc_id *out);
/*
 * Likewise, of a stack that the kernel followed into garbage: which frame was the first wrong one nobody
 * knows. perf prints none of such a stack; texts for its readers are to do the same.
 */
#define CAM_FRAME_BROKEN "[broken]"
int cam_frame_broken(struct cam_sink *sink, struct cam_loc_id *out);

/* A name as a text has it, with what base/escape.h did to it (these flags) undone. */
int cam_frame_string(struct cam_sink *sink, struct cam_text text, unsigned escapes,
		     struct cam_str_id *out);
