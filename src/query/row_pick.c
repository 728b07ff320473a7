// SPDX-License-Identifier: Apache-2.0
#include "query/row_pick.h"

#include <string.h>

static int take(void *self, const struct cam_batch *b, size_t i)
{
	struct cam_row_pick *p = self;
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

int cam_row_pick_open(struct cam_row_pick *p, const struct cam_selection *s, struct cam_window *w)
{
	const struct cam_etype_id none = {CAM_NONE};
	*p = (struct cam_row_pick){.w = w};
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
	struct cam_row_pick *p;
	uint64_t samples;
};

static int on_ledger(void *arg, const struct cam_ledger_row *row)
{
	struct loss *l = arg;
	if (cam_cause_is_loss(row->cause))
		l->samples += cam_selector_ledger(&l->p->selector, row);
	return 0;
}

uint64_t cam_row_pick_lost(struct cam_row_pick *p)
{
	struct loss l = {.p = p};
	if (!p->selector.n_ranges)
		return 0;
	/* Without a readable ledger the header still says how many there are in all. */
	return p->w->ops->ledger(p->w, on_ledger, &l) ? p->w->info.lost : l.samples;
}

void cam_row_pick_close(struct cam_row_pick *p)
{
	cam_selector_close(&p->selector);
}

static int add_window(struct cam_window *w, const struct cam_selection *s,
		      const struct cam_row_pick_view *view, struct cam_row_pick_missing *missing)
{
	struct cam_row_pick pick;
	int err = cam_row_pick_open(&pick, s, w);
	if (err)
		return err;
	missing->unplaced += pick.selector.unplaced;
	if (pick.selector.n_ranges)
		err = view->add(view->self, w, &pick.filter);
	missing->lost += cam_row_pick_lost(&pick);
	cam_row_pick_close(&pick);
	return err;
}

int cam_row_pick_each(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_row_pick_view *view, struct cam_row_pick_missing *missing)
{
	const struct cam_window_info *before = NULL;
	size_t n = source->ops->count(source);
	*missing = (struct cam_row_pick_missing){0};
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info, *next = NULL;
		struct cam_window *w;
		struct cam_ledger_row gap;
		int err = source->ops->info(source, i, &info);
		if (!err && before && cam_selection_gap(s, before, info, &gap) &&
		    cam_cause_is_loss(gap.cause))
			missing->dead_ns += gap.to_ns - gap.from_ns;
		before = err ? NULL : info;
		if (i + 1 < n && source->ops->info(source, i + 1, &next))
			next = NULL;
		if (!err && !cam_selection_may_touch(s, info, next))
			continue;
		if (!err)
			err = source->ops->open(source, i, &w);
		if (!err) {
			err = add_window(w, s, view, missing);
			w->ops->close(w);
		}
		if (err)
			err = view->failed(view->self, i, n, err);
		if (err)
			return err;
	}
	return 0;
}
