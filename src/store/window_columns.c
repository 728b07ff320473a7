// SPDX-License-Identifier: Apache-2.0
#include "store/window_columns.h"

#include "base/vec.h"

#include <errno.h>
#include <string.h>

int cam_task_lists_init(struct cam_task_lists *l, size_t n_groups)
{
	*l = (struct cam_task_lists){.n_groups = n_groups};
	l->lists = calloc(n_groups + 1, sizeof(*l->lists));
	return l->lists ? 0 : -ENOMEM;
}

void cam_task_lists_free(struct cam_task_lists *l)
{
	free(l->lists);
	free(l->entries);
	free(l->touched);
	*l = (struct cam_task_lists){0};
}

void cam_task_lists_reset(struct cam_task_lists *l)
{
	for (size_t i = 0; i < l->n_touched; i++)
		l->lists[l->touched[i]] = (struct cam_task_list){0};
	l->n_touched = 0;
	l->n_entries = 0;
}

/* As with successors in the tree: a list that outgrows its place moves to the end. */
int cam_task_lists_push(struct cam_task_lists *l, uint32_t group, uint32_t task)
{
	struct cam_task_list *list = &l->lists[group];
	if (list->n == list->cap) {
		uint32_t cap = list->cap ? 2 * list->cap : 2;
		int err = cam_vec_reserve(&l->entries, &l->cap_entries, l->n_entries + cap,
					  sizeof(*l->entries), 1u << 24);
		if (!err && !list->cap)
			err = cam_vec_reserve(&l->touched, &l->cap_touched, l->n_touched + 1,
					      sizeof(*l->touched), 1u << 24);
		if (err)
			return err;
		if (!list->cap)
			l->touched[l->n_touched++] = group;
		memcpy(l->entries + l->n_entries, l->entries + list->at,
		       list->n * sizeof(*l->entries));
		list->at = (uint32_t)l->n_entries;
		list->cap = cap;
		l->n_entries += cap;
	}
	l->entries[list->at + list->n] = task;
	cam_recent_use(l->entries + list->at, list->n++);
	return 0;
}
