// SPDX-License-Identifier: Apache-2.0
/*
 * --debuginfod of the verbs that record: what has no name at the end of the recording is looked for elsewhere,
 * by this process, which records no more, and those it starts. A recorder has no network.
 */
#pragma once
#include <time.h>

#define CAM_LATE_NAMES_OPTION(urls)                                                         \
	{                                                                                   \
		"debuginfod", 0, CAM_OPTION_OPTIONAL, &(urls), "URLS",                      \
			"when it has ended, ask these servers for names ($DEBUGINFOD_URLS)" \
	}

/* Before the recording: whether it is known whom to ask. urls: NULL, nobody; "", those of the environment.
 * Exit status. */
int cam_late_names_check(const char *urls);
/* After it: for the windows of the store since then. Exit status; nothing is asked for without urls. */
int cam_late_names_ask(const char *store, const char *urls, time_t since);
