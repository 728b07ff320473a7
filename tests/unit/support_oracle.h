// SPDX-License-Identifier: Apache-2.0
/*
 * What others say: output of binutils' tools and of `perf script`, as the tests of room symbol
 * compare with it. Any failure fails the test.
 */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* Output of a shell command, NUL-terminated (len does not count the NUL). It must succeed. */
struct cam_buf oracle_run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A directory of this test alone, removed with all in it by oracle_clean(). */
const char *oracle_dir(void);
int oracle_clean(void **state);
/* Builds tests/workloads/SOURCE with the command, in which %s is first the source, then the
 * product; answers the product's path. */
const char *oracle_build(const char *source, const char *command);

/* A function symbol, as `readelf -sW` shows it, at its offset in the file. */
struct oracle_symbol {
	uint64_t start, bytes; /* bytes may be 0 */
	char *name;	       /* as it stands, but for its version */
	char *readable;	       /* what c++filt makes of it */
	bool dynamic;	       /* of .dynsym */
};
struct oracle_symbols {
	struct oracle_symbol *rows;
	size_t n;
	uint64_t code_at, code_bytes; /* the executable segment, in the file */
	uint64_t code_address;
	struct cam_buf text; /* what the names are borrowed from */
};
/* Of .symtab and .dynsym; FUNC, IFUNC and labels without a size; sorted by start. */
struct oracle_symbols oracle_symbols(const char *path);
void oracle_symbols_free(struct oracle_symbols *s);

/* `name+0x12` of each, as perf script says, or NULL where it has no name. */
char **oracle_perf_file(const char *path, const uint64_t *offsets, size_t n);
char **oracle_perf_kernel(const uint64_t *addresses, size_t n);
void oracle_perf_free(char **names, size_t n);
