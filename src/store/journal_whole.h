// SPDX-License-Identifier: Apache-2.0
/*
 * Places with what was inlined: one location a frame of the stack.
 *
 * A recorder's locations are addresses, and what was inlined at one hangs below its function in the stack alone. A window that
 * keeps addresses has a place for each frame of a stack, so there an inlined function is a location of its own: the
 * same address, and the offset in the function that has the code. (Imported files have them so from the first.)
 */
#pragma once
#include "model/tables.h"

/*
 * Once all names and stacks are known. *out: for each place of the tables the one whose frames are those of its stack; NULL where
 * that is the place itself. The caller's to free. -E2BIG, -ENOMEM.
 */
int cam_journal_whole(struct cam_tables *t, uint32_t **out);
