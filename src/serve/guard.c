// SPDX-License-Identifier: Apache-2.0
#include "serve/guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void cam_guard_init(struct cam_guard *g, const char *address, uint16_t port, const char *token,
		    const char *proxy)
{
	*g = (struct cam_guard){.port = port};
	snprintf(g->proxy, sizeof(g->proxy), "%s", proxy ? proxy : "");
	snprintf(g->token, sizeof(g->token), "%s", token ? token : "");
	snprintf(g->address, sizeof(g->address), strchr(address, ':') ? "[%s]" : "%s", address);
	snprintf(g->cookie, sizeof(g->cookie), "perfcam-%u", port);
}

/* n bytes of a, all of b. */
static bool equal_in_constant_time(const char *a, size_t n, const char *b)
{
	size_t m = strlen(b);
	unsigned char difference = n != m;
	for (size_t i = 0; i < n; i++)
		difference |= (unsigned char)(a[i] ^ b[m ? i % m : 0]);
	return !difference;
}

/*
 * "127.0.0.1:9797", "localhost", "[::1]:9797": the part before the port must be ours. With `exact` the port, too: an
 * origin that names none is port 80's.
 */
static bool host_is_ours(const struct cam_guard *g, const char *host, bool exact)
{
	const char *names[] = {"127.0.0.1", "localhost", "[::1]", g->address};
	char port[8];
	if (!host)
		return false;
	if (g->proxy[0] && !strcasecmp(host, g->proxy))
		return true;
	snprintf(port, sizeof(port), ":%u", g->port);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);
		if (n && !strncasecmp(host, names[i], n) &&
		    ((!host[n] && (!exact || g->port == 80)) || !strcmp(host + n, port)))
			return true;
	}
	return false;
}

/* "a=1; perfcam-9797=TOKEN; b=2" */
static bool cookie_holds_token(const struct cam_guard *g, const char *cookies)
{
	size_t name = strlen(g->cookie);
	while (cookies && *cookies) {
		size_t n;
		cookies += strspn(cookies, "; ");
		n = strcspn(cookies, ";");
		if (n > name && !strncmp(cookies, g->cookie, name) && cookies[name] == '=' &&
		    equal_in_constant_time(cookies + name + 1, n - name - 1, g->token))
			return true;
		cookies += n;
	}
	return false;
}

static bool is_token(const struct cam_guard *g, const char *given)
{
	return given && equal_in_constant_time(given, strlen(given), g->token);
}

/* "http://127.0.0.1:9797": ours, if what follows the scheme is. */
static bool origin_is_ours(const struct cam_guard *g, const char *origin)
{
	if (g->proxy[0] && !strncmp(origin, "https://", 8) && !strcasecmp(origin + 8, g->proxy))
		return true;
	return !strncmp(origin, "http://", 7) && host_is_ours(g, origin + 7, true);
}

/* A link on another site may lead to the page, and only there. */
static bool comes_from_elsewhere(const struct cam_guard *g, const struct cam_guard_headers *h)
{
	if (h->origin && !origin_is_ours(g, h->origin))
		return true;
	if (!h->sec_fetch_site || !strcmp(h->sec_fetch_site, "same-origin") ||
	    !strcmp(h->sec_fetch_site, "none"))
		return false;
	bool followed = h->sec_fetch_mode && !strcmp(h->sec_fetch_mode, "navigate");
	return !followed || strcmp(h->path, "/") != 0;
}

/* RFC 9110's token. */
static bool is_word(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!c || (!letter && !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return n > 0;
}

static bool is_named(const char *name, size_t n, const char *wanted)
{
	return n == strlen(wanted) && !strncasecmp(name, wanted, n);
}

bool cam_guard_headers_agree(struct cam_guard_seen *seen, const char *name, size_t name_bytes,
			     const char *value, size_t value_bytes)
{
	if (!is_word(name, name_bytes))
		return false;
	for (size_t i = 0; i < value_bytes; i++)
		if (value[i] == '\r' || value[i] == '\n' || !value[i])
			return false;
	seen->hosts += is_named(name, name_bytes, "Host");
	seen->lengths += is_named(name, name_bytes, "Content-Length");
	return seen->hosts <= 1 && seen->lengths <= 1 &&
	       !is_named(name, name_bytes, "Transfer-Encoding");
}

enum cam_guard_verdict cam_guard_look(const struct cam_guard *g, const struct cam_guard_headers *h)
{
	bool enters = false;
	if (!host_is_ours(g, h->host, false))
		return CAM_GUARD_NOT_OURS;
	if (g->token[0] && strcmp(h->path, "/healthz") != 0) {
		const char *bearer = h->authorization;
		bool has = bearer && !strncmp(bearer, "Bearer ", 7) && is_token(g, bearer + 7);
		enters = !has && is_token(g, h->token);
		if (!has && !enters && !cookie_holds_token(g, h->cookie))
			return CAM_GUARD_NO_TOKEN;
	}
	if (comes_from_elsewhere(g, h))
		return CAM_GUARD_FOREIGN;
	if (h->posts && strcmp(h->method, "POST") != 0)
		return CAM_GUARD_METHOD;
	if (!h->posts && strcmp(h->method, "GET") != 0 && strcmp(h->method, "HEAD") != 0)
		return CAM_GUARD_METHOD;
	if (h->changes && !g->token[0])
		return CAM_GUARD_NO_CHANGE;
	return enters && !strcmp(h->path, "/") ? CAM_GUARD_ENTER : CAM_GUARD_PASS;
}
