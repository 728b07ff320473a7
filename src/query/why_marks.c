// SPDX-License-Identifier: Apache-2.0
#include "query/why_marks.h"

#include "base/vec.h"

#include <stdlib.h>

static int ascending(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	return a < b ? -1 : a > b;
}

int cam_why_mark_cells(struct cam_why_marks *m, const struct cam_why_cell *c, size_t n)
{
	int err = cam_vec_reserve(&m->v, &m->cap, m->n + n, sizeof(*m->v), UINT32_MAX);
	for (size_t i = 0; i < n && !err; i++)
		if (!m->n || m->v[m->n - 1] != c[i].at)
			m->v[m->n++] = c[i].at;
	return err;
}

void cam_why_settle_marks(struct cam_why_marks *m)
{
	size_t n = 0;
	bool in_order = true;
	for (size_t i = 1; i < m->n && in_order; i++)
		in_order = m->v[i - 1] < m->v[i];
	if (in_order)
		return;
	qsort(m->v, m->n, sizeof(*m->v), ascending);
	for (size_t i = 0; i < m->n; i++)
		if (!n || m->v[n - 1] != m->v[i])
			m->v[n++] = m->v[i];
	m->n = n;
}
