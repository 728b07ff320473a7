// SPDX-License-Identifier: Apache-2.0
/*
 * What every exporter shares: windows one after the other, of each the rows that a filter takes, in order
 * of time; then the end.
 *
 * A format is a struct cam_exporter_ops and a function cam_<format>_out_new() that makes one. Whoever
 * exports calls cam_exporter_add() for each window, then cam_exporter_finish(), then cam_exporter_free().
 * Errors are the window's, the filter's, the stream's, -ENOMEM, and -E2BIG where a format must hold more
 * than it may; what was written before one stays.
 *
 * A window delivers its samples by second and CPU; files have them by time. So the rows of a second are
 * kept, as ids, and sorted when the next second begins: at most CAM_EXPORT_ROWS (a second with more is in
 * order by pieces). Rows of equal time keep the window's order: by CPU.
 */
#pragma once
#include "base/out.h"
#include "model/row_filter.h"

#define CAM_EXPORT_ROWS (1u << 20)

struct cam_export_row {
	uint64_t time_ns, weight;
	uint64_t leaf_offset; /* CAM_OFFSET_NONE with places: their locations have it */
	uint32_t cpu, task, etype, detail;
	uint32_t stack;	 /* a node of cam_exporter.tree */
	uint32_t number; /* in its second, as the window gave it */
};

struct cam_export_stats {
	uint64_t windows;
	uint64_t samples;	  /* written */
	uint64_t folded;	  /* windows left out: they hold counts, the format needs samples */
	uint64_t dropped;	  /* samples for which the format had no room */
	struct cam_damage damage; /* of the windows, as each said after it was read */
};

struct cam_exporter;

struct cam_exporter_ops {
	bool takes_counts; /* windows of folded stacks, too: rows without time, CPU and pid */
	/* A window begins: x->w, x->t and the rest are set. May be NULL. */
	int (*window)(struct cam_exporter *x);
	/* Ids of the row are within their tables. 1: taken, 0: no room for it. */
	int (*row)(struct cam_exporter *x, const struct cam_export_row *r);
	/* After the last window. May be NULL. */
	int (*finish)(struct cam_exporter *x);
	/* What the format holds; x itself is freed after it. May be NULL. */
	void (*free)(struct cam_exporter *x);
};

struct cam_exporter {
	const struct cam_exporter_ops *ops;
	struct cam_out *out; /* borrowed */
	struct cam_export_stats st;
	/* The window being written. */
	struct cam_window *w;
	const struct cam_tables *t;
	const struct cam_tree *tree; /* places of locations where it has those, else stacks */
	bool places;
	uint32_t broken; /* the item that is CAM_FRAME_BROKEN; CAM_NONE: it has no such stacks */
	struct cam_anchor *anchors;
	size_t n_anchors, cap_anchors;
	/* The base's own. */
	const struct cam_row_filter *filter;
	struct cam_export_row *rows;
	size_t n_rows, cap_rows;
	bool folded;
	char label[512];
};

int cam_exporter_add(struct cam_exporter *x, struct cam_window *w,
		     const struct cam_row_filter *filter);
int cam_exporter_finish(struct cam_exporter *x);
void cam_exporter_free(struct cam_exporter *x);

/* A frame of the window being written. */
struct cam_export_frame {
	struct cam_text name; /* as the window has it: may be empty */
	struct cam_text module, build_id;
	uint64_t address; /* 0: not known */
	uint64_t offset;  /* in the function; CAM_OFFSET_NONE: not known */
	uint64_t start;	  /* of the function, in its file; 0: not known */
	uint32_t func;	  /* CAM_NONE: none */
	uint32_t module_id;
	enum cam_func_kind kind;
	enum cam_module_kind module_kind;
	bool imported; /* its name is as another tool printed it */
};
/* What a node's item is. */
struct cam_export_frame cam_exporter_frame(const struct cam_exporter *x, uint32_t item);
/* With what the row knows of its innermost frame. */
void cam_exporter_leaf(const struct cam_export_row *r, struct cam_export_frame *f);
/* Whether the stack was followed into garbage: perf prints no frame of it. */
bool cam_exporter_is_broken(const struct cam_exporter *x, uint32_t stack);
/* The name as all views have it: never empty. Good until the next call. */
struct cam_text cam_exporter_label(struct cam_exporter *x, const struct cam_export_frame *f);

/* What the wall clock showed; false: not known. */
bool cam_exporter_wall(const struct cam_exporter *x, uint64_t time_ns, int64_t *realtime_ns);
/* What a sample of this type stands for: its weight, or the time between two of them. */
uint64_t cam_exporter_period(const struct cam_exporter *x, const struct cam_export_row *r);
