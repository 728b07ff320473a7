// SPDX-License-Identifier: Apache-2.0
#include "store/counters.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/format.h"

int cam_counters_add(void *list, const struct cam_counter *c)
{
	struct cam_counters *l = list;
	int err =
		cam_vec_reserve(&l->rows, &l->cap, l->n + 1, sizeof(*l->rows), CAM_WINDOW_ROWS_MAX);
	if (!err)
		l->rows[l->n++] = *c;
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct cam_counter *x = *(const struct cam_counter *const *)a;
	const struct cam_counter *y = *(const struct cam_counter *const *)b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

int cam_counters_sort(struct cam_counters *list)
{
	if (!list->n)
		return 0;
	/* By way of pointers: qsort() alone would not keep the order of equals. */
	CAM_AUTOFREE struct cam_counter **order = calloc(list->n, sizeof(*order));
	struct cam_counter *sorted = reallocarray(NULL, list->n, sizeof(*sorted));
	if (!order || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++)
		order[i] = &list->rows[i];
	qsort(order, list->n, sizeof(*order), compare);
	for (size_t i = 0; i < list->n; i++)
		sorted[i] = *order[i];
	free(list->rows);
	list->rows = sorted;
	list->cap = list->n;
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
