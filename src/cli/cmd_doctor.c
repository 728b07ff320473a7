// SPDX-License-Identifier: Apache-2.0
/*
 * The host as perfcam sees it, how good the stacks of the last minutes are, and what keeps perfcam from
 * doing better, each with its cost and the remedy: what this process may not do, what the running recorder
 * has met, what processes could do for their stacks.
 */
#include "base/json_value.h"
#include "cli/doctor.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "model/nouns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct cam_finding *cam_findings_add(struct cam_findings *f)
{
	struct cam_finding *last =
		&f->v[f->n < CAM_DOCTOR_FINDINGS - 1 ? f->n : CAM_DOCTOR_FINDINGS - 1];
	f->n += f->n < CAM_DOCTOR_FINDINGS;
	*last = (struct cam_finding){0};
	return last;
}

/* Causes of the recorder's ledger that somebody can do something about. */
static const struct {
	enum cam_cause cause;
	struct {
		const char *missing, *cost, *remedy;
	} says;
} treatable[] = {
	{CAM_CAUSE_BLOCKED,
	 {"Other BPF programs keep perfcam's from running.",
	  "Samples are missing while they run; the ledger says when.",
	  "perfcam record --source perf is not affected; bpftool prog shows who they are."}},
	{CAM_CAUSE_THROTTLED,
	 {"The kernel throttles the sampling.", "Samples are missing; the ledger says when.",
	  "Raise kernel.perf_event_max_sample_rate or kernel.perf_cpu_time_max_percent, or lower -F."}},
	{CAM_CAUSE_LOST_RING,
	 {"The kernel's rings were full.", "Samples were lost.",
	  "A lower -F; or see what keeps the recorder from running (perfcam status)."}},
	{CAM_CAUSE_LOST_QUEUE,
	 {"The recorder could not keep up.", "Samples were lost.",
	  "See whether the store's disk is slow (perfcam status); a lower -F."}},
	{CAM_CAUSE_DISK_FULL,
	 {"The store could not be written.", "Samples were lost.",
	  "Free space on its file system, or lower --max-bytes."}},
	{CAM_CAUSE_SHED,
	 {"perfcam lowered its rate to keep its CPU budget.", "There are fewer samples.",
	  "A larger --max-cpu, or a lower -F."}},
	{CAM_CAUSE_BOUND,
	 {"More distinct stacks than the tables hold.", "Samples were dropped.",
	  "A lower -F, or a scope (-p, -u, --cgroup)."}},
};

static void show_json(struct cam_json *j, const struct cam_finding *f)
{
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "finding", cam_text_of(f->missing));
	cam_json_text(j, "cost", cam_text_of(f->cost));
	cam_json_text(j, "remedy", cam_text_of(f->remedy));
	if (f->samples)
		cam_json_u64(j, "samples", f->samples);
	cam_json_close(j, '}');
}

static void show_text(struct cam_out *out, const struct cam_finding *f)
{
	cam_out_printf(out, "%s\n  cost    %s", f->missing, f->cost);
	if (f->samples)
		cam_out_printf(out, " (%llu so far)", (unsigned long long)f->samples);
	cam_out_printf(out, "\n  remedy  %s\n", f->remedy);
}

static void show_findings(const struct cam_doctor *d, bool nobody)
{
	if (d->json)
		cam_json_open(d->json, "findings", '[');
	else
		cam_out_str(d->out, "\n");
	for (size_t i = 0; i < d->found.n; i++) {
		if (d->json)
			show_json(d->json, &d->found.v[i]);
		else
			show_text(d->out, &d->found.v[i]);
	}
	if (d->json) {
		cam_json_close(d->json, ']');
		return;
	}
	if (!d->found.n)
		cam_out_str(d->out, "Nothing is in perfcam's way.\n");
	if (nobody)
		cam_out_str(d->out, "No recorder runs on this store.\n");
}

static uint64_t lost_by(struct cam_json_value status, enum cam_cause cause)
{
	struct cam_json_value causes, one;
	uint64_t n;
	return cam_json_value_get(status, "by_cause", &causes) &&
			       cam_json_value_get(causes, cam_cause_key(cause), &one) &&
			       cam_json_value_u64(one, &n)
		       ? n
		       : 0;
}

/* The kernel took a worse unwinder than there is, or none. */
static void look_at_unwinder(struct cam_doctor *d, struct cam_json_value status)
{
	struct cam_json_value stacks, refused, how;
	char line[160], left[160];
	if (!cam_json_value_get(status, "stacks", &stacks) ||
	    !cam_json_value_get(stacks, "verifier", &refused) ||
	    !cam_json_value_get(stacks, "how", &how) ||
	    !cam_json_value_string(refused, line, sizeof(line)) ||
	    !cam_json_value_string(how, left, sizeof(left)))
		return;
	struct cam_finding *f = cam_findings_add(&d->found);
	snprintf(f->missing, sizeof(f->missing),
		 "The kernel's verifier refused the better program that unwinds stacks.");
	snprintf(f->cost, sizeof(f->cost), "Stacks are %s.", left);
	snprintf(f->remedy, sizeof(f->remedy),
		 "Report it, with the kernel's version and this line: %s", line);
}

/* How many files that is said of in the status's names. */
static uint64_t files_of(struct cam_json_value status, const char *key)
{
	struct cam_json_value names, one;
	uint64_t n;
	return cam_json_value_get(status, "names", &names) &&
			       cam_json_value_get(names, key, &one) && cam_json_value_u64(one, &n)
		       ? n
		       : 0;
}

/* Files that were not read, or not all of them. */
static void look_at_files(struct cam_doctor *d, struct cam_json_value status)
{
	uint64_t large = files_of(status, "left_out_files");
	uint64_t elsewhere = files_of(status, "elsewhere_files");
	uint64_t bad = files_of(status, "poisoned_files") + files_of(status, "symbols_only_files");
	if (large) {
		struct cam_finding *f = cam_findings_add(&d->found);
		snprintf(f->missing, sizeof(f->missing),
			 "The debug information of %llu file%s was too large, or a part of it.",
			 (unsigned long long)large, large == 1 ? "" : "s");
		snprintf(f->cost, sizeof(f->cost),
			 "Functions inlined there are not shown; names are those of symbols.");
		snprintf(f->remedy, sizeof(f->remedy),
			 "Build with -g1, which has lines and inlined functions only.");
	}
	if (elsewhere) {
		struct cam_finding *f = cam_findings_add(&d->found);
		snprintf(
			f->missing, sizeof(f->missing),
			"The debug information of %llu file%s lies in further files: split units "
			"(.dwo), which are not read, or a common file of dwz -m, which was not found.",
			(unsigned long long)elsewhere, elsewhere == 1 ? "" : "s");
		snprintf(f->cost, sizeof(f->cost),
			 "Functions inlined there are not shown (.dwo), or are [inlined] (dwz).");
		snprintf(f->remedy, sizeof(f->remedy),
			 "Build without -gsplit-dwarf; install the common file below "
			 "/usr/lib/debug/.dwz (the -dbgsym package has it).");
	}
	if (bad) {
		struct cam_finding *f = cam_findings_add(&d->found);
		snprintf(f->missing, sizeof(f->missing),
			 "%llu file%s could not be read, or the debug information there.",
			 (unsigned long long)bad, bad == 1 ? "" : "s");
		snprintf(
			f->cost, sizeof(f->cost),
			"The symboliser died or hung; their code has no names, or no inlined frames.");
		snprintf(f->remedy, sizeof(f->remedy),
			 "Look for damaged programs; report a file that others can read.");
	}
}

static void look_at_recorder(struct cam_doctor *d, struct cam_asking *a)
{
	struct cam_json_value status;
	if (cam_asking_ask(a, CAM_CONTROL_STATUS, &(struct cam_control_request){0}) ||
	    cam_json_value_parse(cam_text_of((char *)a->reply.data), &status))
		return;
	for (size_t i = 0; i < sizeof(treatable) / sizeof(treatable[0]); i++) {
		uint64_t samples = lost_by(status, treatable[i].cause);
		if (!samples)
			continue;
		struct cam_finding *f = cam_findings_add(&d->found);
		snprintf(f->missing, sizeof(f->missing), "%s", treatable[i].says.missing);
		snprintf(f->cost, sizeof(f->cost), "%s", treatable[i].says.cost);
		snprintf(f->remedy, sizeof(f->remedy), "%s", treatable[i].says.remedy);
		f->samples = samples;
	}
	look_at_unwinder(d, status);
	look_at_files(d, status);
}

static int examine(struct cam_asking *a, bool json, const char *last)
{
	struct cam_out out;
	struct cam_json j = {&out, false};
	struct cam_doctor *d = calloc(1, sizeof(*d));
	if (!d)
		return cam_failed("%s", cam_errno_words(-ENOMEM));
	d->out = &out;
	d->json = json ? &j : NULL;
	cam_out_to_fd(&out, 1);
	if (json)
		cam_json_open(&j, NULL, '{');
	cam_doctor_host(d, &a->settings);
	int status = CAM_EXIT_OK;
	/* A store that is not there has nothing to be judged. */
	if (access(a->settings.store, R_OK | X_OK) == 0)
		status = cam_doctor_stacks(d, a, last);
	look_at_recorder(d, a);
	show_findings(d, a->nobody);
	if (json) {
		cam_json_close(&j, '}');
		cam_out_str(&out, "\n");
	}
	int err = cam_out_finish(&out);
	free(d);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : status;
}

int cam_cmd_doctor(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	const char *last = "10m";
	bool json = false, done;
	const struct cam_option options[] = {
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		{"last", 0, CAM_OPTION_TEXT, &last, "10m", "judge the stacks of this long"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest, status;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest)
		return cam_usage("doctor takes no argument '%s'", argv[0]);
	struct cam_asking *a = cam_asking_new(&given, &status);
	if (!a)
		return status;
	status = examine(a, json, last);
	cam_asking_free(a);
	return status;
}
