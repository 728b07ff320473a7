// SPDX-License-Identifier: Apache-2.0
#include "cli/pinning.h"

#include "cli/place.h"
#include "cli/say.h"

#include <errno.h>

static int pin_store(struct cam_asking *a, const struct cam_pin *p)
{
	uint64_t pinned, most = a->settings.max_pinned_bytes;
	int err = cam_store_pinned_bytes(a->io, &pinned);
	if (!err && most && pinned >= most)
		return cam_failed("store %s: the pins' budget (max-pinned %s) is used up; unpin "
				  "something",
				  a->settings.store,
				  cam_settings_text(&a->settings, CAM_SET_MAX_PINNED));
	if (!err)
		err = cam_store_pin(a->store, p);
	if (!err && most && !cam_store_pinned_bytes(a->io, &pinned) && pinned > most)
		cam_note(CAM_PIN_PARTLY, cam_settings_text(&a->settings, CAM_SET_MAX_PINNED));
	return err ? cam_failed("store %s: %s", a->settings.store, cam_errno_words(err))
		   : CAM_EXIT_OK;
}

int cam_pinning_change(struct cam_asking *a, enum cam_control_verb verb, const struct cam_pin *p)
{
	struct cam_control_request r = {
		.from_ns = p->from_ns,
		.to_ns = p->to_ns,
		.text = cam_text_of(p->note),
	};
	/* Whoever has the lock already knows that nobody else does. */
	int status = a->store ? CAM_EXIT_FAILED : cam_asking_ask(a, verb, &r);
	if (!a->store && !a->nobody) {
		/* What the recorder has to say of one that it has taken. */
		if (!status && a->reply.data[0])
			cam_note("%s", (const char *)a->reply.data);
		return status;
	}
	status = cam_asking_lock(a);
	if (status)
		return status;
	if (verb == CAM_CONTROL_PIN)
		return pin_store(a, p);
	int err = cam_store_unpin(a->store, p->from_ns, p->to_ns);
	return err ? cam_failed("store %s: %s", a->settings.store, cam_errno_words(err))
		   : CAM_EXIT_OK;
}

void cam_pinning_show(struct cam_out *out, struct cam_json *json, const struct cam_pin *p)
{
	char from[40], to[40];
	if (json) {
		cam_json_open(json, NULL, '{');
		cam_json_i64(json, "from_realtime_ns", p->from_ns);
		cam_json_i64(json, "to_realtime_ns", p->to_ns);
		cam_json_text(json, "note", cam_text_of(p->note));
		cam_json_close(json, '}');
		return;
	}
	cam_show_realtime(p->from_ns, from, sizeof(from));
	cam_show_realtime(p->to_ns, to, sizeof(to));
	cam_out_printf(out, "%s to %s%s", from, to, p->note[0] ? " " : "");
	cam_out_printable(out, cam_text_of(p->note));
	cam_out_str(out, "\n");
}
