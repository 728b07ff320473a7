// SPDX-License-Identifier: Apache-2.0
/*
 * `perfcam run`: one process becomes the recorder and keeps its privileges; another serves, without any. They share
 * a socket for the recorder's status and nothing else. The server ends with the recorder; the recorder does not end with
 * the server, and a server that dies is started again (attendant.h).
 */
#include "base/units.h"
#include "cli/attendant.h"
#include "cli/late_names.h"
#include "cli/say.h"
#include "cli/serving.h"
#include "cli/setting_options.h"
#include "cli/verbs.h"
#include "daemon/paths.h"
#include "daemon/recorder.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void say_what_next(void *serving)
{
	const struct cam_serving *s = serving;
	char url[256];
	bool usual = s->settings->origins[CAM_SET_STORE].kind == CAM_FROM_DEFAULT;
	const char *option = usual ? "" : " --store ", *store = usual ? "" : s->settings->store;
	cam_serving_url(s, url, sizeof(url));
	const char *me = program_invocation_name;
	printf("%s\n\nRecording, until Ctrl-C. In another terminal, try:\n"
	       "  %s ls%s%s\n"
	       "  %s flame%s%s -o now.svg\n",
	       url, me, option, store, me, option, store);
	fflush(stdout);
}

static int run(struct cam_settings *settings, const struct cam_settings_given *given,
	       uint64_t duration_ns, const char *debuginfod)
{
	struct cam_serving s;
	struct cam_record_result result;
	pid_t attendant = 0;
	int servers_fd = -1;
	time_t since = time(NULL);
	/* The store must be there before it can be served. */
	struct cam_io *io;
	if (settings->origins[CAM_SET_STORE].kind == CAM_FROM_DEFAULT)
		cam_paths_make_store_parents();
	int err = cam_io_posix_open(settings->store, true, &io);
	if (err)
		return cam_failed("%s: %s", settings->store, cam_errno_words(err));
	cam_io_posix_close(io);
	const struct cam_given own = {settings->store, settings->store, CAM_SERVER_STORE};
	int status = cam_serving_open(&s, settings, &own, 1);
	if (!status)
		status = cam_attendant_start(&s, &attendant, &servers_fd);
	if (!status) {
		const struct cam_record_request request = {
			.settings = settings,
			.given = given,
			.duration_ns = duration_ns,
			.has_server = true,
			.servers_fd = servers_fd,
			.ready = say_what_next,
			.ready_arg = &s,
		};
		err = cam_recorder_run(&request, &result);
		status = err || result.unstored ? CAM_EXIT_FAILED : CAM_EXIT_OK;
	}
	if (attendant > 0)
		cam_attendant_stop(attendant);
	if (servers_fd >= 0)
		close(servers_fd);
	cam_serving_close(&s);
	return status ? status : cam_late_names_ask(settings->store, debuginfod, since);
}

int cam_cmd_run(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	const char *duration = NULL, *debuginfod = NULL;
	const struct cam_option own[] = {
		{"duration", 'd', CAM_OPTION_TEXT, &duration, "TIME",
		 "stop after this long: 60s, 5m (until stopped)"},
		CAM_LATE_NAMES_OPTION(debuginfod),
		{NULL},
	};
	struct cam_option options[CAM_SETTING_OPTIONS];
	int n_rest;
	bool done;
	uint64_t duration_ns = 0;
	cam_setting_options(options, own, CAM_FOR_RECORD | CAM_FOR_SERVE, &given);
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (status || done)
		return status;
	if (n_rest)
		return cam_usage(
			"run records everything for ever; `perfcam record -- %s` records a "
			"command",
			argv[0]);
	if (duration && (cam_duration_parse(cam_text_of(duration), &duration_ns) || !duration_ns))
		return cam_usage("--duration takes a time like 60s or 5m, not '%s'", duration);
	status = cam_late_names_check(debuginfod);
	if (status)
		return status;
	struct cam_settings *settings = malloc(sizeof(*settings));
	if (!settings)
		return cam_failed("out of memory");
	status = cam_setting_load(&given, settings);
	if (!status)
		status = run(settings, &given, duration_ns, debuginfod);
	free(settings);
	return status;
}
