// SPDX-License-Identifier: Apache-2.0
/* For the fuzzer of journals: a glance at one, and what it says against what is really there. */
#pragma once
#include "store/journal.h"
#include "window.h"

static int fuzz_open_journal(struct fuzz_file *f, struct cam_window **out)
{
	struct cam_journal_peek peek;
	int err = cam_journal_peek(&f->file, &peek);
	if (!err)
		free(peek.host);
	int opened = cam_journal_open(&f->file, 16u << 20, out);
	/* Opening may meet its limits; but what it can read a glance can. */
	fuzz_check(opened || !err);
	if (!opened)
		fuzz_check(peek.info.sequence == (*out)->info.sequence &&
			   peek.info.clean_end == (*out)->info.clean_end);
	return opened;
}
