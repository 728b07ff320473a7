// SPDX-License-Identifier: Apache-2.0
/*
 * Names of functions that many windows have: of Linux, libc, the dynamic linker, compilers, interpreters and servers.
 * A window says of such a name only its number, about 1.5 bytes, and what it spells out is compressed against the text
 * of all of them.
 *
 * The list is a part of the format: a name's number is that of its line in known_names.txt, which must never change.
 * A better list would be another one, with a feature of its own (store/format.h), beside this one.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_KNOWN_NAMES 12288u
#define CAM_KNOWN_BYTES 250591u

/* Made at build time: the file as it is, where each name starts in it (and the end), numbers in the order of names. */
extern const uint8_t cam_known_text[CAM_KNOWN_BYTES];
extern const uint32_t cam_known_start[CAM_KNOWN_NAMES + 1];
extern const uint16_t cam_known_sorted[CAM_KNOWN_NAMES];

/* The name with that number, below CAM_KNOWN_NAMES. */
static inline struct cam_text cam_known_name(uint32_t number)
{
	return (struct cam_text){(const char *)cam_known_text + cam_known_start[number],
				 cam_known_start[number + 1] - cam_known_start[number] - 1};
}

/* Its number; CAM_KNOWN_NAMES: it is none of them. */
uint32_t cam_known_find(struct cam_text name);
