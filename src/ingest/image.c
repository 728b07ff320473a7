// SPDX-License-Identifier: Apache-2.0
/*
 * Mappings as a sorted array: found by binary search, changed by moving the tail.
 *
 * Why an array: a process has some 10 to 300 executable mappings, samples look them up all the
 * time, and a change is one memmove() of a few KiB.
 *
 * Invariants
 *  1. maps is sorted by start; no two overlap; each is at least a byte long.
 *  2. An image with refs > 1 is never changed.
 *  3. bytes of the pool is what all its images have allocated.
 *  4. Who has a number has not changed since it was given.
 *
 * Example: [10, 20) of a at offset 0, then [14, 16) of b: gives [10, 14) of a at 0, [14, 16) of b,
 * [16, 20) of a at 6. Then [14, 16) of b again, 5 s later: nothing changes, it is still the same
 * mapping, and samples of these 5 s stay valid.
 */
#include "ingest/image.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_MAPS 8u

static size_t cost(uint32_t cap)
{
	return sizeof(struct cam_image) + CAM_WORD_ALLOC_COST +
	       (cap ? cap * sizeof(struct cam_image_map) + CAM_WORD_ALLOC_COST : 0);
}

struct cam_image *cam_image_new(struct cam_images *pool)
{
	struct cam_image *i = malloc(sizeof(*i));
	if (!i)
		return NULL;
	*i = (struct cam_image){.refs = 1, .floor = pool->last_number};
	pool->bytes += cost(0);
	return i;
}

static void lose_number(struct cam_images *pool, struct cam_image *i)
{
	if (i->number && pool->forget)
		pool->forget(pool->arg, i->number);
	i->number = 0;
	i->handed_over = i->tables_wanted = false;
}

uint32_t cam_image_number(struct cam_images *pool, struct cam_image *i)
{
	if (!i->number && pool->last_number < UINT32_MAX)
		i->number = ++pool->last_number;
	return i->number;
}

void cam_image_release(struct cam_images *pool, struct cam_image *i)
{
	if (!i || --i->refs)
		return;
	lose_number(pool, i);
	for (uint32_t k = 0; k < i->n; k++)
		cam_files_release(pool->files, i->maps[k].file);
	cam_words_release(pool->words, i->exe);
	pool->bytes -= cost(i->cap);
	free(i->maps);
	free(i);
}

static int reserve(struct cam_images *pool, struct cam_image *i, uint32_t need)
{
	if (need > CAM_IMAGE_MAX_MAPS) {
		pool->refused++;
		return -E2BIG;
	}
	if (need <= i->cap)
		return 0;
	/* By halves: most never grow again, and many may be alive. */
	uint32_t cap = i->cap ? i->cap + i->cap / 2 : FIRST_MAPS;
	if (cap < need)
		cap = need;
	struct cam_image_map *maps = realloc(i->maps, cap * sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	pool->bytes -= cost(i->cap);
	i->maps = maps;
	i->cap = cap;
	pool->bytes += cost(cap);
	return 0;
}

/* Makes *i the caller's own, with room for so many more. */
static int own(struct cam_images *pool, struct cam_image **i, uint32_t more)
{
	struct cam_image *old = *i;
	if (old->refs == 1) {
		int err = reserve(pool, old, old->n + more);
		if (!err && more)
			lose_number(pool, old);
		return err;
	}
	struct cam_image *copy = cam_image_new(pool);
	int err = copy ? reserve(pool, copy, old->n + more) : -ENOMEM;
	if (err) {
		cam_image_release(pool, copy);
		return err;
	}
	for (uint32_t k = 0; k < old->n; k++) {
		copy->maps[k] = old->maps[k];
		cam_files_hold(copy->maps[k].file);
	}
	copy->n = old->n;
	copy->exe = cam_word_hold(old->exe);
	copy->floor = old->floor;
	old->refs--;
	*i = copy;
	return 0;
}

/* The first mapping that ends behind an address. */
static uint32_t first_behind(const struct cam_image *i, uint64_t address)
{
	uint32_t lo = 0, hi = i->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (i->maps[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct cam_image_map *cam_image_find(const struct cam_image *i, uint64_t address,
					   uint64_t time_ns)
{
	uint32_t at = first_behind(i, address);
	if (at == i->n || address < i->maps[at].start || i->maps[at].since_ns > time_ns)
		return NULL;
	return &i->maps[at];
}

uint64_t cam_image_run(const struct cam_image *i, const struct cam_image_map *m)
{
	while (m > i->maps && m[-1].end == m->start && m[-1].file == m->file)
		m--;
	return m->start;
}

const struct cam_image_map *cam_image_of_file(const struct cam_image *i,
					      const struct cam_files_row *f)
{
	for (uint32_t k = 0; i && k < i->n; k++) {
		if (i->maps[k].file == f)
			return &i->maps[k];
	}
	return NULL;
}

static bool has_no_offset(const struct cam_files_row *file)
{
	return !file || file->state == CAM_FILES_NO_FILE;
}

/* Whether the row at `at` says all that m says. */
static bool is_known(const struct cam_image *i, uint32_t at, const struct cam_image_map *m)
{
	if (at == i->n)
		return false;
	const struct cam_image_map *had = &i->maps[at];
	return had->start <= m->start && had->end >= m->end && had->file == m->file &&
	       (has_no_offset(m->file) || had->offset + (m->start - had->start) == m->offset);
}

/* Puts m in; [first, last) overlap it. There is room for two more. */
static void replace(struct cam_images *pool, struct cam_image *i, uint32_t first, uint32_t last,
		    const struct cam_image_map *m)
{
	struct cam_image_map in[3];
	uint32_t n = 0;
	if (first < last && i->maps[first].start < m->start) {
		in[n] = i->maps[first];
		cam_files_hold(in[n].file);
		in[n++].end = m->start;
	}
	in[n++] = *m;
	if (first < last && i->maps[last - 1].end > m->end) {
		in[n] = i->maps[last - 1];
		cam_files_hold(in[n].file);
		in[n].offset += m->end - in[n].start;
		in[n++].start = m->end;
	}
	for (uint32_t k = first; k < last; k++)
		cam_files_release(pool->files, i->maps[k].file);
	memmove(i->maps + first + n, i->maps + last, (i->n - last) * sizeof(*i->maps));
	memcpy(i->maps + first, in, n * sizeof(*in));
	i->n = i->n - (last - first) + n;
}

/* Compilers at run time map page by page: anonymous neighbours become one. */
static void join(struct cam_image_map *m, const struct cam_image_map *to)
{
	if (to->file != m->file)
		return;
	m->start = to->start < m->start ? to->start : m->start;
	m->end = to->end > m->end ? to->end : m->end;
	m->since_ns = to->since_ns < m->since_ns ? to->since_ns : m->since_ns;
}

/* The images that had something else where m is now; anonymous memory that became more had not. */
static uint32_t replaces(const struct cam_images *pool, const struct cam_image *i, uint32_t first,
			 uint32_t last, const struct cam_image_map *m)
{
	uint32_t over = 0;
	for (uint32_t k = first; k < last; k++) {
		if (!m->file || !has_no_offset(m->file) || i->maps[k].file != m->file)
			return pool->last_number;
		over = i->maps[k].over > over ? i->maps[k].over : over;
	}
	return over;
}

/* Takes over the hold on m->file; lets go of it on error. */
static int map(struct cam_images *pool, struct cam_image **i, const struct cam_image_map *in,
	       bool anew)
{
	struct cam_image_map m = *in;
	uint32_t first = first_behind(*i, m.start), last = first;
	if (!anew && is_known(*i, first, &m)) {
		cam_files_release(pool->files, m.file);
		return 0;
	}
	while (last < (*i)->n && (*i)->maps[last].start < m.end)
		last++;
	if ((*i)->n && m.file && has_no_offset(m.file) && !anew) {
		struct cam_image_map *maps = (*i)->maps;
		if (first && maps[first - 1].end == m.start && maps[first - 1].file == m.file)
			first--;
		if (last < (*i)->n && maps[last].start == m.end && maps[last].file == m.file)
			last++;
		if (first < last) {
			join(&m, &maps[first]);
			join(&m, &maps[last - 1]);
		}
	}
	int err = own(pool, i, 2);
	if (err) {
		cam_files_release(pool->files, m.file);
		return err;
	}
	m.over = replaces(pool, *i, first, last, &m);
	replace(pool, *i, first, last, &m);
	return 0;
}

int cam_image_map_row(struct cam_images *pool, struct cam_image **i,
		      const struct cam_image_map *row)
{
	cam_files_hold(row->file);
	return map(pool, i, row, false);
}

int cam_image_map(struct cam_images *pool, struct cam_image **i, const struct cam_mapping *m,
		  uint64_t since_ns, bool anew)
{
	if (m->start >= m->end)
		return -EINVAL;
	struct cam_image_map row = {
		.start = m->start,
		.end = m->end,
		.offset = m->file_offset,
		.since_ns = since_ns,
		.file = cam_files_take(pool->files, m, since_ns),
	};
	return map(pool, i, &row, anew);
}

int cam_image_set_exe(struct cam_images *pool, struct cam_image **i, struct cam_word *exe)
{
	int err = own(pool, i, 0);
	if (err) {
		cam_words_release(pool->words, exe);
		return err;
	}
	cam_words_release(pool->words, (*i)->exe);
	(*i)->exe = exe;
	return 0;
}
