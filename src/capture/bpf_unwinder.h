// SPDX-License-Identifier: Apache-2.0
/*
 * The unwinder of the BPF source: model/unwinder.h over the kernel's maps. What else it promises:
 *
 * - All of its memory in the kernel (`max_bytes`, at most 64 MiB) is counted: slabs as they are made,
 *   the rest as the kernel itself says of each map. It never grows beyond.
 * - When less than 2 MiB are left, what was used longest ago goes: tables and images, none that
 *   was used or told in the last 10 s. Who needs it again hears -ENOENT, or !table_has().
 * - Images: told by process(), shared by all that run them, also by children that the kernel itself
 *   gives their parent's. An image goes when it is forgotten: what still ran it is PENDING from then on.
 * - Nothing that a program may be reading is overwritten (bpf_blocks.h).
 */
#pragma once
#include "capture/bpf_load.h"
#include "capture/kernel.h"
#include "model/unwinder.h"

#define CAM_BPF_UNWINDER_BYTES (64u << 20)

/* b is borrowed and outlives it. -ENOMEM; what bpf(2) says. max_bytes 0: CAM_BPF_UNWINDER_BYTES. */
int cam_bpf_unwinder_new(const struct cam_bpf *b, const struct cam_kernel *kernel, size_t max_bytes,
			 struct cam_unwinder **out);
void cam_bpf_unwinder_free(struct cam_unwinder *u);
