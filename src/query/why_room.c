// SPDX-License-Identifier: Apache-2.0
/* How much `why` keeps at once, and giving a part of it up. */
#include "query/why_rows.h"

#define MAX_CELLS      (1u << 26)
#define MAX_NAME_BYTES (256u << 20)
#define MAX_TASKS      1000000u
#define MAX_THINGS     (1u << 22)
#define MAX_ROWS       (1u << 23)
#define SECOND_BYTES   240u /* with its scores */
#define THING_BYTES    64u

struct cam_why_room cam_why_room_of(uint64_t max_bytes)
{
	const struct cam_why_room all = {.cells = MAX_CELLS,
					 .things = MAX_THINGS,
					 .rows = MAX_ROWS,
					 .seconds = CAM_WHY_MAX_SECONDS,
					 .name_bytes = MAX_NAME_BYTES,
					 .tasks = MAX_TASKS};
	/* Half for cells, which are there twice while they are sorted; things are processes, and as many functions. */
	struct cam_why_room part = {.cells = max_bytes / 4 / sizeof(struct cam_why_cell),
				    .things = max_bytes / 32 / THING_BYTES,
				    .rows = max_bytes * 3 / 16 / sizeof(struct cam_why_row),
				    .seconds = max_bytes / 6 / SECOND_BYTES,
				    .name_bytes = max_bytes / 12,
				    .tasks = MAX_TASKS};
	return max_bytes && part.cells < all.cells ? part : all;
}

static void drop_cells(const struct cam_why_axis *a, struct cam_why_cells *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		if (!(a->flags[c->v[i].at] & CAM_WHY_GONE))
			c->v[n++] = c->v[i];
	c->n = n;
}

void cam_why_forget(struct cam_why_history *h)
{
	drop_cells(&h->axis, &h->by_process);
	drop_cells(&h->axis, &h->by_function);
	drop_cells(&h->axis, &h->busiest);
	drop_cells(&h->axis, &h->by_core);
	drop_cells(&h->axis, &h->of_one);
	for (uint32_t t = 0; t < h->axis.n; t++) {
		if (!(h->axis.flags[t] & CAM_WHY_GONE))
			continue;
		h->axis.flags[t] &= (uint8_t) ~(CAM_WHY_GONE | CAM_WHY_FUNCTIONS | CAM_WHY_PIDS);
		h->axis.covered_ms[t] = 0;
	}
	for (size_t i = 0; i < h->n_processes; i++) {
		struct cam_why_process *p = &h->processes[i];
		p->first = UINT32_MAX;
		p->last = p->newest = 0;
	}
	for (size_t i = 0; i < h->by_process.n; i++) {
		const struct cam_why_cell *c = &h->by_process.v[i];
		struct cam_why_process *p = &h->processes[c->of];
		p->first = c->at < p->first ? c->at : p->first;
		p->last = c->at > p->last ? c->at : p->last;
		p->newest = (uint32_t)i + 1;
	}
}
