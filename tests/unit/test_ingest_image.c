// SPDX-License-Identifier: Apache-2.0
/* The oracle is an array with one entry a byte of a small address space. */
#include "ingest/image.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SPACE 600u

struct byte {
	uint64_t inode, offset, since_ns;
	bool mapped;
};

struct world {
	struct cam_words words;
	struct cam_files *files;
	struct cam_images pool;
};

static void forget(void *arg, uint32_t number)
{
	(void)arg;
	(void)number;
}

static void open_world(struct world *w)
{
	assert_int_equal(cam_words_init(&w->words), 0);
	assert_int_equal(cam_files_new(&w->words, forget, NULL, &w->files), 0);
	w->pool = (struct cam_images){.words = &w->words, .files = w->files};
}

static void close_world(struct world *w)
{
	assert_int_equal(w->pool.bytes, 0);
	cam_files_free(w->files);
	assert_int_equal(w->words.n, 0);
	cam_words_free(&w->words);
}

static unsigned dice(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % sides;
}

static void check(const struct cam_image *i, const struct byte *bytes)
{
	for (uint32_t k = 0; k + 1 < i->n; k++) {
		assert_true(i->maps[k].start < i->maps[k].end);
		assert_true(i->maps[k].end <= i->maps[k + 1].start);
	}
	for (uint64_t a = 0; a < SPACE; a++) {
		const struct cam_image_map *m = cam_image_find(i, a, UINT64_MAX);
		assert_int_equal(m != NULL, bytes[a].mapped);
		if (!m)
			continue;
		assert_int_equal(m->file->inode, bytes[a].inode);
		if (bytes[a].inode)
			assert_int_equal(m->offset + (a - m->start), bytes[a].offset);
		else
			continue; /* anonymous neighbours are one, since the older of them */
		assert_int_equal(m->since_ns, bytes[a].since_ns);
		if (m->since_ns)
			assert_null(cam_image_find(i, a, m->since_ns - 1));
	}
}

/* Maps into both; the same range of the same file again says nothing new. */
static void map(struct world *w, struct cam_image **i, struct byte *bytes, unsigned *seed,
		uint64_t now)
{
	uint64_t inode = dice(seed, 4), start = dice(seed, SPACE - 1);
	uint64_t end = start + 1 + dice(seed, dice(seed, 3) ? 40 : 300);
	if (end > SPACE)
		end = SPACE;
	/* Often as the file lies already. */
	uint64_t offset = dice(seed, 2) ? start : dice(seed, 1000);
	struct cam_mapping m = {
		.start = start,
		.end = end,
		.file_offset = offset,
		.inode = inode,
		.generation = inode,
		.path = inode ? CAM_TEXT("/bin/x") : CAM_TEXT(""),
	};
	bool same = true;
	for (uint64_t a = start; a < end; a++)
		same &= bytes[a].mapped && bytes[a].inode == inode &&
			(!inode || (bytes[a].offset == offset + (a - start) &&
				    bytes[a].since_ns == bytes[start].since_ns));
	const struct cam_image_map *had = cam_image_find(*i, start, UINT64_MAX);
	/* The oracle knows no mappings, only bytes: it must be one that covers all. */
	same &= had && had->end >= end;
	assert_int_equal(cam_image_map(&w->pool, i, &m, now, false), 0);
	for (uint64_t a = start; a < end && !same; a++)
		bytes[a] = (struct byte){inode, offset + (a - start), now, true};
}

static void random_mappings_replace_what_they_overlap(void **state)
{
	(void)state;
	struct world w;
	open_world(&w);
	for (unsigned run = 0; run < 60; run++) {
		static struct byte bytes[SPACE];
		unsigned seed = run;
		struct cam_image *i = cam_image_new(&w.pool);
		memset(bytes, 0, sizeof(bytes));
		for (unsigned n = 0; n < 40; n++) {
			map(&w, &i, bytes, &seed, 1 + n);
			check(i, bytes);
		}
		cam_image_release(&w.pool, i);
	}
	close_world(&w);
}

static void a_shared_image_is_copied_when_it_changes(void **state)
{
	(void)state;
	struct world w;
	open_world(&w);
	static struct byte bytes[3][SPACE];
	unsigned seed = 7;
	struct cam_image *i[3];
	memset(bytes, 0, sizeof(bytes));
	i[0] = cam_image_new(&w.pool);
	for (unsigned n = 0; n < 10; n++)
		map(&w, &i[0], bytes[0], &seed, n);
	struct cam_word *exe = cam_words_take(&w.words, CAM_TEXT("/bin/x"));
	assert_int_equal(cam_image_set_exe(&w.pool, &i[0], exe), 0);
	for (unsigned k = 1; k < 3; k++) {
		i[k] = cam_image_hold(i[0]);
		memcpy(bytes[k], bytes[0], sizeof(bytes[0]));
	}
	size_t one = w.pool.bytes;
	for (unsigned n = 0; n < 60; n++) {
		unsigned k = dice(&seed, 2);
		map(&w, &i[k], bytes[k], &seed, 100 + n);
		for (unsigned j = 0; j < 3; j++)
			check(i[j], bytes[j]);
	}
	assert_ptr_not_equal(i[0], i[1]);
	assert_true(w.pool.bytes > one);
	for (unsigned k = 0; k < 3; k++) {
		assert_ptr_equal(i[k]->exe, exe);
		cam_image_release(&w.pool, i[k]);
	}
	close_world(&w);
}

/* The example of image.c: said again, nothing changes, and it stays as old as it is. */
static void what_is_known_already_changes_nothing(void **state)
{
	(void)state;
	struct world w;
	open_world(&w);
	struct cam_image *i = cam_image_new(&w.pool), *shared = cam_image_hold(i);
	struct cam_mapping m = {.start = 10, .end = 20, .inode = 1, .generation = 1};
	m.path = CAM_TEXT("/bin/a");
	assert_int_equal(cam_image_map(&w.pool, &i, &m, 5, false), 0);
	struct cam_image *was = i, *child = cam_image_hold(i);
	m.start = 12;
	m.file_offset = 2;
	assert_int_equal(cam_image_map(&w.pool, &i, &m, 9, false), 0);
	assert_ptr_equal(i, was);
	assert_int_equal(i->n, 1);
	assert_non_null(cam_image_find(i, 15, 5));
	m.file_offset = 3;
	assert_int_equal(cam_image_map(&w.pool, &i, &m, 9, false), 0);
	assert_ptr_not_equal(i, was);
	assert_null(cam_image_find(i, 15, 5));
	m.end = m.start;
	assert_int_equal(cam_image_map(&w.pool, &i, &m, 9, false), -EINVAL);
	cam_image_release(&w.pool, i);
	cam_image_release(&w.pool, child);
	cam_image_release(&w.pool, shared);
	close_world(&w);
}

static void mappings_are_bounded(void **state)
{
	(void)state;
	struct world w;
	open_world(&w);
	struct cam_image *i = cam_image_new(&w.pool);
	int err = 0;
	for (uint64_t k = 0; k < CAM_IMAGE_MAX_MAPS + 10 && !err; k++) {
		struct cam_mapping m = {.start = 100 * k, .end = 100 * k + 50, .inode = 1};
		m.path = CAM_TEXT("/bin/a");
		err = cam_image_map(&w.pool, &i, &m, 1, false);
	}
	assert_int_equal(err, -E2BIG);
	assert_true(i->n <= CAM_IMAGE_MAX_MAPS && i->n > CAM_IMAGE_MAX_MAPS - 4);
	assert_true(w.pool.refused > 0);
	cam_image_release(&w.pool, i);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_mappings_replace_what_they_overlap),
		cmocka_unit_test(a_shared_image_is_copied_when_it_changes),
		cmocka_unit_test(what_is_known_already_changes_nothing),
		cmocka_unit_test(mappings_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
