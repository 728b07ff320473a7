// SPDX-License-Identifier: Apache-2.0
/*
 * What goes into the file, in the order in which somebody reads it: the story in sentences, when it was, the moment in numbers, both
 * heatmaps, the flame graph, what changed against the minute before, and what it was recorded on. A part
 * that cannot be made says so in its place; only the story and the flame graph must be there.
 */
#include "cli/capsule.h"

#include "base/units.h"
#include "cli/heading.h"
#include "cli/say.h"
#include "events/redact.h"
#include "query/flame_pair.h"
#include "query/heatmap.h"
#include "query/moment.h"
#include "query/overview.h"
#include "query/quality.h"
#include "query/tracks.h"
#include "query/why.h"
#include "render/html_page.h"
#include "render/label.h"
#include "render/svg_flame.h"
#include "render/svg_heatmap.h"
#include "render/svg_timeline.h"
#include "render/text_moment.h"
#include "render/text_why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS	 5u
#define ROWS		 12u
#define MAX_EVENTS	 100u
#define CONTEXT_NS	 (60 * (int64_t)CAM_NS_PER_SEC)	 /* of the heatmaps, before and after */
#define BASELINE_NS	 (60 * (int64_t)CAM_NS_PER_SEC)	 /* before it */
#define TIMELINE_NS	 (900 * (int64_t)CAM_NS_PER_SEC) /* before and after */
#define TIMELINE_BINS	 600u
#define MAX_PICTURE	 ((size_t)64 << 20)
#define MAX_TREE	 ((size_t)256 << 20)
#define MAX_SENT_TREE	 ((size_t)64 << 20) /* by the server, which has less */
#define MAX_REDACTED	 ((size_t)4 << 20)
#define MOST_CPU_SECONDS 1000000u

/* What it is of. `like`: the same filters, whose times are then set. */
struct subject {
	struct cam_source *source;
	const struct cam_selection *selection;
	int (*like)(const void *arg, struct cam_selection *s);
	const void *like_arg;
	const char *scope;
	const struct cam_progress *progress;
	const struct cam_progress *patience; /* of who waits for it; NULL: it takes what it takes */
	size_t max_tree;
	enum cam_weight weigh;
	bool foreign;
};

struct capsule {
	struct subject of;
	struct cam_out *out;
	struct cam_why why;
	struct cam_moment moment;
	struct cam_flame flame;
	struct cam_time_world world;
	struct cam_buf redacted; /* what texts of the moment's events point into */
	struct cam_buf part;	 /* a text or picture on its way */
};

static struct cam_text text_of(const struct cam_buf *b)
{
	return (struct cam_text){(const char *)b->data, b->len};
}

static void begin_part(struct capsule *c, struct cam_out *to)
{
	cam_buf_clear(&c->part);
	cam_out_to_buf(to, &c->part);
}

/* The same filters at other times, on the clock that the selection has. */
static int select_like(const struct capsule *c, int64_t before_ns, int64_t after_ns,
		       struct cam_selection *s)
{
	const struct cam_selection *from = c->of.selection;
	int status = c->of.like(c->of.like_arg, s);
	s->clock = from->clock;
	s->from_ns = from->from_ns - before_ns;
	s->to_ns = from->to_ns + after_ns;
	s->one_boot = from->one_boot;
	s->boot_id = from->boot_id;
	return status;
}

/*
 * Stores of earlier versions hold lines as they were written; a capsule leaves the host. room: empty; the texts point
 * into it from now on, so no other moment's go there, too: it would move.
 */
static int redact_events(struct cam_moment *m, struct cam_buf *room)
{
	size_t *ends = calloc(m->n_events + 1, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_events; i++) {
		cam_redact(m->events[i].text, room);
		ends[i] = room->len;
	}
	int err = cam_buf_error(room);
	for (size_t i = 0; !err && i < m->n_events; i++) {
		size_t start = i ? ends[i - 1] : 0;
		m->events[i].text =
			(struct cam_text){(const char *)room->data + start, ends[i] - start};
	}
	free(ends);
	return err;
}

static void put_story(struct capsule *c)
{
	struct cam_text_why_options o = {.table = {.zone = cam_range_zone, .zone_arg = &c->world}};
	struct cam_out to;
	cam_html_section(c->out, "What was different", CAM_TEXT(""));
	for (size_t i = 0; i < c->why.n_significant; i++) {
		struct cam_buf command = CAM_BUF(4096);
		struct cam_out words;
		begin_part(c, &to);
		cam_text_why_sentence(&c->why, &c->why.findings[i], &o, &to);
		cam_out_finish(&to);
		cam_out_to_buf(&words, &command);
		cam_text_why_command(&c->why.findings[i], &o, &words);
		cam_out_finish(&words);
		cam_html_sentence(c->out, text_of(&c->part), text_of(&command));
		cam_buf_free(&command);
	}
	for (size_t i = 0; i < c->why.n_cores; i++) {
		begin_part(c, &to);
		cam_text_why_core(&c->why.cores[i], &o, &to);
		cam_out_finish(&to);
		cam_html_sentence(c->out, text_of(&c->part), CAM_TEXT(""));
	}
	if (!c->why.n_significant && !c->why.n_cores)
		cam_html_sentence(c->out, CAM_TEXT("Nothing unusual was found at that time."),
				  CAM_TEXT(""));
	begin_part(c, &to);
	cam_label_notes(&to, "", c->why.notes);
	cam_text_why_evidence(&c->why, &to);
	cam_text_why_scales(&c->why, &to);
	cam_out_finish(&to);
	cam_html_lines(c->out, text_of(&c->part));
}

static void put_timeline(struct capsule *c)
{
	const struct cam_selection *s = c->of.selection;
	struct cam_overview o;
	struct cam_moment wide;
	struct cam_selection around;
	struct cam_buf redacted = CAM_BUF(MAX_REDACTED);
	struct cam_moment_options options = {.max_events = MAX_EVENTS, .progress = c->of.patience};
	if (s->clock != CAM_SELECT_WALL ||
	    cam_overview_build(c->of.source, s->from_ns - TIMELINE_NS, s->to_ns + TIMELINE_NS,
			       TIMELINE_BINS, c->of.patience, &o))
		return;
	int status = select_like(c, TIMELINE_NS, TIMELINE_NS, &around);
	int err = status ? -EINVAL : cam_moment_look(c->of.source, &around, &options, &wide);
	bool events = !err && !redact_events(&wide, &redacted);
	struct cam_svg_timeline t = {.overview = &o,
				     .from_ns = s->from_ns,
				     .to_ns = s->to_ns,
				     .events = events ? wide.events : NULL,
				     .n_events = events ? wide.n_events : 0,
				     .zone = {cam_range_zone, &c->world}};
	struct cam_out to;
	begin_part(c, &to);
	if (!cam_svg_timeline_write(&t, &to) && !cam_out_finish(&to)) {
		cam_html_section(
			c->out, "When it was",
			CAM_TEXT("Share of all CPUs that was busy, a quarter of an hour before and "
				 "after; pale: the busiest second; hatched: not observed; lines: "
				 "events; the frame: what this page is about."));
		cam_html_picture(c->out, "timeline", text_of(&c->part), false);
	}
	cam_buf_free(&redacted);
	if (!err)
		cam_moment_free(&wide);
	cam_selection_free(&around);
	cam_overview_free(&o);
}

static void put_moment(struct capsule *c)
{
	struct cam_text_table_options o = {.zone = cam_range_zone, .zone_arg = &c->world};
	struct cam_out to;
	begin_part(c, &to);
	cam_text_moment_write(&c->moment, &o, &to);
	cam_out_finish(&to);
	cam_html_section(c->out, "The moment in numbers", CAM_TEXT(""));
	cam_html_lines(c->out, text_of(&c->part));
}

static bool find_tracks(struct capsule *c, const struct cam_heatmap *h, struct cam_tracks *tracks)
{
	uint64_t span_ns = h->column_ns * h->n_columns;
	size_t bins = h->n_columns < CAM_TRACKS_MAX_BINS ? h->n_columns : CAM_TRACKS_MAX_BINS;
	if (c->of.foreign || h->realtime_from_ns == INT64_MIN ||
	    span_ns / CAM_NS_PER_SEC * (h->seen.cpus + 1ull) > MOST_CPU_SECONDS)
		return false;
	return !cam_tracks_build(c->of.source, h->realtime_from_ns,
				 cam_time_add(h->realtime_from_ns, span_ns), bins, c->of.patience,
				 tracks);
}

static void put_heatmap(struct capsule *c, enum cam_heat_mode mode)
{
	struct cam_heatmap_options query = {.mode = mode,
					    .max_columns = cam_svg_heatmap_columns(0),
					    .progress = c->of.patience};
	struct cam_selection s;
	struct cam_heatmap h;
	struct cam_tracks tracks = {0};
	struct cam_out to;
	int status = select_like(c, CONTEXT_NS, CONTEXT_NS, &s);
	if (status || cam_heatmap_build(c->of.source, &s, &query, &h)) {
		cam_selection_free(&s);
		return;
	}
	bool cores = mode == CAM_HEAT_CORES;
	struct cam_heat_options look = {
		.title = cores ? CAM_TEXT("By core") : CAM_TEXT("Within each second"),
		.scale = CAM_SCALE_SPARSE,
		.zone = {cam_range_zone, &c->world},
		.tracks = cores && find_tracks(c, &h, &tracks) ? &tracks : NULL};
	begin_part(c, &to);
	if (!cam_svg_heatmap_write(&h, &look, &to) && !cam_out_finish(&to))
		cam_html_picture(c->out, cores ? "heatmap by core" : "heatmap of seconds",
				 text_of(&c->part), false);
	cam_tracks_free(&tracks);
	cam_heatmap_free(&h);
	cam_selection_free(&s);
}

static void put_flame(struct capsule *c, const struct cam_flame *f, const char *title)
{
	struct cam_svg_flame_options o = {.title = cam_text_of(title), .html = true};
	struct cam_out to;
	begin_part(c, &to);
	if (!cam_svg_flame_write(f, &o, &to) && !cam_out_finish(&to))
		cam_html_picture(c->out, title, text_of(&c->part), true);
	else
		cam_html_lines(c->out, CAM_TEXT("It is too large to be drawn here."));
}

static void put_comparison(struct capsule *c)
{
	struct cam_flame_options o = {
		.weight = c->of.weigh, .max_bytes = c->of.max_tree, .progress = c->of.patience};
	struct cam_flame before, pair;
	struct cam_selection s;
	int64_t length = c->of.selection->to_ns - c->of.selection->from_ns;
	int status = select_like(c, BASELINE_NS, -length, &s);
	cam_html_section(c->out, "Against the minute before",
			 CAM_TEXT("Widths are those of the moment; red: more than in as much time "
				  "of the minute before it, blue: less."));
	if (status || cam_flame_build(c->of.source, &s, &o, &before)) {
		cam_html_lines(c->out, CAM_TEXT("There is nothing to compare it with."));
		cam_selection_free(&s);
		return;
	}
	/* By what was observed of each, not by what was asked for. */
	double seen = (double)before.seen.observed_ns;
	double factor = seen > 0 ? (double)c->flame.seen.observed_ns / seen : 0;
	if (!before.nodes[0].total || factor <= 0) {
		cam_html_lines(c->out, CAM_TEXT("Nothing was recorded in the minute before it."));
	} else if (!cam_flame_pair(&before, &c->flame, factor, CAM_PAIR_DIFFERENTIAL,
				   c->of.max_tree, &pair)) {
		put_flame(c, &pair, "Change");
		cam_flame_free(&pair);
	}
	cam_flame_free(&before);
	cam_selection_free(&s);
}

struct facts {
	struct capsule *c;
	const struct cam_tables *tables;
};

static int put_fact(void *arg, const struct cam_fact *f)
{
	const struct facts *facts = arg;
	cam_html_fact(facts->c->out, cam_string(facts->tables, f->key),
		      cam_string(facts->tables, f->value));
	return 0;
}

static void put_quality(struct capsule *c)
{
	struct cam_quality q;
	char line[200];
	if (cam_quality_build(c->of.source, c->of.selection, c->of.patience, &q))
		return;
	uint64_t frames = q.all.user_frames + q.all.jit_frames + q.all.kernel_frames;
	uint64_t unnamed = q.all.user_unnamed + q.all.jit_unnamed + q.all.kernel_unnamed;
	if (q.all.user && frames) {
		snprintf(line, sizeof(line),
			 "%.1f %% of user stacks complete, %.1f %% of frames named",
			 100.0 * (double)q.all.complete / (double)q.all.user,
			 100.0 * (double)(frames - unnamed) / (double)frames);
		cam_html_fact(c->out, CAM_TEXT("stacks"), cam_text_of(line));
	}
	cam_quality_free(&q);
}

/* Of the window that holds the moment. */
static void put_facts(struct capsule *c)
{
	struct cam_source *source = c->of.source;
	cam_html_section(c->out, "What it was recorded on", CAM_TEXT(""));
	cam_html_facts_open(c->out);
	if (c->moment.window.n)
		cam_html_fact(c->out, CAM_TEXT("window"), c->moment.window);
	for (size_t i = 0, n = source->ops->count(source); i < n; i++) {
		const struct cam_window_info *info;
		struct cam_window *w;
		struct facts facts = {.c = c};
		if (source->ops->info(source, i, &info) ||
		    !cam_text_equal(info->name, c->moment.window) ||
		    source->ops->open(source, i, &w))
			continue;
		if (!w->ops->tables(w, &facts.tables))
			w->ops->facts(w, put_fact, &facts);
		w->ops->close(w);
		break;
	}
	put_quality(c);
	cam_html_facts_close(c->out);
}

static void put_all(struct capsule *c)
{
	char when[400] = "", title[500];
	cam_heading_when(&c->flame.seen, when, sizeof(when));
	snprintf(title, sizeof(title), "What ran: %s", when);
	cam_html_open(c->out, cam_text_of(title), cam_text_of(c->of.scope));
	put_story(c);
	put_timeline(c);
	put_moment(c);
	cam_html_section(
		c->out, "A minute before and after",
		CAM_TEXT("Each cell is a stretch of time; the darker, the more samples in it; "
			 "hatched: not observed."));
	put_heatmap(c, CAM_HEAT_CORES);
	put_heatmap(c, CAM_HEAT_SUBSECOND);
	cam_html_section(
		c->out, "What ran",
		CAM_TEXT("Width is CPU time. Click to zoom, Ctrl-F in the picture to search."));
	put_flame(c, &c->flame, "Flame graph");
	put_comparison(c);
	put_facts(c);
	cam_html_close(c->out, CAM_TEXT("Made by perfcam " PERFCAM_VERSION
					". Names of programs and functions are those of the host: "
					"share it with that in mind."));
}

static int gather(struct capsule *c)
{
	struct cam_source *source = c->of.source;
	struct cam_why_options why = {.limit = FINDINGS, .progress = c->of.progress};
	struct cam_moment_options moment = {.weight = c->of.weigh,
					    .rows = ROWS,
					    .max_events = MAX_EVENTS,
					    .progress = c->of.patience};
	struct cam_flame_options flame = {
		.weight = c->of.weigh, .max_bytes = c->of.max_tree, .progress = c->of.patience};
	int err = cam_flame_build(source, c->of.selection, &flame, &c->flame);
	if (!err)
		err = cam_moment_build(source, c->of.selection, &moment, &c->moment);
	if (!err)
		err = redact_events(&c->moment, &c->redacted);
	if (!err)
		err = cam_why_build(source, c->of.selection, &why, &c->why);
	return err;
}

static int write_file(struct capsule *c, const char *path)
{
	struct cam_output *output = cam_output_open(path);
	if (!output)
		return CAM_EXIT_FAILED;
	c->out = cam_output_stream(output);
	put_all(c);
	int err = c->out->error ? c->out->error : cam_buf_error(&c->redacted);
	if (err) {
		cam_output_abandon(output);
		return cam_failed("%s: %s", path, cam_errno_words(err));
	}
	int status = cam_output_commit(output);
	if (!status && strcmp(path, "-") != 0)
		printf("%s\n", path);
	fflush(stdout);
	return status ? status : cam_heading_judge(&c->flame.seen);
}

static struct capsule begin(const struct subject *of)
{
	return (struct capsule){.of = *of,
				.world = cam_range_world(),
				.redacted = CAM_BUF(MAX_REDACTED),
				.part = CAM_BUF(MAX_PICTURE)};
}

static void end(struct capsule *c)
{
	cam_why_free(&c->why);
	cam_moment_free(&c->moment);
	cam_flame_free(&c->flame);
	cam_buf_free(&c->redacted);
	cam_buf_free(&c->part);
}

static int select_by_options(const void *filters, struct cam_selection *s)
{
	static const struct cam_range_options always;
	return cam_picking_select(&always, filters, s);
}

int cam_capsule_write(struct cam_viewing *v)
{
	char scope[400] = "";
	cam_heading_scope(&v->filters, scope, sizeof(scope));
	const struct subject of = {.source = v->in.source,
				   .selection = &v->selection,
				   .like = select_by_options,
				   .like_arg = &v->filters,
				   .scope = scope,
				   .progress = &v->bar.progress,
				   .max_tree = MAX_TREE,
				   .weigh = v->weigh,
				   .foreign = v->in.foreign};
	struct capsule c = begin(&of);
	int err = gather(&c), status;
	cam_progress_bar_end(&v->bar);
	if (err == -ENODATA || (!err && !c.flame.nodes[0].total))
		status = cam_failed("%s: nothing was recorded then; see perfcam ls", v->in.name);
	else if (err == -EDOM)
		status = cam_failed("%s: its samples have no times", v->in.name);
	else if (err == -E2BIG)
		status = cam_failed("%s: that is too long for a capsule: choose at most 10 minutes",
				    v->in.name);
	else
		status = err ? cam_viewing_failed(v, err) : write_file(&c, v->out);
	end(&c);
	return status;
}

int cam_capsule_send(void *self, const struct cam_server_capsule *asked, struct cam_out *out)
{
	const struct subject of = {.source = asked->source,
				   .selection = asked->selection,
				   .like = asked->like,
				   .like_arg = asked->like_arg,
				   .scope = asked->scope,
				   .progress = asked->progress,
				   .patience = asked->progress,
				   .max_tree = MAX_SENT_TREE};
	struct capsule c = begin(&of);
	(void)self;
	int err = gather(&c);
	if (!err && !c.flame.nodes[0].total)
		err = -ENODATA;
	if (!err) {
		c.out = out;
		put_all(&c);
		err = cam_buf_error(&c.redacted);
	}
	/* Parts that were given up are not in it: that is no capsule. */
	if (!err && of.patience)
		err = of.patience->tell(of.patience->arg, 0, 0);
	end(&c);
	return err;
}
