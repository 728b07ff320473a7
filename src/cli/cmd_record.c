// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "cli/late_names.h"
#include "cli/one_off.h"
#include "cli/say.h"
#include "cli/setting_options.h"
#include "cli/verbs.h"
#include "daemon/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

struct record_arguments {
	const char *duration, *out, *debuginfod;
	struct cam_settings_given given;
};

/* The command's own status; a signal as a shell reports it. */
static int status_of_command(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int record(struct cam_record_request *request, const char *out, const char *debuginfod)
{
	struct cam_one_off one_off = {0};
	struct cam_record_result result;
	int status = CAM_EXIT_OK, named = CAM_EXIT_OK;
	time_t since = time(NULL);
	if (out)
		status = cam_one_off_begin(&one_off, out, request->settings);
	if (status)
		return status;
	request->one_off = out != NULL;
	int err = cam_recorder_run(request, &result);
	if (!err)
		named = cam_late_names_ask(request->settings->store, debuginfod, since);
	one_off.command = request->command ? request->command[0] : NULL;
	one_off.empty = !err && !result.samples && !result.lost;
	if (out && !err && result.command_not_run)
		cam_one_off_discard(&one_off);
	else if (out)
		status = cam_one_off_end(&one_off, request->settings, !err);
	if (err)
		return CAM_EXIT_FAILED;
	if (!out && result.last_window[0])
		cam_note("%s/%s", request->settings->store, result.last_window);
	int of_command = result.command_status == -1 ? 0 : status_of_command(result.command_status);
	if (!status && result.unstored)
		status = CAM_EXIT_FAILED;
	return of_command ? of_command : status ? status : named;
}

int cam_cmd_record(const struct cam_verb *verb, int argc, char **argv)
{
	struct record_arguments a = {0};
	const struct cam_option own[] = {
		{"duration", 'd', CAM_OPTION_TEXT, &a.duration, "TIME",
		 "stop after this long: 60s, 5m (until stopped)"},
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "X.pcw|DIR/",
		 "a recording of its own, outside the store: one window, or a window with its flame "
		 "graph and perf script text"},
		CAM_LATE_NAMES_OPTION(a.debuginfod),
		{NULL},
	};
	struct cam_option options[CAM_SETTING_OPTIONS];
	int n_rest;
	bool done;
	cam_setting_options(options, own, CAM_FOR_RECORD, &a.given);
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (status || done)
		return status;
	struct cam_settings *settings = malloc(sizeof(*settings));
	if (!settings)
		return cam_failed("out of memory");
	struct cam_record_request request = {.settings = settings, .given = &a.given};
	status = cam_setting_load(&a.given, settings);
	if (!status && a.duration &&
	    (cam_duration_parse(cam_text_of(a.duration), &request.duration_ns) ||
	     !request.duration_ns))
		status = cam_usage("--duration takes a time like 60s or 5m, not '%s'", a.duration);
	if (!status && n_rest) {
		argv[n_rest] = NULL;
		request.command = argv;
	}
	if (!status)
		status = cam_late_names_check(a.debuginfod);
	if (!status)
		status = record(&request, a.out, a.debuginfod);
	free(settings);
	return status;
}
