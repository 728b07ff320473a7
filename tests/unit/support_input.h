// SPDX-License-Identifier: Apache-2.0
/* Inputs for tests of importers: bytes in memory, files of tests/data, endless streams. */
#pragma once
#include "base/buf.h"
#include "interop/input.h"

/* Bytes, handed out at most `step` at a time (0: as asked for). Borrowed. */
struct memory_source {
	const char *p;
	size_t left, step;
	int error; /* what the read after the last byte answers; 0: the end */
};
ssize_t memory_source_read(void *arg, void *room, size_t n);
/* The source lives as long as the input. */
struct cam_input *input_of(struct memory_source *s, const void *bytes, size_t n);

/* A file of tests/data: its descriptor; fails the test where it is not there. */
int open_data(const char *name);
/* All text of a file of tests/data, decompressed. */
struct cam_buf slurp_data(const char *name);
/* Takes all that is left of an input. */
struct cam_buf slurp_input(struct cam_input *in);

/* The bytes compressed. */
struct cam_buf gzip_of(const void *bytes, size_t n);
struct cam_buf zstd_of(const void *bytes, size_t n);
/* n times the byte c, compressed by gzip: a bomb is made of these. */
struct cam_buf gzip_of_many(char c, size_t n);

/* The address sanitizer keeps freed memory for a while: what it may add to a peak. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER_SLACK_KIB (512 << 10)
#endif
#endif
#ifndef SANITIZER_SLACK_KIB
#define SANITIZER_SLACK_KIB 0
#endif

/* Runs fn in a child; how much its peak memory grew in it, in KiB. Fails if it does not return 0. */
long peak_growth_kib(int (*fn)(void *arg), void *arg);
