// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to a symboliser of one's own, for those who can wait for the answers.
 *
 * The recorder's way to its helpers is daemon/crew.h: it never waits, and asks for files as it goes. Here
 * somebody has all questions at once and wants all answers: several are under way at a time, so that
 * both processes work, and the order is kept. One thread, which lives as long as the inquiry.
 */
#pragma once
#include "base/packet.h"
#include "model/errand.h"

struct cam_inquiry;

int cam_inquiry_new(struct cam_inquiry **out);
void cam_inquiry_free(struct cam_inquiry *q);

/* The next question: 1 and *e (its ticket is set here), and what goes with it in fds, which are -1 before (borrowed until the
 * next call); 0: that was the last one; an error ends the run. */
typedef int cam_inquiry_next_fn(void *arg, struct cam_errand *e, int fds[CAM_PACKET_FDS]);
/* An answer, in the order of the questions; nth: of this run's, from 0. An error ends the run. */
typedef int cam_inquiry_took_fn(void *arg, size_t nth, const struct cam_tidings *t);

/*
 * Asks until next() has no more, and all is answered. -EIO, -ETIMEDOUT: the symboliser died, or hung and
 * was killed; what was answered by then was handed over, and another run gets another symboliser. It is
 * also replaced when it has worked long enough (its processor time is bounded). Other errors are those of
 * next() and took(), of starting a helper, and -EBADMSG: it answered what nobody asked.
 */
int cam_inquiry_run(struct cam_inquiry *q, cam_inquiry_next_fn *next, cam_inquiry_took_fn *took,
		    void *arg);
/* How many symbolisers there were: each begins without unwind tables and kernel symbols. Ask after a run
 * has begun: it may have begun with another one. */
uint32_t cam_inquiry_starts(const struct cam_inquiry *q);
