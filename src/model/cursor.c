// SPDX-License-Identifier: Apache-2.0
#include "model/cursor.h"

#include <errno.h>

int cam_window_names(struct cam_window *w, const struct cam_tables **out)
{
	return w->ops->names ? w->ops->names(w, out) : w->ops->tables(w, out);
}

int cam_window_words(struct cam_window *w, const struct cam_tables **out)
{
	return w->ops->words ? w->ops->words(w, out) : cam_window_names(w, out);
}

int cam_window_seconds(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	return w->ops->seconds ? w->ops->seconds(w, fn, arg) : w->ops->cells(w, fn, arg);
}

int cam_window_comms(struct cam_window *w, cam_comm_fn *fn, void *arg)
{
	const struct cam_tables *t;
	if (w->ops->comms)
		return w->ops->comms(w, fn, arg);
	int err = w->ops->tables(w, &t);
	for (uint32_t i = 0; !err && i < t->n_tasks; i++)
		err = fn(arg, t->tasks[i].comm, i);
	return err;
}

int cam_window_task(struct cam_window *w, uint32_t task, struct cam_task *out)
{
	const struct cam_tables *t;
	if (w->ops->task)
		return w->ops->task(w, task, out);
	int err = w->ops->tables(w, &t);
	if (err)
		return err;
	if (task >= t->n_tasks)
		return -EBADMSG;
	*out = t->tasks[task];
	return 0;
}

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
