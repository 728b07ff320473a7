// SPDX-License-Identifier: Apache-2.0
/*
 * Door E: from whoever computes views to whoever shows them.
 *
 * Sides: query fills; render (later serve) reads and formats.
 * Handed over: plain result structs: numbers and names as they are, nothing formatted, nothing
 * escaped: a name is any bytes, and the reader must treat it as hostile.
 * Ownership: the caller's. Everything a view points to lives inside it, until its _free().
 * Thread: any one at a time; a finished view never changes.
 * Refusals: none here; what could not be seen is counted in struct cam_seen, and whoever shows
 * the view must show that too.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

enum cam_frame_kind {
	CAM_FRAME_ROOT,	   /* everything selected */
	CAM_FRAME_PROCESS, /* a comm: the first frame of its stacks */
	CAM_FRAME_KERNEL,
	CAM_FRAME_USER,
	CAM_FRAME_JIT,
	CAM_FRAME_INLINED,
	CAM_FRAME_MARK, /* not code: [damaged], [truncated], [small], … */
	CAM_FRAME_KIND_MAX,
};

/* What a reader must know to read a view right; bits. */
enum cam_view_note {
	CAM_VIEW_INTERRUPTS_OFF = 1 << 0, /* names a function that time lands on: landing.h */
};
#define CAM_VIEW_NOTES 1
/* In words, for people: of bit i < CAM_VIEW_NOTES. */
const char *cam_view_note_words(unsigned i);

/* What a view looked at, and what it could not see. */
struct cam_seen {
	uint64_t windows;	  /* that the selection touches */
	struct cam_text first;	  /* name of the first of them, for people */
	struct cam_text last;	  /* and of the last */
	struct cam_text host;	  /* empty where the windows come from several */
	uint64_t observed_ns;	  /* the length of what was observed; 0: there are no times */
	uint64_t from_ns;	  /* its start on the first window's clock */
	uint64_t to_ns;		  /* its end on the last window's clock */
	uint32_t cpus;		  /* numbers of CPUs, of the window with most */
	bool one_clock;		  /* from_ns and to_ns are on the same clock */
	int64_t realtime_from_ns; /* the same in UTC since 1970; INT64_MIN: not known */
	int64_t realtime_to_ns;
	uint64_t samples;      /* shown */
	uint64_t idle;	       /* samples hidden because they are idle */
	uint64_t other_events; /* samples of event types that were not asked for */
	uint64_t lost;	       /* samples, by the ledgers */
	/* What was due and is not stored, of the selection's times and CPUs, by the ledgers: samples. */
	uint64_t by_cause[CAM_CAUSE_MAX];
	uint64_t damaged;	 /* samples that can no longer be read */
	uint64_t damaged_stacks; /* samples shown whose stack is [damaged] */
	uint64_t
		damaged_parts; /* of files, that could not be read: those of samples and stacks, and names */
	uint64_t gap_ns;     /* between windows: recorder dead, stopped */
	uint64_t dead_ns;    /* and of these not on purpose: samples of that time are lost */
	uint64_t unplaced;   /* windows left out: a wall time was asked for, they have none */
	uint64_t unreadable; /* windows left out: expired, or nothing of them is readable */
};

/* A frame as nodes share it: one name of one kind. */
struct cam_flame_frame {
	uint32_t name_at, name_n; /* in cam_flame.text */
	uint8_t kind;		  /* enum cam_frame_kind */
	uint8_t notes;		  /* enum cam_view_note, of a view that names it with a self */
};

#define CAM_MODULE_SEVERAL UINT32_MAX

/*
 * The nodes of a flame graph in depth-first order: a parent before its children, children as `sort` puts
 * folded stacks: by name. Node 0 is the root; the children of node i start at i + 1, and
 * nodes[c].end is the next sibling of c, or the end of the family.
 */
struct cam_flame_node {
	uint32_t frame;
	uint32_t parent; /* the root is its own */
	uint32_t end;	 /* one past the last node below this one */
	uint32_t depth;
	uint32_t module;      /* in cam_flame.modules; 0: none; CAM_MODULE_SEVERAL */
	uint64_t self, total; /* in the flame's unit */
	uint64_t before_self; /* of a differential: the same before, else 0 */
	uint64_t before_total;
};

struct cam_flame_module {
	uint32_t path_at, path_n; /* in cam_flame.text */
};

struct cam_flame {
	struct cam_flame_node *nodes; /* at least the root */
	struct cam_flame_frame *frames;
	struct cam_flame_module *modules; /* 0 is "none" */
	char *text;
	size_t n_nodes, n_frames, n_modules, text_bytes;
	/*
	 * Where each node begins, in the flame's unit: of a chart, in which a node's own samples lie
	 * anywhere between its children. NULL: they come first, then the children.
	 */
	uint64_t *starts;
	uint32_t depth; /* of the deepest node; 0: only the root */
	bool differential;
	bool unit_is_ns;      /* self and total are nanoseconds of `unit` */
	struct cam_text unit; /* "samples", "cycles", "cpu-clock", … */
	unsigned notes;	      /* enum cam_view_note */
	struct cam_seen seen;
	char *strings; /* what seen points into */
	char *unit_text;
};

void cam_flame_free(struct cam_flame *f);

/*
 * Where node i begins, for one who takes the nodes in order, or leaves out all below one; next has room for
 * depth + 2 numbers, the first is 0 at the start.
 */
static inline uint64_t cam_flame_start(const struct cam_flame *f, size_t i, uint64_t *next)
{
	const struct cam_flame_node *n = &f->nodes[i];
	uint64_t start = f->starts ? f->starts[i] : next[n->depth];
	next[n->depth] = start + n->total;
	next[n->depth + 1] = start + n->self;
	return start;
}

static inline const struct cam_flame_frame *cam_flame_frame_of(const struct cam_flame *f, size_t i)
{
	return &f->frames[f->nodes[i].frame];
}
static inline struct cam_text cam_flame_name(const struct cam_flame *f, size_t i)
{
	const struct cam_flame_frame *frame = cam_flame_frame_of(f, i);
	return (struct cam_text){f->text + frame->name_at, frame->name_n};
}
/* Empty where there is none, or where several were merged. */
static inline struct cam_text cam_flame_module_path(const struct cam_flame *f, uint32_t module)
{
	if (module >= f->n_modules)
		return (struct cam_text){"", 0};
	return (struct cam_text){f->text + f->modules[module].path_at, f->modules[module].path_n};
}

/* A function wherever it ran. `total` counts a stack once, however often the function is in it. */
struct cam_top_row {
	uint32_t frame;	 /* of the flame it was made from */
	uint32_t module; /* as in struct cam_flame_node */
	uint64_t self, total;
};

/* The heaviest functions: by self, then total, then name. Borrows names from the flame. */
struct cam_top {
	const struct cam_flame *flame;
	struct cam_top_row *rows;
	size_t n_rows;
	size_t n_functions; /* how many there were to choose from */
	unsigned notes;	    /* enum cam_view_note, of the functions in the rows */
};

void cam_top_free(struct cam_top *t);
