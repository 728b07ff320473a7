// SPDX-License-Identifier: Apache-2.0
/*
 * The columns of a span, what both sides share. A span is the samples of some whole seconds (or of
 * a part of one), in the order (second, CPU, time). Every column begins afresh in every span.
 *
 *	counts  per second: CPUs with samples, and for each the CPUs passed over and its samples.
 *		This is the CPU column, and the busy part of the footer's cells.
 *	rank    per sample: the rank of its (stack, group) pair. Model: derived from the classes.
 *	time    per CPU: the first sample's offset in its second, raw; then the steps from sample
 *		to sample as periods passed over and an error, see below.
 *	task    nothing where the group has a sole task. Else 0: the next task never seen before;
 *		1: then its distance back from that; 2 + r: place r in the list of the group's
 *		tasks in this span, most recent first.
 *	weight  where the event type's weights vary: difference to its last one in this span.
 *	leaf    per tree chunk, where the leaf function has several offsets: which of them, by use.
 *	place   per tree chunk, where the stack has several places: which of them, by use.
 *
 * Time: with d units since the CPU's last sample and the nominal period p, g = max(1, (d + p/2)
 * / p) periods have passed, with an error e = d - g p. If g > 1: CAM_TOKEN_MARK in e's context,
 * then g - 2 in CAM_TIME_GAP. Then e as zigzag, in the context of the CPU's last e.
 *
 * Example: p = 1031, samples of one CPU at 5, 1036, 1038 + 2062: the offset 5 raw, e = 0, then the
 * mark, gap 0, and e = 2.
 */
#pragma once
#include "store/window_dir.h"
#include "store/window_layout.h"
#include "store/window_tree.h"

/* The tasks each group has met in a span, most recent first. */
struct cam_task_lists {
	struct cam_task_list {
		uint32_t at, n, cap;
	} * lists; /* per group */
	uint32_t *entries, *touched;
	size_t n_groups, n_entries, n_touched, cap_entries, cap_touched;
};

int cam_task_lists_init(struct cam_task_lists *l, size_t n_groups);
void cam_task_lists_free(struct cam_task_lists *l);
void cam_task_lists_reset(struct cam_task_lists *l);
int cam_task_lists_push(struct cam_task_lists *l, uint32_t group, uint32_t task);

static inline unsigned cam_second_bits(uint64_t unit_ns)
{
	return cam_bit_length(1000000000 / unit_ns - 1);
}

static inline unsigned cam_choice_ctx(uint32_t n)
{
	unsigned b = cam_bit_length(n);
	return b < CAM_COLUMN_CTX_MAX ? b : CAM_COLUMN_CTX_MAX - 1;
}
