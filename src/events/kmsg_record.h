// SPDX-License-Identifier: Apache-2.0
/*
 * One record of /dev/kmsg, as the kernel documents it (ABI/testing/dev-kmsg):
 *
 *	priority,sequence,stamp in µs,flags[,more];text\n
 *	 KEY=value\n …
 *
 * Its text has every byte that is not printable ASCII, and every backslash, as \xNN: undone here, so
 * that a text is what was written. Keys are left out. Pure; whatever the bytes are, nothing is read beyond them.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

#define CAM_KMSG_RECORD_BYTES 8192u /* the kernel's own bound: longer ones it refuses to hand out */

struct cam_kmsg_record {
	uint64_t sequence;
	uint64_t sched_ns; /* sched_clock, the kernel's to the microsecond */
	enum cam_severity severity;
	uint32_t facility; /* 0: the kernel itself */
	bool continues;	   /* a piece of the line before it */
	struct cam_text text;
};

/* room: at least as many bytes as the record has; the text lies there. -EBADMSG: not a record. */
int cam_kmsg_record_parse(struct cam_text bytes, char *room, struct cam_kmsg_record *out);
