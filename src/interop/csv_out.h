// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → comma-separated values (RFC 4180, lines end with a newline alone): one row a sample, in order
 * of time, below a row of names:
 *
 *	time       wall clock, 2026-04-15T03:14:07.250001234Z; empty: not known
 *	clock_ns   the window's clock; empty: the window has no times
 *	cpu pid tid comm exe cgroup uid      empty: not known
 *	container pod                        by the cgroup (model/container.h); empty: in none
 *	event      its name
 *	weight     its period where it has one; of folded stacks the count; else 1
 *	stack      names, root;…;leaf
 *
 * A text with a comma, quote or blank at its ends is quoted. Control characters and what is not UTF-8 are
 * escaped (base/escape.h); in the stack `;` inside a name, too. Whoever opens it with a spreadsheet
 * should import all columns as text: a name may begin with `=`.
 */
#pragma once
#include "interop/exporter.h"

int cam_csv_out_new(struct cam_out *out, struct cam_exporter **made);
