// SPDX-License-Identifier: Apache-2.0
/*
 * From a tree to another tree.
 *
 * What: a node of the old tree becomes no node, one, or (its package's parts) several of the new one,
 * below the place its parent became. Nodes come depth first, so the parent's place is known; where a
 * frame is taken out its place is its parent's. A node's own samples go to its place; totals are
 * added up again at the end, by the merge that also builds the tree in the first place.
 *
 * Why this way: one pass, one map (place), and every filter is a small question about one node:
 * where does it go, given where its parent went? So they can be combined without a special case.
 * Reversing is different: a node's place depends on what is below it. It is a pass of its own, over
 * the nodes that have samples of their own, each with its path up to the root.
 *
 * Invariants:
 * 1. place[i] is a node of the new tree, or OUTSIDE: above the focus, or not below one.
 * 2. The sum of all self is the same before and after, without a focus.
 * 3. Hiding, focusing, choosing frames and collapsing recursion again changes nothing; reversing twice is
 *    the old tree.
 */
#include "query/reshape.h"

#include "base/buf.h"
#include "base/vec.h"
#include "query/landing.h"
#include "query/merge.h"
#include "query/package.h"

#include <stdio.h>

#define DEFAULT_MAX_BYTES (1ull << 30)
#define OUTSIDE		  CAM_CHART_GONE

struct pass {
	const struct cam_reshape *r;
	const struct cam_flame *f;
	struct cam_merge merge;
	uint32_t *place;    /* by old node */
	bool *kernel;	    /* by old node: it is kernel code, as far as can be told */
	uint8_t *verdicts;  /* by old frame: bits of what has been found out */
	uint32_t *replaced; /* by new node: the frame it has */
	size_t cap_replaced;
	struct cam_buf name; /* as a C string */
	int error;	     /* a frame was asked in vain */
};

enum verdict {
	HIDE_ASKED = 1 << 0,
	HIDDEN = 1 << 1,
	FOCUS_ASKED = 1 << 2,
	FOCUSED = 1 << 3,
};

int cam_reshape_add(struct cam_reshape *r, enum cam_reshape_filter filter, struct cam_text value,
		    char *why, size_t why_bytes)
{
	why[0] = 0;
	int err = cam_select_expression_add(filter == CAM_RESHAPE_HIDE ? &r->hide : &r->focus,
					    value, why, why_bytes);
	if (err && !why[0])
		snprintf(why, why_bytes, "%s",
			 err == -E2BIG	  ? "too many expressions, or too long"
			 : err == -ENOMEM ? "out of memory"
					  : "empty, or holds a zero byte");
	return err;
}

void cam_reshape_free(struct cam_reshape *r)
{
	cam_select_expressions_free(&r->hide);
	cam_select_expressions_free(&r->focus);
	*r = (struct cam_reshape){0};
}

static bool is_forward(const struct cam_reshape *r)
{
	return r->hide.n || r->focus.n || r->frames || r->group || r->recursion;
}

bool cam_reshape_is_any(const struct cam_reshape *r)
{
	return is_forward(r) || r->reverse;
}

static struct cam_text name_of(const struct cam_flame *f, uint32_t frame)
{
	return (struct cam_text){f->text + f->frames[frame].name_at, f->frames[frame].name_n};
}

int cam_reshape_match(const struct cam_select_expressions *e, struct cam_text name,
		      struct cam_buf *room)
{
	return cam_select_expressions_try(e, name, room, NULL);
}

static bool matches(struct pass *p, const struct cam_select_expressions *e, struct cam_text name)
{
	int found = cam_reshape_match(e, name, &p->name);
	p->error = found < 0 && !p->error ? found : p->error;
	return found > 0;
}

/* Asked once a frame, however many nodes it has. */
static bool frame_is(struct pass *p, uint32_t frame, const struct cam_select_expressions *e,
		     uint8_t asked, uint8_t yes)
{
	uint8_t *v = &p->verdicts[frame];
	if (e->n && !(*v & asked)) {
		*v |= asked;
		if (matches(p, e, name_of(p->f, frame)))
			*v |= yes;
	}
	return *v & yes;
}

static struct cam_text module_of(const struct cam_flame *f, uint32_t i)
{
	struct cam_text path = cam_flame_module_path(f, f->nodes[i].module);
	if (f->nodes[i].module == CAM_MODULE_SEVERAL)
		return CAM_TEXT("[several files]");
	if (path.n)
		return cam_package_file(path);
	return cam_flame_frame_of(f, i)->kind == CAM_FRAME_KERNEL ? CAM_TEXT("[kernel]")
								  : CAM_TEXT("[unknown]");
}

static struct cam_text group_of(const struct pass *p, uint32_t i)
{
	struct cam_text package = {"", 0};
	if (p->r->group == CAM_GROUP_PACKAGE &&
	    cam_flame_frame_of(p->f, i)->kind != CAM_FRAME_KERNEL)
		package = cam_package_of(cam_flame_name(p->f, i));
	return package.n ? package : module_of(p->f, i);
}

/* One step down in the new tree; a frame as the one above it goes into it, where that is wanted. */
static int step(struct pass *p, uint32_t *at, struct cam_text name, enum cam_frame_kind kind,
		bool into_same)
{
	uint32_t frame;
	int err = cam_merge_frame(&p->merge, name, kind, &frame);
	if (err || (into_same && *at && p->replaced[*at] == frame))
		return err;
	err = cam_merge_node(&p->merge, *at, frame, at);
	if (!err)
		err = cam_vec_reserve(&p->replaced, &p->cap_replaced, *at + 1ul,
				      sizeof(*p->replaced), CAM_MAX_ROWS);
	if (!err)
		p->replaced[*at] = frame;
	return err;
}

static int copy_module(struct pass *p, uint32_t i, uint32_t node)
{
	uint32_t module = 0;
	int err = 0;
	if (p->f->nodes[i].module == CAM_MODULE_SEVERAL)
		p->merge.module[node] = CAM_MODULE_SEVERAL;
	else
		err = cam_merge_module(&p->merge,
				       cam_flame_module_path(p->f, p->f->nodes[i].module), &module);
	if (!err && p->merge.module[node] != CAM_MODULE_SEVERAL)
		cam_merge_note_module(&p->merge, node, module);
	return err;
}

/* Whether the frame is one of those wanted, by where its code runs. */
static bool is_wanted_kind(struct pass *p, uint32_t i)
{
	enum cam_frame_kind kind = cam_flame_frame_of(p->f, i)->kind;
	p->kernel[i] = kind == CAM_FRAME_KERNEL ||
		       (kind == CAM_FRAME_INLINED && p->kernel[p->f->nodes[i].parent]);
	if (kind == CAM_FRAME_PROCESS || kind == CAM_FRAME_MARK || !p->r->frames)
		return true;
	return p->kernel[i] == (p->r->frames == CAM_FRAMES_KERNEL);
}

/* A frame of code below `at`: itself, or what stands for it. */
static int place_code(struct pass *p, uint32_t i, uint32_t *at)
{
	const struct cam_flame_frame *frame = cam_flame_frame_of(p->f, i);
	uint32_t before = *at;
	bool code = frame->kind != CAM_FRAME_PROCESS && frame->kind != CAM_FRAME_MARK;
	int err;
	if (p->r->group && code)
		err = step(p, at, group_of(p, i),
			   frame->kind == CAM_FRAME_INLINED ? CAM_FRAME_USER : frame->kind, true);
	else
		err = step(p, at, cam_flame_name(p->f, i), frame->kind, code && p->r->recursion);
	return err || *at == before ? err : copy_module(p, i, *at);
}

static int place_node(struct pass *p, uint32_t i)
{
	const struct cam_flame_node *n = &p->f->nodes[i];
	uint32_t at = i ? p->place[n->parent] : 0;
	bool wanted = is_wanted_kind(p, i);
	if (!i) {
		p->place[0] = p->r->focus.n ? OUTSIDE : 0;
		return 0;
	}
	if (at == OUTSIDE && frame_is(p, n->frame, &p->r->focus, FOCUS_ASKED, FOCUSED))
		at = 0;
	int err = 0;
	if (at != OUTSIDE && wanted && !frame_is(p, n->frame, &p->r->hide, HIDE_ASKED, HIDDEN))
		err = place_code(p, i, &at);
	p->place[i] = at;
	return err;
}

static void add_own(struct pass *p, uint32_t i, uint32_t node)
{
	p->merge.self[node] += p->f->nodes[i].self;
	p->merge.before[node] += p->f->nodes[i].before_self;
}

static bool has_own(const struct cam_flame_node *n)
{
	return n->self || n->before_self;
}

static int forward(struct pass *p)
{
	int err = 0;
	for (uint32_t i = 0; i < p->f->n_nodes && !err; i++) {
		err = place_node(p, i);
		if (!err && p->place[i] != OUTSIDE)
			add_own(p, i, p->place[i]);
	}
	return err;
}

/* Level by level: "java", "util", "HashMap", "get". Code that has no package: its file, its name. */
static int place_parts(struct pass *p, uint32_t i)
{
	const struct cam_flame_frame *frame = cam_flame_frame_of(p->f, i);
	struct cam_text name = cam_flame_name(p->f, i), rest = name;
	uint32_t at = 0;
	int err = 0;
	if (frame->kind == CAM_FRAME_PROCESS || frame->kind == CAM_FRAME_MARK || !i) {
		rest.n = 0;
		err = i ? step(p, &at, name, frame->kind, false) : 0;
	} else if (frame->kind == CAM_FRAME_KERNEL || !cam_package_of(name).n) {
		err = step(p, &at, module_of(p->f, i), frame->kind, false);
		if (!err)
			err = step(p, &at, name, frame->kind, false);
		rest.n = 0;
	} else if (name.p[0] == 'L' && memchr(name.p, ';', name.n)) {
		rest = (struct cam_text){name.p + 1, name.n - 1};
	}
	while (rest.n && !err) {
		struct cam_text part = cam_package_step(&rest);
		err = part.n ? step(p, &at, part, frame->kind, false) : 0;
	}
	p->place[i] = at;
	if (!err)
		add_own(p, i, at);
	return err;
}

static int by_leaf_package(struct pass *p)
{
	int err = 0;
	for (uint32_t i = 0; i < p->f->n_nodes && !err; i++) {
		if (has_own(&p->f->nodes[i]))
			err = place_parts(p, i);
	}
	return err;
}

static int reverse(struct pass *p)
{
	int err = 0;
	for (uint32_t i = 0; i < p->f->n_nodes && !err; i++) {
		if (!has_own(&p->f->nodes[i]))
			continue;
		uint32_t at = 0;
		for (uint32_t k = i; k && !err; k = p->f->nodes[k].parent) {
			err = step(p, &at, cam_flame_name(p->f, k),
				   cam_flame_frame_of(p->f, k)->kind, false);
			if (!err)
				err = copy_module(p, k, at);
		}
		p->place[i] = at;
		if (!err)
			add_own(p, i, at);
	}
	return err;
}

/* The new nodes, frames and names in place of the old ones. */
static void exchange(struct cam_flame *f, struct cam_flame *made)
{
	struct cam_flame old = *f;
	f->nodes = made->nodes;
	f->frames = made->frames;
	f->modules = made->modules;
	f->text = made->text;
	f->n_nodes = made->n_nodes;
	f->n_frames = made->n_frames;
	f->n_modules = made->n_modules;
	f->text_bytes = made->text_bytes;
	f->depth = made->depth;
	for (size_t i = 0; i < f->n_frames && old.notes & CAM_VIEW_INTERRUPTS_OFF; i++) {
		f->frames[i].notes =
			(uint8_t)cam_landing_notes(f->frames[i].kind, name_of(f, (uint32_t)i));
	}
	free(old.nodes);
	free(old.frames);
	free(old.modules);
	free(old.text);
}

/* Where the old nodes are now, in the order of the finished tree. */
static void move_rows(struct pass *p, const uint32_t *positions, struct cam_chart *chart)
{
	for (size_t i = 0; i < p->f->n_nodes; i++) {
		if (p->place[i] != OUTSIDE)
			p->place[i] = positions[p->place[i]];
	}
	cam_chart_move(chart, p->place);
}

static int run(const struct cam_reshape *r, struct cam_flame *f, struct cam_chart *chart,
	       int (*way)(struct pass *))
{
	uint32_t *positions = NULL;
	struct pass p = {.r = r, .f = f, .name = CAM_BUF(1u << 24)};
	struct cam_flame made = {0};
	int err = cam_merge_init(&p.merge, r->max_bytes ? r->max_bytes : DEFAULT_MAX_BYTES);
	p.place = calloc(f->n_nodes, sizeof(*p.place));
	p.kernel = calloc(f->n_nodes, sizeof(*p.kernel));
	p.verdicts = calloc(f->n_frames, sizeof(*p.verdicts));
	if (!err && (!p.place || !p.kernel || !p.verdicts))
		err = -ENOMEM;
	if (!err)
		err = way(&p);
	if (!err)
		err = p.error;
	if (!err)
		err = cam_merge_finish(&p.merge, &made, chart ? &positions : NULL);
	if (!err && chart)
		move_rows(&p, positions, chart);
	if (!err)
		exchange(f, &made);
	else
		cam_flame_free(&made);
	cam_merge_free(&p.merge);
	cam_buf_free(&p.name);
	free(positions);
	free(p.place);
	free(p.kernel);
	free(p.verdicts);
	free(p.replaced);
	return err;
}

int cam_reshape_apply(const struct cam_reshape *r, struct cam_flame *f, struct cam_chart *chart)
{
	struct cam_reshape first = *r;
	bool leaf = r->group == CAM_GROUP_LEAF_PACKAGE;
	int err = 0;
	if (leaf)
		first.group = CAM_GROUP_NONE;
	if (is_forward(&first))
		err = run(&first, f, chart, forward);
	if (!err && leaf)
		err = run(r, f, chart, by_leaf_package);
	if (!err && r->reverse)
		err = run(r, f, chart, reverse);
	return err;
}
