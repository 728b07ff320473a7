// SPDX-License-Identifier: Apache-2.0
/*
 * Which samples are idle.
 *
 * A sample is idle when its task is a CPU's idle task, and its stack enters a function that waits
 * for work and does not leave it again through an interrupt: the kernel runs softirqs and
 * interrupt handlers on top of the idle task's stack, and that is work, however idle the rest of
 * the stack looks.
 *
 *	swapper;do_idle;cpuidle_enter;intel_idle                          idle
 *	swapper;do_idle;cpuidle_enter;common_interrupt;net_rx_action      work
 *	swapper;do_idle;schedule_idle                                     work
 */
#pragma once
#include "base/text.h"

enum cam_idle_step {
	CAM_IDLE_NEUTRAL, /* leaves the question as it was */
	CAM_IDLE_ENTERS,
	CAM_IDLE_LEAVES,
};

/* What a kernel function of this name says when it is called. */
enum cam_idle_step cam_idle_step_of(struct cam_text function);
/* "swapper", "swapper/3": how the idle task calls itself; any process may do so too. */
bool cam_idle_comm(struct cam_text comm);
