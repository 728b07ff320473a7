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
	struct cam_settings_given given = {0};
	bool json = false, done;
	const struct cam_option options[] = {
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest, status;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest)
		return cam_usage("snapshot takes no argument '%s'", argv[0]);
	struct cam_asking *a = cam_asking_new(&given, &status);
	if (!a)
		return status;
	status = cam_asking_ask(a, CAM_CONTROL_SNAPSHOT, &(struct cam_control_request){0});
	if (a->nobody)
		status = cam_asking_say_nobody(a);
	else if (!status)
		status = show(a, json);
	cam_asking_free(a);
	return status;
}
