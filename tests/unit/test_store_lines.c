// SPDX-License-Identifier: Apache-2.0
/* Source lines by way of a journal and of a window: those of leaf offsets come out, and no other. */
#include "base/units.h"
#include "store/window.h"
#include "store/window_writer.h"
#include "support_journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FUNCTIONS = 40, OFFSETS = 30 };

static const char *const paths[] = {"/src/a.c", "/src/b\n\\c.h", "x", "/usr/include/c++/12/vector"};

/* What the line of an offset is, by a rule; 0: none is known. */
static uint32_t line_of(unsigned f, unsigned o)
{
	return (f * 31 + o * 7) % 9 == 0 ? 0
	       : f == 3 && o == 4	 ? UINT32_MAX
					 : 1 + (f * 977 + o * 13) % 5000;
}

static bool is_leaf(unsigned f, unsigned o)
{
	return (f + o) % 3 != 0;
}

static struct fake_window *make(void)
{
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "sh");
	struct cam_loc_id root = fake_frame(w, "main@/bin/a", 1);
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		for (unsigned o = 0; o < OFFSETS; o++) {
			char name[64];
			snprintf(name, sizeof(name), "f%u@/bin/a", f);
			struct cam_loc_id leaf = fake_frame(w, name, o * 4);
			if (line_of(f, o))
				cam_location_source(&w->t, leaf,
						    fake_str(w, paths[(f + o / 8) % 4]),
						    line_of(f, o));
			struct cam_loc_id chain[] = {is_leaf(f, o) ? leaf : root,
						     is_leaf(f, o) ? root : leaf};
			struct cam_place_id place;
			assert_int_equal(cam_place_intern(&w->t, chain, 2, &place), 0);
			fake_sample(w, 1000 * CAM_NS_PER_SEC + (f * OFFSETS + o) * 1000000ull, 0,
				    task, place);
		}
	}
	return w;
}

struct seen {
	const struct cam_tables *t;
	unsigned right, other;
	unsigned contradicting; /* of what is inlined */
};

static int look(void *arg, const struct cam_line *l)
{
	struct seen *s = arg;
	char room[128];
	unsigned f, o = (unsigned)(l->leaf_offset / 4);
	struct cam_text name = cam_function_label(s->t, l->func, room, sizeof(room));
	char text[64];
	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	s->contradicting += !strcmp(text, "inlined");
	if (sscanf(text, "f%u", &f) != 1) {
		s->other++;
		return 0;
	}
	assert_int_equal(l->line, line_of(f, o));
	assert_true(cam_text_equal(l->file, cam_text_of(paths[(f + o / 8) % 4])));
	s->right += is_leaf(f, o);
	s->other += !is_leaf(f, o);
	return 0;
}

static struct seen see(struct cam_window *w)
{
	struct seen s = {0};
	assert_int_equal(w->ops->tables(w, &s.t), 0);
	assert_non_null(w->ops->lines);
	assert_int_equal(w->ops->lines(w, look, &s), 0);
	return s;
}

static struct cam_buf seal(struct cam_window *w, uint32_t chunk_bytes)
{
	struct cam_buf bytes = CAM_BUF(SIZE_MAX / 2);
	struct cam_out out;
	cam_out_to_buf(&out, &bytes);
	assert_int_equal(cam_window_write_chunks(w, &out, chunk_bytes), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	return bytes;
}

static struct cam_window *through_journal(struct sim_disk *d, struct fake_window *f)
{
	struct cam_window *j;
	f->w.info.start_ns = 1000 * CAM_NS_PER_SEC;
	f->w.info.end_ns = 1003 * CAM_NS_PER_SEC;
	fake_window_ready(f);
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	journal_write_fake(f, file, true, true, NULL);
	file->ops->close(file);
	assert_int_equal(journal_open_at(d, "j", &j), 0);
	assert_int_equal(j->damage.chunks, 0);
	return j;
}

static void lines_of_leaves_come_back(void **state)
{
	(void)state;
	unsigned expected = 0;
	for (unsigned f = 0; f < FUNCTIONS; f++)
		for (unsigned o = 0; o < OFFSETS; o++)
			expected += is_leaf(f, o) && line_of(f, o);
	struct fake_window *f = make();
	struct sim_disk *d = sim_new();
	struct cam_window *j = through_journal(d, f), *w;
	struct seen s = see(j);
	assert_int_equal(s.right, expected);
	for (uint32_t chunk = 64; chunk <= 65536; chunk *= 32) {
		struct memory_file m;
		struct cam_buf bytes = seal(j, chunk);
		memory_file_init(&m, bytes.data, bytes.len);
		assert_int_equal(cam_window_open(&m.file, &w), 0);
		s = see(w);
		assert_int_equal(s.right, expected);
		assert_int_equal(s.other, 0);
		assert_int_equal(cam_window_verify(w), 0);
		w->ops->close(w);
		/* A damaged chunk costs its lines, and is said. */
		unsigned bad = 0;
		for (size_t i = bytes.len / 2; i < bytes.len; i += 7) {
			bytes.data[i] ^= 0x10;
			if (cam_window_open(&m.file, &w) == 0) {
				struct seen less = see(w);
				assert_true(less.right <= expected && less.other == 0);
				assert_true(less.right == expected || w->damage.chunks);
				bad += less.right < expected;
				w->ops->close(w);
			}
			bytes.data[i] ^= 0x10;
		}
		assert_true(bad > 0);
		cam_buf_free(&bytes);
	}
	j->ops->close(j);
	sim_free(d);
	fake_window_free(f);
}

/* The same offset of two functions, both with `inlined` inlined there: on the same line it has one, else none. */
static void lines_that_contradict_are_left_out(void **state)
{
	(void)state;
	for (uint32_t other = 0; other < 2; other++) {
		struct fake_window *f = fake_window_new();
		struct cam_func_id func;
		uint32_t node;
		const struct cam_function inlined = {.name = fake_str(f, "inlined"),
						     .kind = CAM_FUNC_INLINED,
						     .source = CAM_NAME_DWARF};
		assert_int_equal(cam_function_intern(&f->t, &inlined, &func), 0);
		assert_int_equal(cam_tree_intern(&f->t, &f->t.inlines, 0, func.v, &node), 0);
		static const char *const names[] = {"one@/bin/a", "two@/bin/a"};
		for (uint32_t i = 0; i < 2; i++) {
			struct cam_loc_id loc = fake_frame(f, names[i], 16);
			struct cam_place_id place;
			cam_location_inline(&f->t, loc, node);
			cam_location_source(&f->t, loc, fake_str(f, "/src/a.h"), 10 + i * other);
			assert_int_equal(cam_place_intern(&f->t, &loc, 1, &place), 0);
			fake_sample(f, (1000 + i) * CAM_NS_PER_SEC, 0, fake_task(f, 1, 1, "sh"),
				    place);
		}
		struct sim_disk *d = sim_new();
		struct cam_window *j = through_journal(d, f), *w;
		struct memory_file m;
		struct cam_buf bytes = seal(j, 65536);
		memory_file_init(&m, bytes.data, bytes.len);
		assert_int_equal(cam_window_open(&m.file, &w), 0);
		assert_int_equal(see(j).contradicting, 2);
		assert_int_equal(see(w).contradicting, other ? 0 : 1);
		w->ops->close(w);
		j->ops->close(j);
		sim_free(d);
		cam_buf_free(&bytes);
		fake_window_free(f);
	}
}

/* With addresses kept, callers have lines, too. */
static void callers_have_lines_where_addresses_are_kept(void **state)
{
	(void)state;
	unsigned leaves = 0, callers = 0;
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		for (unsigned o = 0; o < OFFSETS; o++) {
			leaves += is_leaf(f, o) && line_of(f, o);
			callers += !is_leaf(f, o) && line_of(f, o);
		}
	}
	struct fake_window *f = make();
	struct sim_disk *d = sim_new();
	f->w.info.has_places = true;
	struct cam_window *j = through_journal(d, f), *w;
	struct memory_file m;
	struct cam_buf bytes = seal(j, 65536);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	struct seen s = see(w);
	assert_int_equal(s.right, leaves);
	assert_int_equal(s.other, callers);
	w->ops->close(w);
	j->ops->close(j);
	sim_free(d);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

/* A stack of so many frames, with two functions inlined at its root and three at its leaf. */
static void add_stack(struct fake_window *f, unsigned frames, uint64_t time_ns)
{
	struct cam_loc_id chain[CAM_MAX_STACK_FRAMES];
	struct cam_place_id place;
	for (unsigned i = 0; i < frames; i++) {
		char name[64];
		snprintf(name, sizeof(name), "f%u@/bin/a", i % 50);
		chain[i] = fake_frame(f, name, 16 + 4 * (i + frames));
	}
	for (unsigned end = 0; end < 2; end++) {
		uint32_t node = 0;
		for (unsigned k = 0; k < (end ? 2 : 3); k++) {
			char name[64];
			struct cam_func_id func;
			snprintf(name, sizeof(name), "inlined%u", k + end);
			const struct cam_function inlined = {.name = fake_str(f, name),
							     .kind = CAM_FUNC_INLINED,
							     .source = CAM_NAME_DWARF};
			assert_int_equal(cam_function_intern(&f->t, &inlined, &func), 0);
			assert_int_equal(cam_tree_intern(&f->t, &f->t.inlines, node, func.v, &node),
					 0);
		}
		cam_location_inline(&f->t, chain[end ? frames - 1 : 0], node);
	}
	assert_int_equal(cam_place_intern(&f->t, chain, frames, &place), 0);
	fake_sample(f, time_ns, 0, fake_task(f, 1, 1, "sh"), place);
}

struct parallel {
	const struct cam_tables *t;
	unsigned stacks, inlined;
};

/* Frame by frame, what the stack says is what the place says; an inlined one has the address of what it is inlined in. */
static int check_parallel(void *arg, const struct cam_batch *b)
{
	struct parallel *p = arg;
	const struct cam_tables *t = p->t;
	for (size_t i = 0; i < b->n; i++) {
		uint32_t stack = b->stack[i], place = b->place[i];
		p->stacks++;
		for (; stack && place;
		     stack = t->stacks.parent[stack], place = t->places.parent[place]) {
			const struct cam_location *l = &t->locations[t->places.item[place]];
			uint32_t above = t->places.parent[place];
			assert_int_equal(l->func.v, t->stacks.item[stack]);
			if (t->functions[l->func.v].kind != CAM_FUNC_INLINED)
				continue;
			assert_int_equal(l->address, t->locations[t->places.item[above]].address);
			p->inlined++;
		}
		assert_int_equal(stack, 0);
		assert_int_equal(place, 0);
	}
	return 0;
}

static struct parallel look_at_places(struct cam_window *w)
{
	struct parallel p = {0};
	assert_true(w->info.has_places);
	assert_int_equal(w->ops->tables(w, &p.t), 0);
	assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_STACK | CAM_COL_PLACE,
					 check_parallel, &p),
			 0);
	return p;
}

/* Of stacks that get too deep what is inlined is left out, of both. */
static void inlined_functions_have_places(void **state)
{
	(void)state;
	static const unsigned depths[] = {1, 2, 7, 1019, 1020, 1022, 1023, 1024};
	struct fake_window *f = fake_window_new();
	f->w.info.has_places = true;
	for (unsigned i = 0; i < 8; i++)
		add_stack(f, depths[i], (1000 * 1000 + i) * CAM_NS_PER_MS);
	struct sim_disk *d = sim_new();
	struct cam_window *j = through_journal(d, f), *w;
	struct memory_file m;
	struct cam_buf bytes = seal(j, 65536);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	struct parallel first = look_at_places(j), last = look_at_places(w);
	assert_int_equal(last.stacks, 8);
	assert_int_equal(last.inlined, first.inlined);
	/* One frame has one of both chains; up to 1,019 frames leave room for five more. */
	assert_int_equal(last.inlined, 3 + 5 + 5 + 5);
	assert_int_equal(cam_window_verify(w), 0);
	w->ops->close(w);
	j->ops->close(j);
	sim_free(d);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

/* Too little memory for frames that are inlined: the window is there, without addresses. */
static void without_room_there_are_no_places(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct sim_disk *d = sim_new();
	f->w.info.has_places = true;
	/* Different at the root: every frame is another place below what is inlined there. */
	for (unsigned i = 0; i < 40; i++)
		add_stack(f, 200 + i, (1000 * 1000 + i) * CAM_NS_PER_MS);
	struct cam_window *j = through_journal(d, f);
	assert_true(j->info.has_places);
	j->ops->close(j);
	unsigned with = 0, without = 0;
	for (size_t bytes = 2u << 20; bytes; bytes -= bytes / 32 + 1) {
		struct cam_file *file = NULL;
		assert_int_equal(sim_io(d)->ops->open(sim_io(d), "j", CAM_IO_READ, &file), 0);
		int err = cam_journal_open(file, bytes, &j);
		if (err) {
			assert_int_equal(err, -E2BIG);
			break;
		}
		with += j->info.has_places;
		without += !j->info.has_places;
		assert_int_equal(j->info.samples, 40);
		struct cam_buf sealed = seal(j, 65536);
		cam_buf_free(&sealed);
		j->ops->close(j);
	}
	assert_true(with > 0);
	assert_true(without > 0);
	sim_free(d);
	fake_window_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_leaves_come_back),
		cmocka_unit_test(lines_that_contradict_are_left_out),
		cmocka_unit_test(callers_have_lines_where_addresses_are_kept),
		cmocka_unit_test(inlined_functions_have_places),
		cmocka_unit_test(without_room_there_are_no_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
