// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The compiled programs, as the build embeds them (embed.py). */
#pragma once
#include <stddef.h>

extern const unsigned char cam_embedded_sample_bpf[];
extern const size_t cam_embedded_sample_bpf_bytes;
