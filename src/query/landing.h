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
#include "base/text.h"

/* Whether a kernel function of this name switches interrupts on again, as its job or on its way. */
bool cam_landing_is(struct cam_text function);
