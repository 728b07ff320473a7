// SPDX-License-Identifier: Apache-2.0
#include "serve/facts.h"

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
