// SPDX-License-Identifier: Apache-2.0
/*
 * What is asked of the symboliser about a book: names, copy by copy until every offset has one; and stacks,
 * in batches.
 *
 * Names. Offsets are sorted and asked for once each. A debug file is asked first: it has all symbols,
 * and what was inlined. It knows the code by its addresses, so offsets are moved there by the segments of the
 * copy with code, and what is answered is moved back. What it cannot name the other copies may.
 *
 * Stacks. The symboliser says which unwind table it lacks; it is then given that file and the stack once
 * more. A table is given once a batch: one that it cannot make will not be made at the second try
 * either, but one that was pushed out by others since the last batch will.
 *
 * Invariants
 *  1. Each offset is answered once, each stack once and in order, whatever the symboliser does.
 *  2. A copy on which a symboliser died is read without its DWARF from then on; one on which two died
 *     without an answer between is not given to a third. A stack on which one died is answered without frames.
 */
#include "daemon/librarian_parts.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_STACKS 32u
#define MAX_DEATHS   2u
#define MAX_READINGS 4096u /* of a map that is read piece by piece */

static bool is_death(int err)
{
	return err == -EIO || err == -ETIMEDOUT || err == -EBADMSG;
}

struct look {
	struct cam_book_outline *out;
	uint32_t file;
	int fd, error;
	bool asked;
};

static int next_look(void *arg, struct cam_errand *e, int fds[CAM_PACKET_FDS])
{
	struct look *k = arg;
	if (k->asked)
		return 0;
	*e = (struct cam_errand){.type = CAM_ERRAND_OUTLINE, .file = k->file};
	fds[0] = k->fd;
	return k->asked = true;
}

static int take_look(void *arg, size_t nth, const struct cam_tidings *t)
{
	(void)nth;
	struct look *k = arg;
	struct cam_book_outline *o = k->out;
	k->error = t->error;
	if (t->error)
		return 0;
	o->has_code = t->outline.has_code;
	o->has_symbols = t->outline.has_symbols;
	o->id_bytes = t->outline.build_id.n;
	memcpy(o->build_id, t->outline.build_id.p, o->id_bytes);
	o->n_segments = t->outline.n_segments;
	if (o->n_segments)
		memcpy(o->segments, t->outline.segments, o->n_segments * sizeof(o->segments[0]));
	return 0;
}

int cam_librarian_outline(struct cam_librarian *l, uint32_t file, int fd,
			  struct cam_book_outline *out)
{
	struct look k = {.out = out, .file = file, .fd = fd};
	int err = cam_inquiry_run(l->inquiry, next_look, take_look, &k);
	return err ? err : k.error;
}

/* An offset to be named. Sorted by `asked`, so that equal ones lie side by side. */
struct want {
	uint64_t offset; /* as the caller gave it */
	uint64_t asked;	 /* as the symboliser gets it */
	uint64_t start;	 /* of a function without a name, as far as known */
	size_t i;
	bool done;
};

struct naming {
	struct cam_librarian *l;
	struct cam_book *b;
	size_t copy;
	int fd;
	struct cam_librarian_hunt hunt; /* for the supplement of the copy's DWARF */
	struct want *wants;
	size_t n, at;
	size_t answers;	 /* from this copy, since one died */
	int broken;	 /* the caller's own word to stop */
	bool again;	 /* there is more of the map to read */
	bool reads_only; /* …for which nothing is asked */
	bool names_only;
	cam_namer_name_fn *fn;
	void *arg;
	uint64_t offsets[CAM_ERRAND_MAX_OFFSETS];
};

static int by_asked(const void *a, const void *b)
{
	const struct want *x = a, *y = b;
	if (x->asked != y->asked)
		return x->asked < y->asked ? -1 : 1;
	return x->i < y->i ? -1 : 1;
}

/* Where an offset lies for this copy. False: nowhere. */
static bool to_asked(const struct cam_book *b, enum cam_file_format format, uint64_t offset,
		     uint64_t *asked)
{
	*asked = offset - b->shift;
	if (format != CAM_FORMAT_DEBUG || b->module.kind == CAM_MODULE_KERNEL)
		return true;
	for (size_t i = 0; i < b->n_segments; i++) {
		const struct cam_file_segment *s = &b->segments[i];
		if (offset >= s->offset && offset - s->offset < s->bytes) {
			*asked = s->address + (offset - s->offset);
			return true;
		}
	}
	return false;
}

/* Else it is a vmlinux, a file as others are. */
static bool is_kallsyms(const struct naming *g)
{
	return g->b->module.kind == CAM_MODULE_KERNEL &&
	       g->b->copies[g->copy].format != CAM_FORMAT_DEBUG;
}

/* The symbols of another kernel go with the first question about it. */
static int descriptor_for(struct naming *g)
{
	struct cam_librarian *l = g->l;
	if (!is_kallsyms(g))
		return g->fd;
	size_t book = (size_t)(g->b - l->books) + 1;
	uint32_t start = cam_inquiry_starts(l->inquiry);
	if (l->kernel_book == book && l->kernel_start == start)
		return -1;
	l->kernel_book = book;
	l->kernel_start = start;
	return g->fd;
}

static uint32_t number_for(const struct naming *g)
{
	if (is_kallsyms(g))
		return CAM_FILE_KERNEL;
	if (g->b->module.kind == CAM_MODULE_VDSO)
		return CAM_FILE_VDSO;
	return CAM_FILE_FIRST + (uint32_t)(g->b - g->l->books);
}

static int next_names(void *arg, struct cam_errand *e, int fds[CAM_PACKET_FDS])
{
	struct naming *g = arg;
	uint32_t n = 0;
	for (; !g->reads_only && g->at < g->n && n < CAM_ERRAND_MAX_OFFSETS; g->at++) {
		const struct want *w = &g->wants[g->at];
		if (!w->done && !(n && g->offsets[n - 1] == w->asked))
			g->offsets[n++] = w->asked;
	}
	if (!n && !(g->reads_only && g->again))
		return 0;
	g->again = false;
	*e = (struct cam_errand){
		.type = CAM_ERRAND_NAMES,
		.file = number_for(g),
		.format = g->b->copies[g->copy].format,
		.symbols_only = g->b->copies[g->copy].deaths != 0,
		.names_only = g->names_only,
		.search_supplement = !g->hunt.over,
		.supplement = g->hunt.fd >= 0,
		.offsets = g->offsets,
		.n_offsets = n,
	};
	fds[0] = descriptor_for(g);
	fds[1] = g->hunt.fd;
	return 1;
}

static size_t first_want(const struct naming *g, uint64_t asked)
{
	size_t low = 0, high = g->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->wants[middle].asked < asked)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int take_name(struct naming *g, const struct cam_name *name)
{
	struct cam_name out = *name;
	/* Symbols of modules are those of one boot only. */
	bool unsure = g->b->no_modules && name->module.n;
	for (size_t k = first_want(g, name->offset);
	     k < g->n && g->wants[k].asked == name->offset && !g->broken; k++) {
		struct want *w = &g->wants[k];
		if (w->done)
			continue;
		uint64_t start = w->offset - (name->offset - name->start);
		if (name->source == CAM_NAME_NONE || unsure) {
			w->start = !unsure && start < w->start ? start : w->start;
			continue;
		}
		w->done = true;
		out.offset = w->offset;
		out.start = start;
		g->b->named_by = g->copy;
		g->broken = g->fn(g->arg, w->i, &out);
	}
	return g->broken;
}

static int take_names(void *arg, size_t nth, const struct cam_tidings *t)
{
	(void)nth;
	struct naming *g = arg;
	g->answers++;
	if (t->error)
		return 0;
	if (t->names.wants_supplement && !g->hunt.over)
		cam_librarian_hunt_for(&g->hunt, &t->names);
	g->again = t->names.behind;
	int err = 0;
	for (uint32_t i = 0; i < t->names.n_names && !err; i++)
		err = take_name(g, &t->names.names[i]);
	return err;
}

/* What this copy cannot say at all is left out by being done for its time; answers how many are asked. */
static void arrange(struct naming *g)
{
	const struct cam_book_copy *c = &g->b->copies[g->copy];
	for (size_t i = 0; i < g->n; i++) {
		struct want *w = &g->wants[i];
		if (!to_asked(g->b, c->format, w->offset, &w->asked))
			w->asked = UINT64_MAX; /* no code there: it has no name */
	}
	qsort(g->wants, g->n, sizeof(*g->wants), by_asked);
}

/* Asks all, and all again while a supplement is wanted that was not tried yet. */
static int run_names_with(struct naming *g)
{
	bool again;
	int err;
	do {
		g->at = g->answers = 0;
		err = cam_inquiry_run(g->l->inquiry, next_names, take_names, g);
		again = !err && !g->broken && g->hunt.wanted;
		if (again)
			cam_librarian_hunt_next(g->l, &g->hunt, g->b->copies[g->copy].path);
	} while (again);
	return err;
}

static int run_names(struct naming *g)
{
	struct cam_book_copy *c = &g->b->copies[g->copy];
	int err;
	do {
		err = run_names_with(g);
		if (g->broken || !is_death(err))
			break;
		c->deaths = (uint8_t)(g->answers ? 1 : c->deaths + 1);
	} while (c->deaths < MAX_DEATHS);
	return g->broken || !is_death(err) ? err : 0;
}

/* A map grows to gigabytes, and is read a piece with each question. */
static int read_map(struct naming *g)
{
	int err = 0;
	g->reads_only = g->again = true;
	for (unsigned i = 0; g->again && !err && i < MAX_READINGS; i++) {
		g->answers = 0;
		err = cam_inquiry_run(g->l->inquiry, next_names, take_names, g);
	}
	g->reads_only = false;
	return is_death(err) ? 0 : err;
}

static int ask_copy(struct naming *g, size_t copy)
{
	struct cam_book_copy *c = &g->b->copies[copy];
	if (c->deaths >= MAX_DEATHS)
		return 0;
	int fd CAM_AUTOCLOSE = -1;
	g->copy = copy;
	if (g->b->module.kind != CAM_MODULE_VDSO) {
		fd = cam_book_open(c);
		if (fd < 0)
			return 0;
	}
	g->fd = fd;
	arrange(g);
	cam_librarian_hunt_start(&g->hunt, c);
	int err = 0;
	if (c->format == CAM_FORMAT_PERF_MAP || c->format == CAM_FORMAT_JITDUMP)
		err = read_map(g);
	if (!err)
		err = run_names(g);
	cam_librarian_hunt_end(g->l, &g->hunt, c);
	return err;
}

static struct cam_book *book_of(struct cam_librarian *l, uint32_t file)
{
	for (size_t i = 0; file == CAM_FILE_VDSO && i < l->n_books; i++) {
		if (l->books[i].module.kind == CAM_MODULE_VDSO && l->books[i].n_copies)
			return &l->books[i];
	}
	return file >= CAM_FILE_FIRST && file - CAM_FILE_FIRST < l->n_books
		       ? &l->books[file - CAM_FILE_FIRST]
		       : NULL;
}

static int answer_rest(struct naming *g)
{
	for (size_t i = 0; i < g->n && !g->broken; i++) {
		const struct want *w = &g->wants[i];
		const struct cam_name none = {.offset = w->offset, .start = w->start};
		if (!w->done)
			g->broken = g->fn(g->arg, w->i, &none);
	}
	return g->broken;
}

static int ask_copies(struct naming *g, bool debug)
{
	int err = 0;
	for (size_t i = 0; i < g->b->n_copies && !err; i++) {
		if ((g->b->copies[i].format == CAM_FORMAT_DEBUG) == debug)
			err = ask_copy(g, i);
	}
	return err;
}

int cam_librarian_names(struct cam_namer *n, uint32_t file, const uint64_t *offsets,
			size_t n_offsets, bool names_only, cam_namer_name_fn *fn, void *arg)
{
	struct cam_librarian *l = n->self;
	struct cam_book *b = book_of(l, file);
	if (!b)
		return -EINVAL;
	struct naming *g = calloc(1, sizeof(*g));
	struct want *wants = calloc(n_offsets + 1, sizeof(*wants));
	int err = g && wants ? 0 : -ENOMEM;
	for (size_t i = 0; i < n_offsets && !err; i++)
		wants[i] = (struct want){.offset = offsets[i], .start = offsets[i], .i = i};
	if (!err) {
		*g = (struct naming){
			.l = l,
			.b = b,
			.wants = wants,
			.n = n_offsets,
			.names_only = names_only,
			.fn = fn,
			.arg = arg,
		};
		err = ask_copies(g, true);
		if (!err)
			err = ask_copies(g, false);
		if (!err)
			err = answer_rest(g);
	}
	free(wants);
	free(g);
	return err;
}

struct walked {
	bool settled;
	struct cam_unwind_tidings end;
	uint64_t frames[CAM_RAW_MAX_FRAMES];
};

struct walking {
	struct cam_librarian *l;
	const struct cam_namer_stack *stacks;
	size_t n, at;
	size_t order[BATCH_STACKS]; /* nth question of the run → stack */
	size_t asked;
	uint32_t lacking[BATCH_STACKS];
	size_t n_lacking;
	struct walked walked[BATCH_STACKS];
};

static int next_stack(void *arg, struct cam_errand *e, int fds[CAM_PACKET_FDS])
{
	struct walking *w = arg;
	while (w->at < w->n && w->walked[w->at].settled)
		w->at++;
	if (w->at == w->n)
		return 0;
	const struct cam_namer_stack *s = &w->stacks[w->at];
	w->order[w->asked++] = w->at++;
	*e = (struct cam_errand){
		.type = CAM_ERRAND_UNWIND,
		.copy = s->copy,
		.maps = s->maps,
		.n_maps = (uint32_t)s->n_maps,
	};
	if (e->copy.stack_bytes > CAM_RAW_MAX_STACK)
		e->copy.stack_bytes = CAM_RAW_MAX_STACK;
	(void)fds;
	return 1;
}

/* Tables of an earlier symboliser are gone with it. */
static uint64_t batch_of(struct cam_librarian *l)
{
	uint32_t start = cam_inquiry_starts(l->inquiry);
	if (l->batch_start != start) {
		l->batch_start = start;
		l->batch++;
	}
	return l->batch;
}

/* Whether it is worth giving the symboliser this file's table; then it is noted to be given. */
static bool may_give(struct walking *w, uint32_t file)
{
	struct cam_book *b = book_of(w->l, file);
	if (!b || !b->n_copies || b->copies[0].deaths >= MAX_DEATHS)
		return false;
	for (size_t i = 0; i < w->n_lacking; i++) {
		if (w->lacking[i] == file)
			return true;
	}
	if (b->table_batch == batch_of(w->l))
		return false;
	b->table_batch = w->l->batch;
	w->lacking[w->n_lacking++] = file;
	return true;
}

static int take_frames(void *arg, size_t nth, const struct cam_tidings *t)
{
	struct walking *w = arg;
	struct walked *to = &w->walked[w->order[nth]];
	if (t->error) {
		to->end = (struct cam_unwind_tidings){.end = CAM_STACK_UNREADABLE,
						      .lacking = CAM_NONE};
	} else {
		if (t->unwound.end == CAM_STACK_PENDING && may_give(w, t->unwound.lacking))
			return 0;
		to->end = t->unwound;
		if (to->end.n_frames)
			memcpy(to->frames, t->unwound.frames,
			       to->end.n_frames * sizeof(to->frames[0]));
	}
	to->end.frames = to->frames;
	to->settled = true;
	return 0;
}

struct giving {
	struct cam_book *b;
	uint32_t file;
	int fd;
	bool asked;
};

static int next_table(void *arg, struct cam_errand *e, int fds[CAM_PACKET_FDS])
{
	struct giving *g = arg;
	if (g->asked)
		return 0;
	*e = (struct cam_errand){.type = CAM_ERRAND_TABLE, .file = g->file};
	fds[0] = g->fd;
	return g->asked = true;
}

/* The symboliser keeps it: that is what it was asked for. */
static int take_table(void *arg, size_t nth, const struct cam_tidings *t)
{
	(void)arg;
	(void)nth;
	(void)t;
	return 0;
}

static int give_tables(struct walking *w)
{
	int err = 0;
	for (size_t i = 0; i < w->n_lacking && !err; i++) {
		struct giving g = {.b = book_of(w->l, w->lacking[i]), .file = w->lacking[i]};
		bool vdso = g.file == CAM_FILE_VDSO;
		int fd CAM_AUTOCLOSE = vdso ? -1 : cam_book_open(&g.b->copies[0]);
		if (fd < 0 && !vdso)
			continue;
		g.fd = fd;
		err = cam_inquiry_run(w->l->inquiry, next_table, take_table, &g);
		if (is_death(err)) {
			g.b->copies[0].deaths = MAX_DEATHS;
			err = 0;
		}
	}
	w->n_lacking = 0;
	return err;
}

/* One that died over a stack has answered those before it. */
static void settle_first(struct walking *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct walked *to = &w->walked[i];
		if (to->settled)
			continue;
		to->end = (struct cam_unwind_tidings){
			.frames = to->frames, .end = CAM_STACK_UNREADABLE, .lacking = CAM_NONE};
		to->settled = true;
		return;
	}
}

static bool is_settled(const struct walking *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!w->walked[i].settled)
			return false;
	}
	return true;
}

static int walk_batch(struct walking *w)
{
	int err = 0;
	w->l->batch++;
	for (size_t i = 0; i < w->n; i++)
		w->walked[i].settled = false;
	while (!err && !is_settled(w)) {
		w->at = w->asked = 0;
		err = cam_inquiry_run(w->l->inquiry, next_stack, take_frames, w);
		if (is_death(err)) {
			settle_first(w);
			err = 0;
		}
		if (!err)
			err = give_tables(w);
	}
	return err;
}

int cam_librarian_unwind(struct cam_namer *n, const struct cam_namer_stack *stacks, size_t n_stacks,
			 cam_namer_frames_fn *fn, void *arg)
{
	struct walking *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->l = n->self;
	int err = 0;
	for (size_t done = 0; done < n_stacks && !err; done += w->n) {
		w->stacks = stacks + done;
		w->n = n_stacks - done < BATCH_STACKS ? n_stacks - done : BATCH_STACKS;
		for (size_t i = 0; i < w->n && !err; i++)
			err = w->stacks[i].n_maps > CAM_UNWIND_MAX_MAPS ? -EINVAL : 0;
		if (!err)
			err = walk_batch(w);
		for (size_t i = 0; i < w->n && !err; i++)
			err = fn(arg, done + i, &w->walked[i].end);
	}
	free(w);
	return err;
}
