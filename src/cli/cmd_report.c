// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/reshaping.h"
#include "cli/say.h"
#include "cli/sorting.h"
#include "cli/verbs.h"
#include "cli/viewing.h"
#include "query/report.h"
#include "query/table.h"
#include "render/json_table.h"
#include "render/text_report.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_NODE 500u /* thousandths of a per cent: perf's 0.5 % */

struct report_arguments {
	struct cam_reshape_options frames;
	struct cam_viewing v;
	struct cam_sorting sorting;
	const char *graph, *limit;
	unsigned max_stack;
	bool samples, children, no_children, stdio;
	struct cam_report_options report;
};

/* "0.5", "5%": thousandths of a per cent. */
static bool parse_percent(struct cam_text s, uint32_t *out)
{
	char text[16], *end;
	if (s.n && s.p[s.n - 1] == '%')
		s.n--;
	if (!s.n || s.n >= sizeof(text) || strspn(s.p, "0123456789.") < s.n)
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	double v = strtod(text, &end);
	if (*end || v < 0 || v > 100)
		return false;
	*out = (uint32_t)(v * 1000 + 0.5);
	return true;
}

/* perf's list: how chains are printed, from which share on, in which order. */
static int parse_graph(struct report_arguments *a)
{
	struct cam_text rest = cam_text_of(a->graph);
	while (true) {
		const char *comma = memchr(rest.p, ',', rest.n);
		struct cam_text word = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
		if (cam_text_equal(word, CAM_TEXT("none")))
			a->report.chains = CAM_CHAINS_NONE;
		else if (cam_text_equal(word, CAM_TEXT("caller")))
			a->report.chains = CAM_CHAINS_CALLER;
		else if (cam_text_equal(word, CAM_TEXT("callee")))
			a->report.chains = CAM_CHAINS_CALLEE;
		else if (!cam_text_equal(word, CAM_TEXT("graph")) &&
			 !parse_percent(word, &a->report.least_node))
			return cam_usage(
				"-g takes caller, callee, graph, none and a percentage, not '%.*s'",
				(int)(word.n < 32 ? word.n : 32), word.p);
		if (!comma)
			return CAM_EXIT_OK;
		rest = (struct cam_text){comma + 1, rest.n - (size_t)(comma + 1 - rest.p)};
	}
}

static int find_keys(struct report_arguments *a)
{
	struct cam_table_options t = {0};
	int status = cam_sorting_resolve(&a->sorting, "comm,dso,symbol", &t);
	for (size_t i = 0; i < t.n_keys && !status; i++) {
		if (t.keys[i] == CAM_KEY_TIME)
			return cam_usage("--sort: time is a key of top, not of report");
		if (cam_sorting_needs_lines(&t.keys[i], 1) && !a->no_children)
			return cam_usage("--sort: lines are known of what was sampled, not of its "
					 "callers: add --no-children");
		/* perf's pid is the process and its name. */
		a->report.keys[i] = t.keys[i] == CAM_KEY_PID ? CAM_KEY_PROCESS : t.keys[i];
	}
	a->report.n_keys = t.n_keys;
	a->report.parent = t.parent;
	cam_sorting_want_lines(t.keys, t.n_keys, &a->v.from);
	return status;
}

static int check(struct report_arguments *a)
{
	int status = find_keys(a);
	if (status)
		return status;
	if (a->children && a->no_children)
		return cam_usage("--children and --no-children exclude each other");
	a->report.children = !a->no_children;
	a->report.chains = a->report.children ? CAM_CHAINS_CALLER : CAM_CHAINS_CALLEE;
	a->report.if_chained = !a->children && !a->graph;
	a->report.least_node = LEAST_NODE;
	a->report.max_depth = a->max_stack;
	if (a->limit && !parse_percent(cam_text_of(a->limit), &a->report.least_entry))
		return cam_usage("--percent-limit: '%s' is not a percentage; try 0.5", a->limit);
	if (a->limit)
		a->report.least_node = a->report.least_entry;
	return a->graph ? parse_graph(a) : CAM_EXIT_OK;
}

static void put_measure(struct cam_json *j, const char *key, const struct cam_measure *m,
			bool samples)
{
	cam_json_open(j, key, '{');
	cam_json_u64(j, "weight", m->weight);
	if (samples)
		cam_json_u64(j, "samples", m->samples);
	cam_json_close(j, '}');
}

static void put_nodes(struct cam_json *j, const struct cam_report *r, uint32_t from, uint32_t to)
{
	cam_json_open(j, "chains", '[');
	for (uint32_t i = from; i < to; i++) {
		const struct cam_report_node *n = &r->nodes[i];
		cam_json_open(j, NULL, '{');
		cam_json_u64(j, "depth", n->depth);
		cam_json_u64(j, "weight", n->weight);
		cam_json_open(j, "frames", '[');
		for (uint32_t f = 0; f < n->n_frames; f++)
			cam_json_text(j, NULL, r->frames[n->frames_at + f]);
		cam_json_close(j, ']');
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void put_json(const struct cam_report *r, struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "event", r->event);
	cam_json_text(&j, "unit", r->unit);
	cam_json_u64(&j, "total", r->all.weight);
	cam_json_seen(&j, &r->seen);
	cam_json_u64(&j, "entries_in_all", r->n_all);
	cam_json_open(&j, "entries", '[');
	for (size_t i = 0; i < r->n_entries; i++) {
		const struct cam_report_entry *e = &r->entries[i];
		cam_json_open(&j, NULL, '{');
		cam_json_values(&j, r->keys, r->n_keys, e->values);
		put_measure(&j, "self", &e->self, true);
		if (r->children)
			put_measure(&j, "total", &e->total, false);
		put_nodes(&j, r, e->nodes_at, e->nodes_at + e->n_nodes);
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_json_notes(&j, r->notes);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

struct shown {
	const struct report_arguments *a;
	const struct cam_report *r;
};

static void put(const struct cam_viewing *v, const void *view, struct cam_out *out)
{
	const struct shown *s = view;
	struct cam_text_report_options o = {.samples = s->a->samples};
	if (v->json)
		put_json(s->r, out);
	else
		cam_text_report_write(s->r, &o, out);
}

static int show(const struct report_arguments *a, const struct cam_report *r)
{
	if (!r->all.weight)
		return cam_viewing_nothing(&a->v, &r->seen);
	return cam_viewing_write(&a->v, put, &(struct shown){a, r}, &r->seen);
}

int cam_cmd_report(const struct cam_verb *verb, int argc, char **argv)
{
	struct report_arguments a = {0};
	const struct cam_option options[] = {
		{"sort", 's', CAM_OPTION_TEXT, &a.sorting.sort, "KEYS",
		 "what entries are of (default: comm,dso,symbol)"},
		CAM_SORTING_PARENT(a.sorting),
		{"show-nr-samples", 'n', CAM_OPTION_FLAG, &a.samples, NULL,
		 "with the number of samples"},
		{"stdio", 0, CAM_OPTION_FLAG, &a.stdio, NULL, "as it is printed anyway"},
		{"children", 0, CAM_OPTION_FLAG, &a.children, NULL,
		 "with what entries called, and by that (the default where stacks were sampled)"},
		{"no-children", 0, CAM_OPTION_FLAG, &a.no_children, NULL,
		 "only what was sampled in them"},
		{"call-graph", 'g', CAM_OPTION_TEXT, &a.graph, "caller|callee|none[,MIN]",
		 "order of chains, and from which percentage on (0.5)"},
		{"percent-limit", 0, CAM_OPTION_TEXT, &a.limit, "PERCENT",
		 "no entries (and chains) below it"},
		{"max-stack", 0, CAM_OPTION_COUNT, &a.max_stack, "N",
		 "at most N frames of a chain"},
		CAM_RESHAPE_PICK_OPTIONS(a.frames),
		CAM_VIEWING_OPTIONS(a.v),
		{0},
	};
	int status;
	if (!cam_viewing_parse(&a.v, verb, options, argc, argv, &status))
		return status;
	struct cam_reshape shape;
	status = cam_reshaping_pick(&a.frames, &shape);
	if (!status)
		status = check(&a);
	if (!status)
		status = cam_viewing_open(&a.v);
	if (status) {
		cam_reshape_free(&shape);
		cam_sorting_free(&a.sorting);
		return status;
	}
	struct cam_report r;
	a.report.shape = &shape;
	a.report.weight = a.v.weigh;
	a.report.progress = &a.v.bar.progress;
	int err = cam_report_build(a.v.in.source, &a.v.selection, &a.report, &r);
	cam_progress_bar_end(&a.v.bar);
	cam_reshape_free(&shape);
	cam_sorting_free(&a.sorting);
	if (err)
		return cam_viewing_close(&a.v, cam_viewing_failed(&a.v, err));
	status = show(&a, &r);
	cam_report_free(&r);
	return cam_viewing_close(&a.v, status);
}
