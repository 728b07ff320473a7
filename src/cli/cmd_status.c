// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"
#include "base/out.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/place.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "model/nouns.h"
#include "query/quality.h"

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

/* "2 h 3 min", "2 min", "40 ms" */
static void put_span(struct cam_out *out, uint64_t ns)
{
	static const struct {
		unsigned long long ns;
		const char *name;
	} units[] = {
		{86400 * CAM_NS_PER_SEC, "d"}, {3600 * CAM_NS_PER_SEC, "h"},
		{60 * CAM_NS_PER_SEC, "min"},  {CAM_NS_PER_SEC, "s"},
		{CAM_NS_PER_MS, "ms"},
	};
	size_t i = 0;
	while (i < 4 && ns < units[i].ns)
		i++;
	cam_out_printf(out, "%llu %s", ns / units[i].ns, units[i].name);
	if (i < 3 && ns % units[i].ns / units[i + 1].ns)
		cam_out_printf(out, " %llu %s", ns % units[i].ns / units[i + 1].ns,
			       units[i + 1].name);
}

/* Most of what is averaged is so over a minute, if there was one. */
static const char *lately(struct cam_json_value v)
{
	return number(v, "uptime_ns") < 60 * CAM_NS_PER_SEC ? "since the start"
							    : "in the last minute";
}

static void put_count(struct cam_out *out, uint64_t n, const char *noun)
{
	cam_out_printf(out, "%llu %s%s", (unsigned long long)n, noun, n == 1 ? "" : "s");
}

/* The line of the start says the source and why it was taken: "source bpf (allowed here), event …". */
static void put_source(struct cam_out *out, struct cam_json_value v)
{
	static const struct cam_text prefix = CAM_TEXT("source ");
	struct cam_json_value m;
	char room[1024];
	cam_out_str(out, "  source   ");
	if (!has_text(v, "why_source") || !cam_json_value_get(v, "why_source", &m) ||
	    !cam_json_value_string(m, room, sizeof(room))) {
		put_text(out, v, "source");
		cam_out_str(out, ", event ");
		put_text(out, v, "event");
		return;
	}
	struct cam_text line = cam_text_of(room);
	size_t skip = cam_text_starts(line, prefix) ? prefix.n : 0;
	cam_out_printable(out, (struct cam_text){line.p + skip, line.n - skip});
}

static void put_recording(struct cam_out *out, struct cam_json_value v)
{
	unsigned long long hz = number(v, "hz"), wanted = number(v, "wanted_hz");
	cam_out_str(out, "recording since ");
	put_time(out, v, "since_realtime_ns");
	cam_out_str(out, " (");
	put_span(out, number(v, "uptime_ns"));
	cam_out_str(out, ") into ");
	put_text(out, v, "store");
	cam_out_str(out, "\n");
	put_source(out, v);
	cam_out_printf(out, "\n  rate     %llu Hz × ", hz);
	put_count(out, number(v, "cpus"), "CPU");
	if (hz != wanted)
		cam_out_printf(out, " (%llu Hz wanted)", wanted);
	cam_out_str(out, flag(v, "kernel_stacks") ? "; user and kernel stacks\n"
						  : "; user stacks only\n");
	cam_out_str(out, "  scope    ");
	if (has_text(v, "scope"))
		put_text(out, v, "scope");
	else
		cam_out_str(out, "all");
	cam_out_printf(out, "\n  samples  %llu, %llu a second %s\n",
		       (unsigned long long)number(v, "samples"),
		       (unsigned long long)number(v, "samples_per_second"), lately(v));
}

static bool has_user(enum cam_stack_end end)
{
	return end == CAM_STACK_COMPLETE || cam_stack_end_is_incomplete(end);
}

/* "stacks   unwound in the kernel (bpf_loop); 97.1 % complete, pending 2.1 %, …" */
static void put_stacks(struct cam_out *out, struct cam_json_value v)
{
	struct cam_json_value s, ends;
	unsigned long long sum = 0, n;
	if (!cam_json_value_get(v, "stacks", &s) || !cam_json_value_get(s, "ends", &ends))
		return;
	cam_out_str(out, "  stacks   ");
	put_text(out, s, "how");
	for (unsigned i = CAM_STACK_COMPLETE; i < CAM_STACK_ENDS; i++)
		sum += has_user((enum cam_stack_end)i)
			       ? number(ends, cam_stack_end_key((enum cam_stack_end)i))
			       : 0;
	const char *gap = "; ";
	for (unsigned i = CAM_STACK_COMPLETE; i < CAM_STACK_ENDS; i++) {
		n = number(ends, cam_stack_end_key((enum cam_stack_end)i));
		if (!n || !has_user((enum cam_stack_end)i))
			continue;
		cam_out_printf(out, "%s%s %.3g %%", gap, cam_stack_end_words((enum cam_stack_end)i),
			       100.0 * (double)n / (double)sum);
		gap = ", ";
	}
	cam_out_str(out, "\n");
	if (!number(s, "max_bytes"))
		return;
	cam_out_printf(out, "           %llu tables, %llu images, ",
		       (unsigned long long)number(s, "tables"),
		       (unsigned long long)number(s, "images"));
	put_of(out, number(s, "table_bytes") + number(s, "image_bytes"), number(s, "max_bytes"));
	cam_out_printf(out, "; evicted %llu; %llu of %llu copies unwound",
		       (unsigned long long)number(s, "evicted_tables") +
			       (unsigned long long)number(s, "evicted_images"),
		       (unsigned long long)number(s, "copies_unwound"),
		       (unsigned long long)number(s, "copies"));
	if (number(s, "copies_denied"))
		cam_out_printf(out, ", %llu not made: too many at once",
			       (unsigned long long)number(s, "copies_denied"));
	cam_out_str(out, "\n");
}

/* "names    of 31 files, 4 with a debug file; the debug information of 1 was too large" */
static void put_names(struct cam_out *out, struct cam_json_value v)
{
	static const struct {
		const char *key, *says;
	} troubles[] = {
		{"left_out_files",
		 "; the debug information of %llu was too large, or a part of it"},
		{"elsewhere_files",
		 "; that of %llu lies in files that are not read (.dwo) or not found (dwz -m)"},
		{"symbols_only_files",
		 "; that of %llu could not be read: the symboliser died or hung"},
		{"poisoned_files", "; %llu could not be read at all: the symboliser died or hung"},
	};
	struct cam_json_value s;
	if (!cam_json_value_get(v, "names", &s))
		return;
	cam_out_printf(out, "  names    of %llu files, %llu with a debug file",
		       (unsigned long long)number(s, "held_files"),
		       (unsigned long long)number(s, "debug_files"));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		if (number(s, troubles[i].key))
			cam_out_printf(out, troubles[i].says,
				       (unsigned long long)number(s, troubles[i].key));
	}
#pragma GCC diagnostic pop
	cam_out_str(out, "\n");
}

/* What became of samples that are not in the store: gone; seen, and not worth keeping; never taken,
 * which is nobody's loss, but was due. */
enum fate { LOST, NOT_KEPT, NOT_TAKEN };

static enum fate fate_of(enum cam_cause cause)
{
	if (cam_cause_is_loss(cause))
		return LOST;
	return cause == CAM_CAUSE_IDLE || cause == CAM_CAUSE_FILTERED ? NOT_KEPT : NOT_TAKEN;
}

/* "lost      12: ring full 10, queue full 2"; but for what is lost, nothing where there is nothing. */
static void put_causes(struct cam_out *out, struct cam_json_value v, const char *label,
		       enum fate fate)
{
	struct cam_json_value causes = {0};
	unsigned long long sum = 0, n;
	const char *gap = ": ";
	if (!cam_json_value_get(v, "by_cause", &causes))
		return;
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		enum cam_cause cause = (enum cam_cause)i;
		if (fate_of(cause) == fate)
			sum += number(causes, cam_cause_key(cause));
	}
	if (!sum && fate != LOST)
		return;
	cam_out_printf(out, "  %-8s %llu", label, sum);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		enum cam_cause cause = (enum cam_cause)i;
		n = number(causes, cam_cause_key(cause));
		if (n && fate_of(cause) == fate) {
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

static void put_process(struct cam_out *out, struct cam_json_value p)
{
	cam_out_str(out, "           ");
	put_text(out, p, "name");
	cam_out_str(out, " ");
	put_percent(out, number(p, "cpu_ppm"));
	cam_out_str(out, ", ");
	put_span(out, number(p, "cpu_ns"));
	cam_out_str(out, " in all");
	if (number(p, "pid")) {
		cam_out_printf(out, ", pid %llu, ", (unsigned long long)number(p, "pid"));
		put_bytes(out, number(p, "resident_bytes"));
		cam_out_str(out, " resident");
	}
	if (number(p, "restarts")) {
		cam_out_str(out, ", restarted ");
		put_count(out, number(p, "restarts"), "time");
	}
	cam_out_str(out, "\n");
}

/* All in parts of one CPU, as top has it; the limit is set as a part of the host's. */
static void put_cpu(struct cam_out *out, struct cam_json_value v)
{
	struct cam_json_value list, p;
	uint64_t sum = 0, limit = number(v, "max_cpu_ppm"), cpus = number(v, "cpus");
	if (!cam_json_value_get(v, "processes", &list))
		return;
	for (size_t i = 0; cam_json_value_at(list, i, &p); i++)
		sum += number(p, "cpu_ppm");
	cam_out_str(out, "  own CPU  ");
	put_percent(out, sum);
	cam_out_printf(out, " of one CPU %s; limit: ", lately(v));
	if (limit) {
		put_percent(out, limit * cpus);
		cam_out_str(out, " (");
		put_percent(out, limit);
		cam_out_str(out, " of ");
		put_count(out, cpus, "CPU");
		cam_out_str(out, ")\n");
	} else {
		cam_out_str(out, "none\n");
	}
	for (size_t i = 0; cam_json_value_at(list, i, &p); i++) {
		if (number(p, "pid") || number(p, "cpu_ns"))
			put_process(out, p);
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
		if (number(b, "refused")) {
			cam_out_str(out, ", full ");
			put_count(out, number(b, "refused"), "time");
		}
		cam_out_str(out, "\n");
	}
	cam_out_str(out, "  rings    a CPU: ");
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
	cam_out_str(out, ", ");
	put_count(out, number(v, "windows_sealed"), "window");
	cam_out_printf(out, " sealed, %llu waiting; a window: ",
		       (unsigned long long)number(v, "windows_waiting"));
	put_span(out, number(v, "window_ns"));
	cam_out_str(out, "\n  store    ");
	put_count(out, number(v, "store_windows"), "window");
	cam_out_str(out, ", ");
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
		if (number(e, "times") > 1) {
			cam_out_str(out, " (");
			put_count(out, number(e, "times"), "time");
			cam_out_str(out, ")");
		}
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
		put_stacks(&out, v);
		put_names(&out, v);
		put_causes(&out, v, "lost", LOST);
		put_causes(&out, v, "not kept", NOT_KEPT);
		put_causes(&out, v, "untaken", NOT_TAKEN);
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
	return cam_asking_run(verb, argc, argv, CAM_CONTROL_STATUS, show);
}
