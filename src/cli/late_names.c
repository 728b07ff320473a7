// SPDX-License-Identifier: Apache-2.0
#include "cli/late_names.h"

#include "cli/one_off.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <stdlib.h>

int cam_late_names_check(const char *urls)
{
	if (!urls || urls[0] || getenv("DEBUGINFOD_URLS"))
		return CAM_EXIT_OK;
	return cam_usage("--debuginfod needs to know whom to ask: --debuginfod=URL, or "
			 "DEBUGINFOD_URLS in the environment");
}

int cam_late_names_ask(const char *store, const char *urls, time_t since)
{
	char from[32], option[4096];
	if (!urls)
		return CAM_EXIT_OK;
	snprintf(from, sizeof(from), "@%lld", (long long)since);
	int n = snprintf(option, sizeof(option), "--debuginfod%s%s", urls[0] ? "=" : "", urls);
	if (n < 0 || (size_t)n >= sizeof(option))
		return cam_usage("--debuginfod: too long");
	const char *const words[] = {"resymbolise", "--store", store, "--from", from, option, NULL};
	return cam_one_off_verb(cam_cmd_resymbolise, words);
}
