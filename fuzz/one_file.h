// SPDX-License-Identifier: Apache-2.0
/* For fuzzers of what a store keeps beside its windows: a directory in which every name is the same bytes. */
#pragma once
#include "store/store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_store {
	struct cam_io io;
	struct cam_file file;
	const uint8_t *bytes;
	size_t n;
};

static int fuzz_open(struct cam_io *io, const char *name, enum cam_io_mode mode,
		     struct cam_file **out)
{
	(void)name;
	*out = &((struct fuzz_store *)io)->file;
	return mode == CAM_IO_READ ? 0 : -EROFS;
}

static const struct fuzz_store *fuzz_store_of(struct cam_file *f)
{
	return (const struct fuzz_store *)((char *)f - offsetof(struct fuzz_store, file));
}

static ssize_t fuzz_pread(struct cam_file *f, void *to, size_t n, uint64_t at)
{
	const struct fuzz_store *s = fuzz_store_of(f);
	size_t left = at < s->n ? s->n - (size_t)at : 0;
	n = n < left ? n : left;
	if (n)
		memcpy(to, s->bytes + at, n);
	return (ssize_t)n;
}

static int64_t fuzz_size(struct cam_file *f)
{
	return (int64_t)fuzz_store_of(f)->n;
}

static void fuzz_close(struct cam_file *f)
{
	(void)f;
}

static struct fuzz_store fuzz_store_with(const uint8_t *bytes, size_t n)
{
	static const struct cam_io_ops ops = {
		.open = fuzz_open, .pread = fuzz_pread, .size = fuzz_size, .close = fuzz_close};
	return (struct fuzz_store){.io = {&ops}, .file = {&ops}, .bytes = bytes, .n = n};
}

static void fuzz_check(bool good)
{
	if (!good)
		abort();
}
