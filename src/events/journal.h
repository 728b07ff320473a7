// SPDX-License-Identifier: Apache-2.0
/*
 * systemd's journal, read by a process of its own: libsystemd maps files that others write (one that is cut short under it is a
 * SIGBUS), and takes as long as the disk does. It is loaded there and nowhere else, so that perfcam runs where it is not.
 *
 * Sides: `perfcam helper journal` runs cam_journal_run(); the recorder takes packets from the other end of its socket.
 * Handed over: one line a packet, struct cam_journal_packet and the text behind it; first those since wish.since_us, then what comes.
 * Thread: the helper's only one. It waits where the recorder does not take its packets.
 * Bounds: CAM_JOURNAL_A_SECOND entries are looked at a second; of a journal that grows faster all is passed over to its
 * end, at times (four seconds behind; at the start a minute), and said: error is then -EOVERFLOW, without a text.
 */
#pragma once
#include "events/journal_entry.h"

#define CAM_JOURNAL_A_SECOND 5000u

struct cam_journal_packet {
	int64_t stamp_ns;
	uint64_t doubt_ns;
	uint32_t clock;	   /* enum cam_intake_clock */
	uint32_t severity; /* enum cam_severity */
	int32_t error;	   /* 0: a line */
	uint32_t padding;
};
_Static_assert(sizeof(struct cam_journal_packet) == 32, "both sides are the same program");

#define CAM_JOURNAL_PACKET_BYTES (sizeof(struct cam_journal_packet) + CAM_JOURNAL_LINE_BYTES)

/*
 * Until the other end of the socket is closed (0), or it will not get better: -ENOSYS: there is no libsystemd; -ENOENT: no
 * directory of a journal; -errno of the library. The error is also the last packet. confine is given the directories
 * that must stay readable.
 */
int cam_journal_run(int socket, const struct cam_journal_wish *w,
		    int (*confine)(const int *directories, size_t n));

/* The recorder's side: a packet as a line, whose text lies in the packet. -EBADMSG, or the error that it tells. */
int cam_journal_packet_read(struct cam_text packet, struct cam_intake_line *out);
