// SPDX-License-Identifier: Apache-2.0
#include "support_unwinder.h"

#include "model/ids.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int table_begin(struct cam_unwinder *base, uint32_t file)
{
	struct fake_unwinder *u = base->self;
	assert_true(file < FAKE_FILES && !u->tables[file].there);
	u->tables[file] = (struct fake_table){.begun = true};
	return 0;
}

static int table_rows(struct cam_unwinder *base, uint32_t file, const struct cam_unwind_rule *rules,
		      size_t n_rules, const struct cam_unwind_row *rows, size_t n_rows)
{
	struct fake_unwinder *u = base->self;
	struct fake_table *t = &u->tables[file];
	assert_true(t->begun && !t->there && (!n_rows || rows));
	if (u->rows_error)
		return u->rows_error;
	t->rows += n_rows;
	t->rules += n_rules;
	if (n_rules)
		t->cfa = rules[n_rules - 1].cfa;
	return 0;
}

static int table_end(struct cam_unwinder *base, uint32_t file)
{
	struct fake_unwinder *u = base->self;
	assert_true(u->tables[file].begun && !u->tables[file].there);
	u->tables[file].there = true;
	u->tables_ended++;
	return 0;
}

static void table_forget(struct cam_unwinder *base, uint32_t file)
{
	struct fake_unwinder *u = base->self;
	if (file < FAKE_FILES)
		u->tables[file] = (struct fake_table){0};
}

static bool table_has(struct cam_unwinder *base, uint32_t file)
{
	struct fake_unwinder *u = base->self;
	return file < FAKE_FILES && u->tables[file].there;
}

const struct fake_image *fake_image(const struct fake_unwinder *u, uint32_t number)
{
	for (size_t i = 0; i < u->n_images; i++) {
		if (u->images[i].number == number)
			return &u->images[i];
	}
	return NULL;
}

const struct cam_unwind_process *fake_process(const struct fake_unwinder *u, int32_t pid)
{
	for (size_t i = 0; i < u->n_processes; i++) {
		if (u->processes[i].pid == pid)
			return &u->processes[i];
	}
	return NULL;
}

static void add_image(struct fake_unwinder *u, uint32_t number,
		      const struct cam_unwind_mapping *maps, size_t n)
{
	assert_true(u->n_images < FAKE_IMAGES);
	/* Never given again. */
	assert_true(number > u->highest);
	u->highest = number;
	struct fake_image *i = &u->images[u->n_images++];
	*i = (struct fake_image){.number = number, .n_maps = n};
	memcpy(i->maps, maps, (n < 4 ? n : 4) * sizeof(*maps));
	for (size_t k = 0; k < n; k++) {
		assert_true(maps[k].start < maps[k].end);
		assert_true(!k || maps[k - 1].end <= maps[k].start);
	}
	u->images_told++;
}

static int process(struct cam_unwinder *base, const struct cam_unwind_process *p,
		   const struct cam_unwind_mapping *maps, size_t n_maps)
{
	struct fake_unwinder *u = base->self;
	assert_true(p->image);
	if (u->process_error)
		return u->process_error;
	if (!fake_image(u, p->image)) {
		if (!maps)
			return -ENOENT;
		/* One that was evicted comes again under its number. */
		u->highest = p->image <= u->highest ? p->image - 1 : u->highest;
		add_image(u, p->image, maps, n_maps);
	}
	struct cam_unwind_process *at = (struct cam_unwind_process *)fake_process(u, p->pid);
	assert_true(at || u->n_processes < FAKE_PROCESSES);
	*(at ? at : &u->processes[u->n_processes++]) = *p;
	u->told++;
	return 0;
}

static void process_forget(struct cam_unwinder *base, int32_t pid, uint64_t start_ns)
{
	struct fake_unwinder *u = base->self;
	struct cam_unwind_process *at = (struct cam_unwind_process *)fake_process(u, pid);
	u->forgotten++;
	if (!at)
		return;
	assert_int_equal(at->start_ns, start_ns);
	*at = u->processes[--u->n_processes];
}

static void image_forget(struct cam_unwinder *base, uint32_t number)
{
	struct fake_unwinder *u = base->self;
	struct fake_image *at = (struct fake_image *)fake_image(u, number);
	u->images_forgotten++;
	for (size_t i = 0; i < u->n_processes; i++)
		assert_int_not_equal(u->processes[i].image, number);
	if (at)
		*at = u->images[--u->n_images];
}

static int flush(struct cam_unwinder *base, uint64_t now_ns)
{
	struct fake_unwinder *u = base->self;
	(void)now_ns;
	u->flushes++;
	return 0;
}

static struct cam_unwinder_stats stats(const struct cam_unwinder *base)
{
	(void)base;
	return (struct cam_unwinder_stats){.form = "fake"};
}

void fake_unwinder_init(struct fake_unwinder *u)
{
	*u = (struct fake_unwinder){0};
	u->base = (struct cam_unwinder){
		.self = u,
		.table_begin = table_begin,
		.table_rows = table_rows,
		.table_end = table_end,
		.table_forget = table_forget,
		.table_has = table_has,
		.process = process,
		.process_forget = process_forget,
		.image_forget = image_forget,
		.flush = flush,
		.stats = stats,
	};
}

void fake_evict_all(struct fake_unwinder *u)
{
	memset(u->tables, 0, sizeof(u->tables));
	u->n_images = u->n_processes = 0;
}
