// SPDX-License-Identifier: Apache-2.0
/*
 * `perfcam resymbolise`: names for what sealed windows have without one.
 *
 * A window with better names is written beside the old one and renamed over it. Where a recorder runs, the
 * store is its own: everything but the rename is done here, and the recorder is asked for that. Else
 * this takes the store's lock. Killed at any time it leaves the old window, or the new one.
 */
#include "base/json.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/picking.h"
#include "cli/place.h"
#include "cli/range.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "daemon/debuginfod.h"
#include "daemon/resymbolise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	struct cam_asking *a;
	struct cam_librarian *librarian;
	struct cam_debuginfod *debuginfod; /* NULL: nothing is fetched */
	struct cam_out *out;
	struct cam_json *json; /* NULL: text */
	bool dry_run, by_time;
	int64_t from_ns, to_ns;
	char (*names)[CAM_NAME_BYTES];
	size_t n;
	struct cam_resymbolise_counts sum;
	uint64_t with_unnamed, rewritten;
	int status;
};

static const char *const origin_words[CAM_NAMER_ORIGINS] = {
	[CAM_NAMER_ITSELF] = "the file itself", [CAM_NAMER_DEBUG] = "/usr/lib/debug",
	[CAM_NAMER_CACHE] = "perf's cache",	[CAM_NAMER_SYMFS] = "--symfs",
	[CAM_NAMER_DEBUGINFOD] = "debuginfod",	[CAM_NAMER_GIVEN] = "a given file",
};

static const char *const origin_keys[CAM_NAMER_ORIGINS] = {
	[CAM_NAMER_ITSELF] = "itself",	       [CAM_NAMER_DEBUG] = "debug",
	[CAM_NAMER_CACHE] = "perf_cache",      [CAM_NAMER_SYMFS] = "symfs",
	[CAM_NAMER_DEBUGINFOD] = "debuginfod", [CAM_NAMER_GIVEN] = "given",
};

static const char *fetch_words(int err)
{
	switch (err) {
	case -EFBIG:
		return "a file larger than is taken (512 MiB)";
	case -ETIMEDOUT:
		return "too slow";
	case -EREMCHG:
		return "it sends elsewhere, which is not followed; name that server";
	case -ECONNREFUSED:
		return "no connection";
	case -EPROTO:
		return "not an answer of a debuginfod";
	case -ELIBACC:
		return "libcurl is not installed here (Debian: libcurl4)";
	default:
		return cam_errno_words(err);
	}
}

static bool is_chosen(const struct job *j, const struct cam_window_info *w)
{
	if (!w->sealed)
		return false;
	return !j->by_time || (w->realtime_ns != INT64_MIN && w->realtime_ns < j->to_ns &&
			       cam_time_add(w->realtime_ns, w->end_ns - w->start_ns) > j->from_ns);
}

/* The names only: what is open cannot be replaced under its reader, and is not small. */
static int choose(struct job *j)
{
	struct cam_source *source;
	int err = cam_store_open_read(j->a->io, &source);
	if (err)
		return err;
	size_t n = source->ops->count(source);
	j->names = calloc(n + 1, sizeof(*j->names));
	for (size_t i = 0; j->names && i < n; i++) {
		const struct cam_window_info *info;
		err = source->ops->info(source, i, &info);
		if (err)
			j->status = cam_incomplete("store %s: a window cannot be read: %s; perfcam "
						   "verify names it",
						   j->a->settings.store, cam_errno_words(err));
		if (err || !is_chosen(j, info) || info->name.n >= CAM_NAME_BYTES)
			continue;
		memcpy(j->names[j->n], info->name.p, info->name.n);
		j->names[j->n++][info->name.n] = 0;
	}
	source->ops->close(source);
	return j->names ? 0 : -ENOMEM;
}

/* Through the recorder. FAILED and a->nobody: none runs (any more). */
static int replace_by_recorder(struct job *j, const char *name, struct cam_window *better)
{
	char staged[CAM_NAME_BYTES], text[2 * CAM_NAME_BYTES];
	struct cam_asking *a = j->a;
	int err = cam_store_stage(a->io, better, staged);
	if (err)
		return cam_failed("%s: %s", name, cam_errno_words(err));
	snprintf(text, sizeof(text), "%s %s", staged, name);
	int status = cam_asking_ask(a, CAM_CONTROL_REPLACE,
				    &(struct cam_control_request){.text = cam_text_of(text)});
	if (status)
		a->io->ops->unlink(a->io, staged);
	return status;
}

static int replace(struct job *j, const char *name, struct cam_window *better)
{
	struct cam_asking *a = j->a;
	int status = CAM_EXIT_FAILED;
	/* Whoever has the lock already knows that nobody else does. */
	if (!a->store)
		status = cam_asking_ask(a, CAM_CONTROL_STATUS, &(struct cam_control_request){0});
	if (!a->store && !a->nobody)
		status = status ? status : replace_by_recorder(j, name, better);
	if (!a->store && !a->nobody)
		return status;
	status = cam_asking_lock(a);
	if (status)
		return status;
	int err = cam_store_replace(a->store, name, better);
	return err ? cam_failed("%s: %s", name, cam_errno_words(err)) : CAM_EXIT_OK;
}

static void add_counts(struct cam_resymbolise_counts *to, const struct cam_resymbolise_counts *c)
{
	to->unnamed += c->unnamed;
	to->named += c->named;
	to->frames += c->frames;
	to->frames_named += c->frames_named;
	to->modules += c->modules;
	to->modules_missing += c->modules_missing;
	to->inlined += c->inlined;
	to->lines += c->lines;
	for (size_t i = 0; i < CAM_NAMER_ORIGINS; i++)
		to->by_origin[i] += c->by_origin[i];
}

static void put_json_counts(struct cam_json *json, const struct cam_resymbolise_counts *c)
{
	cam_json_u64(json, "unnamed_functions", c->unnamed);
	cam_json_u64(json, "named_functions", c->named);
	cam_json_u64(json, "unnamed_frames", c->frames);
	cam_json_u64(json, "named_frames", c->frames_named);
	cam_json_u64(json, "modules", c->modules);
	cam_json_u64(json, "modules_missing", c->modules_missing);
	cam_json_u64(json, "inlined_leaves", c->inlined);
	cam_json_u64(json, "lined_leaves", c->lines);
	cam_json_open(json, "named_by", '{');
	for (size_t i = 0; i < CAM_NAMER_ORIGINS; i++)
		cam_json_u64(json, origin_keys[i], c->by_origin[i]);
	cam_json_close(json, '}');
}

static void put_text_counts(struct cam_out *out, const struct cam_resymbolise_counts *c)
{
	const char *between = ": ";
	cam_out_printf(out, "%llu of %llu unnamed functions named, %llu of %llu frames",
		       (unsigned long long)c->named, (unsigned long long)c->unnamed,
		       (unsigned long long)c->frames_named, (unsigned long long)c->frames);
	for (size_t i = 0; i < CAM_NAMER_ORIGINS; i++) {
		if (!c->by_origin[i])
			continue;
		cam_out_printf(out, "%s%llu by %s", between, (unsigned long long)c->by_origin[i],
			       origin_words[i]);
		between = ", ";
	}
	if (c->inlined || c->lines)
		cam_out_printf(
			out, "; source lines for %llu sampled addresses, inlined functions at %llu",
			(unsigned long long)c->lines, (unsigned long long)c->inlined);
	if (c->modules_missing)
		cam_out_printf(out, "; %u of %u files not found here", c->modules_missing,
			       c->modules);
	cam_out_str(out, "\n");
}

static void show_window(struct job *j, const char *name, const struct cam_resymbolise_counts *c,
			bool rewritten)
{
	j->with_unnamed += c->unnamed != 0;
	j->rewritten += rewritten;
	add_counts(&j->sum, c);
	if (j->json) {
		cam_json_open(j->json, NULL, '{');
		cam_json_text(j->json, "name", cam_text_of(name));
		put_json_counts(j->json, c);
		cam_json_bool(j->json, "rewritten", rewritten);
		cam_json_close(j->json, '}');
	} else if (c->unnamed || c->inlined || c->lines) {
		cam_out_printable(j->out, cam_text_of(name));
		cam_out_str(j->out, ": ");
		put_text_counts(j->out, c);
	}
}

static int rename_window(struct job *j, const char *name, struct cam_window *w,
			 const struct cam_resymbolised *r)
{
	struct cam_window *better;
	int err = cam_renamed_open(w, &r->late, &better);
	if (err)
		return cam_failed("%s: %s", name, cam_errno_words(err));
	int status = replace(j, name, better);
	better->ops->close(better);
	return status;
}

/* What cannot be done for one window does not keep the others. */
static void do_window(struct job *j, const char *name)
{
	struct cam_window *w;
	struct cam_resymbolised r;
	int err = cam_store_open_sealed(j->a->io, name, &w);
	if (err == -ENOENT) /* expired since it was listed */
		return;
	if (err) {
		j->status = cam_incomplete("%s: %s", name, cam_errno_words(err));
		return;
	}
	err = cam_resymbolise(cam_librarian_namer(j->librarian), w, &r);
	int status = CAM_EXIT_OK;
	if (err)
		status = cam_failed("%s: %s", name, cam_errno_words(err));
	else if (cam_resymbolised_any(&r) && !j->dry_run)
		status = rename_window(j, name, w, &r);
	if (status)
		j->status = CAM_EXIT_INCOMPLETE;
	if (!err)
		show_window(j, name, &r.counts, cam_resymbolised_any(&r) && !j->dry_run && !status);
	cam_resymbolised_free(&r);
	w->ops->close(w);
}

static void show_fetched(struct job *j)
{
	struct cam_debuginfod_counts c = cam_debuginfod_counts(j->debuginfod);
	char bytes[32];
	if (j->json) {
		cam_json_open(j->json, "debuginfod", '{');
		cam_json_u64(j->json, "fetched", c.fetched);
		cam_json_u64(j->json, "bytes", c.bytes);
		cam_json_u64(j->json, "missing", c.missing);
		cam_json_u64(j->json, "refused", c.refused);
		cam_json_u64(j->json, "failed", c.failed);
		cam_json_close(j->json, '}');
		return;
	}
	cam_show_bytes(c.bytes, bytes, sizeof(bytes));
	cam_out_printf(j->out, "debuginfod: %u files kept (%s fetched), %u not known there",
		       c.fetched, bytes, c.missing);
	if (c.refused)
		cam_out_printf(j->out, ", %u refused: not the files that were asked for",
			       c.refused);
	cam_out_str(j->out, "\n");
}

/* A server that could not be asked is a result that may be incomplete. */
static void say_failed(struct job *j)
{
	struct cam_debuginfod_counts c = cam_debuginfod_counts(j->debuginfod);
	if (c.failed)
		j->status = cam_incomplete("debuginfod: %u requests failed, last %s: %s", c.failed,
					   c.last_url, fetch_words(c.last_error));
}

static int show_sum(struct job *j)
{
	if (j->debuginfod)
		say_failed(j);
	if (j->json) {
		cam_json_close(j->json, ']');
		put_json_counts(j->json, &j->sum);
		if (j->debuginfod)
			show_fetched(j);
		cam_json_u64(j->json, "rewritten", j->rewritten);
		cam_json_close(j->json, '}');
		cam_out_str(j->out, "\n");
	} else {
		cam_out_printf(j->out, "%zu windows, %llu with unnamed functions, %llu rewritten%s",
			       j->n, (unsigned long long)j->with_unnamed,
			       (unsigned long long)j->rewritten, j->dry_run ? " (dry run)" : "");
		bool any = j->sum.unnamed || j->sum.inlined || j->sum.lines;
		if (any)
			cam_out_str(j->out, ": ");
		if (any)
			put_text_counts(j->out, &j->sum);
		else
			cam_out_str(j->out, "\n");
		if (j->debuginfod)
			show_fetched(j);
	}
	int err = cam_out_finish(j->out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : j->status;
}

/* urls: "" are those of the environment. */
static int open_debuginfod(struct job *j, const char *urls, struct cam_librarian_options *where)
{
	char cache[PATH_MAX];
	if (!urls)
		return CAM_EXIT_OK;
	if (!urls[0])
		urls = getenv("DEBUGINFOD_URLS");
	if (!urls)
		return cam_usage("--debuginfod needs to know whom to ask: --debuginfod=URL, or "
				 "DEBUGINFOD_URLS in the environment");
	int err = cam_debuginfod_cache_path(cache, sizeof(cache));
	if (err)
		return cam_failed("--debuginfod: no cache directory: HOME is not set");
	err = cam_debuginfod_new(&(struct cam_debuginfod_options){.urls = urls, .cache_dir = cache},
				 &j->debuginfod);
	if (err == -EINVAL)
		return cam_usage("--debuginfod takes http:// and https:// URLs with blanks between "
				 "them, at most %u, not '%s'",
				 CAM_DEBUGINFOD_MAX_URLS, urls);
	if (err)
		return cam_failed("%s: %s", cache, cam_errno_words(err));
	where->fetch = cam_debuginfod_fetch(j->debuginfod);
	return CAM_EXIT_OK;
}

static int run(struct job *j, const struct cam_range_options *range,
	       const struct cam_librarian_options *where)
{
	int status = cam_asking_open(j->a);
	j->by_time = !cam_range_is_empty(range);
	if (!status && j->by_time)
		status = cam_range_resolve(range, j->a->io, &j->from_ns, &j->to_ns);
	if (status)
		return status;
	int err = choose(j);
	if (!err)
		err = cam_librarian_new(where, &j->librarian);
	if (err)
		return cam_failed("store %s: %s", j->a->settings.store, cam_errno_words(err));
	if (j->json) {
		cam_json_open(j->json, NULL, '{');
		cam_json_open(j->json, "windows", '[');
	}
	for (size_t i = 0; i < j->n; i++)
		do_window(j, j->names[i]);
	return show_sum(j);
}

int cam_cmd_resymbolise(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	struct cam_range_options range = {0};
	struct cam_librarian_options where = {0};
	const char *urls = NULL;
	bool json = false, dry_run = false, done;
	const struct cam_option options[] = {
		CAM_RANGE_OPTIONS(range),
		{"symfs", 0, CAM_OPTION_TEXT, &where.symfs, "DIR",
		 "look for the files below this directory, too"},
		{"debuginfod", 0, CAM_OPTION_OPTIONAL, &urls, "URLS",
		 "ask these servers for what is not here (default: $DEBUGINFOD_URLS)"},
		{"dry-run", 0, CAM_OPTION_FLAG, &dry_run, NULL,
		 "say what would be named, change nothing"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest, status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("resymbolise takes one argument; '%s' is one too many", argv[1]);
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &range, NULL);
	if (status)
		return status;
	struct cam_out out;
	struct cam_json j = {&out, false};
	struct job job = {.out = &out, .json = json ? &j : NULL, .dry_run = dry_run};
	job.a = cam_asking_new(&given, &status);
	if (!job.a)
		return status;
	cam_out_to_fd(&out, STDOUT_FILENO);
	status = open_debuginfod(&job, urls, &where);
	if (!status)
		status = run(&job, &range, &where);
	cam_librarian_free(job.librarian);
	cam_debuginfod_free(job.debuginfod);
	free(job.names);
	cam_asking_free(job.a);
	return status;
}
