// SPDX-License-Identifier: Apache-2.0
#include "store/counters.h"

#include "base/vec.h"
#include "store/format.h"

#include <string.h>

int cam_counters_add(void *list, const struct cam_counter *c)
{
	struct cam_counters *l = list;
	int err =
		cam_vec_reserve(&l->rows, &l->cap, l->n + 1, sizeof(*l->rows), CAM_WINDOW_ROWS_MAX);
	if (!err)
		l->rows[l->n++] = *c;
	return err;
}

static bool is_before(const struct cam_counter *x, const struct cam_counter *y)
{
	if (x->kind != y->kind)
		return x->kind < y->kind;
	if (x->subject != y->subject)
		return x->subject < y->subject;
	return x->time_ns < y->time_ns;
}

/* Where the part that is in order ends which begins at i. */
static size_t end_of_run(const struct cam_counter *rows, size_t i, size_t n)
{
	do
		i++;
	while (i < n && !is_before(&rows[i], &rows[i - 1]));
	return i;
}

/* Two parts after each other, each in order, into one; of equals the first part's come first. */
static void merge(const struct cam_counter *a, size_t n_a, const struct cam_counter *b, size_t n_b,
		  struct cam_counter *to)
{
	while (n_a && n_b) {
		bool second = is_before(b, a);
		*to++ = second ? *b++ : *a++;
		n_a -= !second;
		n_b -= second;
	}
	memcpy(to, n_a ? a : b, (n_a + n_b) * sizeof(*to));
}

/* Merges neighbours that are in order, until all is: chunks are, and a window has a dozen of them. */
int cam_counters_sort(struct cam_counters *list)
{
	struct cam_counter *other = NULL;
	while (list->n && end_of_run(list->rows, 0, list->n) < list->n) {
		if (!other)
			other = reallocarray(NULL, list->n, sizeof(*other));
		if (!other)
			return -ENOMEM;
		for (size_t i = 0, end; i < list->n; i = end) {
			size_t middle = end_of_run(list->rows, i, list->n);
			end = middle < list->n ? end_of_run(list->rows, middle, list->n) : middle;
			merge(list->rows + i, middle - i, list->rows + middle, end - middle,
			      other + i);
		}
		struct cam_counter *sorted = other;
		other = list->rows;
		list->rows = sorted;
		list->cap = list->n;
	}
	free(other);
	return 0;
}

int cam_counters_give(const struct cam_counters *list, cam_counter_fn *fn, void *arg)
{
	int err = 0;
	for (size_t i = 0; i < list->n && !err; i++)
		err = fn(arg, &list->rows[i]);
	return err;
}

void cam_counters_free(struct cam_counters *list)
{
	free(list->rows);
	*list = (struct cam_counters){0};
}
