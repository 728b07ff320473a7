// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/place.h"
#include "cli/range.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "daemon/moment.h"
#include "events/redact.h"

#include <errno.h>
#include <string.h>

#define MARK_BYTES (10 * CAM_CONTROL_TEXT_MAX) /* a text whose every word is a secret */

/* The arguments as one text: nobody has to quote a sentence. */
static int join(int n, char **words, char room[CAM_CONTROL_TEXT_MAX + 1])
{
	size_t at = 0;
	for (int i = 0; i < n; i++) {
		size_t length = strlen(words[i]), gap = i > 0;
		if (length + gap > CAM_CONTROL_TEXT_MAX - at)
			return cam_usage("the text of a mark has at most %u bytes",
					 CAM_CONTROL_TEXT_MAX);
		room[at] = ' ';
		memcpy(room + at + gap, words[i], length);
		at += length + gap;
	}
	room[at] = '\0';
	return at ? CAM_EXIT_OK : cam_usage("mark needs a text: perfcam mark deploy 42");
}

/* Nobody records: into the store's annex. */
static int mark_store(struct cam_asking *a, int64_t at_ns, const char *text)
{
	struct cam_moment m;
	int status = cam_asking_lock(a);
	if (status)
		return status;
	int err = cam_moment_find(a->io, at_ns, &m);
	if (err == -ENOENT)
		return cam_failed("store %s holds nothing of that time, and it is not of this boot",
				  a->settings.store);
	if (err == -ERANGE)
		return cam_failed("that time has not come yet");
	/* As a recorder would keep it. */
	struct cam_buf kept = CAM_BUF(MARK_BYTES);
	cam_redact(cam_text_of(text), &kept);
	err = err ? err : cam_buf_error(&kept);
	if (!err)
		err = cam_store_add_event(a->store, &m.boot_id, m.time_ns, m.uncertainty_ns,
					  CAM_SEVERITY_NOTICE, CAM_TEXT("mark"),
					  (struct cam_text){(const char *)kept.data, kept.len});
	cam_buf_free(&kept);
	return err ? cam_failed("store %s: %s", a->settings.store, cam_errno_words(err))
		   : CAM_EXIT_OK;
}

static int show(int64_t at_ns, const char *text, bool json)
{
	struct cam_out out;
	struct cam_json j = {&out, false};
	char when[40];
	cam_out_to_fd(&out, 1);
	if (json) {
		cam_json_open(&j, NULL, '{');
		cam_json_i64(&j, "realtime_ns", at_ns);
		cam_json_text(&j, "text", cam_text_of(text));
		cam_json_close(&j, '}');
	} else {
		cam_show_realtime(at_ns, when, sizeof(when));
		cam_out_printf(&out, "%s ", when);
		cam_out_printable(&out, cam_text_of(text));
	}
	cam_out_str(&out, "\n");
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_cmd_mark(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	const char *at = NULL;
	bool json = false, done;
	const struct cam_option options[] = {
		{"at", 0, CAM_OPTION_TEXT, &at, "T",
		 "when it happened: 03:14:07, -90s, … (default: now)"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "say what was marked as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_words, status;
	status = cam_options_parse(verb, options, argc, argv, &n_words, &done);
	if (done)
		return status;
	char text[CAM_CONTROL_TEXT_MAX + 1];
	int64_t at_ns = cam_range_world().now_ns;
	status = join(n_words, argv, text);
	if (!status && at)
		status = cam_range_moment("--at", at, &at_ns);
	struct cam_asking *a = status ? NULL : cam_asking_new(&given, &status);
	if (!a)
		return status;
	/* "Now" is the recorder's to know: it has the samples' clock. */
	struct cam_control_request r = {
		.from_ns = at ? at_ns : CAM_CONTROL_NOW,
		.text = cam_text_of(text),
	};
	status = cam_asking_ask(a, CAM_CONTROL_MARK, &r);
	if (a->nobody)
		status = mark_store(a, at_ns, text);
	cam_asking_free(a);
	return status ? status : show(at_ns, text, json);
}
