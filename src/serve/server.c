// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd, a thread a connection; guards (guard.h) come before any route. At most RUNNING questions
 * are worked on at a time and WAITING wait for their turn, WAIT_MS at most: the rest is told to come again.
 * Every answer, errors too, carries the same headers: no sniffing, no framing, no script but ours.
 */
#include "serve/server.h"

#include "serve/assets.h"
#include "serve/guard.h"
#include "serve/minder.h"
#include "serve/news.h"
#include "serve/routes.h"
#include "serve/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_PER_ADDRESS	 32u
#define CONNECTION_BYTES (16u << 10)
#define TIMEOUT_S	 10u
#define STACK_BYTES	 (2u << 20) /* regcomp() takes up to 256 KiB: base/expression.h */
#define STREAM_TIMEOUT_S 60u
/* All in all, however it trickles: a request, an answer, a file that is sent, an answer that is made while it is sent. */
#define REQUEST_S 15u
#define ANSWER_S  120u
#define FILE_S	  600u
/* A file that comes: so much of it at least in so many seconds, or its place is given to others. */
#define SLICE_BYTES (640u << 10)
#define SLICE_S	    10u
/* Of a file that is not taken so much is read: who is told so only then has an ear for it. */
#define UNREAD_BYTES (512ull << 20)
#define STREAM_S     720u
#define STREAM_BYTES (32u << 10)
#define RUNNING	     4u
#define LONG_RUNNING 2u /* of these: such as take long */
#define WAITING	     16u
#define WAIT_MS	     2000
#define NO_ROOM_MS   100
#define LINK_BYTES   4096u

struct cam_server {
	struct cam_server_house house;
	struct cam_guard guard;
	int fd;
	struct MHD_Daemon *daemon;
	struct cam_minder *minder;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned running, long_running, waiting; /* questions */
	struct cam_shared shared;
};

/* Of questions that take long there is always a place left for others. The lock is held. */
static bool is_free(const struct cam_server *s, bool is_long)
{
	return s->running < RUNNING && (!is_long || s->long_running < LONG_RUNNING);
}

/* false: too many wait, or it took too long. */
static bool take_turn(struct cam_server *s, bool is_long)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_MS / 1000;
	pthread_mutex_lock(&s->lock);
	bool may = is_free(s, is_long);
	if (!may && s->waiting < WAITING) {
		s->waiting++;
		while (!(may = is_free(s, is_long)) &&
		       !pthread_cond_timedwait(&s->turn, &s->lock, &until)) {
		}
		s->waiting--;
	}
	s->running += may;
	s->long_running += may && is_long;
	pthread_mutex_unlock(&s->lock);
	return may;
}

static void end_turn(struct cam_server *s, bool is_long)
{
	pthread_mutex_lock(&s->lock);
	s->running--;
	s->long_running -= is_long;
	pthread_cond_broadcast(&s->turn);
	pthread_mutex_unlock(&s->lock);
}

static ssize_t read_stream(void *arg, uint64_t at, char *room, size_t n)
{
	struct cam_stream *s = arg;
	(void)at;
	ssize_t got = s->read(s, room, n);
	return got > 0	  ? got
	       : got == 0 ? MHD_CONTENT_READER_END_OF_STREAM
			  : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_stream(void *arg)
{
	struct cam_stream *s = arg;
	s->close(s);
}

static struct cam_minded *minded(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i ? i->socket_context : NULL;
}

static void allow(struct cam_server *s, struct MHD_Connection *c, unsigned seconds)
{
	cam_minder_allow(s->minder, minded(c), seconds);
}

/* A connection begins, or has ended: its socket is open until this returns. */
static void notice(void *arg, struct MHD_Connection *c, void **context,
		   enum MHD_ConnectionNotificationCode what)
{
	struct cam_server *s = arg;
	const union MHD_ConnectionInfo *i;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		cam_minder_leave(s->minder, *context);
		*context = NULL;
		return;
	}
	i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	*context = i ? cam_minder_join(s->minder, i->connect_fd, REQUEST_S) : NULL;
}

/* All of them, or false: an answer that lacks one (each takes memory) would lack what protects the page. */
static bool put_headers(struct MHD_Response *r, const struct cam_answer *a, const char *(*extra)[2],
			size_t n_extra)
{
	static const char of_ours[] =
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
	/* It makes its styles as it goes, demangles by WebAssembly, and has a font of its own. */
	static const char of_speedscope[] =
		"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "
		"style-src 'self' 'unsafe-inline'; img-src 'self'; "
		"font-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; "
		"base-uri 'none'";
	static const char *const always[][2] = {
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
	};
	bool speedscope = a->asset && cam_route_is_speedscope(a->asset->path);
	bool all = MHD_add_response_header(r, "Cache-Control",
					   a->tag[0] ? "private, no-cache" : "no-store");
	all &= MHD_add_response_header(r, "Content-Security-Policy",
				       speedscope ? of_speedscope : of_ours);
	if (a->status != MHD_HTTP_NOT_MODIFIED)
		all &= MHD_add_response_header(r, "Content-Type",
					       a->asset ? a->asset->type : a->type);
	if (a->asset)
		all &= MHD_add_response_header(r, "Content-Encoding", "gzip");
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		all &= MHD_add_response_header(r, always[i][0], always[i][1]);
	for (size_t i = 0; i < n_extra; i++)
		all &= MHD_add_response_header(r, extra[i][0], extra[i][1]);
	if (a->status == MHD_HTTP_SERVICE_UNAVAILABLE && !a->in_vain)
		all &= MHD_add_response_header(r, "Retry-After", "2");
	return all;
}

static ssize_t read_nothing(void *arg, uint64_t at, char *room, size_t n)
{
	(void)arg;
	(void)at;
	(void)room;
	(void)n;
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* What becomes of an answer is not this request's to wait for: the body goes with it. */
static enum MHD_Result send_answer(struct MHD_Connection *c, struct cam_answer *a,
				   const char *(*extra)[2], size_t n_extra)
{
	struct MHD_Response *r =
		a->stream	? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES,
								    read_stream, a->stream, close_stream)
		: a->open_ended ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES,
								    read_nothing, NULL, NULL)
		: a->asset	? MHD_create_response_from_buffer(a->asset->n,
								  (void *)(uintptr_t)a->asset->bytes,
								  MHD_RESPMEM_PERSISTENT)
				: MHD_create_response_from_buffer(a->body.len, a->body.data,
								  MHD_RESPMEM_MUST_FREE);
	if (!r) {
		if (a->stream)
			a->stream->close(a->stream);
		cam_buf_free(&a->body);
		return MHD_NO;
	}
	enum MHD_Result queued =
		put_headers(r, a, extra, n_extra) ? MHD_queue_response(c, a->status, r) : MHD_NO;
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *words,
			      const char *allow)
{
	struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES)};
	const char *extra[1][2] = {{"Allow", allow}};
	cam_answer_error(&a, status, words);
	if (status == MHD_HTTP_UNAUTHORIZED)
		extra[0][0] = "WWW-Authenticate", extra[0][1] = "Bearer";
	return send_answer(c, &a, extra,
			   status == MHD_HTTP_UNAUTHORIZED ||
				   status == MHD_HTTP_METHOD_NOT_ALLOWED);
}

/* An address of the page, as it is made. */
struct address {
	char text[LINK_BYTES];
	size_t n;
	bool too_long;
};

/* As it may stand in an address, whatever it holds. */
static void put_word(struct address *a, char before, const char *word)
{
	static const char digits[] = "0123456789ABCDEF";
	if (a->n + 3 * strlen(word) + 2 > sizeof(a->text)) {
		a->too_long = true;
		return;
	}
	a->text[a->n++] = before;
	for (; *word; word++) {
		unsigned char c = (unsigned char)*word;
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
		if (plain) {
			a->text[a->n++] = (char)c;
			continue;
		}
		a->text[a->n++] = '%';
		a->text[a->n++] = digits[c >> 4];
		a->text[a->n++] = digits[c & 15];
	}
	a->text[a->n] = '\0';
}

static enum MHD_Result put_param(void *arg, enum MHD_ValueKind kind, const char *key,
				 const char *value)
{
	struct address *a = arg;
	(void)kind;
	if (strcmp(key, "token") != 0) {
		put_word(a, a->n > 1 ? '&' : '?', key);
		put_word(a, '=', value ? value : "");
	}
	return a->too_long ? MHD_NO : MHD_YES;
}

/* The token leaves the address bar, and what is bookmarked or sent to others; what else a link says stays. */
static enum MHD_Result enter(struct cam_server *s, struct MHD_Connection *c)
{
	struct address to = {.text = "/", .n = 1};
	char cookie[160];
	snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict%s",
		 s->guard.cookie, s->guard.token, s->guard.proxy[0] ? "; Secure" : "");
	struct cam_answer a = {.status = MHD_HTTP_SEE_OTHER, .type = "text/plain"};
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, put_param, &to);
	const char *extra[2][2] = {{"Location", to.too_long ? "/" : to.text},
				   {"Set-Cookie", cookie}};
	return send_answer(c, &a, extra, 2);
}

static enum MHD_Result take_param(void *arg, enum MHD_ValueKind kind, const char *key,
				  const char *value)
{
	struct cam_request *q = arg;
	(void)kind;
	if (q->n_params == CAM_PARAMS_MAX)
		return MHD_NO;
	q->params[q->n_params++] = (struct cam_param){key, value ? value : ""};
	return MHD_YES;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static enum MHD_Result turn_away(struct cam_server *s, struct MHD_Connection *c, const char *url,
				 unsigned status, const char *words)
{
	cam_tally_add(&s->shared.tally, cam_route_number(url), status, 0);
	return refuse(c, status, words, cam_route_posts(url) ? "POST" : "GET, HEAD");
}

static enum MHD_Result send_route(struct MHD_Connection *c, struct cam_answer *a)
{
	char file[sizeof(a->file) + 32];
	const char *extra[2][2];
	size_t n = 0;
	if (a->tag[0] && (a->status == MHD_HTTP_OK || a->status == MHD_HTTP_NOT_MODIFIED))
		extra[n][0] = MHD_HTTP_HEADER_ETAG, extra[n++][1] = a->tag;
	if (a->file[0]) {
		snprintf(file, sizeof(file), "attachment; filename=\"%s\"", a->file);
		extra[n][0] = "Content-Disposition", extra[n++][1] = file;
	}
	/* Whoever writes it may need longer for the next bytes than an idle connection is kept. */
	if (a->stream)
		MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, STREAM_TIMEOUT_S);
	return send_answer(c, a, extra, n);
}

static enum MHD_Result work(struct cam_server *s, struct MHD_Connection *c, const char *url,
			    const char *method, const struct cam_buf *body)
{
	struct cam_request q = {
		.path = url,
		.house = &s->house,
		.shared = &s->shared,
		.head = !strcmp(method, MHD_HTTP_METHOD_HEAD),
		.type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type"),
		.body = {body ? (const char *)body->data : "", body ? body->len : 0},
		.has_tag = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "If-None-Match"),
	};
	struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES), .type = "application/json"};
	bool apart = cam_route_is_apart(url) || cam_route_is_light(url),
	     is_long = cam_route_is_long(url);
	uint64_t begun = now_ns();
	if (MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL) > (int)CAM_PARAMS_MAX)
		return turn_away(s, c, url, MHD_HTTP_BAD_REQUEST, "too many parameters");
	if (body && cam_buf_error(body))
		return turn_away(s, c, url, MHD_HTTP_CONTENT_TOO_LARGE, "that is too long");
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_param, &q);
	if (!apart && !take_turn(s, is_long))
		return turn_away(s, c, url, MHD_HTTP_SERVICE_UNAVAILABLE,
				 "too many questions at a time");
	cam_route(&q, &a);
	if (!apart)
		end_turn(s, is_long);
	cam_tally_add(&s->shared.tally, cam_route_number(url), a.status, now_ns() - begun);
	return send_route(c, &a);
}

/*
 * A request on its way: what came of its body, or how it is going with the file that it brings. That one is not
 * kept here: it is handed on as it comes.
 */
struct incoming {
	struct cam_buf body;
	bool opening; /* a file, and it has begun */
	int error;    /* that it met with */
	uint64_t begun_ns;
	unsigned refused; /* the status with which it is not taken, and why */
	char why[256];
	/* Of a file: what has come of a slice, and how long it was waited for; since when for the next bytes. */
	size_t slice_bytes;
	uint64_t waited_ns, since_ns;
};

struct header_check {
	struct cam_guard_seen seen;
	bool disagree;
};

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name,
				   size_t name_bytes, const char *value, size_t value_bytes)
{
	struct header_check *check = arg;
	(void)kind;
	if (!cam_guard_headers_agree(&check->seen, name, name_bytes, value, value_bytes))
		check->disagree = true;
	return check->disagree ? MHD_NO : MHD_YES;
}

static bool headers_agree(struct MHD_Connection *c)
{
	struct header_check check = {0};
	MHD_get_connection_values_n(c, MHD_HEADER_KIND, take_header, &check);
	return !check.disagree;
}

/* Of a request without a body that is wanted. */
static const char no_body;

static void forget(void *arg, struct MHD_Connection *c, void **seen,
		   enum MHD_RequestTerminationCode why)
{
	struct cam_server *s = arg;
	struct incoming *in = *seen;
	(void)why;
	/* The next request, if there is one, may take its time to begin. */
	cam_minder_await(s->minder, minded(c), TIMEOUT_S + REQUEST_S);
	if (!in || *seen == &no_body)
		return;
	if (in->opening)
		s->house.open_abort(s->house.self);
	cam_buf_free(&in->body);
	free(in);
	*seen = NULL;
}

static enum cam_guard_verdict judge(struct cam_server *s, struct MHD_Connection *c, const char *url,
				    const char *method)
{
#define HEADER(name) MHD_lookup_connection_value(c, MHD_HEADER_KIND, name)
	const struct cam_guard_headers h = {
		.method = method,
		.path = url,
		.host = HEADER("Host"),
		.authorization = HEADER("Authorization"),
		.cookie = HEADER("Cookie"),
		.token = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token"),
		.sec_fetch_site = HEADER("Sec-Fetch-Site"),
		.sec_fetch_mode = HEADER("Sec-Fetch-Mode"),
		.origin = HEADER("Origin"),
		.posts = cam_route_posts(url),
		.changes = cam_route_changes(url),
	};
#undef HEADER
	return cam_guard_look(&s->guard, &h);
}

/* What a verdict that is no pass leads to. */
static enum MHD_Result keep_out(struct cam_server *s, struct MHD_Connection *c, const char *url,
				enum cam_guard_verdict verdict)
{
	switch (verdict) {
	case CAM_GUARD_ENTER:
		return enter(s, c);
	case CAM_GUARD_NOT_OURS:
		return turn_away(s, c, url, 421, "this server does not answer for that host");
	case CAM_GUARD_NO_TOKEN:
		return turn_away(s, c, url, MHD_HTTP_UNAUTHORIZED,
				 "a token is needed; the address that perfcam printed has it");
	case CAM_GUARD_FOREIGN:
		return turn_away(s, c, url, MHD_HTTP_FORBIDDEN, "another site may not ask");
	case CAM_GUARD_METHOD:
		return turn_away(s, c, url, MHD_HTTP_METHOD_NOT_ALLOWED,
				 cam_route_posts(url) ? "only POST" : "only GET and HEAD");
	default:
		return turn_away(s, c, url, MHD_HTTP_FORBIDDEN,
				 "changes need a token, or any user of this machine could make "
				 "them: --token FILE");
	}
}

/* Of a file that is about to be sent: 0, or the status with which it is not even read, and why. */
static unsigned begin_file(struct cam_server *s, struct MHD_Connection *c, struct incoming *in)
{
	struct cam_request q = {.path = "/api/open", .house = &s->house, .shared = &s->shared};
	const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
	q.type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
	if (MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL) > (int)CAM_PARAMS_MAX) {
		snprintf(in->why, sizeof(in->why), "too many parameters");
		return MHD_HTTP_BAD_REQUEST;
	}
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_param, &q);
	unsigned status = cam_open_begin(&q, length, in->why, sizeof(in->why));
	in->opening = !status;
	return status;
}

/* Whether the rest of a file that is not taken is little enough to be read all the same. */
static bool may_drain(struct MHD_Connection *c)
{
	const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
	errno = 0;
	/* Who asks first listens: such a file need not be sent at all. */
	return !MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Expect") && length &&
	       strtoull(length, NULL, 10) <= UNREAD_BYTES && !errno;
}

/*
 * Replying on the first call of a request closes the connection: whoever sends a file, and does not listen meanwhile, as
 * browsers do, would see it break and not hear why.
 */
static enum MHD_Result begin_request(struct cam_server *s, struct MHD_Connection *c,
				     const char *url, const char *method, void **seen)
{
	if (!headers_agree(c))
		return refuse(c, MHD_HTTP_BAD_REQUEST, "where this request ends is not clear", "");
	if (strcmp(method, MHD_HTTP_METHOD_POST) != 0 || !cam_route_posts(url)) {
		*seen = (void *)(uintptr_t)&no_body;
		return MHD_YES;
	}
	struct incoming *in = calloc(1, sizeof(*in));
	if (!in)
		return MHD_NO;
	in->body = CAM_BUF(cam_route_body_bytes(url));
	in->begun_ns = now_ns();
	*seen = in;
	if (!cam_route_opens(url))
		return MHD_YES;
	/* A file is large: who may not send it is told so before it comes. */
	enum cam_guard_verdict verdict = judge(s, c, url, method);
	if (verdict != CAM_GUARD_PASS)
		return keep_out(s, c, url, verdict);
	unsigned status = begin_file(s, c, in);
	if (status && !may_drain(c))
		return turn_away(s, c, url, status, in->why);
	in->refused = status;
	in->since_ns = in->begun_ns;
	allow(s, c, SLICE_S);
	return MHD_YES;
}

/*
 * Hands on what came of a file. Time that this side needs for it is not the sender's: it is not counted. false: it has taken too long, all in
 * all or for this slice, and the connection is to be closed. A sender who falls silent is the minder's.
 */
static bool take_file(struct cam_server *s, struct MHD_Connection *c, struct incoming *in,
		      const char *bytes, size_t n)
{
	const uint64_t second = 1000000000u;
	uint64_t now = now_ns();
	in->waited_ns += now - in->since_ns;
	if (in->waited_ns > SLICE_S * second || now - in->begun_ns > FILE_S * second)
		return false;
	in->slice_bytes += n;
	if (in->slice_bytes >= SLICE_BYTES)
		in->slice_bytes = 0, in->waited_ns = 0;
	allow(s, c, 0);
	if (!in->refused && !in->error)
		in->error = s->house.open_more(s->house.self, bytes, n);
	allow(s, c, SLICE_S + 1u - (unsigned)(in->waited_ns / second));
	in->since_ns = now_ns();
	return true;
}

static bool take_body(struct cam_server *s, struct MHD_Connection *c, struct incoming *in,
		      const char *bytes, size_t n)
{
	if (in->opening || in->refused)
		return take_file(s, c, in, bytes, n);
	cam_buf_put(&in->body, bytes, n);
	return true;
}

/* The file is there: what became of it. */
static enum MHD_Result end_file(struct cam_server *s, struct MHD_Connection *c, const char *url,
				struct incoming *in)
{
	struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES), .type = "application/json"};
	if (!in->error)
		in->opening = false;
	cam_open_end(&s->house, in->error, &a);
	cam_tally_add(&s->shared.tally, cam_route_number(url), a.status, now_ns() - in->begun_ns);
	return send_route(c, &a);
}

/* All of the request is there. */
static enum MHD_Result answer(struct cam_server *s, struct MHD_Connection *c, const char *url,
			      const char *method, struct incoming *in)
{
	if (in && in->opening)
		return end_file(s, c, url, in);
	if (in && in->refused)
		return turn_away(s, c, url, in->refused, in->why);
	enum cam_guard_verdict verdict = judge(s, c, url, method);
	return verdict == CAM_GUARD_PASS ? work(s, c, url, method, in ? &in->body : NULL)
					 : keep_out(s, c, url, verdict);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **seen)
{
	struct cam_server *s = arg;
	(void)version;
	if (!*seen)
		return begin_request(s, c, url, method, seen);
	struct incoming *in = *seen == &no_body ? NULL : *seen;
	if (*upload_bytes) {
		bool go_on = !in || take_body(s, c, in, upload, *upload_bytes);
		*upload_bytes = 0;
		return go_on ? MHD_YES : MHD_NO;
	}
	allow(s, c, 0); /* how long a question may take is its own matter */
	enum MHD_Result done = answer(s, c, url, method, in);
	allow(s, c, cam_route_is_apart(url) ? STREAM_S : ANSWER_S);
	return done;
}

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int make_address(const struct cam_server_options *o, union any_address *a, socklen_t *n)
{
	*a = (union any_address){0};
	if (inet_pton(AF_INET, o->address, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(o->port);
		*n = sizeof(a->v4);
		return 0;
	}
	if (inet_pton(AF_INET6, o->address, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(o->port);
		*n = sizeof(a->v6);
		return 0;
	}
	return -EINVAL;
}

static int bind_socket(struct cam_server *s, const struct cam_server_options *o, uint16_t *port)
{
	union any_address a;
	socklen_t n;
	int one = 1;
	int err = make_address(o, &a, &n);
	if (err)
		return err;
	s->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	if (setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(s->fd, &a.any, n) || listen(s->fd, 64) || getsockname(s->fd, &a.any, &n))
		return -errno;
	*port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return 0;
}

/* The given sources stay: what listens to them is made once. */
static int make_news(struct cam_server *s)
{
	s->shared.news = calloc(s->house.given, sizeof(struct cam_news *));
	int err = s->shared.news ? 0 : -ENOMEM;
	for (unsigned i = 0; !err && i < s->house.given; i++) {
		struct cam_server_doors doors;
		err = s->house.enter(s->house.self, i, &doors);
		if (err)
			break;
		err = cam_news_new(&doors, &s->shared.listeners, &s->shared.news[i]);
		s->house.leave(s->house.self, &doors);
		s->shared.n_news += !err;
	}
	return err;
}

int cam_server_listen(const struct cam_server_options *o, struct cam_server **out)
{
	struct cam_server *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	uint16_t port = 0;
	if (!s)
		return -ENOMEM;
	s->house = o->house;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->turn, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int err = cam_minder_new(&s->minder);
	if (!err)
		err = make_news(s);
	if (!err)
		err = bind_socket(s, o, &port);
	if (err) {
		cam_server_stop(s);
		return err;
	}
	cam_guard_init(&s->guard, o->address, port, o->token, o->proxy);
	*out = s;
	return 0;
}

/*
 * What the library has to say, on the thread that lets connections in: where there is no descriptor or memory for one who waits it tries again
 * at once, and takes a CPU to itself (0.9.75, with a thread a connection). So it is held here for a while.
 */
static void hear(void *arg, const char *format, va_list rest)
{
	static const char no_room[] = "Hit process or system resource limit";
	const struct timespec pause = {.tv_nsec = NO_ROOM_MS * 1000000};
	(void)arg;
	(void)rest;
	if (!strncmp(format, no_room, sizeof(no_room) - 1))
		nanosleep(&pause, NULL);
}

int cam_server_start(struct cam_server *s)
{
	int err = cam_minder_start(s->minder);
	if (err)
		return err;
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, hear, NULL,
		MHD_OPTION_LISTEN_SOCKET, s->fd, MHD_OPTION_CONNECTION_LIMIT, CAM_MINDER_MOST,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, MAX_PER_ADDRESS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_THREAD_STACK_SIZE,
		(size_t)STACK_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
		forget, s, MHD_OPTION_NOTIFY_CONNECTION, notice, s, MHD_OPTION_END);
	if (!s->daemon)
		return errno ? -errno : -EIO;
	s->fd = -1; /* the daemon's now */
	return 0;
}

void cam_server_leave(struct cam_server *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void cam_server_stop(struct cam_server *s)
{
	if (!s)
		return;
	atomic_store(&s->shared.stopping, true);
	for (unsigned i = 0; i < s->shared.n_news; i++)
		cam_news_stop(s->shared.news[i]);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	cam_minder_free(s->minder);
	for (unsigned i = 0; i < s->shared.n_news; i++)
		cam_news_free(s->shared.news[i]);
	free(s->shared.news);
	cam_server_leave(s);
	pthread_cond_destroy(&s->turn);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

uint16_t cam_server_port(const struct cam_server *s)
{
	return s->guard.port;
}
