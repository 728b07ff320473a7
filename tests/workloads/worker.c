// SPDX-License-Identifier: Apache-2.0
/* worker SECONDS: has io_uring read /dev/zero in workers of the kernel, and sleeps itself. Prints a line before it
 * begins; ends with 2 where there is no io_uring. */
#include "burn.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READS 1u
#define BYTES (4u << 20)

static char room[READS][BYTES];

static void fill(struct io_uring_sqe *e, int fd, void *to)
{
	*e = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.flags = IOSQE_ASYNC,
		.fd = fd,
		.addr = (uint64_t)to,
		.len = BYTES,
	};
}

static char *map(int ring, size_t bytes, off_t at)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, at);
	return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
	struct io_uring_params p = {0};
	int zero = open("/dev/zero", O_RDONLY);
	int ring = (int)syscall(SYS_io_uring_setup, READS, &p);
	if (argc < 2 || zero < 0 || ring < 0)
		return 2;
	char *sq = map(ring, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	char *cq = map(ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		       IORING_OFF_CQ_RING);
	struct io_uring_sqe *e = (void *)map(ring, p.sq_entries * sizeof(*e), IORING_OFF_SQES);
	if (!sq || !cq || !e)
		return 2;
	puts("begins");
	fflush(stdout);
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + seconds_of(argv[1]);
	uint32_t *tail = (void *)(sq + p.sq_off.tail), *head = (void *)(cq + p.cq_off.head);
	while (clock_ns(CLOCK_MONOTONIC) < until) {
		for (uint32_t i = 0; i < READS; i++) {
			fill(&e[i], zero, room[i]);
			((uint32_t *)(sq + p.sq_off.array))[(*tail + i) & (p.sq_entries - 1)] = i;
		}
		__atomic_store_n(tail, *tail + READS, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, READS, READS, IORING_ENTER_GETEVENTS, NULL,
			    0) < 0)
			return 1;
		__atomic_store_n(head, *head + READS, __ATOMIC_RELEASE);
	}
	return 0;
}
