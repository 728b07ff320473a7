// SPDX-License-Identifier: Apache-2.0
/* Sealed windows: 'r' and a file as it is, or parts of one as in sealed.h. */
#include "sealed.h"
#include "store/window.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool raw = size == 0 || data[0] == 'r';
	struct fuzz_file *f = raw ? fuzz_file_new(data, size) : fuzz_sealed(data, size);
	struct fuzz_seen s = {0};
	struct cam_window *w;
	if (cam_window_open(&f->file, &w))
		return 0;
	fuzz_check(w->ops->tables(w, &s.t) == 0);
	/* What the directory says of stacks is looked at by the first who needs it: where its sum is right and it makes no sense, that says so. */
	int totals = w->ops->totals(w, fuzz_total, &s);
	fuzz_check(totals ? totals == -EBADMSG : s.total == w->info.samples);
	int small = w->ops->small_totals(w, fuzz_small, &s);
	fuzz_check(small ? small == -EBADMSG : s.small == w->info.samples);
	if (w->info.samples < 1u << 20) {
		int samples = w->ops->samples(w, CAM_RANGE_ALL, (1u << 10) - 1, fuzz_batch, &s);
		fuzz_check(samples == totals &&
			   (samples || s.samples + w->damage.samples == w->info.samples));
		w->ops->cells(w, fuzz_cell, &s);
		cam_window_verify(w);
	}
	w->ops->process_cells(w, fuzz_process, &s);
	if (!w->ops->name_cells(w, fuzz_name_cell, &s))
		fuzz_check(s.named == w->info.samples);
	fuzz_check(w->ops->slots(w, fuzz_slots, &s) || s.slotted == w->info.samples);
	w->ops->events(w, fuzz_event, &s);
	w->ops->ledger(w, fuzz_ledger, &s);
	w->ops->anchors(w, fuzz_anchor, &s);
	w->ops->facts(w, fuzz_fact, &s);
	w->ops->counters(w, fuzz_counter, &s);
	w->ops->close(w);
	return 0;
}
