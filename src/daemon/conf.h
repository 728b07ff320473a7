// SPDX-License-Identifier: Apache-2.0
/*
 * perfcam.conf: lines `key = value`, optionally below one `[perfcam]`. Empty lines, and lines
 * that begin with # or ;, are comments (a value may contain both). A line that begins with `on` is a rule: its key
 * is "on", its value the rest. What keys there are is the caller's business.
 */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

#define CAM_CONF_MAX_BYTES (64u << 10)

/* Key and value are terminated and without spaces around them; valid during the call. A non-zero
 * answer ends the reading and is returned. */
typedef int cam_conf_fn(void *arg, unsigned line, const char *key, const char *value);

/*
 * Reads bytes. -EINVAL: a line is none of the above; `why` says which and what would be right,
 * beginning with `name:line: `.
 */
int cam_conf_parse(struct cam_text bytes, const char *name, cam_conf_fn *fn, void *arg, char *why,
		   size_t why_bytes);

/*
 * Reads a file. -ENOENT and other errors of open() and read(); -EPERM: somebody else could have
 * written it (owned by another than root or this user, writable for all; for root also: writable
 * for a group, owned by another than root). -EFBIG. Then `why` says so. *of_root: the file that was read belongs to
 * root, and nobody else can write it.
 */
int cam_conf_read(const char *path, cam_conf_fn *fn, void *arg, bool *of_root, char *why,
		  size_t why_bytes);
