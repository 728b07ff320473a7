// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → JSON lines: one object a sample, in order of time, nothing around them. Members, each left
 * out where it is not known:
 *
 *	time        wall clock, "2026-04-15T03:14:07.250001234Z"
 *	clock_ns    the window's clock
 *	host        of the window
 *	cpu pid tid uid                      numbers
 *	comm exe cgroup event                texts
 *	container pod                        by the cgroup (model/container.h)
 *	detail      the text of a tracepoint
 *	weight      the period of the sample where it has one; of folded stacks the count; else 1
 *	period_ns   the nominal time between two samples of a busy CPU
 *	stack       innermost frame first: [{"name", "module", "kind", "address", "offset"}, …]
 *	            kind: "kernel", "jit", "inlined", "mark" (no code); left out for user code
 *	            address, offset: hex texts, "0x1f"
 *
 * Texts are UTF-8; other bytes are escaped as \xNN (base/escape.h, CAM_ESCAPE_BYTES) before JSON's own rules.
 */
#pragma once
#include "interop/exporter.h"

int cam_json_out_new(struct cam_out *out, struct cam_exporter **made);
/* The same objects as the items of one array, a line each. */
int cam_json_array_out_new(struct cam_out *out, struct cam_exporter **made);
