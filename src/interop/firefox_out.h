// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → a profile of the Firefox Profiler, its "processed" format, version CAM_FIREFOX_VERSION (the
 * last with all tables in each thread; newer profilers upgrade it when they load it).
 *
 * A thread here is one there, for each event type; times are milliseconds since meta.startTime (the wall
 * clock of the first sample) with six decimals, so to the nanosecond. Categories: User, Kernel, JIT, Other.
 * Frames keep addresses (as far as 53 bits reach) and whether they were inlined; modules are libraries with
 * their build-ids as codeId. Texts as in json_out.h.
 *
 * All samples are held until the end, at most CAM_FIREFOX_BYTES; others are dropped and counted. Needs times.
 */
#pragma once
#include "interop/exporter.h"

#define CAM_FIREFOX_VERSION 48u
#define CAM_FIREFOX_BYTES   (1ul << 30)

int cam_firefox_out_new(struct cam_out *out, struct cam_exporter **made);
