// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of a selection grouped by keys: what tables and call trees are made of.
 *
 * Of the keys those that belong to a sample as a whole (comm, process, CPU, …) make its group; those of
 * frames (symbol, dso) are left to whoever looks at the stack. The window() callback gets, once for each
 * window, every (group, stack) with its measure, sorted by group: the work per sample is done here, as
 * little of it as the keys allow (walk.h: from footers where only comm and event type matter).
 *
 * Groups are numbered for the whole walk: cam_groups_values() has their values. Zeroed is not valid: use
 * cam_groups_run(). One thread.
 */
#pragma once
#include "query/flame.h"
#include "query/view_table.h"
#include "query/walk.h"

struct cam_group_item {
	uint32_t group;
	uint32_t stack; /* of the window */
	struct cam_measure m;
};

struct cam_groups;

struct cam_groups_options {
	enum cam_key keys[CAM_KEYS_MAX];
	size_t n_keys;
	enum cam_weight weight;
	uint64_t quantum_ns; /* of CAM_KEY_TIME; 0: 100 ms */
	/* Of CAM_KEY_PARENT: borrowed (NULL: none is found), and which of several frames that match. */
	const struct cam_select_expressions *parent;
	bool outermost_parent;
	const struct cam_progress *progress;
	/* items may be changed. An error ends the window or the walk, as walk.h says. */
	int (*window)(void *self, struct cam_groups *g, struct cam_walk_window *x,
		      struct cam_group_item *items, size_t n);
	void *self;
};

/* One value of a group: text is a string of names, or 0. */
struct cam_group_value {
	uint32_t text;
	uint32_t kind;
	int64_t number;
};

struct cam_groups {
	const struct cam_groups_options *options;
	struct cam_tables *names;	/* all texts, interned */
	struct cam_group_value *values; /* n_keys for each group; of frame keys: zeros */
	size_t n_groups, cap_values;
	struct cam_index index;
	struct cam_measure all;
	bool cpu_unknown, cpu_clock;
	struct cam_str_id unit;
	bool has_unit, mixed_units, unit_is_ns;
	struct cam_walk walk;
};

/* Walks. Errors as cam_walk()'s, and -E2BIG past 2^22 groups. To be freed either way. */
int cam_groups_run(struct cam_groups *g, struct cam_source *source, const struct cam_selection *s,
		   const struct cam_groups_options *o);
void cam_groups_free(struct cam_groups *g);
/* "samples", or what the events count. */
struct cam_text cam_groups_unit(const struct cam_groups *g);

static inline const struct cam_group_value *cam_groups_values(const struct cam_groups *g,
							      uint32_t group)
{
	return &g->values[group * g->options->n_keys];
}

/* The path of a function's module as shown: "[kernel.kallsyms]", "/lib/libc.so.6", "[unknown]". */
struct cam_text cam_groups_dso(const struct cam_tables *t, const struct cam_function *f);

/* What a function is as a frame. */
enum cam_frame_kind cam_groups_kind(const struct cam_function *f);

bool cam_key_is_of_frames(enum cam_key key);
/* "comm", "pid", …: perf's names where it has them. */
const char *cam_key_name(enum cam_key key);
/* A name, or perf's or people's other one ("sym", "command", "core"). False: there is no such key. */
bool cam_key_parse(struct cam_text name, enum cam_key *key);
