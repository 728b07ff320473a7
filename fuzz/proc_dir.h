// SPDX-License-Identifier: Apache-2.0
/* For fuzzers of files of /proc: a directory with one file, whose bytes are given. */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_place[] = "/dev/shm/perfcam-fuzz-XXXXXX";
static const char *fuzz_name;
static int fuzz_dir = -1, fuzz_fd = -1;

static void fuzz_clean_up(void)
{
	unlinkat(fuzz_dir, fuzz_name, 0);
	rmdir(fuzz_place);
}

/* The directory. */
static int fuzz_proc_dir(const char *name, const uint8_t *data, size_t size)
{
	if (fuzz_dir < 0 && mkdtemp(fuzz_place) && !atexit(fuzz_clean_up)) {
		fuzz_name = name;
		fuzz_dir = open(fuzz_place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fuzz_fd = openat(fuzz_dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	if (fuzz_fd < 0 || ftruncate(fuzz_fd, 0) || pwrite(fuzz_fd, data, size, 0) < 0)
		abort();
	return fuzz_dir;
}
