// SPDX-License-Identifier: Apache-2.0
/*
 * `perfcam helper ROLE`: what the recorder starts this binary as, with a socket as descriptor 3. Not
 * for people: it is not in the list of verbs.
 */
#include "cli/say.h"
#include "cli/verbs.h"
#include "daemon/keeper.h"
#include "helper/helper.h"
#include "proc/opener.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SOCKET 3

static int confine_symboliser(void)
{
	return cam_confine(CAM_CONFINE_SYMBOLISER);
}

static int run_symboliser(void)
{
	return cam_symboliser_run(SOCKET, CAM_SYMBOLISER_IDLE_MS, confine_symboliser) ? 1 : 0;
}

static int run_opener(void)
{
	/* Without seccomp it runs as before it was confined, but for its capabilities. */
	int err = cam_confine(CAM_CONFINE_OPENER);
	return (err && err != -EOPNOTSUPP) || cam_opener_run(SOCKET) ? 1 : 0;
}

int cam_cmd_helper(const struct cam_verb *verb, int argc, char **argv)
{
	(void)verb;
	const char *role = argc > 1 ? argv[1] : "";
	int status;
	if (!strcmp(role, cam_helper_role_name(CAM_HELPER_OPENER)))
		status = run_opener();
	else if (!strcmp(role, cam_helper_role_name(CAM_HELPER_SYMBOLISER)))
		status = run_symboliser();
	else if (!strcmp(role, cam_helper_role_name(CAM_HELPER_SEALER)))
		status = cam_sealer_run(SOCKET);
	else
		return cam_usage("helper: the recorder starts these itself");
	/* Confined: what libraries do at exit() may be forbidden. */
	_exit(status);
}
