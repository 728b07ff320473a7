// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd, one thread, behind guards that come before any route:
 *  1. Host must be an address or name of ours: a page of another site that makes its own name point
 *     here (DNS rebinding) is refused, 421.
 *  2. The token, where one is set: `Authorization: Bearer TOKEN`, or `?token=TOKEN` as in the URL that
 *     is printed. Compared in constant time.
 *  3. GET and HEAD only: nothing here changes anything.
 * Every answer, errors too, carries the same headers: no sniffing, no framing, no scripts, no caching.
 */
#include "serve/server.h"

#include "serve/routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_ANSWER_BYTES (16u << 20)
#define MAX_CONNECTIONS	 64u
#define MAX_PER_ADDRESS	 32u
#define CONNECTION_BYTES (16u << 10)
#define TIMEOUT_S	 10u

struct cam_server {
	struct cam_server_doors doors;
	char token[CAM_TOKEN_BYTES];
	char address[64];
	uint16_t port;
	int fd;
	struct MHD_Daemon *daemon;
};

static bool equal_in_constant_time(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned char difference = n != m;
	for (size_t i = 0; i < n; i++)
		difference |= (unsigned char)(a[i] ^ b[m ? i % m : 0]);
	return !difference;
}

/* "127.0.0.1:9797", "localhost", "[::1]:9797": the part before the port must be ours. */
static bool host_is_ours(const struct cam_server *s, const char *host)
{
	const char *names[] = {"127.0.0.1", "localhost", "[::1]", s->address};
	char port[8];
	if (!host)
		return false;
	snprintf(port, sizeof(port), ":%u", s->port);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);
		if (n && !strncasecmp(host, names[i], n) && (!host[n] || !strcmp(host + n, port)))
			return true;
	}
	return false;
}

static bool has_token(const struct cam_server *s, struct MHD_Connection *c)
{
	if (!s->token[0])
		return true;
	const char *bearer =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	const char *given = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
	if (bearer && !strncmp(bearer, "Bearer ", 7))
		given = bearer + 7;
	return given && equal_in_constant_time(given, s->token);
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const void *bytes,
			      size_t n)
{
	static const char *const headers[][2] = {
		{"Content-Type", "application/json"},
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Content-Security-Policy",
		 "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};
	struct MHD_Response *r =
		MHD_create_response_from_buffer(n, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	enum MHD_Result queued = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *words)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "{\"error\":\"%s\"}", words);
	return answer(c, status, text, (size_t)n);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **seen)
{
	struct cam_server *s = arg;
	(void)version;
	(void)upload;
	/* Replying on the first call of a request would close the connection. */
	static const char mark;
	if (!*seen) {
		*seen = (void *)(uintptr_t)&mark;
		return MHD_YES;
	}
	if (*upload_bytes) {
		*upload_bytes = 0;
		return MHD_YES;
	}
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	if (!host_is_ours(s, host))
		return refuse(c, 421, "this server does not answer for that host");
	if (!strcmp(url, "/healthz"))
		return answer(c, MHD_HTTP_OK, "{\"ok\":true}", 11);
	if (!has_token(s, c))
		return refuse(c, MHD_HTTP_UNAUTHORIZED, "a token is needed");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
	struct cam_buf out = CAM_BUF(MAX_ANSWER_BYTES);
	unsigned status = cam_route(&s->doors, url, &out);
	enum MHD_Result queued = cam_buf_error(&out)
					 ? refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory")
					 : answer(c, status, out.data, out.len);
	cam_buf_free(&out);
	return queued;
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

static int bind_socket(struct cam_server *s, const struct cam_server_options *o)
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
	s->port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return 0;
}

int cam_server_listen(const struct cam_server_options *o, struct cam_server **out)
{
	struct cam_server *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->doors = o->doors;
	s->fd = -1;
	snprintf(s->token, sizeof(s->token), "%s", o->token ? o->token : "");
	snprintf(s->address, sizeof(s->address), strchr(o->address, ':') ? "[%s]" : "%s",
		 o->address);
	int err = bind_socket(s, o);
	if (err) {
		cam_server_stop(s);
		return err;
	}
	*out = s;
	return 0;
}

int cam_server_start(struct cam_server *s)
{
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, s,
				     MHD_OPTION_LISTEN_SOCKET, s->fd, MHD_OPTION_CONNECTION_LIMIT,
				     MAX_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
				     MAX_PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
				     TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!s->daemon)
		return errno ? -errno : -EIO;
	s->fd = -1; /* the daemon's now */
	return 0;
}

void cam_server_stop(struct cam_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

uint16_t cam_server_port(const struct cam_server *s)
{
	return s->port;
}
