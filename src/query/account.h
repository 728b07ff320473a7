// SPDX-License-Identifier: Apache-2.0
/*
 * What became of every sample that was due in a window, from its ledger: no sample is read.
 *
 *	due = samples + all rows of the ledger
 *	observed = samples + idle + outside the scope: the CPU was looked at
 *
 * The rest is known by cause: loss (cam_cause_is_loss), or time in which there was nothing to see.
 */
#pragma once
#include "model/cursor.h"

struct cam_account {
	uint64_t samples; /* stored: the CPU was busy */
	uint64_t by_cause[CAM_CAUSE_MAX];
	uint64_t due, observed, lost;
	uint32_t cpus; /* numbers of CPUs, as far as samples or rows know them */
	bool complete; /* all of the ledger could be read */
};

/* 0, or an error of the window's; damage is no error: see `complete`. */
int cam_account_window(struct cam_window *w, struct cam_account *out);
/* In per mille, rounded; of nothing: 0. */
uint32_t cam_account_share(uint64_t part, uint64_t whole);
