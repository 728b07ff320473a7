// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/asking.h"
#include "cli/say.h"
#include "cli/verbs.h"

static int show(const struct cam_asking *a, bool json)
{
	struct cam_out out;
	struct cam_json j = {&out, false};
	struct cam_text name = cam_text_of((char *)a->reply.data);
	cam_out_to_fd(&out, 1);
	if (json) {
		cam_json_open(&j, NULL, '{');
		cam_json_text(&j, "window", name);
		cam_json_close(&j, '}');
	} else {
		cam_out_printable(&out, name);
	}
	cam_out_str(&out, "\n");
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_cmd_snapshot(const struct cam_verb *verb, int argc, char **argv)
{
	return cam_asking_run(verb, argc, argv, CAM_CONTROL_SNAPSHOT, show);
}
