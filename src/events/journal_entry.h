// SPDX-License-Identifier: Apache-2.0
/*
 * An entry of systemd's journal as a line for the intake, and what is wanted of a journal. Pure; whatever the fields
 * hold, nothing is read beyond them.
 *
 * Its text is what journalctl shows behind the host: "sshd[812]: Connection closed". Its time, from the best there is:
 *
 *	of this boot	CLOCK_MONOTONIC when journald took it, which is the samples' clock; less what the wall
 *			clock says it was on its way (_SOURCE_REALTIME_TIMESTAMP)
 *	of the kernel	its own stamp (_SOURCE_MONOTONIC_TIMESTAMP), as /dev/kmsg has it
 *	of another boot	the wall clock, in doubt by a second: it was another machine's, or this one's before a restart
 */
#pragma once
#include "base/text.h"
#include "events/intake.h"

#define CAM_JOURNAL_UNITS      16u
#define CAM_JOURNAL_LINE_BYTES 4096u /* of a line's text; what is longer is cut */

/* Of --journal: "all", or units by name or wildcard ("nginx", "kube*.service") and at most one directory, "/…". */
struct cam_journal_wish {
	char units[CAM_JOURNAL_UNITS][64];
	unsigned n_units;    /* 0: all */
	char directory[512]; /* "": this host's */
	bool kernel;	     /* also lines of the kernel: where /dev/kmsg cannot be read */
	int64_t since_us;    /* wall clock: older ones are not wanted */
};

/* Adds what the text asks for. -EINVAL: an empty or too long name, too many, two directories, a path that is not
 * absolute. */
int cam_journal_wish_parse(struct cam_journal_wish *w, struct cam_text text);

struct cam_journal_entry {
	uint64_t realtime_us, monotonic_us;
	bool this_boot;
	/* Values; NULL where there is no such field. */
	struct cam_text message, priority, transport;
	struct cam_text identifier, comm, pid;
	struct cam_text units[3]; /* whose it is; whom it is about */
	struct cam_text source_realtime, source_monotonic;
};

/* False: it is not wanted, or says nothing. The line's text lies in room. */
bool cam_journal_entry_line(const struct cam_journal_entry *e, const struct cam_journal_wish *w,
			    char room[CAM_JOURNAL_LINE_BYTES], struct cam_intake_line *out);
