// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/asking.h"
#include "cli/say.h"
#include "cli/setting_options.h"
#include "cli/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void put_json(struct cam_out *out, const struct cam_settings *s)
{
	struct cam_json j = {out, false};
	char from[PATH_MAX + 16];
	cam_json_open(&j, NULL, '{');
	if (s->file[0])
		cam_json_text(&j, "file", cam_text_of(s->file));
	else
		cam_json_null(&j, "file");
	cam_json_open(&j, "settings", '{');
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		enum cam_setting_id id = (enum cam_setting_id)i;
		cam_settings_origin(s, id, from, sizeof(from));
		cam_json_open(&j, cam_setting_of(id)->name, '{');
		cam_json_text(&j, "value", cam_text_of(cam_settings_text(s, id)));
		cam_json_text(&j, "from", cam_text_of(from));
		cam_json_bool(&j, "live", cam_setting_of(id)->live);
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, '}');
	cam_json_open(&j, "rules", '[');
	for (size_t i = 0; i < s->n_rules; i++) {
		cam_json_open(&j, NULL, '{');
		cam_json_u64(&j, "line", s->rules[i].line);
		cam_json_text(&j, "on", cam_text_of(s->rules[i].text));
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

/* Lines that perfcam.conf takes as they are; a comment says where those below it come from. */
static void put_text(struct cam_out *out, const struct cam_settings *s)
{
	char from[PATH_MAX + 16], last[PATH_MAX + 16] = "";
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		enum cam_setting_id id = (enum cam_setting_id)i;
		const char *text = cam_settings_text(s, id);
		cam_settings_origin(s, id, from, sizeof(from));
		if (strcmp(from, last) != 0) {
			cam_out_str(out, "# ");
			cam_out_printable(out, cam_text_of(from));
			cam_out_str(out, "\n");
			memcpy(last, from, sizeof(last));
		}
		cam_out_printf(out, "%s =%s", cam_setting_of(id)->name, *text ? " " : "");
		cam_out_printable(out, cam_text_of(text));
		cam_out_str(out, "\n");
	}
	for (size_t i = 0; i < s->n_rules; i++) {
		cam_out_str(out, i ? "" : "# rules, from ");
		if (!i)
			cam_out_printable(out, cam_text_of(s->file));
		cam_out_str(out, i ? "on " : "\non ");
		cam_out_printable(out, cam_text_of(s->rules[i].text));
		cam_out_str(out, "\n");
	}
}

/* The recorder reads its own file again, with the flags it was started with: no other ones are for it. */
static int reload(const struct cam_settings_given *given, bool json)
{
	int status;
	for (size_t i = 0; i < CAM_SETTINGS; i++)
		if (given->flags[i] && i != CAM_SET_STORE && i != CAM_SET_CONTROL)
			return cam_usage(
				"--reload takes no --%s: what the recorder is to read again "
				"is in its file; --store and --control say which recorder",
				cam_setting_of((enum cam_setting_id)i)->name);
	struct cam_asking *a = cam_asking_new(given, &status);
	if (!a)
		return status;
	status = cam_asking_ask(a, CAM_CONTROL_RELOAD, &(struct cam_control_request){0});
	if (a->nobody)
		status = cam_asking_say_nobody(a);
	if (!status) {
		struct cam_out out;
		struct cam_json j = {&out, false};
		struct cam_text words = cam_text_of((char *)a->reply.data);
		cam_out_to_fd(&out, 1);
		if (json) {
			cam_json_open(&j, NULL, '{');
			cam_json_text(&j, "reloaded", words);
			cam_json_close(&j, '}');
		} else {
			cam_out_printable(&out, words);
		}
		cam_out_str(&out, "\n");
		int err = cam_out_finish(&out);
		if (err)
			status = cam_failed("standard output: %s", cam_errno_words(err));
	}
	cam_asking_free(a);
	return status;
}

int cam_cmd_config(const struct cam_verb *verb, int argc, char **argv)
{
	bool json = false, again = false;
	const struct cam_option own[] = {
		{"reload", 0, CAM_OPTION_FLAG, &again, NULL,
		 "have the running recorder read its configuration again; prints what changed"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		{0},
	};
	struct cam_settings_given given = {0};
	struct cam_option options[CAM_SETTING_OPTIONS];
	cam_setting_options(options, own, CAM_FOR_RECORD | CAM_FOR_SERVE, &given);
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest)
		return cam_usage("config takes no argument '%s'", argv[0]);
	if (again)
		return reload(&given, json);
	CAM_AUTOFREE struct cam_settings *s = calloc(1, sizeof(*s));
	if (!s)
		return cam_failed("%s", strerror(ENOMEM));
	status = cam_setting_load(&given, s);
	if (status)
		return status;
	struct cam_out out;
	cam_out_to_fd(&out, 1);
	if (json)
		put_json(&out, s);
	else
		put_text(&out, s);
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}
