// SPDX-License-Identifier: Apache-2.0
#include "render/json_why.h"

#include "render/json_table.h"
#include "render/text_moment.h"

#define MAX_SENTENCE (64u << 10)

static void put_wall(struct cam_json *j, const char *key, int64_t ns)
{
	if (ns == INT64_MIN)
		cam_json_null(j, key);
	else
		cam_json_i64(j, key, ns);
}

static void put_known(struct cam_json *j, const char *key, double v)
{
	if (v < 0)
		cam_json_null(j, key);
	else
		cam_json_double(j, key, v);
}

static void put_cpu(struct cam_json *j, uint32_t cpu)
{
	if (cpu == CAM_CPU_NONE)
		cam_json_null(j, "cpu");
	else
		cam_json_u64(j, "cpu", cpu);
}

/* A piece of text that is written as for a terminal. */
struct piece {
	struct cam_buf buf;
	struct cam_out out;
};

static void begin(struct piece *p)
{
	p->buf = (struct cam_buf)CAM_BUF(MAX_SENTENCE);
	cam_out_to_buf(&p->out, &p->buf);
}

static void end(struct piece *p, struct cam_json *j, const char *key)
{
	int err = cam_out_finish(&p->out);
	if (err && !j->out->error)
		j->out->error = err;
	cam_json_text(j, key, (struct cam_text){(const char *)p->buf.data, p->buf.len});
	cam_buf_free(&p->buf);
}

static void put_words(struct cam_json *j, const struct cam_why *w, const struct cam_why_finding *f,
		      const struct cam_text_why_options *o)
{
	struct piece p;
	begin(&p);
	cam_text_why_sentence(w, f, o, &p.out);
	end(&p, j, "sentence");
	begin(&p);
	cam_text_why_command(f, o, &p.out);
	end(&p, j, "command");
}

static void put_path(struct cam_json *j, const struct cam_why_finding *f)
{
	if (f->n_path)
		cam_json_text(j, "function", f->path[0]);
	else
		cam_json_null(j, "function");
	cam_json_open(j, "path", '[');
	for (size_t i = 0; i < f->n_path; i++)
		cam_json_text(j, NULL, f->path[i]);
	cam_json_close(j, ']');
	cam_json_u64(j, "function_samples", f->path_samples);
	if (f->entry.n)
		cam_json_text(j, "entry", f->entry);
	else
		cam_json_null(j, "entry");
}

static void put_finding(struct cam_json *j, const struct cam_why *w, size_t i,
			const struct cam_text_why_options *o)
{
	const struct cam_why_finding *f = &w->findings[i];
	cam_json_open(j, NULL, '{');
	cam_json_u64(j, "rank", i + 1);
	cam_json_text(j, "kind", cam_text_of(cam_why_kind_key(f->kind)));
	cam_json_bool(j, "significant", f->significant);
	if (f->process.n)
		cam_json_text(j, "process", f->process);
	else
		cam_json_null(j, "process");
	if (f->pid == CAM_PID_NONE)
		cam_json_null(j, "pid");
	else
		cam_json_i64(j, "pid", f->pid);
	cam_json_u64(j, "processes", f->processes);
	cam_json_text(j, "cgroup", f->cgroup);
	put_path(j, f);
	put_cpu(j, f->cpu);
	cam_json_u64(j, "cpu_samples", f->cpu_samples);
	cam_json_u64(j, "run_ns", f->run_ns);
	cam_json_u64(j, "other_cores", f->other_cores);
	cam_json_u64(j, "kernel_samples", f->kernel_samples);
	cam_json_u64(j, "explained_samples", f->explained);
	put_known(j, "share", f->share);
	put_known(j, "baseline", f->baseline);
	if (f->expected > 0)
		cam_json_double(j, "ratio", (double)f->samples / f->expected);
	else
		cam_json_null(j, "ratio");
	cam_json_double(j, "p", f->p);
	cam_json_double(j, "score", f->score);
	cam_json_u64(j, "samples", f->samples);
	cam_json_double(j, "expected", f->expected);
	put_known(j, "expected_by_the_minute_before", f->before);
	put_known(j, "expected_by_other_days", f->days);
	cam_json_u64(j, "other_times", f->episodes);
	put_wall(j, "time_ns", f->wall_ns);
	cam_json_u64(j, "clock_ns", f->clock_ns);
	cam_json_u64(j, "length_ns", f->length_ns);
	cam_json_u64(j, "span_ns", f->span_ns);
	put_words(j, w, f, o);
	cam_json_close(j, '}');
}

static void put_history(struct cam_json *j, const struct cam_why *w, bool of_one_moment)
{
	struct piece p;
	cam_json_open(j, "history", '{');
	cam_json_u64(j, "seconds", w->history_s);
	cam_json_u64(j, "unobserved_seconds", w->unobserved_s);
	cam_json_u64(j, "function_seconds", w->functions_s);
	cam_json_u64(j, "process_seconds", w->processes_s);
	cam_json_u64(j, "windows_left_out", w->left_out);
	cam_json_u64(j, "moments", w->moments);
	cam_json_double(j, "threshold", w->threshold);
	cam_json_double(j, "stop_threshold", w->stop_threshold);
	cam_json_bool(j, "coarse", w->coarse);
	begin(&p);
	cam_text_why_evidence(w, &p.out);
	if (of_one_moment)
		cam_text_why_scales(w, &p.out);
	end(&p, j, "sentence");
	cam_json_close(j, '}');
}

static void put_cores(struct cam_json *j, const struct cam_why *w,
		      const struct cam_text_why_options *o)
{
	cam_json_open(j, "cores", '[');
	for (size_t i = 0; i < w->n_cores; i++) {
		const struct cam_why_core *c = &w->cores[i];
		struct piece p;
		cam_json_open(j, NULL, '{');
		put_cpu(j, c->cpu);
		cam_json_text(j, "process", c->process);
		cam_json_i64(j, "pid", c->pid);
		cam_json_text(j, "function", c->function);
		put_wall(j, "time_ns", c->wall_ns);
		cam_json_u64(j, "clock_ns", c->clock_ns);
		cam_json_u64(j, "length_ns", c->length_ns);
		cam_json_u64(j, "samples", c->samples);
		cam_json_u64(j, "process_samples", c->own);
		begin(&p);
		cam_text_why_core(c, o, &p.out);
		end(&p, j, "sentence");
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_u64(j, "cores_in_all", w->n_all_cores);
}

static void put_waits(struct cam_json *j, const struct cam_why *w)
{
	cam_json_open(j, "waited", '[');
	for (size_t i = 0; i < w->n_waits; i++) {
		cam_json_open(j, NULL, '{');
		cam_json_u64(j, "tid", w->waits[i].tid);
		cam_json_text(j, "comm", w->waits[i].name);
		cam_json_double(j, "share", w->waits[i].inside);
		put_known(j, "usual", w->waits[i].outside);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void put_host(struct cam_json *j, const struct cam_moment *m)
{
	cam_json_open(j, "host", '[');
	for (size_t i = 0; i < m->n_counters; i++) {
		const struct cam_moment_counter *c = &m->counters[i];
		struct piece p;
		if (!c->stands_out)
			continue;
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "what", cam_text_of(cam_text_counter_words(c->kind)));
		cam_json_double(j, "value", (double)c->inside / 1000);
		put_known(j, "usual", c->has_outside ? (double)c->outside / 1000 : -1);
		cam_json_text(j, "unit", cam_text_of(cam_text_counter_unit(c->kind)));
		begin(&p);
		cam_text_counter_sentence(c, &p.out);
		end(&p, j, "sentence");
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

void cam_json_why(struct cam_json *j, const struct cam_why *w, const struct cam_text_why_options *o)
{
	bool blind = w->asked_unobserved_s >= w->asked_s;
	cam_json_text(j, "answer",
		      w->n_significant ? CAM_TEXT("unusual")
		      : blind	       ? CAM_TEXT("not_observed")
				       : CAM_TEXT("nothing_unusual"));
	put_wall(j, "time_ns", w->moment.wall_ns);
	cam_json_u64(j, "clock_ns", w->moment.clock_ns);
	cam_json_text(j, "window", w->moment.window);
	cam_json_u64(j, "asked_seconds", w->asked_s);
	cam_json_u64(j, "asked_unobserved_seconds", w->asked_unobserved_s);
	put_known(j, "busy", w->busy);
	cam_json_open(j, "findings", '[');
	for (size_t i = 0; i < w->n_significant; i++)
		put_finding(j, w, i, o);
	cam_json_close(j, ']');
	cam_json_open(j, "closest", '[');
	for (size_t i = w->n_significant; i < w->n_findings; i++)
		put_finding(j, w, i, o);
	cam_json_close(j, ']');
	put_cores(j, w, o);
	put_waits(j, w);
	put_host(j, &w->moment);
	put_history(j, w, true);
	cam_json_notes(j, w->notes);
	cam_json_open(j, "seen", '{');
	cam_json_seen(j, &w->seen);
	cam_json_close(j, '}');
}

void cam_json_moments(struct cam_json *j, const struct cam_why *w,
		      const struct cam_text_why_options *o)
{
	cam_json_open(j, "moments", '[');
	for (size_t i = 0; i < w->n_findings; i++)
		put_finding(j, w, i, o);
	cam_json_close(j, ']');
	put_history(j, w, false);
	cam_json_open(j, "seen", '{');
	cam_json_seen(j, &w->seen);
	cam_json_close(j, '}');
}
