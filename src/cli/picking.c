// SPDX-License-Identifier: Apache-2.0
#include "cli/picking.h"

#include "cli/say.h"

#include <errno.h>
#include <string.h>

int cam_picking_select(const struct cam_range_options *range,
		       const struct cam_filter_options *filters, struct cam_selection *s)
{
	return cam_picking_select_at(range, NULL, filters, s);
}

int cam_picking_select_at(const struct cam_range_options *range, const char *argument,
			  const struct cam_filter_options *filters, struct cam_selection *s)
{
	char why[CAM_WHEN_WHY_BYTES];
	cam_selection_init(s);
	s->world = cam_filters_world();
	s->when.world = s->world.time;
	int status = cam_filters_apply(filters, s);
	if (!status)
		status = cam_range_set(range, argument, &s->when);
	if (status)
		return status;
	if (!cam_when_is_empty(&s->when))
		s->clock = CAM_SELECT_WHEN;
	return cam_selection_check(s, why, sizeof(why)) ? cam_usage("%s", why) : CAM_EXIT_OK;
}

int cam_picking_settle(struct cam_selection *s, const struct cam_reading *in)
{
	char why[CAM_WHEN_WHY_BYTES];
	s->when.of_files = !in->stored;
	int err = cam_selection_settle(s, in->source, why, sizeof(why));
	if (err == -EINVAL)
		return cam_usage("%s", why);
	return err ? cam_failed("%s: %s", in->name, why) : CAM_EXIT_OK;
}

static int take(void *self, const struct cam_batch *b, size_t i)
{
	struct cam_picking *p = self;
	int row = cam_selector_row(&p->selector, b, i);
	if (row < 0 || row == CAM_ROW_NO)
		return row < 0 ? row : 0;
	int verdict =
		cam_selector_verdict(&p->selector, (struct cam_stack_id){b->stack[i]},
				     (struct cam_str_id){b->comm[i]},
				     (struct cam_etype_id){b->etype[i]}, row == CAM_ROW_AWAKE);
	return verdict < 0 ? verdict : verdict == CAM_VERDICT_YES;
}

/* Whether nothing but times is asked for. */
static bool only_times(const struct cam_selection *s)
{
	bool every_event = s->etypes.n == 1 && !strcmp(s->etypes.v[0], "*");
	return !s->pids.n && !s->tids.n && !s->uids.n && !s->comms.n && !s->exes.n &&
	       !s->cgroups.n && !s->containers.n && !s->pods.n && !s->match.n && !s->exclude.n &&
	       !s->cpus && s->with_idle && every_event && s->mode == CAM_SELECT_ANY_MODE;
}

int cam_picking_open(struct cam_picking *p, const struct cam_selection *s, struct cam_window *w)
{
	const struct cam_etype_id none = {CAM_NONE};
	*p = (struct cam_picking){.w = w};
	int err = cam_selector_open(&p->selector, s, w, none, none);
	if (err)
		return err;
	static const struct cam_range all = CAM_RANGE_ALL;
	struct cam_selector *x = &p->selector;
	bool ask = !only_times(s);
	p->filter = (struct cam_row_filter){
		.columns =
			ask ? CAM_COL_STACK | CAM_COL_COMM | CAM_COL_ETYPE | cam_selector_columns(x)
			    : 0,
		.take = ask ? take : NULL,
		.self = p,
		.ranges = x->whole ? &all : x->ranges,
		.n_ranges = x->n_ranges,
	};
	return 0;
}

struct loss {
	struct cam_picking *p;
	uint64_t samples;
};

static int on_ledger(void *arg, const struct cam_ledger_row *row)
{
	struct loss *l = arg;
	if (cam_cause_is_loss(row->cause))
		l->samples += cam_selector_ledger(&l->p->selector, row);
	return 0;
}

uint64_t cam_picking_lost(struct cam_picking *p)
{
	struct loss l = {.p = p};
	if (!p->selector.n_ranges)
		return 0;
	/* Without a readable ledger the header still says how many there are in all. */
	return p->w->ops->ledger(p->w, on_ledger, &l) ? p->w->info.lost : l.samples;
}

void cam_picking_close(struct cam_picking *p)
{
	cam_selector_close(&p->selector);
}
