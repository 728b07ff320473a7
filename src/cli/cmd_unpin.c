// SPDX-License-Identifier: Apache-2.0
#include "cli/picking.h"
#include "cli/pinning.h"
#include "cli/range.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_PINS 65536u

struct matching {
	int64_t from_ns, to_ns;
	struct cam_pin *pins;
	size_t n, room;
};

static int keep_matching(void *arg, const struct cam_pin *p)
{
	struct matching *m = arg;
	if (p->from_ns >= m->to_ns || p->to_ns <= m->from_ns)
		return 0;
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct cam_pin *more =
			room > MAX_PINS ? NULL : realloc(m->pins, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->pins = more;
		m->room = room;
	}
	m->pins[m->n++] = *p;
	return 0;
}

static int release(struct cam_asking *a, const struct matching *m, bool json)
{
	struct cam_out out;
	struct cam_json j = {&out, false};
	int status = CAM_EXIT_OK;
	cam_out_to_fd(&out, 1);
	if (json)
		cam_json_open(&j, NULL, '[');
	for (size_t i = 0; i < m->n && !status; i++) {
		status = cam_pinning_change(a, CAM_CONTROL_UNPIN, &m->pins[i]);
		if (!status)
			cam_pinning_show(&out, json ? &j : NULL, &m->pins[i]);
	}
	if (json) {
		cam_json_close(&j, ']');
		cam_out_str(&out, "\n");
	}
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : status;
}

static int unpin(struct cam_asking *a, const struct cam_range_options *range, bool json)
{
	struct matching m = {0};
	int status = cam_asking_open(a);
	if (!status)
		status = cam_range_resolve(range, a->io, &m.from_ns, &m.to_ns);
	if (status)
		return status;
	int err = cam_store_pins(a->io, keep_matching, &m);
	if (err && err != -EBADMSG)
		status = cam_failed("store %s: pins: %s", a->settings.store, cam_errno_words(err));
	else if (!m.n)
		status = cam_failed("store %s: no pin touches that time; perfcam pin lists them",
				    a->settings.store);
	else
		status = release(a, &m, json);
	free(m.pins);
	return status;
}

int cam_cmd_unpin(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	struct cam_range_options range = {0};
	bool json = false, done;
	const struct cam_option options[] = {
		CAM_RANGE_OPTIONS(range),
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "say what was released as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest, status;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("unpin takes one argument; '%s' is one too many", argv[1]);
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &range, NULL);
	if (status)
		return status;
	if (cam_range_is_empty(&range))
		return cam_usage(
			"unpin what? every pin that touches it is released: --at 03:14:07, "
			"--last 10m, a window's name");
	struct cam_asking *a = cam_asking_new(&given, &status);
	if (!a)
		return status;
	status = unpin(a, &range, json);
	cam_asking_free(a);
	return status;
}
