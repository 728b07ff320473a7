// SPDX-License-Identifier: Apache-2.0
/*
 * A stream (base/out.h) that compresses into another one, for `-o x.gz` and `-o x.zst`.
 *
 *	struct cam_compress_out *c;
 *	err = cam_compress_out_new(&c, CAM_COMPRESS_GZIP, to);
 *	cam_out_str(cam_compress_out_stream(c), "text");
 *	err = cam_compress_out_finish(c);
 *	cam_compress_out_free(c);
 */
#pragma once
#include "base/out.h"

enum cam_compress { CAM_COMPRESS_NONE, CAM_COMPRESS_GZIP, CAM_COMPRESS_ZSTD };

/* By the end of a file's name: ".gz", ".zst". */
enum cam_compress cam_compress_of_name(struct cam_text name);

struct cam_compress_out;

/* `to` is borrowed. CAM_COMPRESS_NONE passes bytes through. -ENOMEM. */
int cam_compress_out_new(struct cam_compress_out **out, enum cam_compress kind, struct cam_out *to);
void cam_compress_out_free(struct cam_compress_out *c);
/* What to write into. Nothing is compressed whole before cam_compress_out_finish(). */
struct cam_out *cam_compress_out_stream(struct cam_compress_out *c);
/*
 * Ends the compressed stream and finishes `to`. The first error of either, or 0. Write nothing
 * afterwards.
 */
int cam_compress_out_finish(struct cam_compress_out *c);
