// SPDX-License-Identifier: Apache-2.0
/*
 * Stable sort of rows by the uint64_t they begin with: radix, least significant digit first, over
 * the digits in which any two rows differ. Its time depends on the number of rows alone, so a
 * crafted table cannot make it slow, as it can a quicksort.
 */
#pragma once
#include <stddef.h>

/* `row_bytes` is a multiple of 8. -ENOMEM: as many bytes again as the rows take could not be had;
 * the rows are then as they were. */
int cam_sort_by_key(void *rows, size_t n, size_t row_bytes);
