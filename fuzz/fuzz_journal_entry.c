// SPDX-License-Identifier: Apache-2.0
/* Any bytes as the fields of an entry of systemd's journal, one a line, as a wish, and as a packet. */
#include "events/journal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_journal_entry e = {.this_boot = size & 1};
	struct cam_text *const fields[] = {
		&e.message, &e.priority, &e.transport,	     &e.identifier,	 &e.comm,
		&e.pid,	    &e.units[0], &e.source_realtime, &e.source_monotonic};
	struct cam_journal_wish w = {.kernel = true};
	struct cam_text rest = {(const char *)data, size};
	char room[CAM_JOURNAL_LINE_BYTES];
	struct cam_intake_line l;
	cam_journal_packet_read(rest, &l);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && rest.n; i++) {
		const char *end = memchr(rest.p, '\n', rest.n);
		size_t n = end ? (size_t)(end - rest.p) : rest.n;
		*fields[i] = (struct cam_text){rest.p, n};
		n += end != NULL;
		rest = (struct cam_text){rest.p + n, rest.n - n};
	}
	e.realtime_us = e.monotonic_us = size * UINT64_C(0x9e3779b97f4a7c15);
	if (cam_journal_wish_parse(&w, rest))
		w.n_units = 0;
	if (cam_journal_entry_line(&e, &w, room, &l) && l.text.n > sizeof(room))
		abort();
	return 0;
}
