// SPDX-License-Identifier: Apache-2.0
/* For the fuzzer of the symboliser: a question, and what must be true of each answer to it. */
#pragma once
#include "symbol/symboliser.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_asked {
	struct cam_errand e;
	uint32_t names; /* that have come */
	bool ended;
};

static void fuzz_check(bool good)
{
	if (!good)
		abort();
}

/* A packet that the recorder takes, and none follows the last. */
static int fuzz_take(void *arg, const void *packet, size_t bytes)
{
	static uint64_t scratch[CAM_ERRAND_MAX_BYTES * 2 / sizeof(uint64_t)];
	struct fuzz_asked *a = arg;
	struct cam_tidings t;
	fuzz_check(!a->ended && !cam_tidings_unpack(packet, bytes, scratch, sizeof(scratch), &t) &&
		   t.type == a->e.type && t.file == a->e.file);
	bool names = t.type == CAM_ERRAND_NAMES && !t.error;
	bool wants = names && (t.names.wants_debug || t.names.wants_supplement);
	for (uint32_t i = 0; names && i < t.names.n_names; i++)
		fuzz_check(t.names.names[i].offset == a->e.offsets[a->names++]);
	a->ended = !(names && t.names.more) &&
		   (t.type != CAM_ERRAND_TABLE || t.error || !t.table.more);
	fuzz_check(!names || wants || !a->ended || a->names == a->e.n_offsets);
	return 0;
}

/* -1: of nothing. */
static int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = size ? memfd_create("file", MFD_CLOEXEC) : -1;
	fuzz_check(!size || (fd >= 0 && write(fd, data, size) == (ssize_t)size));
	return fd;
}

/* Twice: the second time most of it is known. */
static void fuzz_ask(struct fuzz_asked *a, const int fds[CAM_PACKET_FDS])
{
	static char packet[CAM_ERRAND_MAX_BYTES];
	int bytes = cam_errand_pack(&a->e, packet, sizeof(packet));
	struct cam_symboliser *s = cam_symboliser_new();
	fuzz_check(s && bytes > 0);
	for (int again = 0; again < 2; again++, a->names = 0, a->ended = false) {
		fuzz_check(
			!cam_symboliser_answer_with(s, packet, (size_t)bytes, fds, fuzz_take, a));
		fuzz_check(a->ended);
	}
	cam_symboliser_free(s);
}
