// SPDX-License-Identifier: Apache-2.0
/*
 * `perf record -z`: records inside of records. All compressed records of a stream hold one zstd
 * stream; what comes out of it are records again, which may lie across two of them.
 *
 * Bounded: a window of 128 MiB at most, a buffer of 256 KiB; a stream that grows beyond what real
 * ones do (CAM_PERF_UNPACK_RATIO, from 64 MiB on) is a bomb: -EFBIG. A stream that cannot be decoded
 * further is counted as damage, and so is the rest of it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAM_PERF_UNPACK_RATIO 2000u

struct cam_perf_unpack;

/* Gets each whole record; a non-zero answer ends the call and is returned. */
typedef int cam_perf_unpack_fn(void *arg, const uint8_t *record, size_t bytes);

int cam_perf_unpack_new(cam_perf_unpack_fn *fn, void *arg, bool swap, struct cam_perf_unpack **out);
void cam_perf_unpack_free(struct cam_perf_unpack *u);
/* The next piece of the stream. -ENOMEM, -EFBIG, or fn's answer. */
int cam_perf_unpack_take(struct cam_perf_unpack *u, const void *p, size_t n);
/* Bytes lost so far, compressed or not; at the end of the stream with what is left over. */
uint64_t cam_perf_unpack_damage(const struct cam_perf_unpack *u);
