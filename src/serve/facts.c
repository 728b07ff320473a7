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

struct nodes {
	const struct cam_tables *tables;
	struct cam_text runs;
};

static int take_nodes(void *arg, const struct cam_fact *f)
{
	struct nodes *x = arg;
	if (cam_text_equal(cam_string(x->tables, f->key), CAM_TEXT(CAM_FACT_NODES)))
		x->runs = cam_string(x->tables, f->value);
	return 0;
}

static void put_nodes(struct cam_json *j, struct cam_text runs, const uint32_t *cpus, size_t n)
{
	cam_json_open(j, "nodes", '[');
	for (size_t i = 0; i < n; i++)
		cam_json_i64(j, NULL, cam_runs_at(runs, cpus ? cpus[i] : (uint32_t)i));
	cam_json_close(j, ']');
}

void cam_facts_put_nodes(struct cam_json *j, struct cam_source *source, const uint32_t *cpus,
			 size_t n)
{
	struct cam_facts f;
	struct cam_window *w;
	struct nodes x = {0};
	cam_facts_gather(source, &f);
	bool open = n && n <= MOST_CPUS && f.newest != SIZE_MAX &&
		    !source->ops->open(source, f.newest, &w);
	if (open && !w->ops->tables(w, &x.tables))
		w->ops->facts(w, take_nodes, &x);
	if (x.runs.n && x.runs.n <= CAM_RUNS_BYTES)
		put_nodes(j, x.runs, cpus, n);
	else
		cam_json_null(j, "nodes");
	if (open)
		w->ops->close(w);
}
