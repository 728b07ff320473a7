// SPDX-License-Identifier: Apache-2.0
/*
 * The one loop over (source, selection): which windows the selection touches, what of each it takes,
 * and what could not be seen. Every view is a struct cam_walk_view with the callbacks it needs.
 *
 * For each window in order: open(), then the samples taken, then ledger(), then close(), which is called
 * whenever open() was. All are optional; a non-zero answer ends the walk and is returned, but
 * -ENOENT, -EBADMSG, -EIO and -EPROTONOSUPPORT (of the window or of a callback) only end that window: it
 * is counted as unreadable, and what it delivered before stays delivered. gap() comes between two
 * windows, before the open() of the later one, whether or not either is touched.
 *
 * Samples come in one of two ways, by which callback is set:
 *
 *	sum	each (stack, comm, event type) once, with how often it was taken: the way for trees
 *		and tables. Sorted by comm, event type, stack. A window that is taken whole has these
 *		sums in its footer, and no sample column is read (not for weights or an `extra`).
 *	rows	the samples themselves, in batches: the way for anything by time. Order as in
 *		struct cam_batch: by second, CPU, then time.
 *
 * Only what the verdict takes is delivered: CAM_VERDICT_YES, or CAM_VERDICT_BEFORE, the first side
 * of a differential (see cam_walk.differential; a view without two sides ends with CAM_VERDICT_YES
 * alone by naming event types, or adds both). What is hidden is counted in seen.
 *
 * Ids are the window's: what a view keeps beyond close() it must keep by content. Times are the
 * window's clock; cam_walk_wall() has the wall clock of one. One thread.
 *
 * Cost, of a sealed window: about 1 µs a chunk that is touched; then some ns a row.
 */
#pragma once
#include "query/progress.h"
#include "query/selector.h"
#include "query/sums.h"
#include "query/views.h"

struct cam_walk;

/* The window being walked. */
struct cam_walk_window {
	struct cam_walk *walk;
	struct cam_window *w; /* its info, and for whatever else the view asks it */
	const struct cam_tables *tables;
	struct cam_selector selector; /* ranges[0 … n_ranges): what is taken; whole: all of it */
	size_t index;		      /* in the source */
	bool weighted;		      /* sums and batches carry weights that are not all 1 */
	bool samples_done;	      /* open() sets it: the view needs no sample of this window */
	/* The piece of time that one offset of the wall clock is good for. */
	uint64_t wall_from_ns, wall_to_ns;
	int64_t wall_shift_ns;
	void *own; /* the view's, for whatever it keeps by window */
};

/* Rows of a batch that are taken: batch columns at index[0 … n). */
struct cam_walk_rows {
	const struct cam_batch *batch;
	const uint32_t *index;
	const uint8_t *verdict; /* of each: YES or BEFORE */
	size_t n;
};

enum cam_walk_extra {
	CAM_WALK_NO_EXTRA,
	CAM_WALK_BY_TASK, /* cam_sum.extra is the task: sums by thread, process, cgroup … */
	CAM_WALK_BY_CPU,
};

struct cam_walk_view {
	void *self; /* first argument of each callback */
	int (*open)(void *self, struct cam_walk_window *x);
	int (*sum)(void *self, struct cam_walk_window *x, const struct cam_sum *sum,
		   enum cam_verdict verdict);
	int (*rows)(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows);
	/* Before a sealed window is opened: true passes it over, as if it were not there. */
	bool (*skip)(void *self, const struct cam_window_info *info);
	/*
	 * Before anything of a window is read but its header. 1: the view has taken from its footer what
	 * it needs, and counted that in seen; 0: the other callbacks follow. Errors as of those.
	 */
	int (*brief)(void *self, struct cam_walk *walk, struct cam_window *w);
	/* A row of the ledger that lies within times and CPUs: samples of it that do. */
	int (*ledger)(void *self, struct cam_walk_window *x, const struct cam_ledger_row *row,
		      uint64_t samples);
	/* err: what ended the window, 0: nothing did. What it answers takes its place. */
	int (*close)(void *self, struct cam_walk_window *x, int err);
	/* Unobserved time between two windows of one boot, cut to the selection. */
	int (*gap)(void *self, const struct cam_window_info *earlier,
		   const struct cam_window_info *later, const struct cam_ledger_row *gap);
	const struct cam_progress
		*progress; /* in samples of the windows touched; NULL: nobody asks */
	/* CAM_COL_… that rows() looks at, beside STACK and COMM. (With weights WEIGHT is added.) */
	unsigned columns;
	enum cam_walk_extra extra; /* of sums */
	bool weights;		   /* weigh by period where an event type has one */
	bool wall;		   /* cam_walk_wall() will be asked */
	bool no_stacks; /* rows() looks at none: they may be NULL where no filter needs them */
	bool no_tasks; /* it looks at none: tables may be without, as cam_window_names() has them */
	/* Nor functions, and modules: tables may be as cam_window_words() has them, until rows() comes with stacks. */
	bool no_names;
	bool no_losses; /* nobody will ask what seen says was lost: no ledger is read for it */
};

/* What the walk knows, during and after it. */
struct cam_walk {
	const struct cam_selection *selection;
	const struct cam_walk_view *view;
	/* Counted as it goes; its texts are valid in the walk's callbacks and after it, until
	 * cam_walk_free(). */
	struct cam_seen seen;
	/* Where the selection names no event type: the first one met; NULL: none yet. */
	char *main_etype;
	bool differential; /* … or both "before" and "after", as a two-column folded file has */
	/* The walk's own. */
	struct cam_boot_id boot_id;
	char *first, *last, *host;
	bool several_hosts;
	uint64_t done, all;
	uint32_t *index;
	uint8_t *verdict;
	size_t room;
};

/*
 * 0, or an error as above, -ENOMEM. Either way to be freed. Times as written are settled here, where they
 * were not before: -EINVAL and -ENODATA are from there.
 */
int cam_walk(struct cam_source *source, const struct cam_selection *s,
	     const struct cam_walk_view *view, struct cam_walk *walk);
void cam_walk_free(struct cam_walk *walk);
/*
 * A copy of seen that outlives the walk: its texts are in *strings, which the view frees. -ENOMEM.
 */
int cam_walk_keep_seen(const struct cam_walk *walk, struct cam_seen *out, char **strings);

/* Finds the piece of time again; cam_walk_wall() is what to call. */
void cam_walk_find_wall(struct cam_walk_window *x, uint64_t time_ns);
/* What the wall clock showed then: UTC nanoseconds since 1970; INT64_MIN: not known. */
static inline int64_t cam_walk_wall(struct cam_walk_window *x, uint64_t time_ns)
{
	if (time_ns < x->wall_from_ns || time_ns >= x->wall_to_ns)
		cam_walk_find_wall(x, time_ns);
	if (x->wall_shift_ns == INT64_MIN)
		return INT64_MIN;
	return (int64_t)((uint64_t)x->wall_shift_ns + time_ns);
}
/* The weight of a row of a batch. */
static inline uint64_t cam_walk_weight(const struct cam_batch *b, size_t i)
{
	return b->weight ? b->weight[i] : 1;
}
/* Its event type: a batch of a window that has only one may come without. */
static inline uint32_t cam_walk_etype(const struct cam_batch *b, size_t i)
{
	return b->etype ? b->etype[i] : 0;
}
/* "cycles" of "cycles:ppp"; "sched:sched_switch" is a name of two parts and stays. */
struct cam_text cam_walk_event_name(struct cam_text etype);
