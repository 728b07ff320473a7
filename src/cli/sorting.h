// SPDX-License-Identifier: Apache-2.0
/* The keys of tables and reports, as --sort and --parent say them. */
#pragma once
#include "cli/options.h"
#include "cli/reading.h"
#include "query/table.h"

struct cam_sorting {
	const char *sort, *parent;
	struct cam_select_expressions match; /* of the key parent */
};

// clang-format off
#define CAM_SORTING_PARENT(s)                                                                             \
	{"parent", 'p', CAM_OPTION_TEXT, &(s).parent, "RE",                                               \
	 "the key parent is the frame that matches (default: system calls and page faults)"}
// clang-format on

/*
 * Keys and order into the table's; with --parent its key is there in any case. usual: the keys where --sort is not
 * given. Exit status, after saying what is wrong; s->match is to be freed either way.
 */
int cam_sorting_resolve(struct cam_sorting *s, const char *usual, struct cam_table_options *t);
/* Whether a key is of source lines, which are known by address. */
bool cam_sorting_needs_lines(const enum cam_key *keys, size_t n);
/* Has a file read so that they are known: with addresses and, of perf.data, debug information. */
void cam_sorting_want_lines(const enum cam_key *keys, size_t n, struct cam_reading_options *from);
void cam_sorting_free(struct cam_sorting *s);
