// SPDX-License-Identifier: Apache-2.0
/* What keeps perfcam from doing better on this host, each with its cost and the remedy: what this process
 * may not do, and what the running recorder has met. */
#include "base/json.h"
#include "base/json_value.h"
#include "capture/probe.h"
#include "cli/asking.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "model/nouns.h"

#include <stdio.h>

struct finding {
	const char *missing, *cost, *remedy;
};

/* Causes of the recorder's ledger that somebody can do something about. */
static const struct {
	enum cam_cause cause;
	struct finding says;
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

static void show(struct cam_out *out, struct cam_json *j, const struct finding *f, uint64_t samples)
{
	if (j) {
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "finding", cam_text_of(f->missing));
		cam_json_text(j, "cost", cam_text_of(f->cost));
		cam_json_text(j, "remedy", cam_text_of(f->remedy));
		if (samples)
			cam_json_u64(j, "samples", samples);
		cam_json_close(j, '}');
		return;
	}
	cam_out_printf(out, "%s\n", f->missing);
	if (samples)
		cam_out_printf(out, "  cost    %s (%llu so far)\n", f->cost,
			       (unsigned long long)samples);
	else
		cam_out_printf(out, "  cost    %s\n", f->cost);
	cam_out_printf(out, "  remedy  %s\n", f->remedy);
}

static unsigned show_host(struct cam_out *out, struct cam_json *j, uint32_t hz)
{
	struct cam_probe probe;
	cam_probe_host(&(struct cam_probe_options){"/proc", "/sys", hz}, &probe);
	for (uint32_t i = 0; i < probe.n_findings; i++) {
		const struct cam_probe_finding *p = &probe.findings[i];
		show(out, j, &(struct finding){p->missing, p->cost, p->remedy}, 0);
	}
	return probe.n_findings;
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

static unsigned show_recorder(struct cam_out *out, struct cam_json *j, struct cam_asking *a)
{
	struct cam_json_value status;
	unsigned found = 0;
	if (cam_asking_ask(a, CAM_CONTROL_STATUS, &(struct cam_control_request){0}) ||
	    cam_json_value_parse(cam_text_of((char *)a->reply.data), &status))
		return 0;
	for (size_t i = 0; i < sizeof(treatable) / sizeof(treatable[0]); i++) {
		uint64_t samples = lost_by(status, treatable[i].cause);
		if (samples) {
			show(out, j, &treatable[i].says, samples);
			found++;
		}
	}
	return found;
}

int cam_cmd_doctor(const struct cam_verb *verb, int argc, char **argv)
{
	bool json = false;
	int status;
	struct cam_asking *a = cam_asking_parse(verb, argc, argv, &json, &status);
	if (!a)
		return status;
	struct cam_out out;
	struct cam_json j = {&out, false};
	cam_out_to_fd(&out, 1);
	if (json)
		cam_json_open(&j, NULL, '[');
	unsigned found = show_host(&out, json ? &j : NULL, a->settings.hz);
	found += show_recorder(&out, json ? &j : NULL, a);
	if (json)
		cam_json_close(&j, ']');
	else if (a->nobody)
		cam_out_str(&out, "No recorder runs on this store: only the host was looked at.\n");
	else if (!found)
		cam_out_str(&out, "Nothing is in perfcam's way.\n");
	if (json)
		cam_out_str(&out, "\n");
	int err = cam_out_finish(&out);
	cam_asking_free(a);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}
