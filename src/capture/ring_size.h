// SPDX-License-Identifier: Apache-2.0
/*
 * How large the rings are: all together within a budget, whatever the number of CPUs.
 *
 * Each ring is mapped with one page of the kernel's before its data. Both kinds begin at 512 KiB
 * (512 KiB a CPU is what the kernel lets any user lock, and more than a fork storm fills between
 * two rounds); then the larger is halved, of two equal ones the samples', until all fit: at 97 Hz a
 * CPU writes about 17 KB/s of samples, while a fork storm writes megabytes of side band.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAM_RING_MAX_BYTES	   (512u << 10)
#define CAM_RING_DEFAULT_BYTES_ALL (24u << 20)

struct cam_ring_size {
	size_t sample_bytes, side_bytes; /* of data, a CPU; powers of two */
};

/* All rings as mapped. */
size_t cam_ring_size_total(const struct cam_ring_size *s, size_t page_bytes, uint32_t sample_cpus,
			   uint32_t side_cpus);
/*
 * The largest that fit; a kind whose number of CPUs is 0 takes nothing. -ENOMEM: not even rings of
 * one page do.
 */
int cam_ring_size_choose(size_t max_bytes, size_t page_bytes, uint32_t sample_cpus,
			 uint32_t side_cpus, struct cam_ring_size *out);
/* The next smaller ones, for a limit of locked memory; false: there are none. */
bool cam_ring_size_shrink(struct cam_ring_size *s, size_t page_bytes);
