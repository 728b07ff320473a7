// SPDX-License-Identifier: Apache-2.0
/*
 * How large the rings of the BPF source are: all together within a budget, whatever the number of
 * CPUs. As ring_size.h, but samples of 16 CPUs share a ring, which counts twice (its data is mapped
 * twice), and beside them stand the controls, two pages each.
 *
 * A CPU's share of a ring begins at 512 KiB as mapped, as does its side band; then the larger share is
 * halved, of two equal ones the samples', until all fit. At 1024 CPUs 16 of them share 64 KiB, and
 * the reader is woken when half of that is full.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What there is to be placed. */
struct cam_bpf_places {
	size_t page_bytes;
	uint32_t cpus, rings;
};

struct cam_bpf_size {
	size_t ring_bytes;	/* of data, once; a ring */
	size_t side_bytes;	/* of data; a CPU */
	uint32_t control_every; /* each how-manyeth CPU has a control; 0: none */
};

/* All rings as mapped. */
size_t cam_bpf_size_total(const struct cam_bpf_size *s, const struct cam_bpf_places *p);
/* The largest that fit. -ENOMEM: not even the smallest do. */
int cam_bpf_size_choose(size_t max_bytes, const struct cam_bpf_places *p, struct cam_bpf_size *out);
/* The next smaller ones, for a limit of locked memory; false: there are none. */
bool cam_bpf_size_shrink(struct cam_bpf_size *s, size_t page_bytes);
