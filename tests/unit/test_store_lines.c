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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_leaves_come_back),
		cmocka_unit_test(lines_that_contradict_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
