// SPDX-License-Identifier: Apache-2.0
/*
 * Several packets (base/packet.h) as one: where many small things are asked at once, each packet of its own costs
 * two calls at either end and wakes the other up. None of them has a descriptor beside it.
 *
 * What arrives came from a process that parses hostile files: cam_bundle_next() reads nothing outside of what it is given.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_BUNDLE_BYTES (128u * 1024)

struct cam_bundle {
	size_t bytes; /* of `room`, used; 0: it is empty */
	uint8_t room[CAM_BUNDLE_BYTES];
};

/* Where the next packet may be written, and *left, the room it has; 0: none. cam_bundle_add() then makes it part of the bundle. */
void *cam_bundle_place(struct cam_bundle *b, size_t *left);
void cam_bundle_add(struct cam_bundle *b, size_t packet_bytes);
/* Whether this is a bundle: no packet alone begins as one does. */
bool cam_bundle_is(struct cam_text packet);
/* The next packet of what is left of a bundle; false: there is none, or it is malformed. */
bool cam_bundle_next(struct cam_text *rest, struct cam_text *packet);
