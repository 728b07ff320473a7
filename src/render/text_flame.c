// SPDX-License-Identifier: Apache-2.0
/*
 * The flame graph as text.
 *
 * What: one line a depth, root first. A frame covers the part of the line that is its share.
 *
 * Why this way: a character is a coarse pixel, so edges are placed at eighths of it: a cell that two
 * frames share is one of the block characters (▏ to ▉), drawn in the left frame's colour upon the
 * right one's. Frames narrower than an eighth are not drawn. Neighbours differ in shade, whatever
 * their names, so that an edge that falls between two characters is seen, too.
 *
 * A terminal has some 40 lines, a stack often more frames. Where they do not fit, levels go whose frames
 * all have just one child that is as wide (start_thread → main → run …): they say the least. What then
 * does not fit is cut at the leaves, and both are said.
 *
 * Invariant: in each line the frames are in order and do not overlap; own[] has their number + 1 for each
 * eighth, 0 where there is none.
 */
#include "render/text_flame.h"

#include "base/vec.h"
#include "render/figure.h"
#include "render/label.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_LEVELS 1200u
#define MAX_SPANS   (1u << 22)

struct span {
	uint32_t node, depth;
	uint32_t from, to; /* eighths */
};

struct drawing {
	struct cam_screen screen;
	const struct cam_flame *f;
	const struct cam_text_flame_options *o;
	uint32_t columns;
	struct span *spans; /* by depth, then from left to right */
	size_t n_spans, cap_spans;
	size_t *level; /* where each depth starts in spans; one more at the end */
	bool *left_out;
	uint32_t n_levels;
	uint32_t *own; /* of the present line */
	uint64_t narrow, max_change;
};

static uint64_t value_of(const struct drawing *d, const struct cam_flame_node *n, bool before)
{
	if (d->o->by_self)
		return before ? n->before_self : n->self;
	return before ? n->before_total : n->total;
}

static uint64_t change_of(const struct drawing *d, const struct cam_flame_node *n)
{
	uint64_t a = value_of(d, n, false), b = value_of(d, n, true);
	return a > b ? a - b : b - a;
}

static uint32_t eighth(const struct drawing *d, uint64_t at)
{
	double all = (double)d->f->nodes[0].total;
	return (uint32_t)((double)at / all * d->columns * 8 + 0.5);
}

static int by_depth(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* What is wide enough to be seen. */
static int collect(struct drawing *d)
{
	const struct cam_flame *f = d->f;
	uint64_t *cursor = calloc(f->depth + 2ul, sizeof(*cursor));
	int err = cursor ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < f->n_nodes && !err;) {
		const struct cam_flame_node *n = &f->nodes[i];
		uint64_t start = cam_flame_start(f, i, cursor);
		struct span s = {i, n->depth, eighth(d, start), eighth(d, start + n->total)};
		if (s.from == s.to || n->depth >= MOST_LEVELS) {
			d->narrow += n->end - i;
			i = n->end;
			continue;
		}
		if (i && change_of(d, n) > d->max_change)
			d->max_change = change_of(d, n);
		err = cam_vec_reserve(&d->spans, &d->cap_spans, d->n_spans + 1, sizeof(s),
				      MAX_SPANS);
		if (!err)
			d->spans[d->n_spans++] = s;
		if (n->depth >= d->n_levels)
			d->n_levels = n->depth + 1;
		i++;
	}
	free(cursor);
	return err;
}

static int find_levels(struct drawing *d)
{
	d->level = calloc(d->n_levels + 1ul, sizeof(*d->level));
	d->left_out = calloc(d->n_levels + 1ul, sizeof(*d->left_out));
	d->own = calloc(d->columns * 8ul, sizeof(*d->own));
	if (!d->level || !d->left_out || !d->own)
		return -ENOMEM;
	if (d->n_spans)
		qsort(d->spans, d->n_spans, sizeof(*d->spans), by_depth);
	for (size_t i = 0; i < d->n_spans; i++)
		d->level[d->spans[i].depth + 1] = i + 1;
	return 0;
}

/* Whether each frame of a level has one child, as wide as itself. */
static bool says_little(const struct drawing *d, uint32_t depth)
{
	size_t n = d->level[depth + 1] - d->level[depth];
	if (depth + 1 >= d->n_levels || d->level[depth + 2] - d->level[depth + 1] != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct span *a = &d->spans[d->level[depth] + i], *b = a + n;
		if (a->from != b->from || a->to != b->to)
			return false;
	}
	return true;
}

/* Leaves levels out until no more than `room` are left, or none says little; answers how many. */
static uint32_t leave_out(struct drawing *d, uint32_t room)
{
	uint32_t n = 0;
	for (uint32_t depth = 2; depth < d->n_levels && d->n_levels - n > room; depth++) {
		d->left_out[depth] = says_little(d, depth);
		n += d->left_out[depth];
	}
	return n;
}

/* Two shades a kind, the darker first; dark text is read on all of them. */
static struct cam_rgb kind_colour(enum cam_frame_kind kind, unsigned shade)
{
	static const struct cam_rgb colours[CAM_FRAME_KIND_MAX][4] = {
		[CAM_FRAME_ROOT] = {{196, 203, 213},
				    {224, 229, 236},
				    {196, 203, 213},
				    {224, 229, 236}},
		[CAM_FRAME_PROCESS] = {{182, 191, 203},
				       {213, 219, 227},
				       {172, 182, 195},
				       {204, 211, 221}},
		[CAM_FRAME_KERNEL] = {{217, 120, 86},
				      {247, 156, 102},
				      {221, 130, 80},
				      {244, 146, 107}},
		[CAM_FRAME_USER] = {{223, 193, 133},
				    {248, 230, 165},
				    {223, 203, 139},
				    {248, 220, 158}},
		[CAM_FRAME_JIT] = {{119, 193, 159},
				   {142, 226, 201},
				   {118, 200, 173},
				   {143, 219, 186}},
		[CAM_FRAME_INLINED] = {{171, 169, 217},
				       {211, 198, 247},
				       {183, 173, 221},
				       {198, 194, 243}},
		[CAM_FRAME_MARK] = {{160, 160, 160},
				    {200, 200, 200},
				    {168, 168, 168},
				    {208, 208, 208}},
	};
	return colours[kind][shade];
}

static struct cam_rgb change_colour(const struct drawing *d, const struct cam_flame_node *n,
				    unsigned odd)
{
	static const struct cam_rgb more[] = {{227, 187, 187}, {230, 146, 141}, {234, 106, 96}};
	static const struct cam_rgb less[] = {{184, 206, 232}, {144, 184, 232}, {105, 163, 232}};
	uint64_t change = change_of(d, n);
	if (!change)
		return odd ? (struct cam_rgb){223, 227, 232} : (struct cam_rgb){195, 202, 211};
	size_t step = change * 10 > d->max_change * 4 ? 2 : change * 10 > d->max_change ? 1 : 0;
	bool red = (value_of(d, n, false) > value_of(d, n, true)) != d->o->negate;
	return red ? more[step] : less[step];
}

static struct cam_rgb colour_of(const struct drawing *d, const struct span *s)
{
	const struct cam_flame_frame *frame = cam_flame_frame_of(d->f, s->node);
	struct cam_text name = cam_flame_name(d->f, s->node);
	unsigned odd = (unsigned)(s - d->spans) & 1, sum = 0;
	if (d->f->differential && s->node)
		return change_colour(d, &d->f->nodes[s->node], odd);
	for (size_t i = 0; i < name.n; i++)
		sum = sum * 31 + (unsigned char)name.p[i];
	bool separator =
		cam_text_equal(name, CAM_TEXT("-")) || cam_text_equal(name, CAM_TEXT("--"));
	return kind_colour(separator ? CAM_FRAME_MARK : frame->kind, (sum >> 3 & 1) * 2 + odd);
}

static void put_spaces(struct cam_out *out, size_t n, char c)
{
	for (; n; n--)
		cam_out_bytes(out, &c, 1);
}

/* The name in exactly n columns, with its share where there is room for both. */
static void put_name(struct drawing *d, const struct span *s, size_t n, char fill)
{
	struct cam_out *out = d->screen.out;
	const struct cam_flame_node *node = &d->f->nodes[s->node];
	size_t lead = n > 6 && fill == ' ', used = lead;
	struct cam_text name = cam_flame_name(d->f, s->node), tail = cam_label_tail(name, n - lead);
	bool cut = tail.n < name.n;
	struct cam_figure share = cam_figure_percent(node->total, d->f->nodes[0].total);
	size_t share_columns = cam_label_columns(cam_text_of(share.s)) + 1;
	put_spaces(out, lead, ' ');
	if (n - lead >= 3) {
		if (cut)
			cam_out_str(out, "…");
		used += cut + cam_label_put(out, tail, n - lead - cut, CAM_LABEL_PLAIN);
	}
	if (used + share_columns < n) {
		cam_out_printf(out, " %s", share.s);
		used += share_columns;
	}
	put_spaces(out, n - used, fill);
}

/* Whose an eighth of a column is. */
static uint32_t owner(const struct drawing *d, uint32_t column, uint32_t k)
{
	return d->own[8ul * column + k];
}

/* One cell that is not all of one frame. */
static void put_edge(struct drawing *d, uint32_t column)
{
	static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", " "};
	struct cam_screen *s = &d->screen;
	uint32_t left = owner(d, column, 0), right = owner(d, column, 7), k = 1;
	while (k < 8 && owner(d, column, k) == left)
		k++;
	if (!left || !right) {
		/* The terminal's own ground can be under a block, not above it. */
		cam_screen_plain(s);
		if (left) {
			cam_screen_fore(s, colour_of(d, &d->spans[left - 1]));
		} else if (right && k < 5) {
			cam_screen_back(s, colour_of(d, &d->spans[right - 1]));
			k = 0;
		} else {
			k = 0;
		}
	} else {
		cam_screen_fore(s, colour_of(d, &d->spans[left - 1]));
		cam_screen_back(s, colour_of(d, &d->spans[right - 1]));
	}
	cam_out_str(s->out, blocks[k]);
}

static bool is_full(const struct drawing *d, uint32_t column)
{
	for (uint32_t k = 1; k < 8; k++) {
		if (owner(d, column, k) != owner(d, column, 0))
			return false;
	}
	return true;
}

static void put_coloured(struct drawing *d)
{
	static const struct cam_rgb ink = {18, 21, 26};
	struct cam_screen *s = &d->screen;
	for (uint32_t c = 0; c < d->columns;) {
		uint32_t whose = owner(d, c, 0), n = 0;
		while (c + n < d->columns && is_full(d, c + n) && owner(d, c + n, 0) == whose)
			n++;
		if (!n) {
			put_edge(d, c++);
			continue;
		}
		if (!whose) {
			cam_screen_plain(s);
			put_spaces(s->out, n, ' ');
		} else {
			cam_screen_back(s, colour_of(d, &d->spans[whose - 1]));
			cam_screen_fore(s, ink);
			put_name(d, &d->spans[whose - 1], n, ' ');
		}
		c += n;
	}
	cam_screen_plain(s);
}

/* Without colours: whole characters, a bar where a frame starts. */
static void put_plain(struct drawing *d, uint32_t depth)
{
	struct cam_out *out = d->screen.out;
	uint32_t column = 0;
	for (size_t i = d->level[depth]; i < d->level[depth + 1]; i++) {
		const struct span *s = &d->spans[i];
		uint32_t from = (s->from + 4) / 8, to = (s->to + 4) / 8;
		if (from == to)
			continue;
		if (from > column && column) {
			cam_out_str(out, "|");
			column++;
		}
		put_spaces(out, from - column, ' ');
		cam_out_str(out, "|");
		if (to - from > 1)
			put_name(d, s, to - from - 1, '-');
		column = to;
	}
	cam_out_str(out, column < d->columns ? "|" : "");
}

static void put_level(struct drawing *d, uint32_t depth)
{
	if (d->o->colours == CAM_COLOURS_NONE) {
		put_plain(d, depth);
	} else {
		memset(d->own, 0, d->columns * 8ul * sizeof(*d->own));
		for (size_t i = d->level[depth]; i < d->level[depth + 1]; i++) {
			for (uint32_t e = d->spans[i].from; e < d->spans[i].to; e++)
				d->own[e] = (uint32_t)i + 1;
		}
		put_coloured(d);
	}
	cam_out_str(d->screen.out, "\n");
}

static void put_legend(struct drawing *d)
{
	static const struct {
		enum cam_frame_kind kind;
		const char *name;
	} kinds[] = {{CAM_FRAME_KERNEL, "kernel"},
		     {CAM_FRAME_USER, "user"},
		     {CAM_FRAME_JIT, "JIT"},
		     {CAM_FRAME_INLINED, "inlined"}};
	if (d->o->colours == CAM_COLOURS_NONE || d->f->differential)
		return;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		bool there = false;
		for (size_t i = 0; i < d->n_spans && !there; i++)
			there = cam_flame_frame_of(d->f, d->spans[i].node)->kind == kinds[k].kind;
		if (!there)
			continue;
		cam_screen_fore(&d->screen, kind_colour(kinds[k].kind, 0));
		cam_out_str(d->screen.out, "■");
		cam_screen_plain(&d->screen);
		cam_out_printf(d->screen.out, " %s  ", kinds[k].name);
	}
}

static void put_amount(struct drawing *d)
{
	const struct cam_flame *f = d->f;
	const struct cam_text_flame_options *o = d->o;
	struct cam_out *out = d->screen.out;
	double scaled = (double)f->nodes[0].total * (o->factor > 0 ? o->factor : 1);
	uint64_t all =
		o->factor > 0 && scaled < 1.8e19 ? (uint64_t)(scaled + 0.5) : f->nodes[0].total;
	bool time = f->unit_is_ns && !o->count_name.n;
	cam_out_printf(out, "%s %s", (time ? cam_figure_duration(all) : cam_figure_count(all)).s,
		       time ? "of " : "");
	cam_label_put(out, o->count_name.n ? o->count_name : f->unit, 40, CAM_LABEL_PLAIN);
	if (f->differential)
		cam_out_str(out, o->negate ? "; blue: more than before, red: less"
					   : "; red: more than before, blue: less");
	else if (o->chart)
		cam_out_str(out, "; in order of time");
}

/* One part of the last line; nothing for 0. */
static void put_missing(struct drawing *d, const char **between, uint64_t n, const char *what)
{
	if (!n)
		return;
	cam_out_printf(d->screen.out, "%s%s %s", *between, cam_figure_count(n).s, what);
	*between = " · ";
}

/* Legend and amount; what is not in the picture. */
static void put_foot(struct drawing *d, uint32_t left_out, uint32_t cut)
{
	const struct cam_seen *seen = &d->f->seen;
	const char *between = "\n";
	put_legend(d);
	put_amount(d);
	put_missing(d, &between, seen->lost, "samples lost");
	put_missing(d, &between, seen->damaged, "damaged");
	put_missing(d, &between, seen->unreadable, "windows unreadable");
	put_missing(d, &between, seen->idle, "idle, hidden");
	put_missing(d, &between, left_out, "levels that only call the next left out");
	put_missing(d, &between, cut, "more below (--focus RE, -o X.svg)");
	put_missing(d, &between, d->narrow, "frames too narrow");
	cam_out_str(d->screen.out, "\n");
	cam_label_notes(d->screen.out, "", d->f->notes);
}

/* Lines that are not frames: title, prompt, and what is said below, which may wrap. */
static uint32_t lines_around(const struct drawing *d)
{
	uint32_t n = 2 + 70 / d->columns + 1 + 150 / d->columns + 1;
	/* What is lost is said once more, on stderr. */
	if (d->f->seen.lost || d->f->seen.damaged)
		n += 80 / d->columns + 1;
	for (unsigned i = 0; i < CAM_VIEW_NOTES; i++) {
		if (d->f->notes >> i & 1)
			n += (uint32_t)(strlen(cam_view_note_words(i)) + 6) / d->columns + 1;
	}
	return n;
}

static void put_all(struct drawing *d)
{
	uint32_t taken = lines_around(d), rows = d->o->rows;
	uint32_t room = !rows ? UINT32_MAX : rows > taken + 5 ? rows - taken : 5;
	uint32_t left_out = leave_out(d, room), drawn = 0, cut = 0;
	if (d->o->title.n) {
		cam_screen_bold(&d->screen);
		cam_label_put(d->screen.out, d->o->title, d->columns, CAM_LABEL_PLAIN);
		cam_screen_plain(&d->screen);
		cam_out_str(d->screen.out, "\n");
	}
	for (uint32_t depth = 0; depth < d->n_levels; depth++) {
		if (d->left_out[depth])
			continue;
		if (drawn < room)
			put_level(d, depth);
		else
			cut++;
		drawn++;
	}
	put_foot(d, left_out, cut);
}

int cam_text_flame_write(const struct cam_flame *f, const struct cam_text_flame_options *o,
			 struct cam_out *out)
{
	struct drawing d = {.f = f, .o = o, .columns = o->columns ? o->columns : 100};
	if (d.columns < 20)
		d.columns = 20;
	cam_screen_init(&d.screen, out, o->colours);
	int err = f->nodes[0].total ? collect(&d) : 0;
	if (!err)
		err = find_levels(&d);
	if (!err)
		put_all(&d);
	free(d.spans);
	free(d.level);
	free(d.left_out);
	free(d.own);
	return err ? err : out->error;
}
