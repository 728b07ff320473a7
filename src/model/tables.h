// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of one window: interned strings, modules, functions, locations, two trees of
 * stacks, tasks and event types. Everything else refers to them by id.
 *
 * One owner, one thread. Interning the same content twice gives the same id. Memory is bounded:
 * an intern that would pass max_bytes (or 2^24 rows of a kind) fails with -E2BIG, a failed
 * allocation with -ENOMEM, and the tables stay valid. Rows never move to another id; pointers
 * into the arrays are valid until the next intern. All tables die together
 * (cam_tables_free()).
 */
#pragma once
#include "base/index.h"
#include "base/text.h"
#include "model/nouns.h"

#define CAM_MAX_ROWS	     (1u << 24)
#define CAM_MAX_STRING_BYTES (1u << 30)
#define CAM_MAX_STACK_FRAMES 1024u

struct cam_strings {
	char *bytes;
	uint32_t *ends; /* row i is bytes[ends[i-1] .. ends[i]) */
	size_t n, cap, bytes_cap;
	struct cam_index index;
};

/* Stacks as paths from the root: node i has parent[i] < i and item[i], a function or location. */
struct cam_tree {
	uint32_t *parent;
	uint32_t *item;
	size_t n, parent_cap, item_cap;
	struct cam_index index;
};

struct cam_tables {
	struct cam_strings strings;
	struct cam_tree stacks;	 /* of functions */
	struct cam_tree places;	 /* of locations */
	struct cam_tree inlines; /* of functions: the outermost inlined one below the root */
	struct cam_module *modules;
	struct cam_function *functions;
	struct cam_location *locations;
	struct cam_task *tasks;
	struct cam_etype *etypes;
	uint32_t *place_stacks; /* per place: its stack + 1; 0: not yet computed */
	size_t n_modules, n_functions, n_locations, n_tasks, n_etypes;
	size_t cap_modules, cap_functions, cap_locations, cap_tasks, cap_etypes, cap_place_stacks;
	struct cam_index module_index, function_index, location_index, task_index, etype_index;
	size_t max_bytes;
	size_t bytes; /* allocated, of all of them */
};

/* max_bytes bounds what all tables together may allocate. */
int cam_tables_init(struct cam_tables *t, size_t max_bytes);
void cam_tables_free(struct cam_tables *t);

int cam_string_intern(struct cam_tables *t, struct cam_text s, struct cam_str_id *out);
int cam_module_intern(struct cam_tables *t, const struct cam_module *m, struct cam_module_id *out);
int cam_function_intern(struct cam_tables *t, const struct cam_function *f,
			struct cam_func_id *out);
int cam_location_intern(struct cam_tables *t, const struct cam_location *l, struct cam_loc_id *out);
int cam_task_intern(struct cam_tables *t, const struct cam_task *k, struct cam_task_id *out);
int cam_etype_intern(struct cam_tables *t, const struct cam_etype *e, struct cam_etype_id *out);

/* Names a location that was born unnamed; later calls change nothing. */
void cam_location_name(struct cam_tables *t, struct cam_loc_id loc, struct cam_func_id func,
		       uint64_t func_offset);

/* What was inlined at a location (a node of inlines), once. */
void cam_location_inline(struct cam_tables *t, struct cam_loc_id loc, uint32_t node);

/* The source line of a location, once. */
void cam_location_source(struct cam_tables *t, struct cam_loc_id loc, struct cam_str_id file,
			 uint32_t line);

/* Where in its source the code at an offset of a function is; the function is the leaf of a stack: of what is
 * inlined the innermost, with the offset in the function that has the code. */
struct cam_line {
	struct cam_func_id func;
	uint64_t leaf_offset;
	struct cam_text file;
	uint32_t line;
};
typedef int cam_line_fn(void *arg, const struct cam_line *l);
/* Those of all locations; the same offset may come twice, and with another line. */
int cam_tables_lines(const struct cam_tables *t, cam_line_fn *fn, void *arg);

/* The node below `parent` with this item. */
int cam_tree_intern(struct cam_tables *t, struct cam_tree *tree, uint32_t parent, uint32_t item,
		    uint32_t *out);
/* The node of a whole path, given leaf first; -E2BIG past CAM_MAX_STACK_FRAMES. */
int cam_place_intern(struct cam_tables *t, const struct cam_loc_id *leaf_first, size_t n,
		     struct cam_place_id *out);

/*
 * The stack of functions of a place, made on first use: each location's function and below it those
 * inlined there, or for an unnamed location the unnamed function of its module (of code made at run time: of its
 * mapping). A stack that would be deeper than CAM_MAX_STACK_FRAMES is made without what was inlined. Cached: call
 * it only once all names are known, or cam_tables_forget_stacks() between.
 */
int cam_place_stack(struct cam_tables *t, struct cam_place_id place, struct cam_stack_id *out);
void cam_tables_forget_stacks(struct cam_tables *t);
/* The leaf's offset in its function; CAM_OFFSET_NONE for the root or where it is not known. */
uint64_t cam_place_leaf_offset(const struct cam_tables *t, struct cam_place_id place);

static inline struct cam_text cam_string(const struct cam_tables *t, struct cam_str_id id)
{
	if (id.v >= t->strings.n)
		return (struct cam_text){"", 0};
	uint32_t from = id.v ? t->strings.ends[id.v - 1] : 0;
	return (struct cam_text){t->strings.bytes + from, t->strings.ends[id.v] - from};
}
/* A thread that the kernel runs in a user's process (io_uring, vhost), by the name that it gives it. */
static inline bool cam_task_is_worker(int32_t pid, int32_t tid, struct cam_text comm)
{
	return pid != tid && (cam_text_starts(comm, CAM_TEXT("iou-wrk-")) ||
			      cam_text_starts(comm, CAM_TEXT("iou-sqp-")) ||
			      cam_text_starts(comm, CAM_TEXT("vhost-")));
}
/* The name to show: never empty. Unnamed: "[libfoo.so+0x1234]" (its start), "[libfoo.so]", "[jit]",
 * "[unknown]". Borrowed, or written into room (at least 64 bytes; cut if longer). */
struct cam_text cam_function_label(const struct cam_tables *t, struct cam_func_id f, char *room,
				   size_t room_bytes);
