// SPDX-License-Identifier: Apache-2.0
/*
 * Code made at run time: which addresses are which function, as its maker says one after the other.
 *
 * Where two overlap the newer one wins, byte by byte: code space is used again. Bounded by the functions
 * that are still to be seen, not by how many were ever told of; beyond the bounds the oldest go.
 * Made for perfmap.c and jitdump.c.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_JITCODE_MAX_NAME  1024u	  /* longer ones are cut */
#define CAM_JITCODE_MAX_BYTES (1u << 30)  /* a function larger than that is no function */
#define CAM_JITCODE_MAX_ROWS  (1u << 20)  /* pieces of functions that are to be seen */
#define CAM_JITCODE_MAX_NAMES (80u << 20) /* bytes of their names, with 16 each */

struct cam_jitcode;

struct cam_jitcode_hit {
	uint64_t start; /* of the function; at or before the address */
	struct cam_text name;
};

struct cam_jitcode *cam_jitcode_new(void);
void cam_jitcode_free(struct cam_jitcode *c);
/* All is forgotten; another turn begins. */
void cam_jitcode_clear(struct cam_jitcode *c);

/* -EINVAL: empty, too large, past the end of memory, or without a name; nothing is added then.
 * It is found after cam_jitcode_settle(). */
int cam_jitcode_add(struct cam_jitcode *c, uint64_t start, uint64_t bytes, struct cam_text name);
/* Once before each lot of at most 8192 questions. -ENOMEM: what was added since the last time is
 * lost. */
int cam_jitcode_settle(struct cam_jitcode *c);
/* The name is valid until the next call that adds. */
bool cam_jitcode_find(const struct cam_jitcode *c, uint64_t address, struct cam_jitcode_hit *hit);

/*
 * As find, and remembers that it was told. When later another function comes to lie at an address that
 * was told of, the *turn* becomes another one: names told before that may be wrong from now on. No two
 * turns are the same, nor those of two of these in any two processes.
 */
bool cam_jitcode_tell(struct cam_jitcode *c, uint64_t address, struct cam_jitcode_hit *hit);
uint64_t cam_jitcode_turn(const struct cam_jitcode *c);

size_t cam_jitcode_rows(const struct cam_jitcode *c);
/* Allocated. */
size_t cam_jitcode_memory(const struct cam_jitcode *c);
