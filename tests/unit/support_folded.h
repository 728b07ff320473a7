// SPDX-License-Identifier: Apache-2.0
/*
 * Folded stacks as a window in memory, for tests of views: each line `comm;a;b N` is one sample of
 * weight N; `_[k]`, `_[j]` and `_[i]` at the end of a frame say its kind. Aborts on failure.
 */
#pragma once
#include "support_window.h"

/* The whole of a file under tests/data, uncompressed if it was gzip; free() it. */
char *read_data(const char *name);
/* `times` makes that many samples of each line, a second apart; 1 as it is. */
struct fake_window *folded_window(const char *text, unsigned times);
