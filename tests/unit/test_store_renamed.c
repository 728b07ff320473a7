// SPDX-License-Identifier: Apache-2.0
/* A window with other names: what changes, and that nothing else does. */
#include "base/buf.h"
#include "store/renamed.h"
#include "store/window.h"
#include "support_dump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS 1000000000ull

/* Written, and opened from what was written. */
static struct cam_window *written(struct cam_window *w, struct cam_buf *bytes,
				  struct memory_file *m)
{
	struct cam_out out;
	struct cam_window *read;
	*bytes = CAM_BUF(64u << 20);
	cam_out_to_buf(&out, bytes);
	assert_int_equal(cam_window_write(w, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	memory_file_init(m, bytes->data, bytes->len);
	assert_int_equal(cam_window_open(&m->file, &read), 0);
	return read;
}

static void compare(struct cam_window *a, struct cam_window *b)
{
	struct dump x = {0}, y = {0};
	dump_window(&x, a, DUMP_ALL);
	dump_window(&y, b, DUMP_ALL);
	assert_dumps_equal(&x, &y);
	dump_free(&x);
	dump_free(&y);
}

static void without_new_names_all_is_as_it_was(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct fake_window *f = rich_window(seed, 5, 200);
		struct cam_buf first, second;
		struct memory_file files[2];
		struct cam_window *sealed = written(fake_window_ready(f), &first, &files[0]);
		const struct cam_tables *t;
		struct cam_window *same, *again;
		assert_int_equal(sealed->ops->tables(sealed, &t), 0);
		struct cam_rename *none = calloc(t->n_functions, sizeof(*none));
		assert_int_equal(cam_renamed_open(sealed, &(struct cam_late){.names = none}, &same),
				 0);
		compare(sealed, same);
		again = written(same, &second, &files[1]);
		compare(sealed, again);
		again->ops->close(again);
		same->ops->close(same);
		sealed->ops->close(sealed);
		cam_buf_free(&first);
		cam_buf_free(&second);
		fake_window_free(f);
		free(none);
	}
}

static struct cam_loc_id unnamed(struct fake_window *f, uint64_t start, uint64_t address)
{
	struct cam_module m = {.path = fake_str(f, "/lib/libx.so"),
			       .key = fake_str(f, "key"),
			       .build_id = fake_str(f, "id"),
			       .kind = CAM_MODULE_FILE};
	struct cam_function func = {.name = fake_str(f, ""), .start = start};
	struct cam_location l = {.address = address, .func_offset = address - start};
	struct cam_loc_id loc;
	assert_int_equal(cam_module_intern(&f->t, &m, &func.module), 0);
	l.module = func.module;
	assert_int_equal(cam_function_intern(&f->t, &func, &l.func), 0);
	assert_int_equal(cam_location_intern(&f->t, &l, &loc), 0);
	return loc;
}

struct seen {
	const struct cam_tables *t;
	struct cam_buf text;
};

static int see(void *arg, const struct cam_batch *b)
{
	struct seen *s = arg;
	for (size_t i = 0; i < b->n; i++) {
		char room[64];
		cam_buf_printf(&s->text, "%u", b->stack[i]);
		for (uint32_t at = b->stack[i]; at; at = s->t->stacks.parent[at]) {
			struct cam_text name =
				cam_function_label(s->t,
						   (struct cam_func_id){s->t->stacks.item[at]},
						   room, sizeof(room));
			cam_buf_printf(&s->text, " %.*s", (int)name.n, name.p);
		}
		cam_buf_printf(&s->text, " +%ld\n", (long)b->leaf_offset[i]);
	}
	return 0;
}

static const char *lines_of(struct cam_window *w, struct seen *s)
{
	s->text = CAM_BUF(1 << 20);
	assert_int_equal(w->ops->tables(w, &s->t), 0);
	assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_STACK | CAM_COL_LEAF, see, s),
			 0);
	cam_buf_put_u8(&s->text, 0);
	return (char *)s->text.data;
}

static int see_line(void *arg, const struct cam_line *l)
{
	struct seen *s = arg;
	char room[64];
	struct cam_text name = cam_function_label(s->t, l->func, room, sizeof(room));
	cam_buf_printf(&s->text, "%.*s+%lu %.*s:%u\n", (int)name.n, name.p,
		       (unsigned long)l->leaf_offset, (int)l->file.n, l->file.p, l->line);
	return 0;
}

/* The example of renamed.c. */
static void functions_of_one_name_become_one(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 100, 100, "cc1");
	struct cam_loc_id main_frame = fake_frame(f, "main@/bin/x", 0);
	const struct {
		uint64_t start, address;
	} leaves[] = {{0x10, 0x14}, {0x30, 0x34}, {0x90, 0x97}};
	for (unsigned i = 0; i < 3; i++) {
		struct cam_loc_id frames[] = {unnamed(f, leaves[i].start, leaves[i].address),
					      main_frame};
		struct cam_place_id place;
		cam_location_source(&f->t, frames[0], fake_str(f, "/src/x.c"), 100 + i);
		assert_int_equal(cam_place_intern(&f->t, frames, 2, &place), 0);
		fake_sample(f, (5 + i) * NS, 0, task, place);
	}
	struct cam_buf first, second;
	struct memory_file files[2];
	struct cam_window *old = written(fake_window_ready(f), &first, &files[0]), *better;
	const struct cam_tables *t;
	assert_int_equal(old->ops->tables(old, &t), 0);
	struct cam_rename *names = calloc(t->n_functions, sizeof(*names));
	for (size_t i = 0; i < t->n_functions; i++) {
		if (t->functions[i].start == 0x10 || t->functions[i].start == 0x30)
			names[i] = (struct cam_rename){CAM_TEXT("work"), CAM_NAME_SYMTAB, 0x10};
	}
	const struct cam_late late = {.names = names};
	assert_int_equal(cam_renamed_open(old, &late, &better), 0);
	struct cam_window *read = written(better, &second, &files[1]);
	struct seen s = {0};
	assert_string_equal(lines_of(read, &s),
			    "2 work main +4\n2 work main +36\n3 [libx.so+0x90] main +7\n");
	/* Source lines stay where they are in the code. */
	s.text.len = 0;
	assert_int_equal(read->ops->lines(read, see_line, &s), 0);
	cam_buf_put_u8(&s.text, 0);
	assert_non_null(strstr((char *)s.text.data, "work+4 /src/x.c:100\n"));
	assert_non_null(strstr((char *)s.text.data, "work+36 /src/x.c:101\n"));
	assert_non_null(strstr((char *)s.text.data, "[libx.so+0x90]+7 /src/x.c:102\n"));
	/* A good name needs no place any more; what has none keeps all that finds it. */
	for (size_t i = 0; i < s.t->n_functions; i++) {
		const struct cam_function *x = &s.t->functions[i];
		bool is_work = cam_text_equal(cam_string(s.t, x->name), CAM_TEXT("work"));
		assert_int_equal(x->source, is_work ? CAM_NAME_SYMTAB : x->source);
		if (is_work)
			assert_int_equal(x->start, 0);
		if (x->start)
			assert_int_equal(s.t->modules[x->module.v].kind, CAM_MODULE_FILE);
	}
	assert_int_equal(read->info.samples, 3);
	cam_buf_free(&s.text);
	read->ops->close(read);
	better->ops->close(better);
	old->ops->close(old);
	cam_buf_free(&first);
	cam_buf_free(&second);
	fake_window_free(f);
	free(names);
}

static int see_total(void *arg, const struct cam_total *t)
{
	uint64_t *sums = arg;
	sums[t->stack.v % 64] += t->samples;
	return 0;
}

/* Frames of places are those of stacks, an inlined one at the address above it. */
static int see_places(void *arg, const struct cam_batch *b)
{
	const struct cam_tables *t = arg;
	for (size_t i = 0; i < b->n; i++) {
		uint32_t stack = b->stack[i], place = b->place[i];
		for (; stack && place;
		     stack = t->stacks.parent[stack], place = t->places.parent[place]) {
			const struct cam_location *l = &t->locations[t->places.item[place]];
			assert_int_equal(l->func.v, t->stacks.item[stack]);
			if (t->functions[l->func.v].kind == CAM_FUNC_INLINED)
				assert_int_equal(l->address, 0x34);
		}
		assert_int_equal(stack | place, 0);
	}
	return 0;
}

/* Two leaves of one function: at one of them something is inlined, twice deep, the other gets a line. */
static void what_was_inlined_hangs_below_its_leaf(void **state)
{
	(void)state;
	for (unsigned places = 0; places < 2; places++) {
		struct fake_window *f = fake_window_new();
		struct cam_task_id task = fake_task(f, 100, 100, "cc1");
		struct cam_loc_id main_frame = fake_frame(f, "main@/bin/x", 0);
		f->w.info.has_places = places;
		for (unsigned i = 0; i < 4; i++) {
			struct cam_loc_id frames[] = {unnamed(f, 0x30, i % 2 ? 0x34 : 0x38),
						      main_frame};
			struct cam_place_id place;
			assert_int_equal(cam_place_intern(&f->t, frames, 2, &place), 0);
			fake_sample(f, (5 + i) * NS, 0, task, place);
		}
		struct cam_buf first, second;
		struct memory_file files[2];
		struct cam_window *old = written(fake_window_ready(f), &first, &files[0]), *better;
		const struct cam_tables *t;
		assert_int_equal(old->ops->tables(old, &t), 0);
		struct cam_rename *names = calloc(t->n_functions, sizeof(*names));
		uint32_t func = 0;
		while (t->functions[func].start != 0x30)
			func++;
		names[func] = (struct cam_rename){CAM_TEXT("work"), CAM_NAME_SYMTAB, 0x20};
		struct cam_text inlined[] = {CAM_TEXT("outer"), CAM_TEXT("inner")};
		const struct cam_late_leaf leaves[] = {
			{func, 4, inlined, 2, CAM_TEXT("/src/y.h"), 7, 0x20},
			{func, 8, NULL, 0, CAM_TEXT("/src/x.c"), 9, 0x20},
		};
		const struct cam_late late = {names, leaves, 2};
		assert_int_equal(cam_renamed_open(old, &late, &better), 0);
		struct cam_window *read = written(better, &second, &files[1]);
		struct seen s = {0};
		const char *text = lines_of(read, &s);
		unsigned with = 0, without = 0;
		for (const char *at = text; (at = strstr(at, " inner outer work main +20\n")); at++)
			with++;
		for (const char *at = text; (at = strstr(at, " work main +24\n")); at++)
			without++;
		assert_int_equal(with, 2);
		assert_int_equal(without, 2);
		s.text.len = 0;
		assert_int_equal(read->ops->lines(read, see_line, &s), 0);
		cam_buf_put_u8(&s.text, 0);
		assert_non_null(strstr((char *)s.text.data, "inner+20 /src/y.h:7\n"));
		assert_non_null(strstr((char *)s.text.data, "work+24 /src/x.c:9\n"));
		/* Sums by stack are those of samples, also before it is written. */
		uint64_t sums[2][64] = {0};
		assert_int_equal(better->ops->totals(better, see_total, sums[0]), 0);
		assert_int_equal(read->ops->totals(read, see_total, sums[1]), 0);
		size_t twos[2] = {0};
		for (size_t i = 0; i < 128; i++) {
			assert_true(!sums[i / 64][i % 64] || sums[i / 64][i % 64] == 2);
			twos[i / 64] += sums[i / 64][i % 64] == 2;
		}
		assert_int_equal(twos[0], 2);
		assert_int_equal(twos[1], 2);
		if (places)
			assert_int_equal(read->ops->samples(read, CAM_RANGE_ALL,
							    CAM_COL_STACK | CAM_COL_PLACE,
							    see_places, (void *)(uintptr_t)s.t),
					 0);
		cam_buf_free(&s.text);
		read->ops->close(read);
		better->ops->close(better);
		old->ops->close(old);
		cam_buf_free(&first);
		cam_buf_free(&second);
		fake_window_free(f);
		free(names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_new_names_all_is_as_it_was),
		cmocka_unit_test(functions_of_one_name_become_one),
		cmocka_unit_test(what_was_inlined_hangs_below_its_leaf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
