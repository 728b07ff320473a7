// SPDX-License-Identifier: Apache-2.0
/* Writes fake windows as journals on a simulated disk, and opens what is there. */
#pragma once
#include "store/journal.h"
#include "support_sim_io.h"
#include "support_window.h"

#define MAX_WRITTEN 256u

/* Where each block ends, and how many samples there are up to it; [0] is the header. */
struct written {
	uint64_t end[MAX_WRITTEN];
	uint64_t samples[MAX_WRITTEN];
	size_t n;
	bool ended;
};

/* The head that journal_write_fake() writes for a window. */
struct cam_window_head journal_head(struct fake_window *f);
/* The rows of one of its seconds (the nth, from 0) as a block; borrowed from f. */
struct cam_block journal_second(const struct fake_window *f, uint64_t nth);
/* A block a second. Asserts that all goes well. */
void journal_write_fake(struct fake_window *f, struct cam_file *file, bool compress, bool end,
			struct written *out);
/* What cam_journal_open() answers for a file of a disk. */
int journal_open_at(struct sim_disk *d, const char *name, struct cam_window **out);
struct cam_file *sim_open_file(struct sim_disk *d, const char *name, enum cam_io_mode mode);
