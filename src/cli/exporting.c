// SPDX-License-Identifier: Apache-2.0
#include "cli/exporting.h"

#include "cli/say.h"

#include <errno.h>
#include <string.h>

struct each {
	cam_exporting_add *add;
	void *to;
	int status;
	struct cam_output *output; /* NULL: none yet */
};

static int add_rows(void *self, struct cam_window *w, const struct cam_row_filter *rows)
{
	struct each *e = self;
	return e->add(e->to, w, rows);
}

static int say_failed(void *self, size_t i, size_t n, int err)
{
	struct each *e = self;
	/* What comes from the way out will not go away with the next window. */
	bool said_later = err == -ENODATA || (e->output && cam_output_stream(e->output)->error);
	if (said_later)
		return err;
	if (err == -ENOMEM || err == -E2BIG) {
		cam_failed("%s", cam_errno_words(err));
		return err;
	}
	e->status = cam_incomplete("window %zu of %zu: %s", i + 1, n, cam_errno_words(err));
	return 0;
}

int cam_exporting_each(struct cam_exporting *x, cam_exporting_add *add, void *to)
{
	struct cam_reading *in = &x->in;
	struct each each = {add, to, CAM_EXIT_OK, x->output};
	const struct cam_row_pick_view view = {&each, add_rows, say_failed};
	struct cam_row_pick_missing sum;
	if (cam_row_pick_each(in->source, &x->selection, &view, &sum))
		return CAM_EXIT_FAILED;
	int status = each.status;
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
	uint64_t windows;
	struct cam_exporter *to;
	int error;
};

static int add_and_note(void *to, struct cam_window *w, const struct cam_row_filter *rows)
{
	struct noting *n = to;
	int err = cam_exporter_add(n->to, w, rows);
	n->windows++;
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
		return cam_picking_nothing(&x->in, &(struct cam_seen){.windows = noting.windows});
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
