// SPDX-License-Identifier: Apache-2.0
#include "serve/facts.h"

#include "base/runs.h"
#include "query/group_extra.h"
#include "query/overview.h"

static void add_window(struct cam_facts *f, const struct cam_window_info *w, size_t i)
{
	f->windows++;
	f->sealed += w->sealed;
	f->samples += w->samples;
	f->unslotted += w->has_slots ? 0 : w->samples;
	f->lost += w->lost;
	f->bytes += w->file_bytes;
	f->events += w->events;
	f->cpus = w->cpus > f->cpus ? w->cpus : f->cpus;
	f->several_hosts =
		f->several_hosts || (f->windows > 1 && !cam_text_equal(f->host, w->host));
	f->host = w->host;
	f->newest = i;
	int64_t to;
	if (!cam_overview_place(w, &to))
		return;
	if (f->from_ns == INT64_MIN || w->realtime_ns < f->from_ns)
		f->from_ns = w->realtime_ns;
	if (f->to_ns == INT64_MIN || to > f->to_ns)
		f->to_ns = to;
}

void cam_facts_gather(struct cam_source *source, struct cam_facts *f)
{
	*f = (struct cam_facts){.from_ns = INT64_MIN, .to_ns = INT64_MIN, .newest = SIZE_MAX};
	size_t n = source->ops->count(source);
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info;
		if (source->ops->info(source, i, &info))
			f->unreadable++;
		else
			add_window(f, info, i);
	}
}

/* More than Linux has. Who sends a file may say that it is of a host with four billion. */
#define MOST_CPUS 8192u

struct said {
	const struct cam_tables *tables;
	struct cam_text nodes, kernel, model;
};

/* A recorder has words of its own, an import has perf's. */
static int take_fact(void *arg, const struct cam_fact *f)
{
	struct said *x = arg;
	struct cam_text key = cam_string(x->tables, f->key),
			value = cam_string(x->tables, f->value);
	if (cam_text_equal(key, CAM_TEXT(CAM_FACT_NODES)))
		x->nodes = value;
	else if (cam_text_equal(key, CAM_TEXT("kernel")) ||
		 cam_text_equal(key, CAM_TEXT("os release")))
		x->kernel = value;
	else if (cam_text_equal(key, CAM_TEXT("cpudesc")))
		x->model = value;
	return 0;
}

/* What the newest window says of its host. NULL: nothing; else the window, which holds the texts, is the caller's to close. */
static struct cam_window *ask_newest(struct cam_source *source, const struct cam_facts *f,
				     struct said *x)
{
	struct cam_window *w;
	*x = (struct said){0};
	if (f->newest == SIZE_MAX || source->ops->open(source, f->newest, &w))
		return NULL;
	if (!w->ops->tables(w, &x->tables))
		w->ops->facts(w, take_fact, x);
	return w;
}

static void put_nodes(struct cam_json *j, struct cam_text runs, const uint32_t *cpus, size_t n)
{
	if (!n || n > MOST_CPUS || !runs.n || runs.n > CAM_RUNS_BYTES) {
		cam_json_null(j, "nodes");
		return;
	}
	cam_json_open(j, "nodes", '[');
	for (size_t i = 0; i < n; i++)
		cam_json_i64(j, NULL, cam_runs_at(runs, cpus ? cpus[i] : (uint32_t)i));
	cam_json_close(j, ']');
}

static void put_text(struct cam_json *j, const char *key, struct cam_text value)
{
	if (value.n)
		cam_json_text(j, key, value);
	else
		cam_json_null(j, key);
}

void cam_facts_put_nodes(struct cam_json *j, struct cam_source *source, const uint32_t *cpus,
			 size_t n)
{
	struct cam_facts f;
	struct said x;
	cam_facts_gather(source, &f);
	struct cam_window *w = ask_newest(source, &f, &x);
	put_nodes(j, x.nodes, cpus, n);
	if (w)
		w->ops->close(w);
}

void cam_facts_put_host(struct cam_json *j, struct cam_source *source, const struct cam_facts *f)
{
	const struct cam_tables *t;
	struct said x;
	uint64_t period = 0;
	struct cam_window *w = ask_newest(source, f, &x);
	put_nodes(j, x.nodes, NULL, f->cpus);
	put_text(j, "kernel", x.kernel);
	put_text(j, "cpu_model", x.model);
	if (w && !cam_window_words(w, &t))
		for (size_t i = 0; i < t->n_etypes && !period; i++)
			period = t->etypes[i].period_ns;
	cam_json_u64(j, "period_ns", period);
	if (w)
		w->ops->close(w);
}
