// SPDX-License-Identifier: Apache-2.0
/*
 * All that a store (or one window) says through door D, as lines of JSON: what the program's own verbs do
 * not show (exe, cgroup, uid, start of a process, ledger, anchors), for the tests of this directory.
 *
 *	dump_store DIR|FILE.pcw [--no-samples]
 *
 * Of each window: a line "gap" where there is one before it, "window", then "sample", "ledger", "cell",
 * "anchor", "fact", "event" lines, then its tables ("task", "function", "stack") that samples refer to
 * by number, and "end" with the damage met.
 */
#include "base/json.h"
#include "store/store.h"
#include "store/window.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dump {
	struct cam_json j;
	const struct cam_tables *t;
	bool samples;
};

static void begin(struct dump *d, const char *kind)
{
	d->j.comma = false;
	cam_json_open(&d->j, NULL, '{');
	cam_json_text(&d->j, "kind", cam_text_of(kind));
}

static void end(struct dump *d)
{
	cam_json_close(&d->j, '}');
	cam_out_str(d->j.out, "\n");
}

static int put_batch(void *arg, const struct cam_batch *b)
{
	struct dump *d = arg;
	for (size_t i = 0; i < b->n; i++) {
		begin(d, "sample");
		cam_json_u64(&d->j, "time", b->time_ns[i]);
		cam_json_i64(&d->j, "cpu", b->cpu[i] == CAM_CPU_NONE ? -1 : (int64_t)b->cpu[i]);
		cam_json_u64(&d->j, "task", b->task[i]);
		cam_json_u64(&d->j, "stack", b->stack[i]);
		cam_json_u64(&d->j, "weight", b->weight[i]);
		if (b->comm[i] != d->t->tasks[b->task[i]].comm.v)
			cam_json_text(&d->j, "comm",
				      cam_string(d->t, (struct cam_str_id){b->comm[i]}));
		end(d);
	}
	return 0;
}

static void put_row(struct dump *d, const char *kind, const struct cam_ledger_row *r)
{
	begin(d, kind);
	cam_json_text(&d->j, "cause", cam_text_of(cam_cause_key(r->cause)));
	cam_json_i64(&d->j, "cpu", r->cpu == CAM_CPU_NONE ? -1 : (int64_t)r->cpu);
	cam_json_u64(&d->j, "from", r->from_ns);
	cam_json_u64(&d->j, "to", r->to_ns);
	cam_json_u64(&d->j, "samples", r->samples);
	end(d);
}

static int put_ledger(void *arg, const struct cam_ledger_row *r)
{
	put_row(arg, "ledger", r);
	return 0;
}

static int put_cell(void *arg, const struct cam_cell *c)
{
	struct dump *d = arg;
	begin(d, "cell");
	cam_json_u64(&d->j, "second", c->second);
	cam_json_i64(&d->j, "cpu", c->cpu == CAM_CPU_NONE ? -1 : (int64_t)c->cpu);
	cam_json_u64(&d->j, "busy", c->busy);
	cam_json_open(&d->j, "causes", '{');
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		if (c->by_cause[i])
			cam_json_u64(&d->j, cam_cause_key(i), c->by_cause[i]);
	cam_json_close(&d->j, '}');
	end(d);
	return 0;
}

static void put_time(struct dump *d, const char *key, uint64_t ns)
{
	if (ns == CAM_TIME_NONE)
		cam_json_null(&d->j, key);
	else
		cam_json_u64(&d->j, key, ns);
}

static int put_anchor(void *arg, const struct cam_anchor *a)
{
	struct dump *d = arg;
	begin(d, "anchor");
	put_time(d, "time", a->time_ns);
	put_time(d, "raw", a->raw_ns);
	put_time(d, "boottime", a->boottime_ns);
	put_time(d, "sched", a->sched_ns);
	cam_json_i64(&d->j, "realtime", a->realtime_ns);
	put_time(d, "uncertainty", a->uncertainty_ns);
	end(d);
	return 0;
}

static int put_fact(void *arg, const struct cam_fact *f)
{
	struct dump *d = arg;
	begin(d, "fact");
	cam_json_text(&d->j, "key", cam_string(d->t, f->key));
	cam_json_text(&d->j, "value", cam_string(d->t, f->value));
	end(d);
	return 0;
}

static int put_event(void *arg, const struct cam_event *e)
{
	struct dump *d = arg;
	begin(d, "event");
	cam_json_u64(&d->j, "time", e->time_ns);
	cam_json_u64(&d->j, "uncertainty", e->uncertainty_ns);
	cam_json_u64(&d->j, "severity", e->severity);
	cam_json_text(&d->j, "source", cam_string(d->t, e->source));
	cam_json_text(&d->j, "text", cam_string(d->t, e->text));
	end(d);
	return 0;
}

static void put_tasks(struct dump *d)
{
	for (size_t i = 0; i < d->t->n_tasks; i++) {
		const struct cam_task *k = &d->t->tasks[i];
		begin(d, "task");
		cam_json_u64(&d->j, "id", i);
		cam_json_i64(&d->j, "pid", k->pid);
		cam_json_i64(&d->j, "tid", k->tid);
		cam_json_i64(&d->j, "uid", k->uid == CAM_UID_NONE ? -1 : (int64_t)k->uid);
		cam_json_text(&d->j, "comm", cam_string(d->t, k->comm));
		cam_json_text(&d->j, "exe", cam_string(d->t, k->exe));
		cam_json_text(&d->j, "cgroup", cam_string(d->t, k->cgroup));
		cam_json_u64(&d->j, "start", k->start_ns);
		end(d);
	}
}

static void put_functions(struct dump *d)
{
	static const char *const kinds[] = {"user", "kernel", "jit", "inlined", "mark"};
	for (size_t i = 0; i < d->t->n_functions; i++) {
		const struct cam_function *f = &d->t->functions[i];
		const struct cam_module *m = &d->t->modules[f->module.v];
		begin(d, "function");
		cam_json_u64(&d->j, "id", i);
		cam_json_text(&d->j, "name", cam_string(d->t, f->name));
		cam_json_text(&d->j, "is", cam_text_of(kinds[f->kind]));
		cam_json_u64(&d->j, "source", f->source);
		cam_json_text(&d->j, "module", cam_string(d->t, m->path));
		end(d);
	}
}

static void put_stacks(struct dump *d)
{
	for (size_t i = 1; i < d->t->stacks.n; i++) {
		begin(d, "stack");
		cam_json_u64(&d->j, "id", i);
		cam_json_u64(&d->j, "parent", d->t->stacks.parent[i]);
		cam_json_u64(&d->j, "function", d->t->stacks.item[i]);
		end(d);
	}
}

static void put_info(struct dump *d, const struct cam_window_info *w)
{
	begin(d, "window");
	cam_json_text(&d->j, "name", w->name);
	cam_json_u64(&d->j, "start", w->start_ns);
	cam_json_u64(&d->j, "end", w->end_ns);
	cam_json_i64(&d->j, "realtime", w->realtime_ns);
	cam_json_u64(&d->j, "samples", w->samples);
	cam_json_u64(&d->j, "lost", w->lost);
	cam_json_bool(&d->j, "sealed", w->sealed);
	cam_json_bool(&d->j, "clean_end", w->clean_end);
	end(d);
}

static int put_window(struct dump *d, struct cam_window *w)
{
	int err = w->ops->tables(w, &d->t);
	put_info(d, &w->info);
	if (!err && d->samples)
		err = w->ops->samples(w, CAM_RANGE_ALL, 0x3ff, put_batch, d);
	err = err ? err : w->ops->ledger(w, put_ledger, d);
	err = err ? err : w->ops->cells(w, put_cell, d);
	err = err ? err : w->ops->anchors(w, put_anchor, d);
	err = err ? err : w->ops->facts(w, put_fact, d);
	err = err ? err : w->ops->events(w, put_event, d);
	if (!err) {
		put_tasks(d);
		put_functions(d);
		put_stacks(d);
	}
	begin(d, "end");
	cam_json_i64(&d->j, "error", err);
	cam_json_u64(&d->j, "damaged", w->damage.chunks);
	end(d);
	w->ops->close(w);
	return err;
}

static int dump_directory(struct dump *d, const char *path)
{
	struct cam_io *io;
	struct cam_source *s;
	int err = cam_io_posix_open(path, false, &io);
	if (err)
		return err;
	err = cam_store_open_read(io, &s);
	if (!err) {
		size_t n = s->ops->count(s);
		const struct cam_window_info *before = NULL, *info;
		for (size_t i = 0; i < n && !err; i++, before = info) {
			struct cam_window *w;
			struct cam_ledger_row gap;
			err = s->ops->info(s, i, &info);
			if (!err && before && cam_gap_between(before, info, &gap))
				put_row(d, "gap", &gap);
			err = err ? err : s->ops->open(s, i, &w);
			err = err ? err : put_window(d, w);
		}
		s->ops->close(s);
	}
	cam_io_posix_close(io);
	return err;
}

static int dump_file(struct dump *d, const char *path)
{
	struct cam_file *file;
	struct cam_window *w;
	int err = cam_file_from_fd(open(path, O_RDONLY | O_CLOEXEC), &file);
	err = err ? err : cam_window_open(file, &w);
	return err ? err : put_window(d, w);
}

int main(int argc, char **argv)
{
	static struct cam_out out;
	struct dump d = {.j = {&out, false}, .samples = argc == 2};
	struct stat st;
	bool good = argc == 2 || (argc == 3 && !strcmp(argv[2], "--no-samples"));
	if (!good || stat(argv[1], &st)) {
		fprintf(stderr, "usage: dump_store DIR|FILE.pcw [--no-samples]\n");
		return 2;
	}
	cam_out_to_fd(&out, 1);
	int err = S_ISDIR(st.st_mode) ? dump_directory(&d, argv[1]) : dump_file(&d, argv[1]);
	int written = cam_out_finish(&out);
	if (err || written)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-(err ? err : written)));
	return err || written;
}
