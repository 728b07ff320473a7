// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"
#include "base/out.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/place.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "model/nouns.h"

#include <stdio.h>

/* A member that is missing or of another type counts as nothing: the recorder may be older. */
static uint64_t number(struct cam_json_value v, const char *key)
{
	struct cam_json_value m;
	uint64_t n;
	return cam_json_value_get(v, key, &m) && cam_json_value_u64(m, &n) ? n : 0;
}

static bool flag(struct cam_json_value v, const char *key)
{
	struct cam_json_value m;
	bool b;
	return cam_json_value_get(v, key, &m) && cam_json_value_bool(m, &b) && b;
}

static void put_text(struct cam_out *out, struct cam_json_value v, const char *key)
{
	struct cam_json_value m;
	char room[1024];
	if (cam_json_value_get(v, key, &m) && cam_json_value_string(m, room, sizeof(room)))
		cam_out_printable(out, cam_text_of(room));
}

static bool has_text(struct cam_json_value v, const char *key)
{
	struct cam_json_value m;
	return cam_json_value_get(v, key, &m) && m.text.n > 2 && m.text.p[0] == '"';
}

static void put_time(struct cam_out *out, struct cam_json_value v, const char *key)
{
	struct cam_json_value m;
	int64_t ns = INT64_MIN;
	char room[40];
	if (cam_json_value_get(v, key, &m))
		cam_json_value_i64(m, &ns);
	cam_show_realtime(ns, room, sizeof(room));
	cam_out_str(out, room);
}

static void put_bytes(struct cam_out *out, uint64_t bytes)
{
	char room[32];
	cam_show_bytes(bytes, room, sizeof(room));
	cam_out_str(out, room);
}

static void put_of(struct cam_out *out, uint64_t used, uint64_t limit)
{
	put_bytes(out, used);
	if (limit) {
		cam_out_str(out, " of ");
		put_bytes(out, limit);
	}
}

static void put_span(struct cam_out *out, uint64_t ns)
{
	unsigned long long s = ns / CAM_NS_PER_SEC;
	if (s >= 86400)
		cam_out_printf(out, "%llu d %llu h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		cam_out_printf(out, "%llu h %llu min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		cam_out_printf(out, "%llu min %llu s", s / 60, s % 60);
	else
		cam_out_printf(out, "%llu s", s);
}

static void put_recording(struct cam_out *out, struct cam_json_value v)
{
	cam_out_str(out, "recording since ");
	put_time(out, v, "since_realtime_ns");
	cam_out_str(out, " (");
	put_span(out, number(v, "uptime_ns"));
	cam_out_str(out, ") into ");
	put_text(out, v, "store");
	cam_out_str(out, "\n  source   ");
	put_text(out, v, "source");
	cam_out_str(out, ", ");
	put_text(out, v, "event");
	cam_out_printf(out, ", %llu Hz × %llu CPUs, %s", (unsigned long long)number(v, "hz"),
		       (unsigned long long)number(v, "cpus"),
		       flag(v, "kernel_stacks") ? "user and kernel stacks" : "user stacks only");
	if (number(v, "hz") != number(v, "wanted_hz"))
		cam_out_printf(out, " (%llu Hz wanted)",
			       (unsigned long long)number(v, "wanted_hz"));
	cam_out_str(out, "; scope: ");
	if (has_text(v, "scope"))
		put_text(out, v, "scope");
	else
		cam_out_str(out, "all");
	if (has_text(v, "why_source")) {
		cam_out_str(out, "\n           ");
		put_text(out, v, "why_source");
	}
	cam_out_str(out, "\n");
}

/* "lost      12: ring full 10, queue full 2": the causes that are a loss, or those that are not. */
static void put_causes(struct cam_out *out, struct cam_json_value v, const char *label, bool loss)
{
	struct cam_json_value causes = {0};
	unsigned long long sum = 0, n;
	const char *gap = ": ";
	if (!cam_json_value_get(v, "by_cause", &causes))
		return;
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		enum cam_cause cause = (enum cam_cause)i;
		if (cam_cause_is_loss(cause) == loss)
			sum += number(causes, cam_cause_key(cause));
	}
	cam_out_printf(out, "  %-8s %llu", label, sum);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		enum cam_cause cause = (enum cam_cause)i;
		n = number(causes, cam_cause_key(cause));
		if (n && cam_cause_is_loss(cause) == loss) {
			cam_out_printf(out, "%s%s %llu", gap, cam_cause_words(cause), n);
			gap = ", ";
		}
	}
	cam_out_str(out, "\n");
}

static void put_percent(struct cam_out *out, uint64_t ppm)
{
	cam_out_printf(out, "%.3g %%", (double)ppm / 10000);
}

static void put_cpu(struct cam_out *out, struct cam_json_value v)
{
	struct cam_json_value list, p;
	uint64_t sum = 0;
	if (!cam_json_value_get(v, "processes", &list))
		return;
	for (size_t i = 0; cam_json_value_at(list, i, &p); i++)
		sum += number(p, "cpu_ppm");
	cam_out_str(out, "  own CPU  ");
	put_percent(out, sum);
	cam_out_str(out, " of one CPU in the last minute; limit: ");
	if (number(v, "max_cpu_ppm")) {
		put_percent(out, number(v, "max_cpu_ppm"));
		cam_out_str(out, " of the host\n");
	} else {
		cam_out_str(out, "none\n");
	}
	for (size_t i = 0; cam_json_value_at(list, i, &p); i++) {
		if (!number(p, "pid") && !number(p, "cpu_ns"))
			continue;
		cam_out_str(out, "           ");
		put_text(out, p, "name");
		cam_out_str(out, " ");
		put_percent(out, number(p, "cpu_ppm"));
		cam_out_printf(out, ", %.1f s since the start",
			       (double)number(p, "cpu_ns") / (double)CAM_NS_PER_SEC);
		if (number(p, "pid")) {
			cam_out_printf(out, ", pid %llu, ", (unsigned long long)number(p, "pid"));
			put_bytes(out, number(p, "resident_bytes"));
			cam_out_str(out, " resident");
		}
		if (number(p, "restarts"))
			cam_out_printf(out, ", restarted %llu times",
				       (unsigned long long)number(p, "restarts"));
		cam_out_str(out, "\n");
	}
	if (has_text(v, "shedding")) {
		cam_out_str(out, "  shedding ");
		put_text(out, v, "shedding");
		cam_out_str(out, "\n");
	}
}

static void put_memory(struct cam_out *out, struct cam_json_value v)
{
	struct cam_json_value list = {0}, b;
	cam_json_value_get(v, "budgets", &list);
	for (size_t i = 0; cam_json_value_at(list, i, &b); i++) {
		cam_out_str(out, i ? "           " : "  memory   ");
		put_text(out, b, "name");
		cam_out_str(out, " ");
		put_of(out, number(b, "used"), number(b, "limit"));
		if (number(b, "refused"))
			cam_out_printf(out, ", full %llu times",
				       (unsigned long long)number(b, "refused"));
		cam_out_str(out, "\n");
	}
	cam_out_str(out, "  rings    ");
	put_bytes(out, number(v, "ring_bytes"));
	cam_out_str(out, " in all; a CPU: ");
	put_bytes(out, number(v, "sample_ring_bytes"));
	cam_out_str(out, " for samples, ");
	put_bytes(out, number(v, "side_ring_bytes"));
	cam_out_str(out, " for processes");
	cam_out_str(out, flag(v, "rings_shrunk")
				 ? "; smaller than wanted: locked memory is limited\n"
				 : "\n");
}

static void put_store(struct cam_out *out, struct cam_json_value v)
{
	cam_out_str(out, "  written  ");
	put_bytes(out, number(v, "bytes_written"));
	cam_out_printf(out, ", %llu windows sealed, %llu waiting; a window: ",
		       (unsigned long long)number(v, "windows_sealed"),
		       (unsigned long long)number(v, "windows_waiting"));
	put_span(out, number(v, "window_ns"));
	cam_out_printf(out, "\n  store    %llu windows, ",
		       (unsigned long long)number(v, "store_windows"));
	put_of(out, number(v, "store_bytes"), number(v, "max_bytes"));
	cam_out_str(out, ", oldest ");
	put_time(out, v, "oldest_realtime_ns");
	cam_out_str(out, ", ");
	put_bytes(out, number(v, "free_bytes"));
	cam_out_printf(out, " free\n  pins     %llu, ", (unsigned long long)number(v, "pins"));
	put_of(out, number(v, "pinned_bytes"), number(v, "max_pinned_bytes"));
	cam_out_str(out, "\n");
}

static void put_errors(struct cam_out *out, struct cam_json_value v)
{
	struct cam_json_value list = {0}, e;
	cam_json_value_get(v, "errors", &list);
	if (!cam_json_value_at(list, 0, &e))
		cam_out_str(out, "  errors   none\n");
	for (size_t i = 0; cam_json_value_at(list, i, &e); i++) {
		cam_out_str(out, i ? "           " : "  errors   ");
		put_time(out, e, "realtime_ns");
		cam_out_str(out, " ");
		put_text(out, e, "text");
		if (number(e, "times") > 1)
			cam_out_printf(out, " (%llu times)",
				       (unsigned long long)number(e, "times"));
		cam_out_str(out, "\n");
	}
}

static int show(const struct cam_asking *a, bool json)
{
	struct cam_text text = cam_text_of((char *)a->reply.data);
	struct cam_json_value v;
	struct cam_out out;
	if (cam_json_value_parse(text, &v))
		return cam_failed("store %s: its recorder's answer is not JSON", a->settings.store);
	cam_out_to_fd(&out, 1);
	if (json) {
		cam_out_text(&out, v.text);
		cam_out_str(&out, "\n");
	} else {
		put_recording(&out, v);
		cam_out_printf(&out, "  samples  %llu, %llu a second in the last minute\n",
			       (unsigned long long)number(v, "samples"),
			       (unsigned long long)number(v, "samples_per_second"));
		put_causes(&out, v, "lost", true);
		put_causes(&out, v, "not due", false);
		put_cpu(&out, v);
		put_memory(&out, v);
		put_store(&out, v);
		put_errors(&out, v);
	}
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_cmd_status(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	bool json = false, done;
	const struct cam_option options[] = {
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest, status;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest)
		return cam_usage("status takes no argument '%s'", argv[0]);
	struct cam_asking *a = cam_asking_new(&given, &status);
	if (!a)
		return status;
	status = cam_asking_ask(a, CAM_CONTROL_STATUS, &(struct cam_control_request){0});
	if (a->nobody)
		status = cam_asking_say_nobody(a);
	else if (!status)
		status = show(a, json);
	cam_asking_free(a);
	return status;
}
