// SPDX-License-Identifier: Apache-2.0
#include "model/cursor.h"

bool cam_gap_between(const struct cam_window_info *earlier, const struct cam_window_info *later,
		     struct cam_ledger_row *out)
{
	bool same_boot = memcmp(&earlier->boot_id, &later->boot_id, sizeof(later->boot_id)) == 0;
	if (earlier->imported || later->imported)
		return false;
	if (same_boot && later->start_ns <= earlier->end_ns)
		return false;
	/* A journal takes what is late for some seconds after the next one has begun: where it ends
	 * is known when it has its end mark, or when it was found without one and sealed. */
	if (same_boot && !earlier->sealed && !earlier->clean_end)
		return false;
	/* Across a boot the end of the earlier one is not on this clock: from the boot on. */
	*out = (struct cam_ledger_row){
		.cause = earlier->clean_end ? CAM_CAUSE_NOT_RECORDING : CAM_CAUSE_RECORDER_DEAD,
		.cpu = CAM_CPU_NONE,
		.from_ns = same_boot ? earlier->end_ns : 0,
		.to_ns = later->start_ns,
	};
	return true;
}
