// SPDX-License-Identifier: Apache-2.0
/* A BPF ring of 4 KiB: the producer's position (16 bits), the reader's start (16 bits), the data. */
#include "capture/bpf_ring.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t packed[CAM_RAW_MAX_BYTES / 8 + 1];
	struct cam_bpf_ring ring;
	uint16_t at[2] = {0};
	size_t head = size < sizeof(at) ? size : sizeof(at), rest = size - head;
	memcpy(at, data, head);
	/* Exactly twice the data: a read beyond it is seen. */
	char *twice = calloc(2, BYTES);
	memcpy(twice, data + head, rest < BYTES ? rest : BYTES);
	memcpy(twice + BYTES, twice, BYTES);
	unsigned long consumer = at[1] & ~7ul, producer = at[0];
	cam_bpf_ring_use(&ring, &(struct cam_bpf_ring_memory){&consumer, &producer, twice, BYTES},
			 0);
	for (int round = 0; round < 3; round++, producer += 512) {
		unsigned long left = producer - consumer;
		uint64_t t;
		cam_bpf_ring_begin(&ring);
		for (struct cam_raw r; ring.stream.peek(&ring.stream, &t);) {
			ring.stream.take(&ring.stream, &r);
			cam_raw_pack(&r, packed); /* reads all that the record points at */
		}
		cam_bpf_ring_end(&ring);
		if (producer - consumer > left)
			abort();
	}
	free(twice);
	return 0;
}
