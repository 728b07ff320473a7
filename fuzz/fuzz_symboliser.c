// SPDX-License-Identifier: Apache-2.0
/* Door G from its other side: any files with any question about them. Each answer is one that the recorder takes, in whole. */
#include "symbol/symboliser.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define OFFSETS 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct asked {
	struct cam_errand e;
	uint32_t names; /* that have come */
	bool ended;
};

static void check(bool good)
{
	if (!good)
		abort();
}

static int take(void *arg, const void *packet, size_t bytes)
{
	static uint64_t scratch[CAM_ERRAND_MAX_BYTES * 2 / sizeof(uint64_t)];
	struct asked *a = arg;
	struct cam_tidings t;
	check(!a->ended && !cam_tidings_unpack(packet, bytes, scratch, sizeof(scratch), &t) &&
	      t.type == a->e.type && t.file == a->e.file);
	bool names = t.type == CAM_ERRAND_NAMES && !t.error;
	bool wants = names && (t.names.wants_debug || t.names.wants_supplement);
	for (uint32_t i = 0; names && i < t.names.n_names; i++)
		check(t.names.names[i].offset == a->e.offsets[a->names++]);
	a->ended = !(names && t.names.more) &&
		   (t.type != CAM_ERRAND_TABLE || t.error || !t.table.more);
	check(!names || wants || !a->ended || a->names == a->e.n_offsets);
	return 0;
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

/* Two bytes: how it is asked; two: how long the first file is. The second one is its debug file, and its supplement. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum cam_errand_type types[] = {CAM_ERRAND_NAMES, CAM_ERRAND_NAMES,
						     CAM_ERRAND_TABLE, CAM_ERRAND_OUTLINE};
	static char packet[CAM_ERRAND_MAX_BYTES];
	uint64_t offsets[OFFSETS];
	if (size < 4)
		return 0;
	unsigned how = data[0] | (unsigned)data[1] << 8, own = data[2] | (unsigned)data[3] << 8;
	size_t first = own < size - 4 ? own : size - 4, left = size - 4 - first;
	for (unsigned i = 0; i < OFFSETS; i++)
		offsets[i] = first / OFFSETS * i + (how >> 8);
	struct asked a = {.e = {.type = types[how & 3],
				.file = CAM_FILE_FIRST,
				.format = (enum cam_file_format)(how >> 2 & 3),
				.search = how & 16,
				.search_supplement = how & 32,
				.supplement = how & 64,
				.names_only = how & 128,
				.offsets = offsets,
				.n_offsets = OFFSETS}};
	int bytes = cam_errand_pack(&a.e, packet, sizeof(packet));
	struct cam_symboliser *s = cam_symboliser_new();
	check(s && bytes > 0);
	int file = file_of(data + 4, first), other = left ? file_of(data + 4 + first, left) : -1;
	const int fds[CAM_PACKET_FDS] = {file, other, other};
	/* The second time most of it is known. */
	for (int again = 0; again < 2; again++, a.names = 0, a.ended = false) {
		check(!cam_symboliser_answer_with(s, packet, (size_t)bytes, fds, take, &a));
		check(a.ended);
	}
	cam_symboliser_free(s);
	close(file);
	if (other >= 0)
		close(other);
	return 0;
}
