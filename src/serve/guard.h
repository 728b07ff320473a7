// SPDX-License-Identifier: Apache-2.0
/*
 * Who may ask: looked at before any route, in this order.
 *
 *  1. Host must be an address or name of ours: a page of another site that makes its own name point
 *     here (DNS rebinding) is refused, 421.
 *  2. The token, where one is set: `Authorization: Bearer TOKEN`, `?token=TOKEN` as in the URL that is
 *     printed, or the cookie that the page is given for it. Compared in constant time. 401.
 *  3. A browser that says the question comes from another site (Sec-Fetch-Site, Origin) is refused, 403: the
 *     cookie goes along with those, too. Following a link to the page itself is not such a question.
 *  4. GET and HEAD only, and POST where a path takes something. 405.
 *  5. Changes of what is kept (the recorder makes them) need a token: without one any user of this machine may ask. 403.
 *
 * Before all of that, where a request ends must not be a matter of opinion (cam_guard_headers_agree): a proxy that
 * sees another end than we do would hand one user's question to another. 400, and the connection is closed.
 *
 * Pure: headers in, a verdict out.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAM_TOKEN_BYTES 65 /* at most 64 characters, and the NUL */

struct cam_guard {
	char token[CAM_TOKEN_BYTES]; /* "": none is asked for */
	char address[64];	     /* as in a URL: [::1] has its brackets */
	char proxy[256];	     /* the name of a proxy with TLS before us; "": there is none */
	uint16_t port;
	char cookie[24]; /* its name: other ports of this host have cookies, too */
};

/* As sent; NULL: not sent. */
struct cam_guard_headers {
	const char *method, *path;
	const char *host, *authorization, *cookie, *token, *sec_fetch_site, *sec_fetch_mode,
		*origin;
	bool posts;   /* the path takes POST, and nothing else */
	bool changes; /* what is kept */
};

enum cam_guard_verdict {
	CAM_GUARD_PASS,
	CAM_GUARD_ENTER, /* pass; the token stood in the URL: hand over the cookie, and drop it there */
	CAM_GUARD_NOT_OURS,
	CAM_GUARD_NO_TOKEN,
	CAM_GUARD_FOREIGN,
	CAM_GUARD_METHOD,
	CAM_GUARD_NO_CHANGE,
};

/* What was seen of one request's headers; starts as zeros. */
struct cam_guard_seen {
	unsigned hosts, lengths;
};

/* One header, as sent, with whatever bytes it has. false: refuse the request. That is: a name that is no word (a
 * space before the colon), CR, LF or NUL in a value, any Transfer-Encoding, Content-Length or Host twice. */
bool cam_guard_headers_agree(struct cam_guard_seen *seen, const char *name, size_t name_bytes,
			     const char *value, size_t value_bytes);

/* address: numeric; token, proxy: NULL or "": none. */
void cam_guard_init(struct cam_guard *g, const char *address, uint16_t port, const char *token,
		    const char *proxy);
enum cam_guard_verdict cam_guard_look(const struct cam_guard *g, const struct cam_guard_headers *h);
