// SPDX-License-Identifier: Apache-2.0
#include "render/text_why.h"

#include "base/units.h"
#include "render/figure.h"
#include "render/label.h"
#include "render/text_moment.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS	 64u
#define FUNCTION_COLUMNS 80u

const char *cam_why_kind_key(enum cam_why_kind kind)
{
	static const char *const keys[CAM_WHY_KIND_MAX] = {
		[CAM_WHY_MORE_PROCESS] = "process",   [CAM_WHY_MORE_CGROUP] = "cgroup",
		[CAM_WHY_MORE_FUNCTION] = "function", [CAM_WHY_MORE_CORE] = "core",
		[CAM_WHY_MORE_PATH] = "kernel path",  [CAM_WHY_STOPPED] = "stopped",
	};
	return keys[kind];
}

static void put_name(struct cam_out *out, struct cam_text name, size_t columns)
{
	cam_label_put(out, name.n ? name : CAM_TEXT("[unknown]"), columns, CAM_LABEL_PLAIN);
}

/* 0.40 %, 0.006 %, 12 %: two digits that say something. */
static void put_share(struct cam_out *out, double share)
{
	double percent = share * 100;
	int digits = percent >= 9.95 || percent <= 0 ? 0 : percent >= 0.995 ? 1 : 2;
	if (percent > 0 && percent < 0.0095)
		digits = percent < 0.00095 ? 4 : 3;
	cam_out_printf(out, "%.*f %%", digits, percent);
}

static void put_number(struct cam_out *out, double v)
{
	cam_out_printf(out, v < 9.95 ? "%.1f" : "%.0f", v);
}

static void put_time(struct cam_out *out, const struct cam_text_why_options *o, int64_t wall_ns,
		     uint64_t clock_ns)
{
	if (wall_ns == INT64_MIN) {
		cam_out_printf(out, "%s", cam_figure_stamp(clock_ns).s);
		return;
	}
	int64_t ns = (int64_t)CAM_NS_PER_SEC, sec = wall_ns / ns - (wall_ns % ns < 0);
	int32_t east = o->table.zone ? o->table.zone(o->table.zone_arg, sec) : 0;
	cam_out_printf(out, "%s", cam_figure_utc(wall_ns + east * ns, false).s);
}

static void put_head(const struct cam_why_finding *f, struct cam_out *out)
{
	if (f->kind == CAM_WHY_MORE_CORE) {
		cam_out_printf(out, "CPU %u, with %u process%s,", f->cpu, f->processes,
			       f->processes == 1 ? "" : "es");
	} else if (f->kind == CAM_WHY_MORE_PATH) {
		cam_out_str(out, "the kernel path ");
		put_name(out, f->path[0], FUNCTION_COLUMNS);
		cam_out_str(out, " ← … ← ");
		put_name(out, f->entry, FUNCTION_COLUMNS);
		cam_out_printf(out, ", in %u process%s,", f->processes,
			       f->processes == 1 ? "" : "es");
	} else if (f->kind == CAM_WHY_MORE_FUNCTION) {
		put_name(out, f->n_path ? f->path[0] : CAM_TEXT(""), FUNCTION_COLUMNS);
		cam_out_printf(out, ", in %u process%s,", f->processes,
			       f->processes == 1 ? "" : "es");
	} else if (f->kind == CAM_WHY_MORE_CGROUP) {
		cam_out_str(out, "cgroup ");
		put_name(out, f->cgroup, FUNCTION_COLUMNS);
	} else {
		put_name(out, f->process, NAME_COLUMNS);
		if (f->pid != CAM_PID_NONE)
			cam_out_printf(out, " (pid %d)", f->pid);
		else if (f->processes > 1)
			cam_out_printf(out, " (%u processes)", f->processes);
	}
}

static void put_amount(const struct cam_why *w, const struct cam_why_finding *f,
		       struct cam_out *out)
{
	if (f->share >= 0 && f->kind == CAM_WHY_MORE_CORE) {
		put_share(out, f->share * w->cpus);
		cam_out_str(out, " of its time, usually ");
		put_share(out, f->baseline * w->cpus);
		cam_out_printf(out, " (%" PRIu64 " samples against ", f->samples);
	} else if (f->share >= 0) {
		put_share(out, f->share);
		cam_out_str(out, " of the machine, usually ");
		put_share(out, f->baseline);
		cam_out_printf(out, " (%" PRIu64 " samples against ", f->samples);
	} else {
		cam_out_printf(out, "CPU time (%" PRIu64 " samples against ", f->samples);
	}
	put_number(out, f->expected);
	cam_out_str(out, " expected)");
}

/* Who had most of a core, or went a path most. */
static void put_most(const struct cam_why_finding *f, struct cam_out *out)
{
	if (f->other_cores)
		cam_out_printf(out, "; so were %u other CPU%s", f->other_cores,
			       f->other_cores > 1 ? "s" : "");
	if ((f->kind == CAM_WHY_MORE_CORE || f->kind == CAM_WHY_MORE_PATH) && f->process.n) {
		cam_out_str(out, "; most of it ");
		put_name(out, f->process, NAME_COLUMNS);
	}
}

static void put_core(const struct cam_why_finding *f, struct cam_out *out)
{
	if (f->kind == CAM_WHY_MORE_CORE)
		return;
	if (f->cpu == CAM_CPU_NONE || !f->explained || f->cpu_samples * 10 < f->explained * 6)
		return;
	cam_out_str(out, "; ");
	if (f->cpu_samples * 50 >= f->explained * 49)
		cam_out_str(out, "all of it");
	else
		put_share(out, (double)f->cpu_samples / (double)f->explained);
	cam_out_printf(out, " on CPU %u", f->cpu);
	if (f->run_ns >= CAM_NS_PER_SEC / 4)
		cam_out_printf(out, ", which it kept busy for %s",
			       cam_figure_duration(f->run_ns).s);
}

static void put_path(const struct cam_why_finding *f, struct cam_out *out)
{
	bool function = f->kind == CAM_WHY_MORE_FUNCTION || f->kind == CAM_WHY_MORE_PATH;
	if (!f->n_path || !f->explained)
		return;
	if (function && f->n_path < 2)
		return;
	cam_out_str(out, "; ");
	if (function) {
		cam_out_str(out, "called by ");
	} else {
		put_share(out, (double)f->path_samples / (double)f->explained);
		cam_out_str(out, " in ");
	}
	for (size_t i = function; i < f->n_path; i++) {
		cam_out_str(out, i > function ? " ← " : "");
		put_name(out, f->path[i], FUNCTION_COLUMNS);
	}
}

static void put_recurrence(const struct cam_why *w, const struct cam_why_finding *f,
			   struct cam_out *out)
{
	if (!f->episodes) {
		cam_out_printf(out, ". Not once so in %s of history",
			       cam_figure_duration(w->history_s * CAM_NS_PER_SEC).s);
	} else {
		cam_out_printf(out, ". As much %u other time%s in %s", f->episodes,
			       f->episodes > 1 ? "s" : "",
			       cam_figure_duration(w->history_s * CAM_NS_PER_SEC).s);
	}
	if (f->before >= 0 &&
	    (f->before > 2 * f->expected + 5 || f->before * 2 + 5 < f->expected)) {
		cam_out_str(out, "; by the minute before ");
		put_number(out, f->before);
		cam_out_str(out, " were expected");
	}
	if (f->days >= 0) {
		cam_out_str(out, "; by the same time of other days ");
		put_number(out, f->days);
	}
}

void cam_text_why_sentence(const struct cam_why *w, const struct cam_why_finding *f,
			   const struct cam_text_why_options *o, struct cam_out *out)
{
	put_head(f, out);
	if (f->kind == CAM_WHY_STOPPED) {
		cam_out_printf(out, " %s for %s from ",
			       f->samples ? "all but stopped" : "did not run",
			       cam_figure_duration(f->length_ns).s);
		put_time(out, o, f->wall_ns, f->clock_ns);
		cam_out_printf(out, ": %" PRIu64 " samples against ", f->samples);
		put_number(out, f->expected);
		cam_out_str(out, " expected");
		if (f->pause_other_ns)
			cam_out_printf(out, "; otherwise it pauses for %s at most",
				       cam_figure_duration(f->pause_other_ns).s);
		put_recurrence(w, f, out);
		cam_out_str(out, ".");
		return;
	}
	cam_out_str(out, f->kind == CAM_WHY_MORE_CORE ? " was busy " : " used ");
	put_amount(w, f, out);
	cam_out_printf(out, " in %" PRIu64 " s from ", f->length_ns / (uint64_t)CAM_NS_PER_SEC);
	put_time(out, o, f->wall_ns, f->clock_ns);
	put_core(f, out);
	put_most(f, out);
	if (f->explained && f->kernel_samples * 2 >= f->explained) {
		cam_out_str(out, "; ");
		put_share(out, (double)f->kernel_samples / (double)f->explained);
		cam_out_str(out, " in the kernel");
	}
	put_path(f, out);
	put_recurrence(w, f, out);
	if (f->kind == CAM_WHY_MORE_PROCESS && f->age_ns && f->age_ns < 60 * CAM_NS_PER_SEC)
		cam_out_printf(out, "; the process was %s old", cam_figure_duration(f->age_ns).s);
	cam_out_str(out, ".");
}

/* What stands for other bytes in a pattern (--comm, --cgroup), and in an expression (--match). */
#define PATTERN	   "*?[\\"
#define EXPRESSION "\\.[]()*+?{}|^$"

/* A word for a shell, whatever it holds; nothing where it holds what cannot be typed. special: bytes that would stand for others,
 * which an expression has behind a backslash, and a pattern not at all. */
static void put_word(struct cam_out *out, const char *option, struct cam_text word,
		     const char *special, const char *tail)
{
	bool plain = word.n > 0, escapes = special[0] == '\\';
	for (size_t i = 0; i < word.n; i++) {
		unsigned char c = (unsigned char)word.p[i];
		bool other = strchr(special, c) != NULL;
		if (c < 0x20 || c >= 0x7f || (other && !escapes))
			return;
		plain = plain && !other &&
			(isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':');
	}
	cam_out_printf(out, " %s %s", option, plain && !*tail ? "" : "'");
	for (size_t i = 0; i < word.n; i++) {
		if (escapes && strchr(special, word.p[i]))
			cam_out_str(out, "\\");
		if (word.p[i] == '\'')
			cam_out_str(out, "'\\''");
		else
			cam_out_bytes(out, &word.p[i], 1);
	}
	cam_out_printf(out, "%s%s", tail, plain && !*tail ? "" : "'");
}

static void put_moment(struct cam_out *out, const char *option, int64_t wall_ns)
{
	struct cam_figure f = cam_figure_utc(wall_ns, true);
	for (char *p = f.s; *p; p++)
		*p = *p == ' ' ? 'T' : *p;
	cam_out_printf(out, " %s %sZ", option, f.s);
}

void cam_text_why_command(const struct cam_why_finding *f, const struct cam_text_why_options *o,
			  struct cam_out *out)
{
	if (f->wall_ns == INT64_MIN)
		return;
	bool stopped = f->kind == CAM_WHY_STOPPED;
	int64_t margin = stopped ? 10 * (int64_t)CAM_NS_PER_SEC : 0;
	cam_out_printf(out, "perfcam %s", stopped ? "heatmap" : "flame");
	if (o->where.n)
		cam_out_printf(out, " %.*s", (int)o->where.n, o->where.p);
	put_moment(out, "--from", f->wall_ns - margin);
	put_moment(out, "--to", f->wall_ns + (int64_t)f->span_ns + margin);
	if (f->kind == CAM_WHY_MORE_CGROUP)
		put_word(out, "--cgroup", f->cgroup, PATTERN, "");
	else if (f->kind == CAM_WHY_MORE_CORE)
		cam_out_printf(out, " --cpu %u", f->cpu);
	else if ((f->kind == CAM_WHY_MORE_FUNCTION || f->kind == CAM_WHY_MORE_PATH) && f->n_path)
		put_word(out, "--match", f->path[0], EXPRESSION, "");
	else if (f->pid != CAM_PID_NONE)
		cam_out_printf(out, " --pid %d", f->pid);
	else if (f->process.n)
		put_word(out, "--comm", f->process, PATTERN, "*");
}

void cam_text_why_core(const struct cam_why_core *c, const struct cam_text_why_options *o,
		       struct cam_out *out)
{
	cam_out_printf(out, "CPU %u was kept busy for %s from ", c->cpu,
		       cam_figure_duration(c->length_ns).s);
	put_time(out, o, c->wall_ns, c->clock_ns);
	cam_out_str(out, " by ");
	put_name(out, c->process, NAME_COLUMNS);
	cam_out_printf(out, " (pid %d, %.0f %% of its samples", c->pid,
		       100.0 * (double)c->own / (double)(c->samples ? c->samples : 1));
	if (c->function.n) {
		cam_out_str(out, ", in ");
		put_name(out, c->function, FUNCTION_COLUMNS);
	}
	cam_out_str(out, ") while other CPUs were free");
}

void cam_text_why_scales(const struct cam_why *w, struct cam_out *out)
{
	bool stopped = false, place = false;
	for (size_t i = 0; i < w->n_significant; i++) {
		const struct cam_why_finding *f = &w->findings[i];
		stopped = stopped || f->kind == CAM_WHY_STOPPED;
		place = place || (f->kind != CAM_WHY_STOPPED && f->score <= w->threshold);
	}
	if (stopped)
		cam_out_str(out, " What stopped is held against other pauses.");
	if (place)
		cam_out_str(
			out,
			" What is reported with less stands out among cores, or paths through the kernel.");
}

void cam_text_why_evidence(const struct cam_why *w, struct cam_out *out)
{
	cam_out_printf(out, "Compared with %s of history",
		       cam_figure_duration(w->history_s * CAM_NS_PER_SEC).s);
	if (w->unobserved_s)
		cam_out_printf(out, " (%s more was not observed and does not count)",
			       cam_figure_duration(w->unobserved_s * CAM_NS_PER_SEC).s);
	if (w->processes_s + w->processes_s / 50 < w->history_s)
		cam_out_printf(out, ", single processes with %s of it",
			       cam_figure_duration(w->processes_s * CAM_NS_PER_SEC).s);
	if (w->functions_s + w->functions_s / 50 < w->history_s)
		cam_out_printf(out, ", functions with %s of it",
			       cam_figure_duration(w->functions_s * CAM_NS_PER_SEC).s);
	if (w->left_out)
		cam_out_printf(out,
			       ", without %" PRIu64
			       " windows (too much to read, or sampled at another rate)",
			       w->left_out);
	cam_out_printf(out, ": %" PRIu64 " moments as long as this one. ", w->moments);
	if (w->coarse)
		cam_out_printf(
			out,
			"That is a short history: what is rare in it is known roughly; a finding "
			"must score %.1f.",
			w->threshold);
	else if (w->threshold <= 0)
		cam_out_str(out, "In most of them nothing is above its usual level at all.");
	else
		cam_out_printf(out,
			       "%.3g %% of them score less than the %.1f that a finding needs.",
			       100 * w->below, w->threshold);
}

static void put_finding(const struct cam_why *w, size_t i, const struct cam_text_why_options *o,
			struct cam_out *out)
{
	const struct cam_why_finding *f = &w->findings[i];
	cam_out_printf(out, "\n%zu. ", i + 1);
	cam_text_why_sentence(w, f, o, out);
	cam_out_printf(out, "\n   score %.1f", f->score);
	if (!w->coarse)
		cam_out_printf(out, ", one moment in %.0f has anything like it", 1 / f->p);
	cam_out_str(out, ":  ");
	cam_text_why_command(f, o, out);
	cam_out_str(out, "\n");
}

static void put_waits(const struct cam_why *w, struct cam_out *out)
{
	if (w->n_waits)
		cam_out_str(out, "\nwho waited for a CPU:\n");
	for (size_t i = 0; i < w->n_waits; i++) {
		const struct cam_why_wait *v = &w->waits[i];
		cam_out_str(out, "  ");
		put_name(out, v->name, NAME_COLUMNS);
		cam_out_printf(out, " (thread %u) ", v->tid);
		put_share(out, v->inside);
		cam_out_str(out, " of the time");
		if (v->outside >= 0) {
			cam_out_str(out, ", in the rest of the window ");
			put_share(out, v->outside);
		}
		cam_out_str(out, "\n");
	}
}

static void put_nothing(const struct cam_why *w, const struct cam_text_why_options *o,
			struct cam_out *out)
{
	if (w->asked_unobserved_s >= w->asked_s) {
		cam_out_str(out, "That moment was not observed: nothing can be said of it.\n");
		return;
	}
	cam_out_str(out, "Nothing unusual.\n");
	if (!w->n_findings) {
		cam_out_str(out, "No process, cgroup or function had 10 samples more than usual, "
				 "and no core or kernel path stands out.\n");
		return;
	}
	const struct cam_why_finding *f = &w->findings[0];
	cam_out_str(out, "Closest: ");
	cam_text_why_sentence(w, f, o, out);
	cam_out_printf(out, "\n  score %.1f", f->score);
	if (!w->coarse)
		cam_out_printf(out, ", one moment in %.1f has something like it", 1 / f->p);
	cam_out_str(out, ":  ");
	cam_text_why_command(f, o, out);
	cam_out_str(out, "\n");
}

int cam_text_why_write(const struct cam_why *w, const struct cam_text_why_options *o,
		       struct cam_out *out)
{
	if (!w->n_significant)
		put_nothing(w, o, out);
	for (size_t i = 0; i < w->n_significant; i++)
		put_finding(w, i, o, out);
	if (w->n_cores)
		cam_out_str(out, "\ncores that one process had to itself:\n");
	for (size_t i = 0; i < w->n_cores; i++) {
		cam_out_str(out, "  ");
		cam_text_why_core(&w->cores[i], o, out);
		cam_out_str(out, "\n");
	}
	if (w->n_all_cores > w->n_cores)
		cam_out_printf(out, "  and %zu more\n", w->n_all_cores - w->n_cores);
	put_waits(w, out);
	cam_text_counters_write(&w->moment, out);
	cam_text_events_write(&w->moment, &o->table, out);
	cam_out_str(out, "\n");
	cam_label_notes(out, "", w->notes);
	cam_text_why_evidence(w, out);
	cam_text_why_scales(w, out);
	cam_out_str(out, "\n");
	if (w->asked_unobserved_s && w->asked_unobserved_s < w->asked_s)
		cam_out_printf(out,
			       "%" PRIu64 " of the %" PRIu64
			       " seconds asked about were not observed, and are not judged.\n",
			       w->asked_unobserved_s, w->asked_s);
	return out->error;
}
