// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that is counted, as Prometheus reads it (text format 0.0.4): the store by its windows' headers,
 * the recorder by its own status, this server by itself.
 */
#include "base/json_value.h"
#include "model/nouns.h"
#include "serve/asked.h"
#include "serve/facts.h"
#include "serve/views.h"

#include <sys/resource.h>

#define STATUS_BYTES (1u << 20)
#define PROCESSES    64u

static void head(struct cam_out *o, const char *name, const char *type, const char *help)
{
	cam_out_printf(o, "# HELP perfcam_%s %s\n# TYPE perfcam_%s %s\n", name, help, name, type);
}

static void put(struct cam_out *o, const char *name, const char *type, const char *help,
		uint64_t value)
{
	head(o, name, type, help);
	cam_out_printf(o, "perfcam_%s %llu\n", name, (unsigned long long)value);
}

static void put_store(struct cam_out *o, const struct cam_facts *f)
{
	put(o, "store_windows", "gauge", "Windows that can be read.", f->windows);
	put(o, "store_unreadable_windows", "gauge", "Windows that cannot.", f->unreadable);
	put(o, "store_sealed_windows", "gauge", "Windows that will not change any more.",
	    f->sealed);
	put(o, "store_bytes", "gauge", "Size of all windows.", f->bytes);
	put(o, "store_samples", "gauge", "Samples in all windows.", f->samples);
	put(o, "store_lost_samples", "gauge", "Samples that were due and are in none, by ledger.",
	    f->lost);
	if (f->to_ns == INT64_MIN)
		return;
	head(o, "store_oldest_timestamp_seconds", "gauge", "When the oldest window begins.");
	cam_out_printf(o, "perfcam_store_oldest_timestamp_seconds %.3f\n",
		       (double)f->from_ns / 1e9);
	head(o, "store_newest_timestamp_seconds", "gauge", "When the newest window ends, so far.");
	cam_out_printf(o, "perfcam_store_newest_timestamp_seconds %.3f\n", (double)f->to_ns / 1e9);
}

static uint64_t number(struct cam_json_value v, const char *key)
{
	struct cam_json_value member;
	uint64_t n = 0;
	return cam_json_value_get(v, key, &member) && cam_json_value_u64(member, &n) ? n : 0;
}

static void put_causes(struct cam_out *o, struct cam_json_value status)
{
	struct cam_json_value causes;
	if (!cam_json_value_get(status, "by_cause", &causes))
		return;
	head(o, "recorder_missed_samples_total", "counter",
	     "Samples that were due and not taken, by cause; loss: whether something was lost.");
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		enum cam_cause cause = (enum cam_cause)i;
		cam_out_printf(
			o, "perfcam_recorder_missed_samples_total{cause=\"%s\",loss=\"%s\"} %llu\n",
			cam_cause_key(cause), cam_cause_is_loss(cause) ? "yes" : "no",
			(unsigned long long)number(causes, cam_cause_key(cause)));
	}
}

/* The recorder's names of its processes are its own few; what is not a plain word is left out. */
static bool process_name(struct cam_json_value p, char name[32])
{
	struct cam_json_value member;
	return cam_json_value_get(p, "name", &member) && cam_json_value_string(member, name, 32) &&
	       name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz-_0123456789")];
}

static void put_processes(struct cam_out *o, struct cam_json_value status)
{
	struct cam_json_value list, p;
	char name[32];
	if (!cam_json_value_get(status, "processes", &list))
		return;
	head(o, "process_cpu_seconds_total", "counter", "CPU time of perfcam's processes.");
	for (unsigned i = 0; i < PROCESSES && cam_json_value_at(list, i, &p); i++)
		if (process_name(p, name))
			cam_out_printf(o,
				       "perfcam_process_cpu_seconds_total{process=\"%s\"} %.3f\n",
				       name, (double)number(p, "cpu_ns") / 1e9);
	head(o, "process_resident_bytes", "gauge", "Memory of perfcam's processes.");
	for (unsigned i = 0; i < PROCESSES && cam_json_value_at(list, i, &p); i++)
		if (process_name(p, name))
			cam_out_printf(o, "perfcam_process_resident_bytes{process=\"%s\"} %llu\n",
				       name, (unsigned long long)number(p, "resident_bytes"));
}

static void put_recorder(struct cam_out *o, const struct cam_server_doors *doors)
{
	struct cam_buf json = CAM_BUF(STATUS_BYTES);
	struct cam_json_value status;
	bool up = doors->status && !doors->status(doors->self, &json) &&
		  !cam_json_value_parse((struct cam_text){(const char *)json.data, json.len},
					&status);
	put(o, "recorder_up", "gauge", "Whether a recorder runs on this store.", up);
	if (up) {
		head(o, "recorder_uptime_seconds", "gauge", "Since it was started.");
		cam_out_printf(o, "perfcam_recorder_uptime_seconds %.3f\n",
			       (double)number(status, "uptime_ns") / 1e9);
		put(o, "recorder_samples_total", "counter", "Samples that were taken and kept.",
		    number(status, "samples"));
		put(o, "recorder_written_bytes_total", "counter", "Written to the store.",
		    number(status, "bytes_written"));
		put(o, "recorder_rate_hertz", "gauge", "Samples a second of a busy CPU.",
		    number(status, "hz"));
		put_causes(o, status);
		put_processes(o, status);
	}
	cam_buf_free(&json);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void put_server(struct cam_out *o, const struct cam_request *q)
{
	struct rusage u;
	head(o, "build_info", "gauge", "The server's version.");
	cam_out_str(o, "perfcam_build_info{version=\"" PERFCAM_VERSION "\"} 1\n");
	if (!getrusage(RUSAGE_SELF, &u)) {
		head(o, "server_cpu_seconds_total", "counter", "CPU time of this server.");
		cam_out_printf(o, "perfcam_server_cpu_seconds_total %.6f\n",
			       seconds(u.ru_utime) + seconds(u.ru_stime));
		put(o, "server_peak_resident_bytes", "gauge", "The most memory it has used.",
		    (uint64_t)u.ru_maxrss << 10);
	}
	cam_tally_write(&q->shared->tally, cam_route_name, o);
}

void cam_answer_metrics(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a)
{
	static const char *const none[] = {NULL};
	struct cam_source *source;
	struct cam_facts f;
	struct cam_out out;
	if (!cam_request_only(q, none, a) || cam_asked_windows(doors, a, &source))
		return;
	cam_facts_gather(source, &f);
	doors->release(doors->self, source);
	cam_out_to_buf(&out, &a->body);
	put_store(&out, &f);
	put_recorder(&out, doors);
	put_server(&out, q);
	a->type = "text/plain; version=0.0.4; charset=utf-8";
	a->status = 200;
	int err = cam_out_finish(&out);
	if (err)
		cam_asked_failed(a, err);
}
