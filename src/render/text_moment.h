// SPDX-License-Identifier: Apache-2.0
/* A moment as text: what a person at a terminal wants to know first. */
#pragma once
#include "query/view_moment.h"
#include "render/text_table.h"

/* "61.5 % busy · 37.9 % idle · 0.6 % lost (ring full 0.6 %)", without an end of line; nothing where it is
 * not known. */
void cam_text_coverage_write(const struct cam_coverage *c, const struct cam_seen *seen,
			     struct cam_out *out);
/* The stream's error, or 0. */
int cam_text_moment_write(const struct cam_moment *m, const struct cam_text_table_options *o,
			  struct cam_out *out);
/* "run queue", …; NULL: not one of those that moments have. */
const char *cam_text_counter_words(enum cam_counter_kind kind);
/* "of CPU time", "a second", …: what the thousandths of one of those are of. */
const char *cam_text_counter_unit(enum cam_counter_kind kind);
/* "run queue 7.0 tasks, up to 12; in the rest of the window 1.2" */
void cam_text_counter_sentence(const struct cam_moment_counter *c, struct cam_out *out);
/* Those counters that stand out, below a line of their own; nothing where none does. The same of events. */
void cam_text_counters_write(const struct cam_moment *m, struct cam_out *out);
void cam_text_events_write(const struct cam_moment *m, const struct cam_text_table_options *o,
			   struct cam_out *out);
