// SPDX-License-Identifier: Apache-2.0
/*
 * Where time lands that cpu-clock could not see.
 *
 * cpu-clock is a timer interrupt: while a CPU has interrupts off it waits, and fires on the first
 * instruction after they are on again. So all the time of a spin lock held with interrupts off is
 * sampled in the function that gives it back. That function looks hot and is not; a view that names it
 * must say so. (A PMU's cycles interrupt as an NMI, and see inside.)
 */
#pragma once
#include "query/views.h"

/* Whether samples of this event type land like that: cpu-clock, whatever its modifiers. */
bool cam_landing_event(struct cam_text etype);
/*
 * What a view has to note (enum cam_view_note) that names a frame, where it has a self of such an event: of
 * a kernel function that switches interrupts on again, as its job or on its way.
 */
unsigned cam_landing_notes(enum cam_frame_kind kind, struct cam_text name);
