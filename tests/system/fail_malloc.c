// SPDX-License-Identifier: Apache-2.0
/* For LD_PRELOAD: of the allocations behind the first FAIL_AFTER one in FAIL_EVERY fails, none where that is
 * not set. By a hash of its number, so that none of a loop's is always spared. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static bool fails(void)
{
	static atomic_ulong number;
	const char *every = getenv("FAIL_EVERY"), *after = getenv("FAIL_AFTER");
	unsigned long n = ++number;
	if (!every || !after || n <= strtoul(after, NULL, 10) ||
	    (n * 2654435761u >> 7) % strtoul(every, NULL, 10))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(old, bytes);
}
