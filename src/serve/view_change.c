// SPDX-License-Identifier: Apache-2.0
/*
 * What the recorder is asked to change: a mark, a pin. JSON in the body, and its type must say so: a form on
 * another site cannot send that without asking first.
 */
#include "base/json_value.h"
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 4097 /* control.h's most, and the NUL */
#define TIME_BYTES 300
#define NOTE_BYTES 65 /* store.h's most, and the NUL */
#define WORD_BYTES (64u << 10)

/* A member that is a text, "" where it is not there. false: answered. */
static bool take_text(struct cam_json_value v, const char *key, char *room, size_t bytes,
		      struct cam_answer *a)
{
	struct cam_json_value member;
	char text[64];
	room[0] = '\0';
	if (!cam_json_value_get(v, key, &member))
		return true;
	/* Cut texts fill their room. */
	if (cam_json_value_string(member, room, bytes) && strlen(room) + 1 < bytes)
		return true;
	snprintf(text, sizeof(text), "%s: not a text of at most %zu bytes", key, bytes - 2);
	cam_answer_error(a, 400, text);
	return false;
}

bool cam_asked_object(const struct cam_request *q, struct cam_answer *a, struct cam_json_value *v)
{
	static const char *const none[] = {NULL};
	struct cam_text type = cam_text_of(q->type ? q->type : "");
	if (!cam_request_only(q, none, a))
		return false;
	if (!cam_text_starts(type, CAM_TEXT("application/json")) ||
	    (type.n > 16 && type.p[16] != ';' && type.p[16] != ' ')) {
		cam_answer_error(a, 415, "Content-Type must be application/json");
		return false;
	}
	if (cam_json_value_parse(q->body, v) || !v->text.n || v->text.p[0] != '{') {
		cam_answer_error(a, 400, "the body must be a JSON object");
		return false;
	}
	return true;
}

/* A time as written, by the grammar of all times. false: answered. */
static bool read_time(const struct cam_server_doors *doors, const char *key, const char *value,
		      struct cam_answer *a, int64_t *ns)
{
	struct cam_source *source;
	const struct cam_request q = {.params = {{key, value}}, .n_params = value[0] != '\0'};
	if (cam_asked_windows(doors, a, &source))
		return false;
	bool known = cam_asked_moment(doors, source, &q, key, a, ns);
	doors->release(doors->self, source);
	return known;
}

static void refused(struct cam_answer *a, int err, const struct cam_buf *words)
{
	char text[512];
	unsigned status = err == -ENOENT		     ? 404
			  : err == -EINVAL || err == -ERANGE ? 400
			  : err == -EAGAIN		     ? 429
							     : 409;
	if (err == -ENOTCONN) {
		cam_answer_error(a, 503, "no recorder runs on this store: nobody can keep that");
		return;
	}
	snprintf(text, sizeof(text), "the recorder refuses: %.*s",
		 words->len ? (int)words->len : (int)strlen(strerror(-err)),
		 words->len ? (const char *)words->data : strerror(-err));
	cam_answer_error(a, status, text);
}

static void change(const struct cam_server_doors *doors, const struct cam_server_change *c,
		   struct cam_answer *a)
{
	struct cam_buf words = CAM_BUF(WORD_BYTES);
	struct cam_out out;
	int err = doors->change ? doors->change(doors->self, c, &words) : -ENOTCONN;
	if (err) {
		refused(a, err, &words);
		cam_buf_free(&words);
		return;
	}
	cam_buf_free(&words);
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_answer_seconds(&j, c->what == CAM_SERVER_MARK ? "time" : "from", c->from_ns);
	if (c->what != CAM_SERVER_MARK)
		cam_answer_seconds(&j, "to", c->to_ns);
	cam_json_close(&j, '}');
	a->status = 200;
	if (cam_out_finish(&out))
		cam_asked_failed(a, -ENOMEM);
}

void cam_answer_mark(const struct cam_server_doors *doors, const struct cam_request *q,
		     struct cam_answer *a)
{
	struct cam_json_value v;
	char text[TEXT_BYTES + 1], at[TIME_BYTES];
	struct cam_server_change c = {.what = CAM_SERVER_MARK, .from_ns = INT64_MIN};
	if (!cam_asked_object(q, a, &v) || !take_text(v, "text", text, sizeof(text), a) ||
	    !take_text(v, "at", at, sizeof(at), a))
		return;
	if (!text[0]) {
		cam_answer_error(a, 400, "text: what is to be remembered is missing");
		return;
	}
	/* "Now" is the recorder's to know: it has the samples' clock. */
	if (at[0] && !read_time(doors, "at", at, a, &c.from_ns))
		return;
	c.text = cam_text_of(text);
	change(doors, &c, a);
}

static void pin_or_unpin(const struct cam_server_doors *doors, const struct cam_request *q,
			 bool pin, struct cam_answer *a)
{
	struct cam_json_value v;
	char from[TIME_BYTES], to[TIME_BYTES], note[NOTE_BYTES];
	struct cam_server_change c = {.what = pin ? CAM_SERVER_PIN : CAM_SERVER_UNPIN};
	if (!cam_asked_object(q, a, &v) || !take_text(v, "from", from, sizeof(from), a) ||
	    !take_text(v, "to", to, sizeof(to), a) || !take_text(v, "note", note, sizeof(note), a))
		return;
	if (!read_time(doors, "from", from, a, &c.from_ns) ||
	    !read_time(doors, "to", to, a, &c.to_ns))
		return;
	if (c.from_ns >= c.to_ns) {
		cam_answer_error(a, 400, "to: it is not behind from");
		return;
	}
	c.text = cam_text_of(note);
	change(doors, &c, a);
}

void cam_answer_pin(const struct cam_server_doors *doors, const struct cam_request *q,
		    struct cam_answer *a)
{
	pin_or_unpin(doors, q, true, a);
}

void cam_answer_unpin(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a)
{
	pin_or_unpin(doors, q, false, a);
}
