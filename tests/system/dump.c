// SPDX-License-Identifier: Apache-2.0
/* What a store holds, a line each, for tests that count:
 *	window NAME START END REALTIME SAMPLES LOST CLEAN SEALED
 *	gap CAUSE FROM TO			(before this window, since the one above)
 *	sample TIME CPU PID TID UID COMM EXE FRAME;FRAME…	(leaf first, at most 4)
 *	ledger CAUSE CPU FROM TO SAMPLES	(CPU -1: all)
 *	cell SECOND CPU BUSY CAUSE=SAMPLES…
 *	event TIME SOURCE TEXT
 *	fact KEY VALUE
 * Fields are separated by tabs; samples only with --samples. */
#include "base/units.h"
#include "model/cursor.h"
#include "store/io.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_FRAMES 4

static const struct cam_tables *tables;
static char ledger_word[] = "ledger", gap_word[] = "gap";

static void put(struct cam_str_id id, char after)
{
	struct cam_text s = cam_string(tables, id);
	for (size_t i = 0; i < s.n; i++)
		putchar((unsigned char)s.p[i] < ' ' ? '?' : s.p[i]);
	putchar(after);
}

static int put_samples(void *arg, const struct cam_batch *b)
{
	(void)arg;
	for (size_t i = 0; i < b->n; i++) {
		const struct cam_task *k = &tables->tasks[b->task[i]];
		printf("sample\t%" PRIu64 "\t%u\t%d\t%d\t%d\t", b->time_ns[i], b->cpu[i], k->pid,
		       k->tid, (int)k->uid);
		put((struct cam_str_id){b->comm[i]}, '\t');
		put(k->exe, '\t');
		uint32_t node = b->stack[i];
		for (int n = 0; node && n < MAX_FRAMES; n++, node = tables->stacks.parent[node])
			put(tables->functions[tables->stacks.item[node]].name, ';');
		putchar('\n');
	}
	return 0;
}

static int put_ledger(void *arg, const struct cam_ledger_row *l)
{
	printf("%s\t%s\t%d\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", (const char *)arg,
	       cam_cause_key(l->cause), (int)l->cpu, l->from_ns, l->to_ns, l->samples);
	return 0;
}

static int put_cell(void *arg, const struct cam_cell *c)
{
	(void)arg;
	printf("cell\t%" PRIu64 "\t%u\t%" PRIu64, c->second, c->cpu, c->busy);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		if (c->by_cause[i])
			printf("\t%s=%" PRIu64, cam_cause_key(i), c->by_cause[i]);
	}
	putchar('\n');
	return 0;
}

static int put_event(void *arg, const struct cam_event *e)
{
	(void)arg;
	printf("event\t%" PRIu64 "\t", e->time_ns);
	put(e->source, '\t');
	put(e->text, '\n');
	return 0;
}

static int put_fact(void *arg, const struct cam_fact *f)
{
	(void)arg;
	printf("fact\t");
	put(f->key, '\t');
	put(f->value, '\n');
	return 0;
}

static int put_window(struct cam_window *w, bool samples)
{
	const struct cam_window_info *i = &w->info;
	printf("window\t%.*s\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%d\t%d\n",
	       (int)i->name.n, i->name.p, i->start_ns, i->end_ns, i->realtime_ns, i->samples,
	       i->lost, i->clean_end, i->sealed);
	int err = w->ops->tables(w, &tables);
	if (!err && samples)
		err = w->ops->samples(w, CAM_RANGE_ALL, 0x3ff, put_samples, NULL);
	if (!err)
		err = w->ops->ledger(w, put_ledger, ledger_word);
	if (!err)
		err = w->ops->cells(w, put_cell, NULL);
	if (!err)
		err = w->ops->events(w, put_event, NULL);
	return err ? err : w->ops->facts(w, put_fact, NULL);
}

int main(int argc, char **argv)
{
	struct cam_io *io;
	struct cam_source *source;
	if (argc < 2 || cam_io_posix_open(argv[1], false, &io))
		return 2;
	int err = cam_store_open_read(io, &source);
	size_t n = err ? 0 : source->ops->count(source);
	const struct cam_window_info *before = NULL;
	for (size_t i = 0; i < n && !err; i++) {
		struct cam_window *w;
		struct cam_ledger_row gap;
		const struct cam_window_info *info;
		if ((err = source->ops->info(source, i, &info)))
			break;
		if (before && cam_gap_between(before, info, &gap))
			put_ledger(gap_word, &gap);
		before = info;
		if ((err = source->ops->open(source, i, &w)))
			break;
		err = put_window(w, argc > 2 && !strcmp(argv[2], "--samples"));
		w->ops->close(w);
	}
	if (err)
		printf("error\t%d\n", err);
	if (n)
		source->ops->close(source);
	cam_io_posix_close(io);
	return err ? 1 : 0;
}
