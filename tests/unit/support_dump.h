// SPDX-License-Identifier: Apache-2.0
/*
 * All that a window says through door D, as sorted lines of text: windows with the same content
 * give the same lines, whatever their ids and the order of their samples. And a window full of
 * every noun, to write and read back.
 */
#pragma once
#include "support_window.h"

/* What to ask for; each line begins with its letter. */
enum {
	DUMP_SAMPLES = 1, /* S time cpu task … stack */
	DUMP_SUMS = 2,	  /* T totals, t small totals, C cells, P process cells */
	DUMP_OTHERS = 4,  /* E events, L ledger, A anchors, F facts, H counters */
	DUMP_ALL = 7,
};

struct dump {
	char **lines;
	size_t n, cap;
};

/* Asserts that each question is answered with 0. */
void dump_window(struct dump *d, struct cam_window *w, unsigned what);
void dump_free(struct dump *d);
void assert_dumps_equal(const struct dump *a, const struct dump *b);
/*
 * Asserts that each line of `part` is in `whole` as often at least, but for those that tell of
 * damage (the word "[damaged]", or a row of the ledger with that cause): their number is returned.
 */
size_t assert_dump_within(const struct dump *part, const struct dump *whole);

/*
 * Every noun in many variants, from `seed`: named, unnamed and inlined frames of modules of each
 * kind, threads, weights, texts of tracepoints, samples out of order, of no CPU; events, ledger,
 * anchors, facts, counters. The same arguments give the same window.
 */
struct fake_window *rich_window(uint64_t seed, unsigned seconds, unsigned samples_a_second);
