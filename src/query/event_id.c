// SPDX-License-Identifier: Apache-2.0
#include "query/event_id.h"

#include <errno.h>
#include <stdio.h>

#define ID_BITS (CAM_EVENT_ID_DIGITS * 4)

/* FNV-1a, 64 bits: written down here, since ids in people's notes must never change. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

uint64_t cam_event_id(const struct cam_tables *t, const struct cam_boot_id *boot,
		      const struct cam_event *e)
{
	struct cam_text source = cam_string(t, e->source), text = cam_string(t, e->text);
	uint8_t time[8];
	for (unsigned i = 0; i < sizeof(time); i++)
		time[i] = (uint8_t)(e->time_ns >> 8 * i);
	uint64_t hash = mix(0xcbf29ce484222325u, boot->bytes, sizeof(boot->bytes));
	hash = mix(hash, time, sizeof(time));
	hash = mix(hash, source.p, source.n);
	hash = mix(hash, "", 1);
	hash = mix(hash, text.p, text.n);
	/* The upper bits are the better mixed ones. */
	return (hash ^ hash >> 32) & ((1ull << ID_BITS) - 1);
}

void cam_event_id_write(uint64_t id, char room[CAM_EVENT_ID_BYTES])
{
	snprintf(room, CAM_EVENT_ID_BYTES, "ev-%012llx",
		 (unsigned long long)(id & ((1ull << ID_BITS) - 1)));
}

int cam_event_id_parse(struct cam_text s, uint64_t *first, unsigned *digits)
{
	if (cam_text_starts(s, CAM_TEXT("ev-")))
		s = (struct cam_text){s.p + 3, s.n - 3};
	if (s.n < CAM_EVENT_ID_MIN_DIGITS || s.n > CAM_EVENT_ID_DIGITS)
		return -EINVAL;
	*first = 0;
	for (size_t i = 0; i < s.n; i++) {
		static const char hex[] = "0123456789abcdef0123456789ABCDEF";
		const char *at = s.p[i] ? strchr(hex, s.p[i]) : NULL;
		if (!at)
			return -EINVAL;
		/* Of the upper-case digits the numbers are there twice. */
		*first = *first << 4 | (uint64_t)((at - hex) % 16);
	}
	*digits = (unsigned)s.n;
	return 0;
}

bool cam_event_id_begins(uint64_t id, uint64_t first, unsigned digits)
{
	return id >> (ID_BITS - 4 * digits) == first;
}
