// SPDX-License-Identifier: Apache-2.0
#include "query/landing.h"

#include "query/walk.h"

#include <stddef.h>

bool cam_landing_event(struct cam_text etype)
{
	return cam_text_equal(cam_walk_event_name(etype), CAM_TEXT("cpu-clock"));
}

unsigned cam_landing_notes(enum cam_frame_kind kind, struct cam_text name)
{
	/* How names start: compilers append .isra.0 and the like, the kernel _irq or _irqrestore. */
	static const char *const starts[] = {
		"_raw_spin_unlock_irq",
		"_raw_read_unlock_irq",
		"_raw_write_unlock_irq",
		"finish_task_switch",
		"irqentry_exit",
		"syscall_exit_to_user_mode",
		"syscall_enter_from_user_mode",
		"exit_to_user_mode",
		"do_syscall_64",
		"exc_page_fault",
		"handle_softirqs",
		"__do_softirq",
		"do_softirq",
		"__local_bh_enable_ip",
	};
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]) && kind == CAM_FRAME_KERNEL;
	     i++) {
		if (cam_text_starts(name, cam_text_of(starts[i])))
			return CAM_VIEW_INTERRUPTS_OFF;
	}
	return 0;
}
