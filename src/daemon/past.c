// SPDX-License-Identifier: Apache-2.0
/*
 * Which windows are the newest is taken from their names: for an estimate that is good enough, and a store of
 * some thousand windows would take half a second to be listed by their headers.
 */
#include "daemon/past.h"

#include "store/name.h"
#include "store/window.h"

#include <string.h>

/* Looked at: some of them may be too small. */
#define CANDIDATES (2 * CAM_PAST_WINDOWS)

/* The newest first. */
struct newest {
	struct {
		char name[CAM_NAME_BYTES];
		int64_t start_ns;
	} windows[CANDIDATES];
	size_t n;
};

static int add_name(void *arg, const char *name)
{
	struct newest *w = arg;
	struct cam_name_parts parts;
	size_t at = w->n;
	if (cam_name_kind(name) != CAM_FILE_WINDOW || !cam_name_parse(name, &parts) ||
	    strlen(name) >= CAM_NAME_BYTES)
		return 0;
	while (at && w->windows[at - 1].start_ns < parts.start_ns)
		at--;
	if (at == CANDIDATES)
		return 0;
	w->n += w->n < CANDIDATES;
	memmove(&w->windows[at + 1], &w->windows[at], (w->n - 1 - at) * sizeof(w->windows[0]));
	strcpy(w->windows[at].name, name);
	w->windows[at].start_ns = parts.start_ns;
	return 0;
}

static int add_counter(void *arg, const struct cam_counter *c)
{
	if (c->kind == CAM_COUNTER_OWN_CPU)
		*(uint64_t *)arg += c->value;
	return 0;
}

static void add_window(struct cam_io *io, const char *name, struct cam_past *p)
{
	struct cam_file *file;
	struct cam_window *w;
	uint64_t own_ns = 0;
	if (io->ops->open(io, name, CAM_IO_READ, &file))
		return;
	int64_t bytes = io->ops->size(file);
	if (cam_window_open(file, &w))
		return;
	if (bytes > 0 && !w->info.imported && w->info.samples >= CAM_PAST_SAMPLES &&
	    w->ops->counters && !w->ops->counters(w, add_counter, &own_ns) && own_ns) {
		p->windows++;
		p->samples += w->info.samples;
		p->file_bytes += (uint64_t)bytes;
		p->own_cpu_ns += own_ns;
	}
	w->ops->close(w);
}

void cam_past_read(struct cam_io *io, struct cam_past *out)
{
	struct newest newest = {.n = 0};
	*out = (struct cam_past){0};
	if (io->ops->list(io, add_name, &newest))
		return;
	for (size_t i = 0; i < newest.n && out->windows < CAM_PAST_WINDOWS; i++)
		add_window(io, newest.windows[i].name, out);
}
