// SPDX-License-Identifier: Apache-2.0
#include "query/account.h"

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int add_row(void *arg, const struct cam_ledger_row *row)
{
	struct cam_account *a = arg;
	a->by_cause[row->cause] = add(a->by_cause[row->cause], row->samples);
	if (row->cpu != CAM_CPU_NONE && row->cpu >= a->cpus)
		a->cpus = row->cpu + 1;
	return 0;
}

int cam_account_window(struct cam_window *w, struct cam_account *out)
{
	uint64_t damaged = w->damage.chunks;
	*out = (struct cam_account){.samples = w->info.samples, .cpus = w->info.cpus};
	int err = w->ops->ledger(w, add_row, out);
	if (err)
		return err;
	out->complete = w->damage.chunks == damaged;
	out->due = out->samples;
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		out->due = add(out->due, out->by_cause[i]);
		if (cam_cause_is_loss((enum cam_cause)i))
			out->lost = add(out->lost, out->by_cause[i]);
	}
	out->observed = add(out->samples,
			    add(out->by_cause[CAM_CAUSE_IDLE], out->by_cause[CAM_CAUSE_FILTERED]));
	return 0;
}

uint32_t cam_account_share(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return (uint32_t)(((unsigned __int128)part * 1000 + whole / 2) / whole);
}
