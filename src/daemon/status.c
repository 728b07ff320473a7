// SPDX-License-Identifier: Apache-2.0
#include "daemon/status.h"

#include "base/json.h"
#include "query/quality.h"

static void put_realtime(struct cam_json *j, const char *key, int64_t ns)
{
	if (ns == INT64_MIN)
		cam_json_null(j, key);
	else
		cam_json_i64(j, key, ns);
}

static void put_recording(struct cam_json *j, const struct cam_status *s)
{
	cam_json_text(j, "store", s->store);
	cam_json_text(j, "control", s->control);
	cam_json_text(j, "config", s->config);
	put_realtime(j, "since_realtime_ns", s->since_realtime_ns);
	cam_json_u64(j, "uptime_ns", s->uptime_ns);
	cam_json_text(j, "source", cam_text_of(s->source ? s->source : ""));
	cam_json_text(j, "why_source", s->why_source);
	cam_json_text(j, "event", cam_text_of(s->event ? s->event : ""));
	cam_json_u64(j, "hz", s->hz);
	cam_json_u64(j, "wanted_hz", s->wanted_hz);
	cam_json_u64(j, "cpus", s->cpus);
	cam_json_bool(j, "kernel_stacks", s->kernel_stacks);
	cam_json_text(j, "scope", s->scope);
	cam_json_u64(j, "samples", s->samples);
	cam_json_u64(j, "samples_per_second", s->samples_per_second);
	cam_json_open(j, "by_cause", '{');
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		cam_json_u64(j, cam_cause_key((enum cam_cause)i), s->by_cause[i]);
	cam_json_close(j, '}');
	cam_json_text(j, "shedding", s->shedding);
	cam_json_u64(j, "max_cpu_ppm", s->max_cpu_ppm);
}

static void put_stacks(struct cam_json *j, const struct cam_status_stacks *s)
{
	cam_json_open(j, "stacks", '{');
	cam_json_text(j, "how", s->how);
	if (s->verifier.n)
		cam_json_text(j, "verifier", s->verifier);
	cam_json_open(j, "ends", '{');
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++)
		cam_json_u64(j, i ? cam_stack_end_key((enum cam_stack_end)i) : "unknown",
			     s->ends[i]);
	cam_json_close(j, '}');
	cam_json_u64(j, "guessed", s->guessed);
	cam_json_u64(j, "copies", s->copies);
	cam_json_u64(j, "copies_unwound", s->copies_unwound);
	cam_json_u64(j, "copies_late", s->copies_late);
	cam_json_u64(j, "copies_refused", s->copies_refused);
	if (s->by_tables) {
		cam_json_u64(j, "copies_denied", s->copies_denied);
		cam_json_u64(j, "table_bytes", s->table_bytes);
		cam_json_u64(j, "image_bytes", s->image_bytes);
		cam_json_u64(j, "max_bytes", s->max_bytes);
		cam_json_u64(j, "tables", s->tables);
		cam_json_u64(j, "tables_empty", s->tables_empty);
		cam_json_u64(j, "images", s->images);
		cam_json_u64(j, "processes", s->processes);
		cam_json_u64(j, "evicted_tables", s->evicted_tables);
		cam_json_u64(j, "evicted_images", s->evicted_images);
		cam_json_u64(j, "refused", s->refused);
	}
	cam_json_close(j, '}');
}

static void put_names(struct cam_json *j, const struct cam_status_names *s)
{
	cam_json_open(j, "names", '{');
	cam_json_u64(j, "held_files", s->held);
	cam_json_u64(j, "left_out_files", s->left_out);
	cam_json_u64(j, "elsewhere_files", s->elsewhere);
	cam_json_u64(j, "poisoned_files", s->poisoned);
	cam_json_u64(j, "symbols_only_files", s->symbols_only);
	cam_json_u64(j, "debug_files", s->debug);
	cam_json_close(j, '}');
}

static void put_cost(struct cam_json *j, const struct cam_status *s)
{
	cam_json_open(j, "processes", '[');
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct cam_status_process *p = &s->processes[i];
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "name", cam_text_of(p->name));
		cam_json_i64(j, "pid", p->pid);
		cam_json_u64(j, "cpu_ns", p->cpu_ns);
		cam_json_u64(j, "cpu_ppm", p->cpu_ppm);
		cam_json_u64(j, "resident_bytes", p->resident_bytes);
		cam_json_u64(j, "restarts", p->restarts);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_open(j, "budgets", '[');
	for (size_t i = 0; i < s->n_budgets; i++) {
		const struct cam_status_budget *b = &s->budgets[i];
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "name", cam_text_of(b->name));
		cam_json_u64(j, "used", b->used);
		cam_json_u64(j, "limit", b->limit);
		cam_json_u64(j, "refused", b->refused);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_u64(j, "ring_bytes", s->ring_bytes);
	cam_json_u64(j, "sample_ring_bytes", s->sample_ring_bytes);
	cam_json_u64(j, "side_ring_bytes", s->side_ring_bytes);
	cam_json_bool(j, "rings_shrunk", s->rings_shrunk);
	cam_json_u64(j, "bytes_written", s->bytes_written);
}

static void put_store(struct cam_json *j, const struct cam_status *s)
{
	cam_json_u64(j, "window_ns", s->window_ns);
	cam_json_u64(j, "windows_sealed", s->windows_sealed);
	cam_json_u64(j, "windows_waiting", s->windows_waiting);
	cam_json_u64(j, "store_windows", s->store_windows);
	cam_json_u64(j, "store_bytes", s->store_bytes);
	cam_json_u64(j, "max_bytes", s->max_bytes);
	cam_json_u64(j, "free_bytes", s->free_bytes);
	put_realtime(j, "oldest_realtime_ns", s->oldest_realtime_ns);
	cam_json_u64(j, "pins", s->pins);
	cam_json_u64(j, "pinned_bytes", s->pinned_bytes);
	cam_json_u64(j, "max_pinned_bytes", s->max_pinned_bytes);
	cam_json_open(j, "errors", '[');
	for (size_t i = 0; i < s->n_errors; i++) {
		const struct cam_status_error *e = &s->errors[i];
		cam_json_open(j, NULL, '{');
		put_realtime(j, "realtime_ns", e->realtime_ns);
		cam_json_u64(j, "times", e->times);
		cam_json_text(j, "text", e->text);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

void cam_status_write(const struct cam_status *s, struct cam_buf *out)
{
	struct cam_out to;
	struct cam_json j = {&to, false};
	cam_out_to_buf(&to, out);
	cam_json_open(&j, NULL, '{');
	put_recording(&j, s);
	put_stacks(&j, &s->stacks);
	put_names(&j, &s->names);
	put_cost(&j, s);
	put_store(&j, s);
	cam_json_close(&j, '}');
	cam_out_str(&to, "\n");
	cam_out_finish(&to);
}
