// SPDX-License-Identifier: Apache-2.0
/*
 * A window with events, counters, facts and a ledger that a test knows: no text that is imported has any.
 *
 *	annotate IN.pcw OUT.pcw < lines
 *
 *	event TIME SEVERITY SOURCE TEXT…
 *	counter KIND SUBJECT TIME SPAN VALUE
 *	missing CAUSE CPU FROM TO SAMPLES
 *	fact KEY VALUE…
 *	cgroup PID PATH…
 *
 * Times are nanoseconds of the window's clock, kinds and causes numbers of the model; events and counters come
 * in any order; what lies outside the window is left out. Bytes of a text are taken as they are, up to the end of the line.
 */
#include "model/cursor.h"
#include "store/counters.h"
#include "store/window.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_EVENTS 4096u
#define MOST_LEDGER 4096u
#define MOST_FACTS  16u

static struct cam_event events[MOST_EVENTS];
static struct cam_ledger_row missing[MOST_LEDGER];
static struct cam_fact facts[MOST_FACTS];
static size_t n_events, n_missing, n_facts;
static const struct cam_window_ops *had; /* the window's own */
static struct cam_counters counters;

static struct cam_range range;

static bool is_within(uint64_t time_ns)
{
	return time_ns > range.from_ns && time_ns <= range.to_ns;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "annotate: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int give_events(struct cam_window *w, cam_event_fn *fn, void *arg)
{
	int err = 0;
	(void)w;
	for (size_t i = 0; i < n_events && !err; i++)
		err = fn(arg, &events[i]);
	return err;
}

static int give_counters(struct cam_window *w, cam_counter_fn *fn, void *arg)
{
	(void)w;
	return cam_counters_give(&counters, fn, arg);
}

static int give_missing(struct cam_window *w, cam_ledger_fn *fn, void *arg)
{
	int err = 0;
	(void)w;
	for (size_t i = 0; i < n_missing && !err; i++)
		err = fn(arg, &missing[i]);
	return err;
}

/* Those that it has, and ours. */
static int give_facts(struct cam_window *w, cam_fact_fn *fn, void *arg)
{
	int err = had->facts(w, fn, arg);
	for (size_t i = 0; i < n_facts && !err; i++)
		err = fn(arg, &facts[i]);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct cam_event *x = a, *y = b;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void read_event(struct cam_tables *t, char *line, size_t n)
{
	uint64_t time = 0;
	unsigned severity = 0;
	char source[32] = "";
	int at = 0;
	if (n_events == MOST_EVENTS ||
	    sscanf(line, "event %" SCNu64 " %u %31s %n", &time, &severity, source, &at) != 3)
		check(-EINVAL, line);
	if (!is_within(time))
		return;
	struct cam_event *e = &events[n_events++];
	*e = (struct cam_event){.time_ns = time, .severity = (enum cam_severity)severity};
	check(cam_string_intern(t, cam_text_of(source), &e->source), "source");
	check(cam_string_intern(t, (struct cam_text){line + at, n - (size_t)at}, &e->text), "text");
}

static void read_fact(struct cam_tables *t, const char *line, size_t n)
{
	char key[32] = "";
	int at = 0;
	if (n_facts == MOST_FACTS || sscanf(line, "fact %31s %n", key, &at) != 1)
		check(-EINVAL, line);
	struct cam_fact *f = &facts[n_facts++];
	check(cam_string_intern(t, cam_text_of(key), &f->key), "key");
	check(cam_string_intern(t, (struct cam_text){line + at, n - (size_t)at}, &f->value),
	      "value");
}

/* Of every task of that process. */
static void read_cgroup(struct cam_tables *t, const char *line, size_t n)
{
	struct cam_str_id path;
	int32_t pid = 0;
	int at = 0;
	if (sscanf(line, "cgroup %" SCNd32 " %n", &pid, &at) != 1)
		check(-EINVAL, line);
	check(cam_string_intern(t, (struct cam_text){line + at, n - (size_t)at}, &path), "path");
	for (size_t i = 0; i < t->n_tasks; i++)
		if (t->tasks[i].pid == pid)
			t->tasks[i].cgroup = path;
}

static void read_line(struct cam_tables *t, char *line, size_t n)
{
	struct cam_counter c = {0};
	struct cam_ledger_row r = {0};
	unsigned kind;
	if (!strncmp(line, "event ", 6)) {
		read_event(t, line, n);
	} else if (!strncmp(line, "fact ", 5)) {
		read_fact(t, line, n);
	} else if (!strncmp(line, "cgroup ", 7)) {
		read_cgroup(t, line, n);
	} else if (sscanf(line, "counter %u %u %" SCNu64 " %" SCNu64 " %" SCNu64, &kind, &c.subject,
			  &c.time_ns, &c.span_ns, &c.value) == 5) {
		c.kind = (enum cam_counter_kind)kind;
		/* A reading may come a little behind the last sample. */
		bool near = is_within(c.time_ns) || is_within(c.time_ns - 100000000);
		check(near ? cam_counters_add(&counters, &c) : 0, "counter");
	} else if (n_missing < MOST_LEDGER &&
		   sscanf(line, "missing %u %u %" SCNu64 " %" SCNu64 " %" SCNu64, &kind, &r.cpu,
			  &r.from_ns, &r.to_ns, &r.samples) == 5) {
		r.cause = (enum cam_cause)kind;
		missing[n_missing] = r;
		n_missing += is_within(r.from_ns);
	} else {
		check(-EINVAL, line);
	}
}

int main(int argc, char **argv)
{
	struct cam_file *file = NULL;
	struct cam_window *w = NULL;
	const struct cam_tables *tables;
	struct cam_out out;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	check(argc == 3 ? 0 : -EINVAL, "annotate IN.pcw OUT.pcw");
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	check(fd < 0 ? -errno : cam_file_from_fd(fd, &file), argv[1]);
	check(cam_window_open(file, &w), argv[1]);
	check(w->ops->tables(w, &tables), argv[1]);
	range = (struct cam_range){w->info.start_ns, w->info.end_ns};
	while ((n = getline(&line, &cap, stdin)) > 0) {
		line[--n] = 0;
		read_line((struct cam_tables *)tables, line, (size_t)n);
	}
	free(line);
	qsort(events, n_events, sizeof(events[0]), by_time);
	check(cam_counters_sort(&counters), "counters");
	struct cam_window_ops ops = *w->ops;
	had = w->ops;
	ops.facts = give_facts;
	ops.events = give_events;
	ops.counters = give_counters;
	ops.ledger = give_missing;
	w->ops = &ops;
	w->info.events = (uint32_t)n_events;
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	check(fd < 0 ? -errno : 0, argv[2]);
	cam_out_to_fd(&out, fd);
	check(cam_window_write(w, &out), argv[2]);
	check(cam_out_finish(&out), argv[2]);
	close(fd);
	cam_counters_free(&counters);
	had->close(w);
	return 0;
}
