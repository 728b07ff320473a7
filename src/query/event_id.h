// SPDX-License-Identifier: Apache-2.0
/*
 * What an event is called by: a hash of its boot, time, source and text, which no reader changes: the
 * same while its window is open, sealed, exported or re-named. Written as "ev-" and 12 hexadecimal digits;
 * read with or without "ev-", and the first digits are enough where they tell it from others, 4 at least.
 */
#pragma once
#include "model/cursor.h"

#define CAM_EVENT_ID_DIGITS	12u
#define CAM_EVENT_ID_MIN_DIGITS 4u
#define CAM_EVENT_ID_BYTES	(sizeof("ev-") + CAM_EVENT_ID_DIGITS)

uint64_t cam_event_id(const struct cam_tables *t, const struct cam_boot_id *boot,
		      const struct cam_event *e);
/* "ev-", 12 digits and a zero byte. */
void cam_event_id_write(uint64_t id, char room[CAM_EVENT_ID_BYTES]);
/* -EINVAL: not 4 to 12 hexadecimal digits, with or without "ev-". */
int cam_event_id_parse(struct cam_text s, uint64_t *first, unsigned *digits);
/* Whether an id begins with those digits. */
bool cam_event_id_begins(uint64_t id, uint64_t first, unsigned digits);
