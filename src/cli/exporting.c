// SPDX-License-Identifier: Apache-2.0
#include "cli/exporting.h"

#include "cli/say.h"

#include <errno.h>
#include <string.h>

struct sum {
	uint64_t lost, unplaced, dead_ns;
};

static int add_window(struct cam_window *w, const struct cam_selection *s, cam_exporting_add *add,
		      void *to, struct sum *sum)
{
	struct cam_picking pick;
	int err = cam_picking_open(&pick, s, w);
	if (err)
		return err;
	sum->unplaced += pick.selector.unplaced;
	if (pick.selector.n_ranges)
		err = add(to, w, &pick.filter);
	sum->lost += cam_picking_lost(&pick);
	cam_picking_close(&pick);
	return err;
}

int cam_exporting_each(struct cam_exporting *x, cam_exporting_add *add, void *to)
{
	struct cam_reading *in = &x->in;
	const struct cam_selection *s = &x->selection;
	int status = CAM_EXIT_OK;
	struct sum sum = {0};
	size_t n = in->source->ops->count(in->source);
	const struct cam_window_info *before = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info, *next = NULL;
		struct cam_window *w;
		struct cam_ledger_row gap;
		int err = in->source->ops->info(in->source, i, &info);
		if (!err && before && cam_selection_gap(s, before, info, &gap) &&
		    cam_cause_is_loss(gap.cause))
			sum.dead_ns += gap.to_ns - gap.from_ns;
		before = err ? NULL : info;
		if (i + 1 < n && in->source->ops->info(in->source, i + 1, &next))
			next = NULL;
		if (!err && !cam_selection_may_touch(s, info, next))
			continue;
		if (!err)
			err = in->source->ops->open(in->source, i, &w);
		if (!err) {
			err = add_window(w, s, add, to, &sum);
			w->ops->close(w);
		}
		/* What comes from the way out will not go away with the next window. */
		if (err == -ENODATA)
			return CAM_EXIT_FAILED;
		if (err == -ENOMEM || err == -EPIPE || err == -ENOSPC || err == -E2BIG)
			return cam_failed("%s", cam_errno_words(err));
		if (err)
			status = cam_incomplete("window %zu of %zu: %s", i + 1, n,
						cam_errno_words(err));
	}
	if (sum.unplaced)
		status = cam_incomplete("%llu windows have no wall clock and are left out",
					(unsigned long long)sum.unplaced);
	/* What a text says of itself was said when it was read. */
	if (sum.lost && in->stored)
		status = cam_incomplete(
			"%llu samples were lost before they could be kept (the ledger "
			"has them)",
			(unsigned long long)sum.lost);
	else if (sum.dead_ns)
		status = cam_incomplete("the recorder was not running for %.3f s of that time",
					(double)sum.dead_ns / 1e9);
	return status;
}

int cam_exporting_damage(const struct cam_damage *d)
{
	if (!d->chunks)
		return CAM_EXIT_OK;
	return cam_incomplete("%llu damaged chunks: %llu samples are missing, %llu are under "
			      "[damaged]",
			      (unsigned long long)d->chunks, (unsigned long long)d->samples,
			      (unsigned long long)d->stacks);
}

int cam_exporting_open(const struct cam_exporting_options *o, const char *events,
		       const struct cam_wanted *want, struct cam_exporting *x)
{
	struct cam_reading_options from = o->from;
	struct cam_filter_options filters = o->filters;
	from.want = *want;
	*x = (struct cam_exporting){.out_name = o->out ? o->out : "standard output"};
	if (events)
		filters.event_type = (struct cam_option_list){.values = {events}, .n = 1};
	int status = cam_picking_select(&o->range, &filters, &x->selection);
	x->selection.with_idle = !filters.no_idle;
	if (!status)
		status = x->read_status = cam_reading_open(&from, &x->in);
	if (status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE) {
		cam_selection_free(&x->selection);
		return status;
	}
	status = cam_picking_settle(&x->selection, &x->in);
	if (!status)
		x->output = o->gzip ? cam_output_open_gzip(o->out) : cam_output_open(o->out);
	if (x->output)
		return CAM_EXIT_OK;
	cam_reading_close(&x->in);
	cam_selection_free(&x->selection);
	return status ? status : CAM_EXIT_FAILED;
}

struct noting {
	struct cam_exporter *to;
	int error;
};

static int add_and_note(void *to, struct cam_window *w, const struct cam_row_filter *rows)
{
	struct noting *n = to;
	int err = cam_exporter_add(n->to, w, rows);
	n->error = n->error ? n->error : err;
	return err;
}

int cam_exporting_write(struct cam_exporting *x, struct cam_exporter *e, const char *what,
			int *error)
{
	struct noting noting = {.to = e};
	int worst = cam_exporting_each(x, add_and_note, &noting);
	if (error)
		*error = noting.error;
	struct cam_export_stats st = e->st;
	if (worst != CAM_EXIT_FAILED && !st.samples && st.folded)
		return cam_failed("%s: folded stacks are counts; %s", x->in.name, what);
	if (worst != CAM_EXIT_FAILED && !st.samples)
		return cam_failed("%s: no samples in the selection", x->in.name);
	int err = worst == CAM_EXIT_FAILED ? 0 : cam_exporter_finish(e);
	err = err ? err : cam_output_stream(x->output)->error;
	if (err)
		return cam_failed("%s: %s", x->out_name, cam_errno_words(err));
	if (worst)
		return worst;
	if (st.dropped)
		return cam_incomplete("%llu samples had no room in memory and are missing",
				      (unsigned long long)st.dropped);
	if (st.folded)
		return cam_incomplete("%llu windows of folded stacks are left out: they hold no "
				      "samples",
				      (unsigned long long)st.folded);
	return cam_exporting_damage(&st.damage);
}

int cam_exporting_close(struct cam_exporting *x, int worst)
{
	if (worst == CAM_EXIT_FAILED)
		cam_output_abandon(x->output);
	else if (cam_output_commit(x->output))
		worst = CAM_EXIT_FAILED;
	cam_reading_close(&x->in);
	cam_selection_free(&x->selection);
	return worst != CAM_EXIT_OK ? worst : x->read_status;
}
