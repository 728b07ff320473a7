// SPDX-License-Identifier: Apache-2.0
#include "serve/routes.h"

#include "base/json.h"
#include "base/out.h"
#include "serve/asked.h"
#include "serve/assets.h"
#include "serve/news.h"
#include "serve/views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BODY_BYTES   (16u << 10)
#define ALERT_BYTES  (512u << 10) /* some hundred of them, as Alertmanager sends them */
#define OK	     200u
#define NOT_MODIFIED 304u
#define BAD_REQUEST  400u
#define NOT_FOUND    404u
#define UNAVAILABLE  503u

const char *cam_request_value(const struct cam_request *q, const char *key)
{
	for (size_t i = 0; i < q->n_params; i++)
		if (!strcmp(q->params[i].key, key))
			return q->params[i].value;
	return NULL;
}

bool cam_request_number(const struct cam_request *q, const char *key, uint64_t least, uint64_t most,
			uint64_t usual, uint64_t *out)
{
	const char *value = cam_request_value(q, key);
	*out = usual;
	if (!value)
		return true;
	uint64_t n = 0;
	size_t digits = strspn(value, "0123456789");
	if (!digits || digits > 9 || value[digits])
		return false;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (uint64_t)(value[i] - '0');
	*out = n;
	return n >= least && n <= most;
}

/* "W/"x", "y"": a list, in which weak ones count as well. */
bool cam_request_has(const struct cam_request *q, const char *tag)
{
	const char *at = q->has_tag;
	size_t n = strlen(tag);
	while (at && *at) {
		at += strspn(at, " ,");
		at += !strncmp(at, "W/", 2) ? 2 : 0;
		size_t length = strcspn(at, ",");
		while (length && at[length - 1] == ' ')
			length--;
		if (length == n && !memcmp(at, tag, n))
			return true;
		at += strcspn(at, ",");
	}
	return false;
}

bool cam_request_is_common(const char *key)
{
	return !strcmp(key, "token") || !strcmp(key, "source");
}

bool cam_request_only(const struct cam_request *q, const char *const *known, struct cam_answer *a)
{
	for (size_t i = 0; i < q->n_params; i++) {
		const char *const *k = known;
		char text[128];
		while (*k && strcmp(*k, q->params[i].key) != 0)
			k++;
		if (*k || cam_request_is_common(q->params[i].key))
			continue;
		snprintf(text, sizeof(text), "%.60s: no such parameter", q->params[i].key);
		cam_answer_error(a, BAD_REQUEST, text);
		return false;
	}
	return true;
}

static void begin(struct cam_out *out, struct cam_json *j, struct cam_answer *a)
{
	cam_out_to_buf(out, &a->body);
	*j = (struct cam_json){out, false};
	cam_json_open(j, NULL, '{');
}

static void end(struct cam_out *out, struct cam_json *j, struct cam_answer *a)
{
	cam_json_close(j, '}');
	a->status = OK;
	if (cam_out_finish(out))
		cam_answer_error(a, UNAVAILABLE, "the answer does not fit into memory");
}

void cam_answer_error(struct cam_answer *a, unsigned status, const char *words)
{
	struct cam_out out;
	struct cam_json j;
	cam_buf_clear(&a->body);
	a->in_vain = false;
	a->tag[0] = '\0';
	a->type = "application/json";
	a->status = status;
	begin(&out, &j, a);
	cam_json_text(&j, "error", cam_text_of(words));
	cam_json_close(&j, '}');
	/* Where there is no memory for words either, the status says it alone. */
	if (cam_out_finish(&out))
		cam_buf_free(&a->body);
}

void cam_answer_seconds(struct cam_json *j, const char *key, int64_t ns)
{
	char text[32];
	if (ns == INT64_MIN) {
		cam_json_null(j, key);
		return;
	}
	int64_t second = ns / 1000000000, rest = ns % 1000000000;
	if (rest < 0) {
		second--;
		rest += 1000000000;
	}
	snprintf(text, sizeof(text), "%" PRId64 ".%09" PRId64, second, rest);
	cam_json_text(j, key, cam_text_of(text));
}

static void put_window(struct cam_json *j, const struct cam_window_info *w)
{
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "name", w->name);
	cam_json_text(j, "host", w->host);
	if (w->realtime_ns != INT64_MIN)
		cam_json_i64(j, "start_ns", w->realtime_ns);
	cam_json_u64(j, "length_ns", w->end_ns - w->start_ns);
	cam_json_u64(j, "samples", w->samples);
	cam_json_u64(j, "lost", w->lost);
	cam_json_u64(j, "bytes", w->file_bytes);
	cam_json_u64(j, "cpus", w->cpus);
	cam_json_u64(j, "events", w->events);
	cam_json_bool(j, "sealed", w->sealed);
	cam_json_bool(j, "pinned", w->pinned);
	cam_json_close(j, '}');
}

static const char *const none[] = {NULL};

static void answer_windows(const struct cam_server_doors *doors, const struct cam_request *q,
			   struct cam_answer *a)
{
	struct cam_source *source;
	struct cam_out out;
	struct cam_json j;
	if (!cam_request_only(q, none, a) || cam_asked_windows(doors, a, &source))
		return;
	size_t unreadable = 0, n = source->ops->count(source);
	begin(&out, &j, a);
	cam_json_open(&j, "windows", '[');
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info;
		if (source->ops->info(source, i, &info))
			unreadable++;
		else
			put_window(&j, info);
	}
	cam_json_close(&j, ']');
	cam_json_u64(&j, "unreadable", unreadable);
	end(&out, &j, a);
	doors->release(doors->self, source);
}

static void answer_status(const struct cam_server_doors *doors, const struct cam_request *q,
			  struct cam_answer *a)
{
	if (!cam_request_only(q, none, a))
		return;
	int err = doors->status ? doors->status(doors->self, &a->body) : -ENOENT;
	a->status = OK;
	if (err)
		cam_answer_error(a, UNAVAILABLE, "no recorder runs on this store");
}

static void answer_health(const struct cam_server_doors *doors, const struct cam_request *q,
			  struct cam_answer *a)
{
	struct cam_out out;
	struct cam_json j;
	struct cam_source *source;
	if (!cam_request_only(q, none, a))
		return;
	/* Anybody may ask that, and as often as they like: all of an open window is not read for it. */
	bool ok = doors->pulse && doors->pulse(doors->self);
	if (!ok && cam_asked_windows(doors, a, &source))
		return;
	if (!ok)
		doors->release(doors->self, source);
	begin(&out, &j, a);
	cam_json_bool(&j, "ok", true);
	end(&out, &j, a);
}

static void answer_live(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	if (!cam_request_only(q, none, a))
		return;
	if (doors->number >= q->shared->n_news) {
		cam_answer_error(a, NOT_FOUND, "nothing is added to a file that was opened");
		return;
	}
	a->type = "text/event-stream";
	a->status = OK;
	a->open_ended = q->head;
	int err = q->head ? 0 : cam_news_join(q->shared->news[doors->number], &a->stream);
	if (err)
		cam_answer_error(a, UNAVAILABLE, "too many listen already");
}

static const struct {
	const char *path;
	void (*answer)(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a);
} routes[] = {
	{"/healthz", answer_health},
	{"/metrics", cam_answer_metrics},
	{"/api/live", answer_live},
	{"/api/export", cam_answer_export},
	{"/api/grafana/flame", cam_answer_grafana},
	{"/api/windows", answer_windows},
	{"/api/status", answer_status},
	{"/api/store", cam_answer_store},
	{"/api/time", cam_answer_time},
	{"/api/timeline", cam_answer_timeline},
	{"/api/flame", cam_answer_flame},
	{"/api/chart", cam_answer_chart},
	{"/api/quality", cam_answer_quality},
	{"/api/diff", cam_answer_diff},
	{"/api/heatmap", cam_answer_heatmap},
	{"/api/counters", cam_answer_counters},
	{"/api/events", cam_answer_events},
	{"/api/mark", cam_answer_mark},
	{"/api/alerts", cam_answer_alerts},
	{"/api/pin", cam_answer_pin},
	{"/api/unpin", cam_answer_unpin},
	{"/api/why", cam_answer_why},
	{"/api/moments", cam_answer_moments},
	{"/api/sources", cam_answer_sources},
	{"/api/open", NULL}, /* the file comes bit by bit: view_open.c */
};

#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))
_Static_assert(N_ROUTES + 2 <= CAM_TALLY_PATHS, "each path is counted");

#define SPEEDSCOPE "/speedscope/"

static const struct cam_asset *find_asset(const char *path)
{
	for (size_t i = 0; i < cam_n_assets; i++)
		if (!strcmp(path, cam_assets[i].path))
			return &cam_assets[i];
	return NULL;
}

bool cam_route_has_speedscope(void)
{
	return find_asset(SPEEDSCOPE) != NULL;
}

bool cam_route_is_speedscope(const char *path)
{
	return !strncmp(path, SPEEDSCOPE, strlen(SPEEDSCOPE));
}

unsigned cam_route_number(const char *path)
{
	for (size_t i = 0; i < N_ROUTES; i++)
		if (!strcmp(path, routes[i].path))
			return (unsigned)i + 2;
	return find_asset(path) ? 1 : 0;
}

const char *cam_route_name(unsigned number)
{
	return number == 0	       ? "other"
	       : number == 1	       ? "page"
	       : number - 2 < N_ROUTES ? routes[number - 2].path
				       : NULL;
}

bool cam_route_opens(const char *path)
{
	return !strcmp(path, "/api/open");
}

bool cam_route_posts(const char *path)
{
	return cam_route_changes(path) || cam_route_opens(path);
}

bool cam_route_changes(const char *path)
{
	return !strcmp(path, "/api/mark") || !strcmp(path, "/api/pin") ||
	       !strcmp(path, "/api/unpin") || !strcmp(path, "/api/alerts");
}

size_t cam_route_body_bytes(const char *path)
{
	return !strcmp(path, "/api/alerts") ? ALERT_BYTES : BODY_BYTES;
}

bool cam_route_is_long(const char *path)
{
	return !strcmp(path, "/api/why") || !strcmp(path, "/api/moments");
}

bool cam_route_is_light(const char *path)
{
	return cam_route_number(path) <= 1 || !strcmp(path, "/healthz");
}

bool cam_route_is_apart(const char *path)
{
	return !strcmp(path, "/api/live") || !strcmp(path, "/api/export");
}

/* The source that is asked for. false: answered. */
static bool enter(const struct cam_request *q, struct cam_server_doors *doors, struct cam_answer *a)
{
	const char *id = cam_request_value(q, "source");
	const struct cam_server_house *h = q->house;
	int err = id ? h->find(h->self, id, doors) : h->enter(h->self, 0, doors);
	if (err)
		cam_answer_error(a, NOT_FOUND,
				 "no such source: it was dropped since, or the server is another "
				 "one; /api/sources lists them");
	return !err;
}

void cam_route(const struct cam_request *q, struct cam_answer *a)
{
	unsigned number = cam_route_number(q->path);
	struct cam_server_doors doors;
	if (number > 1) {
		if (!enter(q, &doors, a))
			return;
		routes[number - 2].answer(&doors, q, a);
		q->house->leave(q->house->self, &doors);
	} else if (number == 1) {
		a->asset = find_asset(q->path);
		snprintf(a->tag, sizeof(a->tag), "%s", a->asset->tag);
		if (cam_request_has(q, a->tag))
			a->asset = NULL;
		a->status = a->asset ? OK : NOT_MODIFIED;
	} else if (cam_route_is_speedscope(q->path) && !cam_route_has_speedscope()) {
		cam_answer_error(
			a, NOT_FOUND,
			"this perfcam was built without speedscope: tools/setup has npm fetch "
			"it, then build again");
	} else {
		cam_answer_error(a, NOT_FOUND, "no such path; docs/http-api.md lists them");
	}
}
