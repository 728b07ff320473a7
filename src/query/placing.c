// SPDX-License-Identifier: Apache-2.0
#include "query/placing.h"

#include "query/package.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NULL_ID	    UINT32_MAX	     /* not yet asked */
#define SEVERAL_IDS (UINT32_MAX - 1) /* of a function that is several frames */

static enum cam_frame_kind kind_of(enum cam_func_kind kind)
{
	switch (kind) {
	case CAM_FUNC_KERNEL:
		return CAM_FRAME_KERNEL;
	case CAM_FUNC_JIT:
		return CAM_FRAME_JIT;
	case CAM_FUNC_INLINED:
		return CAM_FRAME_INLINED;
	case CAM_FUNC_MARK:
		return CAM_FRAME_MARK;
	case CAM_FUNC_USER:
	case CAM_FUNC_KIND_MAX:
		break;
	}
	return CAM_FRAME_USER;
}

static int grow_ids(uint32_t **v, size_t *n, size_t want)
{
	if (want <= *n)
		return 0;
	uint32_t *grown = reallocarray(*v, want, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + *n, 0xff, (want - *n) * sizeof(*grown));
	*v = grown;
	*n = want;
	return 0;
}

/* Its path; where builds are told apart with the first bytes of the build-id, as tools show them. */
static struct cam_text module_label(const struct cam_placing *p, const struct cam_tables *t,
				    const struct cam_module *m, char *room, size_t room_bytes)
{
	struct cam_text path = cam_string(t, m->path), id = cam_string(t, m->build_id);
	if (!p->builds || !id.n || path.n + 32 > room_bytes)
		return path;
	memcpy(room, path.p, path.n);
	size_t n = path.n + (size_t)snprintf(room + path.n, room_bytes - path.n, " ");
	for (size_t i = 0; i < id.n && i < 8; i++)
		n += (size_t)snprintf(room + n, room_bytes - n, "%02x", (unsigned char)id.p[i]);
	return (struct cam_text){room, n};
}

static int module_id(struct cam_placing *p, uint32_t module, uint32_t *out)
{
	const struct cam_tables *t = p->tables;
	*out = 0;
	if (module >= t->n_modules)
		return 0;
	char room[512];
	int err = grow_ids(&p->module_of, &p->n_module_of, t->n_modules);
	if (!err && p->module_of[module] == NULL_ID)
		err = cam_merge_module(p->merge,
				       module_label(p, t, &t->modules[module], room, sizeof(room)),
				       &p->module_of[module]);
	if (!err)
		*out = p->module_of[module];
	return err;
}

/* "a->b->c": how JVM agents name code into which other methods were inlined. */
static const char *find_arrow(struct cam_text label)
{
	const char *arrow = label.n > 2 ? memmem(label.p + 1, label.n - 1, "->", 2) : NULL;
	return arrow && arrow + 2 < label.p + label.n ? arrow : NULL;
}

/* One step down for each of them, those behind an arrow as inlined. */
static int place_several(struct cam_placing *p, struct cam_text label, uint32_t *node)
{
	enum cam_frame_kind kind = CAM_FRAME_JIT;
	char tidy[512];
	int err = 0;
	while (label.n && !err) {
		const char *arrow = find_arrow(label);
		struct cam_text part = {label.p, arrow ? (size_t)(arrow - label.p) : label.n};
		uint32_t frame;
		label = arrow ? (struct cam_text){arrow + 2, label.n - part.n - 2}
			      : (struct cam_text){label.p, 0};
		err = cam_merge_frame(p->merge, cam_package_tidy(part, tidy, sizeof(tidy)), kind,
				      &frame);
		if (!err)
			err = cam_merge_node(p->merge, *node, frame, node);
		kind = CAM_FRAME_INLINED;
	}
	return err;
}

static int frame_id(struct cam_placing *p, uint32_t function, uint32_t *out)
{
	const struct cam_tables *t = p->tables;
	struct cam_merge *m = p->merge;
	char room[512], tidy[512];
	if (function >= t->n_functions)
		return cam_merge_frame(m, CAM_TEXT("[unknown]"), CAM_FRAME_USER, out);
	int err = grow_ids(&p->frame_of, &p->n_frame_of, t->n_functions);
	if (!err && p->frame_of[function] == NULL_ID) {
		struct cam_text label =
			cam_function_label(t, (struct cam_func_id){function}, room, sizeof(room));
		if (t->functions[function].kind == CAM_FUNC_JIT && find_arrow(label))
			p->frame_of[function] = SEVERAL_IDS;
		else
			err = cam_merge_frame(m, cam_package_tidy(label, tidy, sizeof(tidy)),
					      kind_of(t->functions[function].kind),
					      &p->frame_of[function]);
	}
	if (!err)
		*out = p->frame_of[function];
	return err;
}

/* From a node to its child for one frame of the window. */
static int place_frame(struct cam_placing *p, uint32_t function, uint32_t *node)
{
	const struct cam_tables *t = p->tables;
	uint32_t frame, module = 0;
	char room[512];
	int err = frame_id(p, function, &frame);
	if (!err && frame == SEVERAL_IDS)
		err = place_several(p,
				    cam_function_label(t, (struct cam_func_id){function}, room,
						       sizeof(room)),
				    node);
	else if (!err)
		err = cam_merge_node(p->merge, *node, frame, node);
	if (!err && function < t->n_functions)
		err = module_id(p, t->functions[function].module.v, &module);
	if (!err)
		cam_merge_note_module(p->merge, *node, module);
	return err;
}

static int grow_placed(struct cam_placing *p, size_t want)
{
	if (want <= p->n_placed)
		return 0;
	struct cam_placed *grown = reallocarray(p->placed, want, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + p->n_placed, 0, (want - p->n_placed) * sizeof(*grown));
	p->placed = grown;
	p->n_placed = want;
	return 0;
}

/* The tree's node for a stack of the window, below the present comm. */
static int place_stack(struct cam_placing *p, uint32_t stack, uint32_t *out)
{
	const struct cam_tree *tree = &p->tables->stacks;
	uint32_t path[CAM_MAX_STACK_FRAMES + 1];
	size_t depth = 0;
	if (stack >= tree->n)
		return -EBADMSG;
	int err = grow_placed(p, tree->n);
	if (err)
		return err;
	for (; stack && p->placed[stack].stamp != p->stamp; stack = tree->parent[stack]) {
		if (depth == sizeof(path) / sizeof(path[0]))
			return -EBADMSG;
		path[depth++] = stack;
	}
	uint32_t node = stack ? p->placed[stack].node : p->comm_node;
	while (depth && !err) {
		stack = path[--depth];
		err = place_frame(p, tree->item[stack], &node);
		p->placed[stack] = (struct cam_placed){node, p->stamp};
	}
	*out = node;
	return err;
}

/* Where the stacks of a group and a comm are put. */
static int start_group(struct cam_placing *p, uint32_t group, uint32_t comm)
{
	struct cam_text name = cam_string(p->tables, (struct cam_str_id){comm});
	struct cam_merge *m = p->merge;
	uint32_t frame, node = 0;
	int err = group == CAM_NO_GROUP ? 0 : cam_merge_node(m, 0, group, &node);
	if (!err && (group == CAM_NO_GROUP || cam_grouping_has_comm(p->by))) {
		err = cam_merge_frame(m, name.n ? name : CAM_TEXT("[unknown]"), CAM_FRAME_PROCESS,
				      &frame);
		if (!err)
			err = cam_merge_node(m, node, frame, &node);
	}
	p->comm_node = node;
	p->group = group;
	p->comm = comm;
	p->stamp++;
	return err;
}

int cam_placing_group(struct cam_placing *p, uint32_t extra, uint32_t *out)
{
	const struct cam_tables *t = p->tables;
	enum cam_flame_by by = p->by;
	char room[512];
	*out = CAM_NO_GROUP;
	if (by == CAM_BY_COMM)
		return 0;
	/* CPUs have small numbers, but "not known", which is taken as one beyond the others. */
	size_t at = extra < CAM_MAX_ROWS ? extra
		    : by == CAM_BY_CPU	 ? CAM_SELECT_MAX_CPU + 1u
					 : t->n_tasks;
	int err = grow_ids(&p->group_of, &p->n_group_of, at + 1);
	if (!err && p->group_of[at] == NULL_ID) {
		struct cam_text label;
		err = cam_grouping_label(&p->grouping, by, t, extra, room, sizeof(room), &label);
		if (!err)
			err = cam_merge_frame(p->merge, label, CAM_FRAME_PROCESS, &p->group_of[at]);
	}
	if (!err)
		*out = p->group_of[at];
	return err;
}

int cam_placing_stack(struct cam_placing *p, uint32_t group, uint32_t comm, uint32_t stack,
		      uint32_t *node)
{
	int err = 0;
	if (!p->stamp || comm != p->comm || group != p->group)
		err = start_group(p, group, comm);
	return err ? err : place_stack(p, stack, node);
}

void cam_placing_open(struct cam_placing *p, struct cam_merge *m, const struct cam_tables *t,
		      enum cam_flame_by by, bool builds)
{
	*p = (struct cam_placing){.merge = m, .tables = t, .by = by, .builds = builds};
}

void cam_placing_close(struct cam_placing *p)
{
	free(p->frame_of);
	free(p->module_of);
	free(p->group_of);
	free(p->placed);
	cam_grouping_free(&p->grouping);
}
