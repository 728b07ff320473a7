// SPDX-License-Identifier: Apache-2.0
/*
 * What Prometheus' Alertmanager posts to a webhook (its payload of version 4): each alert is an event, at the time
 * it began to fire, and another one at the time it was resolved.
 *
 *	{"version": "4", "status": "firing", "alerts": [
 *	  {"status": "firing", "labels": {"alertname": "HighLatency", "instance": "db1", "severity": "critical"},
 *	   "annotations": {"summary": "p99 is 3 s"}, "startsAt": "2026-04-15T03:14:07.254Z", "endsAt": "0001-01-01T00:00:00Z"}, …]}
 *
 * becomes "firing: HighLatency instance=db1: p99 is 3 s". It sends all alerts of a group again whenever one of them
 * changes, and every few hours: the recorder knows what it has.
 */
#include "base/json_value.h"
#include "query/time.h"
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALERTS	    256u
#define LABEL_BYTES 128u
#define TEXT_BYTES  900u
#define WORD_BYTES  (64u << 10)

struct told {
	unsigned kept, known, refused;
	int error; /* the last refusal */
	char words[256];
};

/* A text inside an object of this name; "" where there is none. */
static void take(struct cam_json_value alert, const char *object, const char *key, char *room,
		 size_t bytes)
{
	struct cam_json_value inside = alert, value;
	room[0] = '\0';
	if (object && !cam_json_value_get(alert, object, &inside))
		return;
	if (!cam_json_value_get(inside, key, &value) || !cam_json_value_string(value, room, bytes))
		room[0] = '\0';
}

static enum cam_severity severity_of(struct cam_json_value alert, bool firing)
{
	static const struct {
		const char *word;
		enum cam_severity severity;
	} known[] = {{"critical", CAM_SEVERITY_CRIT},	{"page", CAM_SEVERITY_CRIT},
		     {"error", CAM_SEVERITY_ERR},	{"high", CAM_SEVERITY_ERR},
		     {"warning", CAM_SEVERITY_WARNING}, {"info", CAM_SEVERITY_INFO},
		     {"none", CAM_SEVERITY_INFO}};
	char word[LABEL_BYTES];
	if (!firing)
		return CAM_SEVERITY_NOTICE;
	take(alert, "labels", "severity", word, sizeof(word));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(word, known[i].word))
			return known[i].severity;
	}
	return CAM_SEVERITY_WARNING;
}

static void describe(struct cam_json_value alert, bool firing, char text[TEXT_BYTES])
{
	static const char *const labels[] = {"instance", "job",	 "namespace", "pod",
					     "service",	 "node", "device"};
	static const char *const notes[] = {"summary", "message", "description"};
	char value[LABEL_BYTES], note[TEXT_BYTES];
	struct cam_buf b = CAM_BUF(8 * TEXT_BYTES);
	take(alert, "labels", "alertname", value, sizeof(value));
	cam_buf_printf(&b, "%s: %s", firing ? "firing" : "resolved",
		       value[0] ? value : "an alert without a name");
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		take(alert, "labels", labels[i], value, sizeof(value));
		if (value[0])
			cam_buf_printf(&b, " %s=%s", labels[i], value);
	}
	note[0] = '\0';
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]) && !note[0]; i++)
		take(alert, "annotations", notes[i], note, sizeof(note));
	if (note[0])
		cam_buf_printf(&b, ": %s", note);
	snprintf(text, TEXT_BYTES, "%.*s", (int)b.len, b.data ? (const char *)b.data : "");
	cam_buf_free(&b);
}

static void hand_on(const struct cam_server_doors *doors, const struct cam_server_change *c,
		    struct told *t)
{
	struct cam_buf words = CAM_BUF(WORD_BYTES);
	int err = doors->change ? doors->change(doors->self, c, &words) : -ENOTCONN;
	t->kept += err == 0;
	t->known += err == -EEXIST;
	if (err && err != -EEXIST) {
		t->refused++;
		t->error = err;
		snprintf(t->words, sizeof(t->words), "%.*s",
			 words.len ? (int)words.len : (int)strlen(strerror(-err)),
			 words.len ? (const char *)words.data : strerror(-err));
	}
	cam_buf_free(&words);
}

/* false: it is none. */
static bool tell_alert(const struct cam_server_doors *doors, struct cam_json_value alert,
		       const struct cam_time_world *world, struct told *t)
{
	char status[16], when[64], text[TEXT_BYTES], why[256];
	struct cam_server_change c = {.what = CAM_SERVER_ALERT};
	take(alert, NULL, "status", status, sizeof(status));
	bool firing = !strcmp(status, "firing");
	if (!firing && strcmp(status, "resolved") != 0)
		return false;
	take(alert, NULL, firing ? "startsAt" : "endsAt", when, sizeof(when));
	if (cam_time_parse(cam_text_of(when), world, &c.from_ns, why, sizeof(why)))
		return false;
	describe(alert, firing, text);
	c.to_ns = severity_of(alert, firing);
	c.text = cam_text_of(text);
	hand_on(doors, &c, t);
	return true;
}

static void answer(const struct told *t, size_t n, struct cam_answer *a)
{
	struct cam_out out;
	char text[512];
	/* Told again later, whatever was taken now will be known then. */
	if (t->refused) {
		unsigned status = t->error == -ENOTCONN ? 503 : t->error == -EAGAIN ? 429 : 409;
		snprintf(text, sizeof(text), "%u of %u alerts were not kept: %s", t->refused,
			 t->refused + t->kept + t->known,
			 status == 503 ? "no recorder runs on this store" : t->words);
		cam_answer_error(a, status, text);
		return;
	}
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_u64(&j, "kept", t->kept);
	cam_json_u64(&j, "known", t->known);
	cam_json_u64(&j, "left_out", n > ALERTS ? n - ALERTS : 0);
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_asked_failed(a, -ENOMEM);
}

void cam_answer_alerts(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a)
{
	struct cam_json_value v, alerts, alert;
	struct told told = {0};
	char version[8];
	if (!cam_asked_object(q, a, &v))
		return;
	take(v, NULL, "version", version, sizeof(version));
	if (strcmp(version, "4") != 0 || !cam_json_value_get(v, "alerts", &alerts)) {
		cam_answer_error(a, 400, "not a payload of Alertmanager: version 4 with alerts");
		return;
	}
	const struct cam_time_world world = doors->world(doors->self).time;
	for (size_t i = 0; i < ALERTS && cam_json_value_at(alerts, i, &alert); i++) {
		if (!tell_alert(doors, alert, &world, &told)) {
			cam_answer_error(a, 400,
					 "alerts: each has a status, firing or resolved, and "
					 "that one's time, startsAt or endsAt");
			return;
		}
		/* Nobody is there to hear of the others. */
		if (told.error == -ENOTCONN)
			break;
	}
	answer(&told, cam_json_value_count(alerts), a);
}
