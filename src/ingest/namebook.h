// SPDX-License-Identifier: Apache-2.0
/*
 * Names that were answered, kept to be used again: by the next window, by the next process of the same
 * file. (file, offset) → name, or "has none"; and of functions that have one
 * name throughout (name.h: end) any offset in them. Bounded: what was not used for longest goes, by halves.
 *
 * Nothing is ever taken out: what has other names from now on gets another number (files.h; for the
 * kernel's changing code live_names.c). One thread. What a lookup gives is borrowed until the next call.
 */
#pragma once
#include "model/errand.h"

struct cam_namebook;

/* What a name takes with all that is inlined there; of longer ones only the function itself is kept. */
#define CAM_NAMEBOOK_MAX_RECORD (32u << 10)

int cam_namebook_new(size_t max_bytes, struct cam_namebook **out);
void cam_namebook_free(struct cam_namebook *b);
/* out->offset is the one asked for; source CAM_NAME_NONE: it is known to have no name;
 * start, if not 0, is then that of the function which has none. */
bool cam_namebook_find(struct cam_namebook *b, uint32_t file, uint64_t offset,
		       struct cam_name *out);
/* -E2BIG: a name longer than the whole book; not kept. */
int cam_namebook_put(struct cam_namebook *b, uint32_t file, const struct cam_name *name);
/* In use, of what was allocated once. */
size_t cam_namebook_bytes(const struct cam_namebook *b);
