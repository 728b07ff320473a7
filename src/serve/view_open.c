// SPDX-License-Identifier: Apache-2.0
/* A file that somebody sends, to look at it: it becomes a source. */
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 255u
#define WORD_BYTES 8192u

static bool is_octets(const char *type)
{
	struct cam_text t = cam_text_of(type ? type : "");
	struct cam_text octets = CAM_TEXT("application/octet-stream");
	return cam_text_starts(t, octets) &&
	       (t.n == octets.n || t.p[octets.n] == ';' || t.p[octets.n] == ' ');
}

/* "1776222847", also with a fraction; false: it is something else. */
static bool read_seconds(const char *text, int64_t *s)
{
	size_t digits = strspn(text, "0123456789");
	if (!digits || digits > 11 || (text[digits] && text[digits] != '.') ||
	    (text[digits] && text[digits + 1 + strspn(text + digits + 1, "0123456789")]))
		return false;
	*s = strtoll(text, NULL, 10);
	return true;
}

static unsigned check(const struct cam_request *q, struct cam_server_sent *f, char *why,
		      size_t why_bytes)
{
	for (size_t i = 0; i < q->n_params; i++) {
		const struct cam_param *p = &q->params[i];
		if (!strcmp(p->key, "name")) {
			f->name = p->value;
		} else if (!strcmp(p->key, "modified")) {
			if (!read_seconds(p->value, &f->modified_s)) {
				snprintf(why, why_bytes, "modified: seconds since 1970");
				return 400;
			}
		} else if (strcmp(p->key, "token") != 0) {
			snprintf(why, why_bytes, "%.60s: no such parameter", p->key);
			return 400;
		}
	}
	if (strlen(f->name) > NAME_BYTES) {
		snprintf(why, why_bytes, "name: at most %u bytes", NAME_BYTES);
		return 400;
	}
	return 0;
}

unsigned cam_open_begin(const struct cam_request *q, const char *length, char *why,
			size_t why_bytes)
{
	const struct cam_server_house *h = q->house;
	struct cam_server_limits l = h->limits(h->self);
	struct cam_server_sent f = {.name = ""};
	char *end;
	unsigned status = check(q, &f, why, why_bytes);
	if (status)
		return status;
	if (!l.bytes) {
		snprintf(why, why_bytes, "%s", l.why);
		return 503;
	}
	if (!is_octets(q->type)) {
		snprintf(why, why_bytes, "Content-Type must be application/octet-stream");
		return 415;
	}
	errno = 0;
	f.bytes = length ? strtoull(length, &end, 10) : 0;
	if (!length || *end || !*length || *length == '-') {
		snprintf(why, why_bytes, "Content-Length must say how large the file is");
		return 411;
	}
	if (errno || f.bytes > l.bytes) {
		snprintf(why, why_bytes,
			 "too large: a file may have %llu MiB; `perfcam serve FILE` reads larger "
			 "ones",
			 (unsigned long long)(l.bytes >> 20));
		return 413;
	}
	int err = h->open_begin(h->self, &f);
	snprintf(why, why_bytes, "%s",
		 err == -EBUSY ? "another file is being opened; come again"
			       : "who opens files has ended; start perfcam again");
	return err ? 503 : 0;
}

static void failed(struct cam_answer *a, int err, const struct cam_buf *words)
{
	char text[1200];
	size_t n = words->len;
	while (n && words->data[n - 1] == '\n')
		n--;
	n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
	switch (err) {
	case -EBADMSG:
		for (size_t i = 0; i < n; i++)
			text[i] = words->data[i] == '\n' ? ' ' : (char)words->data[i];
		text[n] = '\0';
		cam_answer_error(a, 422, n ? text : "it cannot be read");
		break;
	case -ETIMEDOUT:
		cam_answer_error(a, 422,
				 "reading it takes too long; `perfcam serve FILE` takes all the "
				 "time it needs");
		break;
	case -EFBIG:
		cam_answer_error(a, 422,
				 "what is in it is too large for here; `perfcam serve FILE` has no "
				 "such limit");
		break;
	case -ENOEXEC:
		cam_answer_error(a, 422, "who read it broke down over it; it is not opened");
		break;
	case -ENOSPC:
		cam_answer_error(a, 503, "there is no room left for files that are opened");
		break;
	default:
		snprintf(text, sizeof(text), "it could not be opened: %s", strerror(-err));
		cam_answer_error(a, 503, text);
	}
}

static void put_notes(struct cam_json *j, const struct cam_buf *words)
{
	const char *at = (const char *)words->data;
	size_t left = words->len;
	cam_json_open(j, "notes", '[');
	while (left) {
		const char *end = memchr(at, '\n', left);
		size_t n = end ? (size_t)(end - at) : left;
		cam_json_text(j, NULL, (struct cam_text){at, n});
		n += end != NULL;
		at += n;
		left -= n;
	}
	cam_json_close(j, ']');
}

void cam_open_end(const struct cam_server_house *h, int err, struct cam_answer *a)
{
	struct cam_buf words = CAM_BUF(WORD_BYTES);
	struct cam_server_doors doors;
	struct cam_out out;
	if (!err)
		err = h->open_end(h->self, &doors, &words);
	if (err) {
		failed(a, err, &words);
		cam_buf_free(&words);
		return;
	}
	cam_out_to_buf(&out, &a->body);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_answer_put_source(&j, &doors);
	put_notes(&j, &words);
	cam_json_close(&j, '}');
	h->leave(h->self, &doors);
	cam_buf_free(&words);
	a->status = 200;
	if (cam_out_finish(&out))
		cam_asked_failed(a, -ENOMEM);
}
