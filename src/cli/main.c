// SPDX-License-Identifier: Apache-2.0
#include "cli/say.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>

static const struct cam_verb verbs[] = {
	{"record", "[options] [-o X.pcw|DIR/] [-- CMD…]",
	 "Records every CPU into the store until stopped; or one recording of its own.",
	 cam_cmd_record},
	{"run", "[options of record and of serve]", "Records for ever and serves: the main job.",
	 cam_cmd_run},
	{"serve", "[--store DIR] [DIR|FILE…] [--listen ADDR:PORT]",
	 "The page and the HTTP API over stores and files of any kind, to pick from; changes nothing.",
	 cam_cmd_serve},
	{"import", "[--store DIR] FILE… | --events FILE",
	 "Adds files of perf and other profilers to a store; or lines of a saved log, as events.",
	 cam_cmd_import},
	{"ls",
	 "[T] [--store DIR | -i FILE] [--last 1h | --from T | --at T] [--pinned | --capsules] [--names] [--json]",
	 "Lists windows: when, how long, how busy, what was lost and why, size, pins, events.",
	 cam_cmd_ls},
	{"at", "TIME [--around 5s] [-i FILE | --store DIR] [--pid PID …] [--json]",
	 "What ran at that moment: the window, busy CPUs, processes, functions, cores, events.",
	 cam_cmd_at},
	{"why",
	 "TIME|EVENT|SELECTION [--around 5s] [--baseline auto|SELECTION] [-i FILE | --store DIR] [--json]",
	 "What was different at that moment, against all that is kept: sentences, most telling first.",
	 cam_cmd_why},
	{"capsule",
	 "TIME|EVENT|SELECTION [--around 5s] [-i FILE | --store DIR] [--pid PID …] -o X.html",
	 "All of that moment in one HTML file for a ticket: sentences, heatmaps, flame graphs, events.",
	 cam_cmd_capsule},
	{"moments", "[--last 12h …] [-i FILE | --store DIR] [-n N] [--json]",
	 "The most unusual seconds of the store, without any event to look for.", cam_cmd_moments},
	{"top",
	 "[--by WHAT | --sort KEYS] [-i FILE | --store DIR] [--last 60s …] [--pid PID …] [-n N] [-f]",
	 "A table by process, thread, function, module, cgroup or core; live with --follow.",
	 cam_cmd_top},
	{"search", "REGEX [-i FILE | --store DIR] [--last 12h …] [--pid PID …] [-n N] [--json]",
	 "When did a matching function run: moments, heaviest first, with process and core.",
	 cam_cmd_search},
	{"report",
	 "[-s KEYS] [-g caller|callee] [--no-children] [-n] [-i FILE | --store DIR] [--last 60s …]",
	 "Call chains as text, in the layout of perf report --stdio.", cam_cmd_report},
	{"flame",
	 "[T] [-i FILE | --store DIR] [--last 60s | --from T | --at T] [--pid PID …] [-o X.svg|X.html]",
	 "Draws a flame graph of a file or a store: here, or as an interactive picture or page.",
	 cam_cmd_flame},
	{"script",
	 "[T] [-i FILE | --store DIR] [--last 60s …] [-F FIELDS] [--header] [--pid PID …] [-o OUT]",
	 "Prints samples, one after the other, as perf script does.", cam_cmd_script},
	{"heatmap",
	 "[T] [-i FILE | --store DIR] [--last 10m | --from T | --at T] [--mode cores] [-o X.svg|X.png]",
	 "Shows when CPUs were busy: second by second, or CPU by CPU; here, or as a picture.",
	 cam_cmd_heatmap},
	{"diff", "A B [-o X.svg] [--normalise time|total|none] [--fail-above 5%] [--json]",
	 "Says what changed from A to B (files, or quoted selections), and what may be chance.",
	 cam_cmd_diff},
	{"export", "FORMAT [-i FILE | --store DIR] [--last 60s …] [--pid PID …] [-o OUT]",
	 "Writes samples as other tools read them; FORMAT is folded, perf-script, pprof, speedscope, "
	 "firefox, perf-data, csv or json.",
	 cam_cmd_export},
	{"verify", "[--store DIR | -i FILE | --dump FILE] [--json]",
	 "Reads every byte of a store; says what is damaged (exit 3) or that nothing is (exit 0).",
	 cam_cmd_verify},
	{"resymbolise",
	 "[--last 1h | --from T | --at T | WINDOW] [--symfs DIR] [--debuginfod[=URLS]] [--dry-run] "
	 "[--store DIR] [--json]",
	 "Names what sealed windows have without a name, by the debug files that are here now.",
	 cam_cmd_resymbolise},
	{"doctor", "[--last 10m] [--store DIR] [--json]",
	 "Judges the host and the recorded stacks: what keeps perfcam from doing better, and the remedy.",
	 cam_cmd_doctor},
	{"config", "[--reload] [--json] [any option of record and serve]",
	 "Prints the effective settings, each with where it comes from.", cam_cmd_config},
	{"status", "[--store DIR] [--json]",
	 "Asks the running recorder how it goes: what it records, lost, costs.", cam_cmd_status},
	{"snapshot", "[--store DIR] [--json]",
	 "Has the running recorder seal what it has now; prints the window's name.",
	 cam_cmd_snapshot},
	{"events",
	 "[--match RE] [--severity S] [--source NAME] [--last 12h | --at T …] [-i FILE | --store DIR] [--json]",
	 "What happened: lines of the kernel's log and of other logs, marks, perfcam's own findings.",
	 cam_cmd_events},
	{"mark", "TEXT [--at T] [--store DIR]", "Adds an event: what happened, now or then.",
	 cam_cmd_mark},
	{"pin", "[--at T | --from T [--to T] | --last 10m | WINDOW] [--note TEXT] [--store DIR]",
	 "Keeps windows of that time from being deleted; without a time, lists the pins.",
	 cam_cmd_pin},
	{"unpin", "--at T | --from T [--to T] | --last 10m | WINDOW [--store DIR]",
	 "Releases every pin that touches that time.", cam_cmd_unpin},
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void print_usage(void)
{
	printf("perfcam %s: a dashcam for your CPUs\n\n", PERFCAM_VERSION);
	for (size_t i = 0; i < N_VERBS; i++)
		printf("  perfcam %s %s\n      %s\n", verbs[i].name, verbs[i].synopsis,
		       verbs[i].summary);
	printf("\nperfcam VERB --help lists a verb's options. Exit: 0 ok, 1 failed, 2 usage,\n"
	       "3 the result is incomplete: part of the data was damaged or lost.\n");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage();
		return CAM_EXIT_USAGE;
	}
	const char *name = argv[1];
	char help[] = "--help";
	bool asks = !strcmp(name, "help");
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || (asks && argc == 2)) {
		print_usage();
		return CAM_EXIT_OK;
	}
	if (!strcmp(name, "--version")) {
		printf("perfcam %s\n", PERFCAM_VERSION);
		return CAM_EXIT_OK;
	}
	/* "help flame" is "flame --help". */
	if (asks) {
		name = argv[1] = argv[2];
		argv[2] = help;
		argc = 3;
	}
	for (size_t i = 0; i < N_VERBS; i++) {
		if (!strcmp(verbs[i].name, name))
			return verbs[i].run(&verbs[i], argc - 1, argv + 1);
	}
	/* The recorder's own processes; not for people. */
	if (!strcmp(name, "helper"))
		return cam_cmd_helper(NULL, argc - 1, argv + 1);
	const char *near = NULL;
	for (size_t i = 0; i < N_VERBS && !near; i++)
		near = cam_options_is_near(name, verbs[i].name) ? verbs[i].name : NULL;
	if (near)
		return cam_usage("unknown verb '%s': is it %s? perfcam --help lists them", name,
				 near);
	return cam_usage("unknown verb '%s'; perfcam --help lists them", name);
}
