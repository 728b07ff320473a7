// SPDX-License-Identifier: Apache-2.0
/* Growing an array of fixed-size rows, doubling, with overflow and maximum checked. */
#pragma once
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for `need` rows of `size` bytes in *rows (*cap rows now). -E2BIG past max_rows,
 * -ENOMEM when memory is short; the array is then unchanged.
 */
static inline int cam_vec_reserve(void *rows, size_t *cap, size_t need, size_t size,
				  size_t max_rows)
{
	if (need <= *cap)
		return 0;
	if (need > max_rows)
		return -E2BIG;
	size_t grown = *cap ? *cap : 16;
	while (grown < need)
		grown *= 2;
	if (grown > max_rows)
		grown = max_rows;
	void **where = rows;
	void *p = reallocarray(*where, grown, size);
	if (!p)
		return -ENOMEM;
	*where = p;
	*cap = grown;
	return 0;
}
