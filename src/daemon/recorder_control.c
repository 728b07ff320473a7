// SPDX-License-Identifier: Apache-2.0
/* What others ask of the running recorder: marks, pins, a snapshot, a reload. */
#include "daemon/control_wire.h"
#include "daemon/log.h"
#include "daemon/moment.h"
#include "daemon/recorder_parts.h"
#include "daemon/recorder_status.h"
#include "events/redact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_BYTES (10 * CAM_CONTROL_TEXT_MAX) /* a text whose every word is a secret */

static int no_store(struct cam_recorder *r, struct cam_buf *reply)
{
	struct cam_keeper_stats s = cam_keeper_stats(r->keeper);
	cam_buf_printf(reply, "the store cannot be written now");
	return s.error ? s.error : -EROFS;
}

/* What rules say of it holds, whenever it was. */
static int keep_mark(struct cam_recorder *r, const struct cam_control_request *q,
		     struct cam_text text, struct cam_buf *reply)
{
	struct cam_happening h = {
		.time_ns = cam_clock_now(r->clock),
		.severity = CAM_SEVERITY_NOTICE,
		.source = CAM_TEXT("mark"),
		.text = text,
	};
	if (q->from_ns == CAM_CONTROL_NOW)
		return cam_recorder_happened(r, &h);
	if (!cam_keeper_store(r->keeper))
		return no_store(r, reply);
	/* A mark in the past goes to the annex: its window may be sealed already. */
	return cam_recorder_happened_then(r, q->from_ns, &h, reply);
}

static int take_text(struct cam_recorder *r, const struct cam_control_request *q,
		     int (*keep)(struct cam_recorder *, const struct cam_control_request *,
				 struct cam_text, struct cam_buf *),
		     struct cam_buf *reply)
{
	struct cam_buf kept = CAM_BUF(MARK_BYTES);
	cam_redact(q->text, &kept);
	int err = cam_buf_error(&kept);
	if (!err)
		err = keep(r, q, (struct cam_text){(const char *)kept.data, kept.len}, reply);
	cam_buf_free(&kept);
	return err;
}

static int take_mark(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	return cam_recorder_may_tell(self, reply) ? take_text(self, q, keep_mark, reply) : -EAGAIN;
}

static int take_alert(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	return take_text(self, q, cam_recorder_alert, reply);
}

static int take_pin(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	struct cam_recorder *r = self;
	struct cam_store *s = cam_keeper_store(r->keeper);
	struct cam_pin pin = {.from_ns = q->from_ns, .to_ns = q->to_ns};
	uint64_t pinned;
	if (!s)
		return no_store(r, reply);
	int err = cam_store_pinned_bytes(cam_keeper_io(r->keeper), &pinned);
	if (!err && r->settings->max_pinned_bytes && pinned >= r->settings->max_pinned_bytes) {
		cam_buf_printf(reply, "the pins' budget (max-pinned) is used up: unpin something");
		return -EDQUOT;
	}
	snprintf(pin.note, sizeof(pin.note), "%.*s", (int)q->text.n, q->text.p);
	if (!err)
		err = cam_store_pin(s, &pin);
	if (!err && !cam_store_pinned_bytes(cam_keeper_io(r->keeper), &pinned) &&
	    r->settings->max_pinned_bytes && pinned > r->settings->max_pinned_bytes)
		cam_buf_printf(reply, CAM_PIN_PARTLY,
			       cam_settings_text(r->settings, CAM_SET_MAX_PINNED));
	return err;
}

static int take_unpin(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	struct cam_recorder *r = self;
	struct cam_store *s = cam_keeper_store(r->keeper);
	return s ? cam_store_unpin(s, q->from_ns, q->to_ns) : no_store(r, reply);
}

void cam_recorder_server_asks(struct cam_recorder *r, struct cam_text packet, struct cam_buf *reply)
{
	struct cam_control_request q = {0};
	enum cam_control_verb verb;
	struct cam_buf words = CAM_BUF(CAM_CONTROL_REPLY_MAX);
	int err = cam_control_get_request(packet, &verb, &q);
	if (!err)
		err = verb == CAM_CONTROL_MARK	  ? take_mark(r, &q, &words)
		      : verb == CAM_CONTROL_ALERT ? take_alert(r, &q, &words)
		      : verb == CAM_CONTROL_PIN	  ? take_pin(r, &q, &words)
		      : verb == CAM_CONTROL_UNPIN ? take_unpin(r, &q, &words)
						  : -EOPNOTSUPP;
	cam_control_put_reply(reply, err, (struct cam_text){(const char *)words.data, words.len});
	cam_buf_free(&words);
}

/* Somebody has staged better names for a window. */
static int take_replace(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	struct cam_recorder *r = self;
	struct cam_store *s = cam_keeper_store(r->keeper);
	char names[2 * CAM_NAME_BYTES];
	if (!s)
		return no_store(r, reply);
	if (q->text.n >= sizeof(names) || memchr(q->text.p, 0, q->text.n))
		return -EINVAL;
	memcpy(names, q->text.p, q->text.n);
	names[q->text.n] = 0;
	char *space = strchr(names, ' ');
	/* Names of files only: nothing outside the store. */
	if (!space || strchr(names, '/') || names[0] == '.' || space[1] == '.')
		return -EINVAL;
	*space = 0;
	return cam_store_adopt(s, names, space + 1);
}

void cam_recorder_snapshot(struct cam_recorder *r)
{
	r->snapshot_due = true;
	cam_recorder_snapshot_poll(r);
}

/* 0: cut; -EAGAIN: a little later. */
static int cut(struct cam_recorder *r)
{
	/* Only what cannot be joined by older records any more is cut off: nothing is lost. */
	if (!cam_live_may_cut(r->live, r->released_ns))
		return -EAGAIN;
	r->snapshot_due = false;
	int err = cam_live_cut(r->live, r->released_ns);
	if (err)
		cam_recorder_mishap(r, "cannot cut the window: %s", strerror(-err));
	return err;
}

static int take_snapshot(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	struct cam_recorder *r = self;
	if (r->snapshot_asked || r->snapshot_waiting) {
		cam_buf_printf(reply, "another snapshot is being sealed");
		return -EBUSY;
	}
	if (!cam_keeper_store(r->keeper))
		return no_store(r, reply);
	r->snapshot_ticket = q->ticket;
	r->snapshot_asked = true;
	r->snapshot_due = true;
	return CAM_CONTROL_LATER;
}

/* Cuts for those who wait; what was cut is watched until it is sealed. Answers an error at once. */
static int begin_snapshot(struct cam_recorder *r)
{
	uint64_t ended = cam_keeper_stats(r->keeper).ended;
	int err = cut(r);
	if (err || !r->snapshot_asked)
		return err;
	if (cam_keeper_stats(r->keeper).ended == ended)
		return -ENODATA;
	cam_keeper_watch(r->keeper);
	r->snapshot_asked = false;
	r->snapshot_waiting = true;
	return 0;
}

void cam_recorder_snapshot_poll(struct cam_recorder *r)
{
	const char *name = "";
	char words[256];
	int err = r->snapshot_due ? begin_snapshot(r) : 0;
	bool refused = err && err != -EAGAIN && r->snapshot_asked;
	if (!refused && !r->snapshot_waiting)
		return;
	if (!refused)
		err = cam_keeper_watched(r->keeper, &name);
	if (err == -EINPROGRESS)
		return;
	r->snapshot_waiting = r->snapshot_asked = false;
	if (!err && !name[0])
		err = -ENODATA;
	if (err == -ENODATA)
		snprintf(words, sizeof(words),
			 "nothing was recorded since the last window was closed");
	else if (err && !refused)
		snprintf(words, sizeof(words), "the window was closed, but not sealed: %s",
			 strerror(-err));
	else if (err)
		snprintf(words, sizeof(words), "cannot cut the window: %s", strerror(-err));
	cam_control_answer(r->control, r->snapshot_ticket, err, cam_text_of(err ? words : name));
}

static int take_status(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	(void)q;
	cam_recorder_status(self, reply);
	return 0;
}

static void apply(struct cam_recorder *r, uint64_t applied)
{
	cam_keeper_limits(r->keeper, r->settings);
	int err = cam_recorder_load_rules(r);
	if (err)
		cam_recorder_mishap(r, "the rules stay as they were: %s", strerror(-err));
	if (applied & (1ull << CAM_SET_MAX_CPU))
		cam_recorder_budget(r);
}

int cam_recorder_reload(struct cam_recorder *r, struct cam_buf *reply)
{
	struct cam_settings *fresh = r->request->given ? malloc(sizeof(*fresh)) : NULL;
	char why[CAM_SETTINGS_WHY_BYTES] = "nothing to read it from", names[512];
	cam_notify_reloading(&r->notify);
	int err = fresh ? cam_settings_load(r->request->given, fresh, why) : -ENOENT;
	if (err) {
		cam_log("not reloaded: %s", why);
		if (reply)
			cam_buf_printf(reply, "not reloaded: %s", why);
	} else {
		uint64_t applied, held;
		bool rules = r->settings->n_rules != fresh->n_rules ||
			     memcmp(r->settings->rules, fresh->rules, sizeof(fresh->rules)) != 0;
		cam_settings_apply(r->settings, fresh, &applied, &held);
		apply(r, applied);
		cam_settings_names(applied, names, sizeof(names));
		const char *also = !rules ? "" : applied ? ", rules" : "rules";
		if (!applied && !rules)
			snprintf(names, sizeof(names), "nothing");
		cam_log("reloaded; changed: %s%s", names, also);
		if (reply)
			cam_buf_printf(reply, "changed: %s%s", names, also);
		cam_settings_names(held, names, sizeof(names));
		if (held)
			cam_log("a restart is needed for: %s", names);
		if (held && reply)
			cam_buf_printf(reply, "; a restart is needed for: %s", names);
	}
	free(fresh);
	cam_notify_ready(&r->notify, r->why_source);
	return err;
}

static int take_reload(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	(void)q;
	return cam_recorder_reload(self, reply);
}

void cam_recorder_open_control(struct cam_recorder *r)
{
	static const struct cam_control_ops ops = {
		.mark = take_mark,
		.alert = take_alert,
		.pin = take_pin,
		.unpin = take_unpin,
		.snapshot = take_snapshot,
		.status = take_status,
		.reload = take_reload,
		.replace = take_replace,
	};
	int err = cam_control_open(r->settings->store, r->settings->control, &ops, r, &r->control,
				   r->control_path, sizeof(r->control_path));
	if (!err)
		return;
	/* Recording is worth more than being spoken to. */
	cam_recorder_mishap(r, "%s: %s: status, marks and pins will not reach this recorder",
			    r->control_path, strerror(-err));
	r->control = NULL;
}
