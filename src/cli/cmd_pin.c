// SPDX-License-Identifier: Apache-2.0
#include "cli/picking.h"
#include "cli/pinning.h"
#include "cli/range.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <string.h>

struct listing {
	struct cam_out *out;
	struct cam_json *json;
};

static int list_one(void *arg, const struct cam_pin *p)
{
	struct listing *l = arg;
	cam_pinning_show(l->out, l->json, p);
	return 0;
}

static int list_pins(struct cam_asking *a, bool json)
{
	struct cam_out out;
	struct cam_json j = {&out, false};
	struct listing l = {&out, json ? &j : NULL};
	int status = cam_asking_open(a);
	if (status)
		return status;
	cam_out_to_fd(&out, 1);
	if (json)
		cam_json_open(&j, NULL, '[');
	int err = cam_store_pins(a->io, list_one, &l);
	if (err)
		status = cam_incomplete("store %s: pins: %s", a->settings.store,
					cam_errno_words(err));
	if (json) {
		cam_json_close(&j, ']');
		cam_out_str(&out, "\n");
	}
	err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : status;
}

static int pin(struct cam_asking *a, const struct cam_range_options *range, const char *note,
	       bool json)
{
	struct cam_pin p = {0};
	struct cam_out out;
	struct cam_json j = {&out, false};
	size_t note_bytes = note ? strlen(note) : 0;
	if (note_bytes >= sizeof(p.note))
		return cam_usage("--note has at most %zu bytes", sizeof(p.note) - 1);
	if (note)
		memcpy(p.note, note, note_bytes);
	int status = cam_asking_open(a);
	if (!status)
		status = cam_range_resolve(range, a->io, &p.from_ns, &p.to_ns);
	if (!status)
		status = cam_pinning_change(a, CAM_CONTROL_PIN, &p);
	if (status)
		return status;
	cam_out_to_fd(&out, 1);
	cam_pinning_show(&out, json ? &j : NULL, &p);
	if (json)
		cam_out_str(&out, "\n");
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_cmd_pin(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	struct cam_range_options range = {0};
	const char *note = NULL;
	bool json = false, done;
	const struct cam_option options[] = {
		CAM_RANGE_OPTIONS(range),
		{"note", 0, CAM_OPTION_TEXT, &note, "TEXT", "why; shown with the pin"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest, status;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("pin takes one argument; '%s' is one too many", argv[1]);
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &range, NULL);
	if (status)
		return status;
	bool list = cam_range_is_empty(&range);
	if (list && note)
		return cam_usage("--note needs something to pin");
	struct cam_asking *a = cam_asking_new(&given, &status);
	if (!a)
		return status;
	status = list ? list_pins(a, json) : pin(a, &range, note, json);
	cam_asking_free(a);
	return status;
}
