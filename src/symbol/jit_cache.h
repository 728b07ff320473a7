// SPDX-License-Identifier: Apache-2.0
/*
 * What was read of perf maps and jitdumps so far, by the file and the process it was asked for: they
 * grow, and are read on. The least recently used go first, whole: one that comes back is read anew.
 */
#pragma once
#include "model/errand.h"
#include "symbol/jitcode.h"

#define CAM_JIT_CACHE_FILES 64u
#define CAM_JIT_CACHE_BYTES (112u << 20)
#define CAM_JIT_READ_BYTES  (16u << 20) /* of a file, a call */

struct cam_jit_cache;

struct cam_jit_cache *cam_jit_cache_new(size_t max_bytes);
void cam_jit_cache_free(struct cam_jit_cache *c);
size_t cam_jit_cache_memory(const struct cam_jit_cache *c);

/*
 * Reads on in the file behind fd and gives its code, valid until the next call. *behind: the file has
 * more than was read by now. -EBADMSG: no regular file, or no jitdump; -ENOMEM, or what reading said.
 */
int cam_jit_cache_get(struct cam_jit_cache *c, int fd, int32_t pid, enum cam_file_format format,
		      struct cam_jitcode **code, bool *behind);
